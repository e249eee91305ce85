/* Formatting events.  Numbers are written by hand and nothing is allocated: a
 * job may have 100,000 events a second, and snprintf() alone takes a
 * microsecond for one. */
#include "config.h"
#include "common/trace/trace.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/trace/sink.h"

enum {
    BUFFER_BYTES = 64 << 10,
    TEXT_MOST = 511,    /* of a host, a reason, a policy, an emulated world */
    LINE_MOST = 8 << 10 /* 2 texts of TEXT_MOST, each byte as \u00xx */
};
static const int64_t FLUSH_US = 1000000;
static const int64_t NUMBER_MOST = INT64_C(1) << 53; /* any JSON reader's */

struct nf_trace {
    struct nf_trace_sink *sink;
    int64_t zero_us, last_us, flushed_us;
    bool virtual_time;
    bool empty; /* no member in the object yet */
    char *to;   /* in buffer, behind what was written */
    char buffer[BUFFER_BYTES];
};

/* ---- pieces of JSON ---- */

static void put(struct nf_trace *trace, const char *text, size_t bytes)
{
    memcpy(trace->to, text, bytes);
    trace->to += bytes;
}

static void put_digits(struct nf_trace *trace, uint64_t number)
{
    char digits[20];
    size_t n = sizeof(digits);

    do
        digits[--n] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    put(trace, digits + n, sizeof(digits) - n);
}

static void put_key(struct nf_trace *trace, const char *key)
{
    if (!trace->empty)
        *trace->to++ = ',';
    trace->empty = false;
    *trace->to++ = '"';
    put(trace, key, strlen(key));
    put(trace, "\":", 2);
}

static void put_count(struct nf_trace *trace, const char *key, uint64_t number)
{
    put_key(trace, key);
    put_digits(trace,
               number < (uint64_t)NUMBER_MOST ? number : (uint64_t)NUMBER_MOST);
}

/* Where doc/trace.md says that 0 is left out. */
static void put_some(struct nf_trace *trace, const char *key, uint64_t number)
{
    if (number > 0)
        put_count(trace, key, number);
}

/* A duration; clocks of slaves may run wild. */
static void put_us(struct nf_trace *trace, const char *key, int64_t time_us)
{
    put_count(trace, key, time_us > 0 ? (uint64_t)time_us : 0);
}

static void put_real(struct nf_trace *trace, const char *key, double number)
{
    double most = (double)NUMBER_MOST;

    /* also when it is not a number */
    put_some(trace, key,
             number > 0 ? (uint64_t)((number < most ? number : most) + 0.5)
                        : 0);
}

static void put_text(struct nf_trace *trace, const char *key, const char *text)
{
    char clean[TEXT_MOST + 1];

    snprintf(clean, sizeof(clean), "%s", text != NULL ? text : "");
    nf_text_make_utf8(clean, strlen(clean));
    put_key(trace, key);
    *trace->to++ = '"';
    for (const char *c = clean; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            trace->to += sprintf(trace->to, "\\u%04x", (unsigned)*c);
            continue;
        }
        if (*c == '"' || *c == '\\')
            *trace->to++ = '\\';
        *trace->to++ = *c;
    }
    *trace->to++ = '"';
}

/* ---- lines ---- */

static void flush(struct nf_trace *trace, int64_t now_us)
{
    if (trace->to != trace->buffer)
        nf_trace_sink_write(trace->sink, trace->buffer,
                            (size_t)(trace->to - trace->buffer));
    trace->to = trace->buffer;
    trace->flushed_us = now_us;
}

static void open_line(struct nf_trace *trace, int64_t now_us, const char *event)
{
    int64_t time_us = now_us - trace->zero_us;

    if (time_us < trace->last_us)
        time_us = trace->last_us;
    trace->last_us = time_us;
    *trace->to++ = '{';
    trace->empty = true;
    put_us(trace, "t", time_us);
    put(trace, ",\"ev\":\"", 7);
    put(trace, event, strlen(event));
    *trace->to++ = '"';
}

static void close_line(struct nf_trace *trace, int64_t now_us)
{
    put(trace, "}\n", 2);
    if (trace->to - trace->buffer > BUFFER_BYTES - LINE_MOST)
        flush(trace, now_us);
}

static void put_date(struct nf_trace *trace)
{
    char date[32];
    time_t now = time(NULL);
    struct tm tm;

    if (gmtime_r(&now, &tm) != NULL &&
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0)
        put_text(trace, "date", date);
}

static void put_header(struct nf_trace *trace,
                       const struct nf_trace_header *header, int64_t now_us)
{
    *trace->to++ = '{';
    trace->empty = true;
    put_count(trace, "nowfarm_trace", NF_TRACE_VERSION);
    put_text(trace, "version", nf_version());
    put_text(trace, "app", header->app);
    put_count(trace, "units", header->units);
    put_count(trace, "slaves", header->slaves);
    put_count(trace, "slots", header->slots);
    put_text(trace, "policy", header->policy);
    put_text(trace, "transport", header->transport);
    if (header->emulate != NULL && header->emulate[0] != '\0')
        put_text(trace, "emulate", header->emulate);
    put_key(trace, "seed");
    put_digits(trace, header->seed & INT64_MAX);
    put_text(trace, "clock", header->virtual_time ? "virtual" : "monotonic");
    put_us(trace, "clock_us", now_us);
    if (!header->virtual_time)
        put_date(trace);
    put(trace, "}\n", 2);
}

/* ---- life ---- */

enum nf_status nf_trace_create(const char *path,
                               const struct nf_trace_header *header,
                               int64_t now_us, struct nf_trace **trace_p,
                               struct nf_error *err)
{
    struct nf_trace *trace = nf_malloc(sizeof(*trace));
    enum nf_status status;

    if (trace == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "trace %s: out of memory", path);
    memset(trace, 0, offsetof(struct nf_trace, buffer));
    trace->zero_us = trace->flushed_us = now_us;
    trace->virtual_time = header->virtual_time;
    trace->to = trace->buffer;
    put_header(trace, header, now_us);
    status = nf_trace_sink_create(path, trace->buffer,
                                  (size_t)(trace->to - trace->buffer),
                                  !header->virtual_time, &trace->sink, err);
    if (status != NF_OK) {
        nf_free(trace);
        return status;
    }
    trace->to = trace->buffer;
    *trace_p = trace;
    return NF_OK;
}

void nf_trace_tick(struct nf_trace *trace, int64_t now_us)
{
    if (trace != NULL && !trace->virtual_time &&
        now_us - trace->flushed_us >= FLUSH_US)
        flush(trace, now_us);
}

const char *nf_trace_error(struct nf_trace *trace)
{
    return trace != NULL ? nf_trace_sink_error(trace->sink) : NULL;
}

enum nf_status nf_trace_close(struct nf_trace *trace, struct nf_error *err)
{
    enum nf_status status;

    if (trace == NULL)
        return NF_OK;
    flush(trace, 0);
    status = nf_trace_sink_close(trace->sink, err);
    nf_free(trace);
    return status;
}

/* ---- events ---- */

void nf_trace_begin(struct nf_trace *trace, int64_t now_us, uint32_t slots)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, "begin");
    put_count(trace, "slots", slots);
    close_line(trace, now_us);
}

void nf_trace_phase(struct nf_trace *trace, int64_t now_us,
                    const struct nf_trace_phase *phase)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, phase->ends ? "phase_end" : "phase_begin");
    put_count(trace, "slave", phase->slave);
    put_text(trace, "name", phase->name);
    if (!phase->ends)
        put_text(trace, "host", phase->host);
    if (phase->ends && phase->algorithm != NULL)
        put_text(trace, "algorithm", phase->algorithm);
    put_some(trace, "bytes", phase->bytes);
    close_line(trace, now_us);
}

void nf_trace_join(struct nf_trace *trace, int64_t now_us, uint32_t slave,
                   const char *host, uint32_t slots)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, "join");
    put_count(trace, "slave", slave);
    put_text(trace, "host", host);
    put_count(trace, "slots", slots);
    close_line(trace, now_us);
}

/* Leases may be any 63 bits. */
static void put_lease(struct nf_trace *trace, uint64_t lease)
{
    put_key(trace, "lease");
    put_digits(trace, lease & INT64_MAX);
}

void nf_trace_sent(struct nf_trace *trace, int64_t now_us,
                   const struct nf_trace_sent *sent)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, "sent");
    put_lease(trace, sent->lease);
    put_count(trace, "slave", sent->slave);
    put_some(trace, "slot", sent->slot);
    put_count(trace, "first", sent->first);
    put_count(trace, "count", sent->count);
    put_some(trace, "bytes", sent->bytes);
    put_some(trace, "attempts", sent->attempts);
    put_us(trace, "master_us", sent->master_us);
    close_line(trace, now_us);
}

void nf_trace_result(struct nf_trace *trace, int64_t now_us,
                     const struct nf_trace_result *result)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, result->last ? "result" : "part");
    put_lease(trace, result->lease);
    put_count(trace, "units", result->units);
    put_some(trace, "duplicates", result->duplicates);
    put_some(trace, "bytes", result->bytes);
    if (result->last) {
        put_us(trace, "compute_us", result->compute_us);
        if (result->wait_us >= 0)
            put_us(trace, "wait_us", result->wait_us);
        put_us(trace, "idle_us", result->idle_us);
        put_us(trace, "elapsed_us", result->elapsed_us);
        put_real(trace, "mean_ns", result->mean_unit_us * 1000);
        put_real(trace, "m2_us2", result->m2_unit_us2);
    }
    close_line(trace, now_us);
}

void nf_trace_failed(struct nf_trace *trace, int64_t now_us,
                     const struct nf_trace_failed *failed)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, "failed");
    put_lease(trace, failed->lease);
    put_count(trace, "unit", failed->unit);
    put_some(trace, "last", failed->last);
    put_some(trace, "timeout", failed->timeout);
    put_text(trace, "reason", failed->reason);
    close_line(trace, now_us);
}

void nf_trace_given_up(struct nf_trace *trace, int64_t now_us, uint64_t unit,
                       uint32_t attempts, const char *reason)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, "given_up");
    put_count(trace, "unit", unit);
    put_count(trace, "attempts", attempts);
    put_text(trace, "reason", reason);
    close_line(trace, now_us);
}

void nf_trace_cancelled(struct nf_trace *trace, int64_t now_us, uint64_t lease)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, "cancelled");
    put_lease(trace, lease);
    close_line(trace, now_us);
}

void nf_trace_lost(struct nf_trace *trace, int64_t now_us, uint32_t slave,
                   const char *reason)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, "lost");
    put_count(trace, "slave", slave);
    put_text(trace, "reason", reason);
    close_line(trace, now_us);
    flush(trace, now_us);
}

static const char *outcome(enum nf_status status)
{
    switch (status) {
    case NF_OK:
        return "done";
    case NF_ERR_INTERRUPTED:
        return "interrupted";
    default:
        return "failed";
    }
}

static void put_seconds(struct nf_trace *trace, const char *key, double time_s)
{
    put_us(trace, key, (int64_t)(time_s * 1e6 + 0.5));
}

/* An algorithm that was used, and by what it was chosen. */
static void put_choice(struct nf_trace *trace, const char *key,
                       const char *algorithm, const char *by_key,
                       const char *by)
{
    if (algorithm[0] == '\0')
        return;
    put_text(trace, key, algorithm);
    put_text(trace, by_key, by);
}

void nf_trace_end(struct nf_trace *trace, int64_t now_us, enum nf_status status,
                  const struct nf_report *r)
{
    if (trace == NULL)
        return;
    open_line(trace, now_us, "end");
    put_text(trace, "status", outcome(status));
    put_count(trace, "done", r->done_units);
    put_count(trace, "failed", r->failed_units);
    put_count(trace, "slaves", r->slaves);
    put_count(trace, "slots", r->slots);
    put_seconds(trace, "startup_us", r->startup_s);
    put_seconds(trace, "makespan_us", r->makespan_s);
    put_seconds(trace, "compute_us", r->compute_s);
    put_seconds(trace, "lower_bound_us", r->lower_bound_s);
    put_count(trace, "messages", r->messages);
    put_count(trace, "bytes_out", r->bytes_out);
    put_count(trace, "bytes_in", r->bytes_in);
    put_count(trace, "retries", r->retries);
    put_count(trace, "duplicates", r->duplicates);
    put_count(trace, "lost_slaves", r->lost_slaves);
    put_seconds(trace, "part_compute_us", r->part_compute_s);
    put_seconds(trace, "part_transfer_us", r->part_transfer_s);
    put_seconds(trace, "part_master_us", r->part_master_s);
    put_seconds(trace, "part_idle_us", r->part_idle_s);
    put_seconds(trace, "part_tail_us", r->part_tail_s);
    if (r->shared_algorithm[0] != '\0') {
        put_text(trace, "shared_algorithm", r->shared_algorithm);
        put_seconds(trace, "shared_us", r->shared_s);
    }
    if (r->shared_network[0] != '\0') {
        put_text(trace, "shared_network", r->shared_network);
        put_seconds(trace, "shared_model_us", r->shared_model_s);
    }
    put_choice(trace, "gather_algorithm", r->gather_algorithm, "gather_by",
               r->gather_by);
    put_choice(trace, "exchange_algorithm", r->exchange_algorithm,
               "exchange_by", r->exchange_by);
    close_line(trace, now_us);
}
