#ifndef NF_FARM_FARM_H
#define NF_FARM_FARM_H
/** @file farm.h  The pure state machine that owns every unit: events in,
 *  actions out.  "Each unit's result is accepted exactly once, whatever dies"
 *  is decided here and nowhere else.  Same events, same actions.
 *
 *  A unit is fresh (never handed out), leased, returned (from a lost or failed
 *  lease), done or given up.  Fresh units are one range and returned ones a
 *  queue of ranges, so that a pending unit costs two bits of memory, not a
 *  record; a leased one at most 56 bytes.
 *
 *  A lease may be copied: two slaves have its units then, and the first answer
 *  to a unit counts.  Units that one of the two loses, or fails on, stay with
 *  the other one, at no cost of attempts; so a bad unit may get one more.  Only
 *  leases of units that never ended badly are copied.  When one copy is
 * answered in full, the other one is cancelled, unless it is the oldest lease
 * of its slot: that one is being computed, and stays outstanding until it is
 * answered.
 *
 *  A lease is answered in order, in one or more parts: nf_farm_result() settles
 *  its next units, nf_farm_unit_failed() its next one unit.  The leases of a
 *  slot are computed in the order in which they were sent.
 *
 *  When a slave's task ends, what it had not answered of the two oldest leases
 *  of each of its slots is suspect (two, because the answer to one may be
 * unsent while the next is computed): these units are retried one at a time,
 * and the last attempt of each runs on a slave that has nothing else, and was
 * heard of a sixteenth of the silence limit after the last loss, or joined since:
 * of several that die at once the others are not known to be dead yet.  (For that
 * the unit waits, and a later nf_farm_timer() sends it; without a silence limit it
 * does not.)  So a
 * unit is only given up for a loss if it was certainly the one: with
 * max_attempts 1, and after errors of the kernel, that may take an attempt
 * more.
 *
 *  With `hold`, results stay with the slaves that computed them.  A unit is
 * done then, but at risk: if its holder is lost it is handed out again, as one
 * that nobody ever tried.  When every unit is done or given up the farm says
 * GATHER: the driver tells each holder which of its results count (one holder a
 * unit) and brings them home.  It may fail as often as it likes, and holders
 * may be lost: then it is called off (ABANDON), what was lost is computed
 * again, and there is another GATHER.  Only answers to live leases
 * that were sent after the last GATHER are accepted: a slave that was lost may
 * have thrown away what it had, and so may one to which a GATHER has come that
 * does not ask for it.  It costs 4 bytes a unit. */
#include "common/policy/policy.h"

struct nf_farm;

/** Leases of a slot that are suspect when its slave's task ends. */
enum { NF_FARM_SUSPECT_LEASES = 2 };
/** Silent slaves that a unit may cost before it is suspect for it. */
enum { NF_FARM_FREE_SILENCES = 2 };

/** A job may have no more phases, and no more units if it has several: what each
 *  unit has for each other one is known by its size. */
enum { NF_PHASES_MOST = 1000, NF_PHASE_UNITS_MOST = 4096 };

struct nf_farm_config {
    uint64_t units;
    const struct nf_policy *policy; /**< copied */
    uint32_t slots;           /**< expected at start: the policies' p, >= 1 */
    uint32_t max_slots;       /**< the most slot numbers, >= slots */
    uint32_t max_attempts;    /**< >= 1 */
    int64_t silence_limit_us; /**< a slave not heard of for longer is lost, so
                                  idle ones are to say something, too; 0:
                                  never */
    uint64_t seed;
    bool hold; /**< results stay with the slaves until they are gathered */
    uint32_t phases; /**< 0 or 1: one; else with hold, and nothing is gathered */
};

/** Why a lease or a slave was lost. */
enum nf_loss {
    NF_LOSS_EXITED, /**< its task ended: the units being computed are suspect */
    NF_LOSS_SILENT, /**< not heard of, or its host gone: units not suspect
                          the first NF_FARM_FREE_SILENCES times */
    NF_LOSS_LEFT,   /**< it was told to go: units not suspect */
    NF_LOSS_TIMEOUT, /**< a unit overran its limit and was named before by
                          nf_farm_unit_failed(): the others not suspect */
};

/** The phase of a unit's lease, in a job of several phases: the upper bits of
 *  the lease's number. */
static inline uint32_t nf_lease_phase(uint64_t lease)
{
    return lease >> 63 ? (uint32_t)(lease >> 48 & 0x7fff) : 0;
}

enum nf_action_kind {
    NF_ACT_SEND,    /**< slave, slot, lease, first, count, copy */
    NF_ACT_CANCEL,  /**< slave, slot, lease: it is of no use any more, and
                         forgotten; the slave should drop it, unless it has
                         begun it (then its answers are late) */
    NF_ACT_ACCEPT,  /**< first, count: these results of the event count: merge
                         them or, with hold, know that they are there */
    NF_ACT_GIVE_UP, /**< first (count 1), attempts: unit failed for good */
    NF_ACT_LOST,    /**< slave: silent beyond the limit; the farm has already
                         taken it as lost, do not report it */
    NF_ACT_GATHER,  /**< hold: bring home what is held now, see
                         nf_farm_next_held(); answered by nf_farm_gathered() or
                         nf_farm_gather_failed(), unless ABANDON comes before */
    NF_ACT_EXCHANGE, /**< phase: exchange the results of it now; answered by
                         nf_farm_exchanged() or nf_farm_exchange_failed(), unless
                         ABANDON comes before */
    NF_ACT_ABANDON, /**< the gather or exchange under way is off: a slave that
                         takes part was lost, or the job was cancelled */
    NF_ACT_DONE,    /**< every unit is done (and home) or given up, or
                         cancelled; once */
};

struct nf_action {
    enum nf_action_kind kind;
    uint32_t slave, slot; /**< slot: index within the slave */
    uint64_t lease, first, count;
    uint32_t attempts; /**< SEND: earlier tries; GIVE_UP: tries made */
    enum nf_loss loss; /**< GIVE_UP after a loss */
    bool after_loss;   /**< GIVE_UP: its slave died (else kernel error) */
    bool copy;         /**< SEND: of a lease that another slave has */
    uint32_t phase;    /**< of the units; 0 if there is only one */
};

/** The actions of one event, to be carried out in order.  Owned by the farm,
 *  valid until the next call on it. */
struct nf_actions {
    const struct nf_action *list;
    size_t count;
    int64_t wake_us; /**< call nf_farm_timer() then, but after the
                          messages that have arrived (unless the farm
                          is deaf); INT64_MAX: never */
};

/** @param farm_p  set on NF_OK; free with nf_farm_destroy
 *  @retval NF_ERR_INVAL  the policy does not fit (err says why) */
enum nf_status nf_farm_create(const struct nf_farm_config *config,
                              struct nf_farm **farm_p, struct nf_error *err);
void nf_farm_destroy(struct nf_farm *farm);

/* Events.  Each is followed by dispatching, and returns NF_OK or
 * NF_ERR_NOMEM (the farm is then still consistent, but actions may be missing,
 * so the job must be ended).  An event that is refused, NF_ERR_RANGE or
 * NF_ERR_PROTOCOL, has no effect and no actions.  `now_us` never decreases from
 * call to call.  After NF_ACT_DONE nothing is handed out or accepted. */

/** Slave @p slave (0, 1, ...; may rejoin after it was lost) has @p nslots slots
 *  for us.  A rejoining slave keeps its slot numbers; nslots must not grow.
 *  @retval NF_ERR_RANGE     no slots, or more in all than max_slots, or than it
 *                           had; or slave >= max_slots
 *  @retval NF_ERR_PROTOCOL  it is here already */
enum nf_status nf_farm_join(struct nf_farm *farm, uint32_t slave,
                            uint32_t nslots, int64_t now_us,
                            struct nf_actions *actions_p);
/** @p slave is gone; of no effect if it was lost before.
 *  @retval NF_ERR_PROTOCOL  it never joined */
enum nf_status nf_farm_lost(struct nf_farm *farm, uint32_t slave,
                            enum nf_loss loss, int64_t now_us,
                            struct nf_actions *actions_p);
/** Results of units [first, first + count), claimed for @p lease of @p slave.
 *  For a live lease they must be its next units.  A lease that is no longer
 *  live (its slave was lost) is late: units nobody has answered are accepted,
 *  the others counted as duplicates.
 *  @param times  of the whole chunk if this part is the last, else ignored;
 * NULL if nothing was measured.  The farm fills in units, elapsed_us.
 *  @retval NF_ERR_PROTOCOL  not what was leased */
enum nf_status nf_farm_result(struct nf_farm *farm, uint32_t slave,
                              uint64_t lease, uint64_t first, uint64_t count,
                              const struct nf_chunk_times *times,
                              int64_t now_us, struct nf_actions *actions_p);
/** The kernel returned an error for @p unit, the next one of @p lease.  No
 * effect if the lease is late, as the unit is being tried again anyway.  In a
 * phase after the first it is tried again where its input is, the last time on
 * another slave, if there is one, to which an exchange brings the input.
 *  @retval NF_ERR_PROTOCOL  not what was leased */
enum nf_status nf_farm_unit_failed(struct nf_farm *farm, uint32_t slave,
                                   uint64_t lease, uint64_t unit,
                                   int64_t now_us,
                                   struct nf_actions *actions_p);
enum nf_status nf_farm_timer(struct nf_farm *farm, int64_t now_us,
                             struct nf_actions *actions_p);
/** Hand out nothing more; NF_ACT_DONE follows at once.  Answers after that are
 *  dropped, and not counted. */
enum nf_status nf_farm_cancel(struct nf_farm *farm, int64_t now_us,
                              struct nf_actions *actions_p);

/** The gather that was asked for has brought home everything.
 *  @retval NF_ERR_PROTOCOL  none is under way: one was abandoned */
enum nf_status nf_farm_gathered(struct nf_farm *farm, int64_t now_us,
                                struct nf_actions *actions_p);
/** It has brought home nothing, but every holder is still there as far as the
 *  driver knows (others it reports as lost): there is another GATHER at once.
 *  @retval NF_ERR_PROTOCOL  none is under way */
enum nf_status nf_farm_gather_failed(struct nf_farm *farm, int64_t now_us,
                                     struct nf_actions *actions_p);

/** Neighbouring units that one slave holds. */
struct nf_held_range {
    uint32_t slave;
    uint64_t first, count;
};
/** The first such range at or behind unit @p from.  All of them, each with
 *  `from` the end of the one before: O(units).
 *  @return false: there is none */
bool nf_farm_next_held(const struct nf_farm *farm, uint64_t from,
                       struct nf_held_range *range_p);

/** The exchange that was asked for is done: every home has its inputs.
 *  @retval NF_ERR_PROTOCOL  none is under way */
enum nf_status nf_farm_exchanged(struct nf_farm *farm, int64_t now_us,
                                 struct nf_actions *actions_p);
/** It failed, but everybody who takes part is still there as far as the driver
 *  knows: there is another EXCHANGE at once.
 *  @retval NF_ERR_PROTOCOL  none is under way */
enum nf_status nf_farm_exchange_failed(struct nf_farm *farm, int64_t now_us,
                                       struct nf_actions *actions_p);
/** Who takes part in the exchange under way.  @return false: none is
 *  @param holders_p  [units] slave that has the result of the phase before
 *  @param homes_p    [units] slave that its input goes to; UINT32_MAX: it has
 *                    one, or needs none */
bool nf_farm_exchange_map(const struct nf_farm *farm, uint32_t *holders_p,
                          uint32_t *homes_p);

/** Anything was heard of @p slave.  O(1), no actions. */
void nf_farm_heard(struct nf_farm *farm, uint32_t slave, int64_t now_us);

/** From now on: what came to the caller in the last @p unread_us may not have been
 *  handed in yet, so nobody counts as silent for that time.  0: all was. */
void nf_farm_set_unread(struct nf_farm *farm, int64_t unread_us);

/** Does the policy want messages left where they are until its wake-up has come
 *  and nf_farm_timer() was called?  So sleeps the literal loop of the paper;
 * the simulator obeys, a real driver need not. */
bool nf_farm_is_deaf(const struct nf_farm *farm);

/** Counts, for reports and tests; of several phases those of units are of the
 *  first.  Always, a unit being settled by whatever answer comes first:  units = fresh + returned + leased + done + given_up. */
struct nf_farm_stats {
    uint64_t units, done, given_up;
    uint64_t fresh, returned, leased;
    uint64_t leases_sent;
    uint64_t held;       /**< of those done: at a slave, to be gathered */
    uint64_t retries;    /**< units handed out again */
    uint64_t duplicates; /**< units answered again */
    uint64_t copies;     /**< leases sent as a copy of another */
    uint64_t cancelled;  /**< leases forgotten, as a copy was faster */
    uint32_t live_slaves, live_slots;
    uint32_t lost_slaves; /**< losses other than NF_LOSS_LEFT */
    uint32_t max_queue;   /**< most leases waiting at one slot */
    uint32_t gathers;     /**< NF_ACT_GATHER */
    uint64_t recomputed;  /**< units that were lost with their holder */
    uint32_t exchanges;   /**< NF_ACT_EXCHANGE */
    uint32_t phase;       /**< the first one that is not complete */
    uint64_t phases_done; /**< results there are, over all phases */
    uint64_t last_done, last_given_up; /**< in the last phase: results there
                                            are, and units given up */
};
void nf_farm_get_stats(const struct nf_farm *farm,
                       struct nf_farm_stats *stats_p);

/** What the pacer has learnt of a slot (index within the slave).
 *  @return false if nothing, or if there is no such slot */
bool nf_farm_get_estimate(const struct nf_farm *farm, uint32_t slave,
                          uint32_t slot, struct nf_slot_estimate *estimate_p);
#endif
