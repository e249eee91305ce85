#ifndef NF_APPS_NOWFARM_COLL_PAIRS_H
#define NF_APPS_NOWFARM_COLL_PAIRS_H
/** @file coll_pairs.h  Between which members the model of a group is measured.
 *  Pairs are of four kinds: on one host or on two, and by direct messages or by
 *  the pvmds.  A kind counts if any two members are of it, wherever rank 0 is.
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
#endif
