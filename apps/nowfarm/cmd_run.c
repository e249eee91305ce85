/* nowfarm run: one job from start to report. */
#include "config.h"
#include <errno.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/commands.h"
#include "apps/nowfarm/locate.h"
#include "apps/nowfarm/report.h"
#include "apps/nowfarm/run_options.h"
#include "common/base/error.h"

static volatile int stop_asked; /* written by the signal handler */

struct session {
    struct run_options o;
    bool bar;                   /* draw a progress bar */
    FILE *out;                  /* our standard output, kept from kernels */
};

static void on_signal(int number)
{
    (void)number;
    if (stop_asked)
        _exit(130); /* asked twice: the keeper cleans up behind us */
    stop_asked = 1;
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
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

    progress_erase();
    if (!s->o.quiet)
        fprintf(stderr, "nowfarm: %s\n", line);
}

static void on_output(void *user, const char *label, const char *line)
{
    (void)user;
    progress_erase();
    fprintf(stderr, "%s: %s\n", label, line);
}

/* Kernels of local slaves run in this process and may print: what they print
 * must not get into the report. */
static FILE *keep_stdout(void)
{
    int fd;

    fflush(stdout);
    fd = dup(STDOUT_FILENO);
    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return NULL;
    return fdopen(fd, "w");
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

static enum nf_status tell(struct session *s, const struct nf_report *report,
                           enum verified verified, const char *note,
                           struct nf_error *err)
{
    const char *app = s->o.kind->name;
    enum nf_status status = NF_OK;

    if (s->o.json)
        status = report_print_json(s->out, app, report, verified);
    else
        report_print(s->out, app, report, verified, note);
    if (status == NF_OK && (fflush(s->out) != 0 || ferror(s->out)))
        status = NF_ERR_IO;
    if (status != NF_OK)
        nf_fail(err, status, "standard output: %s", strerror(errno));
    return status;
}

/* Everything after the arguments: read, run, verify, save, tell. */
static enum nf_status execute(struct session *s, struct nf_error *err)
{
    char slave[PATH_MAX], note[256] = "";
    struct nf_app app = { 0 };
    struct nf_report report = { 0 };
    struct nf_error later;
    enum verified verified = NOT_VERIFIED;
    enum nf_status status, told;

    status = s->o.kind->open(s->o.state, &s->o.request, &app, err);
    if (status != NF_OK)
        return status;
    if (s->o.job.slave_program == NULL) {
        locate_slave(slave, sizeof(slave));
        s->o.job.slave_program = slave;
    }
    s->o.job.stop = &stop_asked;
    s->o.job.user = s;
    s->o.job.notice = on_notice;
    s->o.job.output = on_output;
    if (s->bar || s->o.progress_fd >= 0)
        s->o.job.progress = on_progress;
    status = nf_run(&app, &s->o.job, &report, err);
    progress_erase();
    if (status != NF_OK && status != NF_ERR_FAILED)
        return status;
    if (status == NF_OK)
        status = verify(s, note, sizeof(note), &verified, err);
    if (status == NF_OK && s->o.request.out != NULL)
        status = s->o.kind->save(s->o.state, err);
    told = tell(s, &report, verified, note, &later);
    if (status == NF_OK && told != NF_OK)
        status = nf_fail(err, told, "%s", later.text);
    return status;
}

static int fail(const struct nf_error *err)
{
    fprintf(stderr, "nowfarm: %s\n", err->text);
    return nf_exit_status(err->status);
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
    enum nf_status status = run_options_parse(argc, argv, &s.o, &done, &err);

    if (status != NF_OK || done)
        return done ? 0 : fail(&err);
    s.bar = !s.o.quiet && isatty(STDERR_FILENO);
    s.out = keep_stdout();
    if (s.out == NULL) {
        run_options_free(&s.o);
        nf_fail(&err, NF_ERR_IO, "standard output: %s", strerror(errno));
        return fail(&err);
    }
    catch_signals();
    keep_memory();
    status = execute(&s, &err);
    err.status = status;
    run_options_free(&s.o);
    if (fclose(s.out) != 0 && status == NF_OK) {
        err.status = NF_ERR_IO;
        snprintf(err.text, sizeof(err.text), "standard output: %s",
                 strerror(errno));
    }
    return err.status == NF_OK ? 0 : fail(&err);
}

int nf_cmd_run_check(int argc, const char **argv)
{
    struct run_options o;
    struct nf_error err = { .status = NF_OK };
    bool done = false;
    enum nf_status status = run_options_parse(argc, argv, &o, &done, &err);

    if (status != NF_OK)
        return fail(&err);
    run_options_free(&o);
    return 0;
}
