#ifndef NF_TESTS_GROUP_SIM_H
#define NF_TESTS_GROUP_SIM_H
/** @file group_sim.h  Groups over a fake mesh. */
#include <stdbool.h>
#include "common/group/group.h"
#include "tests/unit/fake_mesh.h"
#include "tests/unit/group_rounds.h"

struct group_sim {
    struct fake_world world;
    uint32_t ranks;
    struct nf_group *groups[FAKE_MEMBERS_MAX];
    struct nf_request *requests[FAKE_MEMBERS_MAX];
    enum nf_status statuses[FAKE_MEMBERS_MAX]; /* NF_WAIT: under way */
    int64_t ended_us[FAKE_MEMBERS_MAX];
    bool frozen[FAKE_MEMBERS_MAX]; /* does not get to run */
};

/* Groups of all members.  @param options  may be NULL */
bool sim_open(struct group_sim *sim, uint32_t ranks, uint64_t seed,
              const struct nf_group_options *options);
void sim_close(struct group_sim *sim);
/* Can it run? */
bool sim_runs(const struct group_sim *sim, uint32_t rank);
void sim_start(struct group_sim *sim, uint32_t rank,
               const struct nf_call *call);
/* Ask after the call of one member, and forget the request if it is over.
 *  @return whether it is; how it ended is in statuses[] */
bool sim_test(struct group_sim *sim, uint32_t rank);
/* Let everybody run until nobody is in a call, or nothing would happen any
 * more.  @return whether all calls ended */
bool sim_run(struct group_sim *sim);
/* A moment passes.  @return false: nothing is to come */
bool sim_advance(struct group_sim *sim);
/* All that run shrink their groups, which are closed then.
 *  @param results  [ranks] what shrink returned */
bool sim_shrink(struct group_sim *sim, enum nf_status *results);
#endif
