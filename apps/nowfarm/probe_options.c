/* The arguments of nowfarm probe. */
#include "config.h"
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/probe.h"
#include "common/base/error.h"
#include "common/base/units.h"

enum {
    TIMEOUT_US = 60000000,
    TIMEOUT_LEAST_US = 1000000,
    BUDGET_LEAST_US = 100000,
};

/* Texts that popt has allocated. */
static struct texts {
    char *out, *show, *hosts, *slaves, *transport, *route, *medium, *budget,
        *timeout, *trees;
} texts;

void probe_options_fini(void)
{
    char **all[] = { &texts.out,    &texts.show,      &texts.hosts,
                     &texts.slaves, &texts.transport, &texts.route,
                     &texts.medium, &texts.budget,    &texts.timeout,
                     &texts.trees };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        free(*all[i]);
        *all[i] = NULL;
    }
}

/* One of two words.  @param second_p  it is the second; false: none was said */
static enum nf_status parse_word(const char *option, const char *text,
                                 const char *first, const char *second,
                                 bool *second_p, struct nf_error *err)
{
    if (text != NULL && strcmp(text, first) != 0 && strcmp(text, second) != 0)
        return nf_fail(err, NF_ERR_INVAL, "%s %.60s: want %s or %s", option,
                       text, first, second);
    *second_p = text != NULL && strcmp(text, second) == 0;
    return NF_OK;
}

static enum nf_status parse_time(const char *option, const char *text,
                                 int64_t least_us, const char *least,
                                 int64_t *us_p, struct nf_error *err)
{
    if (text != NULL &&
        (nf_parse_time_us(text, us_p) != NF_OK || *us_p < least_us))
        return nf_fail(err, NF_ERR_INVAL,
                       "%s %.60s: want a time with its unit, at least %s",
                       option, text, least);
    return NF_OK;
}

/* "1KiB,64KiB" */
static enum nf_status parse_sizes(const char *text, struct probe_options *o,
                                  struct nf_error *err)
{
    const char *at = text;

    while (at != NULL) {
        size_t length = strcspn(at, ",");
        char item[32];
        uint64_t bytes = 0;

        snprintf(item, sizeof(item), "%.*s", (int)length, at);
        if (o->nsizes == PROBE_TREE_SIZES_MAX ||
            nf_parse_bytes(item, &bytes) != NF_OK || bytes < 1 ||
            bytes > PROBE_BYTES_MOST)
            return nf_fail(err, NF_ERR_INVAL,
                           "--trees %.60s: want up to %d sizes of 1B to 64MiB, "
                           "as 1KiB,64KiB",
                           text, PROBE_TREE_SIZES_MAX);
        o->sizes[o->nsizes++] = bytes;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return NF_OK;
}

static enum nf_status check(const struct probe_options *o, struct nf_error *err)
{
    if (o->world.local && o->world.hosts_file != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "--hosts goes with --transport pvm only");
    if (o->world.local && o->world.route != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "--route goes with --transport pvm only");
    if (o->show != NULL &&
        (texts.out != NULL || texts.slaves != NULL || texts.transport != NULL ||
         texts.route != NULL || texts.medium != NULL || texts.budget != NULL ||
         texts.timeout != NULL || texts.trees != NULL || o->validate))
        return nf_fail(err, NF_ERR_INVAL,
                       "--show measures nothing: only with --hosts and --json");
    return NF_OK;
}

static enum nf_status parse_texts(struct probe_options *o, struct nf_error *err)
{
    struct coll_world_config *world = &o->world;
    uint64_t slaves = 0;
    bool daemon;
    enum nf_status status = parse_word("--transport", texts.transport, "pvm",
                                       "local", &world->local, err);

    if (status == NF_OK)
        status = parse_word("--route", texts.route, "direct", "daemon", &daemon,
                            err);
    if (status == NF_OK)
        status = parse_word("--medium", texts.medium, "switch", "shared",
                            &o->shared, err);
    if (status == NF_OK)
        status = parse_time("--budget", texts.budget, BUDGET_LEAST_US, "100ms",
                            &o->budget_us, err);
    if (status == NF_OK)
        status = parse_time("--timeout", texts.timeout, TIMEOUT_LEAST_US, "1s",
                            &world->timeout_us, err);
    if (status == NF_OK && texts.slaves != NULL &&
        nf_parse_count(texts.slaves, 2, NF_NETWORK_HOSTS_MAX, &slaves) != NF_OK)
        status = nf_fail(err, NF_ERR_INVAL,
                         "--slaves %.60s: want a number from 2 to %d",
                         texts.slaves, NF_NETWORK_HOSTS_MAX);
    if (status == NF_OK)
        status = parse_sizes(texts.trees, o, err);
    world->members = (uint32_t)slaves;
    world->members_most = NF_NETWORK_HOSTS_MAX;
    world->hosts_file = texts.hosts;
    world->route = texts.route;
    o->out = texts.out != NULL ? texts.out : PROBE_FILE;
    o->show = texts.show;
    return status == NF_OK ? check(o, err) : status;
}

static const char about[] =
    "[OPTION...]\n\nMeasure what messages cost each host and each pair of "
    "hosts, and write a model file.\nHosts should be idle.";

enum nf_status probe_options_parse(int argc, const char **argv,
                                   struct probe_options *o,
                                   struct nf_error *err)
{
    int json = 0, validate = 0, quiet = 0, rc;
    /* clang-format off */
    const struct poptOption table[] = {
        { "out", 'o', POPT_ARG_STRING, &texts.out, 0, "the model file; default " PROBE_FILE, "MODEL" },
        { "hosts", '\0', POPT_ARG_STRING, &texts.hosts, 0, "hosts to use, one a line; default those of the virtual machine", "FILE" },
        { "slaves", 's', POPT_ARG_STRING, &texts.slaves, 0, "members, this command being the first; default one a host", "P" },
        { "transport", '\0', POPT_ARG_STRING, &texts.transport, 0, "pvm (default) or local (threads of this process)", "NAME" },
        { "route", '\0', POPT_ARG_STRING, &texts.route, 0, "how tasks send: direct (default) or daemon, by the pvmds", "NAME" },
        { "medium", '\0', POPT_ARG_STRING, &texts.medium, 0, "switch (default: disjoint pairs in parallel) or shared (one by one)", "NAME" },
        { "budget", '\0', POPT_ARG_STRING, &texts.budget, 0, "time to measure for, about; default 30s", "TIME" },
        { "timeout", '\0', POPT_ARG_STRING, &texts.timeout, 0, "give up when a host is silent for; default 60s", "TIME" },
        { "validate", '\0', POPT_ARG_NONE, &validate, 0, "predict a star, a chain, an OPT-tree and messages in a row, and measure them", NULL },
        { "trees", '\0', POPT_ARG_STRING, &texts.trees, 0, "predict every tree of nowfarm trees for messages of these sizes, and measure them", "SIZES" },
        { "show", '\0', POPT_ARG_STRING, &texts.show, 0, "measure nothing: print this model, and say if it is old", "MODEL" },
        { "json", '\0', POPT_ARG_NONE, &json, 0, "print one JSON object", NULL },
        { "quiet", 'q', POPT_ARG_NONE, &quiet, 0, "no progress", NULL },
        POPT_AUTOHELP POPT_TABLEEND,
    };
    /* clang-format on */
    poptContext context = poptGetContext(NULL, argc, argv, table, 0);
    enum nf_status status = NF_OK;

    *o = (struct probe_options){ .budget_us = PROBE_BUDGET_US,
                                 .world.timeout_us = TIMEOUT_US };
    poptSetOtherOptionHelp(context, about);
    rc = poptGetNextOpt(context);
    if (rc < -1)
        status = nf_fail(err, NF_ERR_INVAL, "%s: %s (see --help)",
                         poptBadOption(context, POPT_BADOPTION_NOALIAS),
                         poptStrerror(rc));
    else if (poptPeekArg(context) != NULL)
        status =
            nf_fail(err, NF_ERR_INVAL, "probe: unexpected argument \"%.60s\"",
                    poptPeekArg(context));
    o->json = json != 0;
    o->validate = validate != 0;
    o->quiet = quiet != 0;
    if (status == NF_OK)
        status = parse_texts(o, err);
    poptFreeContext(context);
    return status;
}
