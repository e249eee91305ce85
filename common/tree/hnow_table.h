#ifndef NF_TREE_HNOW_TABLE_H
#define NF_TREE_HNOW_TABLE_H
/** @file hnow_table.h  All ways to a tree for hosts that differ, for whoever
 *  lets people choose.  Pure. */
#include "common/base/error.h"
#include "common/tree/crl.h"
#include "common/tree/hops.h"

struct nf_hnow_algorithm {
    const char *name, *summary, *cost, *source;
    /** A tree for the whole message; NULL: the planner, which makes segments
     *  of it.  nf_hnow_make() has checked what it is given. */
    enum nf_status (*tree)(const struct nf_hops *hops, uint32_t root,
                           bool is_blocking, struct nf_tree *tree_p);
};

/** All of them; the last one is NULL. */
extern const struct nf_hnow_algorithm *const nf_hnow_table[];
/** @return the one of that name, or NULL */
const struct nf_hnow_algorithm *nf_hnow_find(const char *name);

/** What this algorithm makes of a message of @p bytes from @p root to all, and
 *  the time that takes with the ports of @p hetero, whether the algorithm looks
 *  at them or not.
 *  @param plan_p  nf_crl_plan_fini() it
 *  @retval NF_ERR_RANGE, NF_ERR_INVAL  nf_hetero_check(); too many hosts for
 *                                      this algorithm
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_hnow_make(const struct nf_hnow_algorithm *algorithm,
                            const struct nf_hetero *hetero, uint32_t root,
                            uint64_t bytes, struct nf_crl_plan *plan_p,
                            struct nf_error *err);

/** The same, if a sender waits until its receiver has the message.  Ports then
 *  keep nobody waiting.
 *  @retval NF_ERR_INVAL  also: this algorithm can't plan for that */
enum nf_status nf_hnow_make_blocking(const struct nf_hnow_algorithm *algorithm,
                                     const struct nf_hetero *hetero,
                                     uint32_t root, uint64_t bytes,
                                     struct nf_crl_plan *plan_p,
                                     struct nf_error *err);
#endif
