/* The ring of slots that may take another chunk.  Slots that were lost, refused
 * or filled up meanwhile are dropped when they come to the head. */
#include "config.h"
#include "common/policy/ready.h"

size_t nf_ready_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct nf_ready) +
           env->max_slots * sizeof(struct nf_ready_slot);
}

void nf_ready_init(struct nf_ready *ready, const struct nf_policy_env *env,
                   uint64_t limit)
{
    ready->limit = limit == 0 ? UINT64_MAX : limit;
    ready->capacity = env->max_slots;
}

static bool may_take(const struct nf_ready *ready,
                     const struct nf_slot_view *slot)
{
    return slot->live && !slot->refused && slot->outstanding < ready->limit;
}

static void push(struct nf_ready *ready, const struct nf_pool_view *pool,
                 uint32_t slot)
{
    uint32_t place;

    if (ready->slots[slot].queued || !may_take(ready, &pool->slots[slot]))
        return;
    place =
        (uint32_t)(((uint64_t)ready->head + ready->count) % ready->capacity);
    ready->slots[place].entry = slot;
    ready->slots[slot].queued = true;
    ready->count++;
}

static void pop(struct nf_ready *ready)
{
    ready->slots[ready->slots[ready->head].entry].queued = false;
    ready->head = (ready->head + 1) % ready->capacity;
    ready->count--;
}

enum nf_status nf_ready_pick(void *st, const struct nf_pool_view *pool,
                             int64_t now_us, uint32_t *slot_p,
                             int64_t *wake_us_p)
{
    struct nf_ready *ready = st;

    while (ready->count > 0) {
        uint32_t slot = ready->slots[ready->head].entry;

        if (!may_take(ready, &pool->slots[slot])) {
            pop(ready);
            continue;
        }
        if (ready->gathering) {
            ready->gathering = false;
            *wake_us_p = now_us;
            return NF_WAIT;
        }
        *slot_p = slot;
        return NF_OK;
    }
    *wake_us_p = INT64_MAX;
    return NF_WAIT;
}

void nf_ready_join(void *st, const struct nf_pool_view *pool, uint32_t slot,
                   int64_t now_us)
{
    struct nf_ready *ready = st;

    (void)now_us;
    ready->gathering = true;
    push(ready, pool, slot);
}

void nf_ready_sent(void *st, const struct nf_pool_view *pool, uint32_t slot,
                   uint64_t units, int64_t now_us)
{
    struct nf_ready *ready = st;

    (void)units;
    (void)now_us;
    if (ready->count > 0 && ready->slots[ready->head].entry == slot)
        pop(ready);
    push(ready, pool, slot); /* behind the others: breadth first */
}

void nf_ready_result(void *st, const struct nf_pool_view *pool, uint32_t slot,
                     const struct nf_chunk_times *t, int64_t now_us)
{
    (void)t;
    (void)now_us;
    push(st, pool, slot);
}

void nf_ready_returned(void *st, const struct nf_pool_view *pool,
                       int64_t now_us)
{
    (void)now_us;
    for (uint32_t slot = 0; slot < pool->nslots; slot++)
        push(st, pool, slot);
}
