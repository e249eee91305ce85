#ifndef NF_APPS_NOWFARM_COLL_PAIRS_H
#define NF_APPS_NOWFARM_COLL_PAIRS_H
/** @file coll_pairs.h  Between which members the model of a group is measured.
 *  Pairs are of four kinds: on one host or on two, and by direct messages or by
 *  the pvmds.  A kind counts if any two members are of it, wherever rank 0 is.
 *  One pair stands for most of its kind.  Between hosts, some may have worse
 *  links: a short look at each of them says which are measured beside it.
 *  Pure. */
#include <stdbool.h>
#include <stdint.h>
#include "nowfarm.h"

struct coll_pair {
    uint32_t first, second; /**< first < second */
};

/** The pair of a kind that represents it: between the two hosts, or on the
 * host, between which or on which most pairs of this kind are; of equals the
 * one with the lowest ranks, so it is rank 0 and the first that there is if all
 * hosts have as many members.  O(P^2) time, O(H^2) memory.
 *  @param hosts   [ranks] numbered from 0 without gaps
 *  @param routes  as bench_by_daemon() takes them; NULL: all are direct
 *  @retval NF_WAIT  there is none of this kind   @retval NF_ERR_NOMEM */
enum nf_status coll_find_pair(const uint32_t *hosts, const uint64_t *routes,
                              uint32_t ranks, bool same_host, bool by_daemon,
                              struct coll_pair *pair_p);

/** What was seen of a pair: the least times of messages of two sizes, one way.
 */
struct coll_look {
    struct coll_pair pair;
    uint32_t times;            /**< how often it was looked at; 0: not yet */
    double short_us, large_us; /**< of COLL_LOOK_{SHORT,LARGE}_BYTES */
};
enum {
    COLL_LOOK_SHORT_BYTES = 8,
    COLL_LOOK_LARGE_BYTES = 1 << 16,
    COLL_LOOKS_MAX = 1 + 64, /**< more hosts are not looked at */
    COLL_WORST_MAX = 2,
};

/** Which pairs on two hosts are to be looked at: @p usual, then rank 0 and the
 *  first member that it has a pair of this kind with on each other host; the
 *  two hosts of @p usual are there once.  Of too many hosts some, evenly.
 *  @param hosts,routes,ranks,by_daemon  as coll_find_pair() takes them
 *  @param usual    what that found
 *  @param looks_p  [COLL_LOOKS_MAX]
 *  @return how many; 1: there is nothing to compare it with */
unsigned coll_list_looks(const uint32_t *hosts, const uint64_t *routes,
                         uint32_t ranks, bool by_daemon,
                         const struct coll_pair *usual,
                         struct coll_look *looks_p);

/** One more look at a pair.  What disturbs it can but add, so the least of each
 *  time is kept. */
void coll_look_add(struct coll_look *look, double short_us, double large_us);

/** What is worth to be measured beside looks[0], the usual pair: the one that
 *  is the worst in the time of a short message, and the one that is the worst
 *  in what a byte more costs, if that is more than 1.25 times the usual, and
 *  more than 20 us longer to start.
 *  Anything else adds nothing to the worst of what is measured.
 *  @param looks    those that were not looked at do not count; if looks[0] was
 *  not, none does
 *  @param worst_p  indices into @p looks, different   @return how many */
unsigned coll_find_worst(const struct coll_look *looks, unsigned count,
                         unsigned worst_p[COLL_WORST_MAX]);

/** The largest message of which @p rounds there and back take no more than
 *  @p limit_us by what was seen; at most @p largest_bytes, and no less than
 *  COLL_LOOK_LARGE_BYTES if that is not.  @param look  looked at */
uint64_t coll_look_reach(const struct coll_look *look, uint64_t largest_bytes,
                         unsigned rounds, double limit_us);
#endif
