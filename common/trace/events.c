/* What the lines of a trace mean, and whether they can be true. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/trace/history_impl.h"
#include "common/trace/trace.h"

/* Any number but a lease's: exact in every JSON reader; 285 years. */
static const int64_t NUMBER_MOST = INT64_C(1) << 53;

/* ---- members of a line ---- */

/* A count or a time.  Without @p required, 0 if it is not there. */
static enum nf_status get(struct nf_history_reader *r, const json_t *line,
                          const char *key, bool required, uint64_t *number_p)
{
    const json_t *value = json_object_get(line, key);
    json_int_t number;

    *number_p = 0;
    if (value == NULL && !required)
        return NF_OK;
    if (value == NULL)
        return nf_fail(r->err, NF_ERR_INVAL, "\"%s\" is missing", key);
    if (!json_is_integer(value))
        return nf_fail(r->err, NF_ERR_INVAL, "\"%s\": want an integer", key);
    number = json_integer_value(value);
    if (number < 0)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "\"%s\" is negative: %" JSON_INTEGER_FORMAT, key,
                       number);
    if (number > NUMBER_MOST && strcmp(key, "lease") != 0 &&
        strcmp(key, "seed") != 0)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "\"%s\" is above 2^53: %" JSON_INTEGER_FORMAT, key,
                       number);
    *number_p = (uint64_t)number;
    return NF_OK;
}

/* A row of numbers to get; ends with key NULL. */
struct field {
    const char *key;
    uint64_t *to;
    bool required;
};

static enum nf_status get_all(struct nf_history_reader *r, const json_t *line,
                              const struct field *fields)
{
    enum nf_status status = NF_OK;

    for (; fields->key != NULL && status == NF_OK; fields++)
        status = get(r, line, fields->key, fields->required, fields->to);
    return status;
}

static enum nf_status get_text(struct nf_history_reader *r, const json_t *line,
                               const char *key, char *text, size_t bytes)
{
    const json_t *value = json_object_get(line, key);

    if (!json_is_string(value))
        return nf_fail(r->err, NF_ERR_INVAL, "\"%s\": want a text", key);
    snprintf(text, bytes, "%s", json_string_value(value));
    nf_text_make_utf8(text, strlen(text)); /* if it was cut */
    nf_text_make_line(text);
    return NF_OK;
}

static enum nf_status no_memory(struct nf_history_reader *r)
{
    return nf_fail(r->err, NF_ERR_NOMEM, "out of memory");
}

/* Room for one element more.  @return false if there is none */
static bool room(void **array, uint32_t count, uint32_t *capacity, size_t bytes)
{
    uint32_t more = *capacity == 0 ? 16 : 2 * *capacity;
    void *block;

    if (count < *capacity)
        return true;
    if (more >= NF_HISTORY_NONE / 2)
        return false;
    block = nf_realloc(*array, more * bytes);
    if (block == NULL)
        return false;
    *array = block;
    *capacity = more;
    return true;
}

/* ---- header ---- */

enum nf_status nf_history_header(struct nf_history_reader *r,
                                 const json_t *line)
{
    struct nf_history *h = r->h;
    const json_t *version = json_object_get(line, "nowfarm_trace");
    char clock[16];
    const struct field fields[] = {
        { "units", &h->units, true },
        { "seed", &h->seed, false },
        { NULL, NULL, false },
    };
    enum nf_status status;

    if (!json_is_integer(version))
        return nf_fail(r->err, NF_ERR_INVAL,
                       "not a nowfarm trace: no \"nowfarm_trace\"");
    if (json_integer_value(version) != NF_TRACE_VERSION)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "trace version %" JSON_INTEGER_FORMAT
                       " is not known: this nowfarm reads version %d",
                       json_integer_value(version), NF_TRACE_VERSION);
    status = get_text(r, line, "app", h->app, sizeof(h->app));
    if (status == NF_OK)
        status = get_text(r, line, "policy", h->policy, sizeof(h->policy));
    if (status == NF_OK)
        status =
            get_text(r, line, "transport", h->transport, sizeof(h->transport));
    if (status == NF_OK)
        status = get_text(r, line, "version", h->version, sizeof(h->version));
    if (status == NF_OK && json_object_get(line, "date") != NULL)
        status = get_text(r, line, "date", h->date, sizeof(h->date));
    if (status == NF_OK)
        status = get_text(r, line, "clock", clock, sizeof(clock));
    if (status != NF_OK)
        return status;
    h->virtual_time = strcmp(clock, "virtual") == 0;
    return get_all(r, line, fields);
}

/* ---- slaves ---- */

/* The slave of that number, as it is written in the line. */
static enum nf_status find_slave(struct nf_history_reader *r,
                                 const json_t *line, uint32_t *index_p,
                                 uint64_t *number_p)
{
    enum nf_status status = get(r, line, "slave", true, number_p);

    if (status != NF_OK)
        return status;
    if (*number_p >= NF_HISTORY_SLAVES_MAX)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "slave %" PRIu64 ": want a number below %d", *number_p,
                       NF_HISTORY_SLAVES_MAX);
    *index_p = nf_history_map_find(&r->slaves, *number_p);
    return NF_OK;
}

static enum nf_status known_slave(struct nf_history_reader *r,
                                  const json_t *line, uint32_t *index_p)
{
    uint64_t number;
    enum nf_status status = find_slave(r, line, index_p, &number);

    if (status == NF_OK && *index_p == NF_HISTORY_NONE)
        return nf_fail(r->err, NF_ERR_INVAL, "slave %" PRIu64 " never came",
                       number);
    return status;
}

/* As find_slave, but one that is new is added, with the line's host. */
static enum nf_status meet_slave(struct nf_history_reader *r,
                                 const json_t *line, uint32_t *index_p)
{
    struct nf_history *h = r->h;
    struct nf_history_slave slave = { .stay = NF_HISTORY_NONE,
                                      .live_head = NF_HISTORY_NONE };
    uint64_t number;
    enum nf_status status = find_slave(r, line, index_p, &number);

    if (status != NF_OK || *index_p != NF_HISTORY_NONE)
        return status;
    status = get_text(r, line, "host", slave.host, sizeof(slave.host));
    if (status != NF_OK)
        return status;
    slave.number = (uint32_t)number;
    if (!room((void **)&h->slaves, h->nslaves, &r->slaves_capacity,
              sizeof(slave)) ||
        !nf_history_map_add(&r->slaves, number, h->nslaves))
        return no_memory(r);
    *index_p = h->nslaves;
    h->slaves[h->nslaves++] = slave;
    return NF_OK;
}

static enum nf_status add_slots(struct nf_history_reader *r,
                                struct nf_history_slave *slave, uint64_t slots)
{
    struct nf_history *h = r->h;

    if (slots == 0 || h->nslots + slots > NF_HISTORY_SLAVES_MAX)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "%" PRIu64 " slots: want at least 1, and at most %d of "
                       "all slaves",
                       slots, NF_HISTORY_SLAVES_MAX);
    slave->first_slot = h->nslots;
    slave->slots = (uint32_t)slots;
    for (uint32_t i = 0; i < slots; i++) {
        if (!room((void **)&h->slot_heads, h->nslots, &r->slots_capacity,
                  sizeof(*h->slot_heads)) ||
            !room((void **)&r->slot_tails, h->nslots, &r->tails_capacity,
                  sizeof(*r->slot_tails)))
            return no_memory(r);
        h->slot_heads[h->nslots] = r->slot_tails[h->nslots] = NF_HISTORY_NONE;
        h->nslots++;
    }
    return NF_OK;
}

static enum nf_status on_join(struct nf_history_reader *r, const json_t *line,
                              int64_t now_us)
{
    struct nf_history *h = r->h;
    struct nf_history_slave *slave;
    uint64_t slots;
    uint32_t index;
    enum nf_status status = meet_slave(r, line, &index);

    if (status == NF_OK)
        status = get(r, line, "slots", true, &slots);
    if (status != NF_OK)
        return status;
    slave = &h->slaves[index];
    if (slave->live)
        return nf_fail(r->err, NF_ERR_INVAL, "slave %u is there already",
                       slave->number);
    if (slave->slots == 0)
        status = add_slots(r, slave, slots);
    else if (slave->slots != slots)
        status = nf_fail(r->err, NF_ERR_INVAL,
                         "slave %u had %u slots and comes back with %" PRIu64,
                         slave->number, slave->slots, slots);
    if (status != NF_OK)
        return status;
    if (!room((void **)&h->stays, h->nstays, &r->stays_capacity,
              sizeof(*h->stays)))
        return no_memory(r);
    slave->live = true;
    slave->stay = h->nstays;
    h->stays[h->nstays++] = (struct nf_history_stay){ .slave = index,
                                                      .from_us = now_us,
                                                      .to_us = -1 };
    return NF_OK;
}

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

static void end_chunk(struct nf_history_reader *r, uint32_t index,
                      enum nf_chunk_fate fate, int64_t now_us)
{
    struct nf_history_chunk *chunk = &r->h->chunks[index];

    if (chunk->fate != NF_FATE_OPEN)
        return;
    chunk->fate = fate;
    chunk->ended_us = now_us;
    live_remove(r, index);
}

static enum nf_status on_lost(struct nf_history_reader *r, const json_t *line,
                              int64_t now_us)
{
    struct nf_history_slave *slave;
    struct nf_history_stay *stay;
    uint32_t index;
    enum nf_status status = known_slave(r, line, &index);

    if (status != NF_OK)
        return status;
    slave = &r->h->slaves[index];
    if (!slave->live)
        return nf_fail(r->err, NF_ERR_INVAL, "slave %u is not there",
                       slave->number);
    stay = &r->h->stays[slave->stay];
    stay->to_us = now_us;
    slave->live = false;
    while (slave->live_head != NF_HISTORY_NONE)
        end_chunk(r, slave->live_head, NF_FATE_LOST, now_us);
    return get_text(r, line, "reason", stay->reason, sizeof(stay->reason));
}

/* ---- phases ---- */

static struct nf_history_phase *open_phase(struct nf_history *h, uint32_t slave,
                                           const char *name)
{
    /* from the end: few phases are open at a time */
    for (uint32_t i = h->nphases; i-- > 0;)
        if (h->phases[i].slave == slave && h->phases[i].to_us < 0 &&
            strcmp(h->phases[i].name, name) == 0)
            return &h->phases[i];
    return NULL;
}

static enum nf_status on_phase_begin(struct nf_history_reader *r,
                                     const json_t *line, int64_t now_us)
{
    struct nf_history *h = r->h;
    struct nf_history_phase phase = { .from_us = now_us, .to_us = -1 };
    enum nf_status status = meet_slave(r, line, &phase.slave);

    if (status == NF_OK)
        status = get_text(r, line, "name", phase.name, sizeof(phase.name));
    if (status == NF_OK)
        status = get(r, line, "bytes", false, &phase.bytes);
    if (status != NF_OK)
        return status;
    if (!room((void **)&h->phases, h->nphases, &r->phases_capacity,
              sizeof(phase)))
        return no_memory(r);
    h->phases[h->nphases++] = phase;
    return NF_OK;
}

static enum nf_status on_phase_end(struct nf_history_reader *r,
                                   const json_t *line, int64_t now_us)
{
    struct nf_history_phase *phase;
    char name[NF_HISTORY_NAME_BYTES];
    uint32_t slave;
    enum nf_status status = known_slave(r, line, &slave);

    if (status == NF_OK)
        status = get_text(r, line, "name", name, sizeof(name));
    if (status != NF_OK)
        return status;
    phase = open_phase(r->h, slave, name);
    if (phase == NULL)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "phase \"%s\" of slave %u never began", name,
                       r->h->slaves[slave].number);
    phase->to_us = now_us;
    return NF_OK;
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

static enum nf_status on_sent(struct nf_history_reader *r, const json_t *line,
                              int64_t now_us)
{
    struct nf_history *h = r->h;
    struct nf_history_chunk chunk = { .sent_us = now_us,
                                      .ended_us = -1,
                                      .next_of_slot = NF_HISTORY_NONE };
    uint64_t slot, attempts, master_us;
    const struct field fields[] = {
        { "lease", &chunk.lease, true },      { "slot", &slot, false },
        { "first", &chunk.first, true },      { "count", &chunk.count, true },
        { "bytes", &chunk.bytes_out, false }, { "attempts", &attempts, false },
        { "master_us", &master_us, false },   { NULL, NULL, false },
    };
    uint32_t *tail;
    enum nf_status status = known_slave(r, line, &chunk.slave);

    if (status == NF_OK)
        status = get_all(r, line, fields);
    if (status == NF_OK)
        status = check_chunk(r, &chunk, slot);
    if (status != NF_OK)
        return status;
    chunk.slot = (uint32_t)slot;
    chunk.attempts = attempts < UINT32_MAX ? (uint32_t)attempts : UINT32_MAX;
    chunk.master_us = (int64_t)master_us;
    if (!room((void **)&h->chunks, h->nchunks, &r->chunks_capacity,
              sizeof(chunk)) ||
        !room((void **)&r->live_next, h->nchunks, &r->next_capacity,
              sizeof(*r->live_next)) ||
        !room((void **)&r->live_prev, h->nchunks, &r->prev_capacity,
              sizeof(*r->live_prev)) ||
        !nf_history_map_add(&r->leases, chunk.lease, h->nchunks))
        return no_memory(r);
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
    enum nf_status status = get(r, line, "lease", true, &lease);

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
    const struct field fields[] = {
        { "compute_us", &compute, true },
        { "wait_us", &wait, false },
        { "idle_us", &idle, false },
        { "elapsed_us", &elapsed, true },
        { "mean_ns", &mean_ns, false },
        { "m2_us2", &m2, false },
        { NULL, NULL, false },
    };
    enum nf_status status = get_all(r, line, fields);
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
    const struct field fields[] = {
        { "units", &units, true },
        { "duplicates", &duplicates, false },
        { "bytes", &bytes, false },
        { NULL, NULL, false },
    };
    uint32_t index;
    enum nf_status status = find_lease(r, line, &index);

    if (status == NF_OK)
        status = get_all(r, line, fields);
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
        end_chunk(r, index, NF_FATE_ANSWERED, now_us);
    return status;
}

static enum nf_status on_part(struct nf_history_reader *r, const json_t *line,
                              int64_t now_us)
{
    return on_answer(r, line, now_us, false);
}

static enum nf_status on_result(struct nf_history_reader *r, const json_t *line,
                                int64_t now_us)
{
    return on_answer(r, line, now_us, true);
}

static enum nf_status on_failed(struct nf_history_reader *r, const json_t *line,
                                int64_t now_us)
{
    struct nf_history_chunk *chunk;
    uint64_t unit, last;
    const struct field fields[] = {
        { "unit", &unit, true },
        { "last", &last, false },
        { NULL, NULL, false },
    };
    uint32_t index;
    enum nf_status status = find_lease(r, line, &index);

    if (status == NF_OK)
        status = get_all(r, line, fields);
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
        end_chunk(r, index, NF_FATE_ANSWERED, now_us);
    return NF_OK;
}

static enum nf_status on_cancelled(struct nf_history_reader *r,
                                   const json_t *line, int64_t now_us)
{
    uint32_t index;
    enum nf_status status = find_lease(r, line, &index);

    if (status == NF_OK)
        end_chunk(r, index, NF_FATE_CANCELLED, now_us);
    return status;
}

static enum nf_status on_given_up(struct nf_history_reader *r,
                                  const json_t *line, int64_t now_us)
{
    struct nf_history *h = r->h;
    struct nf_history_given_up given_up = { .at_us = now_us };
    enum nf_status status = get(r, line, "unit", true, &given_up.unit);

    if (status != NF_OK)
        return status;
    if (given_up.unit >= h->units)
        return nf_fail(r->err, NF_ERR_INVAL, "unit %" PRIu64 " of %" PRIu64,
                       given_up.unit, h->units);
    if (!room((void **)&h->given_up, h->ngiven_up, &r->given_up_capacity,
              sizeof(given_up)))
        return no_memory(r);
    h->given_up[h->ngiven_up++] = given_up;
    return NF_OK;
}

/* ---- begin, end, and which event it is ---- */

static enum nf_status on_begin(struct nf_history_reader *r, const json_t *line,
                               int64_t now_us)
{
    uint64_t slots;

    (void)now_us;
    return get(r, line, "slots", true, &slots);
}

static enum nf_status on_end(struct nf_history_reader *r, const json_t *line,
                             int64_t now_us)
{
    struct nf_history_end *end = &r->h->end;
    uint64_t startup, makespan, compute, bound;
    const struct field fields[] = {
        { "done", &end->done, true },
        { "failed", &end->failed, true },
        { "slots", &end->slots, true },
        { "startup_us", &startup, true },
        { "makespan_us", &makespan, true },
        { "compute_us", &compute, true },
        { "lower_bound_us", &bound, true },
        { "messages", &end->messages, true },
        { "bytes_out", &end->bytes_out, true },
        { "bytes_in", &end->bytes_in, true },
        { "retries", &end->retries, true },
        { "duplicates", &end->duplicates, true },
        { "lost_slaves", &end->lost_slaves, true },
        { NULL, NULL, false },
    };
    enum nf_status status = get_all(r, line, fields);

    (void)now_us;
    if (status != NF_OK)
        return status;
    end->startup_us = (int64_t)startup;
    end->makespan_us = (int64_t)makespan;
    end->compute_us = (int64_t)compute;
    end->lower_bound_us = (int64_t)bound;
    r->h->complete = true;
    return get_text(r, line, "status", end->status, sizeof(end->status));
}

enum nf_status nf_history_event(struct nf_history_reader *r, const json_t *line)
{
    static const struct {
        const char *name;
        enum nf_status (*take)(struct nf_history_reader *r, const json_t *line,
                               int64_t now_us);
    } events[] = {
        { "sent", on_sent },
        { "result", on_result },
        { "part", on_part },
        { "failed", on_failed },
        { "given_up", on_given_up },
        { "cancelled", on_cancelled },
        { "join", on_join },
        { "lost", on_lost },
        { "phase_begin", on_phase_begin },
        { "phase_end", on_phase_end },
        { "begin", on_begin },
        { "end", on_end },
    };
    const char *name = json_string_value(json_object_get(line, "ev"));
    uint64_t now;
    enum nf_status status = get(r, line, "t", true, &now);

    if (status != NF_OK)
        return status;
    if ((int64_t)now < r->h->end_us)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "time goes backwards: %" PRIu64 " us after %" PRId64,
                       now, r->h->end_us);
    if (name == NULL)
        return nf_fail(r->err, NF_ERR_INVAL, "\"ev\": want a text");
    r->h->end_us = (int64_t)now;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (strcmp(events[i].name, name) == 0)
            return events[i].take(r, line, (int64_t)now);
    return nf_fail(r->err, NF_ERR_INVAL, "event \"%.40s\" is not known", name);
}
