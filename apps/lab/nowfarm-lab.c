/* nowfarm-lab: the program behind `nowfarm lab`.  Called by the name of rsh it
 * is what PVM_RSH names in a lab, LAB/rsh being a link to it. */
#include "config.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/lab/lab_verbs.h"
#include "apps/nowfarm/cli.h"
#include "common/base/error.h"
#include "common/base/fds.h"
#include "common/base/units.h"

struct verb {
    const char *name, *usage, *summary;
    int min_args, max_args; /* -1: what follows is a command */
    lab_verb_fn *run;
};

static const struct verb verbs[] = {
    { "up", "N [RATE]", "switch on ws0 to wsN; RATE limits each link", 1, 2,
      lab_verb_up },
    { "hub", "N RATE", "the same on one shared half-duplex medium", 2, 2,
      lab_verb_hub },
    { "exec", "WS COMMAND...", "run a command on a workstation", 2, -1,
      lab_verb_exec },
    { "rate", "WS RATE|none", "change the rate of one link", 2, 2,
      lab_verb_rate },
    { "cpu", "WS PERCENT|none", "give a workstation part of one core", 2, 2,
      lab_verb_cpu },
    { "cut", "WS", "pull a workstation's network cable", 1, 1, lab_verb_cut },
    { "mend", "WS", "plug it in again", 1, 1, lab_verb_mend },
    { "status", "", "how the lab is", 0, 0, lab_verb_status },
    { "list", "", "the labs that are up", 0, 0, lab_verb_list },
    { "hosts", "", "print a file for nowfarm run --hosts", 0, 0,
      lab_verb_hosts },
    { "pids", "WS", "the processes on a workstation", 1, 1, lab_verb_pids },
    { "rsh", "[-l USER] [-n] WS COMMAND...", "what PVM_RSH calls", 2, -1,
      lab_verb_rsh },
    { "check", "", "what is possible on this machine", 0, 0, lab_verb_check },
    { "down", "", "end all that runs in the lab, and remove it", 0, 0,
      lab_verb_down },
};

enum { NVERBS = sizeof(verbs) / sizeof(verbs[0]) };

/* What popt fills in, and what it wants kept. */
struct options {
    char *name, *latency, *frames;
    int json, all, private_tmp;
    struct poptOption table[9];
    poptContext contexts[2]; /* before and behind the verb: own its words */
};

static void options_init(struct options *o_p)
{
    const struct poptOption table[] = {
        { "name", 'n', POPT_ARG_STRING, &o_p->name, 0,
          "which lab; default $NOWFARM_LAB, or lab", "NAME" },
        { "latency", '\0', POPT_ARG_STRING, &o_p->latency, 0,
          "up, hub, rate: one-way latency of a link (needs netem)", "TIME" },
        { "frames", '\0', POPT_ARG_STRING, &o_p->frames, 0,
          "up, hub: frames that a link lets through at a time; default 1", "N" },
        { "private-tmp", '\0', POPT_ARG_NONE, &o_p->private_tmp, 0,
          "up, hub: a /tmp for each workstation", NULL },
        { "all", '\0', POPT_ARG_NONE, &o_p->all, 0,
          "down: all labs of this user; hosts: ws0, too", NULL },
        { "json", '\0', POPT_ARG_NONE, &o_p->json, 0,
          "status, list, check: print one JSON object", NULL },
        POPT_AUTOHELP POPT_TABLEEND,
    };

    memset(o_p, 0, sizeof(*o_p));
    memcpy(o_p->table, table, sizeof(table));
}

static void options_fini(struct options *o)
{
    for (int i = 0; i < 2; i++)
        poptFreeContext(o->contexts[i]);
    free(o->name);
    free(o->latency);
    free(o->frames);
}

static void describe(char *text_p, size_t bytes)
{
    size_t used = (size_t)snprintf(
        text_p, bytes,
        "[OPTION...] VERB [ARGUMENT...]\n\n"
        "A network of workstations on this machine: network namespaces on a "
        "virtual\nswitch or hub.  Root is not needed, but for cpu.\n\n");

    for (int i = 0; i < NVERBS && used < bytes; i++)
        used += (size_t)snprintf(text_p + used, bytes - used, "  %s %-*s %s\n",
                                 verbs[i].name, 35 - (int)strlen(verbs[i].name),
                                 verbs[i].usage, verbs[i].summary);
}

/* Read options from argv; what is left goes to *rest_p, NULL if nothing is.
 * @param behind  the verb; else stop at the first word that is no option */
static int read_options(int argc, const char **argv, bool behind,
                        struct options *o, const char ***rest_p)
{
    static char about[2048];
    poptContext context = poptGetContext(
        NULL, argc, argv, o->table, behind ? 0 : POPT_CONTEXT_POSIXMEHARDER);
    int status;

    o->contexts[behind] = context;
    describe(about, sizeof(about));
    poptSetOtherOptionHelp(context, about);
    status = nf_read_options(context);
    *rest_p = poptGetArgs(context);
    return status;
}

static int count(const char *const *words)
{
    int n = 0;

    while (words[n] != NULL)
        n++;
    return n;
}

static int read_frames(const char *text, unsigned *frames_p)
{
    uint64_t frames = 1;
    int status = NF_EXIT_OK;

    if (text != NULL)
        status =
            nf_read_count("lab: --frames", text, 1, LAB_MAX_FRAMES, &frames);
    *frames_p = (unsigned)frames;
    return status;
}

/* Check the options, and fill in what the verbs want. */
static int take_options(const struct options *o, struct lab_request *r_p)
{
    struct nf_error err;

    r_p->json = o->json != 0;
    r_p->all = o->all != 0;
    r_p->private_tmp = o->private_tmp != 0;
    r_p->has_latency = o->latency != NULL;
    if (o->latency != NULL &&
        (nf_parse_time_us(o->latency, &r_p->latency_us) != NF_OK ||
         r_p->latency_us > 10000000))
        return nf_usage_error("--latency %s: want a time with its unit up to "
                              "10s, as 5ms",
                              o->latency);
    if (read_frames(o->frames, &r_p->frames) != NF_EXIT_OK)
        return NF_EXIT_USAGE;
    return lab_find(o->name, &r_p->lab, &err) == NF_OK ? NF_EXIT_OK
                                                       : nf_failure(&err);
}

static int run_verb(const struct verb *verb, const char **rest,
                    struct options *o, const char *program)
{
    static const char *const none[] = { NULL };
    struct lab_request r = { .program = program };
    int status = NF_EXIT_OK;

    if (verb->max_args >= 0) { /* options may stand behind the verb, too */
        status = read_options(count(rest), rest, true, o, &rest);
        r.args = rest != NULL ? rest : none;
    } else {
        r.args = rest + 1;
    }
    if (status == NF_EXIT_OK)
        status = take_options(o, &r);
    if (status != NF_EXIT_OK)
        return status;
    r.nargs = count(r.args);
    if (r.nargs < verb->min_args ||
        (verb->max_args >= 0 && r.nargs > verb->max_args))
        return nf_usage_error("usage: nowfarm lab %s%s%s", verb->name,
                              verb->usage[0] != '\0' ? " " : "", verb->usage);
    return verb->run(&r);
}

static const struct verb *find_verb(const char *name)
{
    for (int i = 0; i < NVERBS; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

/* LAB/rsh: the lab is the one whose directory that is in. */
static int act_as_rsh(int argc, const char **argv, const char *program)
{
    struct lab_request r = { .program = program,
                             .args = argv + 1,
                             .nargs = argc - 1 };
    char path[PATH_MAX];
    struct nf_error err;
    char *slash;

    snprintf(path, sizeof(path), "%s", argv[0]);
    slash = strrchr(path, '/');
    if (slash != NULL)
        *slash = '\0';
    slash = strrchr(path, '/');
    if (lab_find(slash != NULL ? slash + 1 : NULL, &r.lab, &err) != NF_OK)
        return nf_failure(&err);
    return lab_verb_rsh(&r);
}

static int act(int argc, const char **argv, const char *program)
{
    struct options o;
    const char **rest;
    const struct verb *verb;
    int status;

    options_init(&o);
    status = read_options(argc, argv, false, &o, &rest);
    verb = rest != NULL ? find_verb(rest[0]) : NULL;
    if (status == NF_EXIT_OK && verb != NULL)
        status = run_verb(verb, rest, &o, program);
    else if (status == NF_EXIT_OK)
        status = nf_usage_error("lab: %s%.60s%s (see: nowfarm lab --help)",
                                rest != NULL ? "no verb \"" : "which verb?",
                                rest != NULL ? rest[0] : "",
                                rest != NULL ? "\"" : "");
    options_fini(&o);
    return status;
}

int main(int argc, char **argv)
{
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    const char *called;

    if (!nf_fds_open_standard() || n <= 0 || argc < 1)
        return NF_EXIT_FAILED;
    program[n] = '\0';
    called = strrchr(argv[0], '/');
    if (strcmp(called != NULL ? called + 1 : argv[0], "rsh") == 0)
        return act_as_rsh(argc, (const char **)argv, program);
    argv[0] = (char *)"nowfarm lab";
    return act(argc, (const char **)argv, program);
}
