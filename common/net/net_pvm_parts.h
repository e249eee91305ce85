#ifndef NF_NET_NET_PVM_PARTS_H
#define NF_NET_NET_PVM_PARTS_H
/** @file net_pvm_parts.h  The books of the PVM transport's master side. */
#include "common/net/keeper.h"
#include "common/net/net_pvm.h"
#include "common/net/pvm.h"

enum peer_state { PEER_LIVE, PEER_LEFT, PEER_KILLED };

struct peer {
    int tid;
    enum peer_state state;
    bool convert;
    bool deferred; /**< in net_pvm.deferred */
    struct nf_link link;
};

/* A task that was spawned and has not said hello. */
struct task {
    int tid;
    uint32_t spawn_id;
};

struct pending {
    struct pending *next;
    struct nf_net_event event;
    char *host, *text;
};

struct net_pvm {
    struct nf_net base;
    struct nf_keeper *keeper;
    int tid;
    uint64_t cookie;
    uint64_t limit_bytes;
    bool convert_always; /* NOWFARM_ENCODING=xdr, for tests */
    bool own_hosts;      /* a hosts file was given */
    bool busy;           /* the last look found a message */
    uint32_t unasked;    /* messages since the keeper was asked */
    char *program;
    struct nf_pvm_host *hosts;
    size_t nhosts;
    int slaves_context; /* of meshes of slaves only; 0: none yet */
    int format;         /* of this host */
    char here[64];
    struct peer *peers;
    uint32_t npeers, peers_capacity;
    struct task *tasks;
    uint32_t ntasks, tasks_capacity;
    uint32_t relays; /* spawn requests whose slaves may still print */
    uint32_t *map;   /* tid -> peer number + 1, open addressing */
    uint32_t map_capacity;
    uint32_t *deferred; /* peers whose small messages wait for company */
    uint32_t ndeferred, deferred_capacity;
    struct pending *first, *last, *taken;
    int *fds;
    size_t fds_capacity;
};

/** Double an array. */
enum nf_status nf_net_pvm_grow(void **array, uint32_t *capacity, size_t bytes);
/** @return the peer that is task @p tid, or NULL */
struct peer *nf_net_pvm_find_peer(const struct net_pvm *n, int tid);
/** Make peers[peer], the newest, known by its task. */
enum nf_status nf_net_pvm_enter(struct net_pvm *n, uint32_t peer);
/** @return the host that task @p tid is on, or NULL if it is news to us */
const struct nf_pvm_host *nf_net_pvm_host_of(const struct net_pvm *n, int tid);
bool nf_net_pvm_has_host(const struct net_pvm *n, const char *host);
/** Ask the local pvmd which hosts there are. */
enum nf_status nf_net_pvm_read_hosts(struct net_pvm *n);
/** Keep an event for a later call of next; texts are copied.
 *  @return it, or NULL if out of memory */
struct nf_net_event *nf_net_pvm_post(struct net_pvm *n,
                                     enum nf_net_event_kind kind,
                                     const char *host, const char *text);
void nf_net_pvm_free_pending(struct pending *p);
/** Hosts have come: post which. */
void nf_net_pvm_take_new_hosts(struct net_pvm *n);
/** A host has gone.  Said once for each time that we asked, and so remembered.
 */
void nf_net_pvm_forget_host(struct net_pvm *n, int tid);
#endif
