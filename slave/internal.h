#ifndef NF_SLAVE_INTERNAL_H
#define NF_SLAVE_INTERNAL_H
/** @file internal.h  What the files of the slave share.
 *
 *  A slave of S slots has S + 1 workers and the thread that called
 *  nf_slave_serve(), which only watches them.  At any time one worker has the
 *  role of communicating (comm.c) and each other one serves a slot (slots.c).
 *
 *  The communicator may compute a short lease itself, in the name of a slot
 *  whose worker is idle.  If that takes long, the idle worker takes the role
 *  over, and the communicator, when its lease is done, finds itself serving
 *  that slot.  Both decide by one compare-and-swap on `inline_run`. */
#include <pthread.h>
#include "slave/kernel.h"
#include "slave/exchange.h"
#include "slave/offer.h"
#include "slave/slave.h"

struct nf_slave;
struct nf_slot;

/** A thread. */
struct nf_worker {
    struct nf_slave *slave;
    struct nf_slot *slot; /**< NULL: it has the communicator's role */
    pthread_t thread;
    bool started;
    bool ended;            /**< slave->end_lock */
    atomic_bool abandoned; /**< hangs in a kernel: nobody waits for it */
};

enum nf_slot_state {
    NF_SLOT_IDLE, /**< or between two leases */
    NF_SLOT_RUNNING,
    NF_SLOT_OVERRUN, /**< the communicator has answered for this lease */
};

struct nf_slot {
    struct nf_worker own;     /**< who serves it at first */
    struct nf_worker *worker; /**< who serves it now; the communicator's */
    struct nf_kernel_state kernel;
    _Atomic int state; /**< enum nf_slot_state; kept only if units have
                            a time limit */
    struct nf_slave_lease *lease; /**< what is RUNNING */
    /** Its worker waits, and no lease is in the queue. */
    atomic_bool idle;
    /** Its worker looks after the communicator's inline runs. */
    atomic_bool watch;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    struct nf_slave_lease *head, *tail; /**< under lock: what to compute */
    /** Under done_lock: delivered, and the answers not yet sent.  At most one
     *  when the next lease is begun, so that the master, when we die, need not
     *  suspect more than the two oldest leases of a slot. */
    uint32_t unsent;
    uint32_t sent; /**< the communicator's: of these, handed to the port */
};

/** State of the communicator's role; touched by the one who has it. */
struct nf_comm {
    struct nf_worker *worker; /**< who has the role */
    struct nf_lease_pool pool;
    struct nf_slave_lease *head, *tail; /**< taken, not yet with a slot */
    struct nf_slave_lease *unstamped;   /**< first one without arrival time */
    struct nf_body body;
    int64_t now_us;   /**< last look at the clock */
    int64_t sent_us;  /**< when anything was sent last */
    int64_t heard_us; /**< when anything was received last, shifted by
                           the time in which we were not running */
    bool heard;       /**< something came since the clock was read */
    bool job_known, shared_due, ready;
    double unit_us;       /**< smoothed compute time of a unit; < 0: none */
    uint64_t inline_runs; /**< how many there were */
    uint64_t with_slots;  /**< leases handed out and not sent back */
    unsigned turns;
    bool sent_any;        /**< some slot's `sent` is not 0 */
    bool hung;            /**< a kernel is over its limit */
};

/** Results that are kept, and the group that they, or shared data, travel in;
 *  touched by the one who has the communicator's role. */
struct nf_groups {
    struct nf_held held;
    struct nf_offer offer; /**< what we give in a gather */
    bool overtaken; /**< a REVOKE came, and no lease or GATHER since: of the next
                         one a part may have come before it */
    uint64_t id;           /**< of the group */
    enum nf_group_purpose purpose;
    struct nf_group *group;
    struct nf_request *request; /**< NULL: our part is done */
    struct nf_blob *coming; /**< shared data on its way */
    struct nf_stock stock;  /**< of a job of several phases */
    struct nf_exchange exchange;
    uint64_t exchanged; /**< the last round that ended well here */
};

struct nf_slave {
    const struct nf_slave_config *config;
    struct nf_port *port;
    atomic_uint refs; /**< workers and nf_slave_serve */
    struct nf_job_msg job;
    /** Our own copy: a thread whose kernel hung outlives the caller's. */
    struct nf_app app;
    struct nf_kernel kernel;
    struct nf_blob *shared;
    uint32_t nslots;
    struct nf_slot *slots;
    struct nf_worker first; /**< the first communicator */
    struct nf_comm comm;
    struct nf_groups groups;
    /** (number of the run << 21) | (slot << 1) | (1 while it runs) */
    _Atomic uint64_t inline_run;
    atomic_bool ending; /**< slots: take no more leases */
    _Atomic int64_t silence_limit_us;
    atomic_uint heard_count; /**< messages, for the watchdog */

    pthread_mutex_t done_lock;
    pthread_cond_t sent_cond; /**< some slot's `unsent` fell, or we end */
    struct nf_slave_lease *done_head, *done_tail; /**< computed, to be sent */
    bool comm_sleeps;     /**< ... and wants to be woken */
    bool done_closed;     /**< nobody will send; the port is closing */
    atomic_bool done_any; /**< a look at done_head without the lock */

    pthread_mutex_t end_lock;
    pthread_cond_t end_cond;
    bool closing;          /**< the communicator has decided to end */
    bool closed;           /**< ... and has closed the port */
    enum nf_status status; /**< valid if closing: how it ended */
    bool hung;             /**< valid if closing: kernels may never return */
};

/* slots.c */

enum { NF_SLOTS_MAX = 1024 };

/** How often a slot's worker looks after an inline run: one that is seen twice
 *  is taken over, so this long at least and twice as long at most. */
#define NF_TAKEOVER_US 20000

/** Create s->slots for s->nslots; starts no thread.  NF_ERR_NOMEM */
enum nf_status nf_slots_create(struct nf_slave *s);
void nf_slots_destroy(struct nf_slave *s);
/** Put @p lease into the queue of @p slot.  Communicator. */
void nf_slot_push(struct nf_slot *slot, struct nf_slave_lease *lease);
/** Take all leases that are not being computed.  Communicator.  @return a list
 */
struct nf_slave_lease *nf_slot_revoke(struct nf_slot *slot);
/** Take @p lease out of the queue of @p slot.  Communicator.
 *  @return NULL if it is not there, or is being computed */
struct nf_slave_lease *nf_slot_cancel(struct nf_slot *slot, uint64_t lease);
/** Make the worker of @p slot watch inline runs. */
void nf_slot_watch(struct nf_slot *slot);
/** Compute @p lease in the name of @p slot.  @return the time, afterwards */
int64_t nf_slot_compute(struct nf_slave *s, struct nf_slot *slot,
                        struct nf_slave_lease *lease, int64_t start_us);
/** Hand a computed lease to the communicator.
 *  @return false if it has been answered as overrun: the worker must end */
bool nf_slot_deliver(struct nf_slave *s, struct nf_slot *slot,
                     struct nf_slave_lease *lease);
/** Serve w->slot.
 *  @return true: w has the communicator's role now; false: it must end */
bool nf_slot_serve(struct nf_worker *w);
/** No worker is to begin another lease. */
void nf_slots_end(struct nf_slave *s);

/* comm.c */

/** Talk to the master.
 *  @return true: w serves w->slot now; false: the worker must end */
bool nf_comm_serve(struct nf_worker *w);

/* slave.c */

/** Start @p w.  @retval NF_ERR_NOMEM  no thread to be had */
enum nf_status nf_worker_start(struct nf_worker *w);

/* comm.c: only for who has the communicator's role */
enum nf_status nf_comm_send(struct nf_slave *s, enum nf_msg_kind kind,
                            const struct nf_body *body,
                            struct nf_blob *payload);
/** Tell the master why we end.  @return @p status */
enum nf_status nf_comm_refuse(struct nf_slave *s, enum nf_status status,
                              const char *text);
enum nf_status nf_comm_refuse_malformed(struct nf_slave *s, const char *what);
enum nf_status nf_comm_refuse_nomem(struct nf_slave *s);

/* greet.c: likewise.  The two that take a message end as on_message in comm.c */
enum nf_status nf_greet_hello(struct nf_slave *s);
enum nf_status nf_greet_ready(struct nf_slave *s);
enum nf_status nf_greet_job(struct nf_slave *s, const struct nf_msg *msg);
/** Takes over the payload of @p msg. */
enum nf_status nf_greet_shared(struct nf_slave *s, const struct nf_msg *msg);

/* groups.c: likewise */
/** Keep the results of an answer, instead of sending them with it. */
enum nf_status nf_groups_keep(struct nf_slave *s, struct nf_answer *answer);
/** ... in a phase before the last, as pieces. */
enum nf_status nf_groups_keep_pieces(struct nf_slave *s, uint32_t phase,
                                     struct nf_answer *answer);
/** A lease of the first phase has come: its results will need memory. */
void nf_groups_make_room(struct nf_slave *s,
                         const struct nf_slave_lease *lease);
/** Give a lease of a later phase its input.  NF_ERR_FAILED: it is not here */
enum nf_status nf_groups_find_input(struct nf_slave *s,
                                    struct nf_slave_lease *lease);
/** It has its result: the input is of no use any more.  What becomes of a unit that
 *  failed the master says. */
void nf_groups_drop_input(struct nf_slave *s,
                          const struct nf_slave_lease *lease);
/** EXCHANGE has come.  Ends as on_message in comm.c, as do the next three. */
enum nf_status nf_groups_exchange(struct nf_slave *s, const struct nf_msg *msg);
/** GATHER has come. */
enum nf_status nf_groups_asked(struct nf_slave *s, const struct nf_msg *msg);
/** GROUP has come. */
enum nf_status nf_groups_meet(struct nf_slave *s, const struct nf_msg *msg);
/** Go on with the group, if there is one. */
enum nf_status nf_groups_turn(struct nf_slave *s);
/** How long to sleep at most. */
int64_t nf_groups_sleep_us(struct nf_slave *s, int64_t sleep_us);
/** Forget all results: the master has given us up. */
void nf_groups_forget(struct nf_slave *s);
/** Before the port is closed. */
void nf_groups_end(struct nf_slave *s);
void nf_groups_fini(struct nf_slave *s);
#endif
