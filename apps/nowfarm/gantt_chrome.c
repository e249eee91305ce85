/* Chrome's trace event format ("Trace Event Format", the JSON object form):
 * processes are slaves, threads their slots; process 1 is the master.  Times
 * are microseconds.
 *
 * Perfetto thinks of a kernel's numbers: 0 is nobody, and thread 0 of a process
 * is the thread with the number of the process.  So threads are numbered on
 * from the last process, over all slaves: no number is used for two things. */
#include "config.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include "apps/nowfarm/gantt.h"
#include "common/base/alloc.h"

enum { MASTER_PID = 1 };

struct chrome {
    FILE *to;
    const struct timeline *t;
    bool any;
    uint32_t pid, tid; /* of the row */
};

static uint32_t pid_of(uint32_t slave)
{
    return MASTER_PID + 1 + slave;
}

static uint32_t tid_of(const struct timeline *t, uint32_t row)
{
    return pid_of(t->h->nslaves) + row;
}

static void begin_event(struct chrome *c)
{
    fputs(c->any ? ",\n" : "\n", c->to);
    c->any = true;
}

/* As a JSON string, quotes included. */
static void put_text(FILE *to, const char *text)
{
    json_t *string = json_string(text);
    char *quoted = json_dumps(string, JSON_ENCODE_ANY);

    fputs(quoted != NULL ? quoted : "\"\"", to);
    free(quoted);
    json_decref(string);
}

/* ---- names ---- */

static void name_process(struct chrome *c, uint32_t pid, const char *name)
{
    begin_event(c);
    fprintf(c->to,
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,"
            "\"tid\":%u,\"args\":{\"name\":",
            pid, pid);
    put_text(c->to, name);
    fputs("}}", c->to);
    begin_event(c);
    fprintf(c->to,
            "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,"
            "\"tid\":%u,\"args\":{\"sort_index\":%u}}",
            pid, pid, pid);
}

static void name_thread(struct chrome *c, uint32_t pid, uint32_t tid,
                        const char *name)
{
    begin_event(c);
    fprintf(c->to,
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,"
            "\"tid\":%u,\"args\":{\"name\":",
            pid, tid);
    put_text(c->to, name);
    fputs("}}", c->to);
}

static void name_all(struct chrome *c)
{
    const struct nf_history *h = c->t->h;
    char name[160];

    name_process(c, MASTER_PID, "master");
    name_thread(c, MASTER_PID, MASTER_PID, "sends");
    for (uint32_t i = 0; i < c->t->nrows; i++) {
        const struct row *row = &c->t->rows[i];
        const struct nf_history_slave *slave = &h->slaves[row->slave];

        if (row->slot == 0) {
            snprintf(name, sizeof(name), "%s: slave %u", slave->host,
                     slave->number);
            name_process(c, pid_of(row->slave), name);
        }
        snprintf(name, sizeof(name), "slot %u", row->slot);
        name_thread(c, pid_of(row->slave), tid_of(c->t, i), name);
    }
}

/* ---- what happened ---- */

static void put_chunk_args(FILE *to, const struct nf_history_chunk *chunk)
{
    fprintf(to,
            ",\"args\":{\"lease\":%" PRIu64 ",\"first\":%" PRIu64
            ",\"count\":%" PRIu64 ",\"attempts\":%u,\"bytes_out\":%" PRIu64
            ",\"bytes_in\":%" PRIu64,
            chunk->lease, chunk->first, chunk->count, chunk->attempts,
            chunk->bytes_out, chunk->bytes_in);
    if (chunk->measured)
        fprintf(to,
                ",\"compute_us\":%" PRId64 ",\"wait_us\":%" PRId64
                ",\"elapsed_us\":%" PRId64,
                chunk->compute_us, chunk->wait_us, chunk->elapsed_us);
    fputc('}', to);
}

static void on_span(void *user, const struct span *span)
{
    struct chrome *c = user;
    const struct nf_history_chunk *chunk = span->chunk;

    if (span->kind == SPAN_IDLE) /* nothing is what nothing looks like */
        return;
    begin_event(c);
    fputs("{\"ph\":\"X\",\"name\":\"", c->to);
    if (span->kind == SPAN_COMPUTE && chunk->count == 1)
        fprintf(c->to, "unit %" PRIu64, chunk->first);
    else if (span->kind == SPAN_COMPUTE)
        fprintf(c->to, "units %" PRIu64 "-%" PRIu64, chunk->first,
                chunk->first + chunk->count - 1);
    else
        fputs(span_names[span->kind], c->to);
    fprintf(c->to,
            "\",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRId64
            ",\"dur\":%" PRId64,
            span_names[span->kind], c->pid, c->tid, span->from_us,
            span->to_us - span->from_us);
    if (chunk != NULL)
        put_chunk_args(c->to, chunk);
    fputc('}', c->to);
    if (span->kind != SPAN_COMPUTE)
        return;
    begin_event(c); /* the arrow's head: it binds to the slice around it */
    fprintf(c->to,
            "{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"lease\","
            "\"cat\":\"lease\",\"id\":%" PRIu64
            ",\"pid\":%u,\"tid\":%u,\"ts\":%" PRId64 "}",
            chunk->lease, c->pid, c->tid, span->from_us);
}

static void put_sends(struct chrome *c)
{
    const struct nf_history *h = c->t->h;
    int64_t free_us = 0;

    for (uint32_t i = 0; i < h->nchunks; i++) {
        const struct nf_history_chunk *chunk = &h->chunks[i];
        int64_t from_us = chunk->sent_us > free_us ? chunk->sent_us : free_us;

        free_us = from_us + chunk->master_us;
        begin_event(c);
        fprintf(c->to,
                "{\"ph\":\"X\",\"name\":\"send\",\"cat\":\"master\","
                "\"pid\":%d,\"tid\":%d,\"ts\":%" PRId64 ",\"dur\":%" PRId64,
                MASTER_PID, MASTER_PID, from_us, chunk->master_us);
        put_chunk_args(c->to, chunk);
        fputc('}', c->to);
        if (!chunk->measured || chunk->fate != NF_FATE_ANSWERED)
            continue;
        begin_event(c);
        fprintf(c->to,
                "{\"ph\":\"s\",\"name\":\"lease\",\"cat\":\"lease\","
                "\"id\":%" PRIu64 ",\"pid\":%d,\"tid\":%d,\"ts\":%" PRId64 "}",
                chunk->lease, MASTER_PID, MASTER_PID, from_us);
    }
}

static void put_losses(struct chrome *c)
{
    const struct nf_history *h = c->t->h;

    for (uint32_t i = 0; i < h->nstays; i++) {
        const struct nf_history_stay *stay = &h->stays[i];

        if (stay->to_us < 0)
            continue;
        begin_event(c);
        fprintf(c->to,
                "{\"ph\":\"i\",\"s\":\"p\",\"name\":\"lost\","
                "\"cat\":\"loss\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRId64
                ",\"args\":{\"reason\":",
                pid_of(stay->slave), pid_of(stay->slave), stay->to_us);
        put_text(c->to, stay->reason);
        fputs("}}", c->to);
    }
}

static enum nf_status put_outstanding(struct chrome *c)
{
    struct change *changes;
    size_t n;
    int64_t units = 0;
    enum nf_status status = timeline_outstanding(c->t, &changes, &n);

    if (status != NF_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        units += changes[i].units;
        if (i + 1 < n && changes[i + 1].at_us == changes[i].at_us)
            continue;
        begin_event(c);
        fprintf(c->to,
                "{\"ph\":\"C\",\"name\":\"units\","
                "\"pid\":%d,\"tid\":%d,\"ts\":%" PRId64
                ",\"args\":{\"outstanding\":%" PRId64 "}}",
                MASTER_PID, MASTER_PID, changes[i].at_us, units);
    }
    nf_free(changes);
    return NF_OK;
}

static void put_about(struct chrome *c)
{
    const struct nf_history *h = c->t->h;

    fputs("\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"app\":", c->to);
    put_text(c->to, h->app);
    fputs(",\"policy\":", c->to);
    put_text(c->to, h->policy);
    fputs(",\"transport\":", c->to);
    put_text(c->to, h->transport);
    fputs(",\"emulate\":", c->to);
    if (h->emulate[0] != '\0') {
        fputs("{\"spec\":", c->to);
        put_text(c->to, h->emulate);
        fputc('}', c->to);
    } else {
        fputs("null", c->to);
    }
    fputs(",\"date\":", c->to);
    put_text(c->to, h->date);
    fprintf(c->to,
            ",\"units\":%" PRIu64 ",\"makespan_us\":%" PRId64
            ",\"lower_bound_us\":%" PRId64 "}}\n",
            h->units, h->end.makespan_us, h->end.lower_bound_us);
}

enum nf_status gantt_chrome(FILE *to, const struct timeline *t)
{
    struct chrome c = { .to = to, .t = t };
    enum nf_status status;

    fputs("{\"traceEvents\":[", to);
    name_all(&c);
    put_sends(&c);
    for (uint32_t i = 0; i < t->nrows; i++) {
        c.pid = pid_of(t->rows[i].slave);
        c.tid = tid_of(t, i);
        timeline_walk(t, &t->rows[i], on_span, &c);
    }
    put_losses(&c);
    status = put_outstanding(&c);
    put_about(&c);
    return status;
}
