/* nowfarm run: one job from start to report. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands.h"
#include "apps/nowfarm/locate.h"
#include "apps/nowfarm/outside.h"
#include "apps/nowfarm/report.h"
#include "apps/nowfarm/run_options.h"
#include "apps/output.h"
#include "apps/rehearse.h"
#include "common/base/error.h"
#include "common/base/text.h"

/* A signal while the job runs asks its loop to end it in order.  Before and
 * after that, reading, verifying and writing ask nobody: they are cut short.
 * So is a job that is asked twice; the keeper cleans up behind us. */
static volatile int stop_asked;
static volatile sig_atomic_t job_runs, nsignals;

/* A rehearsal takes the memory of a job, of up to 64 MB, in each of its threads. */
enum { REHEARSAL_THREADS = 4 };

struct session {
    struct run_options o;
    char slave_program[PATH_MAX];
    bool bar;       /* draw a progress bar */
    FILE *out;      /* our standard output, kept from kernels */
    double model_s; /* what computing takes by the model; 0: it has none */
};

static void on_signal(int number)
{
    static const char line[] = "nowfarm: interrupted\n";

    (void)number;
    if (job_runs && nsignals++ == 0) {
        stop_asked = 1;
        return;
    }
    nf_output_cleanup();
    if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
        _exit(NF_EXIT_INTERRUPTED);
    _exit(NF_EXIT_INTERRUPTED);
}

static void catch_signals(void)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal }, before;

    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        /* ignored: by nohup, or by a shell for its background jobs */
        if (numbers[i] != SIGTERM &&
            sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler == SIG_IGN)
            continue;
        sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* write() says it */
    signal(SIGXFSZ, SIG_IGN);
}

static void on_progress(void *user, const struct nf_progress *p)
{
    struct session *s = user;

    if (s->bar)
        progress_draw(p);
    if (s->o.progress_fd >= 0 && progress_write(s->o.progress_fd, p) != 0)
        stop_asked = 1; /* the daemon that started us is gone */
}

static void on_notice(void *user, const char *line)
{
    struct session *s = user;
    char text[1024];

    if (s->o.quiet)
        return;
    progress_erase();
    snprintf(text, sizeof(text), "%s", line);
    nf_text_make_line(text);
    fprintf(stderr, "nowfarm: %s\n", text);
}

static void on_output(void *user, const char *label, const char *line)
{
    (void)user;
    progress_erase();
    fprintf(stderr, "%s: %s\n", label, line);
}

/* Kernels of local slaves run in this process and may print: what they print
 * must not get into the report. */
static FILE *keep_stdout(struct nf_error *err)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL), fd = -1;
    FILE *out = NULL;

    fflush(stdout);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
        errno = EBADF; /* it was closed, see main() */
    else
        fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        out = fdopen(fd, "w");
    if (out == NULL)
        nf_fail(err, NF_ERR_IO, "standard output: %s", strerror(errno));
    return out;
}

static enum nf_status verify(struct session *s, char *note, size_t bytes,
                             enum verified *verified_p, struct nf_error *err)
{
    enum nf_status status;

    if (!s->o.request.verify)
        return NF_OK;
    status = s->o.kind->verify(s->o.state, note, bytes, err);
    if (status == NF_OK)
        *verified_p = VERIFIED_RIGHT;
    else if (status == NF_ERR_VERIFY)
        *verified_p = VERIFIED_WRONG;
    return status;
}

/* By the model of the application: a rehearsal in as many threads as there are slots,
 * where these may be on one host, and processors here.
 * @return 0: it has none */
static double compute_model_s(const struct session *s,
                              const struct nf_report *report)
{
    const struct nf_app_kind *kind = s->o.kind;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct nf_rehearsal rehearsal = { .state = s->o.state,
                                      .threads = REHEARSAL_THREADS };
    double op_s;

    if (kind->operations == NULL || report->phases <= 1 || report->slots == 0)
        return 0;
    rehearsal.operations = kind->operations(s->o.state);
    if (rehearsal.threads > report->slots)
        rehearsal.threads = report->slots;
    if (processors > 0 && (long)rehearsal.threads > processors)
        rehearsal.threads = (uint32_t)processors;
    return nf_rehearse(kind, &rehearsal, &op_s)
               ? op_s * rehearsal.operations / report->slots
               : 0;
}

static enum nf_status tell(struct session *s, const struct nf_report *report,
                           enum verified verified, const char *note,
                           struct nf_error *err)
{
    const struct nf_app_kind *kind = s->o.kind;
    struct nf_app_figure figures[NF_APP_FIGURES];
    struct report_more more = { .figures = figures };
    enum nf_status status = NF_OK;

    if (kind->figures != NULL)
        more.nfigures = kind->figures(s->o.state, figures);
    more.compute_model_s = s->model_s;
    if (s->o.json) {
        status =
            report_print_json(s->out, kind->name, report, verified, &more);
    } else {
        report_print(s->out, kind->name, report, verified, note);
        report_print_figures(s->out, figures, more.nfigures);
        if (more.compute_model_s > 0)
            report_print_model(s->out, report, more.compute_model_s);
    }
    if (status == NF_ERR_NOMEM)
        return nf_fail(err, status, "out of memory for the report");
    if (status != NF_OK || fflush(s->out) != 0 || ferror(s->out))
        return nf_fail(err, NF_ERR_IO, "standard output: %s", strerror(errno));
    return NF_OK;
}

/* Read and check all that the job needs. */
static enum nf_status prepare(struct session *s, struct nf_app *app_p,
                              struct nf_error *err)
{
    enum nf_status status;

    if (s->o.job.slave_program == NULL) {
        status = locate_slave(s->slave_program, sizeof(s->slave_program), err);
        if (status != NF_OK)
            return status;
        s->o.job.slave_program = s->slave_program;
    }
    s->o.job.stop = &stop_asked;
    s->o.job.user = s;
    s->o.job.notice = on_notice;
    s->o.job.output = on_output;
    if (s->bar || s->o.progress_fd >= 0)
        s->o.job.progress = on_progress;
    return s->o.kind->open(s->o.state, &s->o.request, app_p, err);
}

static enum nf_status run_job(struct session *s, const struct nf_app *app,
                              struct nf_report *report_p, struct nf_error *err)
{
    enum nf_status status;

    job_runs = 1;
    status = nf_run(app, &s->o.job, report_p, err);
    job_runs = 0;
    progress_erase();
    if (status == NF_OK && stop_asked) /* a moment too late for nf_run() */
        status = nf_fail(err, NF_ERR_INTERRUPTED, "interrupted");
    return status;
}

/* Write --out.  After units were given up the others are delivered all the
 * same, and the error says what the file lacks; a job that ended before all
 * units were done or given up, or a wrong result, leaves no file. */
static enum nf_status save(struct session *s, const struct nf_report *r,
                           enum nf_status status, struct nf_error *err)
{
    size_t used = strlen(err->text);
    struct nf_error why;

    if (s->o.request.out == NULL)
        return status;
    if (status == NF_OK)
        return s->o.kind->save(s->o.state, err);
    if (status == NF_ERR_FAILED && r->failed_units > 0 &&
        r->done_units + r->failed_units == r->units &&
        s->o.kind->save(s->o.state, &why) == NF_OK)
        snprintf(err->text + used, sizeof(err->text) - used,
                 "; %s was written without them", s->o.request.out);
    else
        snprintf(err->text + used, sizeof(err->text) - used,
                 "; %s was not written", s->o.request.out);
    return status;
}

/* Everything after the arguments: read, run, verify, save, tell. */
static enum nf_status execute(struct session *s, struct nf_error *err)
{
    char note[256] = "";
    struct nf_app app = { 0 };
    struct nf_report report = { 0 };
    struct nf_error later;
    enum verified verified = NOT_VERIFIED;
    enum nf_status status, told;

    status = prepare(s, &app, err);
    if (status != NF_OK)
        return status;
    status = run_job(s, &app, &report, err);
    if ((status != NF_OK && status != NF_ERR_FAILED) ||
        report.transport[0] == '\0') /* it did not even begin */
        return status;
    if (status == NF_OK)
        status = verify(s, note, sizeof(note), &verified, err);
    /* it takes time: who interrupts it is to find no file whose report is missing */
    s->model_s = compute_model_s(s, &report);
    status = save(s, &report, status, err);
    told = tell(s, &report, verified, note, &later);
    if (status == NF_OK && told != NF_OK)
        status = nf_fail(err, told, "%s", later.text);
    return status;
}

/* Results come and go with every chunk: keep their memory, instead of having
 * the kernel clear new pages for each. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

int nf_cmd_run(int argc, const char **argv)
{
    struct session s = { .bar = false };
    struct nf_error err = { .status = NF_OK };
    bool done = false;
    enum nf_status status;

    if (argc > 1 && outside_is(argv[1]))
        return outside_become(argv);
    status = run_options_parse(argc, argv, &s.o, &done, &err);
    if (status != NF_OK)
        return nf_failure(&err);
    if (done)
        return nf_finish_output();
    s.bar = !s.o.quiet && isatty(STDERR_FILENO);
    s.out = keep_stdout(&err);
    if (s.out == NULL) {
        run_options_free(&s.o);
        return nf_failure(&err);
    }
    catch_signals();
    keep_memory();
    if (s.o.progress_fd >= 0)
        progress_open(s.o.progress_fd);
    status = execute(&s, &err);
    run_options_free(&s.o);
    if (fclose(s.out) != 0 && status == NF_OK)
        status =
            nf_fail(&err, NF_ERR_IO, "standard output: %s", strerror(errno));
    return status == NF_OK ? NF_EXIT_OK : nf_failure(&err);
}

int nf_cmd_run_check(int argc, const char **argv)
{
    struct run_options o;
    struct nf_error err = { .status = NF_OK };
    bool done = false;

    if (argc > 1 && outside_is(argv[1]))
        return outside_check(argv);
    if (run_options_parse(argc, argv, &o, &done, &err) != NF_OK)
        return nf_failure(&err);
    run_options_free(&o);
    return NF_EXIT_OK;
}
