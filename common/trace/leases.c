/* The lines of a trace that are about leases. */
#include "config.h"
#include <inttypes.h>
#include "common/base/error.h"
#include "common/trace/history_impl.h"

/* ---- the unanswered leases of a slave, a doubly linked list ---- */

static void live_add(struct nf_history_reader *r, uint32_t chunk)
{
    struct nf_history_slave *slave = &r->h->slaves[r->h->chunks[chunk].slave];

    r->live_prev[chunk] = NF_HISTORY_NONE;
    r->live_next[chunk] = slave->live_head;
    if (slave->live_head != NF_HISTORY_NONE)
        r->live_prev[slave->live_head] = chunk;
    slave->live_head = chunk;
}

static void live_remove(struct nf_history_reader *r, uint32_t chunk)
{
    struct nf_history_slave *slave = &r->h->slaves[r->h->chunks[chunk].slave];
    uint32_t next = r->live_next[chunk], prev = r->live_prev[chunk];

    if (prev == NF_HISTORY_NONE)
        slave->live_head = next;
    else
        r->live_next[prev] = next;
    if (next != NF_HISTORY_NONE)
        r->live_prev[next] = prev;
}

void nf_history_end_chunk(struct nf_history_reader *r, uint32_t index,
                          enum nf_chunk_fate fate, int64_t now_us)
{
    struct nf_history_chunk *chunk = &r->h->chunks[index];

    if (chunk->fate != NF_FATE_OPEN)
        return;
    chunk->fate = fate;
    chunk->ended_us = now_us;
    live_remove(r, index);
}

/* ---- leases ---- */

/* A chunk whose numbers are read: is it possible? */
static enum nf_status check_chunk(struct nf_history_reader *r,
                                  const struct nf_history_chunk *chunk,
                                  uint64_t slot)
{
    const struct nf_history_slave *slave = &r->h->slaves[chunk->slave];

    if (nf_history_map_find(&r->leases, chunk->lease) != NF_HISTORY_NONE)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "lease %" PRIu64 " was sent before", chunk->lease);
    if (!slave->live)
        return nf_fail(r->err, NF_ERR_INVAL, "slave %u is not there",
                       slave->number);
    if (slot >= slave->slots)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "slot %" PRIu64 ": slave %u has %u", slot, slave->number,
                       slave->slots);
    if (chunk->count == 0 || chunk->first >= r->h->units ||
        chunk->count > r->h->units - chunk->first)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "units %" PRIu64 " + %" PRIu64 " of %" PRIu64,
                       chunk->first, chunk->count, r->h->units);
    return NF_OK;
}

enum nf_status nf_history_on_sent(struct nf_history_reader *r,
                                  const json_t *line, int64_t now_us)
{
    struct nf_history *h = r->h;
    struct nf_history_chunk chunk = { .sent_us = now_us,
                                      .ended_us = -1,
                                      .next_of_slot = NF_HISTORY_NONE };
    uint64_t slot, attempts, master_us;
    const struct nf_history_field fields[] = {
        { "lease", &chunk.lease, true },      { "slot", &slot, false },
        { "first", &chunk.first, true },      { "count", &chunk.count, true },
        { "bytes", &chunk.bytes_out, false }, { "attempts", &attempts, false },
        { "master_us", &master_us, false },   { NULL, NULL, false },
    };
    uint32_t *tail;
    enum nf_status status = nf_history_known_slave(r, line, &chunk.slave);

    if (status == NF_OK)
        status = nf_history_get_all(r, line, fields);
    if (status == NF_OK)
        status = check_chunk(r, &chunk, slot);
    if (status != NF_OK)
        return status;
    chunk.slot = (uint32_t)slot;
    chunk.attempts = attempts < UINT32_MAX ? (uint32_t)attempts : UINT32_MAX;
    chunk.master_us = (int64_t)master_us;
    if (!nf_history_room((void **)&h->chunks, h->nchunks, &r->chunks_capacity,
                         sizeof(chunk)) ||
        !nf_history_room((void **)&r->live_next, h->nchunks, &r->next_capacity,
                         sizeof(*r->live_next)) ||
        !nf_history_room((void **)&r->live_prev, h->nchunks, &r->prev_capacity,
                         sizeof(*r->live_prev)) ||
        !nf_history_map_add(&r->leases, chunk.lease, h->nchunks))
        return nf_history_no_memory(r);
    tail = &r->slot_tails[h->slaves[chunk.slave].first_slot + chunk.slot];
    if (*tail == NF_HISTORY_NONE)
        h->slot_heads[h->slaves[chunk.slave].first_slot + chunk.slot] =
            h->nchunks;
    else
        h->chunks[*tail].next_of_slot = h->nchunks;
    *tail = h->nchunks;
    h->chunks[h->nchunks++] = chunk;
    live_add(r, h->nchunks - 1);
    return NF_OK;
}

/* The lease of a line that answers it. */
static enum nf_status find_lease(struct nf_history_reader *r,
                                 const json_t *line, uint32_t *index_p)
{
    uint64_t lease;
    enum nf_status status = nf_history_get(r, line, "lease", true, &lease);

    if (status != NF_OK)
        return status;
    *index_p = nf_history_map_find(&r->leases, lease);
    if (*index_p == NF_HISTORY_NONE)
        return nf_fail(r->err, NF_ERR_INVAL, "lease %" PRIu64 " was never sent",
                       lease);
    if (r->h->chunks[*index_p].fate == NF_FATE_ANSWERED ||
        r->h->chunks[*index_p].measured)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "lease %" PRIu64 " was answered before", lease);
    return NF_OK;
}

static int64_t at_most(uint64_t value, int64_t limit)
{
    return value < (uint64_t)limit ? (int64_t)value : limit;
}

/* The times of a chunk are those of several clocks: cut what can't be. */
static enum nf_status take_times(struct nf_history_reader *r,
                                 const json_t *line,
                                 struct nf_history_chunk *chunk, int64_t now_us)
{
    uint64_t compute, wait, idle, elapsed, mean_ns, m2;
    const struct nf_history_field fields[] = {
        { "compute_us", &compute, true },
        { "wait_us", &wait, false },
        { "idle_us", &idle, false },
        { "elapsed_us", &elapsed, true },
        { "mean_ns", &mean_ns, false },
        { "m2_us2", &m2, false },
        { NULL, NULL, false },
    };
    enum nf_status status = nf_history_get_all(r, line, fields);
    int64_t most_us = now_us - chunk->sent_us;

    if (status != NF_OK)
        return status;
    chunk->measured = true;
    chunk->elapsed_us =
        most_us; /* "elapsed_us" may count from the event before */
    chunk->compute_us = at_most(compute, most_us);
    chunk->wait_us = at_most(wait, most_us - chunk->compute_us);
    chunk->idle_us = at_most(idle, now_us);
    chunk->mean_unit_us = (double)mean_ns * 1e-3;
    chunk->m2_unit_us2 = (double)m2;
    return NF_OK;
}

static enum nf_status on_answer(struct nf_history_reader *r, const json_t *line,
                                int64_t now_us, bool last)
{
    struct nf_history_chunk *chunk;
    uint64_t units, duplicates, bytes;
    const struct nf_history_field fields[] = {
        { "units", &units, true },
        { "duplicates", &duplicates, false },
        { "bytes", &bytes, false },
        { NULL, NULL, false },
    };
    uint32_t index;
    enum nf_status status = find_lease(r, line, &index);

    if (status == NF_OK)
        status = nf_history_get_all(r, line, fields);
    if (status != NF_OK)
        return status;
    chunk = &r->h->chunks[index];
    if (units > chunk->count - chunk->answered - chunk->failed ||
        duplicates > units)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "%" PRIu64 " units (%" PRIu64 " duplicates) answered, "
                       "lease %" PRIu64 " has %" PRIu64 " left",
                       units, duplicates, chunk->lease,
                       chunk->count - chunk->answered - chunk->failed);
    chunk->answered += units;
    chunk->duplicates += duplicates;
    chunk->bytes_in += bytes;
    if (!last)
        return NF_OK;
    status = take_times(r, line, chunk, now_us);
    if (status == NF_OK)
        nf_history_end_chunk(r, index, NF_FATE_ANSWERED, now_us);
    return status;
}

enum nf_status nf_history_on_part(struct nf_history_reader *r,
                                  const json_t *line, int64_t now_us)
{
    return on_answer(r, line, now_us, false);
}

enum nf_status nf_history_on_result(struct nf_history_reader *r,
                                    const json_t *line, int64_t now_us)
{
    return on_answer(r, line, now_us, true);
}

enum nf_status nf_history_on_failed(struct nf_history_reader *r,
                                    const json_t *line, int64_t now_us)
{
    struct nf_history_chunk *chunk;
    uint64_t unit, last;
    const struct nf_history_field fields[] = {
        { "unit", &unit, true },
        { "last", &last, false },
        { NULL, NULL, false },
    };
    uint32_t index;
    enum nf_status status = find_lease(r, line, &index);

    if (status == NF_OK)
        status = nf_history_get_all(r, line, fields);
    if (status != NF_OK)
        return status;
    chunk = &r->h->chunks[index];
    if (unit < chunk->first || unit - chunk->first >= chunk->count ||
        chunk->answered + chunk->failed >= chunk->count)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "unit %" PRIu64 " is not one that lease %" PRIu64
                       " has left",
                       unit, chunk->lease);
    chunk->failed++;
    if (last != 0)
        nf_history_end_chunk(r, index, NF_FATE_ANSWERED, now_us);
    return NF_OK;
}

enum nf_status nf_history_on_cancelled(struct nf_history_reader *r,
                                       const json_t *line, int64_t now_us)
{
    uint32_t index;
    enum nf_status status = find_lease(r, line, &index);

    if (status == NF_OK)
        nf_history_end_chunk(r, index, NF_FATE_CANCELLED, now_us);
    return status;
}
