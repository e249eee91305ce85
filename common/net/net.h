#ifndef NF_NET_NET_H
#define NF_NET_NET_H
/** @file net.h  The transport: one master, any number of slaves.
 *
 *  Nothing here blocks on a peer: what a peer has no credit for is queued and
 *  goes out from nf_net_next() / nf_port_receive() when it has.  One thread at
 *  a time uses a struct nf_net or nf_port; only nf_port_wake() may be called
 *  from others.
 *
 *  Two transports: "pvm" (PVM tasks; net_pvm.c) and "local" (slaves are
 *  threads of this process; payloads go by reference; net_local.c). */
#include "common/base/blob.h"
#include "common/net/mesh.h"
#include "common/wire/wire.h"

struct nf_net;
struct nf_port;

/** What the master's side needs to start slaves. */
struct nf_net_config {
    /** local: body of a slave thread; must return after STOP or when
     *  nf_port_receive says NF_ERR_UNREACHABLE, having closed the port. */
    void (*slave_main)(struct nf_port *port, void *arg);
    void *slave_arg;
    /** pvm: absolute path of the slave program, the same on every host. */
    const char *slave_program;
    /** pvm: hosts to bring into the virtual machine, added in parallel and in
     *  the background; NULL-terminated, or NULL. */
    const char *const *hosts;
};

enum nf_net_event_kind {
    NF_NET_MESSAGE,      /**< peer, msg */
    NF_NET_LEFT,         /**< peer: its task has ended (certain) */
    NF_NET_HOST_UP,      /**< host: is in the virtual machine */
    NF_NET_HOST_FAILED,  /**< host, text: could not be added, or was lost */
    NF_NET_SPAWN_FAILED, /**< spawn_id, count, host, text: that many slaves of
                              the request will never say hello */
    NF_NET_OUTPUT,       /**< peer (or NF_NO_PEER), text: printed line(s) */
    NF_NET_FREE,         /**< emulated worlds only, see master/emulate.h */
};

#define NF_NO_PEER UINT32_MAX

struct nf_net_event {
    enum nf_net_event_kind kind;
    uint32_t peer;     /**< numbered 0, 1, ... in order of first contact */
    struct nf_msg msg; /**< the taker owns msg.payload */
    uint32_t spawn_id, count;
    const char *host, *text; /**< valid until the next call on the net */
    int64_t at_us;           /**< emulated worlds: when it happened; else 0 */
};

struct nf_net_ops {
    const char *name, *summary;
    bool by_reference; /**< a payload costs no more for many slaves */
    enum nf_status (*open)(const struct nf_net_config *config,
                           struct nf_net **net_p, struct nf_error *err);
    enum nf_status (*spawn)(struct nf_net *net, const char *host,
                            uint32_t count, uint32_t spawn_id);
    enum nf_status (*send)(struct nf_net *net, uint32_t peer,
                           const struct nf_msg *msg);
    enum nf_status (*next)(struct nf_net *net, struct nf_net_event *event_p);
    bool (*has_more)(struct nf_net *net); /* NULL: it may, always */
    size_t (*fds)(struct nf_net *net, const int **fds_p);
    size_t (*backlog_bytes)(struct nf_net *net, uint32_t peer);
    bool (*settled)(const struct nf_net *net); /* NULL: always */
    enum nf_status (*mesh)(struct nf_net *net, const uint32_t *members,
                           uint32_t count, struct nf_group_msg *msg_p,
                           int *tids_p, struct nf_mesh **mesh_p,
                           struct nf_error *err);
    void (*drop)(struct nf_net *net, uint32_t peer, bool kill);
    void (*close)(struct nf_net *net);
};

/** A transport's object starts with this. */
struct nf_net {
    const struct nf_net_ops *ops;
    /** Set by the user: while messages keep coming, nf_net_next may wait this
     *  long for the next one; what else there is to do can wait.  0: never. */
    int64_t linger_us;
    /** Set by nf_net_next() with NF_WAIT: there is more, but so much has come
     *  that tells the user nothing that he is to have a turn. */
    bool flooded;
};

/** Every transport that was built, then NULL. */
extern const struct nf_net_ops *const nf_net_table[];
/** @return the transport of that name, or NULL. */
const struct nf_net_ops *nf_net_find(const char *name);

/** Start @p count slaves on @p host (NULL: this one); answers at once, and
 *  each of them later either says HELLO with this spawn_id or is counted in a
 *  NF_NET_SPAWN_FAILED.  @retval NF_ERR_NOMEM  nothing was started */
static inline enum nf_status nf_net_spawn(struct nf_net *net, const char *host,
                                          uint32_t count, uint32_t spawn_id)
{
    return net->ops->spawn(net, host, count, spawn_id);
}

/** Queue @p msg for @p peer and send what credit allows.  Messages of kinds
 *  PING, HEARTBEAT, REVOKE and STOP overtake the others.  To a peer that left
 *  or was dropped: does nothing, NF_OK.  @retval NF_ERR_NOMEM */
static inline enum nf_status nf_net_send(struct nf_net *net, uint32_t peer,
                                         const struct nf_msg *msg)
{
    return net->ops->send(net, peer, msg);
}

/** The next thing that happened.  @retval NF_WAIT  nothing now: watch the fds
 *  @retval NF_ERR_UNREACHABLE  the transport itself broke (local pvmd gone)
 *  @retval NF_ERR_NOMEM  for a message that has come: end the job */
static inline enum nf_status nf_net_next(struct nf_net *net,
                                         struct nf_net_event *event_p)
{
    return net->ops->next(net, event_p);
}

/** May nf_net_next() find something at once?  Takes nothing, and what the last
 *  event points to stays valid. */
static inline bool nf_net_has_more(struct nf_net *net)
{
    return net->ops->has_more == NULL || net->ops->has_more(net);
}

/** File descriptors to watch for reading; the set may change in every call of
 *  nf_net_next.  Owned by the net, valid until the next call on it. */
static inline size_t nf_net_fds(struct nf_net *net, const int **fds_p)
{
    return net->ops->fds(net, fds_p);
}

/** Bytes queued for @p peer that it has not got yet. */
static inline size_t nf_net_backlog_bytes(struct nf_net *net, uint32_t peer)
{
    return net->ops->backlog_bytes(net, peer);
}

/** Have all slaves ended, and has all that they printed been delivered?  After
 *  STOP, go on taking events until then, for a second at the most. */
static inline bool nf_net_settled(const struct nf_net *net)
{
    return net->ops->settled == NULL || net->ops->settled(net);
}

/** Prepare a mesh of slaves, and of the master where a member is NF_NO_PEER; it
 *  waits for nobody.  Each slave is then to be sent GROUP with what is set here
 *  and its rank, for nf_port_mesh(); one that never gets it is one that never
 *  comes.
 *  @param members  [count] in the order of ranks, NF_NO_PEER at most once
 *  @param msg_p    id: a number that no other mesh of this net has; count,
 *                  context and cookie are set
 *  @param tids_p   [count] set
 *  @param mesh_p   the master's own; NULL if it is not a member
 *  @retval NF_ERR_NOMEM  @retval NF_ERR_UNREACHABLE */
static inline enum nf_status
nf_net_mesh(struct nf_net *net, const uint32_t *members, uint32_t count,
            struct nf_group_msg *msg_p, int *tids_p, struct nf_mesh **mesh_p,
            struct nf_error *err)
{
    return net->ops->mesh(net, members, count, msg_p, tids_p, mesh_p, err);
}

/** Throw away what is queued for @p peer.  It stays known: if it speaks again
 *  its messages are delivered.  With @p kill its task is killed, in the
 *  background, and it is forgotten. */
static inline void nf_net_drop(struct nf_net *net, uint32_t peer, bool kill)
{
    net->ops->drop(net, peer, kill);
}

/** End every slave that is still there (STOP must have been sent if they are
 *  to end by themselves; see nf_net_settled) by killing it,
 *  leave the virtual machine, halt it if we started it and nobody else uses
 *  it.  @p net may be NULL. */
static inline void nf_net_close(struct nf_net *net)
{
    if (net != NULL)
        net->ops->close(net);
}

struct nf_port_ops {
    enum nf_status (*send)(struct nf_port *port, const struct nf_msg *msg);
    enum nf_status (*receive)(struct nf_port *port, struct nf_msg *msg_p);
    enum nf_status (*wait)(struct nf_port *port, int64_t timeout_us);
    void (*wake)(struct nf_port *port);
    size_t (*backlog_bytes)(const struct nf_port *port); /* NULL: always 0 */
    enum nf_status (*mesh)(struct nf_port *port, const struct nf_group_msg *msg,
                           struct nf_mesh **mesh_p, struct nf_error *err);
    bool deaf_to_meshes; /**< nf_port_wait ends when something comes for a mesh,
                              but not if more was there when it began */
    void (*close)(struct nf_port *port);
};

/** The slave's side.  A transport's port starts with this. */
struct nf_port {
    const struct nf_port_ops *ops;
    uint32_t spawn_id; /**< to be said in HELLO */
    bool may_linger;   /**< set by the user of the port: nobody is going to
                            call nf_port_wake, so nf_port_wait need not heed
                            it */
    bool is_brief;     /**< likewise: the next message is expected so soon that
                            to sleep may not be worth while */
};

/** Queue @p msg for the master and send what credit allows. */
static inline enum nf_status nf_port_send(struct nf_port *port,
                                          const struct nf_msg *msg)
{
    return port->ops->send(port, msg);
}

/** Take the next message from the master; also moves what is queued.
 *  @retval NF_WAIT  none now
 *  @retval NF_ERR_UNREACHABLE  the master is gone, for certain
 *  @retval NF_ERR_PROTOCOL  the master sent what does not decode */
static inline enum nf_status nf_port_receive(struct nf_port *port,
                                             struct nf_msg *msg_p)
{
    return port->ops->receive(port, msg_p);
}

/** Sleep until a message may be there (NF_OK), nf_port_wake was called (NF_OK)
 *  or @p timeout_us (< 0: for ever) has passed (NF_WAIT). */
static inline enum nf_status nf_port_wait(struct nf_port *port,
                                          int64_t timeout_us)
{
    return port->ops->wait(port, timeout_us);
}

/** End the current or next nf_port_wait.  From any thread. */
static inline void nf_port_wake(struct nf_port *port)
{
    port->ops->wake(port);
}

/** Bytes of messages that wait for credit; 0: all that was sent is on its way. */
static inline size_t nf_port_backlog_bytes(const struct nf_port *port)
{
    return port->ops->backlog_bytes != NULL ? port->ops->backlog_bytes(port)
                                            : 0;
}

/** The mesh that the master wants this slave to be a member of; it may wait for
 *  members with lower ranks to answer, which the master has just heard.  Close it
 *  before the port.
 *  @retval NF_ERR_INVAL  this slave is not that member, or it is twice one */
static inline enum nf_status nf_port_mesh(struct nf_port *port,
                                          const struct nf_group_msg *msg,
                                          struct nf_mesh **mesh_p,
                                          struct nf_error *err)
{
    return port->ops->mesh(port, msg, mesh_p, err);
}

static inline void nf_port_close(struct nf_port *port)
{
    if (port != NULL)
        port->ops->close(port);
}

/** The environment variable that makes a process a slave. */
#define NF_SLAVE_VARIABLE "NOWFARM_SLAVE"

/** In a process that was started as a slave: connect to the master.
 *  @param address  the value of NF_SLAVE_VARIABLE, "pvm:..."
 *  @retval NF_ERR_INVAL  not such an address
 *  @retval NF_ERR_UNREACHABLE  no such master */
enum nf_status nf_port_open(const char *address, struct nf_port **port_p,
                            struct nf_error *err);
#endif
