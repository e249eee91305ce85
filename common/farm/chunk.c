#include "config.h"
#include "common/farm/chunk.h"
#include "common/base/alloc.h"
#include <assert.h>
#include <string.h>

enum { BLOCK_BITS = 9, BLOCK_CHUNKS = 1 << BLOCK_BITS };

_Static_assert(sizeof(struct nf_chunk) <= 56, "memory per leased unit");

void nf_chunks_init(struct nf_chunks *chunks)
{
    memset(chunks, 0, sizeof(*chunks));
    chunks->unused = NF_CHUNK_NONE;
}

void nf_chunks_fini(struct nf_chunks *chunks)
{
    for (uint32_t i = 0; i < chunks->nblocks; i++)
        nf_free(chunks->blocks[i]);
    nf_free(chunks->blocks);
    nf_chunks_init(chunks);
}

struct nf_chunk *nf_chunks_at(const struct nf_chunks *chunks, uint32_t index)
{
    return &chunks->blocks[index >> BLOCK_BITS][index & (BLOCK_CHUNKS - 1)];
}

static enum nf_status grow_table(struct nf_chunks *chunks)
{
    uint32_t max = chunks->max_blocks ? 2 * chunks->max_blocks : 4;
    struct nf_chunk **blocks;

    if (max > UINT32_MAX >> BLOCK_BITS) /* indices are 32 bits */
        return NF_ERR_NOMEM;
    blocks = nf_realloc(chunks->blocks, max * sizeof(blocks[0]));
    if (!blocks)
        return NF_ERR_NOMEM;
    chunks->blocks = blocks;
    chunks->max_blocks = max;
    return NF_OK;
}

enum nf_status nf_chunks_reserve(struct nf_chunks *chunks)
{
    struct nf_chunk *block;

    if (chunks->unused != NF_CHUNK_NONE)
        return NF_OK;
    if (chunks->nblocks == chunks->max_blocks && grow_table(chunks))
        return NF_ERR_NOMEM;
    block = nf_calloc(BLOCK_CHUNKS, sizeof(*block));
    if (!block)
        return NF_ERR_NOMEM;
    chunks->blocks[chunks->nblocks] = block;
    for (uint32_t i = BLOCK_CHUNKS; i-- > 0;) {
        block[i].next = chunks->unused;
        chunks->unused = (chunks->nblocks << BLOCK_BITS) + i;
    }
    chunks->nblocks++;
    return NF_OK;
}

uint32_t nf_chunks_new(struct nf_chunks *chunks)
{
    uint32_t index = chunks->unused;
    struct nf_chunk *chunk;
    uint32_t generation;

    assert(index != NF_CHUNK_NONE);
    chunk = nf_chunks_at(chunks, index);
    chunks->unused = chunk->next;
    generation = chunk->generation;
    memset(chunk, 0, sizeof(*chunk));
    chunk->generation = generation;
    chunk->twin = NF_CHUNK_NONE;
    chunk->state = NF_CHUNK_RETURNED;
    return index;
}

void nf_chunks_free(struct nf_chunks *chunks, uint32_t index)
{
    struct nf_chunk *chunk = nf_chunks_at(chunks, index);

    chunk->state = NF_CHUNK_FREE;
    chunk->next = chunks->unused;
    chunks->unused = index;
}

uint64_t nf_chunks_lease(struct nf_chunks *chunks, uint32_t index)
{
    struct nf_chunk *chunk = nf_chunks_at(chunks, index);

    chunk->state = NF_CHUNK_LEASED;
    if (++chunk->generation == 0)
        chunk->generation = 1;
    return nf_chunks_lease_id(chunks, index);
}

uint64_t nf_chunks_lease_id(const struct nf_chunks *chunks, uint32_t index)
{
    return (uint64_t)nf_chunks_at(chunks, index)->generation << 32 | index;
}

enum nf_lease_age nf_chunks_find(const struct nf_chunks *chunks, uint64_t lease,
                                 uint32_t *index_p)
{
    uint32_t index = (uint32_t)lease, generation = (uint32_t)(lease >> 32);
    const struct nf_chunk *chunk;

    if (generation == 0 || index >> BLOCK_BITS >= chunks->nblocks)
        return NF_LEASE_UNKNOWN;
    chunk = nf_chunks_at(chunks, index);
    if (generation > chunk->generation)
        return NF_LEASE_UNKNOWN;
    if (generation < chunk->generation || chunk->state != NF_CHUNK_LEASED)
        return NF_LEASE_LATE;
    *index_p = index;
    return NF_LEASE_LIVE;
}

void nf_chunk_list_init(struct nf_chunk_list *list)
{
    list->head = NF_CHUNK_NONE;
    list->tail = NF_CHUNK_NONE;
}

void nf_chunk_list_append(struct nf_chunks *chunks, struct nf_chunk_list *list,
                          uint32_t index)
{
    struct nf_chunk *chunk = nf_chunks_at(chunks, index);

    chunk->prev = list->tail;
    chunk->next = NF_CHUNK_NONE;
    if (list->tail == NF_CHUNK_NONE)
        list->head = index;
    else
        nf_chunks_at(chunks, list->tail)->next = index;
    list->tail = index;
}

void nf_chunk_list_remove(struct nf_chunks *chunks, struct nf_chunk_list *list,
                          uint32_t index)
{
    struct nf_chunk *chunk = nf_chunks_at(chunks, index);

    if (chunk->prev == NF_CHUNK_NONE)
        list->head = chunk->next;
    else
        nf_chunks_at(chunks, chunk->prev)->next = chunk->next;
    if (chunk->next == NF_CHUNK_NONE)
        list->tail = chunk->prev;
    else
        nf_chunks_at(chunks, chunk->next)->prev = chunk->prev;
}
