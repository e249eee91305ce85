/* A job's process: starting it, reading its pipes without ever waiting for it,
 * ending it.  Every read is bounded, so that a runner that floods a pipe costs
 * the loop a few microseconds a turn; its events have a lower priority than
 * those of clients. */
#include "config.h"
#include "master/runner.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

enum {
    READ_BYTES = 16384, /* one turn of the loop */
    DRAIN_TURNS = 64,   /* reads after the end: 1 MiB, a full pipe 16 times */
    LINE_BYTES = 4096,  /* longest line of progress */
    LOW_PRIORITY = 1,
};

/* Kept output: the first or the last `limit` bytes. */
struct capture {
    char *data;
    size_t bytes, capacity, limit;
    uint64_t dropped_bytes;
    bool keep_last;
};

struct nf_runner {
    pid_t pid;
    bool ended, terminating;
    struct nf_runner_hooks hooks;
    struct event *progress_event, *report_event, *log_event, *kill_event;
    struct capture report, log;
    char line[LINE_BYTES]; /* the beginning of a line of progress */
    size_t line_bytes;
    bool line_too_long;
};

/* The ends of three pipes. */
struct pipes {
    int progress[2], report[2], log[2]; /* [0] ours, [1] the runner's */
};

static void capture_drop_oldest(struct capture *capture, size_t bytes)
{
    const char *newline =
        memchr(capture->data + bytes, '\n', capture->bytes - bytes);

    if (newline != NULL) /* start with a whole line */
        bytes = (size_t)(newline - capture->data) + 1;
    capture->bytes -= bytes;
    capture->dropped_bytes += bytes;
    memmove(capture->data, capture->data + bytes, capture->bytes);
}

static void capture_add(struct capture *capture, const char *data, size_t bytes)
{
    if (capture->keep_last && capture->bytes + bytes > capture->limit)
        capture_drop_oldest(capture, capture->bytes / 2);
    if (capture->bytes + bytes > capture->limit) {
        capture->dropped_bytes += bytes;
        return;
    }
    if (capture->bytes + bytes > capture->capacity) {
        size_t capacity = 2 * (capture->bytes + bytes);
        char *grown = nf_realloc(capture->data, capacity);

        if (grown == NULL) {
            capture->dropped_bytes += bytes;
            return;
        }
        capture->data = grown;
        capture->capacity = capacity;
    }
    memcpy(capture->data + capture->bytes, data, bytes);
    capture->bytes += bytes;
}

/* Of all lines in a piece of progress only the last whole one counts: it says
 * all that those before it said. */
static void take_progress(struct nf_runner *runner, const char *data,
                          size_t bytes)
{
    char last[LINE_BYTES];
    size_t last_bytes = 0;

    while (bytes > 0) {
        const char *newline = memchr(data, '\n', bytes);
        size_t piece = newline == NULL ? bytes : (size_t)(newline - data);

        if (runner->line_bytes + piece > LINE_BYTES) {
            runner->line_too_long = true;
        } else {
            memcpy(runner->line + runner->line_bytes, data, piece);
            runner->line_bytes += piece;
        }
        if (newline == NULL)
            break;
        if (!runner->line_too_long && runner->line_bytes > 0) {
            last_bytes = runner->line_bytes;
            memcpy(last, runner->line, last_bytes);
        }
        runner->line_bytes = 0;
        runner->line_too_long = false;
        data += piece + 1;
        bytes -= piece + 1;
    }
    if (last_bytes > 0)
        runner->hooks.progress(runner->hooks.user, last, last_bytes);
}

/* One read.  @return whether there may be more. */
static bool read_some(struct nf_runner *runner, struct event *event)
{
    char data[READ_BYTES];
    ssize_t got = read(event_get_fd(event), data, sizeof(data));

    if (got < 0)
        return errno == EINTR;
    if (got == 0) {
        event_del(event);
        return false;
    }
    if (event == runner->progress_event)
        take_progress(runner, data, (size_t)got);
    else
        capture_add(event == runner->log_event ? &runner->log : &runner->report,
                    data, (size_t)got);
    return true;
}

static void on_progress(evutil_socket_t fd, short what, void *arg)
{
    struct nf_runner *runner = arg;

    (void)fd;
    (void)what;
    read_some(runner, runner->progress_event);
}

static void on_report(evutil_socket_t fd, short what, void *arg)
{
    struct nf_runner *runner = arg;

    (void)fd;
    (void)what;
    read_some(runner, runner->report_event);
}

static void on_log(evutil_socket_t fd, short what, void *arg)
{
    struct nf_runner *runner = arg;

    (void)fd;
    (void)what;
    read_some(runner, runner->log_event);
}

static void on_grace_over(evutil_socket_t fd, short what, void *arg)
{
    struct nf_runner *runner = arg;

    (void)fd;
    (void)what;
    kill(-runner->pid, SIGKILL);
}

/* The child could not become the runner: one line in the log.  (strerror is not
 * on the list of functions for after a fork, but touches no lock or heap for an
 * errno that exists, in the C locale.) */
static _Noreturn void child_fail(const char *what, const char *name)
{
    const char *why = strerror(errno);
    const char *const parts[] = {
        "nowfarmd: cannot ", what, " ", name, ": ", why, "\n"
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    _exit(127);
}

static void child_signals(void)
{
    static const int handled[] = { SIGTERM, SIGINT,  SIGHUP,
                                   SIGCHLD, SIGPIPE, SIGQUIT };
    sigset_t none;

    for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
        signal(handled[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_from(int first)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    closefrom(first);
#else
    for (int fd = first; fd < 4096; fd++)
        close(fd);
#endif
}

/* Between fork and exec of a process with threads: system calls only. */
static _Noreturn void become_runner(const struct nf_runner_command *command,
                                    const struct pipes *pipes, pid_t parent)
{
    int null = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    /* all pipe ends are above 2, and 3 is written last */
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(pipes->report[1], STDOUT_FILENO) < 0 ||
        dup2(pipes->log[1], STDERR_FILENO) < 0 ||
        dup2(pipes->progress[1], NF_RUNNER_PROGRESS_FD) < 0)
        _exit(127);
    fcntl(NF_RUNNER_PROGRESS_FD, F_SETFD, 0); /* if it was 3 already */
    close_from(NF_RUNNER_PROGRESS_FD + 1);
    child_signals();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it died before we asked */
        _exit(130);
    umask(command->umask);
    if (chdir(command->cwd) != 0)
        child_fail("change to directory", command->cwd);
    execve(command->argv[0], command->argv, command->envp);
    child_fail("run", command->argv[0]);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_ends(struct pipes *pipes, int end)
{
    close_fd(&pipes->progress[end]);
    close_fd(&pipes->report[end]);
    close_fd(&pipes->log[end]);
}

static int open_pipes(struct pipes *pipes)
{
    memset(pipes, 0xff, sizeof(*pipes)); /* -1 everywhere */
    if (pipe2(pipes->progress, O_CLOEXEC) != 0 ||
        pipe2(pipes->report, O_CLOEXEC) != 0 ||
        pipe2(pipes->log, O_CLOEXEC) != 0)
        return -1;
    return fcntl(pipes->progress[0], F_SETFL, O_NONBLOCK) |
           fcntl(pipes->report[0], F_SETFL, O_NONBLOCK) |
           fcntl(pipes->log[0], F_SETFL, O_NONBLOCK);
}

/* Signals are held back over the fork: a handler that runs in the child would
 * write to the loop's wake-up pipe, and the daemon would take it as its own. */
static pid_t fork_runner(const struct nf_runner_command *command,
                         const struct pipes *pipes)
{
    pid_t parent = getpid();
    sigset_t all, before;
    pid_t pid;
    int why;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        become_runner(command, pipes, parent);
    why = errno;
    if (pid > 0)
        setpgid(pid, pid); /* whoever is first: both do it */
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return pid;
}

static struct event *watch(struct event_base *base, int fd,
                           event_callback_fn callback, struct nf_runner *runner)
{
    struct event *event =
        event_new(base, fd, EV_READ | EV_PERSIST, callback, runner);

    if (event != NULL && (event_priority_set(event, LOW_PRIORITY) != 0 ||
                          event_add(event, NULL) != 0)) {
        event_free(event);
        return NULL;
    }
    return event;
}

/* Takes our ends of the pipes. */
static enum nf_status add_events(struct nf_runner *runner,
                                 struct event_base *base, struct pipes *pipes)
{
    runner->progress_event =
        watch(base, pipes->progress[0], on_progress, runner);
    if (runner->progress_event != NULL)
        pipes->progress[0] = -1;
    runner->report_event = watch(base, pipes->report[0], on_report, runner);
    if (runner->report_event != NULL)
        pipes->report[0] = -1;
    runner->log_event = watch(base, pipes->log[0], on_log, runner);
    if (runner->log_event != NULL)
        pipes->log[0] = -1;
    runner->kill_event = evtimer_new(base, on_grace_over, runner);
    if (runner->progress_event == NULL || runner->report_event == NULL ||
        runner->log_event == NULL || runner->kill_event == NULL)
        return NF_ERR_NOMEM;
    return NF_OK;
}

enum nf_status nf_runner_start(struct event_base *base,
                               const struct nf_runner_command *command,
                               const struct nf_runner_hooks *hooks,
                               struct nf_runner **runner_p,
                               struct nf_error *err)
{
    struct nf_runner *runner = nf_calloc(1, sizeof(*runner));
    struct pipes pipes;
    enum nf_status status = NF_OK;

    if (runner == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    runner->ended = true; /* no process yet */
    runner->hooks = *hooks;
    runner->report.limit = NF_RUNNER_REPORT_BYTES;
    runner->log.limit = NF_RUNNER_LOG_BYTES;
    runner->log.keep_last = true;
    if (open_pipes(&pipes) != 0)
        status = nf_fail(err, NF_ERR_IO, "pipe: %s", strerror(errno));
    else if (add_events(runner, base, &pipes) != NF_OK)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    if (status == NF_OK) {
        runner->pid = fork_runner(command, &pipes);
        runner->ended = runner->pid < 0;
        if (runner->ended)
            status = nf_fail(err, NF_ERR_IO, "fork: %s", strerror(errno));
    }
    close_ends(&pipes, 0);
    close_ends(&pipes, 1);
    if (status != NF_OK) {
        nf_runner_destroy(runner);
        return status;
    }
    *runner_p = runner;
    return NF_OK;
}

static void free_event(struct event *event)
{
    int fd;

    if (event == NULL)
        return;
    fd = event_get_fd(event);
    event_free(event);
    if (fd >= 0)
        close(fd);
}

void nf_runner_destroy(struct nf_runner *runner)
{
    if (runner == NULL)
        return;
    if (!runner->ended) {
        kill(-runner->pid, SIGKILL);
        while (waitpid(runner->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    free_event(runner->progress_event);
    free_event(runner->report_event);
    free_event(runner->log_event);
    free_event(runner->kill_event);
    nf_free(runner->report.data);
    nf_free(runner->log.data);
    nf_free(runner);
}

pid_t nf_runner_pid(const struct nf_runner *runner)
{
    return runner->pid;
}

void nf_runner_terminate(struct nf_runner *runner, int64_t grace_us)
{
    const struct timeval grace = { .tv_sec = grace_us / 1000000,
                                   .tv_usec = grace_us % 1000000 };
    struct timeval due, now;

    if (runner->ended)
        return;
    if (!runner->terminating) {
        kill(runner->pid, SIGTERM);
        kill(runner->pid, SIGCONT); /* a stopped process cannot obey */
    }
    runner->terminating = true;
    if (event_pending(runner->kill_event, EV_TIMEOUT, &due)) {
        evutil_gettimeofday(&now, NULL);
        evutil_timeradd(&now, &grace, &now);
        if (evutil_timercmp(&due, &now, <=))
            return;
    }
    event_add(runner->kill_event, &grace);
}

void nf_runner_reap(struct nf_runner *runner)
{
    struct event *const pipes[] = { runner->progress_event,
                                    runner->report_event, runner->log_event };
    siginfo_t info = { .si_pid = 0 };
    int wait_status = 0;

    /* Look first, reap later: while it is a zombie the number of its group
     * cannot be anybody else's. */
    if (runner->ended ||
        waitid(P_PID, (id_t)runner->pid, &info, WEXITED | WNOHANG | WNOWAIT) !=
            0 ||
        info.si_pid == 0)
        return;
    if (runner->terminating)
        kill(-runner->pid, SIGKILL);
    if (waitpid(runner->pid, &wait_status, WNOHANG) != runner->pid)
        return;
    runner->ended = true;
    event_del(runner->kill_event);
    /* Not until end of file: a grandchild may hold the pipes open. */
    for (size_t i = 0; i < sizeof(pipes) / sizeof(pipes[0]); i++) {
        for (int turn = 0; turn < DRAIN_TURNS; turn++)
            if (!read_some(runner, pipes[i]))
                break;
        event_del(pipes[i]);
    }
    runner->hooks.ended(runner->hooks.user, wait_status);
}

static const char *capture_get(const struct capture *capture, size_t *bytes_p,
                               uint64_t *dropped_p)
{
    *bytes_p = capture->bytes;
    *dropped_p = capture->dropped_bytes;
    return capture->data == NULL ? "" : capture->data;
}

const char *nf_runner_report(const struct nf_runner *runner, size_t *bytes_p,
                             uint64_t *dropped_p)
{
    return capture_get(&runner->report, bytes_p, dropped_p);
}

const char *nf_runner_log(const struct nf_runner *runner, size_t *bytes_p,
                          uint64_t *dropped_p)
{
    return capture_get(&runner->log, bytes_p, dropped_p);
}
