#ifndef NF_MODEL_NETWORK_H
#define NF_MODEL_NETWORK_H
/** @file network.h  A network as it was measured: what a message of any size
 *  costs each host and each pair of hosts.  Pure.
 *
 *      S_i = send[i]   R_j = recv[j]   X_ij = wire[i, j]   H_i = hold[i]
 *      T(i, j, m) = S_i + X_ij + R_j
 *
 *  H_i, the time from one message of a host to its next, is S_i or what the
 *  host's wire takes, whichever is more: it is what a sender of many messages
 *  really waits.
 *
 *  Which hosts there are may change after measuring:
 *    - one that left is left out;
 *    - one that joined, or was never measured, counts as slow: at each size
 *      send, recv and hold are the greatest of those measured, and so is the
 *      wire of every pair with it.  Where others are as slow that alone does
 *      not make it a leaf of a tree: nf_hetero.is_leaf does.
 *  Source: Sawahata & Shibusawa, equations (1) to (4); H: Lee, section 2. */
#include "common/model/curve.h"
#include "common/model/model.h"

enum {
    NF_NETWORK_HOSTS_MAX = 512,
    NF_NETWORK_NAME_BYTES = 64,
    NF_NETWORK_OLD_S = 7 * 86400, /**< a model older than this is old */
    NF_NETWORK_AHEAD_S = 86400,   /**< clocks do not differ by more */
};

struct nf_network_host {
    char name[NF_NETWORK_NAME_BYTES];
    struct nf_curve send, recv, hold;
    double runtime_us; /**< more than S and R that a message takes of it at
                            either end as part of a collective operation */
};

struct nf_network {
    uint32_t nhosts;
    struct nf_network_host *hosts; /**< [nhosts], names differ */
    struct nf_curve *wires; /**< [nhosts * nhosts], row i to column j; the
                                 diagonal is not used */
    uint32_t *place; /**< [nhosts] equal numbers: members that share a host,
                          nf_network_share(); NULL: nobody does */
    struct nf_model model; /**< of collective operations: t_s, B, delta, o_s,
                                t_op, route, encoding, date */
    bool shared;           /**< all pairs share one medium: a hub */
    double call_us; /**< what a broadcast of all takes beyond its messages: all
                         come to the call after a barrier, and wake up */
    double wake_us; /**< how much longer a message of it is on its way than its
                         wire says: who gets it has to be woken, while others of
                         its machine are awake too */
};

/** No names, no times.  @param network_p  free with nf_network_fini()
 *  @retval NF_ERR_INVAL  more than NF_NETWORK_HOSTS_MAX, or none */
enum nf_status nf_network_init(struct nf_network *network_p, uint32_t nhosts);
void nf_network_fini(struct nf_network *network);

static inline struct nf_curve *nf_network_wire(const struct nf_network *network,
                                               uint32_t i, uint32_t j)
{
    return &network->wires[(size_t)i * network->nhosts + j];
}

/** Do i and j share a host, so that there is no wire between them? */
static inline bool nf_network_are_together(const struct nf_network *network,
                                           uint32_t i, uint32_t j)
{
    return i == j ||
           (network->place != NULL && network->place[i] == network->place[j]);
}

/** Several of them are members on one host: between these a message costs no
 *  time on a wire and holds no port, but its sender and its receiver, and in
 *  groups wake_us.
 *  @param hosts  [nhosts] equal numbers: one host; copied
 *  @retval NF_ERR_NOMEM  nothing is changed */
enum nf_status nf_network_share(struct nf_network *network,
                                const uint32_t *hosts);

/** T(i, j, bytes), i != j. */
double nf_network_time_us(const struct nf_network *network, uint32_t i,
                          uint32_t j, double bytes);
/** G_ij(bytes) of all j: how long a message from @p i to j keeps i's wire.
 *  Mostly that is what its bytes take on the wire to j, but no less than at the
 *  rate of the longest messages measured: a link that was idle lets a short one
 *  pass at once, not a stream of them.  But H_i
 *    - if H_i is more than that takes on any wire, and more than 1.1 S_i, the
 *      more so the larger the message: more than the wires hold i;
 *    - if H_i is less than that takes on any wire, by the share of the quickest
 *      that it is, but no less than by their lines: so many of the bytes are
 *      still on their way when the sender has its hands on the next message.
 *  So among equal wires the port is what was measured as H_i.  Where wires
 *  differ H_i depends on whom the messages went to; an H_i between the quickest
 *  and the slowest of them says nothing that the wires do not say themselves.
 *  Who shares i's host has no part in that: to these there is no wire.
 *  @param port_p  G_ij goes to port_p[j * stride]; 0 for j = i and for those
 *                 that share i's host.  O(hosts) */
void nf_network_ports(const struct nf_network *network, uint32_t i,
                      double bytes, double *port_p, size_t stride);

/** What a link from @p i to j that was idle lets pass at once, in bytes: as
 * many as X_ij grows less from 0 to the largest size measured than it does at
 * the end, if times were measured and are not but lines.  As shapers do, and
 * links of labs. */
double nf_network_burst_bytes(const struct nf_network *network, uint32_t i,
                              uint32_t j);

/** How long a message from @p i to j, i != j, keeps a medium that all share
 *  busy: its bytes on the wire, but no longer than i's port.
 *  @param port_us  G_ij(bytes), of nf_network_ports() */
double nf_network_medium_us(const struct nf_network *network, uint32_t i,
                            uint32_t j, double bytes, double port_us);

/** @return the host of that name; nhosts: there is none */
uint32_t nf_network_find(const struct nf_network *network, const char *name);

/** The hosts that there are now, in this order.
 *  @param names     [count] of NF_NETWORK_NAME_BYTES each
 *  @param now_p     as nf_network_init(); free with nf_network_fini()
 *  @param unknown_p how many of them were never measured; may be NULL
 *  @retval NF_ERR_INVAL  as nf_network_init() */
enum nf_status nf_network_of(const struct nf_network *network,
                             const char (*names)[NF_NETWORK_NAME_BYTES],
                             uint32_t count, struct nf_network *now_p,
                             uint32_t *unknown_p);

/** Is it out of date?  @return true: text says why in one line
 *  @param now_s   seconds since 1970; 0: the age does not count
 *  @param names   hosts that there are now; NULL: not known
 *  @param text    [bytes] 200 are enough */
bool nf_network_is_old(const struct nf_network *network, int64_t now_s,
                       const char (*names)[NF_NETWORK_NAME_BYTES],
                       uint32_t count, char *text, size_t bytes);

/** Where a model is to serve, and when. */
struct nf_network_use {
    int64_t now_s; /**< seconds since 1970; 0: the age does not count */
    enum nf_model_route route;
    enum nf_model_encoding encoding;
};
/** What there may be to say of a model that is used. */
enum nf_network_doubt {
    NF_NETWORK_DOUBT_AGE = 1,
    NF_NETWORK_DOUBT_ROUTE = 2,
    NF_NETWORK_DOUBT_ENCODING = 4,
};
/** Is it out of date there, or of messages that went another way?  Of hosts
 *  nothing is said: a group may be of some of them, and who is on others is
 *  counted by nf_network_of().
 *  @return the sum of enum nf_network_doubt; 0: no */
unsigned nf_network_doubts(const struct nf_network *network,
                           const struct nf_network_use *use);
/** Those doubts in one line.
 *  @param doubts  some of nf_network_doubts(), not 0 */
void nf_network_say_doubts(const struct nf_network *network,
                           const struct nf_network_use *use, unsigned doubts,
                           char *text, size_t bytes);
/** Both at once.  @return true: text says it */
bool nf_network_is_doubtful(const struct nf_network *network,
                            const struct nf_network_use *use, char *text,
                            size_t bytes);

/** "2026-11-21T23:50:30Z" as seconds since 1970; -1: that is no date. */
int64_t nf_network_date_s(const char *date);

/** A model of the future was dated by a wrong clock: how old it is cannot be
 *  told.
 *  @param name   of the file, for errors
 *  @param now_s  seconds since 1970
 *  @retval NF_ERR_INVAL  it is of more than NF_NETWORK_AHEAD_S from now */
enum nf_status nf_network_check_date(const struct nf_network *network,
                                     int64_t now_s, const char *name,
                                     struct nf_error *err);

/** A network as planners take it: every size of segments costs what the curves
 *  say of that size.  Such planners, and whoever predicts the time of a tree,
 *  find in nf_hops_hold() the one time that a message, one of a few, holds its sender.
 *  @param has_ports  true: wires are held for G_ij, nf_network_ports(), and if
 *                    the medium is shared so is that, nf_network_medium_us().
 *                    false: no ports, and S_i is the greater of S_i and H_i, at
 * the cost of X_ij: T stays what it is, if X_ij is large enough
 *  @return borrows @p network; need not be freed */
struct nf_hetero nf_network_hetero(const struct nf_network *network,
                                   bool has_ports);
#endif
