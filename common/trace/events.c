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

/* ---- header ---- */

enum nf_status nf_history_header(struct nf_history_reader *r,
                                 const json_t *line)
{
    struct nf_history *h = r->h;
    const json_t *version = json_object_get(line, "nowfarm_trace");
    char clock[16];
    const struct nf_history_field fields[] = {
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
    status = nf_history_get_text(r, line, "app", h->app, sizeof(h->app));
    if (status == NF_OK)
        status = nf_history_get_text(r, line, "policy", h->policy,
                                     sizeof(h->policy));
    if (status == NF_OK)
        status = nf_history_get_text(r, line, "transport", h->transport,
                                     sizeof(h->transport));
    if (status == NF_OK)
        status = nf_history_get_text(r, line, "version", h->version,
                                     sizeof(h->version));
    if (status == NF_OK && json_object_get(line, "emulate") != NULL)
        status = nf_history_get_text(r, line, "emulate", h->emulate,
                                     sizeof(h->emulate));
    if (status == NF_OK && json_object_get(line, "date") != NULL)
        status = nf_history_get_text(r, line, "date", h->date, sizeof(h->date));
    if (status == NF_OK)
        status = nf_history_get_text(r, line, "clock", clock, sizeof(clock));
    if (status != NF_OK)
        return status;
    h->virtual_time = strcmp(clock, "virtual") == 0;
    return nf_history_get_all(r, line, fields);
}

/* ---- slaves ---- */

/* The slave of that number, as it is written in the line. */
static enum nf_status find_slave(struct nf_history_reader *r,
                                 const json_t *line, uint32_t *index_p,
                                 uint64_t *number_p)
{
    enum nf_status status = nf_history_get(r, line, "slave", true, number_p);

    if (status != NF_OK)
        return status;
    if (*number_p >= NF_HISTORY_SLAVES_MAX)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "slave %" PRIu64 ": want a number below %d", *number_p,
                       NF_HISTORY_SLAVES_MAX);
    *index_p = nf_history_map_find(&r->slaves, *number_p);
    return NF_OK;
}

enum nf_status nf_history_known_slave(struct nf_history_reader *r,
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
    status =
        nf_history_get_text(r, line, "host", slave.host, sizeof(slave.host));
    if (status != NF_OK)
        return status;
    slave.number = (uint32_t)number;
    if (!nf_history_room((void **)&h->slaves, h->nslaves, &r->slaves_capacity,
                         sizeof(slave)) ||
        !nf_history_map_add(&r->slaves, number, h->nslaves))
        return nf_history_no_memory(r);
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
        if (!nf_history_room((void **)&h->slot_heads, h->nslots,
                             &r->slots_capacity, sizeof(*h->slot_heads)) ||
            !nf_history_room((void **)&r->slot_tails, h->nslots,
                             &r->tails_capacity, sizeof(*r->slot_tails)))
            return nf_history_no_memory(r);
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
        status = nf_history_get(r, line, "slots", true, &slots);
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
    if (!nf_history_room((void **)&h->stays, h->nstays, &r->stays_capacity,
                         sizeof(*h->stays)))
        return nf_history_no_memory(r);
    slave->live = true;
    slave->stay = h->nstays;
    h->stays[h->nstays++] = (struct nf_history_stay){ .slave = index,
                                                      .from_us = now_us,
                                                      .to_us = -1 };
    return NF_OK;
}

static enum nf_status on_lost(struct nf_history_reader *r, const json_t *line,
                              int64_t now_us)
{
    struct nf_history_slave *slave;
    struct nf_history_stay *stay;
    uint32_t index;
    enum nf_status status = nf_history_known_slave(r, line, &index);

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
        nf_history_end_chunk(r, slave->live_head, NF_FATE_LOST, now_us);
    return nf_history_get_text(r, line, "reason", stay->reason,
                               sizeof(stay->reason));
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
        status = nf_history_get_text(r, line, "name", phase.name,
                                     sizeof(phase.name));
    if (status == NF_OK)
        status = nf_history_get(r, line, "bytes", false, &phase.bytes);
    if (status != NF_OK)
        return status;
    if (!nf_history_room((void **)&h->phases, h->nphases, &r->phases_capacity,
                         sizeof(phase)))
        return nf_history_no_memory(r);
    h->phases[h->nphases++] = phase;
    return NF_OK;
}

static enum nf_status on_phase_end(struct nf_history_reader *r,
                                   const json_t *line, int64_t now_us)
{
    struct nf_history_phase *phase;
    char name[NF_HISTORY_NAME_BYTES];
    uint32_t slave;
    enum nf_status status = nf_history_known_slave(r, line, &slave);

    if (status == NF_OK)
        status = nf_history_get_text(r, line, "name", name, sizeof(name));
    if (status != NF_OK)
        return status;
    phase = open_phase(r->h, slave, name);
    if (phase == NULL)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "phase \"%s\" of slave %u never began", name,
                       r->h->slaves[slave].number);
    phase->to_us = now_us;
    return json_object_get(line, "algorithm") == NULL
               ? NF_OK
               : nf_history_get_text(r, line, "algorithm", phase->algorithm,
                                     sizeof(phase->algorithm));
}

static enum nf_status on_given_up(struct nf_history_reader *r,
                                  const json_t *line, int64_t now_us)
{
    struct nf_history *h = r->h;
    struct nf_history_given_up given_up = { .at_us = now_us };
    enum nf_status status =
        nf_history_get(r, line, "unit", true, &given_up.unit);

    if (status != NF_OK)
        return status;
    if (given_up.unit >= h->units)
        return nf_fail(r->err, NF_ERR_INVAL, "unit %" PRIu64 " of %" PRIu64,
                       given_up.unit, h->units);
    if (!nf_history_room((void **)&h->given_up, h->ngiven_up,
                         &r->given_up_capacity, sizeof(given_up)))
        return nf_history_no_memory(r);
    h->given_up[h->ngiven_up++] = given_up;
    return NF_OK;
}

/* ---- begin, end, and which event it is ---- */

static enum nf_status on_begin(struct nf_history_reader *r, const json_t *line,
                               int64_t now_us)
{
    uint64_t slots;

    (void)now_us;
    return nf_history_get(r, line, "slots", true, &slots);
}

static enum nf_status on_end(struct nf_history_reader *r, const json_t *line,
                             int64_t now_us)
{
    struct nf_history_end *end = &r->h->end;
    uint64_t startup, makespan, compute, bound;
    const struct nf_history_field fields[] = {
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
    enum nf_status status = nf_history_get_all(r, line, fields);

    (void)now_us;
    if (status != NF_OK)
        return status;
    end->startup_us = (int64_t)startup;
    end->makespan_us = (int64_t)makespan;
    end->compute_us = (int64_t)compute;
    end->lower_bound_us = (int64_t)bound;
    r->h->complete = true;
    return nf_history_get_text(r, line, "status", end->status,
                               sizeof(end->status));
}

enum nf_status nf_history_event(struct nf_history_reader *r, const json_t *line)
{
    static const struct {
        const char *name;
        enum nf_status (*take)(struct nf_history_reader *r, const json_t *line,
                               int64_t now_us);
    } events[] = {
        { "sent", nf_history_on_sent },
        { "result", nf_history_on_result },
        { "part", nf_history_on_part },
        { "failed", nf_history_on_failed },
        { "given_up", on_given_up },
        { "cancelled", nf_history_on_cancelled },
        { "join", on_join },
        { "lost", on_lost },
        { "phase_begin", on_phase_begin },
        { "phase_end", on_phase_end },
        { "begin", on_begin },
        { "end", on_end },
    };
    const char *name = json_string_value(json_object_get(line, "ev"));
    uint64_t now;
    enum nf_status status = nf_history_get(r, line, "t", true, &now);

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
