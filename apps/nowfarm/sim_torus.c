/* nowfarm sim torus: all-to-all exchanges on a torus with wormhole routing, and
 * the start-ups of Table 1 of the paper. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands_sim.h"
#include "apps/nowfarm/plot.h"
#include "apps/nowfarm/sim_torus_report.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/torus.h"

/* Texts of options; NULL: not given. */
struct options {
    char *side, *shape, *size, *figure, *algorithm, *pace, *lanes,
        *ticks[SIM_TICKS], *csv, *plot;
    int json;
};

/* ---- arguments ---- */

/* Does anything say that exchanges are to be simulated? */
static bool wants_runs(const struct options *o)
{
    return o->shape != NULL || o->size != NULL || o->figure != NULL;
}

/* What is said goes together.  @return the exit status */
static int check_options(const struct options *o)
{
    const char *only = o->algorithm != NULL ? "--algorithm"
                       : o->pace != NULL    ? "--pace"
                       : o->lanes != NULL   ? "--lanes"
                                            : NULL;

    for (int i = 0; i < SIM_TICKS && only == NULL; i++)
        if (o->ticks[i] != NULL)
            only = sim_tick_options[i];
    if (!wants_runs(o) && only != NULL)
        return nf_usage_error("%s: goes with --shape or --figure", only);
    if (!wants_runs(o))
        return NF_EXIT_OK;
    if (o->side != NULL)
        return nf_usage_error("--side %s: is of the table of start-ups; tori "
                              "to simulate are --shape",
                              o->side);
    if (o->figure != NULL && (o->shape != NULL || o->size != NULL))
        return nf_usage_error("--figure %s: says what --shape and --size would",
                              o->figure);
    if (o->figure == NULL && o->shape == NULL)
        return nf_usage_error("--size %s: goes with --shape", o->size);
    return NF_EXIT_OK;
}

static int add_shape(const char *text, struct sim_torus_report *r)
{
    struct sim_torus_shape *shape = &r->shape[r->nshapes];
    struct nf_error err;

    if (r->nshapes == SIM_LIST_MAX)
        return sim_too_many("--shape");
    if (nf_torus_parse(text, &shape->mesh, &err) != NF_OK)
        return nf_usage_error("--shape %s", err.text);
    if (shape->mesh.nodes > SIM_TORUS_NODES_MAX)
        return nf_usage_error("--shape %.100s: want at most %d nodes", text,
                              SIM_TORUS_NODES_MAX);
    snprintf(shape->text, sizeof(shape->text), "%s", text);
    r->nshapes++;
    return NF_EXIT_OK;
}

/* Blocks are as large if nothing is said. */
static const struct sim_list usual_size = { 1, { 64 } };

/* Against N, or against the size of a block. */
static int read_figure(const char *figure, struct sim_torus_report *r)
{
    static const struct sim_list sizes = {
        8, { 1, 4, 16, 64, 256, 1024, 4096, 16384 }
    };
    char text[20];
    int rc = NF_EXIT_OK;

    if (strcmp(figure, "size") == 0) {
        r->sizes = sizes;
        return add_shape("8x8", r);
    }
    if (strcmp(figure, "n") != 0)
        return nf_usage_error("--figure %s: want n or size, what times are "
                              "drawn against",
                              figure);
    r->sizes = usual_size;
    for (unsigned n = 3; n <= 16 && rc == NF_EXIT_OK; n++) {
        snprintf(text, sizeof(text), "%ux%u", n, n);
        rc = add_shape(text, r);
    }
    return rc;
}

static int read_tori(const struct options *o, struct sim_torus_report *r)
{
    char *text = o->shape, *word;
    int rc = NF_EXIT_OK;

    if (o->figure != NULL)
        return read_figure(o->figure, r);
    while (rc == NF_EXIT_OK && (word = sim_next_word(&text)) != NULL)
        rc = add_shape(word, r);
    if (rc == NF_EXIT_OK && o->size == NULL)
        r->sizes = usual_size;
    else if (rc == NF_EXIT_OK)
        rc = sim_read_sizes("--size", o->size, &r->sizes);
    return rc;
}

/* "dh", "bruck:radix=4", with or without the name of the operation. */
static int add_algorithm(const char *word, struct sim_torus_report *r)
{
    struct sim_torus_algorithm *it = &r->algorithm[r->nalgorithms];
    bool in_full = strncmp(word, "alltoall.", 9) == 0;
    char name[200];
    struct nf_error err;

    if (r->nalgorithms == SIM_LIST_MAX)
        return sim_too_many("--algorithm");
    snprintf(name, sizeof(name), "%s%s", in_full ? "" : "alltoall.", word);
    if (nf_coll_wish_read(name, &it->wish, &err) != NF_OK)
        return nf_usage_error("--algorithm %s", err.text);
    if (it->wish.params.shape.count > 0)
        return nf_usage_error("--algorithm %s: the torus is said by --shape",
                              word);
    nf_coll_wish_write(&it->wish, it->name, sizeof(it->name));
    r->nalgorithms++;
    return NF_EXIT_OK;
}

static struct nf_coll_args args_for(const struct sim_torus_algorithm *algorithm,
                                    const struct nf_mesh *mesh,
                                    struct nf_coll_sides *sides_p)
{
    struct nf_coll_args args = { .ranks = mesh->nodes, .segments = 1 };

    sides_p->count = mesh->dims;
    for (uint32_t d = 0; d < mesh->dims; d++)
        sides_p->of[d] = mesh->side[d];
    nf_coll_use_params(&algorithm->wish.params, &args);
    args.shape = sides_p;
    return args;
}

static bool fits(const struct sim_torus_algorithm *algorithm,
                 const struct nf_coll_args *args, struct nf_error *err)
{
    if (algorithm->for_odd &&
        nf_coll_fits(&nf_coll_alltoall_dh, args, NULL) == NF_OK)
        return false;
    return nf_coll_fits(algorithm->wish.algorithm, args, err) == NF_OK;
}

/* @return for how many of the tori it is */
static uint32_t count_fits(const struct sim_torus_report *r,
                           const struct sim_torus_algorithm *algorithm,
                           struct nf_error *err)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->nshapes; i++) {
        struct nf_coll_sides sides;
        struct nf_coll_args args =
            args_for(algorithm, &r->shape[i].mesh, &sides);

        count += fits(algorithm, &args, err);
    }
    return count;
}

/* @return nalgorithms: it was not asked for */
static uint32_t find_algorithm(const struct sim_torus_report *r,
                               const struct nf_coll_algorithm *algorithm)
{
    uint32_t i = 0;

    while (i < r->nalgorithms && r->algorithm[i].wish.algorithm != algorithm)
        i++;
    return i;
}

/* dh is for rings of any size: on tori with odd sides that is mdh, which has a
 * place of its own, unless that is asked for too, or takes dh's if nothing is
 * left to it. */
static int add_odd(struct sim_torus_report *r)
{
    uint32_t at = find_algorithm(r, &nf_coll_alltoall_dh);
    struct sim_torus_algorithm odd = {
        .wish = { .algorithm = &nf_coll_alltoall_mdh }, .for_odd = true
    };
    uint32_t even;

    if (at == r->nalgorithms)
        return NF_EXIT_OK;
    even = count_fits(r, &r->algorithm[at], NULL);
    if (even == r->nshapes)
        return NF_EXIT_OK;
    if (even == 0) {
        r->nalgorithms--;
        memmove(&r->algorithm[at], &r->algorithm[at + 1],
                (r->nalgorithms - at) * sizeof(odd));
    } else {
        at++;
    }
    if (find_algorithm(r, &nf_coll_alltoall_mdh) < r->nalgorithms)
        return NF_EXIT_OK;
    if (r->nalgorithms == SIM_LIST_MAX)
        return sim_too_many("--algorithm");
    memmove(&r->algorithm[at + 1], &r->algorithm[at],
            (r->nalgorithms - at) * sizeof(odd));
    r->nalgorithms++;
    nf_coll_wish_write(&odd.wish, odd.name, sizeof(odd.name));
    r->algorithm[at] = odd;
    return NF_EXIT_OK;
}

/* One that is asked for must be for one of the tori at least. */
static int check_fits(const struct sim_torus_report *r,
                      const struct sim_torus_algorithm *algorithm)
{
    struct nf_error err = { .text = "" };

    return count_fits(r, algorithm, &err) > 0
               ? NF_EXIT_OK
               : nf_usage_error("--algorithm %s", err.text);
}

static int read_algorithms(char *text, struct sim_torus_report *r)
{
    int rc = NF_EXIT_OK;
    char *word;

    for (size_t i = 0; text == NULL && nf_coll_table[i] != NULL; i++)
        if (nf_coll_table[i]->op == NF_COLL_ALLTOALL && rc == NF_EXIT_OK)
            rc = add_algorithm(nf_coll_table[i]->name, r);
    if (text == NULL)
        return rc;
    while (rc == NF_EXIT_OK && (word = sim_next_word(&text)) != NULL)
        rc = add_algorithm(word, r);
    if (rc == NF_EXIT_OK)
        rc = add_odd(r);
    for (uint32_t i = 0; rc == NF_EXIT_OK && i < r->nalgorithms; i++)
        rc = check_fits(r, &r->algorithm[i]);
    return rc;
}

static int read_network(const struct options *o, struct sim_torus_report *r)
{
    uint64_t lanes = 2;
    int rc = NF_EXIT_OK;

    if (o->lanes != NULL)
        rc = nf_read_count("--lanes", o->lanes, 1, 2, &lanes);
    r->one_lane = lanes == 1;
    r->setup.pace = NF_PACE_STEPS;
    if (rc == NF_EXIT_OK && o->pace != NULL && strcmp(o->pace, "free") == 0)
        r->setup.pace = NF_PACE_FREE;
    else if (rc == NF_EXIT_OK && o->pace != NULL &&
             strcmp(o->pace, "steps") != 0)
        return nf_usage_error("--pace %s: want steps or free", o->pace);
    return rc == NF_EXIT_OK ? sim_read_costs(o->ticks, &r->setup.costs) : rc;
}

static int check_files(const struct options *o)
{
    struct nf_error err;

    if (o->csv != NULL && nf_output_check(o->csv, &err) != NF_OK)
        return nf_usage_error("--csv %s", err.text);
    if (o->plot != NULL && plot_check(o->plot, &err) != NF_OK)
        return nf_usage_error("--plot %s", err.text);
    if (o->csv != NULL && o->plot != NULL && nf_output_is_same(o->csv, o->plot))
        return nf_usage_error("--csv and --plot are one file, %s", o->plot);
    return NF_EXIT_OK;
}

/* ---- the simulation ---- */

static const char *behind_name(const char *why)
{
    const char *reason = strstr(why, ": ");

    return reason != NULL ? reason + 2 : why;
}

/* One that was asked for must have a schedule on one of the tori at least that
 * is not longer than can be written down. */
static int check_schedules(const struct sim_torus_report *r)
{
    for (uint32_t a = 0; a < r->nalgorithms; a++) {
        const struct sim_torus_algorithm *algorithm = &r->algorithm[a];
        struct nf_error err = { .status = NF_OK };
        enum nf_status status = NF_ERR_RANGE;

        for (uint32_t i = 0; i < r->nshapes && status == NF_ERR_RANGE; i++) {
            struct nf_coll_sides sides;
            struct nf_coll_args args =
                args_for(algorithm, &r->shape[i].mesh, &sides);
            struct nf_schedule s;

            if (!fits(algorithm, &args, NULL))
                continue;
            status = nf_coll_make(algorithm->wish.algorithm, &args,
                                  NF_ALL_RANKS, &s, &err);
            nf_schedule_fini(&s);
        }
        if (status == NF_ERR_RANGE && err.status != NF_OK)
            return nf_usage_error("--algorithm %s: %s",
                                  sim_torus_short(algorithm),
                                  behind_name(err.text));
    }
    return NF_EXIT_OK;
}

/* Its schedule is longer than can be written down. */
static void leave_out(const struct sim_torus_report *r, const char *why,
                      struct sim_torus_point *points)
{
    for (uint32_t i = 0; i < r->sizes.count; i++) {
        struct sim_torus_point *point = &points[(size_t)i * r->nalgorithms];

        point->fits = true;
        snprintf(point->left_out, sizeof(point->left_out), "%.199s",
                 behind_name(why));
    }
}

/* A torus and an algorithm with all sizes of blocks.
 * @param points  [sizes.count], r->nalgorithms apart */
static enum nf_status simulate(struct sim_torus_report *r,
                               const struct sim_torus_shape *shape,
                               const struct sim_torus_algorithm *algorithm,
                               struct sim_torus_point *points,
                               struct nf_error *err)
{
    struct nf_coll_sides sides;
    struct nf_coll_args args = args_for(algorithm, &shape->mesh, &sides);
    struct nf_torus_setup setup = r->setup;
    struct nf_torus_load load = { .each = NULL };
    struct nf_schedule s;
    enum nf_status status;

    if (!fits(algorithm, &args, NULL))
        return NF_OK;
    setup.mesh = shape->mesh;
    setup.mesh.one_lane = r->one_lane;
    status =
        nf_coll_make(algorithm->wish.algorithm, &args, NF_ALL_RANKS, &s, err);
    if (status == NF_ERR_RANGE) {
        leave_out(r, err->text, points);
        nf_schedule_fini(&s);
        return NF_OK;
    }
    if (status == NF_OK &&
        nf_torus_measure(&sides, args.ranks, &s, 0, &load, NULL) != NF_OK)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < r->sizes.count && status == NF_OK; i++) {
        struct sim_torus_point *point = &points[(size_t)i * r->nalgorithms];

        *point = (struct sim_torus_point){
            .fits = true,
            .steps = load.rounds,
            .volume = load.volume,
            .contended = load.contended,
            .channel_messages = load.channel_messages,
        };
        setup.block_bytes = r->sizes.value[i];
        status = nf_torus_run(&setup, &s, &point->result, err);
        if (status != NF_ERR_FAILED)
            continue;
        status = NF_OK; /* a cycle is a result too */
        snprintf(point->stuck, sizeof(point->stuck), "%.199s", err->text);
    }
    nf_torus_load_fini(&load);
    nf_schedule_fini(&s);
    return status;
}

static enum nf_status simulate_all(struct sim_torus_report *r,
                                   struct nf_error *err)
{
    size_t per_shape = (size_t)r->sizes.count * r->nalgorithms;
    enum nf_status status = NF_OK;

    r->point = nf_calloc(r->nshapes * per_shape, sizeof(*r->point));
    if (r->point == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < r->nshapes; i++)
        for (uint32_t a = 0; a < r->nalgorithms && status == NF_OK; a++)
            status = simulate(r, &r->shape[i], &r->algorithm[a],
                              &r->point[i * per_shape + a], err);
    return status;
}

static int run(const struct options *o, struct sim_torus_report *r)
{
    struct nf_error err = { .status = NF_OK };
    int rc = read_network(o, r);

    if (rc == NF_EXIT_OK)
        rc = read_tori(o, r);
    if (rc == NF_EXIT_OK)
        rc = read_algorithms(o->algorithm, r);
    if (rc == NF_EXIT_OK && o->plot != NULL && r->nshapes > 1 &&
        r->sizes.count > 1)
        rc = nf_usage_error("--plot %s: want several sizes or several tori, "
                            "not both",
                            o->plot);
    if (rc == NF_EXIT_OK)
        rc = check_files(o);
    if (rc == NF_EXIT_OK && o->algorithm != NULL)
        rc = check_schedules(r);
    if (rc == NF_EXIT_OK && simulate_all(r, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK && o->csv != NULL &&
        sim_torus_csv(r, o->csv, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK && o->plot != NULL &&
        sim_torus_plot(r, o->plot, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK)
        rc = o->json ? sim_torus_json(r) : sim_torus_text(r);
    return rc == NF_EXIT_OK ? sim_torus_check_promises(r) : rc;
}

/* ---- the table of start-ups ---- */

static int run_table(const struct options *o)
{
    struct sim_list sides = { .count = NF_TABLE_PAPER };
    struct sim_torus_table table = { .nrows = 0 };
    struct nf_error err = { .status = NF_OK };
    int rc = NF_EXIT_OK;

    memcpy(sides.value, nf_torus_paper_n, sizeof(nf_torus_paper_n));
    if (o->side != NULL)
        rc = sim_read_counts("--side", o->side, 2, NF_TABLE_N_MAX, &sides);
    if (rc == NF_EXIT_OK)
        rc = check_files(o);
    for (; rc == NF_EXIT_OK && table.nrows < sides.count; table.nrows++)
        if (nf_torus_row(sides.value[table.nrows], &table.row[table.nrows],
                         &err) != NF_OK)
            rc = nf_failure(&err);
    if (rc == NF_EXIT_OK && o->csv != NULL &&
        sim_torus_table_csv(&table, o->csv, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK && o->plot != NULL &&
        sim_torus_table_plot(&table, o->plot, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK)
        rc = o->json ? sim_torus_table_json(&table)
                     : sim_torus_table_text(&table);
    return rc;
}

static void free_options(struct options *o)
{
    free(o->side);
    free(o->shape);
    free(o->size);
    free(o->figure);
    free(o->algorithm);
    free(o->pace);
    free(o->lanes);
    for (int i = 0; i < SIM_TICKS; i++)
        free(o->ticks[i]);
    free(o->csv);
    free(o->plot);
}

static int read_and_run(poptContext context, const struct options *o)
{
    struct sim_torus_report report = { .nshapes = 0 };
    int rc = nf_read_options(context);

    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("sim torus: unexpected argument \"%s\"",
                            poptPeekArg(context));
    if (rc == NF_EXIT_OK)
        rc = check_options(o);
    if (rc == NF_EXIT_OK)
        rc = wants_runs(o) ? run(o, &report) : run_table(o);
    nf_free(report.point);
    return rc;
}

int nf_sim_torus(int argc, const char **argv)
{
    struct options o = { .json = 0 };
    /* clang-format off */
    const struct poptOption options[] = {
        SIM_TEXT_OPTION("side", &o.side,
                        "start-ups on N x N (those of Table 1)", "N,..."),
        SIM_TEXT_OPTION("shape", &o.shape,
                        "instead: exchanges on these tori, as 6x6,4x6x3",
                        "SIDES,..."),
        SIM_TEXT_OPTION("size", &o.size, "of a block, as 8B,4KiB", "BYTES,..."),
        SIM_TEXT_OPTION("figure", &o.figure,
                        "instead of these: n, 3x3 to 16x16 with blocks of 64 "
                        "bytes, or size, 8x8 with 1 to 16384 bytes",
                        "WHICH"),
        SIM_TEXT_OPTION("algorithm", &o.algorithm,
                        "all-to-all algorithms, as dh,bruck:radix=4 (all)",
                        "NAME,..."),
        SIM_TEXT_OPTION("pace", &o.pace,
                        "begin a step all at once, steps, or each node when it "
                        "can, free (steps)", "WHICH"),
        SIM_TEXT_OPTION("lanes", &o.lanes, "virtual channels of a link (2)",
                        "1|2"),
        SIM_TICK_OPTIONS(o.ticks),
        SIM_TEXT_OPTION("csv", &o.csv, "write a table", "FILE"),
        SIM_TEXT_OPTION("plot", &o.plot, "draw, .svg or .png", "FILE"),
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
