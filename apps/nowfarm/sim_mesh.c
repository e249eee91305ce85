/* nowfarm sim mesh: multicast on a mesh with wormhole routing, as in figures 11
 * to 14 of the paper. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands_sim.h"
#include "apps/nowfarm/plot.h"
#include "apps/nowfarm/sim_mesh_report.h"
#include "apps/output.h"
#include "common/base/alloc.h"

/* Texts of options; NULL: not given. */
struct options {
    char *shape, *nodes, *size, *algorithm, *run, *runs, *seed, *figure,
        *routing, *ports, *interval, *ticks[SIM_TICKS], *csv, *plot;
    int torus, json;
};

/* ---- figures ---- */

static const struct sim_list paper_nodes = {
    10, { 8, 16, 32, 64, 96, 128, 160, 192, 224, 256 }
};
static const struct sim_list paper_bytes = {
    8, { 0, 1024, 2048, 4096, 8192, 16384, 32768, 65536 }
};

static struct sim_mesh_figure paper_figure(unsigned number)
{
    static const uint32_t nodes[] = { 32, 128 }, bytes[] = { 4096, 65536 };

    if (number <= 12)
        return (struct sim_mesh_figure){
            number, { 1, { nodes[number - 11] } }, paper_bytes, NULL
        };
    return (struct sim_mesh_figure){
        number, paper_nodes, { 1, { bytes[number - 13] } }, NULL
    };
}

/* ---- arguments ---- */

static int read_algorithms(char *text, struct sim_mesh_report *r)
{
    char *word;

    for (r->nalgorithms = 0; (word = sim_next_word(&text)) != NULL;) {
        /* what the paper calls it */
        const struct nf_uniform_algorithm *algorithm =
            nf_uniform_find(strcmp(word, "opt-tree") == 0 ? "opt" : word);

        if (algorithm == NULL)
            return nf_usage_error("--algorithm: no tree \"%s\" (see: nowfarm "
                                  "trees)",
                                  word);
        if (r->nalgorithms == 7) /* what fits into a table */
            return nf_usage_error("--algorithm: want at most 7");
        r->algorithm[r->nalgorithms++] =
            (struct sim_mesh_algorithm){ word, algorithm };
    }
    return NF_EXIT_OK;
}

static int read_mesh(const struct options *o, struct sim_mesh_report *r)
{
    const char *shape = o->shape != NULL ? o->shape : "16x16";
    struct nf_mesh *mesh = &r->cast.mesh;
    struct nf_error err;

    if (nf_mesh_parse(shape, mesh, &err) != NF_OK)
        return nf_usage_error("--shape %s", err.text);
    snprintf(r->shape, sizeof(r->shape), "%s", shape);
    mesh->torus = o->torus;
    if (o->routing == NULL || strcmp(o->routing, "first") == 0)
        return NF_EXIT_OK;
    if (strcmp(o->routing, "last") != 0)
        return nf_usage_error("--routing %s: want first or last, the "
                              "coordinate that is corrected first",
                              o->routing);
    mesh->last_first = true;
    return NF_EXIT_OK;
}

static int read_costs(const struct options *o, struct nf_mesh_cast *cast)
{
    uint64_t value = 1;
    int rc = sim_read_costs(o->ticks, &cast->costs);

    if (rc == NF_EXIT_OK && o->ports != NULL)
        rc =
            nf_read_count("--ports", o->ports, 1, NF_UNIFORM_PORTS_MAX, &value);
    cast->ports = (uint32_t)value;
    if (rc == NF_EXIT_OK && (cast->ports > 1 || o->interval != NULL)) {
        if (o->ports == NULL)
            return nf_usage_error("--interval %s: goes with --ports",
                                  o->interval);
        rc = nf_read_count("--interval", o->interval, 0, NF_MESH_TICKS_MAX,
                           &value);
        cast->interval = (int64_t)value;
    }
    return rc;
}

static int read_runs(const struct options *o, struct sim_mesh_report *r)
{
    uint64_t runs = NF_MESH_RUNS, seed = NF_MESH_SEED;
    int rc = NF_EXIT_OK;

    r->run = UINT64_MAX;
    if (o->run != NULL && o->runs != NULL)
        return nf_usage_error("--run %s: and --runs exclude each other",
                              o->run);
    if (o->seed != NULL)
        rc = nf_read_count("--seed", o->seed, 0, INT64_MAX, &seed);
    if (rc == NF_EXIT_OK && o->runs != NULL)
        rc = nf_read_count("--runs", o->runs, 1, NF_MESH_RUNS_MAX, &runs);
    if (rc == NF_EXIT_OK && o->run != NULL) {
        rc = nf_read_count("--run", o->run, 0, INT64_MAX, &r->run);
        runs = 1;
    }
    r->seed = seed;
    r->runs = (uint32_t)runs;
    return rc;
}

/* A figure of the paper, all of them, or what was asked for. */
static int read_figures(const struct options *o, struct sim_mesh_report *r)
{
    struct sim_mesh_figure *own = &r->figure[0];
    uint64_t number = 0;
    int rc = NF_EXIT_OK;

    if (o->figure != NULL)
        rc = nf_read_count("--figure", o->figure, 11, 14, &number);
    if (rc != NF_EXIT_OK)
        return rc;
    if (o->figure != NULL && (o->nodes != NULL || o->size != NULL))
        return nf_usage_error("--figure %s: says what --nodes and --size would",
                              o->figure);
    if (o->nodes != NULL || o->size != NULL) {
        r->nfigures = 1;
        if (o->nodes == NULL || o->size == NULL)
            return nf_usage_error("--nodes and --size go together");
        rc = sim_read_counts("--nodes", o->nodes, 1, r->cast.mesh.nodes,
                             &own->nodes);
        return rc == NF_EXIT_OK ? sim_read_sizes("--size", o->size, &own->bytes)
                                : rc;
    }
    if (r->cast.mesh.nodes < 256)
        return nf_usage_error("--shape %s: the figures take 256 nodes; give "
                              "--nodes and --size",
                              r->shape);
    for (unsigned f = 11; f <= 14; f++)
        if (number == 0 || number == f)
            r->figure[r->nfigures++] = paper_figure(f);
    return NF_EXIT_OK;
}

/* ---- files ---- */

static int check_plot(const struct options *o, const struct sim_mesh_report *r)
{
    char name[SIM_MESH_PATH_BYTES];
    const struct sim_mesh_figure *own = &r->figure[0];
    struct nf_error err;

    if (own->nodes.count > 1 && own->bytes.count > 1)
        return nf_usage_error("--plot %s: want several sizes or several "
                              "numbers of nodes, not both",
                              o->plot);
    for (uint32_t f = 0; f < r->nfigures; f++) {
        const char *path = sim_mesh_plot_name(r, o->plot, f, name);

        if (path == NULL)
            return nf_usage_error("--plot %.100s: too long", o->plot);
        if (plot_check(path, &err) != NF_OK)
            return nf_usage_error("--plot %s", err.text);
        if (o->csv != NULL && nf_output_is_same(o->csv, path))
            return nf_usage_error("--csv and --plot are one file, %s", path);
    }
    return NF_EXIT_OK;
}

static int check_files(const struct options *o, const struct sim_mesh_report *r)
{
    struct nf_error err;

    if (o->csv != NULL && nf_output_check(o->csv, &err) != NF_OK)
        return nf_usage_error("--csv %s", err.text);
    return o->plot != NULL ? check_plot(o, r) : NF_EXIT_OK;
}

/* ---- the simulation ---- */

static enum nf_status simulate(struct sim_mesh_report *r,
                               struct sim_mesh_figure *figure,
                               struct nf_error *err)
{
    uint32_t na = r->nalgorithms, nb = figure->bytes.count;
    uint32_t count = figure->nodes.count * nb * na;
    uint64_t first = r->seed + (r->run != UINT64_MAX ? r->run : 0);
    enum nf_status status = NF_OK;

    figure->study = nf_calloc(count, sizeof(*figure->study));
    if (figure->study == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < count && status == NF_OK; i++) {
        uint32_t nodes = figure->nodes.value[i / na / nb];

        r->cast.bytes = figure->bytes.value[i / na % nb];
        status = nf_mesh_cast_check(&r->cast, err);
        if (status == NF_OK)
            status =
                nf_mesh_study(&r->cast, r->algorithm[i % na].algorithm, nodes,
                              first, r->runs, &figure->study[i], err);
    }
    return status;
}

static int run(struct options *o, struct sim_mesh_report *r)
{
    struct nf_error err = { .status = NF_OK };
    int rc = read_mesh(o, r);

    if (rc == NF_EXIT_OK)
        rc = read_costs(o, &r->cast);
    if (rc == NF_EXIT_OK)
        rc = read_runs(o, r);
    if (rc == NF_EXIT_OK)
        rc = read_figures(o, r);
    if (rc == NF_EXIT_OK)
        rc = read_algorithms(o->algorithm, r);
    if (rc == NF_EXIT_OK)
        rc = check_files(o, r);
    for (uint32_t f = 0; f < r->nfigures && rc == NF_EXIT_OK; f++)
        if (simulate(r, &r->figure[f], &err) != NF_OK)
            rc = nf_failure(&err);
    if (rc == NF_EXIT_OK && o->csv != NULL &&
        sim_mesh_csv(r, o->csv, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK && o->plot != NULL &&
        sim_mesh_plot(r, o->plot, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK)
        rc = o->json ? sim_mesh_json(r) : sim_mesh_text(r);
    return rc;
}

static void free_options(struct options *o)
{
    free(o->shape);
    free(o->nodes);
    free(o->size);
    free(o->algorithm);
    free(o->run);
    free(o->runs);
    free(o->seed);
    free(o->figure);
    free(o->routing);
    free(o->ports);
    free(o->interval);
    for (int i = 0; i < SIM_TICKS; i++)
        free(o->ticks[i]);
    free(o->csv);
    free(o->plot);
}

static int read_and_run(poptContext context, struct options *o)
{
    struct sim_mesh_report report = { .runs = 0 };
    int rc = nf_read_options(context);

    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("sim mesh: unexpected argument \"%s\"",
                            poptPeekArg(context));
    if (o->algorithm == NULL)
        o->algorithm = strdup("opt-mesh,opt-tree,u-mesh");
    if (rc == NF_EXIT_OK)
        rc = o->algorithm != NULL ? run(o, &report) : nf_memory_error();
    for (uint32_t f = 0; f < report.nfigures; f++)
        nf_free(report.figure[f].study);
    return rc;
}

int nf_sim_mesh(int argc, const char **argv)
{
    struct options o = { .json = 0 };
    /* clang-format off */
    const struct poptOption options[] = {
        SIM_TEXT_OPTION("shape", &o.shape,
                        "sides of the mesh (16x16)", "SIDES"),
        { "torus", '\0', POPT_ARG_NONE, &o.torus, 0,
          "links also round the ends", NULL },
        SIM_TEXT_OPTION("nodes", &o.nodes,
                        "how many take part, the source included", "K,..."),
        SIM_TEXT_OPTION("size", &o.size,
                        "of the message, as 0B,4KiB", "BYTES,..."),
        SIM_TEXT_OPTION("figure", &o.figure,
                        "instead of these: as in figure 11, 12, 13 or 14", "N"),
        SIM_TEXT_OPTION("algorithm", &o.algorithm,
                        "trees (opt-mesh,opt-tree,u-mesh)", "NAME,..."),
        SIM_TEXT_OPTION("runs", &o.runs, "random placements (16)", "N"),
        SIM_TEXT_OPTION("run", &o.run, "only the R-th of them, from 0", "R"),
        SIM_TEXT_OPTION("seed", &o.seed, "of the first one (1000)", "S"),
        SIM_TEXT_OPTION("routing", &o.routing,
                        "which coordinate is corrected first: first or last",
                        "WHICH"),
        SIM_TEXT_OPTION("ports", &o.ports, "of each node (1)", "N"),
        SIM_TEXT_OPTION("interval", &o.interval,
                        "ticks between sends, with --ports", "TICKS"),
        SIM_TICK_OPTIONS(o.ticks),
        SIM_TEXT_OPTION("csv", &o.csv, "write a table", "FILE"),
        SIM_TEXT_OPTION("plot", &o.plot,
                        "draw, .svg or .png; with several figures "
                        "FILE-11.svg and so on",
                        "FILE"),
        { "json", '\0', POPT_ARG_NONE, &o.json, 0, "print one JSON object",
          NULL },
        POPT_AUTOHELP POPT_TABLEEND
    };
    /* clang-format on */
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);
    int rc = context != NULL ? read_and_run(context, &o) : nf_memory_error();

    poptFreeContext(context);
    free_options(&o);
    return rc;
}
