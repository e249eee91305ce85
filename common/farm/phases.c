/* Phases after the first.
 *
 * A unit of such a phase is missing, until an exchange brings its input to some
 * slave, its home; there it waits, is leased, and its result stays.  What is
 * lost with a slave is missing again.  All else follows: an exchange to a phase
 * is due when the phase before is complete and units of this one are missing.
 *
 * The first phase is the farm's own, which hands out again what is lost of it.
 */
#include "config.h"
#include "common/base/alloc.h"
#include "common/farm/farm_impl.h"

enum nf_phase_state {
    NF_PHASE_MISSING,
    NF_PHASE_COMING, /* its input is on the way */
    NF_PHASE_WAITING,
    NF_PHASE_LEASED,
    NF_PHASE_DONE, /* or given up, in the last phase */
};

/* Leases that a slot has at a time: one more than it computes. */
enum { WINDOW = 2 };

#define UNIT_NONE UINT32_MAX
/* Numbers of leases, apart from those of the first phase: the phase, and a count.
 * nf_lease_phase() */
#define LEASE_BIT   (UINT64_C(1) << 63)
#define PHASE_SHIFT 48
#define COUNT_MASK  ((UINT64_C(1) << PHASE_SHIFT) - 1)

enum nf_status nf_phases_create(struct nf_farm *farm, uint32_t count)
{
    struct nf_phases *ph = nf_calloc(1, sizeof(*ph));
    size_t units = (size_t)farm->env.units, slots = farm->env.max_slots;

    farm->phases = ph;
    if (ph == NULL)
        return NF_ERR_NOMEM;
    ph->count = count;
    ph->units = units;
    ph->list = nf_calloc(units * (count - 1) + 1, sizeof(*ph->list));
    ph->done = nf_calloc(count, sizeof(*ph->done));
    ph->missing = nf_calloc(count, sizeof(*ph->missing));
    ph->slaves = nf_calloc(slots, sizeof(*ph->slaves));
    ph->slot_leases = nf_calloc(slots, sizeof(*ph->slot_leases));
    if (!ph->list || !ph->done || !ph->missing || !ph->slaves ||
        !ph->slot_leases)
        return NF_ERR_NOMEM;
    for (uint32_t p = 1; p < count; p++)
        ph->missing[p] = units;
    for (size_t i = 0; i < slots; i++)
        ph->slaves[i].head = ph->slaves[i].tail = UNIT_NONE;
    for (size_t i = 0; i < units * (count - 1); i++)
        ph->list[i].avoid = NF_SLAVE_NONE;
    return NF_OK;
}

void nf_phases_destroy(struct nf_farm *farm)
{
    struct nf_phases *ph = farm->phases;

    if (ph == NULL)
        return;
    nf_free(ph->slot_leases);
    nf_free(ph->slaves);
    nf_free(ph->missing);
    nf_free(ph->done);
    nf_free(ph->list);
    nf_free(ph);
    farm->phases = NULL;
}

static struct nf_phase_unit *unit_at(const struct nf_phases *ph, uint32_t phase,
                                     uint64_t unit)
{
    return &ph->list[(phase - 1) * ph->units + unit];
}

static uint32_t phase_of(const struct nf_phases *ph, uint32_t index)
{
    return 1 + (uint32_t)(index / ph->units);
}

static bool is_complete(const struct nf_farm *farm, uint32_t phase)
{
    return phase == 0 ? farm->gathering
                      : farm->phases->done[phase] == farm->phases->units;
}

static bool must_run_alone(const struct nf_farm *farm,
                           const struct nf_phase_unit *u)
{
    return u->attempts > 0 && u->attempts + 1 >= farm->max_attempts;
}

/* The pacer is to leave a slave alone that has, or is emptied for, a unit that
 * must run alone. */
static void update_reserve(struct nf_farm *farm, uint32_t slave)
{
    const struct nf_phase_slave *s = &farm->phases->slaves[slave];

    if (farm->slaves[slave].live)
        nf_farm_reserve(
            farm, slave,
            s->alone || (s->head != UNIT_NONE &&
                         must_run_alone(farm, &farm->phases->list[s->head])));
}

/* ------------------------------------------------------------ the exchange */

/* Who has the result of a unit of a complete phase. */
static uint32_t holder_of(const struct nf_farm *farm, uint32_t phase,
                          uint64_t unit)
{
    return phase == 0 ? farm->pool.holders[unit]
                      : unit_at(farm->phases, phase, unit)->home;
}

/* Slaves get homes in the ratio of what they hold, which tells how fast they
 * are; and of one more, so that one that came late gets some.
 * @return the sum */
static uint64_t weigh(struct nf_farm *farm, uint32_t phase)
{
    struct nf_phases *ph = farm->phases;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < farm->env.max_slots; i++) {
        ph->slaves[i].weight = farm->slaves[i].live ? 1 : 0;
        sum += ph->slaves[i].weight;
    }
    for (uint64_t unit = 0; unit < ph->units; unit++)
        ph->slaves[holder_of(farm, phase, unit)].weight++;
    return sum + ph->units;
}

/* @return @p slave, or another one if the unit is to avoid it and there is one */
static uint32_t elsewhere(const struct nf_farm *farm,
                          const struct nf_phase_unit *u, uint32_t slave)
{
    uint32_t most = farm->env.max_slots;

    if (slave != u->avoid)
        return slave;
    for (uint32_t i = 1; i < most; i++)
        if (farm->slaves[(slave + i) % most].live)
            return (slave + i) % most;
    return slave;
}

/* Ranges of the missing units, in order, to slaves, in order. */
static void give_homes(struct nf_farm *farm, uint32_t phase)
{
    struct nf_phases *ph = farm->phases;
    uint64_t sum = weigh(farm, phase - 1), missing = ph->missing[phase];
    uint64_t upto = 0, given = 0;
    uint32_t slave = 0;

    for (uint64_t unit = 0; unit < ph->units; unit++) {
        struct nf_phase_unit *u = unit_at(ph, phase, unit);

        if (u->state != NF_PHASE_MISSING)
            continue;
        while (missing * upto / sum <= given)
            upto += ph->slaves[slave++].weight;
        u->home = elsewhere(farm, u, slave - 1);
        u->state = NF_PHASE_COMING;
        given++;
    }
}

static void begin_exchange(struct nf_farm *farm)
{
    struct nf_phases *ph = farm->phases;

    for (uint32_t phase = 1; phase < ph->count && ph->target == 0; phase++) {
        struct nf_action *act;

        if (ph->missing[phase] == 0 || !is_complete(farm, phase - 1))
            continue;
        act = nf_farm_act(farm, NF_ACT_EXCHANGE);
        if (act == NULL)
            return;
        act->phase = phase - 1;
        ph->target = phase;
        farm->stats.exchanges++;
        give_homes(farm, phase);
    }
}

static void append(struct nf_phases *ph, uint32_t index)
{
    struct nf_phase_unit *u = &ph->list[index];
    struct nf_phase_slave *s = &ph->slaves[u->home];

    u->state = NF_PHASE_WAITING;
    u->next = UNIT_NONE;
    if (s->head == UNIT_NONE)
        s->head = index;
    else
        ph->list[s->tail].next = index;
    s->tail = index;
}

/* What was on its way is there, or is not. */
static void end_exchange(struct nf_farm *farm, bool well)
{
    struct nf_phases *ph = farm->phases;
    uint32_t first = (uint32_t)((ph->target - 1) * ph->units);

    for (uint32_t i = first; i < first + ph->units; i++) {
        if (ph->list[i].state != NF_PHASE_COMING)
            continue;
        if (!well) {
            ph->list[i].state = NF_PHASE_MISSING;
            continue;
        }
        ph->missing[ph->target]--;
        append(ph, i);
    }
    ph->target = 0;
    for (uint32_t i = 0; well && i < farm->env.max_slots; i++)
        update_reserve(farm, i);
}

static void abandon(struct nf_farm *farm)
{
    if (farm->phases->target == 0)
        return;
    end_exchange(farm, false);
    nf_farm_act(farm, NF_ACT_ABANDON);
}

static enum nf_status answer_exchange(struct nf_farm *farm, bool well,
                                      int64_t now_us,
                                      struct nf_actions *actions_p)
{
    nf_farm_begin(farm, NF_SLAVE_NONE, now_us);
    if (farm->phases == NULL || farm->phases->target == 0)
        return nf_farm_reject(farm, NF_ERR_PROTOCOL, actions_p);
    end_exchange(farm, well);
    return nf_farm_finish(farm, actions_p);
}

enum nf_status nf_farm_exchanged(struct nf_farm *farm, int64_t now_us,
                                 struct nf_actions *actions_p)
{
    return answer_exchange(farm, true, now_us, actions_p);
}

enum nf_status nf_farm_exchange_failed(struct nf_farm *farm, int64_t now_us,
                                       struct nf_actions *actions_p)
{
    return answer_exchange(farm, false, now_us, actions_p);
}

bool nf_farm_exchange_map(const struct nf_farm *farm, uint32_t *holders_p,
                          uint32_t *homes_p)
{
    const struct nf_phases *ph = farm->phases;

    if (ph == NULL || ph->target == 0)
        return false;
    for (uint64_t unit = 0; unit < ph->units; unit++) {
        const struct nf_phase_unit *u = unit_at(ph, ph->target, unit);

        holders_p[unit] = holder_of(farm, ph->target - 1, unit);
        homes_p[unit] = u->state == NF_PHASE_COMING ? u->home : NF_SLAVE_NONE;
    }
    return true;
}

/* ----------------------------------------------------------------- sending */

static void send_head(struct nf_farm *farm, uint32_t slave, uint32_t slot)
{
    struct nf_phases *ph = farm->phases;
    struct nf_phase_slave *s = &ph->slaves[slave];
    uint32_t index = s->head;
    struct nf_phase_unit *u = &ph->list[index];
    struct nf_action *act = nf_farm_act(farm, NF_ACT_SEND);

    if (act == NULL)
        return;
    if (nf_farm_load(&farm->slaves[slave]) == 0)
        nf_farm_idle_remove(farm, slave);
    farm->slaves[slave].later++;
    s->head = u->next;
    s->alone = must_run_alone(farm, u);
    ph->slot_leases[slot]++;
    u->state = NF_PHASE_LEASED;
    u->slot = slot;
    u->lease = LEASE_BIT | (uint64_t)phase_of(ph, index) << PHASE_SHIFT |
               (++ph->leases & COUNT_MASK);
    act->slave = slave;
    act->slot = slot - farm->slaves[slave].first_slot;
    act->lease = u->lease;
    act->first = index % ph->units;
    act->count = 1;
    act->attempts = u->attempts;
    act->phase = phase_of(ph, index);
    farm->stats.leases_sent++;
    update_reserve(farm, slave);
}

/* May the first of its waiting units go? */
static bool may_send(const struct nf_farm *farm, uint32_t slave)
{
    const struct nf_phase_slave *s = &farm->phases->slaves[slave];

    if (s->head == UNIT_NONE || s->alone || farm->slaves[slave].closed ||
        farm->oom)
        return false;
    return !must_run_alone(farm, &farm->phases->list[s->head]) ||
           (nf_farm_load(&farm->slaves[slave]) == 0 &&
            nf_farm_is_alive(farm, slave));
}

static void send_to(struct nf_farm *farm, uint32_t slave)
{
    const struct nf_farm_slave *fs = &farm->slaves[slave];

    if (!fs->live)
        return;
    for (uint32_t window = 1; window <= WINDOW; window++)
        for (uint32_t k = 0; k < fs->live_slots; k++)
            if (farm->phases->slot_leases[fs->first_slot + k] < window &&
                may_send(farm, slave))
                send_head(farm, slave, fs->first_slot + k);
}

void nf_phases_turn(struct nf_farm *farm)
{
    struct nf_phases *ph = farm->phases;

    if (ph == NULL || farm->over)
        return;
    if (farm->stats.given_up > 0 || ph->hopeless ||
        ph->done[ph->count - 1] == ph->units) {
        abandon(farm);
        farm->over = true;
        nf_farm_act(farm, NF_ACT_DONE);
        return;
    }
    begin_exchange(farm);
}

void nf_phases_send(struct nf_farm *farm)
{
    struct nf_phases *ph = farm->phases;

    if (ph == NULL)
        return;
    /* NONE: inputs have come, or time */
    if (farm->event_slave == NF_SLAVE_NONE || ph->look_at_all)
        for (uint32_t i = 0; i < farm->env.max_slots; i++)
            send_to(farm, i);
    else if (farm->event_slave < farm->env.max_slots)
        send_to(farm, farm->event_slave);
    ph->look_at_all = false;
}

/* ----------------------------------------------------------------- answers */

bool nf_phases_know(const struct nf_farm *farm, uint64_t lease)
{
    return farm->phases != NULL && (lease & LEASE_BIT) != 0;
}

/* *unit_p: NULL if it is late.  NF_ERR_PROTOCOL: there never was such a lease
 */
static enum nf_status find(struct nf_farm *farm, uint32_t slave, uint64_t lease,
                           uint64_t unit, struct nf_phase_unit **unit_p,
                           uint32_t *phase_p)
{
    const struct nf_phases *ph = farm->phases;

    *unit_p = NULL;
    if (!nf_farm_is_known(farm, slave) || unit >= ph->units ||
        (lease & COUNT_MASK) > ph->leases)
        return NF_ERR_PROTOCOL;
    for (uint32_t phase = 1; phase < ph->count; phase++) {
        struct nf_phase_unit *u = unit_at(ph, phase, unit);

        if (u->state == NF_PHASE_LEASED && u->lease == lease &&
            u->home == slave) {
            *unit_p = u;
            *phase_p = phase;
        }
    }
    return NF_OK;
}

static void end_lease(struct nf_farm *farm, const struct nf_phase_unit *u)
{
    struct nf_phases *ph = farm->phases;

    farm->slaves[u->home].later--;
    ph->slaves[u->home].alone = false;
    ph->slot_leases[u->slot]--;
    if (nf_farm_load(&farm->slaves[u->home]) == 0)
        nf_farm_idle_add(farm, u->home);
}

enum nf_status nf_phases_result(struct nf_farm *farm, uint32_t slave,
                                uint64_t lease, uint64_t unit, uint64_t count)
{
    struct nf_phase_unit *u;
    struct nf_action *act;
    uint32_t phase;

    if (count != 1 || find(farm, slave, lease, unit, &u, &phase) != NF_OK)
        return NF_ERR_PROTOCOL;
    nf_farm_heard(farm, slave, farm->now_us);
    if (u == NULL || farm->over) {
        farm->stats.duplicates += !farm->over;
        return NF_OK;
    }
    end_lease(farm, u);
    u->state = NF_PHASE_DONE;
    farm->phases->done[phase]++;
    update_reserve(farm, slave);
    act = nf_farm_act(farm, NF_ACT_ACCEPT);
    if (act != NULL) {
        act->first = unit;
        act->count = 1;
        act->phase = phase;
    }
    return NF_OK;
}

static void give_up(struct nf_farm *farm, struct nf_phase_unit *u,
                    const enum nf_loss *loss)
{
    struct nf_phases *ph = farm->phases;
    uint32_t index = (uint32_t)(u - ph->list), phase = phase_of(ph, index);
    struct nf_action *act = nf_farm_act(farm, NF_ACT_GIVE_UP);

    u->state = NF_PHASE_DONE;
    ph->done[phase]++;
    ph->given_up++;
    ph->last_given_up += phase == ph->count - 1;
    ph->hopeless = ph->hopeless || phase < ph->count - 1;
    if (act == NULL)
        return;
    act->slave = u->home;
    act->slot = u->slot - farm->slaves[u->home].first_slot;
    act->first = index % ph->units;
    act->count = 1;
    act->attempts = u->attempts;
    act->phase = phase;
    act->after_loss = loss != NULL;
    if (loss != NULL)
        act->loss = *loss;
}

/* It has failed here.  The last attempt is another slave's, if there is one:
 * the reason may be this host.  That takes an exchange, which brings its input
 * there; all others are made where the input is. */
static void try_again(struct nf_farm *farm, struct nf_phase_unit *u,
                      uint32_t phase)
{
    struct nf_phases *ph = farm->phases;

    farm->stats.retries++;
    if (!must_run_alone(farm, u) || farm->stats.live_slaves < 2) {
        append(ph, (uint32_t)(u - ph->list));
        return;
    }
    u->avoid = u->home;
    u->state = NF_PHASE_MISSING;
    ph->missing[phase]++;
}

enum nf_status nf_phases_failed(struct nf_farm *farm, uint32_t slave,
                                uint64_t lease, uint64_t unit)
{
    struct nf_phase_unit *u;
    uint32_t phase;

    if (find(farm, slave, lease, unit, &u, &phase) != NF_OK)
        return NF_ERR_PROTOCOL;
    nf_farm_heard(farm, slave, farm->now_us);
    if (u == NULL || farm->over)
        return NF_OK;
    end_lease(farm, u);
    if (++u->attempts >= farm->max_attempts)
        give_up(farm, u, NULL);
    else
        try_again(farm, u, phase);
    update_reserve(farm, slave);
    return NF_OK;
}

/* ------------------------------------------------------------------ losses */

/* Its slave was lost while it had this unit.
 * @param certain  ... and nothing else */
static void blame(struct nf_farm *farm, struct nf_phase_unit *u,
                  enum nf_loss loss, bool certain)
{
    if (loss == NF_LOSS_SILENT && u->silences < NF_FARM_FREE_SILENCES) {
        u->silences++;
        return;
    }
    if (loss != NF_LOSS_SILENT && loss != NF_LOSS_EXITED)
        return;
    u->attempts++;
    if (u->attempts < farm->max_attempts)
        return;
    if (certain)
        give_up(farm, u, &loss);
    else /* alone, the next time */
        u->attempts = farm->max_attempts > 1 ? farm->max_attempts - 1 : 1;
}

/* @return is the exchange under way spoilt? */
static bool lose_unit(struct nf_farm *farm, uint32_t phase,
                      struct nf_phase_unit *u, enum nf_loss loss, bool certain)
{
    struct nf_phases *ph = farm->phases;
    bool was_done = u->state == NF_PHASE_DONE;

    if (was_done && phase == ph->count - 1)
        return false; /* it is home */
    if (u->state == NF_PHASE_COMING)
        return true;
    if (u->state == NF_PHASE_LEASED)
        blame(farm, u, loss, certain);
    if (u->state == NF_PHASE_DONE && !was_done)
        return false; /* given up */
    if (was_done) {
        ph->done[phase]--;
        farm->stats.recomputed++;
    }
    u->state = NF_PHASE_MISSING;
    ph->missing[phase]++;
    return was_done && ph->target == phase + 1;
}

void nf_phases_lose(struct nf_farm *farm, uint32_t slave, enum nf_loss loss,
                    bool certain)
{
    struct nf_phases *ph = farm->phases;
    const struct nf_farm_slave *fs = &farm->slaves[slave];
    bool spoilt = false;

    if (ph == NULL || farm->over)
        return;
    for (uint32_t phase = 1; phase < ph->count; phase++)
        for (uint64_t unit = 0; unit < ph->units; unit++) {
            struct nf_phase_unit *u = unit_at(ph, phase, unit);

            if (u->state != NF_PHASE_MISSING && u->home == slave)
                spoilt = lose_unit(farm, phase, u, loss, certain) || spoilt;
        }
    ph->slaves[slave].head = ph->slaves[slave].tail = UNIT_NONE;
    ph->slaves[slave].alone = false;
    for (uint32_t k = 0; k < fs->nslots; k++)
        ph->slot_leases[fs->first_slot + k] = 0;
    if (spoilt)
        abandon(farm);
}

void nf_phases_first_is_broken(struct nf_farm *farm)
{
    if (farm->phases->target == 1)
        abandon(farm);
}

void nf_phases_cancel(struct nf_farm *farm)
{
    if (farm->phases != NULL)
        abandon(farm);
}

/* ------------------------------------------------------------------ counts */

void nf_phases_get_stats(const struct nf_farm *farm,
                         struct nf_farm_stats *stats_p)
{
    const struct nf_phases *ph = farm->phases;
    uint32_t phase = 0;

    if (ph == NULL)
        return;
    while (phase < ph->count - 1 && is_complete(farm, phase))
        phase++;
    stats_p->phase = phase;
    stats_p->phases_done = farm->stats.done;
    for (uint32_t p = 1; p < ph->count; p++)
        stats_p->phases_done += ph->done[p];
    stats_p->phases_done -= ph->given_up;
    stats_p->given_up += ph->given_up;
    stats_p->last_given_up = ph->last_given_up;
    stats_p->last_done = ph->done[ph->count - 1] - ph->last_given_up;
}
