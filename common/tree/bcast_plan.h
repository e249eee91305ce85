#ifndef NF_TREE_BCAST_PLAN_H
#define NF_TREE_BCAST_PLAN_H
/** @file bcast_plan.h  The broadcast for hosts and links that differ: the tree
 *  of the planner (crl.h) against all other algorithms, each with its best
 *  segments, under one price (pricer.h).  Pure, and the same bits wherever the
 *  model is the same. */
#include "common/tree/crl.h"
#include "common/tree/pricer.h"

enum {
    /** Shorter segments are taken only where they make it faster by
     *  NF_CRL_SHORT than whatever else there is, of any broadcast: what a message
     *  costs in the runtime beyond what models say
     *  begins to count. */
    NF_BCAST_SEGMENT = 4096,
    NF_BCAST_LEAST = NF_CRL_SEGMENT, /**< and these are the shortest */
    /** Nor more segments than make so many messages: judging a broadcast is not
     *  to take longer than it. */
    NF_BCAST_MESSAGES = 1 << 16,
};

struct nf_bcast_query {
    uint32_t root;
    uint64_t bytes, elements; /**< a segment has at least one element; between up
                                   to 128 hosts only whole ones are priced */
    const uint32_t *hosts;    /**< as nf_coll_args.hosts */
};

struct nf_bcast_plan {
    const struct nf_coll_algorithm *algorithm; /**< the cheapest */
    uint32_t segments;
    double cost_us;         /**< its price */
    struct nf_crl_plan crl; /**< the tree, whichever is the cheapest */
    uint32_t tree_segments;
    double tree_us; /**< the price of that tree */
};

/** The tree alone, which is then the cheapest.
 *  @param plan_p  nf_bcast_plan_fini() it
 *  @retval NF_ERR_RANGE, NF_ERR_INVAL, NF_ERR_NOMEM  as nf_crl_plan() */
enum nf_status nf_bcast_plan_tree(const struct nf_hetero *hetero,
                                  const struct nf_bcast_query *query,
                                  struct nf_bcast_plan *plan_p,
                                  struct nf_error *err);
/** All of them, none that takes longer than the tree; of equals the first of
 *  nf_coll_table. */
enum nf_status nf_bcast_plan(const struct nf_hetero *hetero,
                             const struct nf_bcast_query *query,
                             struct nf_bcast_plan *plan_p,
                             struct nf_error *err);
void nf_bcast_plan_fini(struct nf_bcast_plan *plan);

/** The tree as bcast.tree takes it; borrows that of @p plan. */
struct nf_coll_tree nf_bcast_plan_view(const struct nf_bcast_plan *plan);

/** What @p algorithm takes with so many segments; in groups with the call_us of
 *  a measured network.
 *  @param tree  of bcast.tree
 *  @param time_us_p  INFINITY: it is not for this broadcast
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_bcast_price(struct nf_pricer *pricer,
                              const struct nf_coll_algorithm *algorithm,
                              const struct nf_bcast_query *query,
                              const struct nf_coll_tree *tree,
                              uint32_t segments, double *time_us_p);
/** The best segments of @p algorithm, short ones as NF_BCAST_SEGMENT says; no
 *  more than there are elements.
 *  @param time_us_p  what it takes with these; INFINITY: it is not for this
 *                    broadcast
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_bcast_segments(struct nf_pricer *pricer,
                                 const struct nf_coll_algorithm *algorithm,
                                 const struct nf_bcast_query *query,
                                 uint32_t *segments_p, double *time_us_p);
#endif
