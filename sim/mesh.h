#ifndef NF_SIM_MESH_H
#define NF_SIM_MESH_H
/** @file mesh.h  Meshes and tori of any number of dimensions, and the channels
 *  that a message takes through them.
 *
 *  Nodes are numbered in the order of their addresses, of which the first
 *  coordinate is the most significant.  A message takes its sender's injection
 *  channel, a channel in one direction between each two neighbours on its way,
 *  and its receiver's ejection channel.  It corrects one coordinate after the
 *  other, by default the first one first.
 *
 *  On a torus it goes the shorter way round; if both are as long, up from even
 *  coordinates and down from odd ones.  Each link has two lanes (virtual
 *  channels): whatever goes round the end of a ring changes to the second one
 *  there, so that no cycle of waiting messages can arise.  The lanes of a link
 *  are channels by themselves: neither slows the other one down.
 *  Source: Dally, Seitz, IEEE Trans. Computers 36(5), 1987. */
#include <stdbool.h>
#include <stdint.h>
#include "common/base/error.h"

/** A hypercube of so many nodes has so many dimensions. */
enum { NF_MESH_DIMS_MAX = 16, NF_MESH_NODES_MAX = 1 << 16 };

struct nf_mesh {
    uint32_t dims, nodes;
    uint32_t side[NF_MESH_DIMS_MAX];
    bool torus;
    bool last_first; /**< routes correct the last coordinate first */
    bool one_lane; /**< of a torus: for showing that it then comes to a stop */
};

/** Read "16x16", "7", "4x4x4": sides from 1 on.
 *  @param mesh_p  a mesh, no torus
 *  @retval NF_ERR_INVAL, NF_ERR_RANGE  err says what is wanted */
enum nf_status nf_mesh_parse(const char *text, struct nf_mesh *mesh_p,
                             struct nf_error *err);

/** @param address_p  [mesh->dims] */
void nf_mesh_address(const struct nf_mesh *mesh, uint32_t node,
                     uint32_t *address_p);
uint32_t nf_mesh_node(const struct nf_mesh *mesh, const uint32_t *address);

/** How many channels there are: their numbers are below that. */
uint32_t nf_mesh_channels(const struct nf_mesh *mesh);
/** Is that an injection or an ejection channel? */
bool nf_mesh_is_port(const struct nf_mesh *mesh, uint32_t channel);

/** How many channels a message takes: the distance and 2. */
uint32_t nf_mesh_hops(const struct nf_mesh *mesh, uint32_t from, uint32_t to);
/** The @p hop-th one of them, from 0; O(dims). */
uint32_t nf_mesh_channel(const struct nf_mesh *mesh, uint32_t from, uint32_t to,
                         uint32_t hop);
/** All of them.  @param channel_p  [nf_mesh_hops()] */
void nf_mesh_route(const struct nf_mesh *mesh, uint32_t from, uint32_t to,
                   uint32_t *channel_p);

/** A way that a message may be told to take: along one side of a torus only,
 *  the shorter way round or not. */
struct nf_mesh_way {
    uint32_t from, to;
    uint32_t side;
    int32_t steps; /**< up, or down if < 0; 0: as the mesh pleases */
};

/** Is there such a way: does it end where it says, and go round less than
 *  once? */
bool nf_mesh_has_way(const struct nf_mesh *mesh, const struct nf_mesh_way *way);
/** As nf_mesh_hops() and nf_mesh_channel().  @param way  there is such a one */
uint32_t nf_mesh_way_hops(const struct nf_mesh *mesh,
                          const struct nf_mesh_way *way);
uint32_t nf_mesh_way_channel(const struct nf_mesh *mesh,
                             const struct nf_mesh_way *way, uint32_t hop);
/** The other lane of a link of a torus; of a port, or on a mesh, the channel
 *  itself. */
uint32_t nf_mesh_other_lane(const struct nf_mesh *mesh, uint32_t channel);
#endif
