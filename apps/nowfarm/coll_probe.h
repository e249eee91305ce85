#ifndef NF_APPS_NOWFARM_COLL_PROBE_H
#define NF_APPS_NOWFARM_COLL_PROBE_H
/** @file coll_probe.h  Measuring the model of a world: messages there and back,
 *  exchanges, sends in a row, and what adding costs. */
#include <stdbool.h>
#include "apps/nowfarm/coll_world.h"
#include "common/model/model.h"

/** Between two members on one host, and two on different ones; where some
 *  messages go by the pvmds and some do not, by both: the worst of them is the
 *  model.  Of each kind the pair that represents most of it, and those on two
 *  hosts that a short look finds to be worse (coll_pairs.h).
 *  @param thorough  take the time that tuning is worth (up to 20 s for each of
 *  them), else about two seconds; slow pairs are measured up to a smaller size
 *  @param largest_bytes  messages beyond this are of no interest; quick only
 *  @param model_p  all fields
 *  @retval < 0  world->team.err */
enum nf_status coll_probe(struct coll_world *world, bool thorough,
                          uint64_t largest_bytes, struct nf_model *model_p);

/** What placement changes is measured so often, in turns, as long as all of it is not
 *  likely to take longer than that. */
enum {
    COLL_PROBE_WAY_TURNS = 5,
    COLL_PROBE_CALL_TURNS = 9,
    COLL_PROBE_CALLS = 25, /**< in a turn, at most, but for those that do not count */
    COLL_PROBE_CALL_PAUSE_US = 1000, /**< before each of its calls */
    COLL_PROBE_TURNS_US = 1000000,
};
/** Is there to be another turn after @p turns of at most @p most, which took @p us? */
static inline bool coll_probe_goes_on(unsigned turns, unsigned most, int64_t us)
{
    return turns < most && us + us / turns <= COLL_PROBE_TURNS_US;
}

/** How long an operation of a byte takes from rank 0 to each other member: half
 *  of the time of one there and one back, a group of two each.  The least of some medians
 *  that are apart, as the system may run the two where they wait for each other.
 *  @param way_us_p  [members], that of rank 0 is 0
 *  @retval < 0  world->team.err */
enum nf_status coll_probe_ways(struct coll_world *world, double *way_us_p);

/** How long a broadcast of a byte from rank 0 to all takes the slowest of them,
 *  after a pause and a barrier.
 *  @retval < 0  world->team.err */
enum nf_status coll_probe_call(struct coll_world *world,
                               const struct nf_coll_algorithm *algorithm,
                               double *us_p);
#endif
