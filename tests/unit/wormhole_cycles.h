#ifndef NF_TESTS_WORMHOLE_CYCLES_H
#define NF_TESTS_WORMHOLE_CYCLES_H
/** @file wormhole_cycles.h  Wormhole routing flit by flit and cycle by cycle:
 * what sim/wormhole.h must agree with. */
#include "sim/mesh.h"

enum { CYCLES_WORMS_MAX = 64, CYCLES_FLITS_MAX = 64, CYCLES_HOPS_MAX = 64 };

struct cycles_worm {
    struct nf_mesh_way way;
    uint32_t flits;
    int64_t offered;
    /* what comes of it */
    uint32_t hops, route[CYCLES_HOPS_MAX];
    int64_t granted_at[CYCLES_HOPS_MAX], delivered; /* -1: not */
    /* where it is */
    int32_t place[CYCLES_FLITS_MAX]; /* of a flit: -1 with the sender, hops with
                                        the receiver, else in that channel */
    int64_t asked;                   /* since when its header waits; -1: not */
};

struct cycles {
    struct nf_mesh mesh;
    uint32_t ports, nworms;
    struct cycles_worm worms[CYCLES_WORMS_MAX];
};

/** Simulate; a cycle is one unit of time.  All worms are offered within 300 of
 *  them.  @return false if nothing moves any
 *  more though not all are there */
bool cycles_run(struct cycles *cycles);
#endif
