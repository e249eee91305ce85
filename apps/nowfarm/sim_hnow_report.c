#include "config.h"
#include "apps/nowfarm/sim_hnow_report.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/plot.h"
#include "apps/nowfarm/table.h"
#include "apps/output.h"
#include "common/base/error.h"

/* Columns that belong together; NF_HNOW_COUNT ends the list. */
struct part {
    const char *title;
    int decimals;
    enum nf_hnow_column column[8];
};

static const struct part parts[] = {
    { "Figure 3: mean time in us, blocking and not",
      0,
      { NF_HNOW_FEF_B, NF_HNOW_FEF_NB, NF_HNOW_ECEF_B, NF_HNOW_ECEF_NB,
        NF_HNOW_COUNT } },
    { "Figure 4: what Algorithm 1 gains, in us",
      1,
      { NF_HNOW_FEF_GAIN, NF_HNOW_ECEF_GAIN, NF_HNOW_COUNT } },
    { "Mean time in us, not blocking, reordered by Algorithm 1",
      0,
      { NF_HNOW_FEF_A1, NF_HNOW_ECEF_A1, NF_HNOW_LA_A1, NF_HNOW_FNF_A1,
        NF_HNOW_CRL, NF_HNOW_COUNT } },
    { "Means of ratios: LB is a time that no tree beats",
      3,
      { NF_HNOW_CRL_RATIO, NF_HNOW_CRL_BOUND, NF_HNOW_COUNT } },
};

enum { NPARTS = sizeof(parts) / sizeof(parts[0]) };

static unsigned columns_of(const struct part *part)
{
    unsigned count = 0;

    while (part->column[count] != NF_HNOW_COUNT)
        count++;
    return count;
}

/* ---- text ---- */

static enum nf_status fill(const struct sim_hnow_report *r,
                           const struct part *part, struct table *table)
{
    unsigned columns = columns_of(part);
    char label[16];

    if (table_add_row(table, "nodes") != NF_OK)
        return NF_ERR_NOMEM;
    for (unsigned c = 0; c < columns; c++)
        table_set(table, c + 1, "%s", nf_hnow_names[part->column[c]]);
    for (uint32_t i = 0; i < r->count; i++) {
        snprintf(label, sizeof(label), "%" PRIu32, r->row[i].nodes);
        if (table_add_row(table, label) != NF_OK)
            return NF_ERR_NOMEM;
        for (unsigned c = 0; c < columns; c++)
            table_set(table, c + 1, "%.*f", part->decimals,
                      r->row[i].summary[part->column[c]].mean);
    }
    return NF_OK;
}

int sim_hnow_text(const struct sim_hnow_report *r)
{
    enum nf_status status = NF_OK;

    printf("sim hnow: %" PRIu64 " bytes to all, %" PRIu32
           " random networks for each number of nodes\n",
           r->bytes, r->runs);
    for (int i = 0; i < NPARTS && status == NF_OK; i++) {
        struct table table;

        table_init(&table, columns_of(&parts[i]) + 1, false);
        status = fill(r, &parts[i], &table);
        printf("\n%s\n", parts[i].title);
        if (status == NF_OK)
            table_print(&table, 16, stdout);
        table_fini(&table);
    }
    return status == NF_OK ? nf_finish_output() : nf_memory_error();
}

/* ---- JSON ---- */

static json_t *row_json(const struct sim_hnow_report *r, uint32_t i)
{
    json_t *results = json_object();

    for (int c = 0; c < NF_HNOW_COUNT; c++) {
        const struct nf_hnow_summary *s = &r->row[i].summary[c];

        json_object_set_new(
            results, nf_hnow_names[c],
            json_pack("{s:f, s:f, s:I, s:f, s:f}", "mean", s->mean, "sd", s->sd,
                      "n", (json_int_t)r->runs, "min", s->min, "max", s->max));
    }
    return json_pack("{s:I, s:I, s:I, s:o}", "n", (json_int_t)r->row[i].nodes,
                     "bytes", (json_int_t)r->bytes, "runs", (json_int_t)r->runs,
                     "results", results);
}

int sim_hnow_json(const struct sim_hnow_report *r)
{
    json_t *rows;

    if (r->count == 1)
        return nf_print_json_digits(row_json(r, 0), 15);
    rows = json_array();
    for (uint32_t i = 0; i < r->count; i++)
        json_array_append_new(rows, row_json(r, i));
    return nf_print_json_digits(json_pack("{s:I, s:I, s:o}", "bytes",
                                          (json_int_t)r->bytes, "runs",
                                          (json_int_t)r->runs, "rows", rows),
                                15);
}

/* ---- CSV ---- */

static void print_csv(const struct sim_hnow_report *r, FILE *to)
{
    fprintf(to, "nodes,bytes,runs,what,mean,sd,min,max\n");
    for (uint32_t i = 0; i < r->count; i++)
        for (int c = 0; c < NF_HNOW_COUNT; c++) {
            const struct nf_hnow_summary *s = &r->row[i].summary[c];

            fprintf(to, "%" PRIu32 ",%" PRIu64 ",%" PRIu32 ",", r->row[i].nodes,
                    r->bytes, r->runs);
            table_print_csv(nf_hnow_names[c], to);
            fprintf(to, ",%.9g,%.9g,%.9g,%.9g\n", s->mean, s->sd, s->min,
                    s->max);
        }
}

enum nf_status sim_hnow_csv(const struct sim_hnow_report *r, const char *path,
                            struct nf_error *err)
{
    struct nf_output_text text;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    print_csv(r, text.to);
    return nf_output_text_close(&text, NF_OK, path, err);
}

/* ---- pictures ---- */

const char *sim_hnow_plot_name(const struct sim_hnow_report *r,
                               const char *path, unsigned figure,
                               char name_p[SIM_HNOW_PATH_BYTES])
{
    const char *dot = strrchr(path, '.');
    size_t before = dot != NULL ? (size_t)(dot - path) : strlen(path);

    if (strlen(path) + 4 > SIM_HNOW_PATH_BYTES)
        return NULL;
    if (r->figure != 0)
        snprintf(name_p, SIM_HNOW_PATH_BYTES, "%s", path);
    else
        snprintf(name_p, SIM_HNOW_PATH_BYTES, "%.*s-%u%s", (int)before, path,
                 figure, path + before);
    return name_p;
}

static enum nf_status draw(const struct sim_hnow_report *r, unsigned figure,
                           const char *path, struct nf_error *err)
{
    const struct part *part = &parts[figure - 3];
    unsigned columns = columns_of(part);
    double x[SIM_HNOW_LIST_MAX], y[4][SIM_HNOW_LIST_MAX];
    struct plot_series series[4];
    char subtitle[120];

    snprintf(subtitle, sizeof(subtitle),
             "%" PRIu64 " bytes, means of %" PRIu32 " random networks",
             r->bytes, r->runs);
    for (unsigned c = 0; c < columns; c++) {
        for (uint32_t i = 0; i < r->count; i++) {
            x[i] = r->row[i].nodes;
            y[c][i] = r->row[i].summary[part->column[c]].mean;
        }
        series[c] = (struct plot_series){
            .label = nf_hnow_names[part->column[c]],
            .x = x,
            .y = y[c],
            .n = r->count,
        };
    }
    return plot_write(&(struct plot){ .kind = PLOT_LINES,
                                      .title = part->title,
                                      .subtitle = subtitle,
                                      .x_label = "nodes",
                                      .y_label = "us",
                                      .series = series,
                                      .nseries = columns,
                                      .mark = NAN },
                      path, err);
}

enum nf_status sim_hnow_plot(const struct sim_hnow_report *r, const char *path,
                             struct nf_error *err)
{
    enum nf_status status = NF_OK;
    char name[SIM_HNOW_PATH_BYTES];

    for (unsigned figure = 3; figure <= 4 && status == NF_OK; figure++)
        if (r->figure == 0 || r->figure == figure)
            status =
                draw(r, figure, sim_hnow_plot_name(r, path, figure, name), err);
    return status;
}
