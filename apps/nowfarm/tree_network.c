/* Trees for hosts that differ: everything is priced by the curves of a model
 * file, ports included, or by parameters, so that different trees can be
 * compared. */
#include "config.h"
#include "apps/nowfarm/tree_network.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/plan_network.h"
#include "apps/nowfarm/tree_svg.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/json/reader.h"
#include "common/model/homogeneous.h"
#include "common/model/network_file.h"
#include "common/model/params_file.h"
#include "common/tree/hnow_table.h"
#include "common/tree/times.h"
#include "common/tree/uniform.h"

#define BYTES_MAX (UINT64_C(1) << 40)

struct work {
    const struct tree_network_options *options;
    bool is_measured;          /* or given by parameters */
    struct nf_network network; /* what was measured */
    struct nf_hetero hetero;   /* of that, borrowed, or of parameters */
    char (*names)[NF_NETWORK_NAME_BYTES]; /* [hosts] */
    uint32_t root;
    uint64_t bytes;
    struct nf_crl_plan plan;
    bool reordered;   /* its order is that of Algorithm 1 */
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

static int read_root(struct work *w)
{
    if (w->options->root == NULL)
        return NF_EXIT_OK;
    return plan_network_host("--root", w->options->root,
                             w->is_measured ? &w->network : NULL,
                             w->hetero.hosts, w->options->network, &w->root);
}

static enum nf_status name_hosts(struct work *w, struct nf_error *err)
{
    w->names = nf_calloc(w->hetero.hosts, sizeof(*w->names));
    if (w->names == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t v = 0; v < w->hetero.hosts; v++)
        if (w->is_measured)
            memcpy(w->names[v], w->network.hosts[v].name, sizeof(*w->names));
        else
            snprintf(w->names[v], sizeof(*w->names), "%u", v);
    return NF_OK;
}

/* A model, or parameters. */
static enum nf_status load(struct work *w, struct nf_error *err)
{
    const char *path = w->options->network;
    struct nf_json_document document = { .root = NULL };
    char *text = NULL;
    size_t bytes = 0;
    enum nf_status status = nf_json_load(path, &text, &bytes, err);

    if (status == NF_OK)
        status = nf_json_parse(text, bytes, path, &document, err);
    w->is_measured = status == NF_OK && !nf_params_are(&document);
    if (status == NF_OK)
        status = w->is_measured
                     ? nf_network_from_json(&document, &w->network, err)
                     : nf_params_read(&document, &w->hetero, &w->root, err);
    nf_json_document_fini(&document);
    nf_free(text);
    if (status != NF_OK)
        return status;
    if (w->is_measured)
        w->hetero = nf_network_hetero(&w->network, true);
    return name_hosts(w, err);
}

static int read_network(struct work *w)
{
    char text[200];
    struct nf_error err;
    enum nf_status status = load(w, &err);

    if (status == NF_ERR_NOMEM)
        return nf_failure(&err);
    if (status != NF_OK)
        return nf_usage_error("--network %s", err.text);
    if (!w->is_measured)
        return NF_EXIT_OK;
    if (nf_network_check_date(&w->network, nf_date_now_s(), w->options->network,
                              &err) != NF_OK)
        return nf_usage_error("--network %s", err.text);
    if (nf_network_is_old(&w->network, nf_date_now_s(), NULL, 0, text,
                          sizeof(text)))
        fprintf(stderr, "nowfarm: %s: %s\n", w->options->network, text);
    return NF_EXIT_OK;
}

/* ---- the tree ---- */

/* Of the median host of what was measured. */
static enum nf_status median_costs(const struct work *w, double *hold_us_p,
                                   double *end_us_p)
{
    struct nf_parameterized model;

    if (nf_parameterized_of(&w->network, &model) != NF_OK)
        return NF_ERR_NOMEM;
    *hold_us_p = nf_curve_us(&model.hold, (double)w->bytes);
    *end_us_p = nf_curve_us(&model.end, (double)w->bytes);
    return NF_OK;
}

/* Of the mean of all pairs. */
static enum nf_status mean_costs(const struct work *w, double *hold_us_p,
                                 double *end_us_p)
{
    uint32_t n = w->hetero.hosts;
    double pairs = n > 1 ? (double)n * (n - 1) : 1, hold_us = 0, end_us = 0;
    struct nf_hops hops;
    enum nf_status status =
        nf_hops_init_segments(&hops, &w->hetero, (double)w->bytes, 1);

    if (status != NF_OK)
        return status;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (i != j) {
                hold_us += nf_hops_hold(&hops, i, j) / pairs;
                end_us += nf_hops_time(&hops, i, j) / pairs;
            }
    nf_hops_fini(&hops);
    *hold_us_p = hold_us;
    *end_us_p = end_us;
    return NF_OK;
}

/* In units of which a million make a microsecond, or fewer of long times. */
static enum nf_status make_uniform(struct work *w,
                                   const struct nf_uniform_algorithm *algorithm,
                                   struct nf_error *err)
{
    struct nf_uniform_args args = { .nodes = w->hetero.hosts,
                                    .root = w->root,
                                    .uniform = { .ports = 1 } };
    double hold_us = 0, end_us = 0, scale = 1e6;
    enum nf_status status = w->is_measured ? median_costs(w, &hold_us, &end_us)
                                           : mean_costs(w, &hold_us, &end_us);

    if (status != NF_OK)
        return nf_fail(err, status, "out of memory");
    if (fmax(hold_us, end_us) * scale > (double)NF_UNIFORM_TIME_MAX)
        scale = (double)NF_UNIFORM_TIME_MAX / fmax(hold_us, end_us);
    args.uniform.hold = llround(hold_us * scale);
    args.uniform.end = llround(end_us * scale);
    w->plan.segments = 1;
    w->plan.segment_bytes = w->bytes;
    return nf_uniform_make(algorithm, &args, &w->plan.tree, err);
}

/* Of the plan's segments. */
static enum nf_status hops_of(const struct work *w, struct nf_hops *hops_p)
{
    return nf_hops_init_segments(
        hops_p, &w->hetero, (double)w->plan.segment_bytes, w->plan.segments);
}

/* When who is ready. */
static enum nf_status tell_times(struct work *w, const struct nf_hops *hops)
{
    return w->options->is_blocking
               ? nf_tree_times(&w->plan.tree, hops, true, w->ready_us,
                               &w->plan.time_us)
               : nf_tree_pipe_times(&w->plan.tree, hops, w->plan.segments,
                                    w->ready_us, &w->plan.time_us);
}

/* Where links or ports differ Algorithm 1 may lose: then the order stays.
 * @param w  its times are those of the order that there is; they are set anew */
static enum nf_status reorder(struct work *w, const struct nf_hops *hops)
{
    struct nf_tree *tree = &w->plan.tree;
    size_t bytes = tree->nodes * sizeof(*tree->child);
    uint32_t *child = nf_malloc(bytes);
    double before_us = w->plan.time_us;
    enum nf_status status = NF_ERR_NOMEM;

    if (child != NULL) {
        memcpy(child, tree->child, bytes - sizeof(*child));
        status = nf_tree_reorder(tree, hops, w->plan.segments, NULL);
    }
    if (status == NF_OK)
        status = tell_times(w, hops);
    w->reordered = status == NF_OK && w->plan.time_us <= before_us;
    if (status == NF_OK && !w->reordered) {
        memcpy(tree->child, child, bytes - sizeof(*child));
        status = tell_times(w, hops);
    }
    nf_free(child);
    return status;
}

/* Another order of children, if that was asked for, and when who is ready. */
static enum nf_status set_times(struct work *w, struct nf_error *err)
{
    struct nf_hops hops = { .nodes = 0 };
    enum nf_status status;

    w->ready_us = nf_calloc(w->hetero.hosts, sizeof(*w->ready_us));
    status = w->ready_us != NULL ? hops_of(w, &hops) : NF_ERR_NOMEM;
    if (status == NF_OK)
        status = tell_times(w, &hops);
    if (status == NF_OK && w->options->reorder)
        status = reorder(w, &hops);
    nf_hops_fini(&hops);
    return status == NF_OK ? NF_OK : nf_fail(err, status, "out of memory");
}

static enum nf_status make(struct work *w, struct nf_error *err)
{
    const char *name = w->options->name;
    const struct nf_uniform_algorithm *uniform = nf_uniform_find(name);
    enum nf_status status =
        uniform != NULL ? make_uniform(w, uniform, err)
        : w->options->is_blocking
            ? nf_hnow_make_blocking(nf_hnow_find(name), &w->hetero, w->root,
                                    w->bytes, &w->plan, err)
            : nf_hnow_make(nf_hnow_find(name), &w->hetero, w->root, w->bytes,
                           &w->plan, err);

    return status == NF_OK ? set_times(w, err) : status;
}

/* ---- what is said of it ---- */

static const char *name_of(const struct work *w, uint32_t v)
{
    return w->names[v];
}

static void describe(const struct work *w, char *text, size_t bytes)
{
    uint32_t others = w->hetero.hosts - 1;
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

static json_t *children_of(const struct work *w, uint32_t v, bool by_name)
{
    const struct nf_tree *tree = &w->plan.tree;
    json_t *children = json_array();

    for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++)
        json_array_append_new(children,
                              by_name ? json_string(name_of(w, tree->child[c]))
                                      : json_integer(tree->child[c]));
    return children;
}

/* By name in "hosts"; by number in "ready" and "children", as of a tree for
 * hosts that are alike. */
static int print_json(const struct work *w)
{
    json_t *hosts = json_array(), *ready = json_array(),
           *children = json_array();
    json_t *root = w->is_measured ? json_string(name_of(w, w->root))
                                  : json_integer(w->root);

    for (uint32_t v = 0; v < w->plan.tree.nodes; v++) {
        json_array_append_new(hosts, json_pack("{s:s, s:f, s:o}", "name",
                                               name_of(w, v), "ready_us",
                                               w->ready_us[v], "children",
                                               children_of(w, v, true)));
        json_array_append_new(ready, json_real(w->ready_us[v]));
        json_array_append_new(children, children_of(w, v, false));
    }
    return nf_print_json(json_pack(
        "{s:s, s:I, s:o, s:I, s:I, s:I, s:b, s:b, s:f, s:f, s:o, s:o, s:o}",
        "algorithm", w->options->name, "nodes", (json_int_t)w->hetero.hosts,
        "root", root, "bytes", (json_int_t)w->bytes, "segment_bytes",
        (json_int_t)w->plan.segment_bytes, "segments",
        (json_int_t)w->plan.segments, "blocking", w->options->is_blocking,
        "reordered", w->reordered, "time", w->plan.time_us, "time_us",
        w->plan.time_us, "ready", ready, "children", children, "hosts", hosts));
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

/* When the sender has its hands free of the message to @p to, and the port
 * too. */
static double hands_free(const struct work *w, const struct nf_hops *hops,
                         struct picture *p, uint32_t to, double hands_us)
{
    uint32_t v = w->plan.tree.parent[to];
    double begun_us;

    p->start[to] = hands_us;
    if (w->options->is_blocking)
        return p->free[to] = p->ready[to];
    hands_us += hops->send[v];
    /* from when it began to leave, for which it may have waited: for the port,
     * and on a hub for the medium */
    begun_us = p->ready[to] - hops->recv[to] - nf_hops_wire(hops, v, to);
    p->free[to] = fmax(
        hands_us,
        begun_us + fmax(nf_hops_port(hops, v, to) - nf_hops_spare(hops, v), 0));
    return hands_us;
}

/* Of one segment. */
static enum nf_status fill(const struct work *w, const struct nf_hops *hops,
                           struct picture *p)
{
    const struct nf_tree *tree = &w->plan.tree;
    double last_us;
    enum nf_status status =
        nf_tree_times(tree, hops, w->options->is_blocking, p->ready, &last_us);

    for (uint32_t v = 0; v < tree->nodes && status == NF_OK; v++) {
        double hands_us = p->ready[v];

        for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++)
            hands_us = hands_free(w, hops, p, tree->child[c], hands_us);
    }
    return status;
}

/* What bounds the pace. */
static void describe_pace(const struct work *w, const struct nf_busy *busy,
                          char *text, size_t bytes)
{
    const struct nf_busy_row *most = nf_busy_most(busy);
    static const char *const part[] = { "the hands of", "the port of",
                                        "the link to" };
    uint32_t row = (uint32_t)(most - busy->rows), n = busy->nodes;
    double busy_us = most->recv_us + most->send_us,
           share = busy->end_us > 0 ? 100 * busy_us / busy->end_us : 0;

    if (most == nf_busy_medium(busy))
        snprintf(text, bytes, "Busiest: the medium, %.0f %% of the time",
                 share);
    else
        snprintf(text, bytes, "Busiest: %s %s, %.0f %% of the time",
                 part[row / n], name_of(w, row % n), share);
}

static enum nf_status write_picture(const struct work *w,
                                    const struct picture *p,
                                    const struct nf_busy *busy,
                                    struct nf_error *err)
{
    char what[300], pace[200];
    struct tree_picture picture = { .tree = &w->plan.tree,
                                    .title = what,
                                    .subtitle = w->options->network,
                                    .time_label = "time [us]",
                                    .busy = busy,
                                    .start = p->start,
                                    .free = p->free,
                                    .ready = p->ready,
                                    .label = p->label };
    struct nf_output_text text;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    describe(w, what, sizeof(what));
    if (busy != NULL) {
        describe_pace(w, busy, pace, sizeof(pace));
        picture.subtitle = pace;
    }
    return nf_output_text_close(&text, tree_svg(text.to, &picture),
                                w->options->draw, err);
}

/* One message, send by send, or what all segments keep busy. */
static enum nf_status draw_with(const struct work *w,
                                const struct nf_hops *hops, struct picture *p,
                                struct nf_error *err)
{
    struct nf_busy busy;
    enum nf_status status;

    for (uint32_t v = 0; v < w->hetero.hosts; v++)
        set_label(p->label[v], name_of(w, v));
    if (w->plan.segments == 1)
        return fill(w, hops, p) == NF_OK
                   ? write_picture(w, p, NULL, err)
                   : nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = nf_busy_make(&w->plan.tree, hops, w->plan.segments,
                          tree_svg_columns(w->hetero.hosts), &busy);
    if (status != NF_OK)
        return nf_fail(err, status, "out of memory");
    memcpy(p->ready, w->ready_us, w->hetero.hosts * sizeof(*p->ready));
    status = write_picture(w, p, &busy, err);
    nf_busy_fini(&busy);
    return status;
}

static enum nf_status draw(const struct work *w, struct nf_error *err)
{
    uint32_t n = w->hetero.hosts;
    struct picture p = { .start = nf_calloc(n, sizeof(*p.start)),
                         .free = nf_calloc(n, sizeof(*p.free)),
                         .ready = nf_calloc(n, sizeof(*p.ready)),
                         .label = nf_calloc(n, sizeof(*p.label)) };
    struct nf_hops hops = { .nodes = 0 };
    enum nf_status status;

    if (p.start == NULL || p.free == NULL || p.ready == NULL ||
        p.label == NULL || hops_of(w, &hops) != NF_OK)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    else
        status = draw_with(w, &hops, &p, err);
    nf_hops_fini(&hops);
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
    if (options->is_blocking && options->reorder)
        return nf_usage_error("--reorder: is for sends that do not block");
    rc = read_size(&w);
    if (rc == NF_EXIT_OK)
        rc = read_network(&w);
    if (rc == NF_EXIT_OK && options->draw != NULL &&
        w.hetero.hosts > TREE_SVG_NODES_MAX)
        rc = nf_usage_error("--draw %s: want at most %d hosts to draw",
                            options->draw, TREE_SVG_NODES_MAX);
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
    nf_free(w.names);
    if (!w.is_measured)
        nf_hetero_fini(&w.hetero);
    nf_network_fini(&w.network);
    return rc;
}
