/* popt refuses options that it does not know, and most here are those of the
 * application: so they are told apart by hand, from the table that --help
 * prints. */
#include "config.h"
#include "apps/nowfarm/compare_options.h"
#include <popt.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/compare.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"

enum option {
    OPT_POLICIES = 1,
    OPT_REPEAT,
    OPT_WARMUP,
    OPT_SEED,
    OPT_PLATFORM,
    OPT_CSV,
    OPT_PLOT,
    OPT_JSON,
    OPT_QUIET,
    OPT_POLICY,
    OPT_HELP,
};

enum { DEFAULT_REPEAT = 6 }; /* the fewest rounds for an interval of 95 % */

/* clang-format off */
static const struct poptOption table[] = {
    { "policies", '\0', POPT_ARG_STRING, NULL, OPT_POLICIES, "the policies, joined by ';'; others are compared to the first", "A;B;C" },
    { "repeat", '\0', POPT_ARG_STRING, NULL, OPT_REPEAT, "rounds that count, each of which runs every policy once; default 6", "K" },
    { "warmup", '\0', POPT_ARG_STRING, NULL, OPT_WARMUP, "rounds before them, which do not count; default 1, 0 with --platform", "K" },
    { "seed", '\0', POPT_ARG_STRING, NULL, OPT_SEED, "shuffles the order of each round (default 1), and is handed to an application that has this option", "S" },
    { "platform", '\0', POPT_ARG_STRING, NULL, OPT_PLATFORM, "simulate this platform instead of running APP; the other options are those of 'nowfarm sim farm'", "FILE" },
    { "csv", '\0', POPT_ARG_STRING, NULL, OPT_CSV, "write one line a run to FILE", "FILE" },
    { "plot", '\0', POPT_ARG_STRING, NULL, OPT_PLOT, "draw the makespans, .svg or .png (needs gnuplot)", "FILE" },
    { "json", '\0', POPT_ARG_NONE, NULL, OPT_JSON, "print one JSON object", NULL },
    { "quiet", 'q', POPT_ARG_NONE, NULL, OPT_QUIET, "show no progress", NULL },
    { NULL, '\0', POPT_ARG_INCLUDE_TABLE, (void *)poptHelpOptions, 0, "Help:", NULL },
    POPT_TABLEEND,
};
/* Not shown: what would be misunderstood if it were handed on. */
static const struct poptOption others[] = {
    { "policy", 'p', POPT_ARG_STRING, NULL, OPT_POLICY, NULL, NULL },
    { "help", '?', POPT_ARG_NONE, NULL, OPT_HELP, NULL, NULL },
    { "usage", '\0', POPT_ARG_NONE, NULL, OPT_HELP, NULL, NULL },
    POPT_TABLEEND,
};
/* clang-format on */

/* Is `word` that option?  value_p: what follows it in this word, or NULL. */
static bool is_option(const char *word, const struct poptOption *option,
                      const char **value_p)
{
    size_t length = option->longName != NULL ? strlen(option->longName) : 0;
    bool attached = option->argInfo == POPT_ARG_STRING;

    *value_p = NULL;
    if (length == 0)
        return false;
    if (word[0] == '-' && word[1] != '\0' && word[1] == option->shortName &&
        (word[2] == '\0' || attached)) {
        *value_p = word[2] != '\0' ? word + 2 : NULL;
        return true;
    }
    if (strncmp(word, "--", 2) != 0 ||
        strncmp(word + 2, option->longName, length) != 0)
        return false;
    if (word[2 + length] == '=')
        *value_p = word + 2 + length + 1;
    return word[2 + length] == '=' || word[2 + length] == '\0';
}

static const struct poptOption *find(const struct poptOption *in,
                                     const char *word, const char **value_p)
{
    for (; in->longName != NULL || in->argInfo == POPT_ARG_INCLUDE_TABLE; in++)
        if (is_option(word, in, value_p))
            return in;
    return NULL;
}

static enum nf_status set_count(const char *option, const char *text,
                                unsigned lo, unsigned *count_p,
                                struct nf_error *err)
{
    uint64_t count;

    if (nf_parse_count(text, lo, COMPARE_ROUNDS_MAX, &count) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL,
                       "--%s %.60s: want a number from %u "
                       "to %d",
                       option, text, lo, COMPARE_ROUNDS_MAX);
    *count_p = (unsigned)count;
    return NF_OK;
}

static enum nf_status set(struct compare_options *o,
                          const struct poptOption *option, const char *text,
                          struct nf_error *err)
{
    switch (option->val) {
    case OPT_POLICIES:
        o->policies = text;
        return NF_OK;
    case OPT_REPEAT:
        return set_count("repeat", text, 1, &o->repeat, err);
    case OPT_WARMUP:
        return set_count("warmup", text, 0, &o->warmup, err);
    case OPT_SEED:
        o->seed_given = true;
        if (nf_parse_count(text, 0, INT64_MAX, &o->seed) != NF_OK)
            return nf_fail(err, NF_ERR_INVAL,
                           "--seed %.60s: want a number from 0 to 2^63 - 1",
                           text);
        return NF_OK;
    case OPT_PLATFORM:
        o->platform = text;
        return NF_OK;
    case OPT_CSV:
        o->csv = text;
        return NF_OK;
    case OPT_PLOT:
        o->plot = text;
        return NF_OK;
    case OPT_JSON:
        o->json = true;
        return NF_OK;
    case OPT_QUIET:
        o->quiet = true;
        return NF_OK;
    case OPT_HELP:
        o->help = true;
        return NF_OK;
    default:
        return nf_fail(err, NF_ERR_INVAL,
                       "--%s: compare takes --policies 'A;B;C'",
                       option->longName);
    }
}

/* Word `*at`, and the one behind it if that is its value. */
static enum nf_status take_word(int argc, const char **argv, int *at,
                                struct compare_options *o, struct nf_error *err)
{
    const char *word = argv[*at], *value;
    const struct poptOption *option = find(table, word, &value);

    if (option == NULL)
        option = find(others, word, &value);
    if (option == NULL) {
        o->rest[o->nrest++] = word;
        return NF_OK;
    }
    if (option->argInfo == POPT_ARG_NONE && value != NULL)
        return nf_fail(err, NF_ERR_INVAL, "%.60s: this option has no value",
                       word);
    if (option->argInfo == POPT_ARG_STRING && value == NULL) {
        if (*at + 1 >= argc)
            return nf_fail(err, NF_ERR_INVAL,
                           "--%s: missing argument (see: nowfarm compare "
                           "--help)",
                           option->longName);
        value = argv[++*at];
    }
    return set(o, option, value, err);
}

static enum nf_status check(const struct compare_options *o,
                            struct nf_error *err)
{
    if (o->help)
        return NF_OK;
    if (o->app == NULL && o->platform == NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "which application? nowfarm compare APP --policies "
                       "'A;B;C', or --platform FILE");
    if (o->app != NULL && o->platform != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "compare: want APP or --platform, not both");
    if (o->policies == NULL || o->policies[0] == '\0')
        return nf_fail(err, NF_ERR_INVAL,
                       "--policies: which? want them joined by ';', as "
                       "'send;gss;auto'");
    return NF_OK;
}

enum nf_status compare_options_parse(int argc, const char **argv,
                                     struct compare_options *o_p,
                                     struct nf_error *err)
{
    struct compare_options o = { .repeat = DEFAULT_REPEAT,
                                 .warmup = UINT32_MAX,
                                 .seed = 1 };
    enum nf_status status = NF_OK;
    int at = 1;

    o.rest = nf_calloc((size_t)argc + 1, sizeof(*o.rest));
    if (o.rest == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    if (argc > 1 && argv[1][0] != '-')
        o.app = argv[at++];
    for (; at < argc && status == NF_OK; at++)
        status = take_word(argc, argv, &at, &o, err);
    if (status == NF_OK)
        status = check(&o, err);
    if (status != NF_OK) {
        nf_free(o.rest);
        return status;
    }
    if (o.warmup == UINT32_MAX)
        o.warmup = o.platform == NULL ? 1 : 0;
    *o_p = o;
    return NF_OK;
}

int compare_options_help(int argc, const char **argv)
{
    poptContext context = poptGetContext(NULL, argc, argv, table, 0);

    if (context == NULL)
        return nf_memory_error();
    poptSetOtherOptionHelp(
        context,
        "APP --policies 'A;B;C' [OPTION...]\n\nRun the same job with several "
        "policies, several times each in shuffled order, and\nsay which one is "
        "best and whether the difference is real.  All options of "
        "'nowfarm\nrun "
        "APP' but --policy may be given too.");
    poptPrintHelp(context, stdout, 0);
    poptFreeContext(context);
    return nf_finish_output();
}
