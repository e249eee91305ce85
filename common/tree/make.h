#ifndef NF_TREE_MAKE_H
#define NF_TREE_MAKE_H
/** @file make.h  From a way to choose to a tree; for the files of the
 *  heuristics.  Pure. */
#include "common/tree/greedy.h"

/** Fills receivers_p[0..nodes - 1) with all but the root. */
typedef enum nf_status nf_receivers_fn(const struct nf_hops *hops,
                                       uint32_t root, uint32_t *receivers_p);

/** A tree by nf_greedy_pairs(), or if @p receivers is not NULL by
 *  nf_greedy_serve() in its order.  how->cap_us must be INFINITY. */
enum nf_status nf_greedy_tree(const struct nf_greedy *how,
                              const struct nf_hops *hops, uint32_t root,
                              nf_receivers_fn *receivers,
                              struct nf_tree *tree_p);

/** Receivers by recv ascending: what is best for equal links. */
nf_receivers_fn nf_receivers_by_recv;

/** All nodes but @p root, ascending. */
void nf_receivers_all(uint32_t nodes, uint32_t root, uint32_t *receivers_p);
#endif
