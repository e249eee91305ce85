/* Trees for a measured network: everything is priced by the curves of the model
 * file, ports included, so that different trees can be compared. */
#include "config.h"
#include "apps/nowfarm/tree_network.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/tree_svg.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/units.h"
#include "common/model/homogeneous.h"
#include "common/model/network_file.h"
#include "common/tree/hnow_table.h"
#include "common/tree/times.h"
#include "common/tree/uniform.h"

#define BYTES_MAX (UINT64_C(1) << 40)

struct work {
    const struct tree_network_options *options;
    struct nf_network network;
    struct nf_hetero hetero;
    uint32_t root;
    uint64_t bytes;
    struct nf_crl_plan plan;
    double *ready_us; /* [hosts], of the last segment */
};

/* ---- what is asked for ---- */

static int read_size(struct work *w)
{
    const char *text = w->options->size;

    if (text == NULL)
        return nf_usage_error("--size is missing (see --help)");
    if (nf_parse_bytes(text, &w->bytes) != NF_OK || w->bytes > BYTES_MAX)
        return nf_usage_error("--size %s: want a size with its unit up to "
                              "1TiB, as 64KiB",
                              text);
    return NF_EXIT_OK;
}

/* A host's name, or its place in the file. */
static int read_root(struct work *w)
{
    const char *text = w->options->root;
    uint64_t place = 0;

    if (text == NULL)
        return NF_EXIT_OK;
    w->root = nf_network_find(&w->network, text);
    if (w->root < w->network.nhosts)
        return NF_EXIT_OK;
    if (nf_parse_count(text, 0, w->network.nhosts - 1, &place) != NF_OK)
        return nf_usage_error("--root %s: want one of the %u hosts of %s, or "
                              "its number from 0",
                              text, w->network.nhosts, w->options->network);
    w->root = (uint32_t)place;
    return NF_EXIT_OK;
}

static int read_network(struct work *w)
{
    char text[200];
    struct nf_error err;
    enum nf_status status =
        nf_network_read(w->options->network, &w->network, &err);

    if (status == NF_ERR_NOMEM)
        return nf_failure(&err);
    if (status != NF_OK)
        return nf_usage_error("--network %s", err.text);
    if (nf_network_date_s(w->network.model.date) >
        (int64_t)time(NULL) + NF_NETWORK_AHEAD_S)
        return nf_usage_error("--network %s: date: %s is still to come",
                              w->options->network, w->network.model.date);
    w->hetero = nf_network_hetero(&w->network, true);
    if (nf_network_is_old(&w->network, time(NULL), NULL, 0, text, sizeof(text)))
        fprintf(stderr, "nowfarm: %s: %s\n", w->options->network, text);
    return NF_EXIT_OK;
}

/* ---- the tree ---- */

/* In units of which a million make a microsecond, or fewer of long times. */
static enum nf_status make_uniform(struct work *w,
                                   const struct nf_uniform_algorithm *algorithm,
                                   struct nf_error *err)
{
    struct nf_uniform_args args = { .nodes = w->network.nhosts,
                                    .root = w->root,
                                    .uniform = { .ports = 1 } };
    double bytes = (double)w->bytes, hold_us, end_us, scale = 1e6;
    struct nf_parameterized model;

    if (nf_parameterized_of(&w->network, &model) != NF_OK)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    hold_us = nf_curve_us(&model.hold, bytes);
    end_us = nf_curve_us(&model.end, bytes);
    if (fmax(hold_us, end_us) * scale > (double)NF_UNIFORM_TIME_MAX)
        scale = (double)NF_UNIFORM_TIME_MAX / fmax(hold_us, end_us);
    args.uniform.hold = (int64_t)(hold_us * scale);
    args.uniform.end = (int64_t)(end_us * scale);
    w->plan.segments = 1;
    w->plan.segment_bytes = w->bytes;
    return nf_uniform_make(algorithm, &args, &w->plan.tree, err);
}

static enum nf_status make(struct work *w, struct nf_error *err)
{
    const char *name = w->options->name;
    const struct nf_uniform_algorithm *uniform = nf_uniform_find(name);
    struct nf_hops hops = { .nodes = 0 };
    enum nf_status status =
        uniform != NULL ? make_uniform(w, uniform, err)
                        : nf_hnow_make(nf_hnow_find(name), &w->hetero, w->root,
                                       w->bytes, &w->plan, err);

    if (status != NF_OK)
        return status;
    w->ready_us = nf_calloc(w->network.nhosts, sizeof(*w->ready_us));
    status = w->ready_us != NULL ? nf_hops_init(&hops, &w->hetero,
                                                (double)w->plan.segment_bytes)
                                 : NF_ERR_NOMEM;
    if (status == NF_OK)
        status = nf_tree_pipe_times(&w->plan.tree, &hops, w->plan.segments,
                                    w->ready_us, &w->plan.time_us);
    nf_hops_fini(&hops);
    return status == NF_OK ? NF_OK : nf_fail(err, status, "out of memory");
}

/* ---- what is said of it ---- */

static const char *name_of(const struct work *w, uint32_t v)
{
    return w->network.hosts[v].name;
}

static void describe(const struct work *w, char *text, size_t bytes)
{
    uint32_t others = w->network.nhosts - 1;
    int used =
        snprintf(text, bytes, "%s: %" PRIu64 " bytes from %s to %u host%s",
                 w->options->name, w->bytes, name_of(w, w->root), others,
                 others == 1 ? "" : "s");

    if (w->plan.segments > 1 && used > 0 && (size_t)used < bytes)
        snprintf(text + used, bytes - (size_t)used,
                 " in %" PRIu64 " segments of %" PRIu64, w->plan.segments,
                 w->plan.segment_bytes);
}

static int print_text(const struct work *w)
{
    const struct nf_tree *tree = &w->plan.tree;
    char what[300];

    describe(w, what, sizeof(what));
    printf("%s: %.1f us\n\n%-20s %12s  %-20s %s\n", what, w->plan.time_us,
           "host", "ready [us]", "from", "sends to");
    for (uint32_t v = 0; v < tree->nodes; v++) {
        bool is_leaf = tree->first[v] == tree->first[v + 1];

        printf("%-20s %12.1f  %-*s", name_of(w, v), w->ready_us[v],
               is_leaf ? 0 : 20,
               v == tree->root ? "-" : name_of(w, tree->parent[v]));
        for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++)
            printf(" %s", name_of(w, tree->child[c]));
        putchar('\n');
    }
    return nf_finish_output();
}

static int print_json(const struct work *w)
{
    const struct nf_tree *tree = &w->plan.tree;
    json_t *hosts = json_array();

    for (uint32_t v = 0; v < tree->nodes; v++) {
        json_t *children = json_array();

        for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++)
            json_array_append_new(children,
                                  json_string(name_of(w, tree->child[c])));
        json_array_append_new(
            hosts, json_pack("{s:s, s:f, s:o}", "name", name_of(w, v),
                             "ready_us", w->ready_us[v], "children", children));
    }
    return nf_print_json(json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:f, s:o}", "algorithm", w->options->name,
        "root", name_of(w, w->root), "bytes", (json_int_t)w->bytes,
        "segment_bytes", (json_int_t)w->plan.segment_bytes, "segments",
        (json_int_t)w->plan.segments, "time_us", w->plan.time_us, "hosts",
        hosts));
}

/* ---- the picture ---- */

struct picture {
    double *start, *free, *ready;
    char (*label)[TREE_SVG_LABEL_BYTES];
};

/* As much of a name, which is UTF-8, as fits, no character of it in part. */
static void set_label(char label[TREE_SVG_LABEL_BYTES], const char *name)
{
    size_t bytes = strnlen(name, TREE_SVG_LABEL_BYTES);

    if (bytes == TREE_SVG_LABEL_BYTES) {
        bytes--;
        while (bytes > 0 && ((unsigned char)name[bytes] & 0xc0) == 0x80)
            bytes--;
    }
    memcpy(label, name, bytes);
    label[bytes] = '\0';
}

/* Of the first segment. */
static enum nf_status fill(const struct work *w, struct picture *p)
{
    const struct nf_tree *tree = &w->plan.tree;
    struct nf_hops hops;
    double last_us;
    enum nf_status status =
        nf_hops_init(&hops, &w->hetero, (double)w->plan.segment_bytes);

    if (status == NF_OK)
        status = nf_tree_times(tree, &hops, false, p->ready, &last_us);
    for (uint32_t v = 0; v < tree->nodes && status == NF_OK; v++) {
        double hands_us = p->ready[v];

        set_label(p->label[v], name_of(w, v));
        for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++) {
            uint32_t to = tree->child[c];
            double begun_us;

            p->start[to] = hands_us;
            hands_us += hops.send[v];
            /* from when it began to leave, for which it may have waited: for
             * the port, and on a hub for the medium */
            begun_us = p->ready[to] - hops.recv[to] - nf_hops_wire(&hops, v, to);
            p->free[to] =
                fmax(hands_us, begun_us + nf_hops_port(&hops, v, to));
        }
    }
    nf_hops_fini(&hops);
    return status;
}

static enum nf_status write_picture(const struct work *w,
                                    const struct picture *p,
                                    struct nf_error *err)
{
    char what[300];
    struct tree_picture picture = { .tree = &w->plan.tree,
                                    .title = what,
                                    .subtitle = w->plan.segments > 1
                                                    ? "the first segment"
                                                    : w->options->network,
                                    .time_label = "time [us]",
                                    .start = p->start,
                                    .free = p->free,
                                    .ready = p->ready,
                                    .label = p->label };
    struct nf_output_text text;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    describe(w, what, sizeof(what));
    return nf_output_text_close(&text, tree_svg(text.to, &picture),
                                w->options->draw, err);
}

static enum nf_status draw(const struct work *w, struct nf_error *err)
{
    uint32_t n = w->network.nhosts;
    struct picture p = { .start = nf_calloc(n, sizeof(*p.start)),
                         .free = nf_calloc(n, sizeof(*p.free)),
                         .ready = nf_calloc(n, sizeof(*p.ready)),
                         .label = nf_calloc(n, sizeof(*p.label)) };
    enum nf_status status;

    if (p.start == NULL || p.free == NULL || p.ready == NULL ||
        p.label == NULL || fill(w, &p) != NF_OK)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    else
        status = write_picture(w, &p, err);
    nf_free(p.start);
    nf_free(p.free);
    nf_free(p.ready);
    nf_free(p.label);
    return status;
}

int tree_network(const struct tree_network_options *options)
{
    struct work w = { .options = options };
    struct nf_error err;
    int rc;

    if (nf_hnow_find(options->name) == NULL &&
        nf_uniform_find(options->name) == NULL)
        return nf_usage_error("tree: no tree \"%s\" (see: nowfarm trees)",
                              options->name);
    rc = read_size(&w);
    if (rc == NF_EXIT_OK)
        rc = read_network(&w);
    if (rc == NF_EXIT_OK)
        rc = read_root(&w);
    if (rc == NF_EXIT_OK) {
        enum nf_status status = make(&w, &err);

        if (status == NF_ERR_RANGE || status == NF_ERR_INVAL)
            rc = nf_usage_error("tree: %s", err.text);
        else if (status != NF_OK)
            rc = nf_failure(&err);
    }
    if (rc == NF_EXIT_OK && options->draw != NULL && draw(&w, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK)
        rc = options->json ? print_json(&w) : print_text(&w);
    nf_crl_plan_fini(&w.plan);
    nf_free(w.ready_us);
    nf_network_fini(&w.network);
    return rc;
}
