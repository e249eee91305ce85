/* The arguments of nowfarm coll-bench. */
#include "config.h"
#include <popt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "apps/collbench/values.h"
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/coll_bench.h"
#include "apps/nowfarm/coll_search.h"
#include "apps/nowfarm/coll_wanted.h"
#include "apps/nowfarm/coll_world.h"
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/coll/wish.h"
#include "common/group/measured.h"

#define SIZE_MOST     (UINT64_C(256) << 20)
#define DEFAULT_SIZES "8B,512B,8KiB,64KiB,1MiB"
#define PAUSE_MOST_US 1000000
#define TUNE_SIZES                                                             \
    "8B,32B,128B,512B,2KiB,8KiB,32KiB,128KiB,512KiB,2MiB,8MiB,16MiB"

/* Texts that popt has allocated. */
static struct texts {
    char *algorithm, *segments, *sizes, *slaves, *hosts, *transport, *route,
        *repeat, *timeout, *pause, *table, *network, *model, *out, *csv, *plot;
} texts;

void coll_options_fini(void)
{
    char **all[] = { &texts.algorithm, &texts.segments, &texts.sizes,
                     &texts.slaves,    &texts.hosts,    &texts.transport,
                     &texts.route,     &texts.repeat,   &texts.timeout,
                     &texts.table,     &texts.model,    &texts.out,
                     &texts.csv,       &texts.plot,     &texts.network,
                     &texts.pause };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        free(*all[i]);
        *all[i] = NULL;
    }
}

/* Go through a list; *at_p is behind the comma of the item that is copied, NULL
 *  after the last one, which is empty if the list ends with a comma.
 *  @return false: that was all */
static bool next_item(const char **at_p, char *item, size_t bytes)
{
    size_t length;

    if (*at_p == NULL)
        return false;
    length = strcspn(*at_p, ",");
    snprintf(item, bytes, "%.*s", (int)length, *at_p);
    *at_p = (*at_p)[length] == ',' ? *at_p + length + 1 : NULL;
    return true;
}

enum nf_status coll_parse_sizes(const char *text, uint64_t *sizes_p,
                                unsigned *count_p, struct nf_error *err)
{
    const char *at = text;
    char item[64];
    unsigned count = 0;

    while (next_item(&at, item, sizeof(item))) {
        uint64_t bytes;

        if (nf_parse_bytes(item, &bytes) != NF_OK)
            return nf_fail(err, NF_ERR_INVAL,
                           "--sizes %s: \"%s\" is no size with its unit, as "
                           "8B or 64KiB",
                           text, item);
        if (bytes < 1 || bytes > SIZE_MOST || count == COLL_SIZES_MAX)
            return nf_fail(err, NF_ERR_INVAL,
                           "--sizes %s: want up to %d sizes of 1 byte to 256 "
                           "MiB",
                           text, COLL_SIZES_MAX);
        sizes_p[count++] = bytes;
    }
    *count_p = count;
    return NF_OK;
}

static enum nf_status parse_slaves(const char *text, struct coll_options *o,
                                   struct nf_error *err)
{
    const char *at = text;
    char item[64];

    while (next_item(&at, item, sizeof(item))) {
        uint64_t ranks;

        if (nf_parse_count(item, 2, NF_COLL_RANKS_MAX, &ranks) != NF_OK ||
            o->nslaves == COLL_PARTIES_MAX)
            return nf_fail(err, NF_ERR_INVAL,
                           "--slaves %s: want numbers from 2 to %d, up to %d "
                           "of them",
                           text, NF_COLL_RANKS_MAX, COLL_PARTIES_MAX);
        o->slaves[o->nslaves++] = (uint32_t)ranks;
    }
    return NF_OK;
}

enum nf_status coll_parse_model(const char *text, struct nf_model *model_p,
                                struct nf_error *err)
{
    static const struct {
        const char *name;
        double start_us, byte_us;
    } machines[] = { { "sp2", 46, 0.035 },
                     { "t3e", 18, 0.006 },
                     { "cluster", 176, 0.105 } };
    static const char *const keys[] = { "a=", "b=", "delta=", "g=" };
    double values[4] = { 0, 0, 2, 0 };
    const double least[4] = { 1e-3, 1e-9, 1, 0 },
                 most[4] = { 1e9, 1e3, 2, 1e3 };
    bool given[4] = { false, false, true, true };
    const char *at = text;
    char item[64];

    while (next_item(&at, item, sizeof(item))) {
        bool known = false;

        for (unsigned i = 0; i < 3; i++)
            if (strcasecmp(item, machines[i].name) == 0) {
                values[0] = machines[i].start_us;
                values[1] = machines[i].byte_us;
                known = given[0] = given[1] = true;
            }
        for (unsigned i = 0; i < 4; i++)
            if (strncmp(item, keys[i], strlen(keys[i])) == 0)
                known = given[i] =
                    nf_parse_real(item + strlen(keys[i]), least[i], most[i],
                                  &values[i]) == NF_OK;
        if (!known)
            return nf_fail(err, NF_ERR_INVAL,
                           "--model %s: \"%s\" is not sp2, t3e, cluster, a=us, "
                           "b=us/byte, delta=1..2 or g=us/byte",
                           text, item);
    }
    if (!given[0] || !given[1])
        return nf_fail(err, NF_ERR_INVAL, "--model %s: want a= and b=", text);
    *model_p = (struct nf_model){
        .npieces = 1,
        .pieces = { { 0, values[0], values[1] } },
        .delta = values[2],
    };
    return values[3] > 0
               ? nf_model_set_combine(model_p, "double", "sum", values[3])
               : NF_OK;
}

enum nf_status coll_read_options_op(const char *name, bool ops[NF_COLL_OPS],
                                    struct nf_error *err)
{
    bool any = false;

    if (name == NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "coll-bench: which operation? (see --help)");
    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        enum nf_coll_op op = nf_coll_table[i]->op;

        if (strcmp(name, "all") != 0 && strcmp(name, nf_coll_op_names[op]) != 0)
            continue;
        ops[op] = true;
        any = true;
    }
    return any ? NF_OK
               : nf_fail(err, NF_ERR_INVAL,
                         "coll-bench: no operation \"%s\" (see: nowfarm plans)",
                         name);
}

/* Those that combine nothing have no operator. */
static enum nf_status keep_ordered(const char *name, bool ops[NF_COLL_OPS],
                                   struct nf_error *err)
{
    bool any = false;

    for (int op = 0; op < NF_COLL_OPS; op++) {
        ops[op] = ops[op] && bench_combines((enum nf_coll_op)op);
        any = any || ops[op];
    }
    return any ? NF_OK
               : nf_fail(err, NF_ERR_INVAL,
                         "--ordered: %s combines nothing, so there is no order",
                         name);
}

/* The only operation asked for.  @return false: there are several */
static bool only_op(const struct coll_options *o, enum nf_coll_op *op_p)
{
    unsigned count = 0;

    for (int op = 0; op < NF_COLL_OPS; op++)
        if (o->ops[op]) {
            *op_p = (enum nf_coll_op)op;
            count++;
        }
    return count == 1;
}

static enum nf_status parse_algorithm(const char *name, struct coll_options *o,
                                      struct nf_error *err)
{
    enum nf_coll_op op = NF_COLL_BCAST;
    struct nf_coll_wish wish = { .algorithm = NULL };
    struct nf_error why;
    char bare[64], full[160];
    size_t length;

    if (name == NULL || strcmp(name, "auto") == 0)
        return NF_OK;
    if (strcmp(name, "all") == 0) {
        o->all_algorithms = true;
        return NF_OK;
    }
    if (!only_op(o, &op))
        return nf_fail(
            err, NF_ERR_INVAL,
            "--algorithm %s: want auto or all for several operations", name);
    length = strcspn(name, ":");
    snprintf(bare, sizeof(bare), "%.*s", (int)length, name);
    if (nf_coll_find(bare) == NULL)
        snprintf(bare, sizeof(bare), "%s.%.*s", nf_coll_op_names[op],
                 (int)length, name);
    o->algorithm = nf_coll_find(bare);
    if (o->algorithm == NULL || o->algorithm->op != op)
        return nf_fail(err, NF_ERR_INVAL,
                       "--algorithm %s: no such algorithm for %s (see: nowfarm "
                       "plans)",
                       name, nf_coll_op_names[op]);
    snprintf(full, sizeof(full), "%s%s", bare, name + length);
    if (nf_coll_wish_read(full, &wish, &why) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL, "--algorithm %s", why.text);
    o->algorithm = wish.algorithm; /* with a shape it may be another one */
    o->params = wish.params;
    o->segments = (uint32_t)wish.segments;
    return NF_OK;
}

static bool has_segments(const struct coll_options *o)
{
    if (o->algorithm != NULL)
        return o->algorithm->items == NF_ITEMS_SEGMENTS;
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        if (o->ops[nf_coll_table[i]->op] &&
            nf_coll_table[i]->items == NF_ITEMS_SEGMENTS)
            return true;
    return false;
}

/* --segments: each algorithm asked for is to take so many, if it has any. */
static enum nf_status add_segments(struct coll_options *o, uint32_t segments,
                                   struct nf_error *err)
{
    if (o->segments > 0 && o->segments != segments)
        return nf_fail(err, NF_ERR_INVAL,
                       "--segments %u: --algorithm says k=%u: want one of "
                       "them, or the same",
                       segments, o->segments);
    if (segments > 1 && o->algorithm != NULL && !has_segments(o))
        return nf_fail(err, NF_ERR_INVAL, "--segments %u: %s has no segments",
                       segments, o->algorithm->name);
    if (segments > 1 && !has_segments(o))
        return nf_fail(err, NF_ERR_INVAL,
                       "--segments %u: no algorithm for it has segments",
                       segments);
    if (o->tune)
        return nf_fail(err, NF_ERR_INVAL,
                       "--segments %u: --tune tries numbers of its own choice",
                       segments);
    if (o->algorithm == NULL && !o->all_algorithms)
        return nf_fail(err, NF_ERR_INVAL,
                       "--segments %u: auto takes as many as are best by the "
                       "model: want --algorithm with a name, or all",
                       segments);
    o->segments = segments;
    return NF_OK;
}

static enum nf_status parse_number(const char *option, const char *text,
                                   uint64_t most, uint32_t *value_p,
                                   struct nf_error *err)
{
    uint64_t value;

    if (text == NULL)
        return NF_OK;
    if (nf_parse_count(text, 1, most, &value) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL, "%s %s: want a number from 1 to %llu",
                       option, text, (unsigned long long)most);
    *value_p = (uint32_t)value;
    return NF_OK;
}

static bool is_local(const struct coll_options *o)
{
    return o->transport != NULL && strcmp(o->transport, "local") == 0;
}

/* Each member of a group plans: so there are not to be too many.  How many
 * hosts there are, if nothing is said, is seen when members are started. */
static enum nf_status check_network(const struct coll_options *o,
                                    struct nf_error *err)
{
    if (o->network == NULL)
        return NF_OK;
    if (o->tune || o->model != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "--network is what running broadcasts go by: not with "
                       "--tune or --model");
    for (unsigned i = 0; i < o->nslaves; i++)
        if (o->slaves[i] > NF_MEASURED_RANKS_MAX)
            return nf_fail(err, NF_ERR_INVAL,
                           "--slaves %u: with --network up to %d members, as "
                           "each of them plans",
                           o->slaves[i], NF_MEASURED_RANKS_MAX);
    return NF_OK;
}

/* --model runs nothing.  @return an option that is about what runs, or NULL */
static const char *running_option(const struct coll_options *o)
{
    return o->hosts_file != NULL   ? "--hosts"
           : o->transport != NULL  ? "--transport"
           : o->table != NULL      ? "--table"
           : o->repeat > 0         ? "--repeat"
           : texts.timeout != NULL ? "--timeout"
           : texts.pause != NULL   ? "--pause"
                                   : NULL;
}

/* Sizes that do not suit an operation, and options that do not go together. */
static enum nf_status check(const struct coll_options *o, struct nf_error *err)
{
    struct nf_model ignored;

    for (int op = 0; op < NF_COLL_OPS; op++)
        for (unsigned i = 0; i < o->nsizes && o->ops[op]; i++)
            if (op != NF_COLL_BARRIER &&
                !bench_size_fits((enum nf_coll_op)op, o->sizes[i]))
                return nf_fail(err, NF_ERR_INVAL,
                               "--sizes: %s combines numbers of 8 bytes, and "
                               "%llu is not a multiple",
                               nf_coll_op_names[op],
                               (unsigned long long)o->sizes[i]);
    if (o->transport != NULL && strcmp(o->transport, "pvm") != 0 &&
        strcmp(o->transport, "local") != 0)
        return nf_fail(err, NF_ERR_INVAL, "--transport %s: want pvm or local",
                       o->transport);
    if (o->hosts_file != NULL && is_local(o))
        return nf_fail(err, NF_ERR_INVAL,
                       "--hosts goes with --transport pvm only");
    if (o->route != NULL && strcmp(o->route, "direct") != 0 &&
        strcmp(o->route, "daemon") != 0)
        return nf_fail(err, NF_ERR_INVAL, "--route %s: want direct or daemon",
                       o->route);
    if (o->route != NULL && (o->model != NULL || is_local(o)))
        return nf_fail(err, NF_ERR_INVAL,
                       "--route is a matter of PVM tasks: not with --model or "
                       "--transport local");
    if (o->beside && (o->tune || o->model != NULL || is_local(o)))
        return nf_fail(
            err, NF_ERR_INVAL,
            "--group-library measures PVM tasks: not with --tune, --model "
            "or --transport local");
    if (o->beside && o->ordered)
        return nf_fail(err, NF_ERR_INVAL,
                       "--group-library adds: not with --ordered");
    if (o->out != NULL && !o->tune)
        return nf_fail(err, NF_ERR_INVAL, "--out goes with --tune only");
    if (o->tune && (o->model != NULL || o->table != NULL ||
                    o->algorithm != NULL || o->all_algorithms))
        return nf_fail(err, NF_ERR_INVAL,
                       "--tune tries algorithms of its own choice: not with "
                       "--algorithm, --table or --model");
    if (o->tune && o->repeat > 0 && o->repeat < COLL_REPEATS_FIRST)
        return nf_fail(err, NF_ERR_INVAL,
                       "--repeat %u: --tune concludes from at least %d calls",
                       o->repeat, COLL_REPEATS_FIRST);
    if (check_network(o, err) != NF_OK)
        return err->status;
    if (o->model != NULL && o->nslaves == 0)
        return nf_fail(
            err, NF_ERR_INVAL,
            "--model runs nothing: say by --slaves how many members");
    if (o->plot != NULL && o->nslaves > 1 && o->nsizes > 1)
        return nf_fail(err, NF_ERR_INVAL,
                       "--plot wants one size or one number of slaves");
    if (o->model != NULL && running_option(o) != NULL)
        return nf_fail(err, NF_ERR_INVAL, "--model runs nothing: not with %s",
                       running_option(o));
    if (o->model != NULL && coll_parse_model(o->model, &ignored, err) != NF_OK)
        return err->status;
    return coll_check_served(o, is_local(o) ? COLL_THREADS : 0, err);
}

static enum nf_status parse_texts(struct coll_options *o, struct nf_error *err)
{
    const char *sizes = texts.sizes;
    uint32_t segments = 0;
    enum nf_status status = parse_algorithm(texts.algorithm, o, err);

    if (sizes == NULL)
        sizes = o->tune ? TUNE_SIZES : DEFAULT_SIZES;
    if (status == NF_OK)
        status = coll_parse_sizes(sizes, o->sizes, &o->nsizes, err);
    if (status == NF_OK && texts.slaves != NULL)
        status = parse_slaves(texts.slaves, o, err);
    if (status == NF_OK)
        status = parse_number("--segments", texts.segments,
                              NF_COLL_SEGMENTS_MAX, &segments, err);
    if (status == NF_OK && segments > 0)
        status = add_segments(o, segments, err);
    if (status == NF_OK)
        status = parse_number("--repeat", texts.repeat, 1000, &o->repeat, err);
    if (status == NF_OK && texts.timeout != NULL &&
        (nf_parse_time_us(texts.timeout, &o->timeout_us) != NF_OK ||
         o->timeout_us < 100000))
        status = nf_fail(err, NF_ERR_INVAL,
                         "--timeout %s: want a time with its unit, at least "
                         "100ms",
                         texts.timeout);
    if (status == NF_OK && texts.pause != NULL &&
        (nf_parse_time_us(texts.pause, &o->pause_us) != NF_OK ||
         o->pause_us < 0 || o->pause_us > PAUSE_MOST_US ||
         o->pause_us > o->timeout_us / 2))
        status = nf_fail(err, NF_ERR_INVAL,
                         "--pause %s: want a time with its unit, at most 1s "
                         "and half of --timeout",
                         texts.pause);
    o->hosts_file = texts.hosts;
    o->transport = texts.transport;
    o->route = texts.route;
    o->table = texts.table;
    o->network = texts.network;
    o->model = texts.model;
    o->out = texts.out != NULL || !o->tune ? texts.out : COLL_TABLE_DEFAULT;
    o->csv = texts.csv;
    o->plot = texts.plot;
    return status == NF_OK ? check(o, err) : status;
}

static const char about[] =
    "OPERATION [OPTION...]\n\nMeasure a collective operation (or all: \"all\") "
    "between slaves: bcast, reduce,\nallreduce, reduce_scatter, allgather, "
    "scan, exscan, gather, scatter, alltoall, barrier.";

enum nf_status coll_options_parse(int argc, const char **argv,
                                  struct coll_options *o, struct nf_error *err)
{
    int json = 0, tune = 0, beside = 0, ordered = 0, rc;
    const char *name;
    /* clang-format off */
    const struct poptOption table[] = {
        { "algorithm", 'a', POPT_ARG_STRING, &texts.algorithm, 0, "one of `nowfarm plans`, as for NOWFARM_COLL, which does not count here; auto (default): the best by --table, or by the model measured at the start; all", "A" },
        { "segments", 'k', POPT_ARG_STRING, &texts.segments, 0, "for algorithms that have them; default: the best by the model", "K" },
        { "sizes", '\0', POPT_ARG_STRING, &texts.sizes, 0, "bytes of the vector (gather, scatter, alltoall: of a block); default " DEFAULT_SIZES, "LIST" },
        { "slaves", 's', POPT_ARG_STRING, &texts.slaves, 0, "members, this command being the first; several: each in turn; default one a host", "P[,P...]" },
        { "hosts", '\0', POPT_ARG_STRING, &texts.hosts, 0, "hosts to use, one a line; default those of the virtual machine", "FILE" },
        { "transport", '\0', POPT_ARG_STRING, &texts.transport, 0, "pvm (default) or local (threads of this process)", "NAME" },
        { "route", '\0', POPT_ARG_STRING, &texts.route, 0, "how tasks send: direct (default) or daemon, by the pvmds", "NAME" },
        { "repeat", '\0', POPT_ARG_STRING, &texts.repeat, 0, "calls that are timed; default 5 to 200 in 0.3 s; with --tune at least 10", "N" },
        { "timeout", '\0', POPT_ARG_STRING, &texts.timeout, 0, "give up when a member is silent for; default 60s", "TIME" },
        { "pause", '\0', POPT_ARG_STRING, &texts.pause, 0, "wait before each call, so that links and processors are idle; default 0", "TIME" },
        { "table", '\0', POPT_ARG_STRING, &texts.table, 0, "let auto go by a table of --tune; default: by the model measured at the start", "FILE" },
        { "network", '\0', POPT_ARG_STRING, &texts.network, 0, "let auto and bcast.tree go by a model file of a measured network: broadcasts", "MODEL" },
        { "model", '\0', POPT_ARG_STRING, &texts.model, 0, "predict only: sp2, t3e, cluster or a=us,b=us/byte[,delta=1..2][,g=us/byte]", "MODEL" },
        { "ordered", '\0', POPT_ARG_NONE, &ordered, 0, "combine by an operator that does not commute: reduce, allreduce, reduce_scatter, scan, exscan", NULL },
        { "tune", '\0', POPT_ARG_NONE, &tune, 0, "find the best algorithms and write a table", NULL },
        { "out", 'o', POPT_ARG_STRING, &texts.out, 0, "the table; default " COLL_TABLE_DEFAULT, "TABLE" },
        { "group-library", '\0', POPT_ARG_NONE, &beside, 0, "PVM's own group library beside it: bcast, reduce, gather, scatter, barrier", NULL },
        { "json", '\0', POPT_ARG_NONE, &json, 0, "print one JSON object", NULL },
        { "csv", '\0', POPT_ARG_STRING, &texts.csv, 0, "write the results for spreadsheets", "FILE" },
        { "plot", '\0', POPT_ARG_STRING, &texts.plot, 0, "draw time against size, or against P (needs gnuplot)", "FILE.svg|.png" },
        POPT_AUTOHELP POPT_TABLEEND,
    };
    /* clang-format on */
    poptContext context = poptGetContext(NULL, argc, argv, table, 0);
    enum nf_status status = NF_OK;

    *o = (struct coll_options){ .timeout_us = 60000000 };
    poptSetOtherOptionHelp(context, about);
    rc = poptGetNextOpt(context);
    if (rc < -1)
        status = nf_fail(err, NF_ERR_INVAL, "%s: %s (see --help)",
                         poptBadOption(context, POPT_BADOPTION_NOALIAS),
                         poptStrerror(rc));
    o->json = json != 0;
    o->tune = tune != 0;
    o->beside = beside != 0;
    o->ordered = ordered != 0;
    name = status == NF_OK ? poptGetArg(context) : NULL;
    if (status == NF_OK)
        status = coll_read_options_op(name, o->ops, err);
    if (status == NF_OK && o->ordered)
        status = keep_ordered(name, o->ops, err);
    if (status == NF_OK && poptPeekArg(context) != NULL)
        status =
            nf_fail(err, NF_ERR_INVAL, "coll-bench: unexpected argument \"%s\"",
                    poptPeekArg(context));
    if (status == NF_OK)
        status = parse_texts(o, err);
    poptFreeContext(context);
    return status;
}
