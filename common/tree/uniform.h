#ifndef NF_TREE_UNIFORM_H
#define NF_TREE_UNIFORM_H
/** @file uniform.h  Multicast trees for hosts that are all alike: two times say
 *  what sending costs.  Pure.
 *
 *  A node that is ready at a starts its n-th send (n = 0, 1, ...) at a + o(n),
 *  and that receiver is ready at a + o(n) + end.  With one port o(n) = n *
 *  nf_uniform_hold(); a node that sends no more is charged nothing.  hold <= end is
 *  usual, but nothing here needs it.
 *
 *  Times are integers of one unit, whichever the caller has (ns where they were
 *  measured), so that equal times are equal: ties decide the shape of trees.
 *
 *  Source: Lee, Trans. KIPS 6(9), 1999; Park, Choi, Nupairoj, Ni, ICPP 1996. */
#include <stdbool.h>
#include <stdint.h>
#include "common/base/error.h"
#include "common/tree/tree.h"

/** Of a tree, and of hold, end and interval: no sum overflows. */
enum { NF_UNIFORM_NODES_MAX = 1 << 20, NF_UNIFORM_PORTS_MAX = 1024 };
#define NF_UNIFORM_TIME_MAX INT64_C(1000000000000)

struct nf_uniform {
    int64_t hold;     /**< between two sends of a node through one port */
    int64_t end;      /**< from the start of a send to the message's receipt */
    uint32_t ports;   /**< of a node, >= 1 */
    int64_t interval; /**< between two sends of a node, whatever the port */
    /** When the n-th send of a node starts after the node is ready: 0 for n =
     *  0, and not less for a later one.  NULL: nf_uniform_start(). */
    int64_t (*start)(const struct nf_uniform *uniform, uint32_t n);
};

/** o(0) = 0, o(n) = max(o(n - 1) + interval, o(n - ports) + hold).  O(1)
 *  This is our reading of the multi-port model, whose text could not be had. */
int64_t nf_uniform_start(const struct nf_uniform *uniform, uint32_t n);

/** Between two sends of a node that has one port: hold, or interval if that is more;
 *  more ports are of no use then. */
int64_t nf_uniform_hold(const struct nf_uniform *uniform);

/** @retval NF_ERR_RANGE  a time or ports is outside of what is said above */
enum nf_status nf_uniform_check(const struct nf_uniform *uniform,
                                struct nf_error *err);

/** When each node of @p tree is ready, the root at 0.  O(nodes)
 *  @param ready_p  [tree->nodes]
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_uniform_eval(const struct nf_uniform *uniform,
                               const struct nf_tree *tree, int64_t *ready_p);

/** The time of the whole multicast: the latest of ready[0..nodes). */
int64_t nf_uniform_last(const int64_t *ready, uint32_t nodes);

/* ---- builders ---- */

struct nf_uniform_args {
    uint32_t nodes; /**< 1 to NF_UNIFORM_NODES_MAX, the root included */
    uint32_t root;  /**< a node */
    /** [nodes]: the node of each rank, or at each place of the chain.  NULL:
     *  rank r is node (root + r) % nodes, place p is node p. */
    const uint32_t *node_at;
    struct nf_uniform uniform;
};

struct nf_uniform_algorithm {
    const char *name, *summary, *cost, *source;
    /** Nodes are places of a chain along which intervals are halved, and the
     *  root may be anywhere in it; else they are ranks and the root is rank 0,
     *  node_at[0]. */
    bool on_chain;
    /** Fill edges of places or ranks, see edges.h.  @p root is one. */
    enum nf_status (*make)(const struct nf_uniform_args *args, uint32_t root,
                           uint32_t *sender_p, uint32_t *receiver_p);
};

/** All of them; the last one is NULL. */
extern const struct nf_uniform_algorithm *const nf_uniform_table[];
/** @return the one of that name, or NULL */
const struct nf_uniform_algorithm *nf_uniform_find(const char *name);

/** Build a tree.  O(nodes), nf_uniform_multi_port O(nodes log nodes).
 *  @param tree_p  on NF_OK a tree to nf_tree_fini()
 *  @retval NF_ERR_RANGE   a time, a count or the root
 *  @retval NF_ERR_INVAL   args->node_at does not hold each node once, or a
 *                         root that is not rank 0
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_uniform_make(const struct nf_uniform_algorithm *algorithm,
                               const struct nf_uniform_args *args,
                               struct nf_tree *tree_p, struct nf_error *err);

extern const struct nf_uniform_algorithm nf_uniform_sequential,
    nf_uniform_chain, nf_uniform_binomial, nf_uniform_binomial_rootceil,
    nf_uniform_binomial_bits, nf_uniform_opt, nf_uniform_multi_port,
    nf_uniform_u_mesh, nf_uniform_opt_mesh;
#endif
