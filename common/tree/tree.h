#ifndef NF_TREE_TREE_H
#define NF_TREE_TREE_H
/** @file tree.h  A multicast tree: who passes the message on to whom, and in
 *  which order.  Pure. */
#include <stdint.h>
#include "nowfarm.h"

#define NF_TREE_NONE UINT32_MAX

struct nf_tree {
    uint32_t nodes, root;
    uint32_t *parent; /**< [nodes]; the root's is NF_TREE_NONE */
    uint32_t *first;  /**< [nodes + 1]: children of v are child[first[v]] to
                           before child[first[v + 1]], in the order of sending */
    uint32_t *child;  /**< [nodes - 1] */
};

/** Room for a tree of @p nodes >= 1; nothing in it is a tree yet.
 *  @param tree_p  free with nf_tree_fini() */
enum nf_status nf_tree_init(struct nf_tree *tree_p, uint32_t nodes,
                            uint32_t root);
void nf_tree_fini(struct nf_tree *tree);

/** From the edges in the order in which the whole tree sends: sender[k] sends
 *  to receiver[k], k < nodes - 1.  Sets parent, first and child.  O(nodes)
 *  @retval NF_ERR_INVAL  that is no tree: a node is reached twice, never, or
 *                        sends before it is reached; err names it */
enum nf_status nf_tree_build(struct nf_tree *tree, const uint32_t *sender,
                             const uint32_t *receiver, struct nf_error *err);

/** Set first and child from parent, the children of each node in the order of
 *  order[0..count), which holds all nodes, the root or not.  NULL: by their
 *  numbers, @p count being nodes.  O(nodes) */
void nf_tree_children(struct nf_tree *tree, const uint32_t *order,
                      uint32_t count);

/** Nodes so that parents come before their children, the root first.
 *  @param order_p  [nodes].  O(nodes) */
void nf_tree_order(const struct nf_tree *tree, uint32_t *order_p);
#endif
