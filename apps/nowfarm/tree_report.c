#include "config.h"
#include "apps/nowfarm/tree_report.h"
#include <stdio.h>
#include <stdlib.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/tree_svg.h"
#include "apps/output.h"
#include "common/base/alloc.h"

enum { TIME_BYTES = 32 };

/* "135" or "130.5".  @return text */
static const char *time_text(int64_t time, char text[TIME_BYTES])
{
    snprintf(text, TIME_BYTES, "%.12g", (double)time / TREE_TIME_SCALE);
    return text;
}

/* Whole numbers are integers, so that they are compared as such. */
static json_t *time_json(int64_t time)
{
    if (time % TREE_TIME_SCALE == 0)
        return json_integer(time / TREE_TIME_SCALE);
    return json_real((double)time / TREE_TIME_SCALE);
}

/* "7", or with a mesh "3,2".  @return text */
static const char *label_of(const struct tree_report *r, uint32_t v,
                            char text[TREE_SVG_LABEL_BYTES])
{
    uint32_t address[NF_MESH_DIMS_MAX];
    size_t bytes = 0;

    if (r->place == NULL) {
        snprintf(text, TREE_SVG_LABEL_BYTES, "%u", v);
        return text;
    }
    nf_mesh_address(&r->mesh, r->place[v], address);
    for (uint32_t d = 0; d < r->mesh.dims && bytes < TREE_SVG_LABEL_BYTES; d++)
        bytes += (size_t)snprintf(text + bytes, TREE_SVG_LABEL_BYTES - bytes,
                                  "%s%u", d > 0 ? "," : "", address[d]);
    return text;
}

/* Does it count?  One port may be held for longer. */
static bool has_interval(const struct nf_uniform *uniform)
{
    return uniform->ports > 1 || uniform->interval > uniform->hold;
}

static void describe(const struct tree_report *r, char *text, size_t bytes)
{
    char hold[TIME_BYTES], end[TIME_BYTES], interval[TIME_BYTES];
    int used = snprintf(text, bytes, "%u node%s, hold %s, end %s",
                        r->tree.nodes, r->tree.nodes == 1 ? "" : "s",
                        time_text(r->uniform.hold, hold),
                        time_text(r->uniform.end, end));

    if (has_interval(&r->uniform))
        snprintf(text + used, bytes - (size_t)used,
                 r->uniform.ports > 1 ? ", %u ports %s apart"
                                      : ", %u port, sends %s apart",
                 r->uniform.ports, time_text(r->uniform.interval, interval));
}

int tree_report_text(const struct tree_report *r)
{
    const struct nf_tree *tree = &r->tree;
    char what[160], time[TIME_BYTES], label[TREE_SVG_LABEL_BYTES];

    describe(r, what, sizeof(what));
    printf("%s: %s: ready after %s\n\n%10s %12s %10s  %s\n", r->algorithm->name,
           what, time_text(nf_uniform_last(r->ready, tree->nodes), time),
           "node", "ready", "from", "sends to");
    for (uint32_t v = 0; v < tree->nodes; v++) {
        printf("%10s %12s", label_of(r, v, label),
               time_text(r->ready[v], time));
        printf(" %10s",
               v == tree->root ? "-" : label_of(r, tree->parent[v], label));
        for (uint32_t i = tree->first[v]; i < tree->first[v + 1]; i++)
            printf("%s%s", i == tree->first[v] ? "  " : " ",
                   label_of(r, tree->child[i], label));
        putchar('\n');
    }
    return nf_finish_output();
}

/* ---- JSON ---- */

static json_t *children_json(const struct nf_tree *tree)
{
    json_t *all = json_array();

    for (uint32_t v = 0; v < tree->nodes; v++) {
        json_t *list = json_array();

        for (uint32_t i = tree->first[v]; i < tree->first[v + 1]; i++)
            json_array_append_new(list, json_integer(tree->child[i]));
        json_array_append_new(all, list);
    }
    return all;
}

static json_t *addresses_json(const struct tree_report *r)
{
    json_t *all = json_array();

    for (uint32_t v = 0; v < r->tree.nodes; v++) {
        uint32_t address[NF_MESH_DIMS_MAX];
        json_t *list = json_array();

        nf_mesh_address(&r->mesh, r->place[v], address);
        for (uint32_t d = 0; d < r->mesh.dims; d++)
            json_array_append_new(list, json_integer(address[d]));
        json_array_append_new(all, list);
    }
    return all;
}

int tree_report_json(const struct tree_report *r)
{
    json_t *ready = json_array(), *object;

    for (uint32_t v = 0; v < r->tree.nodes; v++)
        json_array_append_new(ready, time_json(r->ready[v]));
    object = json_pack(
        "{s:s, s:I, s:I, s:o, s:o, s:I, s:o, s:o, s:o}", "algorithm",
        r->algorithm->name, "nodes", (json_int_t)r->tree.nodes, "root",
        (json_int_t)r->tree.root, "hold", time_json(r->uniform.hold), "end",
        time_json(r->uniform.end), "ports", (json_int_t)r->uniform.ports,
        "time", time_json(nf_uniform_last(r->ready, r->tree.nodes)), "ready",
        ready, "children", children_json(&r->tree));
    if (object != NULL && has_interval(&r->uniform))
        json_object_set_new(object, "interval", time_json(r->uniform.interval));
    if (object != NULL && r->place != NULL)
        json_object_set_new(object, "addresses", addresses_json(r));
    return nf_print_json(object);
}

/* ---- the picture ---- */

struct times {
    double *start, *free, *ready;
    char (*label)[TREE_SVG_LABEL_BYTES];
};

static double seen(int64_t time)
{
    return (double)time / TREE_TIME_SCALE;
}

static void fill_times(const struct tree_report *r, struct times *times)
{
    const struct nf_tree *tree = &r->tree;
    /* sends through several ports overlap: show when the next one may begin */
    int64_t busy = r->uniform.ports > 1 ? r->uniform.interval
                                        : nf_uniform_hold(&r->uniform);

    for (uint32_t v = 0; v < tree->nodes; v++) {
        label_of(r, v, times->label[v]);
        times->ready[v] = seen(r->ready[v]);
        for (uint32_t i = tree->first[v]; i < tree->first[v + 1]; i++) {
            uint32_t child = tree->child[i];
            int64_t start = r->ready[child] - r->uniform.end;

            times->start[child] = seen(start);
            times->free[child] = seen(start + busy);
        }
    }
}

static enum nf_status write_picture(const struct tree_report *r,
                                    const struct times *times, const char *path,
                                    struct nf_error *err)
{
    char title[160], what[160], time[TIME_BYTES];
    struct tree_picture picture = { .tree = &r->tree,
                                    .title = title,
                                    .subtitle = what,
                                    .time_label =
                                        "time, in the unit of hold and end",
                                    .start = times->start,
                                    .free = times->free,
                                    .ready = times->ready,
                                    .label = times->label };
    struct nf_output_text text;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    describe(r, what, sizeof(what));
    snprintf(title, sizeof(title), "%s: all ready after %s", r->algorithm->name,
             time_text(nf_uniform_last(r->ready, r->tree.nodes), time));
    return nf_output_text_close(&text, tree_svg(text.to, &picture), path, err);
}

enum nf_status tree_report_draw(const struct tree_report *r, const char *path,
                                struct nf_error *err)
{
    uint32_t nodes = r->tree.nodes;
    struct times times = {
        .start = nf_calloc(nodes, sizeof(*times.start)),
        .free = nf_calloc(nodes, sizeof(*times.free)),
        .ready = nf_calloc(nodes, sizeof(*times.ready)),
        .label = nf_calloc(nodes, sizeof(*times.label)),
    };
    enum nf_status status;

    if (times.start == NULL || times.free == NULL || times.ready == NULL ||
        times.label == NULL) {
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    } else {
        fill_times(r, &times);
        status = write_picture(r, &times, path, err);
    }
    nf_free(times.start);
    nf_free(times.free);
    nf_free(times.ready);
    nf_free(times.label);
    return status;
}
