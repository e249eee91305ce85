/* nowfarm sim hnow: multicast on networks of workstations that differ, as in
 * figures 3 and 4 of the paper. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands_sim.h"
#include "apps/nowfarm/plot.h"
#include "apps/nowfarm/sim_hnow_report.h"
#include "apps/output.h"
#include "common/base/units.h"

enum {
    NODES_MAX = 2000,
    RUNS_MAX = 100000, /* seeds of n nodes end where those of n + 1 begin */
    BYTES_MAX = 1 << 30,
};

/* Texts of options; NULL: not given. */
struct options {
    char *nodes, *size, *runs, *figure, *csv, *plot;
    int json;
};

static int read_nodes(const char *text, struct sim_hnow_report *r)
{
    char word[32];
    size_t length;
    int rc = NF_EXIT_OK;

    for (; rc == NF_EXIT_OK && text != NULL;
         text = text[length] == ',' ? text + length + 1 : NULL) {
        uint64_t nodes = 0;

        length = strcspn(text, ",");
        if (r->count == SIM_HNOW_LIST_MAX)
            return nf_usage_error("--nodes: want at most %d, with commas "
                                  "between them",
                                  SIM_HNOW_LIST_MAX);
        if (length >= sizeof(word))
            return nf_usage_error("--nodes %.60s: want numbers, with commas "
                                  "between them",
                                  text);
        memcpy(word, text, length);
        word[length] = '\0';
        rc = nf_read_count("--nodes", word, 1, NODES_MAX, &nodes);
        r->row[r->count++].nodes = (uint32_t)nodes;
    }
    return rc;
}

static int read_numbers(const struct options *o, struct sim_hnow_report *r)
{
    uint64_t runs = 1000, figure = 0;
    int rc =
        read_nodes(o->nodes != NULL ? o->nodes : "3,5,10,20,40,60,80,100", r);

    r->bytes = 1000;
    if (rc == NF_EXIT_OK && o->size != NULL &&
        (nf_parse_bytes(o->size, &r->bytes) != NF_OK || r->bytes > BYTES_MAX))
        return nf_usage_error("--size %s: want a size with its unit up to "
                              "1GiB, as 1kB",
                              o->size);
    if (rc == NF_EXIT_OK && o->runs != NULL)
        rc = nf_read_count("--runs", o->runs, 1, RUNS_MAX, &runs);
    if (rc == NF_EXIT_OK && o->figure != NULL)
        rc = nf_read_count("--figure", o->figure, 3, 4, &figure);
    if (rc == NF_EXIT_OK && o->figure != NULL && o->plot == NULL)
        return nf_usage_error("--figure %s: says what to draw, see --plot",
                              o->figure);
    r->runs = (uint32_t)runs;
    r->figure = (unsigned)figure;
    return rc;
}

static int check_files(const struct options *o, const struct sim_hnow_report *r)
{
    char name[SIM_HNOW_PATH_BYTES];
    struct nf_error err;

    if (o->csv != NULL && nf_output_check(o->csv, &err) != NF_OK)
        return nf_usage_error("--csv %s", err.text);
    for (unsigned figure = 3; o->plot != NULL && figure <= 4; figure++) {
        if (r->figure != 0 && r->figure != figure)
            continue;
        if (sim_hnow_plot_name(r, o->plot, figure, name) == NULL)
            return nf_usage_error("--plot %.100s: too long", o->plot);
        if (plot_check(name, &err) != NF_OK)
            return nf_usage_error("--plot %s", err.text);
        if (o->csv != NULL && nf_output_is_same(o->csv, name))
            return nf_usage_error("--csv and --plot are one file, %s", name);
    }
    return NF_EXIT_OK;
}

static int run(const struct options *o, struct sim_hnow_report *r)
{
    struct nf_error err;
    int rc = read_numbers(o, r);

    if (rc == NF_EXIT_OK)
        rc = check_files(o, r);
    for (uint32_t i = 0; i < r->count && rc == NF_EXIT_OK; i++)
        if (nf_hnow_sim(r->row[i].nodes, r->bytes, r->runs,
                        r->row[i].summary) != NF_OK)
            rc = nf_memory_error();
    if (rc == NF_EXIT_OK && o->csv != NULL &&
        sim_hnow_csv(r, o->csv, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK && o->plot != NULL &&
        sim_hnow_plot(r, o->plot, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK)
        rc = o->json ? sim_hnow_json(r) : sim_hnow_text(r);
    return rc;
}

int nf_sim_hnow(int argc, const char **argv)
{
    struct options o = { .json = 0 };
    const struct poptOption options[] = {
        { "nodes", '\0', POPT_ARG_STRING, &o.nodes, 0,
          "how many take part, the root included "
          "(3,5,10,20,40,60,80,100)",
          "N,..." },
        { "size", '\0', POPT_ARG_STRING, &o.size, 0, "of the message (1kB)",
          "BYTES" },
        { "runs", '\0', POPT_ARG_STRING, &o.runs, 0,
          "random networks for each number of nodes (1000)", "R" },
        { "csv", '\0', POPT_ARG_STRING, &o.csv, 0, "write a table", "FILE" },
        { "plot", '\0', POPT_ARG_STRING, &o.plot, 0,
          "draw figures 3 and 4 to FILE-3 and FILE-4, .svg or .png", "FILE" },
        { "figure", '\0', POPT_ARG_STRING, &o.figure, 0,
          "draw only 3 or 4, to FILE", "N" },
        { "json", '\0', POPT_ARG_NONE, &o.json, 0, "print one JSON object",
          NULL },
        POPT_AUTOHELP POPT_TABLEEND
    };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);
    struct sim_hnow_report report = { .count = 0 };
    int rc = nf_read_options(context);

    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("sim hnow: unexpected argument \"%s\"",
                            poptPeekArg(context));
    if (rc == NF_EXIT_OK)
        rc = run(&o, &report);
    poptFreeContext(context);
    free(o.nodes);
    free(o.size);
    free(o.runs);
    free(o.figure);
    free(o.csv);
    free(o.plot);
    return rc;
}
