#include "config.h"
#include "common/farm/pool.h"
#include "common/base/alloc.h"
#include <assert.h>
#include <string.h>

enum { UNITS_PER_WORD = 32 };

enum nf_status nf_pool_init(struct nf_pool *pool, uint64_t units)
{
    uint64_t words = units / UNITS_PER_WORD + 1;

    memset(pool, 0, sizeof(*pool));
    pool->units = units;
    pool->counts[NF_UNIT_WAITING] = units;
    nf_chunk_list_init(&pool->returned);
    nf_chunk_list_init(&pool->alone);
    nf_chunks_init(&pool->chunks);
    if (words > SIZE_MAX / sizeof(pool->states[0]))
        return NF_ERR_NOMEM;
    pool->states = nf_calloc((size_t)words, sizeof(pool->states[0]));
    return pool->states ? NF_OK : NF_ERR_NOMEM;
}

void nf_pool_fini(struct nf_pool *pool)
{
    nf_chunks_fini(&pool->chunks);
    nf_free(pool->holders);
    pool->holders = NULL;
    nf_free(pool->states);
    pool->states = NULL;
}

static unsigned shift_of(uint64_t unit)
{
    return 2 * (unsigned)(unit % UNITS_PER_WORD);
}

enum nf_unit_state nf_pool_state(const struct nf_pool *pool, uint64_t unit)
{
    return pool->states[unit / UNITS_PER_WORD] >> shift_of(unit) & 3;
}

enum nf_unit_state nf_pool_move(struct nf_pool *pool, uint64_t unit,
                                enum nf_unit_state state)
{
    uint64_t *word = &pool->states[unit / UNITS_PER_WORD];
    enum nf_unit_state old = *word >> shift_of(unit) & 3;

    *word ^= (uint64_t)(old ^ state) << shift_of(unit);
    pool->counts[old]--;
    pool->counts[state]++;
    return old;
}

uint64_t nf_pool_return(struct nf_pool *pool, uint32_t index)
{
    struct nf_chunk *chunk = nf_chunks_at(&pool->chunks, index);
    uint64_t returned = 0;

    for (uint64_t i = 0; i < chunk->count; i++) {
        if (nf_pool_state(pool, chunk->first + i) != NF_UNIT_LEASED)
            continue;
        nf_pool_move(pool, chunk->first + i,
                     chunk->alone ? NF_UNIT_ALONE : NF_UNIT_WAITING);
        returned++;
    }
    if (returned == 0) {
        nf_chunks_free(&pool->chunks, index);
        return 0;
    }
    chunk->state = NF_CHUNK_RETURNED;
    nf_chunk_list_append(&pool->chunks,
                         chunk->alone ? &pool->alone : &pool->returned, index);
    return returned;
}

uint32_t nf_pool_take_fresh(struct nf_pool *pool, uint64_t count)
{
    uint32_t index = nf_chunks_new(&pool->chunks);
    struct nf_chunk *chunk = nf_chunks_at(&pool->chunks, index);

    assert(count >= 1 && count <= nf_pool_fresh(pool));
    chunk->first = pool->fresh_first;
    chunk->count = count;
    for (uint64_t i = 0; i < count; i++)
        nf_pool_move(pool, chunk->first + i, NF_UNIT_LEASED);
    pool->fresh_first += count;
    return index;
}

/* Drop the units at the front of the queue that do not wait in it any more.
 * @return the first range, or NULL */
static struct nf_chunk *skip_taken(struct nf_pool *pool,
                                   struct nf_chunk_list *list,
                                   enum nf_unit_state state)
{
    while (list->head != NF_CHUNK_NONE) {
        uint32_t index = list->head;
        struct nf_chunk *chunk = nf_chunks_at(&pool->chunks, index);

        while (chunk->count > 0 && nf_pool_state(pool, chunk->first) != state) {
            chunk->first++;
            chunk->count--;
        }
        if (chunk->count > 0)
            return chunk;
        nf_chunk_list_remove(&pool->chunks, list, index);
        nf_chunks_free(&pool->chunks, index);
    }
    return NULL;
}

static void lease_unit(struct nf_pool *pool, uint64_t unit)
{
    nf_pool_move(pool, unit, NF_UNIT_LEASED);
    if (pool->holders == NULL || pool->holders[unit] != NF_HOLDER_LOST)
        return;
    pool->holders[unit] = NF_HOLDER_NONE;
    pool->lost--;
}

/* Units that were lost with their holders, into an empty record. */
static void take_lost(struct nf_pool *pool, struct nf_chunk *chunk,
                      uint64_t count)
{
    uint64_t unit = pool->lost_first;

    assert(pool->lost > 0);
    while (pool->holders[unit] != NF_HOLDER_LOST)
        unit++;
    chunk->first = unit;
    while (chunk->count < count && unit < pool->units &&
           pool->holders[unit] == NF_HOLDER_LOST) {
        lease_unit(pool, unit++);
        chunk->count++;
    }
    pool->lost_first = unit;
}

uint32_t nf_pool_take_returned(struct nf_pool *pool, bool alone, uint64_t count)
{
    struct nf_chunk_list *list = alone ? &pool->alone : &pool->returned;
    enum nf_unit_state state = alone ? NF_UNIT_ALONE : NF_UNIT_WAITING;
    struct nf_chunk *range = skip_taken(pool, list, state), *chunk;
    uint32_t index = nf_chunks_new(&pool->chunks), range_index = list->head;

    chunk = nf_chunks_at(&pool->chunks, index);
    if (range == NULL) {
        take_lost(pool, chunk, count);
        return index;
    }
    chunk->first = range->first;
    chunk->attempts = range->attempts;
    chunk->silences = range->silences;
    chunk->single = range->single;
    chunk->alone = range->alone;
    if (range->single)
        count = 1;
    while (chunk->count < count && range->count > 0 &&
           nf_pool_state(pool, range->first) == state) {
        lease_unit(pool, range->first);
        chunk->count++;
        range->first++;
        range->count--;
    }
    if (range->count == 0) {
        nf_chunk_list_remove(&pool->chunks, list, range_index);
        nf_chunks_free(&pool->chunks, range_index);
    }
    return index;
}

enum nf_status nf_pool_hold(struct nf_pool *pool)
{
    if (pool->units > SIZE_MAX / sizeof(pool->holders[0]) - 1)
        return NF_ERR_NOMEM;
    pool->holders = nf_malloc(((size_t)pool->units + 1) * sizeof(uint32_t));
    if (pool->holders == NULL)
        return NF_ERR_NOMEM;
    for (uint64_t unit = 0; unit < pool->units; unit++)
        pool->holders[unit] = NF_HOLDER_NONE;
    pool->lost_first = pool->units;
    return NF_OK;
}

void nf_pool_held_by(struct nf_pool *pool, uint64_t unit, uint32_t holder)
{
    if (pool->holders[unit] == NF_HOLDER_LOST)
        pool->lost--; /* it came from a lease that its loss left live */
    pool->holders[unit] = holder;
    pool->held++;
}

uint64_t nf_pool_lose_holder(struct nf_pool *pool, uint32_t holder)
{
    uint64_t count = 0;

    for (uint64_t unit = 0; unit < pool->units && pool->held > 0; unit++) {
        if (pool->holders[unit] != holder)
            continue;
        pool->holders[unit] = NF_HOLDER_LOST;
        pool->held--;
        nf_pool_move(pool, unit, NF_UNIT_WAITING);
        if (count++ == 0 && unit < pool->lost_first)
            pool->lost_first = unit;
    }
    pool->lost += count;
    return count;
}

void nf_pool_release_held(struct nf_pool *pool)
{
    for (uint64_t unit = 0; unit < pool->units && pool->held > 0; unit++) {
        if (pool->holders[unit] >= NF_HOLDER_LOST)
            continue;
        pool->holders[unit] = NF_HOLDER_NONE;
        pool->held--;
    }
}

enum nf_status nf_pool_return_fresh(struct nf_pool *pool)
{
    struct nf_chunk *range;
    uint32_t index;

    if (nf_chunks_reserve(&pool->chunks))
        return NF_ERR_NOMEM;
    index = nf_chunks_new(&pool->chunks);
    range = nf_chunks_at(&pool->chunks, index);
    range->first = pool->fresh_first;
    range->count = nf_pool_fresh(pool);
    pool->fresh_first = pool->units;
    nf_chunk_list_append(&pool->chunks, &pool->returned, index);
    return NF_OK;
}
