/* nowfarm compare: the same job with several policies, in child processes. */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/child.h"
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands.h"
#include "apps/nowfarm/compare.h"
#include "apps/nowfarm/compare_options.h"
#include "apps/nowfarm/compare_report.h"
#include "apps/nowfarm/plot.h"
#include "apps/nowfarm/run_options.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/net/vm.h"

/* This very program, even if its file has been replaced meanwhile. */
#define OWN_PROGRAM "/proc/self/exe"

enum { REASON_BYTES = 300, OWN_WORDS = 12, SEED_BYTES = 24 };

struct session {
    struct compare_options o;
    struct compare c;
    struct child_guard guard;
    bool pvm;      /* runs need a virtual machine */
    bool app_seed; /* the application has an option --seed */
    bool bar;      /* show progress */
    int64_t start_us;
    char (*reasons)[REASON_BYTES]; /* of this round's failures, by policy */
    const char **argv;             /* of a run */
};

/* ---- what a run is told ---- */

/* The words of one run into s->argv; seed[] is room for one of them. */
static void make_words(struct session *s, unsigned round, const char *policy,
                       char *seed)
{
    const char **to = s->argv;

    *to++ = "nowfarm";
    *to++ = s->o.app != NULL ? "run" : "sim";
    *to++ = s->o.app != NULL ? s->o.app : "farm";
    if (s->o.app == NULL) {
        *to++ = "--platform";
        *to++ = s->o.platform;
    } else {
        *to++ = "--quiet";
    }
    *to++ = "--policy";
    *to++ = policy;
    *to++ = "--json";
    /* real weather changes by itself, simulated weather by its seed */
    if (s->o.app == NULL || (s->app_seed && s->o.seed_given)) {
        snprintf(seed, SEED_BYTES, "%" PRIu64,
                 s->o.seed + (s->o.app == NULL ? round : 0));
        *to++ = "--seed";
        *to++ = seed;
    }
    for (unsigned i = 0; i < s->o.nrest; i++)
        *to++ = s->o.rest[i];
    *to = NULL;
}

/* ---- before anything runs ---- */

static bool has_seed(const char *app)
{
    const struct nf_app_kind *kind = nf_app_find(app);
    const struct nf_app_option *option = kind != NULL ? kind->options : NULL;

    for (; option != NULL && option->name != NULL; option++)
        if (strcmp(option->name, "seed") == 0)
            return true;
    return false;
}

/* What is written in the end must be no file that the runs read or write:
 * `other` of them, if that is not NULL. */
static enum nf_status check_apart(const char *option, const char *path,
                                  const char *other, struct nf_error *err)
{
    if (path == NULL || other == NULL || !nf_output_is_same(path, other))
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL,
                   "%s %.200s: another option means that file", option, path);
}

static enum nf_status check_run_files(const struct session *s,
                                      const struct run_options *run,
                                      struct nf_error *err)
{
    for (unsigned i = 0; i < run->ntexts; i++) {
        const struct run_text *text = &run->texts[i];
        enum nf_status status = NF_OK;

        if (text->file)
            status = check_apart("--csv", s->o.csv, text->text, err);
        if (text->file && status == NF_OK)
            status = check_apart("--plot", s->o.plot, text->text, err);
        if (status != NF_OK)
            return status;
    }
    return NF_OK;
}

static enum nf_status check_platform(const struct session *s,
                                     struct nf_error *err)
{
    enum nf_status status;

    if (access(s->o.platform, R_OK) != 0)
        return nf_fail(err, NF_ERR_INVAL, "--platform %.200s: %s",
                       s->o.platform, strerror(errno));
    status = check_apart("--csv", s->o.csv, s->o.platform, err);
    if (status == NF_OK)
        status = check_apart("--plot", s->o.plot, s->o.platform, err);
    return status;
}

/* The arguments that go to each run. */
static enum nf_status check_run(struct session *s, struct nf_error *err)
{
    struct run_options run;
    bool done = false, policy;
    enum nf_status status;

    if (s->o.platform != NULL)
        return check_platform(s, err);
    s->app_seed = has_seed(s->o.app);
    /* the rest alone: a policy among it, in whatever spelling, would win over
     * those to compare */
    s->argv[0] = "run";
    s->argv[1] = s->o.app;
    memcpy(s->argv + 2, s->o.rest, (s->o.nrest + 1) * sizeof(*s->argv));
    status = run_options_parse((int)s->o.nrest + 2, s->argv, &run, &done, err);
    if (status != NF_OK)
        return status;
    policy = run.job.policy != NULL;
    s->pvm = run.job.transport == NULL || strcmp(run.job.transport, "pvm") == 0;
    status = check_run_files(s, &run, err);
    run_options_free(&run);
    if (policy)
        return nf_fail(err, NF_ERR_INVAL,
                       "--policy: compare takes --policies 'A;B;C'");
    return status;
}

static enum nf_status check_files(const struct session *s, struct nf_error *err)
{
    enum nf_status status = NF_OK;

    if (s->o.csv != NULL)
        status = nf_output_check(s->o.csv, err);
    if (status != NF_OK)
        return nf_fail_prefix(err, "--csv");
    if (s->o.csv != NULL && s->o.plot != NULL &&
        nf_output_is_same(s->o.csv, s->o.plot))
        return nf_fail(err, NF_ERR_INVAL, "--csv and --plot are one file, %s",
                       s->o.plot);
    if (s->o.plot != NULL)
        status = plot_check(s->o.plot, err);
    return status == NF_OK ? NF_OK : nf_fail_prefix(err, "--plot");
}

static enum nf_status prepare(struct session *s, struct nf_error *err)
{
    enum nf_status status = compare_take_policies(&s->c, s->o.policies, err);

    compare_set_subject(&s->c, s->o.app != NULL ? s->o.app : s->o.platform);
    s->c.simulated = s->o.platform != NULL;
    s->c.seed = s->o.seed;
    s->c.warmup = s->o.warmup;
    s->c.repeat = s->o.repeat;
    s->bar = !s->o.quiet && isatty(STDERR_FILENO);
    if (status == NF_OK)
        status = compare_plan(&s->c, err);
    if (status != NF_OK)
        return status;
    s->reasons = nf_calloc(s->c.npolicies, sizeof(*s->reasons));
    s->argv = nf_calloc(OWN_WORDS + s->o.nrest, sizeof(*s->argv));
    if (s->reasons == NULL || s->argv == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = check_run(s, err);
    if (status == NF_OK)
        status = check_files(s, err);
    if (status == NF_OK && s->pvm)
        status = nf_vm_hold(err);
    return status;
}

/* ---- running ---- */

static void show(const struct session *s, unsigned round, unsigned order,
                 const char *policy)
{
    unsigned runs = (s->c.warmup + s->c.repeat) * s->c.npolicies;
    unsigned before = round * s->c.npolicies + order - 1;
    int64_t elapsed_us = nf_now_us() - s->start_us;
    char left[32] = "";

    if (!s->bar)
        return;
    fprintf(stderr, "\r\033[K[%u/%u] ", before + 1, runs);
    if (round < s->c.warmup)
        fputs("warm-up", stderr);
    else
        fprintf(stderr, "round %u of %u", round - s->c.warmup + 1, s->c.repeat);
    if (before > 0)
        fprintf(stderr, ", about %s left",
                nf_format_time_us(elapsed_us / before * (runs - before), left,
                                  sizeof(left)));
    fprintf(stderr, ": %.24s", policy);
    fflush(stderr);
}

static void show_end(const struct session *s)
{
    if (s->bar)
        fputs("\r\033[K", stderr);
}

/* Judge what a child that has ended left behind. */
static void take_result(struct session *s, struct compare_run *run,
                        unsigned policy, FILE *out, FILE *complaint)
{
    char *reason = s->reasons[policy];
    json_error_t where;
    json_t *report;

    if (run->exit_status != 0) {
        run->state = RUN_FAILED;
        child_last_line(complaint, reason, REASON_BYTES);
        return;
    }
    rewind(out);
    report = json_loadf(out, 0, &where);
    if (compare_take_report(&s->c, run, report) != NF_OK)
        snprintf(reason, REASON_BYTES, "its report cannot be read: %s",
                 report == NULL ? where.text : "no makespan_s");
    json_decref(report);
    nf_text_make_line(reason);
}

static enum nf_status run_one(struct session *s, unsigned round,
                              unsigned policy, struct nf_error *err)
{
    struct compare_run *run = compare_at(&s->c, round, policy);
    char seed[SEED_BYTES];
    FILE *out = child_scratch(), *complaint = child_scratch();
    struct child child = { OWN_PROGRAM, s->argv, NULL, out, complaint };
    enum nf_status status = NF_OK;

    make_words(s, round, s->c.policies[policy], seed);
    s->reasons[policy][0] = '\0';
    if (out == NULL || complaint == NULL)
        status = nf_fail(err, NF_ERR_IO, "temporary file: %s", strerror(errno));
    else
        status = child_run(&child, &s->guard, &run->exit_status, err);
    if (status == NF_OK && s->guard.interrupted)
        status = nf_fail(err, NF_ERR_INTERRUPTED, "interrupted");
    else if (status == NF_OK)
        take_result(s, run, policy, out, complaint);
    if (out != NULL)
        fclose(out);
    if (complaint != NULL)
        fclose(complaint);
    return status;
}

static void tell_failures(const struct session *s, unsigned round)
{
    show_end(s);
    for (unsigned i = 0; i < s->c.npolicies; i++) {
        const struct compare_run *run = compare_at(&s->c, round, i);
        char when[32] = "warm-up";

        if (run->state != RUN_FAILED)
            continue;
        if (round >= s->c.warmup)
            snprintf(when, sizeof(when), "round %u", round - s->c.warmup + 1);
        fprintf(stderr, "nowfarm: %s, %s: exit status %d%s%s\n",
                s->c.policies[i], when, run->exit_status,
                s->reasons[i][0] != '\0' ? ": " : "", s->reasons[i]);
    }
}

/* If every policy is turned down in the first round, and all with one exit
 * status for bad input or no PVM, then it is not the policies' fault. */
static enum nf_status judge_first_round(const struct session *s,
                                        struct nf_error *err)
{
    const struct compare_run *first = compare_at(&s->c, 0, 0);

    for (unsigned i = 0; i < s->c.npolicies; i++) {
        const struct compare_run *run = compare_at(&s->c, 0, i);

        if (run->state != RUN_FAILED || run->exit_status != first->exit_status)
            return NF_OK;
    }
    if (first->exit_status == NF_EXIT_USAGE)
        return nf_fail(err, NF_ERR_INVAL, "%s", s->reasons[0]);
    if (first->exit_status == NF_EXIT_UNREACHABLE)
        return nf_fail(err, NF_ERR_UNREACHABLE, "%s", s->reasons[0]);
    return NF_OK;
}

static enum nf_status run_round(struct session *s, unsigned round,
                                struct nf_error *err)
{
    enum nf_status status = NF_OK;

    for (unsigned order = 1; order <= s->c.npolicies && status == NF_OK;
         order++) {
        unsigned policy = compare_policy_at(&s->c, round, order);

        show(s, round, order, s->c.policies[policy]);
        status = run_one(s, round, policy, err);
    }
    if (status == NF_OK && round == 0)
        status = judge_first_round(s, err);
    if (status == NF_OK || status == NF_ERR_INTERRUPTED)
        tell_failures(s, round);
    show_end(s);
    return status;
}

static enum nf_status run_all(struct session *s, struct nf_error *err)
{
    unsigned rounds = s->c.warmup + s->c.repeat;
    enum nf_status status = NF_OK;

    s->start_us = nf_now_us();
    for (unsigned round = 0; round < rounds && status == NF_OK; round++)
        status = run_round(s, round, err);
    if (status == NF_ERR_INTERRUPTED)
        s->c.interrupted = true;
    return status;
}

/* ---- after that ---- */

static int tell(const struct session *s, const struct compare_verdict *v)
{
    if (s->o.json)
        return nf_print_json(compare_to_json(&s->c, v));
    if (compare_print(&s->c, v, stdout) != NF_OK)
        return nf_memory_error();
    return nf_finish_output();
}

/* Print and write what there is.  Each is tried, whatever becomes of others. */
static int deliver(const struct session *s)
{
    struct compare_verdict verdict;
    struct nf_error err;
    int exit_status, told;

    if (compare_judge(&s->c, &verdict) != NF_OK)
        return nf_memory_error();
    exit_status = verdict.failed > 0 ? NF_EXIT_FAILED : NF_EXIT_OK;
    told = tell(s, &verdict);
    if (told != NF_EXIT_OK)
        exit_status = told;
    if (s->o.csv != NULL && compare_write_csv(&s->c, s->o.csv, &err) != NF_OK)
        exit_status = nf_failure(&err);
    if (s->o.plot != NULL &&
        compare_plot(&s->c, &verdict, s->o.plot, &err) != NF_OK)
        exit_status = nf_failure(&err);
    return exit_status;
}

static int execute(struct session *s)
{
    struct nf_error err = { .status = NF_OK };
    enum nf_status status;
    int exit_status;

    child_guard_enter(&s->guard);
    status = run_all(s, &err);
    if (s->pvm)
        nf_vm_release();
    if (status == NF_OK || status == NF_ERR_INTERRUPTED)
        exit_status = deliver(s);
    else
        exit_status = nf_failure(&err);
    child_guard_leave(&s->guard);
    if (s->guard.interrupted)
        exit_status =
            nf_failure(&(struct nf_error){ NF_ERR_INTERRUPTED, "interrupted" });
    return exit_status;
}

int nf_cmd_compare(int argc, const char **argv)
{
    struct session s = { .pvm = false };
    struct nf_error err = { .status = NF_OK };
    int exit_status;

    if (compare_options_parse(argc, argv, &s.o, &err) != NF_OK)
        return nf_failure(&err);
    if (s.o.help)
        exit_status = compare_options_help(argc, argv);
    else if (prepare(&s, &err) != NF_OK)
        exit_status = nf_failure(&err);
    else
        exit_status = execute(&s);
    compare_fini(&s.c);
    nf_free(s.reasons);
    nf_free(s.argv);
    nf_free(s.o.rest);
    return exit_status;
}
