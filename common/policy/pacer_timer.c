/* timer: preSend.  Each slot gets its next chunk td after the last was sent to
 * it, whether or not a result is back:
 *
 *     t = t_S + t_P + t_R + (n - 1) max(t_P, td)      equations (3) to (5)
 *
 * Of the slots that are due, the one due first is served; ties go to the one
 * with fewest sends, then to the lowest number (by number alone, td = 0 would
 * send everything to slot 0).  After a late wake-up there is no burst: td
 * counts from when the send was made, not from when it was due.
 *
 * The slots stand in a binary heap ordered that way: O(log p) a send. */
#include "config.h"
#include "common/policy/policy.h"

struct timer_slot {
    int64_t due_us;
    int64_t td_us;
    uint64_t sent;
    uint32_t heap;  /* the heap: slot at place k, not of slot k */
    uint32_t place; /* of slot k in the heap */
    bool queued;    /* slot k is in the heap */
};

struct timer {
    int64_t stagger_us;
    int64_t start_us; /* when the first slot joined */
    bool started;
    bool unsettled; /* take what has arrived before the next send */
    uint32_t count; /* of slots in the heap */
    struct timer_slot slots[];
};

static const struct nf_param params[] = {
    {
        .name = "td",
        .kind = NF_PARAM_TIMES,
        .default_text = "100ms",
        .unit = "time",
        .help = "between two sends to a slot; a/b/...: slot by slot, in turn",
    },
    {
        .name = "stagger",
        .kind = NF_PARAM_TIME,
        .default_text = "0",
        .unit = "time",
        .help = "between the first sends to slots i and i+1",
    },
    { .name = NULL },
};

static size_t timer_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct timer) + env->max_slots * sizeof(struct timer_slot);
}

static enum nf_status timer_init(void *st, const struct nf_policy_env *env,
                                 const struct nf_param_value *values,
                                 struct nf_error *err)
{
    struct timer *timer = st;

    (void)err;
    for (uint32_t i = 0; i < env->max_slots; i++)
        timer->slots[i].td_us = (int64_t)values[0].list[i % values[0].nlist];
    timer->stagger_us = values[1].time_us;
    return NF_OK;
}

static bool goes_before(const struct timer *timer, uint32_t a, uint32_t b)
{
    const struct timer_slot *left = &timer->slots[a], *right = &timer->slots[b];

    if (left->due_us != right->due_us)
        return left->due_us < right->due_us;
    if (left->sent != right->sent)
        return left->sent < right->sent;
    return a < b;
}

static void put(struct timer *timer, uint32_t place, uint32_t slot)
{
    timer->slots[place].heap = slot;
    timer->slots[slot].place = place;
}

static void sift_up(struct timer *timer, uint32_t place, uint32_t slot)
{
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;

        if (!goes_before(timer, slot, timer->slots[parent].heap))
            break;
        put(timer, place, timer->slots[parent].heap);
        place = parent;
    }
    put(timer, place, slot);
}

static void sift_down(struct timer *timer, uint32_t place, uint32_t slot)
{
    for (;;) {
        uint32_t child = 2 * place + 1;

        if (child >= timer->count)
            break;
        if (child + 1 < timer->count &&
            goes_before(timer, timer->slots[child + 1].heap,
                        timer->slots[child].heap))
            child++;
        if (!goes_before(timer, timer->slots[child].heap, slot))
            break;
        put(timer, place, timer->slots[child].heap);
        place = child;
    }
    put(timer, place, slot);
}

/* The slot's key has changed. */
static void reorder(struct timer *timer, uint32_t slot)
{
    sift_up(timer, timer->slots[slot].place, slot);
    sift_down(timer, timer->slots[slot].place, slot);
}

static void insert(struct timer *timer, uint32_t slot)
{
    timer->slots[slot].queued = true;
    sift_up(timer, timer->count++, slot);
}

static void drop_first(struct timer *timer)
{
    timer->slots[timer->slots[0].heap].queued = false;
    if (--timer->count > 0)
        sift_down(timer, 0, timer->slots[timer->count].heap);
}

static enum nf_status timer_pick(void *st, const struct nf_pool_view *pool,
                                 int64_t now_us, uint32_t *slot_p,
                                 int64_t *wake_us_p)
{
    struct timer *timer = st;
    bool unsettled = timer->unsettled;

    while (timer->count > 0) {
        uint32_t slot = timer->slots[0].heap;

        if (!pool->slots[slot].live || pool->slots[slot].refused) {
            drop_first(timer);
            continue;
        }
        timer->unsettled = false;
        if (timer->slots[slot].due_us > now_us) {
            *wake_us_p = timer->slots[slot].due_us;
            return NF_WAIT;
        }
        if (unsettled) {
            *wake_us_p = now_us;
            return NF_WAIT;
        }
        *slot_p = slot;
        return NF_OK;
    }
    *wake_us_p = INT64_MAX;
    return NF_WAIT;
}

static void timer_join(void *st, const struct nf_pool_view *pool, uint32_t slot,
                       int64_t now_us)
{
    struct timer *timer = st;
    struct timer_slot *joined = &timer->slots[slot];
    int64_t due_us;

    (void)pool;
    if (!timer->started) {
        timer->started = true;
        timer->start_us = now_us;
    }
    timer->unsettled = true;
    due_us = timer->start_us + timer->stagger_us * slot;
    joined->due_us = due_us > now_us ? due_us : now_us;
    if (joined->queued)
        reorder(timer, slot); /* lost, and back before it was dropped */
    else
        insert(timer, slot);
}

static void timer_sent(void *st, const struct nf_pool_view *pool, uint32_t slot,
                       uint64_t units, int64_t now_us)
{
    struct timer *timer = st;
    struct timer_slot *sent = &timer->slots[slot];

    (void)pool;
    (void)units;
    timer->unsettled = true;
    sent->due_us = now_us + sent->td_us;
    sent->sent++;
    if (sent->queued)
        reorder(timer, slot);
}

static void timer_result(void *st, const struct nf_pool_view *pool,
                         uint32_t slot, const struct nf_chunk_times *t,
                         int64_t now_us)
{
    struct timer *timer = st;

    (void)pool;
    (void)slot;
    (void)t;
    (void)now_us;
    timer->unsettled = true;
}

/* Slots that were refused, and so dropped, may be picked again. */
static void timer_returned(void *st, const struct nf_pool_view *pool,
                           int64_t now_us)
{
    struct timer *timer = st;

    (void)now_us;
    for (uint32_t slot = 0; slot < pool->nslots; slot++)
        if (pool->slots[slot].live && !timer->slots[slot].queued)
            insert(timer, slot);
}

const struct nf_pacer_ops nf_pacer_timer = {
    .name = "timer",
    .summary = "preSend: a chunk to every slot each td",
    .source = "Goo 2001, section 3.2, equations (3) to (5)",
    .params = params,
    .state_size = timer_state_size,
    .init = timer_init,
    .pick = timer_pick,
    .join = timer_join,
    .sent = timer_sent,
    .result = timer_result,
    .returned = timer_returned,
};
