#ifndef NF_APPS_COLLBENCH_GROUP_LIBRARY_H
#define NF_APPS_COLLBENCH_GROUP_LIBRARY_H
/** @file group_library.h  PVM's own group library, to stand beside ours.  Its
 *  calls wait for ever for a member that is gone, so an alarm ends the process
 *  when one of them takes longer than the time-out. */
#include "apps/collbench/team.h"

struct bench_library {
    char group[64];
    uint32_t ranks, instance; /**< the library's own number of this member */
    int tag, route;           /**< route: what had been set */
    unsigned patience_s;      /**< with one call */
};

/** Does the library have @p op (and is it built in)? */
bool bench_library_has(enum nf_coll_op op);
/** Join a group of the team, rank 0 first, and freeze it.
 *  @param id  any number that no other group has
 *  @retval NF_ERR_UNREACHABLE  there is no group server */
enum nf_status bench_library_join(struct bench_team *team, uint64_t id,
                                  struct bench_library *library);
void bench_library_leave(struct bench_library *library);
/** The next call begins, and the alarm is set; or it has ended. */
void bench_library_watch(const struct bench_library *library, bool begins);
/** @param recv  also the input of a reduction */
enum nf_status bench_library_call(struct bench_library *library,
                                  const struct bench_call *call, void *send,
                                  void *recv);
#endif
