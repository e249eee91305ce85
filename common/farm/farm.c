/* The events of the farm.  Each one settles, blames and returns units here,
 * then dispatch.c sends what can be sent. */
#include "config.h"
#include "common/farm/farm_impl.h"
#include "common/base/alloc.h"
#include <assert.h>
#include <string.h>

enum { MIN_ACTIONS = 16 };

static enum nf_status init_policy(struct nf_farm *farm,
                                  const struct nf_farm_config *config,
                                  struct nf_error *err)
{
    const struct nf_sizer_ops *sizer;
    const struct nf_pacer_ops *pacer;
    enum nf_status status;

    farm->policy = *config->policy;
    sizer = farm->policy.sizer;
    pacer = farm->policy.pacer;
    farm->env = (struct nf_policy_env){
        .units = config->units,
        .slots = config->slots,
        .max_slots = config->max_slots,
        .seed = config->seed,
    };
    farm->sizer = nf_calloc(1, sizer->state_size(&farm->env));
    farm->pacer = nf_calloc(1, pacer->state_size(&farm->env));
    if (!farm->sizer || !farm->pacer)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status =
        sizer->init(farm->sizer, &farm->env, farm->policy.sizer_values, err);
    if (!status)
        status = pacer->init(farm->pacer, &farm->env, farm->policy.pacer_values,
                             err);
    if (status)
        nf_fail_prefix(err, "policy \"%s\"", farm->policy.spec);
    return status;
}

static enum nf_status init_tables(struct nf_farm *farm, uint32_t max_slots)
{
    farm->slots = nf_calloc(max_slots, sizeof(farm->slots[0]));
    farm->views = nf_calloc(max_slots, sizeof(farm->views[0]));
    farm->slaves = nf_calloc(max_slots, sizeof(farm->slaves[0]));
    farm->actions = nf_calloc(MIN_ACTIONS, sizeof(farm->actions[0]));
    farm->max_actions = MIN_ACTIONS;
    if (!farm->slots || !farm->views || !farm->slaves || !farm->actions)
        return NF_ERR_NOMEM;
    return nf_pool_init(&farm->pool, farm->env.units);
}

enum nf_status nf_farm_create(const struct nf_farm_config *config,
                              struct nf_farm **farm_p, struct nf_error *err)
{
    struct nf_farm *farm;
    enum nf_status status;

    if (config->slots == 0 || config->max_slots < config->slots ||
        config->max_attempts == 0 || config->silence_limit_us < 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "farm: slots, attempts or silence limit out of range");
    if (config->phases > 1 &&
        (!config->hold || config->phases > NF_PHASES_MOST ||
         config->units > NF_PHASE_UNITS_MOST))
        return nf_fail(err, NF_ERR_INVAL,
                       "farm: phases, or their units, out of range");
    farm = nf_calloc(1, sizeof(*farm));
    if (!farm)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = init_policy(farm, config, err);
    if (status)
        goto err_destroy;
    status = init_tables(farm, config->max_slots);
    if (!status && config->hold)
        status = nf_pool_hold(&farm->pool);
    if (!status && config->phases > 1)
        status = nf_phases_create(farm, config->phases);
    if (status) {
        nf_fail(err, status, "out of memory");
        goto err_destroy;
    }
    farm->max_attempts = config->max_attempts;
    farm->silence_limit_us = config->silence_limit_us;
    farm->most_returned = UINT32_MAX;
    if (farm->policy.sizer == &nf_sizer_fixed)
        farm->most_returned = farm->policy.grain_units;
    farm->idle = NF_SLAVE_NONE;
    farm->draining = NF_SLAVE_NONE;
    farm->stats.units = config->units;
    farm->view.units = config->units;
    farm->view.grain_units = farm->policy.grain_units;
    farm->view.slots = farm->views;
    nf_farm_update_view(farm);
    *farm_p = farm;
    return NF_OK;

err_destroy:
    nf_farm_destroy(farm);
    return status;
}

void nf_farm_destroy(struct nf_farm *farm)
{
    if (!farm)
        return;
    nf_phases_destroy(farm);
    nf_pool_fini(&farm->pool);
    nf_free(farm->actions);
    nf_free(farm->slaves);
    nf_free(farm->views);
    nf_free(farm->slots);
    nf_free(farm->pacer);
    nf_free(farm->sizer);
    nf_free(farm);
}

void nf_farm_begin(struct nf_farm *farm, uint32_t slave, int64_t now_us)
{
    assert(now_us >= farm->now_us);
    if (now_us > farm->now_us)
        farm->now_us = now_us;
    farm->event_slave = slave;
    farm->nactions = 0;
    farm->oom = false;
}

enum nf_status nf_farm_finish(struct nf_farm *farm,
                              struct nf_actions *actions_p)
{
    nf_farm_end_or_gather(farm);
    nf_phases_turn(farm);
    farm->wake_us = INT64_MAX;
    farm->deaf = false;
    if (!farm->over) {
        if (!farm->gathering)
            nf_farm_dispatch(farm);
        else /* slaves of theirs may have more to do, also after a gather */
            nf_farm_dispatch_alone(farm);
        nf_phases_send(farm);
        if (farm->silence_limit_us > 0 && farm->stats.live_slaves > 0 &&
            farm->next_tick_us < farm->wake_us)
            farm->wake_us = farm->next_tick_us;
    }
    actions_p->list = farm->actions;
    actions_p->count = farm->nactions;
    actions_p->wake_us = farm->wake_us;
    return farm->oom ? NF_ERR_NOMEM : NF_OK;
}

enum nf_status nf_farm_reject(struct nf_farm *farm, enum nf_status status,
                              struct nf_actions *actions_p)
{
    actions_p->list = farm->actions;
    actions_p->count = 0;
    actions_p->wake_us = farm->wake_us;
    return status;
}

bool nf_farm_is_known(const struct nf_farm *farm, uint32_t slave)
{
    return slave < farm->env.max_slots && farm->slaves[slave].nslots > 0;
}

/* ---- joining and losing ---- */

static void join_slots(struct nf_farm *farm, uint32_t slave, uint32_t nslots)
{
    struct nf_farm_slave *s = &farm->slaves[slave];

    if (s->nslots == 0) {
        s->first_slot = farm->view.nslots;
        s->nslots = nslots;
        farm->view.nslots += nslots;
    }
    s->live_slots = nslots;
    s->live = true;
    nf_farm_idle_add(farm, slave);
    farm->stats.live_slaves++;
    farm->stats.live_slots += nslots;
    for (uint32_t k = s->first_slot; k < s->first_slot + nslots; k++) {
        nf_chunk_list_init(&farm->slots[k].leases);
        farm->slots[k].slave = slave;
        farm->slots[k].unsure = false;
        farm->views[k] = (struct nf_slot_view){ .live = true,
                                                .slave = slave,
                                                .behind = NF_NO_COPY };
    }
}

enum nf_status nf_farm_join(struct nf_farm *farm, uint32_t slave,
                            uint32_t nslots, int64_t now_us,
                            struct nf_actions *actions_p)
{
    struct nf_farm_slave *s;

    nf_farm_begin(farm, slave, now_us);
    if (slave >= farm->env.max_slots || nslots == 0)
        return nf_farm_reject(farm, NF_ERR_RANGE, actions_p);
    s = &farm->slaves[slave];
    if (s->live)
        return nf_farm_reject(farm, NF_ERR_PROTOCOL, actions_p);
    if (nslots >
        (s->nslots ? s->nslots : farm->env.max_slots - farm->view.nslots))
        return nf_farm_reject(farm, NF_ERR_RANGE, actions_p);
    if (farm->stats.live_slaves == 0)
        nf_farm_set_tick(farm);
    join_slots(farm, slave, nslots);
    nf_farm_heard(farm, slave, now_us);
    s->heard_losses = farm->stats.lost_slaves;
    for (uint32_t k = s->first_slot; k < s->first_slot + nslots; k++)
        if (farm->policy.pacer->join)
            farm->policy.pacer->join(farm->pacer, &farm->view, k, now_us);
    return nf_farm_finish(farm, actions_p);
}

static void give_up(struct nf_farm *farm, uint64_t unit, uint32_t slot,
                    uint32_t attempts, const enum nf_loss *loss)
{
    struct nf_action *act = nf_farm_act(farm, NF_ACT_GIVE_UP);

    nf_pool_move(&farm->pool, unit, NF_UNIT_SETTLED);
    farm->stats.given_up++;
    if (!act)
        return;
    act->slave = farm->slots[slot].slave;
    act->slot = slot - farm->slaves[act->slave].first_slot;
    act->first = unit;
    act->count = 1;
    act->attempts = attempts;
    act->after_loss = loss != NULL;
    if (loss)
        act->loss = *loss;
}

/* Can a loss be the fault of one of the units that were being computed?  A host
 * or a cable fails by itself, but not time and again with the same unit. */
static bool is_suspect(struct nf_chunk *chunk, enum nf_loss loss)
{
    if (loss != NF_LOSS_SILENT)
        return loss == NF_LOSS_EXITED;
    if (chunk->silences < NF_FARM_FREE_SILENCES) {
        chunk->silences++;
        return false;
    }
    return true;
}

/* One of the oldest leases of a slot whose slave was lost: one of its units did
 * it, if any.
 * @param certain  it is the only unit that the slave had */
static void blame(struct nf_farm *farm, struct nf_chunk *chunk,
                  enum nf_loss loss, bool certain)
{
    chunk->attempts++;
    if (certain && chunk->attempts >= farm->max_attempts) {
        if (nf_pool_state(&farm->pool, chunk->first) == NF_UNIT_LEASED)
            give_up(farm, chunk->first, chunk->slot, chunk->attempts, &loss);
        return;
    }
    chunk->single = true;
    chunk->alone = chunk->attempts + 1 >= farm->max_attempts;
}

/* @return units returned */
static uint64_t take_back(struct nf_farm *farm, uint32_t slot,
                          enum nf_loss loss, bool certain)
{
    struct nf_chunk_list *leases = &farm->slots[slot].leases;
    uint64_t returned = 0;
    int64_t oldest = NF_FARM_SUSPECT_LEASES; /* later ones were not started */

    while (leases->head != NF_CHUNK_NONE) {
        uint32_t index = leases->head;
        struct nf_chunk *chunk = nf_chunks_at(&farm->pool.chunks, index);
        bool blamed = oldest-- > 0 && !farm->over && is_suspect(chunk, loss);

        nf_chunk_list_remove(&farm->pool.chunks, leases, index);
        nf_farm_leave_to_twin(farm, chunk, blamed);
        if (blamed && chunk->count > 0)
            blame(farm, chunk, loss, certain);
        returned += nf_pool_return(&farm->pool, index);
        farm->leases--;
    }
    return returned;
}

/* Had this slave exactly one unit to answer, of whatever phase? */
static bool had_one_unit(const struct nf_farm *farm,
                         const struct nf_farm_slave *s)
{
    if (nf_farm_load(s) != 1)
        return false;
    for (uint32_t k = s->first_slot; k < s->first_slot + s->live_slots; k++)
        if (farm->slots[k].unsure)
            return false;
    if (s->later == 1)
        return true;
    for (uint32_t k = s->first_slot;; k++) {
        uint32_t head = farm->slots[k].leases.head;

        if (head != NF_CHUNK_NONE)
            return nf_chunks_at(&farm->pool.chunks, head)->count == 1;
    }
}

void nf_farm_lose(struct nf_farm *farm, uint32_t slave, enum nf_loss loss)
{
    struct nf_farm_slave *s = &farm->slaves[slave];
    uint32_t first = s->first_slot, end = first + s->live_slots;
    bool certain = had_one_unit(farm, s);
    uint64_t returned = 0;

    if (nf_farm_load(s) == 0)
        nf_farm_idle_remove(farm, slave);
    nf_phases_lose(farm, slave, loss, certain);
    if (farm->draining == slave)
        farm->draining = NF_SLAVE_NONE;
    for (uint32_t k = first; k < end; k++) {
        returned += take_back(farm, k, loss, certain);
        farm->views[k] = (struct nf_slot_view){ .live = false,
                                                .slave = slave,
                                                .behind = NF_NO_COPY };
        farm->refused -= farm->slots[k].sizer_refused;
        farm->slots[k].sizer_refused = false;
    }
    returned += nf_farm_lose_held(farm, slave);
    farm->stats.live_slaves--;
    farm->stats.live_slots -= s->live_slots;
    if (loss != NF_LOSS_LEFT) {
        farm->stats.lost_slaves++;
        farm->loss_us = farm->now_us;
    }
    s->outstanding = 0;
    s->later = 0;
    s->live_slots = 0;
    s->live = false;
    s->closed = false;
    s->reserved = false;
    nf_farm_update_view(farm);
    for (uint32_t k = first; k < end; k++)
        if (farm->policy.pacer->lost)
            farm->policy.pacer->lost(farm->pacer, &farm->view, k, farm->now_us);
    if (returned > 0)
        nf_farm_units_returned(farm);
}

enum nf_status nf_farm_lost(struct nf_farm *farm, uint32_t slave,
                            enum nf_loss loss, int64_t now_us,
                            struct nf_actions *actions_p)
{
    nf_farm_begin(farm, NF_SLAVE_NONE, now_us);
    if (!nf_farm_is_known(farm, slave))
        return nf_farm_reject(farm, NF_ERR_PROTOCOL, actions_p);
    if (farm->slaves[slave].live)
        nf_farm_lose(farm, slave, loss);
    return nf_farm_finish(farm, actions_p);
}

/* ---- answers ---- */

/* Settle the units that nobody has answered: runs of them are accepted.
 * @param slave  who has their results
 * @param late   it may have thrown them away when its lease was lost */
static void accept_units(struct nf_farm *farm, uint32_t slave, uint64_t first,
                         uint64_t count, bool late)
{
    struct nf_action *run = NULL;
    bool in_run = false;

    /* over: cancelled, or they are all settled */
    if (farm->over || (late && nf_farm_is_holding(farm))) {
        for (uint64_t unit = first; unit < first + count; unit++)
            farm->stats.duplicates +=
                nf_pool_state(&farm->pool, unit) == NF_UNIT_SETTLED;
        return;
    }
    for (uint64_t unit = first; unit < first + count; unit++) {
        if (nf_pool_state(&farm->pool, unit) == NF_UNIT_SETTLED) {
            farm->stats.duplicates++;
            in_run = false;
            continue;
        }
        nf_pool_move(&farm->pool, unit, NF_UNIT_SETTLED);
        farm->stats.done++;
        if (nf_farm_is_holding(farm))
            nf_pool_held_by(&farm->pool, unit, slave);
        if (!in_run) {
            run = nf_farm_act(farm, NF_ACT_ACCEPT);
            in_run = true;
            if (run)
                run->first = unit;
        }
        if (run)
            run->count++;
    }
}

/* A lease has no more units to answer.
 * @param times  NULL: nothing was measured */
static void end_lease(struct nf_farm *farm, uint32_t index,
                      const struct nf_chunk_times *times)
{
    struct nf_chunk *chunk = nf_chunks_at(&farm->pool.chunks, index);
    uint32_t slot = chunk->slot;
    struct nf_chunk_times all;

    if (times) {
        all = *times;
        all.units = chunk->sent_units;
        all.elapsed_us = farm->now_us - chunk->sent_us;
        times = &all;
    }
    if (farm->slots[slot].unsure_us < chunk->sent_us)
        farm->slots[slot].unsure = false; /* leases are computed in order */
    nf_farm_cancel_twin(farm, chunk);
    nf_farm_forget(farm, index);
    if (times && farm->policy.sizer->report)
        farm->policy.sizer->report(farm->sizer, slot, times);
    if (farm->policy.pacer->result)
        farm->policy.pacer->result(farm->pacer, &farm->view, slot, times,
                                   farm->now_us);
}

/* Find the lease that [first, first + count) of @p slave are answers to. */
static enum nf_lease_age find_lease(struct nf_farm *farm, uint32_t slave,
                                    uint64_t lease, uint64_t first,
                                    uint64_t count, uint32_t *index_p)
{
    enum nf_lease_age age;
    const struct nf_chunk *chunk;

    if (!nf_farm_is_known(farm, slave) || count == 0 || first >= farm->pool.units ||
        count > farm->pool.units - first)
        return NF_LEASE_UNKNOWN;
    age = nf_chunks_find(&farm->pool.chunks, lease, index_p);
    if (age == NF_LEASE_LATE && first + count > farm->pool.fresh_first)
        return NF_LEASE_UNKNOWN; /* nobody ever got these */
    if (age != NF_LEASE_LIVE)
        return age;
    chunk = nf_chunks_at(&farm->pool.chunks, *index_p);
    if (farm->slots[chunk->slot].slave != slave || chunk->first != first ||
        chunk->count < count)
        return NF_LEASE_UNKNOWN;
    return NF_LEASE_LIVE;
}

enum nf_status nf_farm_result(struct nf_farm *farm, uint32_t slave,
                              uint64_t lease, uint64_t first, uint64_t count,
                              const struct nf_chunk_times *times,
                              int64_t now_us, struct nf_actions *actions_p)
{
    uint32_t index = NF_CHUNK_NONE;
    enum nf_lease_age age;
    bool late;

    nf_farm_begin(farm, slave, now_us);
    if (nf_phases_know(farm, lease)) {
        enum nf_status status =
            nf_phases_result(farm, slave, lease, first, count);

        return status ? nf_farm_reject(farm, status, actions_p)
                      : nf_farm_finish(farm, actions_p);
    }
    age = find_lease(farm, slave, lease, first, count, &index);
    if (age == NF_LEASE_UNKNOWN)
        return nf_farm_reject(farm, NF_ERR_PROTOCOL, actions_p);
    nf_farm_heard(farm, slave, now_us);
    late =
        age != NF_LEASE_LIVE || nf_chunks_at(&farm->pool.chunks, index)->stale;
    accept_units(farm, slave, first, count, late);
    nf_farm_update_view(farm);
    if (age == NF_LEASE_LIVE) {
        struct nf_chunk *chunk = nf_chunks_at(&farm->pool.chunks, index);

        chunk->first += count;
        chunk->count -= count;
        if (chunk->count == 0)
            end_lease(farm, index, times);
    }
    return nf_farm_finish(farm, actions_p);
}

/* The first unit of the lease failed: give it up, or put it into @p retry.
 * @return units returned */
static uint64_t fail_first(struct nf_farm *farm, const struct nf_chunk *chunk,
                           uint32_t retry)
{
    struct nf_chunk *range = nf_chunks_at(&farm->pool.chunks, retry);
    uint32_t attempts = chunk->attempts + 1;

    if (nf_farm_is_covered(farm, chunk)) { /* it is being tried again already */
        nf_chunks_at(&farm->pool.chunks, chunk->twin)->spoilt = true;
        nf_chunks_free(&farm->pool.chunks, retry);
        return 0;
    }
    range->first = chunk->first;
    range->count = 1;
    range->attempts = attempts;
    range->silences = chunk->silences;
    range->single = chunk->single;
    range->alone = chunk->alone;
    if (attempts >= farm->max_attempts &&
        nf_pool_state(&farm->pool, chunk->first) == NF_UNIT_LEASED)
        give_up(farm, chunk->first, chunk->slot, attempts, NULL);
    return nf_pool_return(&farm->pool, retry); /* if it is not settled */
}

enum nf_status nf_farm_unit_failed(struct nf_farm *farm, uint32_t slave,
                                   uint64_t lease, uint64_t unit,
                                   int64_t now_us, struct nf_actions *actions_p)
{
    uint32_t index = NF_CHUNK_NONE;
    enum nf_lease_age age;
    struct nf_chunk *chunk;
    uint64_t returned = 0;

    nf_farm_begin(farm, slave, now_us);
    if (nf_phases_know(farm, lease)) {
        enum nf_status status = nf_phases_failed(farm, slave, lease, unit);

        return status ? nf_farm_reject(farm, status, actions_p)
                      : nf_farm_finish(farm, actions_p);
    }
    age = find_lease(farm, slave, lease, unit, 1, &index);
    if (age == NF_LEASE_UNKNOWN)
        return nf_farm_reject(farm, NF_ERR_PROTOCOL, actions_p);
    if (nf_chunks_reserve(&farm->pool.chunks))
        return nf_farm_reject(farm, NF_ERR_NOMEM, actions_p);
    nf_farm_heard(farm, slave, now_us);
    if (age == NF_LEASE_LATE) /* it has been returned already */
        return nf_farm_finish(farm, actions_p);
    chunk = nf_chunks_at(&farm->pool.chunks, index);
    if (!farm->over)
        returned = fail_first(farm, chunk, nf_chunks_new(&farm->pool.chunks));
    chunk->first++;
    chunk->count--;
    nf_farm_update_view(farm);
    if (chunk->count == 0)
        end_lease(farm, index, NULL);
    if (returned > 0)
        nf_farm_units_returned(farm);
    return nf_farm_finish(farm, actions_p);
}
