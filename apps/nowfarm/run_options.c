/* The arguments of `nowfarm run`: ours, then those of the application, in one
 * popt table. */
#include "config.h"
#include "apps/nowfarm/run_options.h"
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/outside.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/model/network_file.h"
#include "common/policy/policy.h"
#include "master/emulate.h"
#include "master/engine.h"

enum option {
    OPT_POLICY = 1,
    OPT_SLAVES,
    OPT_SLOTS,
    OPT_HOSTS,
    OPT_TRANSPORT,
    OPT_OUT,
    OPT_TRACE,
    OPT_VERIFY,
    OPT_JSON,
    OPT_QUIET,
    OPT_UNIT_TIMEOUT,
    OPT_MAX_ATTEMPTS,
    OPT_HEARTBEAT,
    OPT_POLICY_SEED,
    OPT_SLAVE_PROGRAM,
    OPT_PROGRESS_FD,
    OPT_EMULATE,
    OPT_GATHER,
    OPT_TABLE,
    OPT_NETWORK,
    OPT_APP, /* and up: the application's, by index */
};

enum { TABLE_MAX = 64 };

/* clang-format off */
static const struct poptOption common[] = {
    { "policy", 'p', POPT_ARG_STRING, NULL, OPT_POLICY, "when and how much work a slave gets (see: nowfarm policies); default presend:td=auto", "SPEC" },
    { "slaves", 's', POPT_ARG_STRING, NULL, OPT_SLAVES, "slave tasks in all; default one a host", "P" },
    { "slots", '\0', POPT_ARG_STRING, NULL, OPT_SLOTS, "compute threads a slave; default cores / slaves on its host", "K" },
    { "hosts", '\0', POPT_ARG_STRING, NULL, OPT_HOSTS, "hosts to use, one a line; default those of the virtual machine", "FILE" },
    { "transport", '\0', POPT_ARG_STRING, NULL, OPT_TRANSPORT, "pvm (default) or local (threads of this process)", "NAME" },
    { "gather", '\0', POPT_ARG_STRING, NULL, OPT_GATHER, "how results come home: stream (default), tree (kept by the slaves till the end) or reduce (and combined)", "HOW" },
    { "table", '\0', POPT_ARG_STRING, NULL, OPT_TABLE, "broadcast shared data and combine results by this table of coll-bench --tune", "FILE" },
    { "network", '\0', POPT_ARG_STRING, NULL, OPT_NETWORK, "broadcast shared data by this model file of a measured network", "FILE" },
    { "out", 'o', POPT_ARG_STRING, NULL, OPT_OUT, "write the result to FILE", "FILE" },
    { "trace", '\0', POPT_ARG_STRING, NULL, OPT_TRACE, "record what happens in FILE (see: gantt, replay)", "FILE" },
    { "verify", '\0', POPT_ARG_NONE, NULL, OPT_VERIFY, "check the result", NULL },
    { "json", '\0', POPT_ARG_NONE, NULL, OPT_JSON, "print the report as one JSON object", NULL },
    { "quiet", 'q', POPT_ARG_NONE, NULL, OPT_QUIET, "no progress bar, no notices", NULL },
    { "unit-timeout", '\0', POPT_ARG_STRING, NULL, OPT_UNIT_TIMEOUT, "limit for one unit, as 30s", "TIME" },
    { "max-attempts", '\0', POPT_ARG_STRING, NULL, OPT_MAX_ATTEMPTS, "tries of a unit before it is given up; default 3", "N" },
    { "heartbeat-timeout", '\0', POPT_ARG_STRING, NULL, OPT_HEARTBEAT, "silence after which a slave is lost; default 4s", "TIME" },
    { "policy-seed", '\0', POPT_ARG_STRING, NULL, OPT_POLICY_SEED, "seed of policies that draw random numbers", "S" },
    { "emulate", '\0', POPT_ARG_STRING, NULL, OPT_EMULATE, "sleep as in a slower world, as unit=33ms,send=0.9ms,wire=1ms", "WORLD" },
    { "slave-program", '\0', POPT_ARG_STRING, NULL, OPT_SLAVE_PROGRAM, "absolute path of nowfarm-slave on the hosts", "PATH" },
    { "progress-fd", '\0', POPT_ARG_STRING | POPT_ARGFLAG_DOC_HIDDEN, NULL, OPT_PROGRESS_FD, NULL, "N" },
};
/* clang-format on */

/* An argument that must be a count. */
static enum nf_status read_count(const char *option, const char *text,
                                 uint64_t hi, uint64_t *value_p,
                                 struct nf_error *err)
{
    if (nf_parse_count(text, 1, hi, value_p) == NF_OK)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL, "%s %s: want a number from 1 to %llu",
                   option, text, (unsigned long long)hi);
}

static enum nf_status read_time(const char *option, const char *text,
                                int64_t lo_us, int64_t *time_p,
                                struct nf_error *err)
{
    int64_t time_us;

    if (nf_parse_time_us(text, &time_us) == NF_OK && time_us >= lo_us) {
        *time_p = time_us;
        return NF_OK;
    }
    return nf_fail(err, NF_ERR_INVAL,
                   "%s %s: want a time with its unit, at least %lld ms, as 5s "
                   "or 500ms",
                   option, text, (long long)(lo_us / 1000));
}

static enum nf_status set_number(struct run_options *o, int option,
                                 const char *text, struct nf_error *err)
{
    uint64_t n = 0;
    enum nf_status status;

    switch (option) {
    case OPT_SLAVES:
        status = read_count("--slaves", text, 65536, &n, err);
        o->job.slaves = (uint32_t)n;
        return status;
    case OPT_SLOTS:
        status = read_count("--slots", text, 4096, &n, err);
        o->job.slots = (uint32_t)n;
        return status;
    case OPT_MAX_ATTEMPTS:
        status = read_count("--max-attempts", text, 1000, &n, err);
        o->job.max_attempts = (uint32_t)n;
        return status;
    case OPT_UNIT_TIMEOUT:
        return read_time("--unit-timeout", text, 1000, &o->job.unit_timeout_us,
                         err);
    case OPT_HEARTBEAT:
        return read_time("--heartbeat-timeout", text, 200000,
                         &o->job.heartbeat_timeout_us, err);
    case OPT_POLICY_SEED:
        if (nf_parse_count(text, 0, UINT64_MAX, &o->job.seed) != NF_OK)
            return nf_fail(err, NF_ERR_INVAL, "--policy-seed %s: want a number",
                           text);
        return NF_OK;
    default:
        if (nf_parse_count(text, STDERR_FILENO + 1, INT_MAX, &n) != NF_OK ||
            fcntl((int)n, F_GETFD) < 0)
            return nf_fail(err, NF_ERR_INVAL,
                           "--progress-fd %s: want an open file descriptor "
                           "above 2",
                           text);
        o->progress_fd = (int)n;
        return NF_OK;
    }
}

static enum nf_status set(struct run_options *o, int option, const char *text,
                          struct nf_error *err)
{
    if (option >= OPT_APP)
        return o->kind->set(o->state, o->kind->options[option - OPT_APP].name,
                            text != NULL ? text : "1", err);
    switch (option) {
    case OPT_POLICY:
        o->job.policy = text;
        return NF_OK;
    case OPT_TRACE:
        o->job.trace_file = text;
        return nf_output_check(text, err);
    case OPT_HOSTS:
        o->job.hosts_file = text;
        return NF_OK;
    case OPT_TRANSPORT:
        /* popt sees to it that there is one: NOLINTNEXTLINE */
        if (strcmp(text, "pvm") != 0 && strcmp(text, "local") != 0)
            return nf_fail(err, NF_ERR_INVAL,
                           "--transport %s: want pvm or local", text);
        o->job.transport = text;
        o->request.threads = strcmp(text, "local") == 0;
        return NF_OK;
    case OPT_SLAVE_PROGRAM:
        o->job.slave_program = text;
        return NF_OK;
    case OPT_EMULATE:
        o->job.emulate = text;
        return NF_OK;
    case OPT_GATHER:
        o->job.gather = text;
        return NF_OK;
    case OPT_TABLE:
        o->job.table_file = text;
        return NF_OK;
    case OPT_NETWORK:
        o->job.network_file = text;
        return NF_OK;
    case OPT_OUT:
        o->request.out = text;
        return NF_OK;
    case OPT_VERIFY:
        o->request.verify = true;
        return NF_OK;
    case OPT_JSON:
        o->json = true;
        return NF_OK;
    case OPT_QUIET:
        o->quiet = true;
        return NF_OK;
    default:
        return set_number(o, option, text, err);
    }
}

/* The table popt wants: ours, the application's, help, end. */
static void make_table(const struct nf_app_kind *kind, struct poptOption *table)
{
    size_t n = sizeof(common) / sizeof(common[0]);

    memcpy(table, common, sizeof(common));
    for (size_t i = 0; kind != NULL && kind->options[i].name != NULL; i++) {
        const struct nf_app_option *a = &kind->options[i];

        table[n++] = (struct poptOption){
            .longName = a->name,
            .argInfo = a->argument != NULL ? POPT_ARG_STRING : POPT_ARG_NONE,
            .val = OPT_APP + (int)i,
            .descrip = a->help,
            .argDescrip = a->argument,
        };
    }
    assert(n + 2 <= TABLE_MAX);
    table[n++] = (struct poptOption){ .argInfo = POPT_ARG_INCLUDE_TABLE,
                                      .arg = poptHelpOptions,
                                      .descrip = "Help:" };
    memset(&table[n], 0, sizeof(table[n]));
}

static void app_names(char *text, size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; nf_app_table[i] != NULL && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s",
                                 i > 0 ? ", " : "", nf_app_table[i]->name);
}

static enum nf_status find_kind(int argc, const char **argv,
                                const struct nf_app_kind **kind_p,
                                struct nf_error *err)
{
    char names[512];
    const char *name = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;

    *kind_p = name != NULL ? nf_app_find(name) : NULL;
    app_names(names, sizeof(names));
    if (name != NULL && *kind_p == NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "no application \"%s\" (there are: %s)", name, names);
    for (int i = 1; i < argc && name == NULL; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0 ||
            strcmp(argv[i], "--usage") == 0)
            return NF_OK;
    if (name == NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "which application? nowfarm run APP ..., APP one of: %s",
                       names);
    return NF_OK;
}

/* So the help says. */
static bool names_file(const struct nf_app_kind *kind, int option)
{
    const char *argument = NULL;

    if (option >= OPT_APP)
        argument = kind->options[option - OPT_APP].argument;
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        if (common[i].val == option)
            argument = common[i].argDescrip;
    return argument != NULL &&
           (strcmp(argument, "FILE") == 0 || strcmp(argument, "PATH") == 0);
}

/* popt allocates what an option refers to, and we keep it to the end. */
static enum nf_status keep_text(struct run_options *o, int option, char *text,
                                struct nf_error *err)
{
    struct run_text *texts;

    if (text == NULL)
        return NF_OK;
    texts = nf_realloc(o->texts, (o->ntexts + 1) * sizeof(*texts));
    if (texts == NULL) {
        free(text);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    o->texts = texts;
    o->texts[o->ntexts++] =
        (struct run_text){ text, names_file(o->kind, option) };
    return NF_OK;
}

static enum nf_status read_all(poptContext context, struct run_options *o,
                               struct nf_error *err)
{
    enum nf_status status = NF_OK;
    const char *extra;
    int option;

    while (status == NF_OK && (option = poptGetNextOpt(context)) > 0) {
        char *text = poptGetOptArg(context);

        status = keep_text(o, option, text, err);
        if (status == NF_OK)
            status = set(o, option, text, err);
    }
    if (status != NF_OK)
        return status;
    if (option < -1)
        return nf_fail(err, NF_ERR_INVAL, "%s: %s (see: nowfarm run %s --help)",
                       poptBadOption(context, POPT_BADOPTION_NOALIAS),
                       poptStrerror(option), o->kind->name);
    extra = poptGetArg(context);
    if (extra != NULL)
        return nf_fail(
            err, NF_ERR_INVAL,
            "unexpected argument \"%s\" (see: nowfarm run %s --help)", extra,
            o->kind->name);
    return NF_OK;
}

/* The trace is begun when the inputs are read: it must not be one of them. */
static enum nf_status check_trace(const struct run_options *o,
                                  struct nf_error *err)
{
    const char *trace = o->job.trace_file;

    for (size_t i = 0; i < o->ntexts && trace != NULL; i++)
        if (o->texts[i].file && o->texts[i].text != trace &&
            nf_output_is_same(o->texts[i].text, trace))
            return nf_fail(err, NF_ERR_INVAL,
                           "--trace %s: another option means that file", trace);
    return NF_OK;
}

/* One that is named in the command is there to be used.  What the environment names
 * is for all jobs, and is left aside if it is of no use. */
static enum nf_status check_network(const char *path, struct nf_error *err)
{
    struct nf_network network;
    struct nf_error why;
    enum nf_status status;

    if (path == NULL || *path == '\0')
        return NF_OK;
    status = nf_network_read(path, &network, &why);
    if (status == NF_OK)
        nf_network_fini(&network);
    else
        nf_fail(err, status == NF_ERR_NOMEM ? status : NF_ERR_INVAL,
                "--network %s", why.text);
    return status == NF_OK ? NF_OK : err->status;
}

/* What nf_run() would find wrong too, found before the inputs are read. */
static enum nf_status check(const struct run_options *o, struct nf_error *err)
{
    struct nf_policy policy;
    struct nf_emulate emulate;
    enum nf_status status;

    if (o->job.policy != NULL &&
        nf_policy_parse(o->job.policy, &policy, err) != NF_OK)
        return NF_ERR_INVAL;
    if (o->job.emulate != NULL &&
        nf_emulate_parse(o->job.emulate, &emulate, err) != NF_OK)
        return NF_ERR_INVAL;
    if (o->job.emulate != NULL && o->job.slaves > 0 &&
        emulate.nspeeds > o->job.slaves)
        return nf_fail(err, NF_ERR_INVAL, "emulate: %u speeds for --slaves %u",
                       emulate.nspeeds, o->job.slaves);
    if (nf_gather_check(o->kind->kernel, &o->job, err) != NF_OK)
        return NF_ERR_INVAL;
    if (o->request.verify && o->kind->verify == NULL)
        return nf_fail(err, NF_ERR_INVAL, "--verify: %s can't be verified",
                       o->kind->name);
    if (o->request.out != NULL && o->kind->save == NULL)
        return nf_fail(err, NF_ERR_INVAL, "--out: %s has no output",
                       o->kind->name);
    if (o->job.slave_program != NULL && o->job.slave_program[0] != '/')
        return nf_fail(err, NF_ERR_INVAL,
                       "--slave-program %s: want an absolute path",
                       o->job.slave_program);
    if (o->job.hosts_file != NULL && o->job.transport != NULL &&
        strcmp(o->job.transport, "local") == 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "--hosts goes with --transport pvm only");
    status = check_network(o->job.network_file, err);
    return status == NF_OK ? check_trace(o, err) : status;
}

/* Options, and what popt says on --help. */
static enum nf_status read_words(int argc, const char **argv,
                                 struct run_options *o, bool *done_p,
                                 struct nf_error *err)
{
    struct poptOption table[TABLE_MAX];
    char names[512], help[1024];
    poptContext context;
    enum nf_status status = NF_OK;

    make_table(o->kind, table);
    app_names(names, sizeof(names));
    if (o->kind != NULL)
        snprintf(help, sizeof(help), "[OPTION...]\n\nRun on the slaves: %s.",
                 o->kind->summary);
    else
        snprintf(help, sizeof(help),
                 "APP [OPTION...]\n\nRun a job on the slaves.  'nowfarm run APP "
                 "--help' tells the options of each\napplication.  APP is one "
                 "of: %s%s",
                 names,
                 outside_is_there() ? "\nor fft, which is a program of its own, "
                                      "nowfarm-fft(1)"
                                    : "");
    context = poptGetContext(NULL, argc, argv, table, 0);
    if (context == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    poptSetOtherOptionHelp(context, help);
    if (o->kind == NULL) {
        poptPrintHelp(context, stdout, 0);
        *done_p = true;
    } else {
        status = read_all(context, o, err);
    }
    poptFreeContext(context);
    return status;
}

enum nf_status run_options_parse(int argc, const char **argv,
                                 struct run_options *o_p, bool *done_p,
                                 struct nf_error *err)
{
    struct run_options o = { .progress_fd = -1 };
    char title[96];
    const char *name;
    enum nf_status status = find_kind(argc, argv, &o.kind, err);

    if (status != NF_OK)
        return status;
    *done_p = false;
    if (o.kind == NULL) {
        status = read_words(argc, argv, &o, done_p, err);
    } else {
        status = o.kind->create(&o.state, err);
        if (status != NF_OK)
            return status;
        /* for popt, "nowfarm run APP" is the program */
        snprintf(title, sizeof(title), "nowfarm run %s", o.kind->name);
        name = argv[1];
        argv[1] = title;
        status = read_words(argc - 1, argv + 1, &o, done_p, err);
        argv[1] = name;
        if (status == NF_OK)
            status = check(&o, err);
    }
    if (status != NF_OK)
        run_options_free(&o);
    else
        *o_p = o;
    return status;
}

void run_options_free(struct run_options *o)
{
    if (o->kind != NULL)
        o->kind->destroy(o->state);
    for (unsigned i = 0; i < o->ntexts; i++)
        free(o->texts[i].text);
    nf_free(o->texts);
    memset(o, 0, sizeof(*o));
}
