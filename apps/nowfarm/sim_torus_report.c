#include "config.h"
#include "apps/nowfarm/sim_torus_report.h"
#include <assert.h>
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

/* One of the results, and what it is about. */
struct item {
    const struct sim_torus_point *point;
    const struct sim_torus_shape *shape;
    const struct sim_torus_algorithm *algorithm;
    uint32_t bytes;
};

static size_t items_of(const struct sim_torus_report *r)
{
    return (size_t)r->nshapes * r->sizes.count * r->nalgorithms;
}

static struct item item_at(const struct sim_torus_report *r, size_t i)
{
    size_t sizes = r->sizes.count, algorithms = r->nalgorithms, place;

    assert(sizes > 0 && algorithms > 0);
    place = i / algorithms;
    return (struct item){
        &r->point[i],
        &r->shape[place / sizes],
        &r->algorithm[i % algorithms],
        r->sizes.value[place % sizes],
    };
}

const char *sim_torus_short(const struct sim_torus_algorithm *algorithm)
{
    return algorithm->name + strlen("alltoall.");
}

/* ---- text ---- */

static const char *verdict(const struct sim_torus_report *r,
                           const struct item *item)
{
    if (sim_torus_is_broken(r, item->algorithm, item->point))
        return "yes, against its promise";
    if (item->point->stuck[0] != '\0')
        return "stuck";
    if (!sim_torus_is_free(item->point))
        return "yes";
    return sim_torus_is_promised(r, item->algorithm) ? "none, as promised" : "none";
}

static enum nf_status add_row(const struct sim_torus_report *r,
                              const struct item *item, struct table *table)
{
    const struct sim_torus_point *p = item->point;

    if (table_add_row(table, sim_torus_short(item->algorithm)) != NF_OK)
        return NF_ERR_NOMEM;
    if (p->left_out[0] != '\0') {
        for (unsigned c = 1; c <= 8; c++)
            table_set(table, c, "-");
        return NF_OK;
    }
    table_set(table, 1, "%u", p->steps);
    table_set(table, 2, "%" PRIu64, p->volume);
    table_set(table, 3, "%u", p->channel_messages);
    if (p->stuck[0] == '\0') {
        table_set(table, 4, "%.2f", (double)p->result.time * SIM_TICK_US);
        table_set(table, 5, "%.2f", (double)p->result.ideal * SIM_TICK_US);
        table_set(table, 6, "%" PRIu64, p->result.waits);
        table_set(table, 7, "%" PRIu64, p->result.shared);
    }
    table_set(table, 8, "%s", verdict(r, item));
    return NF_OK;
}

/* The algorithms on one torus, with blocks of one size. */
static enum nf_status print_table(const struct sim_torus_report *r, size_t from)
{
    static const char *const heads[] = { "steps",     "V",          "a channel",
                                         "time [us]", "alone [us]", "blocked",
                                         "shared",    "contention" };
    struct table table;
    enum nf_status status;

    table_init(&table, 9, true);
    status = table_add_row(&table, "algorithm");
    for (unsigned c = 0; c < 8 && status == NF_OK; c++)
        table_set(&table, c + 1, "%s", heads[c]);
    for (size_t i = from; i < from + r->nalgorithms && status == NF_OK; i++) {
        struct item item = item_at(r, i);

        if (item.point->fits)
            status = add_row(r, &item, &table);
    }
    if (status == NF_OK)
        table_print(&table, 40, stdout);
    for (size_t i = from; i < from + r->nalgorithms && status == NF_OK; i++) {
        const struct sim_torus_point *p = &r->point[i];

        if (p->stuck[0] != '\0' || p->left_out[0] != '\0')
            printf("%s: %s\n", sim_torus_short(item_at(r, i).algorithm),
                   p->stuck[0] != '\0' ? p->stuck : p->left_out);
    }
    table_fini(&table);
    return status;
}

int sim_torus_text(const struct sim_torus_report *r)
{
    for (size_t i = 0; i < items_of(r); i += r->nalgorithms) {
        struct item item = item_at(r, i);

        printf("%storus %s, blocks of %" PRIu32 " bytes\n", i > 0 ? "\n" : "",
               item.shape->text, item.bytes);
        if (print_table(r, i) != NF_OK)
            return nf_memory_error();
    }
    printf("\nV: blocks of the largest message of each step; a channel: "
           "messages that one has in\na step, at most; alone: if no message "
           "waited for another; blocked: headers that\nfound a channel busy; "
           "shared: channels taken while the other lane of their link was.\n"
           "%s\n",
           r->setup.pace == NF_PACE_STEPS
               ? "Each step begins when all have what came before."
               : "A node begins a step when it has what came to it before.");
    return nf_finish_output();
}

/* ---- JSON and CSV ---- */

static json_t *sides_json(const struct nf_mesh *mesh)
{
    json_t *sides = json_array();

    for (uint32_t d = 0; d < mesh->dims; d++)
        json_array_append_new(sides, json_integer(mesh->side[d]));
    return sides;
}

static json_t *item_json(const struct sim_torus_report *r,
                         const struct item *item)
{
    const struct sim_torus_point *p = item->point;
    json_t *object = json_pack(
        "{s:o, s:I, s:I, s:s}", "shape", sides_json(&item->shape->mesh),
        "nodes", (json_int_t)item->shape->mesh.nodes, "block_bytes",
        (json_int_t)item->bytes, "algorithm", item->algorithm->name);

    if (object == NULL)
        return NULL;
    if (p->left_out[0] != '\0') {
        json_object_set_new(object, "left_out", json_string(p->left_out));
        return object;
    }
    json_object_update_new(
        object,
        json_pack("{s:I, s:I, s:I, s:I, s:b, s:b}", "steps",
                  (json_int_t)p->steps, "volume_blocks", (json_int_t)p->volume,
                  "contended_blocks", (json_int_t)p->contended,
                  "channel_messages", (json_int_t)p->channel_messages,
                  "free_promised", sim_torus_is_promised(r, item->algorithm),
                  "free", sim_torus_is_free(p)));
    if (p->stuck[0] != '\0') {
        json_object_set_new(object, "stuck", json_string(p->stuck));
        return object;
    }
    json_object_update_new(
        object,
        json_pack("{s:I, s:f, s:I, s:f, s:I, s:f, s:I}", "time_ticks",
                  (json_int_t)p->result.time, "time_us",
                  (double)p->result.time * SIM_TICK_US, "ideal_ticks",
                  (json_int_t)p->result.ideal, "ideal_us",
                  (double)p->result.ideal * SIM_TICK_US, "blocked_headers",
                  (json_int_t)p->result.waits, "header_wait_us",
                  (double)p->result.waited * SIM_TICK_US, "shared_links",
                  (json_int_t)p->result.shared));
    return object;
}

int sim_torus_json(const struct sim_torus_report *r)
{
    const struct nf_mesh_costs *costs = &r->setup.costs;
    json_t *points = json_array(), *object;

    for (size_t i = 0; i < items_of(r); i++) {
        struct item item = item_at(r, i);

        if (item.point->fits)
            json_array_append_new(points, item_json(r, &item));
    }
    object =
        json_pack("{s:s, s:i, s:f, s:{s:I, s:I, s:I, s:I, s:I}, s:o}", "pace",
                  r->setup.pace == NF_PACE_STEPS ? "steps" : "free", "lanes",
                  r->one_lane ? 1 : 2, "tick_us", SIM_TICK_US, "costs_ticks",
                  "send_fixed", (json_int_t)costs->send_fixed, "send_byte",
                  (json_int_t)costs->send_byte, "hop", (json_int_t)costs->hop,
                  "recv_fixed", (json_int_t)costs->recv_fixed, "recv_byte",
                  (json_int_t)costs->recv_byte, "points", points);
    /* a single one is told directly too */
    if (object != NULL && json_array_size(points) == 1)
        json_object_update(object, json_array_get(points, 0));
    return nf_print_json(object);
}

static void print_csv(const struct sim_torus_report *r, FILE *to)
{
    fputs("shape,nodes,block_bytes,algorithm,steps,volume_blocks,"
          "contended_blocks,channel_messages,free_promised,free,time_us,"
          "ideal_us,blocked_headers,header_wait_us,shared_links\n",
          to);
    for (size_t i = 0; i < items_of(r); i++) {
        struct item item = item_at(r, i);
        const struct sim_torus_point *p = item.point;

        if (!p->fits)
            continue;
        fprintf(to, "%s,%" PRIu32 ",%" PRIu32 ",%s,", item.shape->text,
                item.shape->mesh.nodes, item.bytes, item.algorithm->name);
        if (p->left_out[0] != '\0') {
            fputs(",,,,,,,,,,\n", to);
            continue;
        }
        fprintf(to, "%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%d,%d,",
                p->steps, p->volume, p->contended, p->channel_messages,
                sim_torus_is_promised(r, item.algorithm), sim_torus_is_free(p));
        if (p->stuck[0] != '\0')
            fputs(",,,,\n", to);
        else
            fprintf(to, "%.2f,%.2f,%" PRIu64 ",%.2f,%" PRIu64 "\n",
                    (double)p->result.time * SIM_TICK_US,
                    (double)p->result.ideal * SIM_TICK_US, p->result.waits,
                    (double)p->result.waited * SIM_TICK_US, p->result.shared);
    }
}

enum nf_status sim_torus_csv(const struct sim_torus_report *r, const char *path,
                             struct nf_error *err)
{
    struct nf_output_text text;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    print_csv(r, text.to);
    return nf_output_text_close(&text, NF_OK, path, err);
}

/* ---- plot ---- */

/* N of N x N, else 0. */
static uint32_t square(const struct nf_mesh *mesh)
{
    return mesh->dims == 2 && mesh->side[0] == mesh->side[1] ? mesh->side[0]
                                                             : 0;
}

static bool all_are_square(const struct sim_torus_report *r)
{
    for (uint32_t i = 0; i < r->nshapes; i++)
        if (square(&r->shape[i].mesh) == 0)
            return false;
    return true;
}

static bool all_have_bytes(const struct sim_torus_report *r)
{
    for (uint32_t i = 0; i < r->sizes.count; i++)
        if (r->sizes.value[i] == 0)
            return false;
    return true;
}

/* An algorithm's times, where it has any: a single node needs none.
 * @return how many */
static size_t fill_series(const struct sim_torus_report *r, uint32_t algorithm,
                          double x[SIM_LIST_MAX], double y[SIM_LIST_MAX])
{
    bool by_size = r->sizes.count > 1, by_n = all_are_square(r);
    size_t n = 0;

    for (size_t i = algorithm; i < items_of(r); i += r->nalgorithms) {
        struct item item = item_at(r, i);
        const struct nf_mesh *mesh = &item.shape->mesh;

        if (!item.point->fits || item.point->result.time == 0)
            continue;
        x[n] = by_size ? item.bytes : by_n ? square(mesh) : mesh->nodes;
        y[n++] = (double)item.point->result.time * SIM_TICK_US;
    }
    return n;
}

enum nf_status sim_torus_plot(const struct sim_torus_report *r,
                              const char *path, struct nf_error *err)
{
    double x[SIM_LIST_MAX][SIM_LIST_MAX], y[SIM_LIST_MAX][SIM_LIST_MAX];
    struct plot_series series[SIM_LIST_MAX];
    bool by_size = r->sizes.count > 1;
    char title[200];
    struct plot plot = {
        .kind = PLOT_LINES,
        .title = title,
        .subtitle = r->setup.pace == NF_PACE_STEPS
                        ? "all begin each step at once"
                        : "each node begins a step when it can",
        .x_label = by_size             ? "block [bytes]"
                   : all_are_square(r) ? "N of N x N"
                                       : "nodes",
        .y_label = "exchange [us]",
        .series = series,
        .mark = NAN,
        .log_x = by_size && all_have_bytes(r),
        .log_y = true,
    };

    if (r->nshapes == 1)
        snprintf(title, sizeof(title), "all-to-all, torus %s",
                 r->shape[0].text);
    else
        snprintf(title, sizeof(title),
                 "all-to-all on tori, blocks of %" PRIu32 " bytes",
                 r->sizes.value[0]);
    for (uint32_t a = 0; a < r->nalgorithms; a++) {
        size_t n = fill_series(r, a, x[a], y[a]);

        if (n == 0)
            continue;
        series[plot.nseries++] = (struct plot_series){
            .label = sim_torus_short(&r->algorithm[a]),
            .x = x[a],
            .y = y[a],
            .n = n,
        };
    }
    if (plot.nseries == 0)
        return nf_fail(err, NF_ERR_FAILED, "%s: there is nothing to draw",
                       path);
    return plot_write(&plot, path, err);
}
