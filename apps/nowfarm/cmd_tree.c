/* nowfarm tree: a multicast tree for hosts that are alike. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands_tree.h"
#include "apps/nowfarm/tree_network.h"
#include "apps/nowfarm/tree_report.h"
#include "apps/nowfarm/tree_svg.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/tree/hnow_table.h"
#include "sim/mesh_cast.h"

/* Texts of options; NULL: not given. */
struct options {
    char *nodes, *hold, *end, *root, *ports, *interval, *shape, *at, *draw;
    char *network, *size;
    int blocking, reorder, json;
};

/* A number in the user's unit, which is the same for all, in thousandths. */
static int read_time(const char *option, const char *text, int64_t *time_p)
{
    double most = (double)NF_UNIFORM_TIME_MAX / TREE_TIME_SCALE, value, scaled;

    if (text == NULL)
        return nf_usage_error("%s is missing (see --help)", option);
    if (nf_parse_real(text, 0, most, &value) != NF_OK)
        return nf_usage_error("%s %s: want a number from 0 to %.0f", option,
                              text, most);
    scaled = value * TREE_TIME_SCALE;
    if (fabs(scaled - round(scaled)) > 1e-4)
        return nf_usage_error("%s %s: want at most three decimals", option,
                              text);
    *time_p = (int64_t)llround(scaled);
    return NF_EXIT_OK;
}

static int read_algorithm(const char *name, struct tree_report *report)
{
    if (name == NULL)
        return nf_usage_error("tree: which one? (see: nowfarm trees)");
    report->algorithm = nf_uniform_find(name);
    if (report->algorithm == NULL && nf_hnow_find(name) != NULL)
        return nf_usage_error("tree: %s is for hosts that differ: want "
                              "--network FILE",
                              name);
    if (report->algorithm == NULL)
        return nf_usage_error("tree: no tree \"%s\" (see: nowfarm trees)",
                              name);
    return NF_EXIT_OK;
}

static int read_model(const struct options *o, struct nf_uniform *uniform)
{
    uint64_t ports = 1;
    int rc = read_time("--hold", o->hold, &uniform->hold);

    if (rc == NF_EXIT_OK)
        rc = read_time("--end", o->end, &uniform->end);
    if (rc == NF_EXIT_OK && o->ports != NULL)
        rc =
            nf_read_count("--ports", o->ports, 1, NF_UNIFORM_PORTS_MAX, &ports);
    uniform->ports = (uint32_t)ports;
    if (rc == NF_EXIT_OK && o->ports == NULL && o->interval != NULL)
        rc = nf_usage_error("--interval %s: goes with --ports",
                            o->interval);
    if (rc == NF_EXIT_OK && (ports > 1 || o->interval != NULL))
        rc = read_time("--interval", o->interval, &uniform->interval);
    return rc;
}

/* ---- places of a mesh ---- */

/* One address, "3,2", of the list.  @return behind it, or NULL if it is none */
static const char *read_address(const char *at, const struct nf_mesh *mesh,
                                uint32_t *place_p)
{
    uint32_t address[NF_MESH_DIMS_MAX];

    for (uint32_t d = 0; d < mesh->dims; d++) {
        char *end;
        unsigned long value;

        if (*at < '0' || *at > '9')
            return NULL;
        value = strtoul(at, &end, 10);
        if (value >= mesh->side[d] || *end != (d + 1 < mesh->dims ? ',' : *end))
            return NULL;
        address[d] = (uint32_t)value;
        at = d + 1 < mesh->dims ? end + 1 : end;
    }
    *place_p = nf_mesh_node(mesh, address);
    return *at == '/' || *at == '\0' ? at : NULL;
}

static int read_places(const struct options *o, struct tree_report *report,
                       uint32_t *nodes_p)
{
    size_t most = 1;
    const char *at = o->at;
    struct nf_error err;

    if (o->shape == NULL || o->at == NULL)
        return nf_usage_error("--shape and --at go together: 6x6 and "
                              "3,2/4,4/1,5");
    if (o->root != NULL)
        return nf_usage_error("--root %s: with --at the first one is the root",
                              o->root);
    if (nf_mesh_parse(o->shape, &report->mesh, &err) != NF_OK)
        return nf_usage_error("--shape %s", err.text);
    for (const char *c = o->at; *c != '\0'; c++)
        most += *c == '/';
    report->place = nf_calloc(most, sizeof(*report->place));
    if (report->place == NULL)
        return nf_memory_error();
    for (*nodes_p = 0;; at++) {
        const char *next =
            read_address(at, &report->mesh, &report->place[*nodes_p]);

        if (next == NULL)
            return nf_usage_error("--at: want addresses in the mesh %s as in "
                                  "3,2/4,4, not %.40s",
                                  o->shape, at);
        ++*nodes_p;
        at = next;
        if (*at == '\0')
            return NF_EXIT_OK;
    }
}

/* How many, and which one is the root. */
static int read_nodes(const struct options *o, struct tree_report *report,
                      uint32_t *nodes_p, uint32_t *root_p)
{
    uint64_t nodes = 0, root = 0;
    int rc;

    *root_p = 0;
    if (o->shape != NULL || o->at != NULL) {
        rc = read_places(o, report, nodes_p);
        if (rc == NF_EXIT_OK && o->nodes != NULL)
            rc = nf_read_count("--nodes", o->nodes, *nodes_p, *nodes_p, &nodes);
        return rc;
    }
    rc = nf_read_count("--nodes", o->nodes, 1, NF_UNIFORM_NODES_MAX, &nodes);
    if (rc == NF_EXIT_OK && o->root != NULL)
        rc = nf_read_count("--root", o->root, 0, nodes - 1, &root);
    *nodes_p = (uint32_t)nodes;
    *root_p = (uint32_t)root;
    return rc;
}

static int check_draw(const char *path, uint32_t nodes)
{
    size_t length = strlen(path);
    struct nf_error err;

    if (length <= 4 || strcmp(path + length - 4, ".svg") != 0)
        return nf_usage_error("--draw %s: want a name that ends with .svg",
                              path);
    if (nodes > TREE_SVG_NODES_MAX)
        return nf_usage_error("--draw %s: want at most %d nodes to draw", path,
                              TREE_SVG_NODES_MAX);
    if (nf_output_check(path, &err) != NF_OK)
        return nf_usage_error("--draw %s", err.text);
    return NF_EXIT_OK;
}

/* ---- the tree ---- */

static enum nf_status make(struct tree_report *report, uint32_t nodes,
                           uint32_t root, struct nf_error *err)
{
    struct nf_uniform_args args = { .nodes = nodes,
                                    .root = root,
                                    .uniform = report->uniform };
    enum nf_status status =
        report->place != NULL
            ? nf_mesh_tree(&report->mesh, report->algorithm, &report->uniform,
                           report->place, nodes, &report->tree, err)
            : nf_uniform_make(report->algorithm, &args, &report->tree, err);

    if (status != NF_OK)
        return status;
    report->ready = nf_calloc(nodes, sizeof(*report->ready));
    if (report->ready == NULL ||
        nf_uniform_eval(&report->uniform, &report->tree, report->ready) !=
            NF_OK)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    return NF_OK;
}

/* Of hosts that differ. */
static int run_network(const struct options *o, const char *name)
{
    const struct tree_network_options options = {
        .name = name,
        .network = o->network,
        .root = o->root,
        .size = o->size,
        .draw = o->draw,
        .is_blocking = o->blocking != 0,
        .reorder = o->reorder != 0,
        .json = o->json != 0,
    };

    if (o->nodes != NULL || o->hold != NULL || o->end != NULL ||
        o->ports != NULL || o->interval != NULL || o->shape != NULL ||
        o->at != NULL)
        return nf_usage_error("tree: with --network, hosts and times are those "
                              "of %s (see --help)",
                              o->network);
    if (o->draw != NULL) {
        int rc = check_draw(o->draw, 0);

        if (rc != NF_EXIT_OK)
            return rc;
    }
    return tree_network(&options);
}

static int run(const struct options *o, const char *name)
{
    struct tree_report report = { .algorithm = NULL };
    struct nf_error err;
    uint32_t nodes = 0, root = 0;
    int rc;

    if (o->network != NULL && name != NULL)
        return run_network(o, name);
    if (o->size != NULL && o->network == NULL)
        return nf_usage_error("--size %s: goes with --network", o->size);
    if ((o->blocking || o->reorder) && o->network == NULL)
        return nf_usage_error("%s: goes with --network",
                              o->blocking ? "--blocking" : "--reorder");
    rc = read_algorithm(name, &report);
    if (rc == NF_EXIT_OK)
        rc = read_nodes(o, &report, &nodes, &root);
    if (rc == NF_EXIT_OK)
        rc = read_model(o, &report.uniform);
    if (rc == NF_EXIT_OK && o->draw != NULL)
        rc = check_draw(o->draw, nodes);
    if (rc == NF_EXIT_OK && make(&report, nodes, root, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK && o->draw != NULL &&
        tree_report_draw(&report, o->draw, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK)
        rc = o->json ? tree_report_json(&report) : tree_report_text(&report);
    nf_tree_fini(&report.tree);
    nf_free(report.ready);
    nf_free(report.place);
    return rc;
}

static void free_options(struct options *o)
{
    free(o->nodes);
    free(o->hold);
    free(o->end);
    free(o->root);
    free(o->ports);
    free(o->interval);
    free(o->shape);
    free(o->at);
    free(o->draw);
    free(o->network);
    free(o->size);
}

int nf_cmd_tree(int argc, const char **argv)
{
    struct options o = { .json = 0 };
    const struct poptOption options[] = {
        { "nodes", '\0', POPT_ARG_STRING, &o.nodes, 0,
          "how many take part, the root included", "K" },
        { "hold", '\0', POPT_ARG_STRING, &o.hold, 0,
          "between two sends of a node; in any unit, the same for all times",
          "H" },
        { "end", '\0', POPT_ARG_STRING, &o.end, 0,
          "from the start of a send until the message is there", "E" },
        { "root", '\0', POPT_ARG_STRING, &o.root, 0,
          "who has the message (0); of u-mesh and opt-mesh its place in the "
          "chain; with --network a host (the first one)",
          "R" },
        { "ports", '\0', POPT_ARG_STRING, &o.ports, 0,
          "of each node (1): a port is free again after H", "N" },
        { "interval", '\0', POPT_ARG_STRING, &o.interval, 0,
          "between sends, whatever the port; with --ports", "T" },
        { "shape", '\0', POPT_ARG_STRING, &o.shape, 0,
          "sides of a mesh, as 6x6, for --at", "SIDES" },
        { "at", '\0', POPT_ARG_STRING, &o.at, 0,
          "the nodes' addresses in the mesh, root first: 3,2/4,4/1,5", "LIST" },
        { "network", '\0', POPT_ARG_STRING, &o.network, 0,
          "instead of all these: hosts that differ, of a model or of "
          "parameters S_c S_m R_c R_m X_c X_m",
          "FILE" },
        { "blocking", '\0', POPT_ARG_NONE, &o.blocking, 0,
          "with --network: a sender waits until its receiver has the message",
          NULL },
        { "reorder", '\0', POPT_ARG_NONE, &o.reorder, 0,
          "with --network: whose messages go on longest are sent to first",
          NULL },
        { "size", '\0', POPT_ARG_STRING, &o.size, 0,
          "of the message, with --network, as 64KiB", "BYTES" },
        { "draw", '\0', POPT_ARG_STRING, &o.draw, 0,
          "draw the tree and its timing diagram", "FILE.svg" },
        { "json", '\0', POPT_ARG_NONE, &o.json, 0, "print one JSON object",
          NULL },
        POPT_AUTOHELP POPT_TABLEEND
    };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);
    const char *name;
    int rc;

    poptSetOtherOptionHelp(
        context,
        "TREE --nodes K --hold H --end E | TREE --network FILE --size BYTES");
    rc = nf_read_options(context);
    name = poptGetArg(context);
    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("tree: unexpected argument \"%s\"",
                            poptPeekArg(context));
    if (rc == NF_EXIT_OK)
        rc = run(&o, name);
    poptFreeContext(context);
    free_options(&o);
    return rc;
}
