/* auto: adaptive preSend.  Instead of sending each td, it keeps as many chunks
 * at a slot as cover its latency, so that the interval finds itself: a full
 * pipeline means td = t_P, the optimum of the paper's equation (3).
 *
 * Per slot it measures the service time s of a chunk with its deviation, and
 * the latency nu = elapsed - compute - wait in the slave's queue.  The window
 * is the bandwidth-delay product w = 1 + ceil(nu / s), with s taken
 * pessimistically short and nu bounded by twice the least one seen, so that
 * queues of our own making do not widen it.
 *
 * A gate decides the end game: a slot gets a chunk only if it would finish it
 * before all work could be done (the fluid bound M), or if nobody would finish
 * it earlier.  A chosen slot is the one that runs dry first.
 *
 * Cost: one sweep over the slots a send. */
#include "config.h"
#include "common/policy/policy.h"
#include <math.h>
#ifndef NF_B2
#define NF_B2 0
#endif

enum {
    RING = 8,   /* latencies remembered */
    EPOCH = 32, /* results after which old minima are forgotten, in two steps */
};

/* Times above a month are cut, so that sums cannot overflow. */
static const int64_t longest_us = INT64_C(2678400000000);

struct auto_slot {
    uint64_t results;
    int64_t service_us; /* s: smoothed compute time of a chunk of g units */
    int64_t spread_us;  /* sv: smoothed |deviation| from s */
    int64_t latency_us[RING];
    int64_t least_us[2]; /* least latency of this epoch and of the last one */
    int64_t base_us;     /* the lesser of the two */
    int64_t head_us;     /* when the head chunk was started there, estimated */
    int64_t finish_us;   /* when the last result was ready there, estimated */
    uint64_t window;     /* w, in chunks */
    int64_t plan_us;     /* scratch: s, or a guess */
    int64_t dry_us;      /* scratch: when it has nothing left to do */
};

struct adaptive {
    uint64_t max_window;
    bool gate, replicate;
    bool gathering;    /* slots are joining: let all of them come first */
    uint32_t expected; /* slots */
    struct auto_slot slots[];
};

static const struct nf_param params[] = {
    {
        .name = "wmax",
        .kind = NF_PARAM_COUNT,
        .default_text = "16",
        .min = 1,
        .max = 1000000,
        .unit = "chunks",
        .help = "most chunks outstanding at a slot",
    },
    {
        .name = "gate",
        .kind = NF_PARAM_BOOL,
        .default_text = "1",
        .help = "no chunk to a slot that would finish it too late",
    },
    {
        .name = "replicate",
        .kind = NF_PARAM_BOOL,
        .default_text = "0",
        .help = "idle slots copy late chunks in the end; the first answer "
                "counts",
    },
    { .name = NULL },
};

static size_t auto_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct adaptive) + env->max_slots * sizeof(struct auto_slot);
}

static enum nf_status auto_init(void *st, const struct nf_policy_env *env,
                                const struct nf_param_value *values,
                                struct nf_error *err)
{
    struct adaptive *adaptive = st;

    (void)err;
    adaptive->max_window = values[0].count;
    adaptive->gate = values[1].count != 0;
    adaptive->replicate = values[2].count != 0;
    adaptive->expected = env->slots;
    return NF_OK;
}

static int64_t min_us(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_us(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Durations come from other machines: believe nothing absurd. */
static int64_t sane_us(int64_t time_us)
{
    return max_us(0, min_us(time_us, longest_us));
}

/* ---- measurements ---- */

static void measure_service(struct auto_slot *slot, int64_t compute_us)
{
    int64_t deviation_us;
    int64_t weight = slot->results + 1 < 4 ? (int64_t)slot->results + 1 : 4;

    if (slot->results == 0) {
        slot->service_us = compute_us;
        slot->spread_us = compute_us / 4;
        return;
    }
    deviation_us = compute_us - slot->service_us;
    slot->service_us += deviation_us / weight;
    if (deviation_us < 0)
        deviation_us = -deviation_us;
    slot->spread_us += (deviation_us - slot->spread_us) / 4;
}

static void measure_latency(struct auto_slot *slot, int64_t latency_us)
{
    slot->latency_us[slot->results % RING] = latency_us;
    if (slot->results % EPOCH == 0) {
        slot->least_us[1] = slot->results == 0 ? INT64_MAX : slot->least_us[0];
        slot->least_us[0] = latency_us;
    }
    slot->least_us[0] = min_us(slot->least_us[0], latency_us);
    slot->base_us = min_us(slot->least_us[0], slot->least_us[1]);
}

/* The upper quartile of the last latencies. */
static int64_t high_latency_us(const struct auto_slot *slot)
{
    int64_t sorted_us[RING] = { 0 };
    uint32_t count = slot->results < RING ? (uint32_t)slot->results : RING;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = i;

        for (; place > 0 && sorted_us[place - 1] > slot->latency_us[i]; place--)
            sorted_us[place] = sorted_us[place - 1];
        sorted_us[place] = slot->latency_us[i];
    }
    return sorted_us[3 * count / 4];
}

static uint64_t suitable_window(const struct auto_slot *slot,
                                uint64_t max_window)
{
    int64_t latency_us =
        max_us(1, min_us(high_latency_us(slot), 2 * slot->base_us));
    int64_t short_us =
        max_us(1, max_us(slot->service_us / 4,
                         slot->service_us - 2 * slot->spread_us));
    uint64_t window = 1 + (uint64_t)((latency_us + short_us - 1) / short_us);

    return window < max_window ? window : max_window;
}

/* How long the chunk lay in the slave's queue, if the slave could not tell: it
 * was behind the one before it. */
static int64_t guessed_wait_us(const struct auto_slot *slot, int64_t sent_us)
{
    if (slot->results == 0)
        return 0;
    return max_us(0, slot->finish_us - (sent_us + slot->base_us / 2));
}

static void measure(struct auto_slot *slot, const struct nf_chunk_times *t,
                    uint64_t grain_units, int64_t now_us)
{
    int64_t compute_us = sane_us(t->compute_us);
    int64_t elapsed_us = sane_us(t->elapsed_us);
    int64_t wait_us = t->wait_us >= 0
                          ? sane_us(t->wait_us)
                          : guessed_wait_us(slot, now_us - elapsed_us);
    int64_t scaled_us = compute_us;

    if (t->units != grain_units && t->units > 0)
        scaled_us = (int64_t)fmin((double)compute_us * (double)grain_units /
                                      (double)t->units,
                                  (double)longest_us);
    measure_service(slot, scaled_us);
    measure_latency(slot, max_us(0, elapsed_us - compute_us - wait_us));
    slot->results++;
}

/* ---- placement ---- */

/* What one sweep finds out about all slots that can be given something. */
struct outlook {
    uint32_t known;  /* slots with results */
    int64_t mean_us; /* of their s */
    double fluid_us; /* M: from now until everything could be done */
    uint32_t best;   /* would finish one more chunk first */
};

static bool can_work(const struct nf_slot_view *slot)
{
    return slot->live && !slot->refused;
}

/* When a slot runs dry, and how long it would need for one more chunk.  Before
 * its first result it is taken for an average one, whose next chunk will not
 * take less than its first one has taken so far. */
static void predict_slot(struct auto_slot *slot,
                         const struct nf_slot_view *view, int64_t mean_us,
                         int64_t now_us)
{
    int64_t service_us =
        max_us(1, slot->results > 0 ? slot->service_us : mean_us);
    int64_t age_us, rest_us, behind_us;

    slot->plan_us = service_us;
    if (view->outstanding == 0) {
        slot->dry_us = now_us + slot->base_us / 2;
        return;
    }
    age_us = max_us(0, now_us - slot->head_us);
    if (age_us <= service_us)
        rest_us = service_us - age_us;
    else /* late: expect it to be as late again */
        rest_us = age_us - service_us;
    behind_us = age_us > 2 * service_us ? age_us : service_us;
    slot->dry_us =
        now_us + rest_us + (int64_t)(view->outstanding - 1) * behind_us;
    if (slot->results == 0)
        slot->plan_us = max_us(service_us, age_us);
}

static void look_out(struct adaptive *adaptive, const struct nf_pool_view *pool,
                     int64_t now_us, struct outlook *outlook_p)
{
    struct outlook look = { .best = UINT32_MAX };
    uint64_t grains = pool->left_units / pool->grain_units +
                      (pool->left_units % pool->grain_units != 0);
    double work = (double)grains, rate = 0;
    int64_t sum_us = 0, best_us = 0;

    for (uint32_t i = 0; i < pool->nslots; i++) {
        if (!can_work(&pool->slots[i]) || adaptive->slots[i].results == 0)
            continue;
        sum_us += adaptive->slots[i].service_us;
        look.known++;
    }
    look.mean_us = look.known == 0 ? 0 : sum_us / look.known;
    for (uint32_t i = 0; i < pool->nslots; i++) {
        struct auto_slot *slot = &adaptive->slots[i];

        if (!can_work(&pool->slots[i]))
            continue;
        predict_slot(slot, &pool->slots[i], look.mean_us, now_us);
        work += (double)(slot->dry_us - now_us) / (double)slot->plan_us;
        rate += 1 / (double)slot->plan_us;
        if (look.best == UINT32_MAX || slot->dry_us + slot->plan_us < best_us) {
            look.best = i;
            best_us = slot->dry_us + slot->plan_us;
        }
    }
    look.fluid_us = work / rate;
    *outlook_p = look;
}

static uint64_t window_of(const struct adaptive *adaptive, uint32_t slot)
{
    if (adaptive->slots[slot].results > 0)
        return adaptive->slots[slot].window;
    return adaptive->max_window < 2 ? adaptive->max_window : 2;
}

/* Nobody has reported: one chunk each, and a second one if there are plenty. */
static uint32_t choose_blindly(const struct adaptive *adaptive,
                               const struct nf_pool_view *pool)
{
    uint64_t grains = pool->units / pool->grain_units +
                      (pool->units % pool->grain_units != 0);
    uint64_t limit = grains / 4 >= adaptive->expected ? 2 : 1;
    uint32_t chosen = UINT32_MAX;

    if (limit > adaptive->max_window)
        limit = adaptive->max_window;
    for (uint32_t i = 0; i < pool->nslots; i++) {
        if (!can_work(&pool->slots[i]) || pool->slots[i].outstanding >= limit)
            continue;
        if (chosen == UINT32_MAX ||
            pool->slots[i].outstanding < pool->slots[chosen].outstanding)
            chosen = i;
    }
    return chosen;
}

static uint32_t choose(struct adaptive *adaptive,
                       const struct nf_pool_view *pool, int64_t now_us)
{
    struct outlook look;
    uint32_t chosen = UINT32_MAX;

    look_out(adaptive, pool, now_us, &look);
    if (look.known == 0)
        return choose_blindly(adaptive, pool);
    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct auto_slot *slot = &adaptive->slots[i];
        double finish_us = (double)(slot->dry_us + slot->plan_us - now_us);

        if (!can_work(&pool->slots[i]) ||
            pool->slots[i].outstanding >= window_of(adaptive, i))
            continue;
        if (adaptive->gate && i != look.best && finish_us > look.fluid_us)
            continue;
        if (chosen == UINT32_MAX ||
            slot->dry_us < adaptive->slots[chosen].dry_us)
            chosen = i;
    }
    return chosen;
}

static enum nf_status auto_pick(void *st, const struct nf_pool_view *pool,
                                int64_t now_us, uint32_t *slot_p,
                                int64_t *wake_us_p)
{
    struct adaptive *adaptive = st;
    uint32_t slot;

    if (adaptive->gathering) {
        adaptive->gathering = false;
        *wake_us_p = now_us;
        return NF_WAIT;
    }
    slot = choose(adaptive, pool, now_us);
    if (slot == UINT32_MAX) {
        *wake_us_p = INT64_MAX;
        return NF_WAIT;
    }
    *slot_p = slot;
    return NF_OK;
}

static uint32_t slowest(const struct adaptive *adaptive,
                        const struct nf_pool_view *pool, uint32_t to,
                        int64_t now_us, int64_t *end_us_p)
{
    uint32_t from = UINT32_MAX;

    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct auto_slot *slot = &adaptive->slots[i];
        int64_t age_us, service_us, behind_us, end_us;

        if (!pool->slots[i].live || pool->slots[i].behind == NF_NO_COPY ||
            pool->slots[i].slave == pool->slots[to].slave)
            continue;
        service_us = max_us(1, slot->plan_us);
        age_us = max_us(0, now_us - slot->head_us);
        behind_us = service_us;
        if (NF_B2 && age_us > 2 * service_us) behind_us = age_us;
        end_us = slot->dry_us - (int64_t)pool->slots[i].behind * behind_us;
        if (from == UINT32_MAX || end_us > *end_us_p) {
            from = i;
            *end_us_p = end_us;
        }
    }
    return from;
}

static enum nf_status auto_replicate(void *st, const struct nf_pool_view *pool,
                                     int64_t now_us, struct nf_copy *copy_p,
                                     int64_t *wake_us_p)
{
    struct adaptive *adaptive = st;
    struct outlook look;
    int64_t wake1 = INT64_MAX, wake2 = INT64_MAX;

    *wake_us_p = INT64_MAX;
    if (!adaptive->replicate) return NF_WAIT;
    look_out(adaptive, pool, now_us, &look);
    for (uint32_t j = 0; j < pool->nslots; j++) {
        const struct auto_slot *slot = &adaptive->slots[j];
        int64_t end_us = 0;
        uint32_t from;

        if (!can_work(&pool->slots[j]) || pool->slots[j].outstanding > 0 ||
            slot->results == 0)
            continue;
        from = slowest(adaptive, pool, j, now_us, &end_us);
        if (from == UINT32_MAX) return NF_WAIT;
        if (slot->service_us + slot->base_us / 2 < wake2)
            wake2 = slot->service_us + slot->base_us / 2;
        if (now_us + slot->base_us / 2 + slot->service_us < end_us) {
            copy_p->from = from;
            copy_p->to = j;
            return NF_OK;
        }
    }
    if (wake2 == INT64_MAX) return NF_WAIT;
    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct auto_slot *slot = &adaptive->slots[i];
        if (!pool->slots[i].live || pool->slots[i].behind == NF_NO_COPY) continue;
        int64_t s = slot->results ? slot->service_us : look.mean_us;
        if (slot->head_us + s < wake1) wake1 = slot->head_us + s;
    }
    if (wake1 + wake2 + 1 > now_us) *wake_us_p = wake1 + wake2 + 1;
    return NF_WAIT;
}

static void auto_join(void *st, const struct nf_pool_view *pool, uint32_t slot,
                      int64_t now_us)
{
    struct adaptive *adaptive = st;

    (void)pool;
    (void)now_us;
    adaptive->gathering = true;
    /* one that comes back may have changed: measure it anew */
    adaptive->slots[slot] = (struct auto_slot){ 0 };
}

static void auto_sent(void *st, const struct nf_pool_view *pool, uint32_t slot,
                      uint64_t units, int64_t now_us)
{
    struct adaptive *adaptive = st;
    struct auto_slot *sent = &adaptive->slots[slot];

    (void)units;
    if (pool->slots[slot].outstanding <= 1)
        sent->head_us = now_us + sent->base_us / 2;
}

static void auto_result(void *st, const struct nf_pool_view *pool,
                        uint32_t slot, const struct nf_chunk_times *t,
                        int64_t now_us)
{
    struct adaptive *adaptive = st;
    struct auto_slot *from = &adaptive->slots[slot];

    if (t != NULL) {
        measure(from, t, pool->grain_units, now_us);
        from->window = suitable_window(from, adaptive->max_window);
    }
    from->finish_us = now_us - from->base_us / 2;
    from->head_us = from->finish_us;
}

const struct nf_pacer_ops nf_pacer_auto = {
    .name = "auto",
    .summary = "adaptive preSend: as many chunks ahead as hide the latency",
    .source = "after Goo 2001, section 5 (dynamic interval); bandwidth-delay"
              " window with a completion-time gate",
    .params = params,
    .state_size = auto_state_size,
    .init = auto_init,
    .pick = auto_pick,
    .replicate = auto_replicate,
    .join = auto_join,
    .sent = auto_sent,
    .result = auto_result,
};
