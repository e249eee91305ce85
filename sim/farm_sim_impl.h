#ifndef NF_SIM_FARM_SIM_IMPL_H
#define NF_SIM_FARM_SIM_IMPL_H
/** @file farm_sim_impl.h  What farm_sim.c (events), failures.c (slaves that
 *  end and come back) and books.c (where the time went) share.  For these three
 *  only. */
#include "common/farm/farm.h"
#include "sim/farm_sim.h"
#include "sim/network.h"

#define NO_CHUNK UINT64_MAX

enum event {
    EV_SENT,      /* the master has done its part of sending a chunk */
    EV_WIRE_END,  /* message 2 chunk + (1: result) has left the wire */
    EV_HUB,       /* the network's */
    EV_AT_SLAVE,  /* a chunk */
    EV_COMPUTED,  /* a chunk */
    EV_AT_MASTER, /* a chunk's result */
    EV_TAKEN,     /* the master has done its part of receiving */
    EV_MAIL,      /* the master wakes up for its mail */
    EV_WAKE,      /* the master's sleep number id is over */
    EV_FAIL,      /* a failure of the world begins */
    EV_NOTICE,    /* ... the master's side gets to know */
    EV_MEND,      /* ... it is over */
};

struct mailbox {
    uint64_t head, tail, count;
};

struct slot {
    struct mailbox mail;
    bool busy; /* computing, or blocked by its result */
    bool worked;
    int64_t free_us; /* since when it has nothing to do */

    /* the master's accounts */
    uint32_t outstanding; /* leases */
    int64_t answered_us;  /* since when there are none */
    int64_t compute_us, master_us, idle_us;
};

struct slave {
    uint32_t first_slot;
    uint32_t life;     /* chunks of an earlier one are nobody's */
    uint32_t cut_life; /* results of an earlier one never arrive */
    uint32_t epoch;    /* the times that the master lost it */
    bool dead, silent;
    bool live;           /* the master counts on it */
    struct mailbox held; /* messages that cannot get through */
};

/* What the master hears of a slave. */
struct note {
    uint32_t slave;
    bool joined;
    enum nf_loss loss; /* unless it joined */
};

struct sim {
    const struct nf_world *world;
    const struct nf_farm_sim_options *options;
    struct nf_farm *farm;
    struct nf_network *net;
    struct nf_sim_queue queue;
    struct nf_farm_sim_result result;
    uint64_t max_chunks;
    uint64_t unused; /* chunk records, unless they are kept */
    struct slave *slaves;
    struct slot *slots;
    int64_t now_us;

    struct nf_actions actions; /* of the farm's last event */
    size_t next_action;
    int64_t event_us;    /* when that was */
    struct mailbox mail; /* the master's */
    struct note *notes;
    size_t nnotes, next_note;
    uint32_t joined; /* slaves that are there by now */
    bool busy;       /* the master is sending or receiving */
    bool done;
    uint64_t sleep;      /* number of the master's current sleep */
    unsigned idle_turns; /* timer events without effect at one time, or with
                            nothing else to come */
    int64_t heard_us;    /* the farm was told who can be heard */
};

/* farm_sim.c */
void nf_sim_mail_put(struct sim *sim, struct mailbox *mail, uint64_t chunk);
uint64_t nf_sim_mail_take(struct sim *sim, struct mailbox *mail);
enum nf_status nf_sim_after(struct sim *sim, int64_t delay_us, enum event kind,
                            uint64_t id);
/** A chunk's record is no longer needed. */
void nf_sim_chunk_done(struct sim *sim, uint64_t id);
/** A chunk, or its result, ends here. */
void nf_sim_chunk_lost(struct sim *sim, uint64_t id);
enum nf_status nf_sim_wire_end(struct sim *sim, uint64_t id);
/** Something waits for the master. */
enum nf_status nf_sim_wake_master(struct sim *sim);
struct slot *nf_sim_slot(const struct sim *sim,
                         const struct nf_sim_chunk *chunk);

/* failures.c */
/** Schedule the world's failures.  @retval NF_ERR_NOMEM */
enum nf_status nf_sim_failures_init(struct sim *sim);
/** EV_FAIL, EV_NOTICE, EV_MEND.  @retval NF_ERR_NOMEM */
enum nf_status nf_sim_failure_event(struct sim *sim, enum event kind,
                                    uint64_t id);
/** The farm has taken @p slave as lost. */
void nf_sim_forsake(struct sim *sim, uint32_t slave);
/** Tell the farm the next note. */
enum nf_status nf_sim_take_note(struct sim *sim);
/** Tell the farm of whom there are signs of life. */
void nf_sim_hear(struct sim *sim);

/* books.c */
/** What the slave reports of a chunk that it has computed. */
void nf_sim_measure(const struct sim *sim, const struct nf_sim_chunk *chunk,
                    struct nf_chunk_times *t);
void nf_sim_book_joined(struct sim *sim, uint32_t slave);
void nf_sim_book_sent(struct sim *sim, struct nf_sim_chunk *chunk);
void nf_sim_book_answered(struct sim *sim, const struct nf_sim_chunk *chunk);
/** Before its cancel_us is set. */
void nf_sim_book_cancelled(struct sim *sim, const struct nf_sim_chunk *chunk);
void nf_sim_book_close(struct sim *sim);
#endif
