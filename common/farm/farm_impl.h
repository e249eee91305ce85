#ifndef NF_FARM_FARM_IMPL_H
#define NF_FARM_FARM_IMPL_H
/** @file farm_impl.h  What farm.c (events), silence.c (the clock), dispatch.c
 *  (who gets what), copies.c (leases that two slaves have) and phases.c (jobs of
 *  several phases) share.  For these only. */
#include "common/farm/farm.h"
#include "common/farm/pool.h"

#define NF_SLAVE_NONE UINT32_MAX

/** More wait for the timer, so that one event neither blocks its driver for
 *  long nor needs memory for the actions of a whole job. */
enum { NF_FARM_SENDS_PER_EVENT = 1024 };

struct nf_farm_slot {
    struct nf_chunk_list leases; /* oldest first */
    uint32_t slave;
    bool sizer_refused;
    /* A lease of it was cancelled then, and may be being computed all the
     * same: until a later one is answered. */
    bool unsure;
    int64_t unsure_us;
};

struct nf_farm_slave {
    uint32_t first_slot;
    uint32_t nslots;      /* slot numbers it owns; 0: never joined */
    uint32_t live_slots;  /* of these, the ones it has now */
    uint32_t outstanding; /* leases of the first phase, over all its slots */
    uint32_t later;       /* leases of later phases */
    uint32_t idle_prev, idle_next;
    int64_t heard_us;
    uint32_t heard_losses; /* stats.lost_slaves when it joined, or was heard of a
                              tick after the last of them: nf_farm_is_alive() */
    bool live;
    bool closed; /* the pacer may not pick its slots: it has, or is emptied
                    for, a unit that must run alone */
    bool reserved; /* likewise, for a unit of a later phase */
};

/** All leases that a slave has. */
static inline uint32_t nf_farm_load(const struct nf_farm_slave *slave)
{
    return slave->outstanding + slave->later;
}

/** A unit in a phase after the first. */
struct nf_phase_unit {
    uint64_t lease; /* LEASED: its id */
    uint32_t home;  /* COMING and later: slave that has its input, and result */
    uint32_t slot;  /* LEASED: number of the slot */
    uint32_t next;  /* WAITING: index of the one behind it, or NONE */
    uint32_t avoid; /* slave that is not to be its home, or NONE */
    uint8_t state;  /* enum nf_phase_state */
    uint8_t silences;
    uint32_t attempts;
};

/** What a slave has to do in phases after the first. */
struct nf_phase_slave {
    uint32_t head, tail; /* its WAITING units, or NONE */
    uint32_t weight;     /* in giving out homes */
    bool alone;          /* it has a unit that must run alone */
};

/** The phases after the first, which is in nf_farm.pool. */
struct nf_phases {
    uint32_t count;              /* of all phases, >= 2 */
    uint64_t units;              /* of each */
    struct nf_phase_unit *list;  /* [(count - 1) * units] phase 1 first */
    uint64_t *done, *missing;    /* [count]; those of phase 0 are not used */
    struct nf_phase_slave *slaves; /* [max_slots] */
    uint32_t *slot_leases;         /* [max_slots] */
    uint64_t leases;             /* ids given */
    uint32_t target; /* the exchange under way is to this phase; 0: none is */
    bool hopeless;   /* a unit was given up before the last phase */
    bool look_at_all; /* another slave than that of the event may be sent to */
    uint64_t given_up, last_given_up; /* ... in the last phase */
};

struct nf_farm {
    struct nf_policy policy;
    struct nf_policy_env env;
    void *sizer, *pacer;
    uint32_t max_attempts;
    uint64_t most_returned; /* units of a returned range sent at once */
    int64_t silence_limit_us, next_tick_us, unread_us;
    int64_t loss_us; /* when the last of stats.lost_slaves was */

    struct nf_pool pool;
    struct nf_farm_slot *slots;
    struct nf_slot_view *views;
    struct nf_farm_slave *slaves;
    struct nf_pool_view view;
    uint32_t idle;     /* slaves that are live and have nothing, or NONE */
    uint32_t draining; /* the slave being emptied, or NONE */
    uint32_t refused;  /* slots that the sizer refused */
    uint64_t leases;   /* live */

    struct nf_phases *phases; /* NULL: there is one */
    struct nf_farm_stats stats;
    bool over;      /* DONE was emitted */
    bool gathering; /* GATHER was emitted, and is not answered; with phases: the
                       first is complete */
    bool deaf;
    bool oom; /* in this event */
    int64_t now_us;
    int64_t wake_us;
    uint32_t event_slave; /* that this event is from, or NONE */
    struct nf_action *actions;
    size_t nactions, max_actions;
};

/** Room for an action.  @return NULL if out of memory, then farm->oom is set */
struct nf_action *nf_farm_act(struct nf_farm *farm, enum nf_action_kind kind);
/** Send what can be sent now; sets wake_us and deaf. */
void nf_farm_dispatch(struct nf_farm *farm);
/** Send units that must run alone, and open slaves that were closed for them. */
void nf_farm_dispatch_alone(struct nf_farm *farm);
/** Keep the pacer from a slave, or let it have it again: for a unit of a later
 *  phase that must run alone. */
void nf_farm_reserve(struct nf_farm *farm, uint32_t slave, bool reserved);
/** Units came back: slots may be picked again. */
void nf_farm_units_returned(struct nf_farm *farm);
/** Let the pacer see what is left and what may be picked.  O(1). */
void nf_farm_update_view(struct nf_farm *farm);
void nf_farm_idle_add(struct nf_farm *farm, uint32_t slave);
void nf_farm_idle_remove(struct nf_farm *farm, uint32_t slave);
/** Memory for one more send?  Else farm->oom is set. */
bool nf_farm_can_send(struct nf_farm *farm);
/** A lease is in its slot no more, and its record free. */
void nf_farm_forget(struct nf_farm *farm, uint32_t index);
/** Lease chunk @p index, unlinked, to @p slot.  After nf_farm_can_send(). */
void nf_farm_send_chunk(struct nf_farm *farm, uint32_t slot, uint32_t index);

/* farm.c: what every event begins and ends with. */

void nf_farm_begin(struct nf_farm *farm, uint32_t slave, int64_t now_us);
/** Dispatch, and hand out the actions. */
enum nf_status nf_farm_finish(struct nf_farm *farm,
                              struct nf_actions *actions_p);
/** The event is not one that can be: nothing happens.  @return @p status */
enum nf_status nf_farm_reject(struct nf_farm *farm, enum nf_status status,
                              struct nf_actions *actions_p);
/** Did it ever join? */
bool nf_farm_is_known(const struct nf_farm *farm, uint32_t slave);
/** A live slave is lost: its units come back. */
void nf_farm_lose(struct nf_farm *farm, uint32_t slave, enum nf_loss loss);

/* silence.c */

/** Silence is to be looked for a while from now. */
void nf_farm_set_tick(struct nf_farm *farm);
/** Has a live slave been heard of a tick after the last loss, or joined since?
 *  Else it may have died with that one, and it is not known yet; what it had said
 *  before has been read by then.  Without a silence limit: always, as nobody need
 *  say anything then. */
bool nf_farm_is_alive(const struct nf_farm *farm, uint32_t slave);

/* home.c */

bool nf_farm_is_holding(const struct nf_farm *farm);
/** If every unit is settled, say DONE; what is held has to come home first. */
void nf_farm_end_or_gather(struct nf_farm *farm);
/** The results that a lost slave had are lost too.  They were computed well
 *  once, so nothing is held against their units.  @return units */
uint64_t nf_farm_lose_held(struct nf_farm *farm, uint32_t slave);

/* phases.c: nothing without phases, unless it says otherwise */

/** @retval NF_ERR_NOMEM */
enum nf_status nf_phases_create(struct nf_farm *farm, uint32_t count);
void nf_phases_destroy(struct nf_farm *farm);
/** Is @p lease one of a later phase?  Without phases: no. */
bool nf_phases_know(const struct nf_farm *farm, uint64_t lease);
/** The answer to such a lease has come, as nf_farm_result(). */
enum nf_status nf_phases_result(struct nf_farm *farm, uint32_t slave,
                                uint64_t lease, uint64_t unit, uint64_t count);
/** ... as nf_farm_unit_failed() */
enum nf_status nf_phases_failed(struct nf_farm *farm, uint32_t slave,
                                uint64_t lease, uint64_t unit);
/** What @p slave had is lost; before its leases of the first phase are taken
 *  back.
 *  @param certain  it had one unit to answer, and nothing else */
void nf_phases_lose(struct nf_farm *farm, uint32_t slave, enum nf_loss loss,
                    bool certain);
/** What slaves held of the first phase was lost. */
void nf_phases_first_is_broken(struct nf_farm *farm);
/** Begin an exchange, or say DONE, if that is due. */
void nf_phases_turn(struct nf_farm *farm);
/** Hand out units of later phases; after those of the first one. */
void nf_phases_send(struct nf_farm *farm);
/** The job was cancelled. */
void nf_phases_cancel(struct nf_farm *farm);
void nf_phases_get_stats(const struct nf_farm *farm,
                         struct nf_farm_stats *stats_p);

/* copies.c */

/** Bring views[slot].behind up to date: the slot's leases have changed.
 *  O(leases behind the one that may be copied). */
void nf_farm_look_for_copy(struct nf_farm *farm, uint32_t slot);
/** Does the twin of @p chunk have the first unit of it too? */
bool nf_farm_is_covered(const struct nf_farm *farm,
                        const struct nf_chunk *chunk);
/** A lease and its twin, if it has one, are no copies any more. */
void nf_farm_part(struct nf_farm *farm, struct nf_chunk *chunk);
/** A lease is lost: cut it down to the units that its twin does not have.
 *  @param spoilt  one of the units may have been the reason */
void nf_farm_leave_to_twin(struct nf_farm *farm, struct nf_chunk *chunk,
                           bool spoilt);
/** A lease was answered in full: cancel its twin if that settled all. */
void nf_farm_cancel_twin(struct nf_farm *farm, struct nf_chunk *chunk);
/** Send the copies that the pacer wants, @p sends having been sent before. */
void nf_farm_replicate(struct nf_farm *farm, uint32_t sends);
#endif
