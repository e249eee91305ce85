/* A comparison for people, for programs, for spreadsheets and as a picture. */
#include "config.h"
#include "apps/nowfarm/compare_report.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/plot.h"
#include "apps/nowfarm/table.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

enum { LABEL_WIDEST = 28, CONCLUSION_BYTES = 2048 };

/* ---- for people ---- */

/* One unit for a whole table: times are there to be compared. */
struct scale {
    const char *unit;
    double per_s;
    int decimals; /* so that the smallest median has four digits */
};

static struct scale scale_of(const struct compare *c,
                             const struct compare_verdict *v)
{
    struct scale scale = { "s", 1, 3 };
    double most = 0, least = INFINITY;

    for (unsigned i = 0; i < c->npolicies; i++) {
        const struct stats_summary *span = &v->results[i].span_s;

        if (span->n > 0) {
            most = fmax(most, span->max);
            least = fmin(least, span->median);
        }
    }
    if (most < 1)
        scale = most < 1e-3 ? (struct scale){ "us", 1e6, 3 }
                            : (struct scale){ "ms", 1e3, 3 };
    if (isfinite(least) && least > 0)
        scale.decimals = 3 - (int)floor(log10(least * scale.per_s));
    /* no digits beyond the microsecond of the reports */
    if (scale.decimals > (int)lround(6 - log10(scale.per_s)))
        scale.decimals = (int)lround(6 - log10(scale.per_s));
    if (scale.decimals < 0)
        scale.decimals = 0;
    return scale;
}

static void set_time(struct table *t, unsigned column, double time_s,
                     const struct scale *scale)
{
    if (isfinite(time_s))
        table_set(t, column, "%.*f", scale->decimals, time_s * scale->per_s);
    else
        table_set(t, column, "-");
}

static const char *remark_on(const struct compare_result *r)
{
    if (r->ratio.n == 0)
        return "nothing to compare";
    if (r->ratio.confidence < STATS_LEAST_CONFIDENCE)
        return "too few rounds";
    if (!r->differs)
        return "no difference can be told";
    return r->ratio.median < 1 ? "faster" : "slower";
}

static enum nf_status fill_spans(const struct compare *c,
                                 const struct compare_verdict *v,
                                 const struct scale *scale, struct table *t)
{
    static const char *const heads[] = { "median",   "q1",
                                         "q3",       "best",
                                         "worst",    "ratio",
                                         "interval", "against the first" };
    char head[40];

    snprintf(head, sizeof(head), "makespan in %s", scale->unit);
    if (table_add_row(t, head) != NF_OK)
        return NF_ERR_NOMEM;
    for (unsigned j = 0; j < sizeof(heads) / sizeof(heads[0]); j++)
        table_set(t, j + 1, "%s", heads[j]);
    for (unsigned i = 0; i < c->npolicies; i++) {
        const struct compare_result *r = &v->results[i];

        if (table_add_row(t, c->policies[i]) != NF_OK)
            return NF_ERR_NOMEM;
        set_time(t, 1, r->span_s.median, scale);
        set_time(t, 2, r->span_s.q1, scale);
        set_time(t, 3, r->span_s.q3, scale);
        set_time(t, 4, r->span_s.min, scale);
        set_time(t, 5, r->span_s.max, scale);
        if (i == 0)
            continue;
        if (r->ratio.n > 0) {
            table_set(t, 6, "%.3f", r->ratio.median);
            table_set(t, 7, "%.3f-%.3f", r->ratio.low, r->ratio.high);
        }
        table_set(t, 8, "%s", remark_on(r));
    }
    if (isfinite(v->lower_bound_s)) {
        if (table_add_row(t, "lower bound") != NF_OK)
            return NF_ERR_NOMEM;
        set_time(t, 1, v->lower_bound_s, scale);
    }
    return NF_OK;
}

static enum nf_status fill_parts(const struct compare *c,
                                 const struct compare_verdict *v,
                                 const struct scale *scale, struct table *t)
{
    char head[40];

    snprintf(head, sizeof(head), "medians in %s", scale->unit);
    if (table_add_row(t, head) != NF_OK)
        return NF_ERR_NOMEM;
    for (unsigned j = 0; j < PART_COUNT; j++)
        table_set(t, j + 1, "%s", compare_part_names[j]);
    for (unsigned i = 0; i < c->npolicies; i++) {
        if (table_add_row(t, c->policies[i]) != NF_OK)
            return NF_ERR_NOMEM;
        for (unsigned j = 0; j < PART_COUNT; j++)
            set_time(t, j + 1, v->results[i].part_s[j], scale);
    }
    return NF_OK;
}

static const char *emulated(const struct compare *c)
{
    return c->emulated ? ", times EMULATED" : "";
}

static void print_heading(const struct compare *c,
                          const struct compare_verdict *v, FILE *to)
{
    fprintf(to, "%s", c->subject);
    if (c->slaves > 0)
        fprintf(to, ": %" PRIu64 " units on %u slaves (%u slots%s%s%s)",
                c->units, c->slaves, c->slots,
                c->transport[0] != '\0' ? ", " : "", c->transport, emulated(c));
    fprintf(to, "; %u round%s in shuffled order (seed %" PRIu64 ")", c->repeat,
            c->repeat == 1 ? "" : "s", c->seed);
    if (c->warmup > 0)
        fprintf(to, " after %u to warm up", c->warmup);
    fputs(c->interrupted ? "; interrupted\n" : "\n", to);
    if (v->least_slots < v->most_slots)
        fprintf(to,
                "careful: runs had from %u to %u slots, so times differ "
                "for other reasons than the policy\n",
                v->least_slots, v->most_slots);
    if (v->lost_slaves > 0)
        fprintf(to, "careful: %u slave%s lost during runs\n", v->lost_slaves,
                v->lost_slaves == 1 ? " was" : "s were");
}

/* The confidence that intervals have: that of most pairs. */
static const struct stats_interval *
typical_ratio(const struct compare *c, const struct compare_verdict *v)
{
    const struct stats_interval *most = NULL;

    for (unsigned i = 1; i < c->npolicies; i++)
        if (v->results[i].ratio.n > 1 &&
            (most == NULL || v->results[i].ratio.n > most->n))
            most = &v->results[i].ratio;
    return most;
}

static void print_notes(const struct compare *c,
                        const struct compare_verdict *v, FILE *to)
{
    const struct stats_interval *ratio = typical_ratio(c, v);

    if (ratio != NULL)
        fprintf(to,
                "ratio: median of makespan / that of %s in the same round, "
                "with its %.3g %% interval\n",
                c->policies[0], 100 * ratio->confidence);
    for (unsigned i = 0; i < c->npolicies; i++) {
        const struct compare_result *r = &v->results[i];

        if (r->failed > 0)
            fprintf(to, "%s failed in %u of %u runs%s\n", c->policies[i],
                    r->failed, r->failed + r->runs,
                    r->runs > 0 ? "; its numbers are those of the others" : "");
    }
}

static bool has_parts(const struct compare *c, const struct compare_verdict *v)
{
    for (unsigned i = 0; i < c->npolicies; i++)
        for (unsigned j = 0; j < PART_COUNT; j++)
            if (isfinite(v->results[i].part_s[j]))
                return true;
    return false;
}

enum nf_status compare_print(const struct compare *c,
                             const struct compare_verdict *v, FILE *to)
{
    char conclusion[CONCLUSION_BYTES];
    struct scale scale = scale_of(c, v);
    struct table spans, parts;
    enum nf_status status;

    table_init(&spans, 9, true);
    table_init(&parts, 1 + PART_COUNT, false);
    status = fill_spans(c, v, &scale, &spans);
    if (status == NF_OK)
        status = fill_parts(c, v, &scale, &parts);
    if (status == NF_OK) {
        print_heading(c, v, to);
        fputc('\n', to);
        table_print(&spans, LABEL_WIDEST, to);
        print_notes(c, v, to);
        fputc('\n', to);
        if (has_parts(c, v)) {
            table_print(&parts, LABEL_WIDEST, to);
            fputc('\n', to);
        }
        fprintf(to, "%s\n",
                compare_conclude(c, v, conclusion, sizeof(conclusion)));
    }
    table_fini(&spans);
    table_fini(&parts);
    return status;
}

/* ---- for programs ---- */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *policy_to_json(const struct compare *c,
                              const struct compare_verdict *v, unsigned policy)
{
    const struct compare_result *r = &v->results[policy];
    json_t *parts = json_object();

    for (unsigned i = 0; i < PART_COUNT; i++)
        json_object_set_new(parts, compare_part_names[i], number(r->part_s[i]));
    return json_pack(
        "{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, "
        "s:o, s:o, s:o, s:o}",
        "policy", c->policies[policy], "runs", (int)r->runs, "failed",
        (int)r->failed, "median_s", number(r->span_s.median), "q1_s",
        number(r->span_s.q1), "q3_s", number(r->span_s.q3), "best_s",
        number(r->span_s.min), "worst_s", number(r->span_s.max), "ratio",
        number(r->ratio.median), "ratio_low", number(r->ratio.low),
        "ratio_high", number(r->ratio.high), "ratio_rounds", (int)r->ratio.n,
        "ratio_confidence",
        policy == 0 ? json_null() : number(r->ratio.confidence), "differs",
        policy == 0 ? json_null() : json_boolean(r->differs), "ties_with_best",
        v->best < 0 ? json_null()
                    : json_boolean(r->tied || v->best == (int)policy),
        "lower_bound_s", number(r->lower_bound_s), "breakdown_s", parts);
}

json_t *compare_to_json(const struct compare *c,
                        const struct compare_verdict *v)
{
    char conclusion[CONCLUSION_BYTES];
    json_t *policies = json_array();

    for (unsigned i = 0; i < c->npolicies; i++)
        json_array_append_new(policies, policy_to_json(c, v, i));
    compare_conclude(c, v, conclusion, sizeof(conclusion));
    return json_pack("{s:s, s:b, s:b, s:I, s:i, s:i, s:s, s:i, s:i, s:I, s:b, "
                     "s:i, s:i, s:o, "
                     "s:o, s:s?, s:b, s:s}",
                     c->simulated ? "platform" : "app", c->subject, "simulated",
                     (int)c->simulated, "emulated", (int)c->emulated, "units",
                     (json_int_t)c->units, "slaves", (int)c->slaves, "slots",
                     (int)c->slots, "transport", c->transport, "repeat",
                     (int)c->repeat, "warmup", (int)c->warmup, "seed",
                     (json_int_t)c->seed, "interrupted", (int)c->interrupted,
                     "failed_runs", (int)v->failed, "lost_slaves",
                     (int)v->lost_slaves, "lower_bound_s",
                     number(v->lower_bound_s), "policies", policies, "best",
                     v->best >= 0 ? c->policies[v->best] : NULL, "clear",
                     v->best >= 0 && v->ntied == 0 && c->npolicies > 1,
                     "conclusion", conclusion);
}

static void print_field(double value, FILE *to)
{
    if (isfinite(value))
        fprintf(to, ",%.9g", value);
    else
        fputc(',', to);
}

static void print_csv_row(const struct compare *c, unsigned round,
                          unsigned policy, FILE *to)
{
    const struct compare_run *run = compare_at(c, c->warmup + round, policy);
    bool done = run->state == RUN_DONE;

    fprintf(to, "%u,", round + 1);
    table_print_csv(c->policies[policy], to);
    fprintf(to, ",%u", run->order);
    print_field(done ? run->makespan_s : NAN, to);
    print_field(done ? run->lower_bound_s : NAN, to);
    for (int i = 0; i < PART_COUNT; i++)
        print_field(done ? run->part_s[i] : NAN, to);
    fprintf(to, ",%d\n", run->exit_status);
}

static void print_csv(const struct compare *c, FILE *to)
{
    fputs("round,policy,order,makespan_s,lower_bound_s", to);
    for (int i = 0; i < PART_COUNT; i++)
        fprintf(to, ",%s_s", compare_part_names[i]);
    fputs(",exit\n", to);
    for (unsigned round = 0; round < c->repeat; round++)
        for (unsigned order = 1; order <= c->npolicies; order++) {
            unsigned policy = compare_policy_at(c, c->warmup + round, order);

            if (compare_at(c, c->warmup + round, policy)->state != RUN_PENDING)
                print_csv_row(c, round, policy, to);
        }
}

enum nf_status compare_write_csv(const struct compare *c, const char *path,
                                 struct nf_error *err)
{
    struct nf_output_text text;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    print_csv(c, text.to);
    return nf_output_text_close(&text, NF_OK, path, err);
}

/* ---- as a picture ---- */

/* The makespans of a policy, round by round. */
static void column(const struct compare *c, unsigned policy, double per_s,
                   double *values_p)
{
    for (unsigned i = 0; i < c->repeat; i++) {
        const struct compare_run *run = compare_at(c, c->warmup + i, policy);

        values_p[i] = run->state == RUN_DONE ? run->makespan_s * per_s : NAN;
    }
}

/* What is written beside the row of a policy: its median, and its ratio. */
static void make_note(const struct compare_result *r, bool first,
                      const struct scale *scale, char *text, size_t bytes)
{
    int used;

    text[0] = '\0';
    if (r->span_s.n == 0)
        return;
    used = snprintf(text, bytes, "%.*f %s", scale->decimals,
                    r->span_s.median * scale->per_s, scale->unit);
    if (!first && r->ratio.n > 0)
        snprintf(text + used, bytes - (size_t)used, "  \xc3\x97 %.3f",
                 r->ratio.median);
}

static void make_titles(const struct compare *c, char *title, char *subtitle,
                        size_t bytes)
{
    snprintf(title, bytes, "%s: makespan by policy", c->subject);
    subtitle[0] = '\0';
    if (c->slaves > 0)
        snprintf(subtitle, bytes,
                 "%" PRIu64 " units, %u slaves, %u slots%s%s%s; %u rounds in "
                 "shuffled order",
                 c->units, c->slaves, c->slots,
                 c->transport[0] != '\0' ? ", " : "", c->transport, emulated(c),
                 c->repeat);
}

enum nf_status compare_plot(const struct compare *c,
                            const struct compare_verdict *v, const char *path,
                            struct nf_error *err)
{
    struct scale scale = scale_of(c, v);
    struct plot_series series[COMPARE_POLICIES_MAX];
    char notes[COMPARE_POLICIES_MAX][64];
    char title[300], subtitle[300], x_label[40];
    double *values =
        nf_calloc((size_t)c->repeat * c->npolicies, sizeof(double));
    enum nf_status status;

    if (values == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory for the plot");
    for (unsigned i = 0; i < c->npolicies; i++) {
        double *own = values + (size_t)i * c->repeat;

        column(c, i, scale.per_s, own);
        make_note(&v->results[i], i == 0, &scale, notes[i], sizeof(notes[i]));
        series[i] = (struct plot_series){
            .label = c->policies[i], .x = own, .n = c->repeat, .note = notes[i]
        };
    }
    make_titles(c, title, subtitle, sizeof(title));
    snprintf(x_label, sizeof(x_label), "makespan [%s]", scale.unit);
    status = plot_write(
        &(struct plot){ .kind = PLOT_BOXES,
                        .title = title,
                        .subtitle = subtitle[0] != '\0' ? subtitle : NULL,
                        .x_label = x_label,
                        .series = series,
                        .nseries = c->npolicies,
                        .mark = v->lower_bound_s * scale.per_s,
                        .mark_label = "lower bound" },
        path, err);
    nf_free(values);
    return status;
}
