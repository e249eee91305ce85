#ifndef NF_MASTER_MEDIUM_H
#define NF_MASTER_MEDIUM_H
/** @file medium.h  An emulated master and its network in virtual time: when a
 *  message is on which wire, when the master is busy, and whose turn is next.
 *  No clock, no I/O: the same rules as sim/farm_sim.c, driven by the real
 *  clock in emulate_net.c and by a virtual one in tests.
 *
 *  A data message costs the master time to send, then the wire, and is then
 *  due at its slave.  A result costs the wire, waits for the master, costs it
 *  time to take, and is then due at the farm.  Times are when things happen in
 *  the emulated world; who asks too late loses nothing, as every next step
 *  counts from there. */
#include <sys/queue.h>
#include "master/emulate.h"

/** A message on its way; a part of whatever the caller keeps of it. */
struct nf_transfer {
    TAILQ_ENTRY(nf_transfer) link;
    int stage;
    int64_t due_us; /**< when the stage ends */
    uint32_t peer, slot;
    uint64_t lease, units;
    bool is_result;
    bool cancelled; /**< to be dropped at the slave */
    bool last; /**< result: the lease is answered in full */
    /** Result, if results block: what the slave can't know, as its queue is
     *  kept here; -1: what it measured is right. */
    int64_t wait_us, idle_us;
};

TAILQ_HEAD(nf_transfers, nf_transfer);

/** A slave's slot, if results block. */
struct nf_medium_slot {
    bool busy; /**< a lease is with it, or its result on the wire */
    uint64_t lease;
    int64_t free_us;          /**< since when it has not been; -1: never was */
    int64_t wait_us, idle_us; /**< of the lease */
    struct nf_transfers held;
};

struct nf_medium_peer {
    int64_t free_us[2]; /**< links: of the wires to and from it */
    uint32_t nslots;
    struct nf_medium_slot **slots;
};

struct nf_medium {
    struct nf_emulate emulate;
    int64_t bus_free_us;
    int64_t cpu_free_us; /**< the master is busy until then */
    int64_t wake_us;
    bool deaf;
    struct nf_transfers moving; /**< in order of due_us */
    struct nf_transfers mail;   /**< for the master, in order of arrival */
    struct nf_transfers dropped;
    uint32_t npeers;
    struct nf_medium_peer *peers;
};

enum nf_medium_what {
    NF_MEDIUM_DELIVER, /**< hand transfer, a data message, to its slave */
    NF_MEDIUM_DROP,    /**< transfer was cancelled on its way */
    NF_MEDIUM_MERGE,   /**< hand transfer, a result, to the farm */
    NF_MEDIUM_FREE,    /**< the master has time for what it was armed for */
};

struct nf_medium_event {
    enum nf_medium_what what;
    struct nf_transfer *transfer; /**< the caller's again */
    int64_t at_us;                /**< when it happened */
};

void nf_medium_init(struct nf_medium *medium, const struct nf_emulate *emulate);
/** Free what the medium has allocated; transfers must have been taken back. */
void nf_medium_fini(struct nf_medium *medium);

/** The master begins to send a data message at @p now_us, or when it is no
 *  longer busy.  Borrows @p transfer until an event or nf_medium_take_back
 *  returns it.  @retval NF_ERR_NOMEM  nothing changed */
enum nf_status nf_medium_send(struct nf_medium *medium,
                              struct nf_transfer *transfer, int64_t now_us);
/** A result leaves its slave at @p now_us.  Otherwise as above; sets wait_us
 *  and idle_us. */
enum nf_status nf_medium_arrive(struct nf_medium *medium,
                                struct nf_transfer *transfer, int64_t now_us);
/** @p lease is of no use any more: if it has not been delivered to @p peer, it
 *  will be dropped when it would be; until then it is on its way as ever.
 *  @return whether that is so */
bool nf_medium_cancel(struct nf_medium *medium, uint32_t peer, uint64_t lease);
/** See nf_emulated_arm(). */
void nf_medium_arm(struct nf_medium *medium, int64_t wake_us, bool deaf);
/** What happens next, up to @p now_us.  Answer to an event before you ask for
 *  another one.
 *  @retval NF_WAIT  nothing until event_p->at_us (INT64_MAX: nothing) */
enum nf_status nf_medium_next(struct nf_medium *medium, int64_t now_us,
                              struct nf_medium_event *event_p);
/** Take back data messages to @p peer, or, if that is NF_NO_PEER, all messages.
 *  @return one of them, NULL if there are no more */
struct nf_transfer *nf_medium_take_back(struct nf_medium *medium,
                                        uint32_t peer);
#endif
