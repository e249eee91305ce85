#ifndef NF_SIM_MESH_CAST_H
#define NF_SIM_MESH_CAST_H
/** @file mesh_cast.h  A multicast along a tree on a mesh with wormhole routing.
 *
 *  A node that is ready at R puts its message for the n-th child (n = 0, 1,
 * ...) to the network at R + t_send + o(n), whatever the network does
 * meanwhile; that child is ready t_recv after the tail has come.
 *
 *      t_send = send_fixed + m send_byte      t_net  = K hop + (m - 1) hop
 *      t_recv = recv_fixed + m recv_byte      t_hold = t_send
 *      t_end  = t_send + t_net + t_recv, K = channels of the way
 *
 *  One byte is a flit; a message of no bytes has one flit too.
 *  Source: Lee 1999, section 4.2; "m = 3 x (...)" there must read "m x (...)".
 */
#include "common/tree/uniform.h"
#include "sim/mesh.h"

/** In ticks. */
struct nf_mesh_costs {
    int64_t send_fixed, send_byte, hop, recv_fixed, recv_byte;
};

/** Those of the paper; a tick is 0.01 us. */
#define NF_MESH_COSTS_PAPER ((struct nf_mesh_costs){ 2000, 2, 2, 3500, 3 })

/** Bytes of a message, and ticks of each part of the costs. */
#define NF_MESH_BYTES_MAX UINT32_C(1000000000)
#define NF_MESH_TICKS_MAX INT64_C(1000000000)

struct nf_mesh_cast {
    struct nf_mesh mesh;
    struct nf_mesh_costs costs;
    uint32_t bytes;
    uint32_t ports;   /**< of a node, >= 1 */
    int64_t interval; /**< between sends of a node */
};

struct nf_mesh_result {
    int64_t time;   /**< when the last node is ready */
    uint64_t waits; /**< headers that found a channel busy */
    int64_t waited; /**< how long they waited in all; 0 if each was left at
                         that instant */
    uint64_t events;
};

/** @retval NF_ERR_RANGE  costs or bytes are beyond their bounds, or a hop takes
 *                        no time */
enum nf_status nf_mesh_cast_check(const struct nf_mesh_cast *cast,
                                  struct nf_error *err);

/** What trees are built with: t_hold, and t_end over a single channel. */
struct nf_uniform nf_mesh_uniform(const struct nf_mesh_cast *cast);

/** @p nodes different nodes of the mesh, of which the first one is the source:
 *  the first ones of a shuffle (Fisher, Yates) by SplitMix64.
 *  @param place_p  [cast->mesh.nodes]; the first @p nodes are them */
void nf_mesh_place(const struct nf_mesh *mesh, uint64_t seed, uint32_t nodes,
                   uint32_t *place_p);

/** The tree of @p algorithm among place[0..nodes), node v of it being place[v],
 *  with the root at place[0]: along their chain or, if the algorithm has ranks,
 *  in the order of the list.  @param tree_p  free with nf_tree_fini()
 *  @retval NF_ERR_INVAL  a place comes twice     @retval NF_ERR_NOMEM, _RANGE
 */
enum nf_status nf_mesh_tree(const struct nf_mesh *mesh,
                            const struct nf_uniform_algorithm *algorithm,
                            const struct nf_uniform *uniform,
                            const uint32_t *place, uint32_t nodes,
                            struct nf_tree *tree_p, struct nf_error *err);

/** Simulate.  @param ready_p  [tree->nodes]; may be NULL
 *  @retval NF_ERR_FAILED  messages wait for each other in a cycle
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_mesh_cast(const struct nf_mesh_cast *cast,
                            const struct nf_tree *tree, const uint32_t *place,
                            int64_t *ready_p, struct nf_mesh_result *result_p,
                            struct nf_error *err);
#endif
