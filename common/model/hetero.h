#ifndef NF_MODEL_HETERO_H
#define NF_MODEL_HETERO_H
/** @file hetero.h  Hosts and links that differ: what a message costs its
 *  sender, its receiver and the way between them.
 *
 *      S_i = send[i]   R_j = recv[j]   X_ij = wire[i, j]
 *      T(i, j, m) = S_i + X_ij + R_j   each at m bytes
 *
 *  Source: Sawahata & Shibusawa, equations (1) to (4); the ports are ours: a
 *  host puts one message at a time on its wire, for wire[i, j].byte_us * m. */
#include <stdbool.h>
#include <stdint.h>
#include "nowfarm.h"

struct nf_network;

/** A time that grows with the message; both parts >= 0 and finite. */
struct nf_cost {
    double fixed_us, byte_us;
};

static inline double nf_cost_us(struct nf_cost cost, double bytes)
{
    return cost.fixed_us + cost.byte_us * bytes;
}

struct nf_hetero {
    uint32_t hosts;
    struct nf_cost *send, *recv; /**< [hosts] */
    struct nf_cost *wire; /**< [hosts * hosts], row i to column j, or [1]: the
                               same between all */
    bool is_matrix;       /**< of which kind wire is */
    bool has_ports;       /**< false: any number of messages on the wire */
    /** All wires are one medium, which takes one message at a time for as long
     *  as its sender's port at most; has_ports only. */
    bool is_shared;
    /** [hosts] Hosts of which nothing is known: planners make them leaves,
     *  unless one is the root.  NULL: there are none.  Borrowed. */
    const bool *is_leaf;
    /** Messages are parts of collective operations: S_i and R_j are those of the
     *  measured network and the runtime_us of i and j more, and ways are wake_us
     *  longer. */
    bool in_groups;
    /** Not NULL: costs are its curves, at each size what was measured there,
     *  and send, recv and wire are NULL; see nf_network_hetero().  Borrowed. */
    const struct nf_network *measured;
};

/** More than anything takes: no sum of times is infinite. */
#define NF_COST_MAX 1e15
enum { NF_HETERO_HOSTS_MAX = 1 << 20 };

/** All costs 0.  @param hetero_p  free with nf_hetero_fini() */
enum nf_status nf_hetero_init(struct nf_hetero *hetero_p, uint32_t hosts,
                              bool is_matrix);
void nf_hetero_fini(struct nf_hetero *hetero);

/** Can be planned with?  O(hosts^2)
 *  @retval NF_ERR_RANGE  no hosts or too many, or @p root is not one of them
 *  @retval NF_ERR_INVAL  a cost is negative, above NF_COST_MAX or no number;
 *                        err says whose */
enum nf_status nf_hetero_check(const struct nf_hetero *hetero, uint32_t root,
                               struct nf_error *err);

/** X_ij as a cost; i != j, nothing measured. */
static inline struct nf_cost nf_hetero_wire(const struct nf_hetero *hetero,
                                            uint32_t i, uint32_t j)
{
    return hetero->wire[hetero->is_matrix ? (size_t)i * hetero->hosts + j : 0];
}
#endif
