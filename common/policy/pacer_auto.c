/* auto: adaptive preSend.  Instead of sending each td, it keeps as many chunks
 * at a slot as cover its latency, so that the interval finds itself: a full
 * pipeline means td = t_P, the optimum of the paper's equation (3).
 *
 * Per slot it measures the service time s of a chunk with its deviation, and
 * the latency nu = elapsed - compute - wait in the slave's queue.  The window
 * is the bandwidth-delay product w = 1 + ceil(nu / s), with s taken
 * pessimistically short and nu bounded by twice the least one seen
 * (auto_estimate.c).
 *
 * A gate decides the end game: a slot gets a chunk only if it would finish it
 * before all work could be done (the fluid bound M), or if nobody would finish
 * it earlier.  A chosen slot is the one that runs dry first (auto_outlook.c).
 *
 * When nothing is left, idle slots may copy what others are late with.
 *
 * Cost: O(log p) a chunk; in the end game, and while slots have not reported,
 * O(p) for those held back or unknown; O(p) an answer when nothing is left. */
#include "config.h"
#include "common/policy/policy.h"
#include "common/policy/auto_outlook.h"

struct adaptive {
    bool gate, replicate;
    bool gathering;    /* slots are joining: let all of them come first */
    uint32_t expected; /* slots */
    /* before the first result: slots below `blind_slot` have more than
     * `blind_level` chunks, or can't take any */
    uint32_t blind_slot, blind_level;
    struct nf_outlook outlook; /* last: more of it follows */
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
    return sizeof(struct adaptive) + nf_outlook_bytes(env->max_slots);
}

static enum nf_status auto_init(void *st, const struct nf_policy_env *env,
                                const struct nf_param_value *values,
                                struct nf_error *err)
{
    struct adaptive *adaptive = st;

    (void)err;
    adaptive->gate = values[1].count != 0;
    adaptive->replicate = values[2].count != 0;
    adaptive->expected = env->slots;
    nf_outlook_init(&adaptive->outlook, env->max_slots, values[0].count);
    return NF_OK;
}

/* ---- placement ---- */

static bool can_work(const struct nf_slot_view *slot)
{
    return slot->live && !slot->refused;
}

/* Nobody has reported: one chunk each, and a second one if there are plenty. */
static uint32_t choose_blindly(struct adaptive *adaptive,
                               const struct nf_pool_view *pool)
{
    uint64_t grains = pool->units / pool->grain_units +
                      (pool->units % pool->grain_units != 0);
    uint64_t limit = grains / 4 >= adaptive->expected ? 2 : 1;

    if (limit > adaptive->outlook.max_window)
        limit = adaptive->outlook.max_window;
    for (; adaptive->blind_level < limit; adaptive->blind_level++) {
        for (; adaptive->blind_slot < pool->nslots; adaptive->blind_slot++) {
            const struct nf_slot_view *slot =
                &pool->slots[adaptive->blind_slot];

            if (can_work(slot) && slot->outstanding <= adaptive->blind_level)
                return adaptive->blind_slot;
        }
        adaptive->blind_slot = 0;
    }
    return NF_SLOT_NONE;
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
    slot = adaptive->outlook.known == 0
               ? choose_blindly(adaptive, pool)
               : nf_outlook_choose(&adaptive->outlook, pool, adaptive->gate,
                                   now_us);
    if (slot == NF_SLOT_NONE) {
        *wake_us_p = INT64_MAX;
        return NF_WAIT;
    }
    *slot_p = slot;
    return NF_OK;
}

/* ---- replication of the tail ---- */

/* A slot that has leases which may be copied, and when the last of them is
 * expected to be computed. */
struct owner {
    uint32_t slot, slave;
    int64_t end_us;
};

/* @p head_end_us_p  set to when its oldest lease should be computed */
static int64_t expected_end_us(const struct adaptive *adaptive,
                               const struct nf_slot_view *view, uint32_t slot,
                               int64_t now_us, int64_t *head_end_us_p)
{
    const struct nf_auto_estimate *estimate =
        nf_outlook_estimate(&adaptive->outlook, slot);
    int64_t service_us =
        nf_auto_service_us(estimate, nf_outlook_mean_us(&adaptive->outlook));
    int64_t dry_us =
        nf_auto_dry_us(estimate, view->outstanding, service_us, now_us);

    *head_end_us_p = estimate->head_us + service_us;
    if (estimate->results == 0 && now_us - estimate->head_us > service_us)
        service_us = now_us - estimate->head_us;
    return dry_us - nf_auto_times_us(view->behind, service_us);
}

/* The owners of the two leases that are expected last, of different slaves.
 * @return when the first head of all owners should be computed */
static int64_t find_owners(const struct adaptive *adaptive,
                           const struct nf_pool_view *pool, int64_t now_us,
                           struct owner owners_p[2])
{
    struct owner last[2] = { { NF_SLOT_NONE, 0, 0 }, { NF_SLOT_NONE, 0, 0 } };
    int64_t first_head_us = INT64_MAX;

    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct nf_slot_view *view = &pool->slots[i];
        struct owner owner = { .slot = i, .slave = view->slave };
        int64_t head_us = 0;

        if (!view->live || view->behind == NF_NO_COPY)
            continue;
        owner.end_us = expected_end_us(adaptive, view, i, now_us, &head_us);
        if (head_us < first_head_us)
            first_head_us = head_us;
        if (last[0].slot == NF_SLOT_NONE || owner.end_us > last[0].end_us) {
            if (owner.slave != last[0].slave)
                last[1] = last[0];
            last[0] = owner;
        } else if (owner.slave != last[0].slave &&
                   (last[1].slot == NF_SLOT_NONE ||
                    owner.end_us > last[1].end_us)) {
            last[1] = owner;
        }
    }
    owners_p[0] = last[0];
    owners_p[1] = last[1];
    return first_head_us;
}

/* An idle slot copies the lease that is expected last, if it would have it
 * computed earlier than that.  When that is not so yet, it may become so when
 * the owner is late, which no message tells: hence the time to wake up. */
static enum nf_status auto_replicate(void *st, const struct nf_pool_view *pool,
                                     int64_t now_us, struct nf_copy *copy_p,
                                     int64_t *wake_us_p)
{
    const struct adaptive *adaptive = st;
    int64_t head_us, least_us = INT64_MAX;
    struct owner owners[2];

    *wake_us_p = INT64_MAX;
    if (!adaptive->replicate || adaptive->outlook.known_idle == 0)
        return NF_WAIT;
    head_us = find_owners(adaptive, pool, now_us, owners);
    if (owners[0].slot == NF_SLOT_NONE)
        return NF_WAIT;
    for (uint32_t i = 0; i < pool->nslots; i++) {
        const struct nf_auto_estimate *estimate =
            nf_outlook_estimate(&adaptive->outlook, i);
        const struct owner *owner =
            &owners[pool->slots[i].slave == owners[0].slave];
        int64_t need_us;

        if (!can_work(&pool->slots[i]) || pool->slots[i].outstanding > 0 ||
            estimate->results == 0 || owner->slot == NF_SLOT_NONE)
            continue;
        need_us = estimate->service_us + estimate->base_us / 2;
        if (now_us + need_us < owner->end_us) {
            *copy_p = (struct nf_copy){ .from = owner->slot, .to = i };
            return NF_OK;
        }
        if (need_us < least_us)
            least_us = need_us;
    }
    if (least_us == INT64_MAX)
        return NF_WAIT;
    *wake_us_p = head_us + least_us + 1;
    if (*wake_us_p <= now_us) /* not yet, so look again: nobody else may tell */
        *wake_us_p = now_us + least_us + 1;
    return NF_WAIT;
}

/* ---- events ---- */

static void changed(struct adaptive *adaptive, const struct nf_pool_view *pool,
                    uint32_t slot, int64_t now_us)
{
    adaptive->blind_slot = 0;
    adaptive->blind_level = 0;
    nf_outlook_update(&adaptive->outlook, pool, slot, now_us);
}

static void auto_join(void *st, const struct nf_pool_view *pool, uint32_t slot,
                      int64_t now_us)
{
    struct adaptive *adaptive = st;

    adaptive->gathering = true;
    /* one that comes back may have changed: measure it anew */
    *nf_outlook_estimate(&adaptive->outlook, slot) =
        (struct nf_auto_estimate){ 0 };
    changed(adaptive, pool, slot, now_us);
}

static void auto_sent(void *st, const struct nf_pool_view *pool, uint32_t slot,
                      uint64_t units, int64_t now_us)
{
    struct adaptive *adaptive = st;

    (void)units;
    nf_auto_sent(nf_outlook_estimate(&adaptive->outlook, slot),
                 pool->slots[slot].outstanding, now_us);
    nf_outlook_update(&adaptive->outlook, pool, slot, now_us);
}

static void auto_result(void *st, const struct nf_pool_view *pool,
                        uint32_t slot, const struct nf_chunk_times *t,
                        int64_t now_us)
{
    struct adaptive *adaptive = st;

    nf_auto_result(nf_outlook_estimate(&adaptive->outlook, slot), t,
                   pool->grain_units, adaptive->outlook.max_window, now_us);
    changed(adaptive, pool, slot, now_us);
}

static void auto_changed(void *st, const struct nf_pool_view *pool,
                         uint32_t slot, int64_t now_us)
{
    changed(st, pool, slot, now_us);
}

static bool auto_estimate(const void *st, uint32_t slot,
                          struct nf_slot_estimate *estimate_p)
{
    const struct adaptive *adaptive = st;

    return nf_auto_report(nf_outlook_estimate(&adaptive->outlook, slot),
                          estimate_p);
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
    .estimate = auto_estimate,
    .join = auto_join,
    .lost = auto_changed,
    .sent = auto_sent,
    .result = auto_result,
    .cancelled = auto_changed,
    .refused = auto_changed,
};
