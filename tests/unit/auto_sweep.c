#include "config.h"
#include "tests/unit/auto_sweep.h"
#include "common/policy/auto_estimate.h"

#define NONE UINT32_MAX
__extension__ typedef __int128 wide;

struct slot {
    struct nf_auto_estimate estimate;
    int64_t plan_us; /* s, or a guess */
    int64_t dry_us;  /* when it has nothing left to do */
    int64_t late_us; /* what each chunk behind the head takes */
};

struct sweep {
    uint64_t max_window;
    bool gate, replicate, gathering;
    uint32_t expected;
    struct slot slots[];
};

static size_t sweep_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct sweep) + env->max_slots * sizeof(struct slot);
}

static enum nf_status sweep_init(void *st, const struct nf_policy_env *env,
                                 const struct nf_param_value *values,
                                 struct nf_error *err)
{
    struct sweep *sweep = st;

    (void)err;
    sweep->max_window = values[0].count;
    sweep->gate = values[1].count != 0;
    sweep->replicate = values[2].count != 0;
    sweep->expected = env->slots;
    return NF_OK;
}

static bool can_work(const struct nf_slot_view *view)
{
    return view->live && !view->refused;
}

/* dry(j) and s_j of section 5.4, word by word. */
static void predict(struct slot *slot, const struct nf_slot_view *view,
                    int64_t mean_us, int64_t now_us)
{
    int64_t s =
        slot->estimate.results > 0 ? slot->estimate.service_us : mean_us;
    int64_t age, rem;

    if (s < 1)
        s = 1;
    slot->plan_us = s;
    slot->dry_us = now_us + slot->estimate.base_us / 2;
    if (view->outstanding == 0)
        return;
    age = now_us - slot->estimate.head_us;
    if (age < 0)
        age = 0;
    rem = age <= s ? s - age : age - s;
    slot->late_us = age > 2 * s ? age : s;
    slot->dry_us =
        now_us + rem + (int64_t)(view->outstanding - 1) * slot->late_us;
    if (slot->estimate.results == 0 && age > s)
        slot->plan_us = age;
}

/* @return mean s of the slots that have results; -1 if none has */
static int64_t mean_service_us(const struct sweep *sweep,
                               const struct nf_pool_view *pool)
{
    int64_t sum = 0, known = 0;

    for (uint32_t i = 0; i < pool->nslots; i++) {
        if (!can_work(&pool->slots[i]) || sweep->slots[i].estimate.results == 0)
            continue;
        sum += sweep->slots[i].estimate.service_us;
        known++;
    }
    return known > 0 ? sum / known : -1;
}

static void predict_all(struct sweep *sweep, const struct nf_pool_view *pool,
                        int64_t now_us)
{
    int64_t mean_us = mean_service_us(sweep, pool);

    for (uint32_t i = 0; i < pool->nslots; i++)
        predict(&sweep->slots[i], &pool->slots[i], mean_us < 0 ? 0 : mean_us,
                now_us);
}

static uint64_t grains(uint64_t units, const struct nf_pool_view *pool)
{
    return units / pool->grain_units + (units % pool->grain_units != 0);
}

static uint32_t choose_blindly(const struct sweep *sweep,
                               const struct nf_pool_view *pool)
{
    uint64_t limit = grains(pool->units, pool) / 4 >= sweep->expected ? 2 : 1;
    uint32_t chosen = NONE;

    if (limit > sweep->max_window)
        limit = sweep->max_window;
    for (uint32_t i = 0; i < pool->nslots; i++) {
        if (!can_work(&pool->slots[i]) || pool->slots[i].outstanding >= limit)
            continue;
        if (chosen == NONE ||
            pool->slots[i].outstanding < pool->slots[chosen].outstanding)
            chosen = i;
    }
    return chosen;
}

/* M */
static int64_t fluid_us(const struct sweep *sweep,
                        const struct nf_pool_view *pool, int64_t now_us)
{
    const int64_t one = INT64_C(1) << 56;
    wide work = (wide)grains(pool->left_units, pool) * one, rate = 0;

    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct slot *slot = &sweep->slots[i];

        if (!can_work(&pool->slots[i]))
            continue;
        work += (wide)(slot->dry_us - now_us) * (one / slot->plan_us);
        rate += one / slot->plan_us;
    }
    work /= rate;
    return work < INT64_MAX / 4 ? (int64_t)work : INT64_MAX / 4;
}

static uint64_t window_of(const struct sweep *sweep, uint32_t slot)
{
    if (sweep->slots[slot].estimate.results > 0)
        return sweep->slots[slot].estimate.window;
    return sweep->max_window < 2 ? sweep->max_window : 2;
}

static uint32_t choose(struct sweep *sweep, const struct nf_pool_view *pool,
                       int64_t now_us)
{
    uint32_t best = NONE, chosen = NONE;
    int64_t fluid;

    if (mean_service_us(sweep, pool) < 0)
        return choose_blindly(sweep, pool);
    predict_all(sweep, pool, now_us);
    fluid = fluid_us(sweep, pool, now_us);
    for (uint32_t i = 0; i < pool->nslots; i++)
        if (can_work(&pool->slots[i]) &&
            (best == NONE ||
             sweep->slots[i].dry_us + sweep->slots[i].plan_us <
                 sweep->slots[best].dry_us + sweep->slots[best].plan_us))
            best = i;
    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct slot *slot = &sweep->slots[i];

        if (!can_work(&pool->slots[i]) ||
            pool->slots[i].outstanding >= window_of(sweep, i))
            continue;
        if (sweep->gate && i != best &&
            slot->dry_us + slot->plan_us - now_us > fluid)
            continue;
        if (chosen == NONE || slot->dry_us < sweep->slots[chosen].dry_us)
            chosen = i;
    }
    return chosen;
}

static enum nf_status sweep_pick(void *st, const struct nf_pool_view *pool,
                                 int64_t now_us, uint32_t *slot_p,
                                 int64_t *wake_us_p)
{
    struct sweep *sweep = st;
    uint32_t slot;

    if (sweep->gathering) {
        sweep->gathering = false;
        *wake_us_p = now_us;
        return NF_WAIT;
    }
    slot = choose(sweep, pool, now_us);
    *wake_us_p = INT64_MAX;
    if (slot == NONE)
        return NF_WAIT;
    *slot_p = slot;
    return NF_OK;
}

/* Of the leases that may be copied to a slave, the one expected last. */
static uint32_t latest(const struct sweep *sweep,
                       const struct nf_pool_view *pool, uint32_t to,
                       int64_t *end_us_p)
{
    uint32_t from = NONE;

    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct slot *slot = &sweep->slots[i];
        int64_t end_us;

        if (!pool->slots[i].live || pool->slots[i].behind == NF_NO_COPY ||
            pool->slots[i].slave == pool->slots[to].slave)
            continue;
        end_us = slot->dry_us - (int64_t)pool->slots[i].behind * slot->plan_us;
        if (from == NONE || end_us > *end_us_p) {
            from = i;
            *end_us_p = end_us;
        }
    }
    return from;
}

static int64_t first_head_us(const struct sweep *sweep,
                             const struct nf_pool_view *pool)
{
    int64_t mean_us = mean_service_us(sweep, pool), first_us = INT64_MAX;

    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct nf_auto_estimate *e = &sweep->slots[i].estimate;
        int64_t end_us = e->results > 0 ? e->service_us : mean_us;

        if (!pool->slots[i].live || pool->slots[i].behind == NF_NO_COPY)
            continue;
        end_us = e->head_us + (end_us < 1 ? 1 : end_us);
        if (end_us < first_us)
            first_us = end_us;
    }
    return first_us;
}

static enum nf_status sweep_replicate(void *st, const struct nf_pool_view *pool,
                                      int64_t now_us, struct nf_copy *copy_p,
                                      int64_t *wake_us_p)
{
    struct sweep *sweep = st;
    int64_t least_us = INT64_MAX, head_us;

    *wake_us_p = INT64_MAX;
    if (!sweep->replicate)
        return NF_WAIT;
    predict_all(sweep, pool, now_us);
    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct nf_auto_estimate *e = &sweep->slots[i].estimate;
        int64_t end_us = 0, need_us = e->service_us + e->base_us / 2;
        uint32_t from;

        if (!can_work(&pool->slots[i]) || pool->slots[i].outstanding > 0 ||
            e->results == 0)
            continue;
        from = latest(sweep, pool, i, &end_us);
        if (from == NONE)
            continue;
        if (now_us + need_us < end_us) {
            *copy_p = (struct nf_copy){ .from = from, .to = i };
            return NF_OK;
        }
        if (need_us < least_us)
            least_us = need_us;
    }
    head_us = first_head_us(sweep, pool);
    if (least_us != INT64_MAX)
        *wake_us_p = head_us + least_us + 1;
    if (*wake_us_p <= now_us)
        *wake_us_p = now_us + least_us + 1;
    return NF_WAIT;
}

static void sweep_join(void *st, const struct nf_pool_view *pool, uint32_t slot,
                       int64_t now_us)
{
    struct sweep *sweep = st;

    (void)pool;
    (void)now_us;
    sweep->gathering = true;
    sweep->slots[slot] = (struct slot){ .plan_us = 0 };
}

static void sweep_sent(void *st, const struct nf_pool_view *pool, uint32_t slot,
                       uint64_t units, int64_t now_us)
{
    struct sweep *sweep = st;

    (void)units;
    nf_auto_sent(&sweep->slots[slot].estimate, pool->slots[slot].outstanding,
                 now_us);
}

static void sweep_result(void *st, const struct nf_pool_view *pool,
                         uint32_t slot, const struct nf_chunk_times *t,
                         int64_t now_us)
{
    struct sweep *sweep = st;

    nf_auto_result(&sweep->slots[slot].estimate, t, pool->grain_units,
                   sweep->max_window, now_us);
}

const struct nf_pacer_ops auto_sweep = {
    .name = "sweep",
    .state_size = sweep_state_size,
    .init = sweep_init,
    .pick = sweep_pick,
    .replicate = sweep_replicate,
    .join = sweep_join,
    .sent = sweep_sent,
    .result = sweep_result,
};
