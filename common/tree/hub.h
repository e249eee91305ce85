#ifndef NF_TREE_HUB_H
#define NF_TREE_HUB_H
/** @file hub.h  Messages that share one medium, as a hub: each waits until
 *  those before it have left the wire.  For pricer.c and times.c, whose rules
 *  are otherwise the same.  Pure.
 *
 *  A host does what it has to in its order; what it hands over waits for the
 *  host's port, one after the other; and what a port offers waits for the
 *  medium, first come, first served, of equals the lower host.  A message with
 *  medium_us = 0, between members on one host, never waits for the medium. */
#include "common/coll/coll.h"
#include "common/tree/heap.h"
#include "common/tree/hops.h"
#include "common/tree/tree.h"
#include "common/tree/watch.h"

enum { NF_HUB_MOST = 1 << 27 }; /**< messages */

struct nf_hub_message {
    uint32_t src, dst;
    uint32_t round; /**< ascending; in a round a host sends, then receives */
    double send_us, recv_us, wire_us, port_us, medium_us;
    bool is_handed, is_there; /**< what happened; at_us: when */
    double at_us;
};

struct nf_hub {
    uint32_t nodes;
    uint32_t most;                   /**< messages */
    struct nf_hub_message *messages; /**< [most] */
    uint32_t *ops;   /**< [2 * most], host by host: 2 * message + receives */
    uint32_t *first; /**< [nodes + 2] of a host, in ops */
    uint32_t *next, *queued;    /**< [nodes] for its hands, for its port */
    bool *offers;               /**< [nodes] has its port something to send? */
    double *hands_us, *port_us; /**< [nodes] when they are free */
    double *last_us;            /**< [nodes] when it had its last message */
    struct nf_heap heap;        /**< of hosts whose ports offer something */
    const struct nf_watch *watch; /**< of nf_hub_pipe() that does not block, or
                                       NULL; borrowed */
};

/** @retval NF_ERR_NOMEM */
enum nf_status nf_hub_init(struct nf_hub *hub_p, uint32_t nodes, uint32_t most);
void nf_hub_fini(struct nf_hub *hub);

/** Fill a message in: from, to, and what that costs. */
void nf_hub_set(struct nf_hub_message *message, const struct nf_hops *hops,
                uint32_t src, uint32_t dst);

/** Carry the first @p count messages out.
 *  @param is_blocking  a sender waits until its receiver has it
 *  @return when the last host has the last one.  O(count log nodes) */
double nf_hub_run(struct nf_hub *hub, uint32_t count, bool is_blocking);

/** A tree, as nf_tree_pipe(): nodes * segments messages are to fit.
 *  @param order  [nodes] parents before children */
double nf_hub_pipe(struct nf_hub *hub, const struct nf_tree *tree,
                   const uint32_t *order, const struct nf_hops *hops,
                   uint64_t segments, bool is_blocking);
#endif
