#ifndef NF_GROUP_PLAN_H
#define NF_GROUP_PLAN_H
/** @file plan.h  One rank's part of a schedule, made ready to be executed:
 *  what waits for what.
 *  Pure; depends on the operation, algorithm, P, root and k only, so a group
 *  keeps its plans. */
#include "common/coll/select.h"

struct nf_plan_step {
    uint32_t round, peer;
    uint32_t first_span, nspans; /**< of plan->spans */
    uint32_t first_item;         /**< 0 without items */
    uint32_t first_next, nnext;  /**< of plan->next */
    uint32_t waits;              /**< steps that must be done before */
    enum nf_coll_action action;
    bool sends, keep, from_car;
    bool last;  /**< received: no item of it is written again */
    bool lists; /**< blocks of sizes that not all know: their sizes go first */
};
#define NF_PLAN_NONE UINT32_MAX

struct nf_plan {
    const struct nf_coll_algorithm *algorithm;
    struct nf_coll_args args; /**< with its own params */
    struct nf_coll_params params;
    uint32_t rank, items;
    uint32_t nbooks; /**< of items that an executor keeps books of */
    bool
        straight; /**< pairs: none rests here on its way to another, so books are
                          kept of this rank's 2 P only, see nf_exec_book() */
    uint32_t nsteps, nreceives;
    struct nf_plan_step *steps; /**< by round, sends first */
    struct nf_coll_span *spans;
    uint32_t *next;     /**< steps that wait for a step */
    uint32_t *receives; /**< [nreceives] steps, by peer, round, item */
    uint32_t *targets;  /**< [ntargets] to whom something is sent */
    uint32_t ntargets;
    bool combines, keeps, lists; /**< some step does */
    bool outdated; /**< its group takes it for no other call: the tree that it
                        was made of is another one now */
};

/** @param args  its hosts are borrowed until then
 *  @param plan_p  to be nf_plan_destroy()ed
 *  @retval NF_ERR_RANGE, NF_ERR_INVAL, NF_ERR_NOMEM  as nf_coll_make() */
enum nf_status nf_plan_create(const struct nf_coll_algorithm *algorithm,
                              const struct nf_coll_args *args, uint32_t rank,
                              struct nf_plan **plan_p, struct nf_error *err);
/** NULL is fine. */
void nf_plan_destroy(struct nf_plan *plan);
/** The step that receives from @p peer in @p round a message that begins with
 *  @p first_item; O(log steps).  @return NF_PLAN_NONE if there is none */
uint32_t nf_plan_find(const struct nf_plan *plan, uint32_t peer, uint32_t round,
                      uint32_t first_item);
#endif
