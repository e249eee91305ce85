/* What coll-bench found: for people, programs, spreadsheets, as a picture. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "apps/collbench/team.h"
#include "apps/nowfarm/coll_bench.h"
#include "apps/nowfarm/plot.h"
#include "apps/nowfarm/table.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/wish.h"

enum { SERIES_MAX = 64, LABEL_WIDEST = 34 };

enum nf_status coll_results_add(struct coll_results *results,
                                const struct coll_row *row)
{
    if (results->count == results->capacity) {
        size_t capacity = results->capacity > 0 ? 2 * results->capacity : 64;
        struct coll_row *grown =
            nf_realloc(results->rows, capacity * sizeof(*grown));

        if (grown == NULL)
            return NF_ERR_NOMEM;
        results->rows = grown;
        results->capacity = capacity;
    }
    results->rows[results->count++] = *row;
    return NF_OK;
}

void coll_row_free(struct coll_row *row)
{
    nf_free(row->us);
    nf_free(row->group_samples_us);
}

void coll_results_fini(struct coll_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        coll_row_free(&results->rows[i]);
    nf_free(results->rows);
    results->rows = NULL;
    results->count = 0;
}

struct nf_coll_network coll_network(const struct nf_model *model,
                                    const struct nf_coll_query *query)
{
    struct nf_choice_query choice = bench_choice(query);
    char type[NF_CODE_NAME_BYTES], op[NF_CODE_NAME_BYTES];
    struct nf_coll_network network;

    nf_elem_name(choice.type, type);
    nf_operator_name(choice.op, op);
    network = nf_coll_network_of(model, type, op);
    if (query->hosts != NULL)
        network.share_us = nf_model_share_on(
            model, nf_model_fullest_part(query->hosts, query->ranks));
    nf_coll_network_spread(&network, query->hosts, query->ranks);
    if (network.hosts == 1)
        nf_coll_network_within(&network);
    return network;
}

double coll_predict(const struct nf_model *model,
                    const struct nf_coll_query *query,
                    const struct nf_coll_algorithm *algorithm,
                    uint32_t segments)
{
    struct nf_coll_network network = coll_network(model, query);
    double cost_us = nf_coll_cost_us(algorithm, &network, query->ranks,
                                     (double)query->bytes, segments);

    return isfinite(cost_us) ? cost_us : NAN;
}

void coll_row_name(const struct coll_row *row, char text_p[COLL_NAME_BYTES])
{
    const struct nf_coll_wish wish = { .algorithm = row->algorithm,
                                       .params = row->params };

    if (row->algorithm == NULL)
        snprintf(text_p, COLL_NAME_BYTES, "?");
    else
        nf_coll_wish_write(&wish, text_p, COLL_NAME_BYTES);
}

/* ---- for people ---- */

/* Four digits; microseconds. */
static void put_us(struct table *t, unsigned column, double us)
{
    if (!isfinite(us))
        table_set(t, column, "-");
    else
        table_set(t, column, "%.*f",
                  us < 10    ? 3
                  : us < 100 ? 2
                             : us < 1000,
                  us);
}

static bool has_group_library(const struct coll_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (isfinite(results->rows[i].group_us))
            return true;
    return false;
}

static void put_row(struct table *t, const struct coll_row *row, bool beside)
{
    unsigned column = 1;

    table_set(t, column++, "%" PRIu32, row->ranks);
    table_set(t, column++, "%" PRIu64, row->bytes);
    if (row->algorithm != NULL && row->algorithm->items == NF_ITEMS_SEGMENTS)
        table_set(t, column++, "%" PRIu32, row->segments);
    else
        table_set(t, column++, "-");
    if (row->us != NULL) {
        put_us(t, column++, row->summary.median);
        put_us(t, column++, row->summary.q1);
        put_us(t, column++, row->summary.q3);
    }
    put_us(t, column++, row->predicted_us);
    if (row->us != NULL && row->bytes > 0)
        table_set(t, column++, "%.4g",
                  (double)row->bytes / row->summary.median);
    else if (row->us != NULL)
        table_set(t, column++, "-");
    if (beside)
        put_us(t, column++, row->group_us);
}

static bool is_ordered(const struct coll_results *results)
{
    return results->count > 0 && results->rows[0].ordered;
}

/* By the operator that was gone by. */
static double combine_byte_us(const struct coll_results *results)
{
    struct nf_coll_query query =
        bench_query(NF_COLL_REDUCE, 2, 8, is_ordered(results));

    return coll_network(&results->model, &query).price.combine_byte_us;
}

/* NULL: there is none */
static const char *route_of(const struct coll_results *results)
{
    if (!results->has_routes)
        return NULL;
    return results->model.route == NF_MODEL_ROUTE_DIRECT ? "direct" : "daemon";
}

static void print_model(const struct coll_results *results, FILE *to)
{
    const struct nf_model *model = &results->model;

    fprintf(to, "# T(m) =");
    for (uint32_t i = 0; i < model->npieces; i++)
        fprintf(to, "%s %.4g + %.4g m%s", i > 0 ? "," : "",
                model->pieces[i].start_us, model->pieces[i].byte_us,
                model->npieces > 1 ? "" : " us");
    for (uint32_t i = 1; i < model->npieces; i++)
        fprintf(to, "%s %.0f", i == 1 ? " us; from" : ",",
                model->pieces[i].from_bytes);
    for (uint32_t i = 0; i < model->nnear; i++)
        fprintf(to, "%s %.4g + %.4g m", i > 0 ? "," : "; within a host",
                model->near[i].start_us, model->near[i].byte_us);
    fprintf(to, "; delta %.3g; combining a byte %.3g us; %s", model->delta,
            combine_byte_us(results), results->model_source);
    if (model->share_us > 0)
        fprintf(to, "; shared processors %.3g us a message", model->share_us);
    if (route_of(results) != NULL)
        fprintf(to, "; route %s", route_of(results));
    fputc('\n', to);
}

void coll_report_print(const struct coll_results *results, FILE *to)
{
    static const char *const live[] = { "P",     "bytes",      "k",
                                        "us",    "quartile 1", "quartile 3",
                                        "model", "MB/s",       "libgpvm3" };
    static const char *const predicted[] = { "P", "bytes", "k", "model us" };
    bool ran = results->transport != NULL, beside = has_group_library(results);
    unsigned columns = ran ? 9u + beside : 5u;
    struct table table;

    print_model(results, to);
    if (is_ordered(results))
        fprintf(to, "# by an operator that does not commute\n");
    table_init(&table, columns, false);
    if (table_add_row(&table, "algorithm") == NF_OK)
        for (unsigned i = 1; i < columns; i++)
            table_set(&table, i, "%s", ran ? live[i - 1] : predicted[i - 1]);
    for (size_t i = 0; i < results->count; i++) {
        const struct coll_row *row = &results->rows[i];
        char label[COLL_NAME_BYTES + 8], name[COLL_NAME_BYTES];

        coll_row_name(row, name);
        snprintf(label, sizeof(label), "%s%s", name,
                 row->chosen ? " (auto)" : "");
        if (table_add_row(&table, label) == NF_OK)
            put_row(&table, row, beside);
    }
    table_print(&table, LABEL_WIDEST, to);
    table_fini(&table);
}

/* ---- for programs ---- */

/* Nanoseconds are as fine as the clock. */
static json_t *real_or_null(double us)
{
    return isfinite(us) ? json_real(round(us * 1e3) / 1e3) : json_null();
}

/* All digits: nothing but the formula made them. */
static json_t *predicted_json(double us)
{
    return isfinite(us) ? json_real(us) : json_null();
}

static json_t *reals_json(const double *us, unsigned count)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < count; i++)
        json_array_append_new(list, real_or_null(us[i]));
    return list;
}

static json_t *row_json(const struct coll_row *row)
{
    bool has = row->us != NULL;
    char name[COLL_NAME_BYTES];

    coll_row_name(row, name);
    return json_pack(
        "{s:s, s:I, s:I, s:b, s:s?, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o}",
        "op", nf_coll_op_names[row->op], "slaves", (json_int_t)row->ranks,
        "bytes", (json_int_t)row->bytes, "ordered", (int)row->ordered,
        "algorithm", row->algorithm != NULL ? name : NULL, "segments",
        (json_int_t)row->segments, "auto", (int)row->chosen, "median_us",
        has ? real_or_null(row->summary.median) : json_null(), "q1_us",
        has ? real_or_null(row->summary.q1) : json_null(), "q3_us",
        has ? real_or_null(row->summary.q3) : json_null(), "predicted_us",
        predicted_json(row->predicted_us), "bandwidth_mbyte_s",
        has && row->bytes > 0
            ? real_or_null((double)row->bytes / row->summary.median)
            : json_null(),
        "libgpvm3_us", real_or_null(row->group_us), "samples_us",
        reals_json(row->us, has ? row->count : 0), "libgpvm3_samples_us",
        reals_json(row->group_samples_us, row->group_count));
}

static json_t *pieces_json(const struct nf_model_piece *pieces, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:f, s:f, s:f}", "from_bytes",
                            pieces[i].from_bytes, "start_us",
                            pieces[i].start_us, "byte_us", pieces[i].byte_us));
    return list;
}

static json_t *model_json(const struct coll_results *results)
{
    const struct nf_model *model = &results->model;

    return json_pack("{s:s, s:s?, s:o, s:o, s:f, s:f, s:f, s:f, s:f}", "source",
                     results->model_source, "route", route_of(results),
                     "pieces", pieces_json(model->pieces, model->npieces),
                     "within_host", pieces_json(model->near, model->nnear),
                     "delta", model->delta, "occupancy_us",
                     model->occupancy_us, "share_us", model->share_us,
                     "share_part", model->share_part, "combine_byte_us",
                     combine_byte_us(results));
}

json_t *coll_report_json(const struct coll_results *results)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < results->count; i++)
        json_array_append_new(rows, row_json(&results->rows[i]));
    return json_pack("{s:s?, s:I, s:o, s:o}", "transport", results->transport,
                     "pause_us", (json_int_t)results->pause_us, "model",
                     model_json(results), "results", rows);
}

/* ---- for spreadsheets ---- */

static void put_field(FILE *to, double value)
{
    fputc(',', to);
    if (isfinite(value))
        fprintf(to, "%.3f", value);
}

enum nf_status coll_report_csv(const struct coll_results *results,
                               const char *path, struct nf_error *err)
{
    struct nf_output_text text;
    FILE *to;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    to = text.to;
    fputs("op,slaves,bytes,algorithm,segments,auto,repeats,min_us,q1_us,"
          "median_us,q3_us,max_us,predicted_us,libgpvm3_us,ordered\n",
          to);
    for (size_t i = 0; i < results->count; i++) {
        const struct coll_row *row = &results->rows[i];
        const struct stats_summary *s = &row->summary;
        const double none = NAN;
        char name[COLL_NAME_BYTES];

        coll_row_name(row, name);

        fprintf(to, "%s,%" PRIu32 ",%" PRIu64 ",%s,%" PRIu32 ",%d,%u",
                nf_coll_op_names[row->op], row->ranks, row->bytes,
                row->algorithm != NULL ? name : "", row->segments, row->chosen,
                row->count);
        put_field(to, row->us != NULL ? s->min : none);
        put_field(to, row->us != NULL ? s->q1 : none);
        put_field(to, row->us != NULL ? s->median : none);
        put_field(to, row->us != NULL ? s->q3 : none);
        put_field(to, row->us != NULL ? s->max : none);
        put_field(to, row->predicted_us);
        put_field(to, row->group_us);
        fprintf(to, ",%d\n", row->ordered);
    }
    return nf_output_text_close(&text, NF_OK, path, err);
}

/* ---- as a picture ---- */

struct drawing {
    struct plot_series series[SERIES_MAX];
    char labels[SERIES_MAX][COLL_NAME_BYTES];
    double *x, *y; /* [SERIES_MAX][rows] */
    size_t nseries;
};

static void add_point(struct drawing *d, const struct coll_row *row,
                      size_t rows, bool by_ranks)
{
    size_t s = 0;
    char label[COLL_NAME_BYTES] = "auto";
    double y = row->us != NULL ? row->summary.median : row->predicted_us;

    if (row->algorithm == NULL || !isfinite(y))
        return;
    if (!row->chosen)
        coll_row_name(row, label);
    while (s < d->nseries && strcmp(d->labels[s], label) != 0)
        s++;
    if (s == SERIES_MAX)
        return;
    if (s == d->nseries) {
        memcpy(d->labels[s], label, sizeof(label));
        d->series[d->nseries++] = (struct plot_series){
            .label = d->labels[s],
            .x = d->x + s * rows,
            .y = d->y + s * rows,
        };
    }
    d->x[s * rows + d->series[s].n] =
        by_ranks ? (double)row->ranks : (double)row->bytes;
    d->y[s * rows + d->series[s].n++] = y;
}

enum nf_status coll_report_plot(const struct coll_results *results,
                                const char *path, struct nf_error *err)
{
    struct drawing d = { .nseries = 0 };
    struct plot plot = { .kind = PLOT_LINES, .mark = NAN, .y_label = "us" };
    size_t rows = results->count;
    char title[96];
    bool by_ranks = false;
    enum nf_status status;

    if (rows == 0)
        return nf_fail(err, NF_ERR_FAILED, "nothing to draw");
    d.x = nf_calloc(SERIES_MAX, rows * sizeof(double));
    d.y = nf_calloc(SERIES_MAX, rows * sizeof(double));
    if (d.x == NULL || d.y == NULL) {
        nf_free(d.x);
        nf_free(d.y);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < rows; i++)
        by_ranks |= results->rows[i].ranks != results->rows[0].ranks;
    for (size_t i = 0; i < rows; i++)
        add_point(&d, &results->rows[i], rows, by_ranks);
    if (by_ranks)
        snprintf(title, sizeof(title), "%s, %" PRIu64 " bytes",
                 nf_coll_op_names[results->rows[0].op], results->rows[0].bytes);
    else
        snprintf(title, sizeof(title), "%s, P = %" PRIu32,
                 nf_coll_op_names[results->rows[0].op], results->rows[0].ranks);
    plot.title = title;
    plot.subtitle = results->transport != NULL
                        ? "median time of the slowest member"
                        : "by the model";
    plot.x_label = by_ranks ? "members" : "bytes";
    plot.log_x = plot.log_y = true;
    plot.series = d.series;
    plot.nseries = d.nseries;
    status = plot_write(&plot, path, err);
    nf_free(d.x);
    nf_free(d.y);
    return status;
}
