/* Table 1 as nowfarm sim torus tells it. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/plot.h"
#include "apps/nowfarm/sim_torus_report.h"
#include "apps/nowfarm/table.h"
#include "apps/output.h"
#include "common/base/error.h"

static const char *const names[NF_TABLE_COLUMNS] = {
    [NF_TABLE_NAIVE] = "naive",
    [NF_TABLE_SPLIT_MERGE] = "split_merge0",
    [NF_TABLE_SPLIT_MERGE_BARE] = "split_merge",
    [NF_TABLE_MDH] = "mdh",
    [NF_TABLE_CYCLIC] = "cdh",
    [NF_TABLE_BRUCK] = "bruck_grid",
};

static bool is_papers(const struct nf_torus_row *row)
{
    return row->printed_naive > 0;
}

static bool is_as_printed(const struct nf_torus_row *row)
{
    return row->rings[NF_TABLE_NAIVE] == row->printed_naive &&
           row->rings[NF_TABLE_SPLIT_MERGE] == row->printed_split_merge &&
           row->rings[NF_TABLE_MDH] == row->printed_mdh &&
           row->tseng == row->printed_tseng;
}

/* ---- text ---- */

/* What a formula of the text says, and how far that is off. */
static void set_formula(struct table *table, unsigned column, uint32_t formula,
                        uint32_t right)
{
    if (formula == 0)
        table_set(table, column, "-");
    else if (formula == right)
        table_set(table, column, "%u", formula);
    else
        table_set(table, column, "%u (%+d)", formula,
                  (int)formula - (int)right);
}

static void set_count(struct table *table, unsigned column, uint32_t count)
{
    if (count > 0)
        table_set(table, column, "%u", count);
    else
        table_set(table, column, "-");
}

static void fill_row(const struct nf_torus_row *row, struct table *table)
{
    set_count(table, 1, row->rings[NF_TABLE_NAIVE]);
    set_count(table, 2, row->rings[NF_TABLE_SPLIT_MERGE]);
    set_formula(table, 3, row->text_split_merge,
                row->rings[NF_TABLE_SPLIT_MERGE]);
    set_count(table, 4, row->rings[NF_TABLE_MDH]);
    set_formula(table, 5, row->text_mdh, row->rings[NF_TABLE_MDH]);
    set_count(table, 6, row->tseng);
    set_count(table, 7, row->rings[NF_TABLE_SPLIT_MERGE_BARE]);
    set_count(table, 8, row->rings[NF_TABLE_CYCLIC]);
    set_count(table, 9, row->rings[NF_TABLE_BRUCK]);
    table_set(table, 10, "%s",
              row->n <= NF_TABLE_WHOLE_MAX ? "whole" : "rings");
    table_set(table, 11, "%s",
              !is_papers(row)      ? "-"
              : is_as_printed(row) ? "as printed"
                                   : "differs");
}

int sim_torus_table_text(const struct sim_torus_table *t)
{
    static const char *const heads[] = {
        "naive",      "split_merge0", "by text",     "mdh",
        "by text",    "Tseng",        "split_merge", "cdh",
        "bruck_grid", "found by",     "Table 1"
    };
    struct table table;
    enum nf_status status;

    printf("start-ups of exchanges on a torus of N x N\n");
    table_init(&table, 12, false);
    status = table_add_row(&table, "N");
    for (unsigned c = 0; c < 11 && status == NF_OK; c++)
        table_set(&table, c + 1, "%s", heads[c]);
    for (uint32_t i = 0; i < t->nrows && status == NF_OK; i++) {
        char n[20];

        snprintf(n, sizeof(n), "%u", t->row[i].n);
        status = table_add_row(&table, n);
        if (status == NF_OK)
            fill_row(&t->row[i], &table);
    }
    if (status == NF_OK)
        table_print(&table, 40, stdout);
    table_fini(&table);
    if (status != NF_OK)
        return nf_memory_error();
    printf("\nEach is counted from messages that were carried out: of the "
           "whole torus, or of\nits rings.  By text: N + 2 ceil(log2(N-1)) and "
           "2(floor(N/2)+1), as the paper's\ntext says, with what these are "
           "off; right are N + 2 ceil(log2 N) and N + 3.\n"
           "Tseng is a formula, 2^ceil(log2 N) + 4.\n");
    return nf_finish_output();
}

/* ---- JSON and CSV ---- */

/* Columns that there are for this N. */
static json_t *counts_json(const uint32_t counts[NF_TABLE_COLUMNS])
{
    json_t *object = json_object();

    for (int c = 0; c < NF_TABLE_COLUMNS; c++)
        if (counts[c] > 0)
            json_object_set_new(object, names[c], json_integer(counts[c]));
    return object;
}

static json_t *row_json(const struct nf_torus_row *row)
{
    json_t *object =
        json_pack("{s:I, s:o, s:I}", "n", (json_int_t)row->n, "rings",
                  counts_json(row->rings), "tseng", (json_int_t)row->tseng);

    if (object == NULL)
        return NULL;
    if (row->n <= NF_TABLE_WHOLE_MAX)
        json_object_set_new(object, "whole", counts_json(row->whole));
    if (row->text_mdh > 0)
        json_object_set_new(object, "by_text",
                            json_pack("{s:I, s:I}", "split_merge0",
                                      (json_int_t)row->text_split_merge, "mdh",
                                      (json_int_t)row->text_mdh));
    if (row->text_mdh > 0)
        json_object_set_new(
            object, "off_by_text",
            json_pack("{s:I, s:I}", "split_merge0",
                      (json_int_t)row->text_split_merge -
                          (json_int_t)row->rings[NF_TABLE_SPLIT_MERGE],
                      "mdh",
                      (json_int_t)row->text_mdh -
                          (json_int_t)row->rings[NF_TABLE_MDH]));
    if (is_papers(row))
        json_object_set_new(object, "printed",
                            json_pack("{s:I, s:I, s:I, s:I}", "naive",
                                      (json_int_t)row->printed_naive,
                                      "split_merge0",
                                      (json_int_t)row->printed_split_merge,
                                      "mdh", (json_int_t)row->printed_mdh,
                                      "tseng", (json_int_t)row->printed_tseng));
    return object;
}

int sim_torus_table_json(const struct sim_torus_table *t)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < t->nrows; i++)
        json_array_append_new(rows, row_json(&t->row[i]));
    return nf_print_json(json_pack("{s:o}", "rows", rows));
}

/* Of those that there are not, nothing. */
static void put_count(uint32_t count, FILE *to)
{
    if (count > 0)
        fprintf(to, ",%u", count);
    else
        fputc(',', to);
}

static void print_csv(const struct sim_torus_table *t, FILE *to)
{
    fputc('n', to);
    for (int c = 0; c < NF_TABLE_COLUMNS; c++)
        fprintf(to, ",%s", names[c]);
    for (int c = 0; c < NF_TABLE_COLUMNS; c++)
        fprintf(to, ",whole_%s", names[c]);
    fputs(",tseng,text_split_merge0,text_mdh,printed_naive,"
          "printed_split_merge0,printed_mdh,printed_tseng\n",
          to);
    for (uint32_t i = 0; i < t->nrows; i++) {
        const struct nf_torus_row *row = &t->row[i];

        fprintf(to, "%u", row->n);
        for (int c = 0; c < NF_TABLE_COLUMNS; c++)
            put_count(row->rings[c], to);
        for (int c = 0; c < NF_TABLE_COLUMNS; c++)
            put_count(row->whole[c], to);
        put_count(row->tseng, to);
        put_count(row->text_split_merge, to);
        put_count(row->text_mdh, to);
        put_count(row->printed_naive, to);
        put_count(row->printed_split_merge, to);
        put_count(row->printed_mdh, to);
        put_count(row->printed_tseng, to);
        fputc('\n', to);
    }
}

enum nf_status sim_torus_table_csv(const struct sim_torus_table *t,
                                   const char *path, struct nf_error *err)
{
    struct nf_output_text text;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    print_csv(t, text.to);
    return nf_output_text_close(&text, NF_OK, path, err);
}

/* ---- plot ---- */

enum nf_status sim_torus_table_plot(const struct sim_torus_table *t,
                                    const char *path, struct nf_error *err)
{
    double x[NF_TABLE_COLUMNS + 1][SIM_LIST_MAX],
        y[NF_TABLE_COLUMNS + 1][SIM_LIST_MAX];
    struct plot_series series[NF_TABLE_COLUMNS + 1];
    const struct plot plot = {
        .kind = PLOT_LINES,
        .title = "Start-ups of exchanges on a torus",
        .x_label = "N of N x N",
        .y_label = "start-ups",
        .series = series,
        .nseries = NF_TABLE_COLUMNS + 1,
        .mark = NAN,
        .log_x = true,
        .log_y = true,
    };

    for (int c = 0; c <= NF_TABLE_COLUMNS; c++) {
        size_t n = 0;

        for (uint32_t i = 0; i < t->nrows; i++) {
            const struct nf_torus_row *row = &t->row[i];
            uint32_t count = c < NF_TABLE_COLUMNS ? row->rings[c] : row->tseng;

            x[c][n] = row->n;
            y[c][n] = count;
            n += count > 0;
        }
        series[c] = (struct plot_series){
            .label = c < NF_TABLE_COLUMNS ? names[c] : "Tseng",
            .x = x[c],
            .y = y[c],
            .n = n,
        };
    }
    return plot_write(&plot, path, err);
}
