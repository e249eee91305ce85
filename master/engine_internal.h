#ifndef NF_MASTER_ENGINE_INTERNAL_H
#define NF_MASTER_ENGINE_INTERNAL_H
/** @file engine_internal.h  What the files of the engine share:
 *  engine.c   life, the event loop, the end
 *  descriptors.c  what the loop watches
 *  members.c  hosts come up, slaves arrive
 *  losses.c   slaves end, fall silent, come back
 *  watch.c    what is due by the clock
 *  traffic.c  leases out, results in
 *  gather.c   results that slaves keep, when they come home
 *  collect.c  ... and go to the application
 *  exchange.c  what slaves exchange between phases
 *  share.c    shared data to slaves
 *  meet.c     the groups that these two go by
 *  table.c    by which algorithms these two go
 *  account.c  where the time went
 *  record.c   what goes into the trace */
#include <event2/event.h>
#include "common/coll/exchange_bounds.h"
#include "common/coll/rules.h"
#include "common/farm/farm.h"
#include "common/group/reducer.h"
#include "common/model/network.h"
#include "common/net/mesh.h"
#include "common/trace/trace.h"
#include "master/arrivals.h"
#include "master/engine.h"

enum slave_state {
    SLAVE_NEW,    /**< said hello; has the job; not ready */
    SLAVE_READY,  /**< in the farm (or waiting for the farm to begin) */
    SLAVE_SILENT, /**< given up by the farm; welcome back */
    SLAVE_GONE,
};

/** A lease on its way, for the accounts. */
struct flight {
    uint64_t lease, units;
    int64_t sent_us;
    int64_t gap_us; /**< the slot had been free for us that long */
    bool by_policy; /**< ... because the pacer held back */
};

struct slot {
    struct flight *flights; /**< ring, in order of sending */
    uint32_t first, count, capacity;
    int64_t free_since_us; /**< last answer, or joined */
    bool fresh;            /**< became free in the event being handled */
    int64_t compute_us, master_us, policy_us;
    int64_t first_us;    /**< of compute_us, in phase 0 */
    uint32_t last_phase; /**< the latest that it computed in ... */
    int64_t last_us;     /**< ... and for how long */
};

struct slave {
    enum slave_state state;
    bool joined, timed_out;
    bool asked;   /**< SILENT: heard again, and asked to get ready */
    bool counted; /**< one of its host's `alive` */
    bool awaits_shared;   /**< to be in the broadcast */
    bool giving;          /**< its shared data to another slave */
    uint64_t share_id;    /**< group that brings it shared data; 0: none */
    uint32_t source;      /**< who gives, or NF_NO_PEER: the broadcast */
    uint32_t share_tries; /**< groups that did not bring it */
    uint32_t host, nslots, farm_id, spawn_id;
    int64_t heard_us, spoken_us;
    char label[96];
    char *partial; /**< an unfinished line of its output */
    struct slot *slots;
};

struct host {
    char name[64];
    uint32_t want, slots; /**< slaves wanted; slots or 0 */
    uint32_t alive;       /**< slaves spawned or being spawned */
    uint32_t deaths;      /**< in a row, without a result between */
    uint32_t gathers_lost;  /**< with a slave there, in mid-gather */
    uint64_t lost_in_round; /**< the last one of these */
    bool awaited;         /**< known from the start, no news of it yet */
    bool up, given_up;
};

struct spawn {
    uint32_t host, missing; /**< slaves that have not said hello */
    int64_t since_us;
};

enum gather_state {
    GATHER_NONE,
    GATHER_ASKING,
    GATHER_MOVING,
    GATHER_EXCHANGING, /**< no gather, but an exchange between phases */
};

/** A slave that holds results; rank i + 1 of the group for members[i].  In an
 *  exchange: one that takes part; rank i. */
struct gather_member {
    uint32_t peer;
    bool answered;
    uint64_t *ranges; /**< first, count of each */
    uint64_t nranges, capacity, units;
    uint64_t bytes;      /**< that it gives */
    uint64_t unit_bytes; /**< NF_LAYOUT_TABLE: see sizes */
    uint8_t *sizes;
};

/** Slaves that take part in an exchange, on so many hosts. */
struct exchange_spread {
    uint32_t hosts;
    uint32_t most, least; /**< on the fullest host, and on that with the fewest */
};

/** Groups of the master and slaves. */
struct gather {
    enum gather_state state;
    uint64_t round, groups; /**< so many there have been */
    int64_t began_us;
    uint32_t failures; /**< since a holder was lost */
    struct gather_member *members;
    uint32_t nmembers, awaited;
    uint64_t id; /**< of the group */
    const char *algorithm; /**< for the trace; NULL: it is not done, or had none */
    struct nf_group *group;
    struct nf_request *request;
    size_t *counts;
    uint8_t *data;
    size_t bytes;
    uint64_t result_bytes;
    struct nf_reducer reducer;
    /** The broadcast of shared data, or NULL */
    struct nf_group *sharing;
    struct nf_request *share_request;
    bool share_wanted; /**< some slave waits for it */
    bool shared_once;  /**< it has begun, or there was no need */
    int64_t share_began_us;
    uint32_t share_missing; /**< slaves that have yet to say that it came */
};

struct engine {
    const struct nf_engine_config *config;
    const struct nf_app *app;
    const struct nf_options *options;
    struct nf_net *net;
    struct nf_emulated *emulated; /**< net, if times are emulated, or NULL */
    struct nf_farm *farm;         /**< NULL until it begins */
    struct nf_trace *trace; /**< NULL: none is kept */
    bool trace_failed;      /**< ... any more, and that was told */
    struct event_base *base;
    struct event *tick, *wake, *more;
    bool overdue;       /**< a batch took long: sockets wait for the timers */
    int64_t company_us; /**< last nf_members_keep_company() that looked */
    int64_t unread_us;  /**< spent in such calls since all had been read */
    int64_t dry_us, before_dry_us; /**< first look since then that found nothing,
                                        or 0; unread_us at that time */
    uint64_t uncollected_units; /**< accepted, but the job ended before collect() */
    struct event **watches;
    int *watched;
    int *group_fds; /**< room for list_fds() in engine.c */
    size_t nwatches, watches_capacity;

    struct slave *slaves; /**< by peer number */
    uint32_t nslaves, slaves_capacity;
    struct host *hosts;
    uint32_t nhosts, hosts_capacity;
    uint32_t hosts_pending; /**< that are awaited */
    struct spawn *spawns;   /**< by spawn_id */
    uint32_t nspawns, spawns_capacity;
    uint32_t *peer_of; /**< by the farm's number of a slave */
    uint32_t peer_of_capacity, next_farm_id;
    uint32_t ready_slaves, ready_slots;
    uint32_t live_slaves, live_slots;
    uint32_t max_slaves, max_slots;

    struct nf_coll_rules rules; /**< of options->table_file; else without rules,
                                     the model of the network or the built-in
                                     one */
    struct nf_model local_model; /**< measured, if npieces > 0: of threads */
    bool has_rules, rules_compared[NF_GROUP_PURPOSES];
    char rules_differ[NF_ERROR_TEXT_BYTES]; /**< what was said of them last */
    uint32_t lost_early;   /**< slaves that had the job and not yet joined */
    uint64_t memory_bytes; /**< NOWFARM_COLL_MEMORY; 0: no limit */
    bool wish_unmet[NF_GROUP_PURPOSES]; /**< that was said of NOWFARM_COLL */
    bool hold, combine; /**< results stay with slaves; ... and are combined */
    uint32_t phases;    /**< of the job, >= 1 */
    int64_t exchanged_from_us,
        exchanged_to_us; /**< the first one's begin, the last
                                                     one's end; 0: none */
    int64_t gathered_from_us; /**< the last gather's begin; 0: none */
    int64_t moving_us;        /**< the longest of this exchange */
    uint64_t largest_bytes; /**< from one slave to another in it */
    uint64_t table_bytes;   /**< likewise, of the table of sizes */
    struct nf_exchange_bounds bounds; /**< by which algorithms exchanges go ... */
    uint32_t bounds_ranks;            /**< ... of so many; 0: none yet */
    struct exchange_spread bounds_spread; /**< ... on such hosts */
    struct gather gather;
    struct nf_network network; /**< measured; no hosts: there is none of use */
    bool network_read;   /**< ... or it was not looked for yet */
    unsigned network_doubts; /**< of nf_network_doubts(), that were told */
    struct nf_blob *shared;
    struct nf_buf input;
    struct nf_body body;
    uint64_t *sizes;
    uint64_t sizes_capacity;

    struct nf_arrivals said_hello, got_ready;
    int64_t opened_us, began_us, done_us, progress_us;
    int64_t wake_us; /**< when the farm wants to be called */
    int64_t no_slave_since_us;
    int64_t farm_us; /**< emulated: when the farm was last called */
    bool joining;    /**< emulated: ready slaves have yet to join */
    uint64_t given_up_units;
    uint64_t lost_results; /**< hold: told of */
    bool done, stopping;
    enum nf_status status; /**< NF_OK while all is well */
    struct nf_error error;
    char last_reason[NF_ERROR_TEXT_BYTES +
                     200]; /**< why a slave could not start */
    struct nf_report report;
};

/* engine.c */
/** End the job with this status and text (the first one counts). */
void nf_engine_end(struct engine *e, enum nf_status status, const char *format,
                   ...) __attribute__((format(printf, 3, 4)));
void nf_engine_notice(struct engine *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Send a message and note that we spoke. */
void nf_engine_send(struct engine *e, uint32_t peer, const struct nf_msg *msg);

/** Does the user want the job to end?  Then it does. */
bool nf_engine_stop_asked(struct engine *e);
/** Come back as soon as the timers have had their turn. */
void nf_engine_again(struct engine *e);
/** There is something to read: libevent's callback, @p arg is the engine. */
void nf_engine_on_readable(evutil_socket_t fd, short what, void *arg);

/* descriptors.c */
/** Watch what is to be watched now; the set changes with routes and groups. */
void nf_engine_watch(struct engine *e);

/* members.c */
/** A host that is known from the start, in the order of the hosts file; it is
 *  awaited until it is up or has failed.  @return false if out of memory */
bool nf_members_plan(struct engine *e, const char *name);
/** All of those are known: decide how many slaves each is to run. */
void nf_members_share(struct engine *e);
/** End the job if there are more emulated speeds than slaves wanted. */
void nf_members_check_speeds(struct engine *e);
void nf_members_host_up(struct engine *e, const char *name, int64_t now_us);
void nf_members_host_failed(struct engine *e, const char *name,
                            const char *text);
void nf_members_spawn_failed(struct engine *e, const struct nf_net_event *ev,
                             int64_t now_us);
void nf_members_hello(struct engine *e, const struct nf_net_event *ev,
                      int64_t now_us);
void nf_members_ready(struct engine *e, const struct nf_net_event *ev,
                      int64_t now_us);
void nf_members_refused(struct engine *e, const struct nf_net_event *ev);
void nf_members_left(struct engine *e, uint32_t peer, int64_t now_us);
/** The farm has given it up. */
void nf_members_silent(struct engine *e, uint32_t farm_id);
/** A slave that was given up has spoken again: what comes may be old, so it is
 *  asked whether it is there. */
void nf_members_heard_again(struct engine *e, uint32_t peer);
/** It says that it is. */
void nf_members_back(struct engine *e, uint32_t peer, int64_t now_us);
void nf_members_output(struct engine *e, uint32_t peer, const char *text);
/** Pings, slaves that never got ready, the begin of the farm, the end when no
 *  slave is left, word of the progress. */
void nf_members_tick(struct engine *e, int64_t now_us);
/** Tell the user how far the job is. */
void nf_members_tell_progress(struct engine *e, int64_t now_us);
/** Show a sign of life to slaves that have not heard of us for a second. */
void nf_members_ping(struct engine *e, int64_t now_us);
/** To be called before each call of the application that may take seconds: such
 *  signs of life, and a look for a stop.  @return false: the job is to end */
bool nf_members_keep_company(struct engine *e);
/** Such calls kept us from listening for @p deaf_us: until all that came
 *  meanwhile has been read, no slave is the more silent for it. */
void nf_members_were_unheard(struct engine *e, int64_t deaf_us);
/** There is nothing to read just now, or nothing after what is being handled. */
void nf_members_are_quiet(struct engine *e, int64_t now_us);
/** The job is over: name the hosts that were still awaited. */
void nf_members_name_missing(struct engine *e);
struct slave *nf_members_find(struct engine *e, uint32_t farm_id,
                              uint32_t *peer_p);
void nf_members_fini(struct engine *e);

/* Between members.c, losses.c and watch.c: */
/** Double an array, zeroing what is new.  @return false if out of memory */
bool nf_members_grow(void **array, uint32_t *capacity, size_t bytes);
/** Tell e->last_reason now, unless it is going to be the job's last line. */
void nf_members_tell_trouble(struct engine *e);
void nf_members_spawn_on(struct engine *e, uint32_t host, uint32_t count,
                         int64_t now_us);
/** Is it one of its host's slaves? */
void nf_members_count_in(struct engine *e, struct slave *slave);
void nf_members_count_out(struct engine *e, struct slave *slave);
void nf_members_join(struct engine *e, uint32_t peer, int64_t now_us);
void nf_members_begin(struct engine *e, int64_t now_us);
/** Have the next of the slaves that were ready at the begin join, if times are
 *  emulated (else all did).  @return false if there is none */
bool nf_members_join_next(struct engine *e, int64_t now_us);
bool nf_members_time_to_begin(const struct engine *e, int64_t now_us);
/** Bring a host to the number of slaves that it should have. */
void nf_members_respawn(struct engine *e, uint32_t index, int64_t now_us);
/** @p count slaves of a request are there, or never will be.
 *  @return how many were awaited still */
uint32_t nf_members_spawn_settled(struct engine *e, uint32_t spawn_id,
                                  uint32_t count);
void nf_members_flush_output(struct engine *e, struct slave *slave);

/* traffic.c */
void nf_traffic_result(struct engine *e, const struct nf_net_event *ev,
                       int64_t now_us);
/** Room for what messages call a unit. */
enum { UNIT_NAME_BYTES = 48 };
/** "unit 5", or "unit 5 of phase 1" in a job of several phases.
 *  @param name_p  [UNIT_NAME_BYTES]  @return name_p */
const char *nf_traffic_name_unit(const struct engine *e, uint32_t phase,
                                 uint64_t unit, char *name_p);
void nf_traffic_unit_failed(struct engine *e, const struct nf_net_event *ev,
                            int64_t now_us);
/** What an event was about, for actions that refer to it. */
struct cause {
    const struct nf_result_msg *result; /**< or NULL */
    const uint8_t *data;                /**< the result's payload, or "" */
    const char *reason;                 /**< why a unit failed, or NULL */
};
/** Carry out what the farm said. */
void nf_traffic_act(struct engine *e, const struct nf_actions *actions,
                    const struct cause *cause, int64_t now_us);

/* gather.c */
/** The farm wants what is held. */
void nf_gather_begin(struct engine *e, int64_t now_us);
/** The call that brings what all holders have said. */
struct nf_coll_query nf_gather_query(const struct engine *e);
/** Of the vector that slaves on several hosts combine; else 0.  On one host messages
 *  by the pvmd have arrived before routes for them are open. */
uint64_t nf_gather_far_bytes(const struct engine *e);
/** Has @p host lost so many slaves in gathers that it is to have no more? */
bool nf_gather_is_out(const struct engine *e, const struct host *host);
/** It does not any more. */
void nf_gather_abandon(struct engine *e, int64_t now_us);
void nf_gather_holding(struct engine *e, const struct nf_net_event *ev,
                       int64_t now_us);
void nf_gather_group_end(struct engine *e, const struct nf_net_event *ev,
                         int64_t now_us);
/** Go on with the groups. */
void nf_gather_turn(struct engine *e);
size_t nf_gather_fds(struct engine *e, const int **fds_p);
void nf_gather_fini(struct engine *e);

/** Add a member.  @return NULL: out of memory */
struct gather_member *nf_gather_add_member(struct gather *g, uint32_t peer);
struct gather_member *nf_gather_find_member(struct gather *g, uint32_t peer);
/** The members are known, and it begins. */
void nf_gather_record_begin(struct engine *e, int64_t now_us);
/** It is over, well or not; of no effect if there is none. */
void nf_gather_end(struct engine *e, int64_t now_us);
/** It failed.  @param culprit  rank, or NF_GROUP_NOBODY */
void nf_gather_fail(struct engine *e, const char *why, uint32_t culprit,
                    int64_t now_us);

/* exchange.c */
/** The farm wants the results of @p phase exchanged. */
void nf_exchange_ask(struct engine *e, uint32_t phase, int64_t now_us);
/** A slave has its inputs. */
void nf_exchange_answered(struct engine *e, const struct nf_net_event *ev,
                          int64_t now_us);

/* meet.c */
/** Are results combined by a function of the application?  Each call of it may
 *  take as long as a slave may be silent. */
bool nf_gather_is_slow(const struct engine *e);
/** A group of members[count], NF_NO_PEER being the master: tells the slaves.
 *  @param m  purpose, round, bytes are set; gets the rest
 *  @param group_p  the master's end; NULL if it is not a member */
enum nf_status nf_gather_open_group(struct engine *e, const uint32_t *members,
                                    uint32_t count, struct nf_group_msg *m,
                                    struct nf_group **group_p,
                                    struct nf_error *err);

/* collect.c */
/** Hand what has come to the application.  On errors, and when the user stops
 *  it, the job ends. */
enum nf_status nf_gather_collect(struct engine *e);
/* table.c */
/** Read the table, if one is wanted, and NOWFARM_COLL_MEMORY; what is of no use
 *  gives a notice. */
void nf_table_open(struct engine *e);
void nf_table_close(struct engine *e);
/** Is it of these hosts, and of the routes of the group @p m?  Once for each
 *  purpose, a notice if it is not: what was said is not said again. */
void nf_table_compare(struct engine *e, const struct nf_group_msg *m,
                      const struct nf_mesh *mesh);
/** Which all-to-all the slaves of the exchange take, found again when there are
 *  others: what NOWFARM_COLL says, else the table, the network, the model of
 *  messages between threads if slaves are some, or the built-in one;
 *  report.exchange_by.
 *  @return NULL for less than two */
const struct nf_exchange_bounds *nf_table_exchange(struct engine *e);
/** The network as these slaves see it, by the same. */
struct nf_coll_network nf_table_network(struct engine *e);
/** Measure the transport local, for a few milliseconds.  @return false: it cannot be used */
bool nf_local_model_measure(struct nf_model *model_p);
/** Set m->algorithm for a call of @p query, by the same; report.gather_by.  A
 *  notice, once for each purpose, if NOWFARM_COLL says one that cannot serve. */
void nf_table_tell(struct engine *e, const struct nf_coll_query *query,
                   struct nf_group_msg *m);

/* network.c */
struct nf_told; /* over_mesh.h */
/** Plan the broadcast of the shared data by the network, if there is one; what
 *  is wrong with it gives a notice.
 *  @param told_p  its tree is the caller's
 *  @return false: the network has no say, or there are too many slaves */
bool nf_network_tell(struct engine *e, const struct nf_mesh *mesh,
                     struct nf_told *told_p);
/** Fill e->network, if there is one and it was not tried before. */
void nf_network_read_once(struct engine *e);
/** Is e->network of this day, and of messages that go the way of the members'?
 *  A notice if not; what was said is not said again.
 *  @param mesh  NULL: which way they go does not count */
void nf_network_compare(struct engine *e, const struct nf_mesh *mesh);
/** The name of its file; NULL or "": there is none. */
const char *nf_network_file(const struct engine *e);
bool nf_network_is_given(const struct engine *e);
void nf_network_close(struct engine *e);

/* share.c */
/** The broadcast of the shared data to so many members, the sender included;
 *  NOWFARM_COLL_MEMORY holds for it. */
struct nf_coll_query nf_share_query(const struct engine *e, uint32_t count);
/** Get the shared data to a slave that has just got the job. */
void nf_share_to(struct engine *e, uint32_t peer, int64_t now_us);
/** Who is to give it to @p peer: a slave that has it, gives it to nobody and was
 *  heard of just now, the best one by gift.h and e->network, the first of equals.
 *  @return NF_NO_PEER: none */
uint32_t nf_share_find_holder(const struct engine *e, uint32_t peer,
                              int64_t now_us);
/** A slave has it and is ready.  @return by which broadcast; NULL: none */
const char *nf_share_done(struct engine *e, uint32_t peer, int64_t now_us);
/** It has to get it in another way, or is gone. */
void nf_share_end(struct engine *e, uint32_t peer);
/** Was this the end of a group that brings shared data?  Then it is seen to. */
bool nf_gather_shared_failed(struct engine *e, uint32_t peer,
                             const struct nf_group_end_msg *m, int64_t now_us);
void nf_gather_shared_turn(struct engine *e);
void nf_gather_close_shared(struct engine *e);

/* account.c */
void nf_account_sent(struct engine *e, struct slave *slave, uint32_t slot,
                     const struct nf_action *send, int64_t now_us);
/** The lease was answered in full.  @return sent to now, 0 if unknown */
int64_t nf_account_answered(struct slave *slave, uint64_t lease,
                            const struct nf_result_msg *m, int64_t now_us);
/** The lease, not the oldest of its slot, was cancelled. */
void nf_account_cancelled(struct slave *slave, uint32_t slot, uint64_t lease);
/** Its slots became free at once: joined, or its leases were taken away. */
void nf_account_reset(struct slave *slave, int64_t now_us);
/** Nothing became free in this event (any more). */
void nf_account_settle(struct slave *slave);
/** A gather or an exchange is not under way any more. */
void nf_account_moved(struct engine *e, int64_t now_us);
void nf_account_report(struct engine *e);

/* record.c */
/** Begin the trace that options->trace_file asks for, if it does.
 *  Errors: nf_trace_create() */
enum nf_status nf_record_open(struct engine *e, struct nf_error *err);
/** End it with the report; @p status is how the job ends. */
void nf_record_close(struct engine *e, enum nf_status status);
/** Time passes. */
void nf_record_tick(struct engine *e, int64_t now_us);
/** @return the time, for nf_record_sent(); 0 if there is no trace. */
int64_t nf_record_now_us(const struct engine *e);
/** A lease was sent, @p bytes of inputs with it; the work began then. */
void nf_record_sent(struct engine *e, const struct nf_action *send,
                    uint32_t peer, size_t bytes, int64_t begun_us);
/** The farm took @p m with @p bytes of results; @p actions are its answer. */
void nf_record_result(struct engine *e, const struct nf_result_msg *m,
                      const struct nf_chunk_times *times, size_t bytes,
                      const struct nf_actions *actions, int64_t now_us);
void nf_record_failed(struct engine *e, const struct nf_unit_failed_msg *m,
                      int64_t now_us);
void nf_record_given_up(struct engine *e, const struct nf_unit_failure *failure,
                        int64_t now_us);
#endif
