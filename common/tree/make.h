#ifndef NF_TREE_MAKE_H
#define NF_TREE_MAKE_H
/** @file make.h  From a way to choose to a tree; for the files of the
 *  heuristics.  Pure. */
#include "common/tree/greedy.h"

/** Fills receivers_p[0..nodes - 1) with all but the root. */
typedef enum nf_status nf_receivers_fn(const struct nf_hops *hops,
                                       uint32_t root, uint32_t *receivers_p);

/** A way to choose. */
struct nf_heuristic {
    struct nf_greedy how;       /**< cap_us INFINITY */
    nf_receivers_fn *receivers; /**< in their order, nf_greedy_serve(); NULL:
                                     nf_greedy_pairs() */
    bool only_equal;            /**< receivers are for equal links only */
};

extern const struct nf_heuristic nf_heuristic_fef, nf_heuristic_ecef,
    nf_heuristic_ecef_la, nf_heuristic_fnf, nf_heuristic_ecef_ports;

/** By what to choose among: NULL, all pairs. */
static inline nf_receivers_fn *
nf_heuristic_receivers(const struct nf_heuristic *heuristic,
                       const struct nf_hops *hops)
{
    return heuristic->only_equal && hops->is_matrix ? NULL
                                                    : heuristic->receivers;
}

/** A tree.  @retval NF_ERR_NOMEM    @retval others  nf_hops_check() */
enum nf_status nf_heuristic_tree(const struct nf_heuristic *heuristic,
                                 const struct nf_hops *hops, uint32_t root,
                                 bool is_blocking, struct nf_tree *tree_p);

/** Receivers by recv ascending: what is best for equal links. */
nf_receivers_fn nf_receivers_by_recv;

/** All nodes but @p root, ascending. */
void nf_receivers_all(uint32_t nodes, uint32_t root, uint32_t *receivers_p);
#endif
