#ifndef NF_TREE_LDT_H
#define NF_TREE_LDT_H
/** @file ldt.h  Longest delivery tail first: the best order of the children of
 *  each node of a tree, and the time of the tree then.  For common/tree, which
 *  does this to thousands of trees in one room.  Pure.
 *
 *  A node's period is what one segment more costs it, its hands or its port:
 *      p_v = max(recv[v] (but the root) + children * send[v], sum of ports)
 *  and a chain of nodes passes segments on as fast as the slowest of it:
 *      pm(v) = max of p on the path from the root to v.
 *  Time that v needs from having the first segment until all below it have all:
 *      D(v) = max((segments - 1) * pm(v), max over i of b_i + q_i)
 *      q_c  = wire(v, c) + recv[c] + D(c), children by q descending
 *      b_i  = when the i-th child's segment begins its way:
 *             max(i * send[v], b_(i-1) + port of the one before),
 *             or earlier where some of that is spare, nf_hops_begin()
 *  and D(root) is the time of the tree.  Where ports differ that is not always
 *  the best order: q_c less max(send[v], port) descending is another one, and one
 *  that is found from the better of both by moving children about is often best. */
#include <stdbool.h>
#include "common/tree/hops.h"
#include "common/tree/tree.h"

/** Set root, parent and order, call nf_ldt_run(), read the rest.  Addressed by
 *  node but for order and child. */
struct nf_ldt {
    uint32_t nodes, root;
    bool minds_ports; /**< take the better one of both orders; false: the one
                           that is published */
    bool tries_places; /**< with minds_ports: move children about, too, which takes
                            the square of the time and more */
    uint32_t *parent;
    uint32_t *order;    /**< parents before children, the root first */
    uint32_t *first;    /**< [nodes + 1]; children as in struct nf_tree */
    uint32_t *child;    /**< [nodes] */
    uint32_t *latest;   /**< the child whose tail decides D; NF_TREE_NONE: the
                             node itself does */
    double *slowest_us; /**< pm */
    double *tail_us;    /**< q */
    double *after_us;   /**< D */
    double *rest_us;    /**< what try_rests() of ldt.c sorts by */
};

enum nf_status nf_ldt_init(struct nf_ldt *ldt_p, uint32_t nodes);
void nf_ldt_fini(struct nf_ldt *ldt);

/** Fill first, child and order from parent.  O(nodes) */
void nf_ldt_order(struct nf_ldt *ldt);

/** @return the time, us.  O(nodes log nodes), mostly less */
double nf_ldt_run(struct nf_ldt *ldt, const struct nf_hops *hops,
                  uint64_t segments);

/** The tree as run last. */
void nf_ldt_get(const struct nf_ldt *ldt, struct nf_tree *tree);
#endif
