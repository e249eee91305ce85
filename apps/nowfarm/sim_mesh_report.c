#include "config.h"
#include "apps/nowfarm/sim_mesh_report.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/plot.h"
#include "apps/nowfarm/table.h"
#include "apps/output.h"

/* One of the results, and what it is about. */
struct point {
    const struct nf_mesh_study *study;
    uint32_t nodes, bytes;
    const char *algorithm;
};

static uint32_t points_of(const struct sim_mesh_report *r,
                          const struct sim_mesh_figure *figure)
{
    return figure->nodes.count * figure->bytes.count * r->nalgorithms;
}

static struct point point_at(const struct sim_mesh_report *r,
                             const struct sim_mesh_figure *figure, uint32_t i)
{
    uint32_t place = i / r->nalgorithms;

    return (struct point){
        &figure->study[i],
        figure->nodes.value[place / figure->bytes.count],
        figure->bytes.value[place % figure->bytes.count],
        r->algorithm[i % r->nalgorithms].name,
    };
}

/* Is x the size?  Else the number of nodes. */
static bool is_by_size(const struct sim_mesh_figure *figure)
{
    return figure->bytes.count > 1;
}

static void make_title(const struct sim_mesh_report *r,
                       const struct sim_mesh_figure *figure, char *text,
                       size_t bytes)
{
    int used = 0;

    if (figure->number > 0)
        used = snprintf(text, bytes, "Figure %u: ", figure->number);
    used += snprintf(text + used, bytes - (size_t)used, "%s %s",
                     r->cast.mesh.torus ? "torus" : "mesh", r->shape);
    if (figure->nodes.count == 1)
        used += snprintf(text + used, bytes - (size_t)used, ", %u nodes",
                         figure->nodes.value[0]);
    if (figure->bytes.count == 1)
        snprintf(text + used, bytes - (size_t)used, ", %u bytes",
                 figure->bytes.value[0]);
}

/* ---- text ---- */

static enum nf_status fill_table(const struct sim_mesh_report *r,
                                 const struct sim_mesh_figure *figure,
                                 struct table *table)
{
    bool by_size = is_by_size(figure),
         both = by_size && figure->nodes.count > 1;
    char label[40];

    if (table_add_row(table, both      ? "nodes, bytes"
                             : by_size ? "bytes"
                                       : "nodes") != NF_OK)
        return NF_ERR_NOMEM;
    for (uint32_t a = 0; a < r->nalgorithms; a++) {
        table_set(table, 1 + 2 * a, "%s [us]", r->algorithm[a].name);
        table_set(table, 2 + 2 * a, "blocked");
    }
    for (uint32_t i = 0; i < points_of(r, figure); i++) {
        struct point p = point_at(r, figure, i);
        uint32_t a = i % r->nalgorithms;

        if (both)
            snprintf(label, sizeof(label), "%u, %u", p.nodes, p.bytes);
        else
            snprintf(label, sizeof(label), "%u", by_size ? p.bytes : p.nodes);
        if (a == 0 && table_add_row(table, label) != NF_OK)
            return NF_ERR_NOMEM;
        table_set(table, 1 + 2 * a, "%.2f", p.study->mean * SIM_TICK_US);
        table_set(table, 2 + 2 * a, "%.1f", p.study->waits);
    }
    return NF_OK;
}

int sim_mesh_text(const struct sim_mesh_report *r)
{
    for (uint32_t f = 0; f < r->nfigures; f++) {
        struct table table;
        enum nf_status status;
        char title[200];

        make_title(r, &r->figure[f], title, sizeof(title));
        printf("%s%s\n", f > 0 ? "\n" : "", title);
        table_init(&table, 1 + 2 * r->nalgorithms, false);
        status = fill_table(r, &r->figure[f], &table);
        if (status == NF_OK)
            table_print(&table, 40, stdout);
        table_fini(&table);
        if (status != NF_OK)
            return nf_memory_error();
    }
    if (r->runs > 1)
        printf("\nTimes are means of %u random placements, from seed %llu on; "
               "blocked: headers\nthat found a channel busy.\n",
               r->runs, (unsigned long long)r->seed);
    return nf_finish_output();
}

/* ---- JSON and CSV ---- */

static json_t *point_json(const struct sim_mesh_report *r, unsigned figure,
                          const struct point *p)
{
    const struct nf_mesh_study *s = p->study;
    json_t *object = json_pack(
        "{s:I, s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "nodes",
        (json_int_t)p->nodes, "bytes", (json_int_t)p->bytes, "algorithm",
        p->algorithm, "mean_us", s->mean * SIM_TICK_US, "sd_us",
        s->deviation * SIM_TICK_US, "min_us", (double)s->least * SIM_TICK_US,
        "max_us", (double)s->most * SIM_TICK_US, "ideal_us",
        s->ideal * SIM_TICK_US, "blocked_headers", s->waits, "header_wait_us",
        s->waited * SIM_TICK_US);

    if (object != NULL && figure > 0)
        json_object_set_new(object, "figure", json_integer(figure));
    if (object != NULL && r->runs == 1) {
        json_object_set_new(object, "time_ticks", json_integer(s->most));
        json_object_set_new(object, "time_us",
                            json_real((double)s->most * SIM_TICK_US));
    }
    return object;
}

static json_t *costs_json(const struct nf_mesh_costs *costs)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "send_fixed",
                     (json_int_t)costs->send_fixed, "send_byte",
                     (json_int_t)costs->send_byte, "hop",
                     (json_int_t)costs->hop, "recv_fixed",
                     (json_int_t)costs->recv_fixed, "recv_byte",
                     (json_int_t)costs->recv_byte);
}

int sim_mesh_json(const struct sim_mesh_report *r)
{
    json_t *points = json_array(), *sides = json_array(), *object;

    for (uint32_t d = 0; d < r->cast.mesh.dims; d++)
        json_array_append_new(sides, json_integer(r->cast.mesh.side[d]));
    for (uint32_t f = 0; f < r->nfigures; f++)
        for (uint32_t i = 0; i < points_of(r, &r->figure[f]); i++) {
            struct point p = point_at(r, &r->figure[f], i);

            json_array_append_new(points,
                                  point_json(r, r->figure[f].number, &p));
        }
    object = json_pack("{s:o, s:b, s:s, s:I, s:I, s:o, s:f, s:I, s:I, s:o}",
                       "shape", sides, "torus", r->cast.mesh.torus, "routing",
                       r->cast.mesh.last_first ? "last" : "first", "ports",
                       (json_int_t)r->cast.ports, "interval_ticks",
                       (json_int_t)r->cast.interval, "costs_ticks",
                       costs_json(&r->cast.costs), "tick_us", SIM_TICK_US,
                       "seed", (json_int_t)r->seed, "runs", (json_int_t)r->runs,
                       "points", points);
    if (object != NULL && r->run != UINT64_MAX)
        json_object_set_new(object, "run", json_integer((json_int_t)r->run));
    /* a single one is told directly too */
    if (object != NULL && json_array_size(points) == 1)
        json_object_update(object, json_array_get(points, 0));
    return nf_print_json(object);
}

enum nf_status sim_mesh_csv(const struct sim_mesh_report *r, const char *path,
                            struct nf_error *err)
{
    struct nf_output_text text;
    FILE *to;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    to = text.to;
    fputs("figure,nodes,bytes,algorithm,runs,mean_us,sd_us,min_us,max_us,"
          "ideal_us,blocked_headers,header_wait_us\n",
          to);
    for (uint32_t f = 0; f < r->nfigures; f++)
        for (uint32_t i = 0; i < points_of(r, &r->figure[f]); i++) {
            struct point p = point_at(r, &r->figure[f], i);
            const struct nf_mesh_study *s = p.study;

            if (r->figure[f].number > 0)
                fprintf(to, "%u", r->figure[f].number);
            fprintf(to, ",%u,%u,%s,%u,%.6f,%.6f,%.2f,%.2f,%.2f,%.6f,%.6f\n",
                    p.nodes, p.bytes, p.algorithm, s->runs,
                    s->mean * SIM_TICK_US, s->deviation * SIM_TICK_US,
                    (double)s->least * SIM_TICK_US,
                    (double)s->most * SIM_TICK_US, s->ideal * SIM_TICK_US,
                    s->waits, s->waited * SIM_TICK_US);
        }
    return nf_output_text_close(&text, NF_OK, path, err);
}

/* ---- plots ---- */

const char *sim_mesh_plot_name(const struct sim_mesh_report *r,
                               const char *path, uint32_t index,
                               char name[SIM_MESH_PATH_BYTES])
{
    const char *suffix = strrchr(path, '.');
    int stem = suffix != NULL ? (int)(suffix - path) : (int)strlen(path);
    int used;

    if (r->nfigures == 1)
        used = snprintf(name, SIM_MESH_PATH_BYTES, "%s", path);
    else
        used = snprintf(name, SIM_MESH_PATH_BYTES, "%.*s-%u%s", stem, path,
                        r->figure[index].number, suffix != NULL ? suffix : "");
    return used < SIM_MESH_PATH_BYTES ? name : NULL;
}

static enum nf_status plot_one(const struct sim_mesh_report *r,
                               const struct sim_mesh_figure *figure,
                               const char *path, struct nf_error *err)
{
    double x[SIM_LIST_MAX], y[SIM_LIST_MAX][SIM_LIST_MAX];
    struct plot_series series[SIM_LIST_MAX];
    char title[200], subtitle[100];
    uint32_t n = points_of(r, figure) / r->nalgorithms;
    struct plot plot = {
        .kind = PLOT_LINES,
        .title = title,
        .subtitle = subtitle,
        .x_label = is_by_size(figure) ? "message [bytes]" : "nodes",
        .y_label = "multicast [us]",
        .series = series,
        .nseries = r->nalgorithms,
        .mark = NAN,
    };

    make_title(r, figure, title, sizeof(title));
    snprintf(subtitle, sizeof(subtitle), "mean of %u random placements",
             r->runs);
    for (uint32_t i = 0; i < points_of(r, figure); i++) {
        struct point p = point_at(r, figure, i);

        x[i / r->nalgorithms] = is_by_size(figure) ? p.bytes : p.nodes;
        y[i % r->nalgorithms][i / r->nalgorithms] = p.study->mean * SIM_TICK_US;
    }
    for (uint32_t a = 0; a < r->nalgorithms; a++)
        series[a] = (struct plot_series){
            .label = r->algorithm[a].name, .x = x, .y = y[a], .n = n
        };
    return plot_write(&plot, path, err);
}

enum nf_status sim_mesh_plot(const struct sim_mesh_report *r, const char *path,
                             struct nf_error *err)
{
    char name[SIM_MESH_PATH_BYTES];
    enum nf_status status = NF_OK;

    for (uint32_t f = 0; f < r->nfigures && status == NF_OK; f++) {
        const char *to = sim_mesh_plot_name(r, path, f, name);

        status = to != NULL
                     ? plot_one(r, &r->figure[f], to, err)
                     : nf_fail(err, NF_ERR_INVAL, "%.100s: too long", path);
    }
    return status;
}
