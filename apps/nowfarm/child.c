/* Signals are not handled but waited for, together with the child's end: there
 * is no moment at which one could be missed. */
#include "config.h"
#include "apps/nowfarm/child.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/base/error.h"
#include "common/base/text.h"

void child_guard_enter(struct child_guard *guard)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action;
    sigset_t block;

    guard->interrupted = 0;
    sigemptyset(&guard->asked);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        /* ignored: by nohup, or by a shell for its background jobs */
        if (sigaction(numbers[i], NULL, &action) == 0 &&
            action.sa_handler != SIG_IGN)
            sigaddset(&guard->asked, numbers[i]);
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take exit statuses away */
    block = guard->asked;
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, &guard->before);
}

bool child_guard_look(struct child_guard *guard)
{
    static const struct timespec now = { 0 };
    int number;

    while ((number = sigtimedwait(&guard->asked, NULL, &now)) > 0)
        guard->interrupted = number;
    return guard->interrupted != 0;
}

void child_guard_leave(struct child_guard *guard)
{
    child_guard_look(guard);
    sigprocmask(SIG_SETMASK, &guard->before, NULL);
}

static void redirect(FILE *file, int to)
{
    int fd =
        file != NULL ? fileno(file) : open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0 || dup2(fd, to) < 0)
        _exit(CHILD_NOT_FOUND);
}

/* In the new process. */
static void become(const struct child *child, pid_t parent)
{
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(CHILD_NOT_FOUND); /* it is dead already */
    redirect(child->in, STDIN_FILENO);
    redirect(child->out, STDOUT_FILENO);
    redirect(child->err, STDERR_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* exec's own type forgets that it does not write to the words */
    execvp(child->program, (char *const *)(uintptr_t)child->argv);
    _exit(CHILD_NOT_FOUND);
}

/* Wait for the end of `pid`; other children of this process end unnoticed. */
static int wait_for(pid_t pid, struct child_guard *guard)
{
    sigset_t set = guard->asked;
    int status = 0;

    sigaddset(&set, SIGCHLD);
    while (waitpid(pid, &status, WNOHANG) != pid) {
        int number = sigwaitinfo(&set, NULL);

        if (number > 0 && number != SIGCHLD) {
            guard->interrupted = number;
            kill(pid, SIGTERM);
        }
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

enum nf_status child_run(const struct child *child, struct child_guard *guard,
                         int *exit_p, struct nf_error *err)
{
    struct child_guard own = { .interrupted = 0 };
    struct child_guard *g = guard != NULL ? guard : &own;
    enum nf_status status = NF_OK;
    pid_t parent = getpid(), pid;

    if (guard == NULL)
        child_guard_enter(&own);
    pid = fork();
    if (pid == 0)
        become(child, parent);
    if (pid > 0)
        *exit_p = wait_for(pid, g);
    else
        status = nf_fail(err, NF_ERR_FAILED, "fork: %s", strerror(errno));
    if (guard == NULL) {
        child_guard_leave(&own);
        if (own.interrupted)
            raise(own.interrupted);
    }
    return status;
}

FILE *child_scratch(void)
{
    FILE *file = tmpfile();

    if (file != NULL)
        fcntl(fileno(file), F_SETFD, FD_CLOEXEC);
    return file;
}

const char *child_last_line(FILE *from, char *text, size_t bytes)
{
    static const char prefix[] = "nowfarm: ";
    char line[1024];

    text[0] = '\0';
    rewind(from);
    while (fgets(line, (int)sizeof(line), from) != NULL) {
        const char *start = line;

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(start, prefix, sizeof(prefix) - 1) == 0)
            start += sizeof(prefix) - 1;
        if (start[0] != '\0')
            snprintf(text, bytes, "%s", start);
    }
    nf_text_make_line(text);
    nf_text_make_utf8(text, strlen(text));
    return text;
}
