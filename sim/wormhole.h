#ifndef NF_SIM_WORMHOLE_H
#define NF_SIM_WORMHOLE_H
/** @file wormhole.h  Wormhole routing, exact to the flit, by events whose
 * number does not depend on the length of messages.
 *
 *  A channel buffers one flit and belongs to one message (worm) from its header
 *  to its tail; the flits of a worm move together or not at all.  A header asks
 *  for the next channel a hop's time after it was granted the last one.  A
 *  channel that is not free has a queue, in the order in which it was asked
 * for, then of the worms' numbers.  With the x-th channel granted, a worm of m
 * flits leaves its (x - m)-th at that instant; from the grant of the last one
 * on it moves by a channel each hop's time.  At one instant, what is left comes
 *  before what is asked for, and that in the order of the worms' numbers.
 *
 *  Source: Lee 1999, section 4.2, and the rules that follow from one-flit
 *  buffers; checked against a simulation cycle by cycle. */
#include "sim/mesh.h"

#define NF_WORM_NONE UINT32_MAX

struct nf_worm {
    struct nf_mesh_way way;
    uint32_t flits;
    uint32_t hops;     /**< channels of its way; 0: not offered */
    uint32_t granted;  /**< how many of them so far */
    int64_t asked;     /**< for the channel that it waits for */
    int64_t delivered; /**< when its tail is there; if granted == hops */
    uint32_t next;     /**< in a queue */
};

/** Use the functions; to be read are worms, waits, waited, shared and events.
 *  Routes are not kept, so that room is taken for worms and channels only. */
struct nf_wormhole {
    struct nf_mesh mesh;
    int64_t hop_time; /**< of a flit, >= 1 */
    struct nf_worm *worms;
    uint32_t nworms, offered, delivered;
    /** If not NULL, told of each channel that is granted: the hop-th one of a
     *  worm.  Set it after nf_wormhole_init(). */
    void (*granted)(void *context, uint32_t worm, uint32_t hop, int64_t at);
    void *context;
    uint64_t waits;  /**< headers that found a channel busy, if only for that
                          instant */
    int64_t waited;  /**< how long in all */
    uint64_t shared; /**< lanes granted while the other lane of that link was
                          held: on one wire they would slow each other down */
    uint64_t events;
    int64_t now;
    struct nf_wormhole_channel *channels;
    struct nf_wormhole_event *heap;
    size_t nheap, max_heap;
    uint32_t first_done, last_done; /**< a queue of worms to be told of */
};

/** @param worms  how many worms there may be
 *  @param ports  injection and ejection channels of each node, >= 1: whichever
 *                is free is taken
 *  @param wormhole_p  free with nf_wormhole_fini(), also on failure
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_wormhole_init(struct nf_wormhole *wormhole_p,
                                const struct nf_mesh *mesh, uint32_t worms,
                                uint32_t ports, int64_t hop_time);
void nf_wormhole_fini(struct nf_wormhole *wormhole);

/** Worm number @p worm, once, asks for its injection channel at @p at, which
 *  must be later than any time reached.  @param flits  0 counts as 1
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_wormhole_offer(struct nf_wormhole *wormhole, uint32_t worm,
                                 uint32_t from, uint32_t to, uint32_t flits,
                                 int64_t at);

/** The same on a way that is said.
 *  @param way  there is such a one, see nf_mesh_has_way() */
enum nf_status nf_wormhole_offer_way(struct nf_wormhole *wormhole,
                                     uint32_t worm,
                                     const struct nf_mesh_way *way,
                                     uint32_t flits, int64_t at);

/** Go on until it is settled when some worm is delivered, which is later than
 *  the time then reached: what its delivery causes may still be offered.
 *  @retval NF_WAIT        all that were offered are
 *  @retval NF_ERR_FAILED  worms wait for each other in a cycle, which err names
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_wormhole_next(struct nf_wormhole *wormhole, uint32_t *worm_p,
                                struct nf_error *err);
#endif
