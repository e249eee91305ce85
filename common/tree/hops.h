#ifndef NF_TREE_HOPS_H
#define NF_TREE_HOPS_H
/** @file hops.h  What each hop of a message of one size costs: struct nf_hetero
 *  at so many bytes.  All in microseconds.  Pure.
 *
 *      T(i, j) = send[i] + wire(i, j) + recv[j]
 *
 *  A sender is busy for send[i]; its port for port(i, j), from when the message
 *  is handed over and the port is free.  Source: Sawahata & Shibusawa,
 *  equations (1) to (4), and ports.  If the network was measured, ports are
 *  those of nf_network_ports(), but for short messages: one that leads to a
 *  slow link leaves its sender's as quickly as any other, and the next one to
 *  the same receiver is not there before in[] of it have passed.  That is known
 *  of measured networks alone, and of long messages port says it already.  On a
 *  shared medium a message also waits for those of all others: hub.h.
 *
 *  A link that was idle lets some bytes pass at once, as a token bucket does
 *  (Tanenbaum, Computer Networks, 5.4): what ports say is what a message takes of
 *  the rate, with its heads where something is spare, and a host may be spare[i] ahead
 *  of that.  When its hands are free of a message at h, and the port would be at b, it
 *  is there at
 *      max(h, b + port - spare) - max(port - spare, 0) + wire(i, j)
 *  as wires say what the message takes alone. */
#include <math.h>
#include "common/model/hetero.h"

/** As NF_MESH_SHORT_BYTES. */
enum { NF_HOPS_SHORT_BYTES = 4096 };
/** What a message takes of a link beside its bytes: heads of Ethernet, IP and TCP, 66
 *  bytes, and ours. */
enum { NF_HOPS_HEADS_BYTES = 128 };
/** Whoever must take one time for all of a host's messages has it share spare[]
 *  among so many: a host of a good tree has a few children. */
enum { NF_HOPS_COPIES = 3 };

struct nf_hops {
    uint32_t nodes;
    bool is_matrix;      /**< wire and port: [nodes * nodes]; otherwise [1] */
    double *send, *recv; /**< [nodes] */
    double *wire, *port; /**< by receiver: row j has what leads to j */
    double *in;          /**< [nodes] from one message that comes in to the
                              next, whoever sends them; NULL: port says it */
    double *spare;       /**< [nodes] see above; with in, or NULL */
    double *spare_in;    /**< [nodes] the same of links in */
    double *medium;      /**< as port: how long the one medium is busy with it.
                              NULL: each port has its own wire */
    const bool *is_leaf; /**< as of struct nf_hetero */
};

/** The costs of @p bytes between the hosts of @p hetero.
 *  @param hops_p  free with nf_hops_fini() */
enum nf_status nf_hops_init(struct nf_hops *hops_p,
                            const struct nf_hetero *hetero, double bytes);
/** The same hosts, another size. */
void nf_hops_set(struct nf_hops *hops, const struct nf_hetero *hetero,
                 double bytes);
/** The same for a message in @p segments of @p bytes each.  A single one is all
 *  that is sent: a short one of a measured network then has spare, by
 *  nf_network_burst_bytes(); others have none. */
enum nf_status nf_hops_init_segments(struct nf_hops *hops_p,
                                     const struct nf_hetero *hetero,
                                     double bytes, uint64_t segments);
void nf_hops_set_segments(struct nf_hops *hops, const struct nf_hetero *hetero,
                          double bytes, uint64_t segments);
void nf_hops_fini(struct nf_hops *hops);

/** Can a tree be made of it?  For whoever takes hops from others.  O(nodes^2)
 *  @retval NF_ERR_RANGE  @p root is no node; there may be none at all
 *  @retval NF_ERR_INVAL  a time is negative, infinite or no number */
enum nf_status nf_hops_check(const struct nf_hops *hops, uint32_t root);

static inline size_t nf_hops_at(const struct nf_hops *hops, uint32_t i,
                                uint32_t j)
{
    return hops->is_matrix ? (size_t)j * hops->nodes + i : 0;
}

static inline double nf_hops_wire(const struct nf_hops *hops, uint32_t i,
                                  uint32_t j)
{
    return hops->wire[nf_hops_at(hops, i, j)];
}

static inline double nf_hops_port(const struct nf_hops *hops, uint32_t i,
                                  uint32_t j)
{
    return hops->port[nf_hops_at(hops, i, j)];
}

static inline double nf_hops_in(const struct nf_hops *hops, uint32_t j)
{
    return hops->in != NULL ? hops->in[j] : 0;
}

static inline double nf_hops_spare(const struct nf_hops *hops, uint32_t i)
{
    return hops->spare != NULL ? hops->spare[i] : 0;
}

/** How much later than alone a message begins its way that takes @p port_us of the rate,
 *  when what went before it takes @p before_us more.  @p before_us itself if nothing is
 *  spare. */
static inline double nf_hops_behind(double port_us, double spare_us,
                                    double before_us)
{
    return fmax(before_us + port_us - spare_us, 0) -
           fmax(port_us - spare_us, 0);
}

/** When a message from i to j begins its way, wire(i, j).
 *  @param hands_us  when i's hands are free of it
 *  @param begin_us  when its port is, too, if nothing was spare */
static inline double nf_hops_begin(const struct nf_hops *hops, uint32_t i,
                                   uint32_t j, double hands_us, double begin_us)
{
    double spare_us = nf_hops_spare(hops, i);

    return spare_us > 0
               ? hands_us + nf_hops_behind(nf_hops_port(hops, i, j), spare_us,
                                           begin_us - hands_us)
               : begin_us;
}

/** 0: it waits for no other message. */
static inline double nf_hops_medium(const struct nf_hops *hops, uint32_t i,
                                    uint32_t j)
{
    return hops->medium != NULL ? hops->medium[nf_hops_at(hops, i, j)] : 0;
}

/** Must i, unless it is the root, have no children? */
static inline bool nf_hops_is_leaf(const struct nf_hops *hops, uint32_t i)
{
    return hops->is_leaf != NULL && hops->is_leaf[i];
}

/** T(i, j). */
static inline double nf_hops_time(const struct nf_hops *hops, uint32_t i,
                                  uint32_t j)
{
    return hops->send[i] + nf_hops_wire(hops, i, j) + hops->recv[j];
}

/** How long i has its hands full with a message to j, port included: one of
 *  NF_HOPS_COPIES. */
static inline double nf_hops_hold(const struct nf_hops *hops, uint32_t i,
                                  uint32_t j)
{
    double port = fmax(
        nf_hops_port(hops, i, j) - nf_hops_spare(hops, i) / NF_HOPS_COPIES, 0);

    return port > hops->send[i] ? port : hops->send[i];
}
#endif
