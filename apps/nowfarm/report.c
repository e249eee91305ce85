/* The report at the end: makespan beside its lower bound, and where it went. */
#include "config.h"
#include "apps/nowfarm/report.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/words.h"
#include "master/emulate.h"

/* Lines about single slots that a person may want to read. */
enum { LEARNT_LINES = 32 };

static const char *seconds(double value_s, char *text, size_t bytes)
{
    return nf_format_time_us((int64_t)(value_s * 1e6 + 0.5), text, bytes);
}

static void print_part(FILE *to, const char *name, double part_s, double all_s,
                       const char *what)
{
    char text[32];

    fprintf(to, "  %-9s %10s  %5.1f %%   %s\n", name,
            seconds(part_s, text, sizeof(text)),
            all_s > 0 ? 100 * part_s / all_s : 0.0, what);
}

/* The reason is a kernel's and may hold anything, half a character included. */
static const char *clean(struct nf_unit_failure *failure)
{
    nf_text_make_line(failure->reason);
    nf_text_make_utf8(failure->reason, strlen(failure->reason));
    return failure->reason;
}

static void print_failures(FILE *to, const struct nf_report *r)
{
    for (uint32_t i = 0; i < r->nfailures; i++) {
        struct nf_unit_failure failure = r->failures[i];

        fprintf(to, "given up: unit %" PRIu64, failure.unit);
        if (r->phases > 1)
            fprintf(to, " of phase %u", failure.phase);
        fprintf(to, " after %u attempts: %s\n", failure.attempts,
                clean(&failure));
    }
    if (r->failed_units > r->nfailures)
        fprintf(to, "given up: %" PRIu64 " units more\n",
                r->failed_units - r->nfailures);
}

/* Beside the interval that the paper has one choose by hand. */
static void print_learnt(FILE *to, const struct nf_report *r)
{
    char td[32], latency[32];

    for (uint32_t i = 0; i < r->nlearnt && i < LEARNT_LINES; i++) {
        const struct nf_report_slot *slot = &r->learnt[i];

        fprintf(to,
                "implied td %9s  slave %u (%s) slot %u: window %" PRIu64
                ", latency %s\n",
                seconds(slot->td_s, td, sizeof(td)), slot->slave, slot->host,
                slot->slot, slot->window,
                seconds(slot->latency_s, latency, sizeof(latency)));
    }
    if (r->nlearnt > LEARNT_LINES)
        fprintf(to, "implied td of %u slots more: see --json\n",
                r->nlearnt - LEARNT_LINES);
}

/* One remark when something other than computing took most of the time. */
static void print_remark(FILE *to, const struct nf_report *r)
{
    if (r->startup_s > r->makespan_s)
        fprintf(to, "starting the slaves took longer than the job itself: such "
                    "small jobs are better run in one process\n");
    else if (r->part_transfer_s > r->part_compute_s)
        fprintf(to, "most of the time went into transfer: larger chunks "
                    "(g=...) or a pacer that sends ahead may help\n");
    else if (r->part_tail_s > 0.2 * r->makespan_s)
        fprintf(to, "slots waited for the last units: smaller chunks may "
                    "help\n");
}

/* A time that is C, or C and U more for each unit. */
static const char *price(const struct nf_emulate_time *time, char *text,
                         size_t bytes)
{
    char each[32];
    size_t used;

    nf_format_time_us(time->fixed_us, text, bytes);
    used = strlen(text);
    if (time->per_unit_us > 0)
        snprintf(text + used, bytes - used, " + %s a unit",
                 nf_format_time_us(time->per_unit_us, each, sizeof(each)));
    return text;
}

static void print_emulated(FILE *to, const struct nf_report *r)
{
    struct nf_emulate e;
    char a[80], b[80];

    if (r->emulate[0] == '\0' || nf_emulate_parse(r->emulate, &e, NULL))
        return;
    fprintf(to, "EMULATED: times are slept, not worked.  unit %s",
            nf_format_time_us(e.unit_us, a, sizeof(a)));
    for (uint32_t i = 0; i < e.nspeeds; i++)
        fprintf(to, "%s%g", i == 0 ? ", speeds " : "/",
                (double)e.speeds[i] / NF_EMULATE_SPEED_ONE);
    fprintf(to, "; master %s to send, %s to receive",
            price(&e.send, a, sizeof(a)), price(&e.recv, b, sizeof(b)));
    fprintf(to, "; wire %s, %s; results %s\n", price(&e.wire, a, sizeof(a)),
            e.wires == NF_EMULATE_BUS ? "one for all"
                                      : "one each way and slave",
            e.blocking ? "block their slaves" : "do not block");
}

static json_t *price_json(const struct nf_emulate_time *time)
{
    return json_pack("{s:f, s:f}", "message", (double)time->fixed_us * 1e-6,
                     "unit", (double)time->per_unit_us * 1e-6);
}

static json_t *emulate_json(const struct nf_report *r)
{
    struct nf_emulate e;
    json_t *speeds;

    if (r->emulate[0] == '\0' || nf_emulate_parse(r->emulate, &e, NULL))
        return json_null();
    speeds = json_array();
    for (uint32_t i = 0; i < e.nspeeds; i++)
        json_array_append_new(
            speeds, json_real((double)e.speeds[i] / NF_EMULATE_SPEED_ONE));
    return json_pack("{s:s, s:f, s:o, s:o, s:o, s:s, s:b, s:o}", "spec",
                     r->emulate, "unit_s", (double)e.unit_us * 1e-6, "send_s",
                     price_json(&e.send), "recv_s", price_json(&e.recv),
                     "wire_s", price_json(&e.wire), "net",
                     e.wires == NF_EMULATE_BUS ? "bus" : "links", "blocking",
                     (int)e.blocking, "speeds", speeds);
}

/* Slaves that were lost, and where. */
static void print_lost(FILE *to, const struct nf_report *r)
{
    fprintf(to, "%u slaves lost", r->lost_slaves);
    for (uint32_t i = 0; i < r->nlost; i++)
        fprintf(to, "%sslave %u (%s)", i == 0 ? ": " : ", ", r->lost[i].slave,
                r->lost[i].host);
    if (r->lost_slaves > r->nlost && r->nlost > 0)
        fprintf(to, ", ...");
    fputc('\n', to);
}

void report_print_parts(FILE *to, const struct nf_report *r)
{
    double span_s = r->makespan_s;

    print_part(to, "compute", r->part_compute_s, span_s, "in the kernel");
    print_part(to, "transfer", r->part_transfer_s, span_s,
               "shared data, inputs and results on their way");
    print_part(to, "master", r->part_master_s, span_s,
               "slots free while the master worked");
    print_part(to, "idle", r->part_idle_s, span_s,
               "slots free because the policy held back");
    print_part(to, "tail", r->part_tail_s, span_s,
               "slots free while others finished the last units");
}

/* Chosen by what?  Nothing where nobody had anything to say. */
static void print_source(FILE *to, const char *by)
{
    if (by[0] != '\0' && strcmp(by, "built-in") != 0)
        fprintf(to, ", by %s", by);
}

static void print_gather(FILE *to, const struct nf_report *r)
{
    char time[32], bytes[32];

    if (r->gathers == 0)
        return;
    fprintf(to, "gathered by %s: %s of %u slaves in %s", r->gather,
            nf_format_bytes(r->gather_bytes, bytes, sizeof(bytes)),
            r->gather_slaves, seconds(r->gather_s, time, sizeof(time)));
    if (r->gather_algorithm[0] != '\0') {
        fprintf(to, " (%s", r->gather_algorithm);
        print_source(to, r->gather_by);
        fputc(')', to);
    }
    if (r->gathers > 1)
        fprintf(to, ", in %u tries", r->gathers);
    if (r->recomputed > 0)
        fprintf(to, "; %" PRIu64 " units computed again", r->recomputed);
    fputc('\n', to);
}

/* The broadcast of shared data; who chose it, and what that had it take. */
static void print_shared(FILE *to, const struct nf_report *r)
{
    char bytes[32], time[32];

    if (r->shared_algorithm[0] == '\0')
        return;
    fprintf(to, "shared %s with %u slaves by %s: ",
            nf_format_bytes(r->shared_bytes, bytes, sizeof(bytes)),
            r->shared_slaves, r->shared_algorithm);
    if (r->shared_s > 0)
        fprintf(to, "measured %s", seconds(r->shared_s, time, sizeof(time)));
    else
        fputs("not all had it by that", to);
    if (r->shared_network[0] != '\0')
        fprintf(to, ", network %s", r->shared_network);
    if (r->shared_model_s > 0)
        fprintf(to, " %s", seconds(r->shared_model_s, time, sizeof(time)));
    fputc('\n', to);
}

/* @param before  of what the model says, if it says something */
static const char *exchange_model(const struct nf_report *r, const char *before,
                                  char *text_p, size_t bytes)
{
    char time[32];

    if (!isfinite(r->exchange_model_s))
        return "no model";
    snprintf(text_p, bytes, "%s%s", before,
             seconds(r->exchange_model_s, time, sizeof(time)));
    return text_p;
}

/* The last one behind others that were taken. */
static void print_algorithms(FILE *to, const struct nf_report *r)
{
    const char *last = "", *words = r->exchange_algorithms, *word;
    size_t length;

    while ((word = nf_words_next(&words, &length)) != NULL)
        if (!nf_word_is(word, length, r->exchange_algorithm)) {
            fprintf(to, "%.*s, ", (int)length, word);
            last = "last ";
        }
    fprintf(to, "%s%s", last, r->exchange_algorithm);
}

/* What the all-to-all took, beside what the model says that it takes. */
static void print_exchanges(FILE *to, const struct nf_report *r)
{
    char time[32], moving[32], model[48], bytes[32];

    if (r->phases <= 1)
        return;
    fprintf(to, "%u phases; exchanged %s among %u slaves in %s", r->phases,
            nf_format_bytes(r->exchange_bytes, bytes, sizeof(bytes)),
            r->exchange_slaves, seconds(r->exchange_s, time, sizeof(time)));
    if (r->exchange_algorithm[0] != '\0') {
        fputs(" (", to);
        print_algorithms(to, r);
        print_source(to, r->exchange_by);
        fprintf(to, ": measured %s, %s)",
                seconds(r->exchange_moving_s, moving, sizeof(moving)),
                exchange_model(r, "model ", model, sizeof(model)));
    }
    if (r->exchanges + 1 > r->phases)
        fprintf(to, ", in %u tries", r->exchanges);
    if (r->recomputed > 0)
        fprintf(to, "; %" PRIu64 " units computed again", r->recomputed);
    fputc('\n', to);
}

/* What a job of phases may be limited by. */
struct limit {
    const char *what, *key;
    double s;
};
enum { LIMITS = 4 }; /* the last one is the way of the data */

/* @return the largest of the first @p count */
static const struct limit *find_limit(const struct nf_report *r,
                                      struct limit limits[LIMITS], int count)
{
    const struct limit *most = limits;

    limits[0] = (struct limit){ "computing", "compute", r->part_compute_s };
    limits[1] = (struct limit){ "exchanging", "exchange", r->exchange_s };
    limits[2] =
        (struct limit){ "waiting for the slowest slot", "wait", r->wait_s };
    limits[3] =
        (struct limit){ "scatter and gather of data", "data", r->data_s };
    for (int i = 1; i < count; i++)
        if (limits[i].s > most->s)
            most = &limits[i];
    return most;
}

/* On the slaves, as if data was there and stayed there, and in all. */
static void print_limits(FILE *to, const struct nf_report *r)
{
    struct limit limits[LIMITS];
    const struct limit *most;
    char text[32];

    if (!(r->on_slaves_s > 0))
        return;
    most = find_limit(r, limits, LIMITS - 1);
    fprintf(to, "on slaves %s, limited by %s: ",
            seconds(r->on_slaves_s, text, sizeof(text)), most->what);
    for (int i = 0; i < LIMITS - 1; i++)
        fprintf(to, "%s%s %.0f %%", i == 0 ? "" : ", ", limits[i].key,
                100 * limits[i].s / r->on_slaves_s);
    most = find_limit(r, limits, LIMITS);
    fprintf(to, "; with scatter and gather (%s) by %s, %.0f %% of all\n",
            seconds(r->data_s, text, sizeof(text)), most->what,
            100 * most->s / r->makespan_s);
}

/* null: there was one phase, or no exchange. */
static json_t *limits_json(const struct nf_report *r)
{
    struct limit limits[LIMITS];
    const struct limit *alone = find_limit(r, limits, LIMITS - 1);

    if (!(r->on_slaves_s > 0))
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:s, s:s}", "on_slaves_s",
                     r->on_slaves_s, "compute_s", r->part_compute_s,
                     "exchange_s", r->exchange_s, "wait_s", r->wait_s, "data_s",
                     r->data_s, "on_slaves", alone->key, "with_data",
                     find_limit(r, limits, LIMITS)->key);
}

void report_print_model(FILE *to, const struct nf_report *r, double compute_s)
{
    char sum[32], compute[32], exchange[32];

    fprintf(to, "time by model %s: compute %s, exchange %s; ",
            isfinite(r->exchange_model_s)
                ? seconds(compute_s + r->exchange_model_s, sum, sizeof(sum))
                : "unknown",
            seconds(compute_s, compute, sizeof(compute)),
            exchange_model(r, "", exchange, sizeof(exchange)));
    fprintf(to, "measured %s: compute %s, exchange %s\n",
            seconds(r->lower_bound_s + r->exchange_moving_s, sum, sizeof(sum)),
            seconds(r->lower_bound_s, compute, sizeof(compute)),
            seconds(r->exchange_moving_s, exchange, sizeof(exchange)));
}

void report_print(FILE *to, const char *app, const struct nf_report *r,
                  enum verified verified, const char *note)
{
    char a[32], b[32];

    fprintf(to,
            "%s: %" PRIu64 " units on %u slaves (%u slots, %s), policy %s\n",
            app, r->units, r->slaves, r->slots, r->transport, r->policy);
    print_emulated(to, r);
    fprintf(to, "makespan    %10s  (lower bound %s: %s; start-up before it ",
            seconds(r->makespan_s, a, sizeof(a)),
            seconds(r->lower_bound_s, b, sizeof(b)),
            r->emulate[0] != '\0' ? "work / speeds" : "compute / slots");
    fprintf(to, "%s)\n", seconds(r->startup_s, a, sizeof(a)));
    report_print_parts(to, r);
    fprintf(to, "%" PRIu64 " messages, %s out, ", r->messages,
            nf_format_bytes(r->bytes_out, a, sizeof(a)));
    fprintf(to,
            "%s in; %" PRIu64 " retries, %" PRIu64 " duplicates, ",
            nf_format_bytes(r->bytes_in, a, sizeof(a)), r->retries,
            r->duplicates);
    print_lost(to, r);
    if (r->copies > 0)
        fprintf(to, "%" PRIu64 " chunks copied in the end\n", r->copies);
    print_shared(to, r);
    print_gather(to, r);
    print_exchanges(to, r);
    print_limits(to, r);
    print_learnt(to, r);
    print_failures(to, r);
    print_remark(to, r);
    if (verified != NOT_VERIFIED)
        fprintf(to, "verified: %s%s%s\n",
                verified == VERIFIED_RIGHT ? "true" : "false",
                note != NULL && note[0] != '\0' ? ", " : "",
                note != NULL ? note : "");
}

static json_t *learnt_json(const struct nf_report *r)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < r->nlearnt; i++) {
        const struct nf_report_slot *slot = &r->learnt[i];

        json_array_append_new(
            list, json_pack("{s:i, s:s, s:i, s:I, s:f, s:f, s:f, s:I}", "slave",
                            (int)slot->slave, "host", slot->host, "slot",
                            (int)slot->slot, "chunks", (json_int_t)slot->chunks,
                            "td_s", slot->td_s, "service_s", slot->service_s,
                            "latency_s", slot->latency_s, "window",
                            (json_int_t)slot->window));
    }
    return list;
}

static json_t *lost_json(const struct nf_report *r)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < r->nlost; i++)
        json_array_append_new(list, json_pack("{s:i, s:s}", "slave",
                                              (int)r->lost[i].slave, "host",
                                              r->lost[i].host));
    return list;
}

static json_t *failures_json(const struct nf_report *r)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < r->nfailures; i++) {
        struct nf_unit_failure failure = r->failures[i];

        json_array_append_new(list, json_pack("{s:I, s:i, s:i, s:s}", "unit",
                                              (json_int_t)failure.unit, "phase",
                                              (int)failure.phase, "attempts",
                                              (int)failure.attempts, "reason",
                                              clean(&failure)));
    }
    return list;
}

/* NULL: nothing was chosen. */
static const char *source(const char *by)
{
    return by[0] != '\0' ? by : NULL;
}

/* null: results came as a stream. */
static json_t *gather_json(const struct nf_report *r)
{
    if (r->gather[0] == '\0' || strcmp(r->gather, "stream") == 0)
        return json_null();
    return json_pack("{s:s, s:s, s:s?, s:f, s:I, s:i, s:i, s:I}", "how",
                     r->gather, "algorithm", r->gather_algorithm, "chosen_by",
                     source(r->gather_by), "time_s", r->gather_s,
                     "bytes", (json_int_t)r->gather_bytes, "slaves",
                     (int)r->gather_slaves, "tries", (int)r->gathers,
                     "recomputed", (json_int_t)r->recomputed);
}

/* null: it is infinite. */
static json_t *real_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *words_json(const char *words)
{
    json_t *list = json_array();
    const char *word;
    size_t length;

    while ((word = nf_words_next(&words, &length)) != NULL)
        json_array_append_new(list, json_stringn(word, length));
    return list;
}

/* null: there was one phase. */
static json_t *exchange_json(const struct nf_report *r)
{
    if (r->phases <= 1)
        return json_null();
    return json_pack(
        "{s:i, s:s, s:o, s:s?, s:f, s:f, s:o, s:I, s:i, s:i, s:I}", "phases",
        (int)r->phases, "algorithm", r->exchange_algorithm, "algorithms",
        words_json(r->exchange_algorithms), "chosen_by", source(r->exchange_by),
        "time_s", r->exchange_s, "moving_s", r->exchange_moving_s, "model_s",
        real_json(r->exchange_model_s), "bytes", (json_int_t)r->exchange_bytes,
        "slaves", (int)r->exchange_slaves, "tries", (int)r->exchanges,
        "recomputed", (json_int_t)r->recomputed);
}

/* null: no broadcast was needed. */
static json_t *shared_json(const struct nf_report *r)
{
    if (r->shared_algorithm[0] == '\0')
        return json_null();
    return json_pack(
        "{s:s, s:s?, s:o, s:o, s:I, s:i}", "algorithm", r->shared_algorithm,
        "network", r->shared_network[0] != '\0' ? r->shared_network : NULL,
        "time_s", r->shared_s > 0 ? json_real(r->shared_s) : json_null(),
        "model_s",
        r->shared_model_s > 0 ? json_real(r->shared_model_s) : json_null(),
        "bytes", (json_int_t)r->shared_bytes, "slaves", (int)r->shared_slaves);
}

json_t *report_json(const char *app, const struct nf_report *r,
                    enum verified verified)
{
    return json_pack(
        "{s:s, s:I, s:i, s:i, s:s, s:s, s:f, s:f, s:f, s:f, s:I, s:I, s:I, "
        "s:I, s:I, s:i, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, "
        "s:{s:f, s:f, s:f, s:f, s:f}}",
        "app", app, "units", (json_int_t)r->units, "slaves", (int)r->slaves,
        "slots", (int)r->slots, "policy", r->policy, "transport", r->transport,
        "startup_s", r->startup_s, "makespan_s", r->makespan_s, "compute_s",
        r->compute_s, "lower_bound_s", r->lower_bound_s, "messages",
        (json_int_t)r->messages, "bytes_out", (json_int_t)r->bytes_out,
        "bytes_in", (json_int_t)r->bytes_in, "retries", (json_int_t)r->retries,
        "duplicates", (json_int_t)r->duplicates, "lost_slaves",
        (int)r->lost_slaves, "lost", lost_json(r), "failed_units",
        (json_int_t)r->failed_units, "failures", failures_json(r), "auto",
        learnt_json(r), "emulate", emulate_json(r), "shared", shared_json(r),
        "gather", gather_json(r), "exchange", exchange_json(r), "limits",
        limits_json(r), "verified",
        verified == NOT_VERIFIED ? json_null()
                                 : json_boolean(verified == VERIFIED_RIGHT),
        "copies", (json_int_t)r->copies, "breakdown_s", "compute",
        r->part_compute_s, "transfer", r->part_transfer_s, "master",
        r->part_master_s, "idle", r->part_idle_s, "tail", r->part_tail_s);
}

void report_print_figures(FILE *to, const struct nf_app_figure *figures,
                          uint32_t count)
{
    char value[NF_FIGURE_BYTES];

    for (uint32_t i = 0; i < count; i++)
        fprintf(to, "%-18s %s\n", figures[i].name,
                nf_figure_print(&figures[i], value));
}

static json_t *figure_json(const struct nf_app_figure *figure)
{
    char text[NF_FIGURE_BYTES];

    switch (figure->kind) {
    case NF_FIGURE_REAL:
        return isfinite(figure->real) ? json_real(figure->real) : json_null();
    case NF_FIGURE_COUNT: /* our library's integers end at 2^63 */
        return figure->count <= INT64_MAX
                   ? json_integer((json_int_t)figure->count)
                   : json_string(nf_figure_print(figure, text));
    case NF_FIGURE_TEXT:
        break;
    }
    return json_string(figure->text);
}

static json_t *figures_json(const struct nf_app_figure *figures, uint32_t count)
{
    json_t *object = json_object();

    for (uint32_t i = 0; i < count; i++)
        json_object_set_new(object, figures[i].name, figure_json(&figures[i]));
    return object;
}

/* null: there is no model of the application. */
static json_t *model_json(const struct nf_report *r, double compute_s)
{
    if (!(compute_s > 0))
        return json_null();
    return json_pack("{s:f, s:o, s:f, s:f}", "compute_s", compute_s,
                     "exchange_s", real_json(r->exchange_model_s),
                     "measured_compute_s", r->lower_bound_s,
                     "measured_exchange_s", r->exchange_moving_s);
}

/* A result is the same double when it is read again. */
enum { REPORT_DIGITS = 9, RESULT_DIGITS = 17 };

enum nf_status report_print_json(FILE *to, const char *app,
                                 const struct nf_report *r,
                                 enum verified verified,
                                 const struct report_more *more)
{
    json_t *o = report_json(app, r, verified);
    size_t digits = more->nfigures > 0 ? RESULT_DIGITS : REPORT_DIGITS;
    int failed;

    if (o == NULL)
        return NF_ERR_NOMEM;
    if (more->nfigures > 0)
        json_object_set_new(o, "result",
                            figures_json(more->figures, more->nfigures));
    json_object_set_new(o, "model", model_json(r, more->compute_model_s));
    failed = json_dumpf(o, to, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
    json_decref(o);
    if (failed || fputc('\n', to) == EOF || fflush(to) != 0)
        return NF_ERR_IO;
    return NF_OK;
}
