/* Switching labs on and off.
 *
 * All processes of a lab are in one namespace of process ids.  Its pid 1 makes
 * the rest: it lives in the switch's network namespace; a keeper for each
 * workstation holds that one's.  When pid 1 dies, the kernel kills everything
 * in there, and with the last process go namespaces, interfaces and mounts.
 * Until the lab is complete pid 1 dies with the process that runs `up`.  So
 * there is no moment at which a crash would leave more than files and empty
 * control groups, which lab_down() finds by their names. */
#include "config.h"
#include "apps/lab/lab_up.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lab/lab_cgroup.h"
#include "apps/lab/lab_init.h"
#include "apps/lab/lab_spawn.h"
#include "common/base/error.h"
#include "common/base/text.h"

enum { DYING_PATIENCE_MS = 20000, DYING_POLL_MS = 5 };

static volatile sig_atomic_t interrupted;

static void note_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* Signals arrive while we wait in ppoll(), and only then. */
static void hold_signals(sigset_t *old_p)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = note_signal };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaddset(&set, signals[i]);
        sigaction(signals[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &set, old_p);
}

static enum nf_status write_in_dir(const struct lab *lab, const char *file,
                                   const char *text, struct nf_error *err)
{
    char path[LAB_PATH_BYTES];

    lab_path(lab, file, path);
    if (lab_write_file(path, text, 1) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_IO, "cannot write %s: %s", path,
                   strerror(errno));
}

static enum nf_status write_hosts(const struct lab *lab,
                                  const struct lab_config *config,
                                  struct nf_error *err)
{
    char text[LAB_MAX_HOSTS * 32 + 64], name[LAB_HOST_BYTES];
    char address[LAB_ADDRESS_BYTES];
    int used = snprintf(text, sizeof(text), "127.0.0.1 localhost\n");

    for (unsigned i = 0; i < config->nhosts; i++) {
        lab_host_name(i, name);
        lab_host_address(i, address);
        used += snprintf(text + used, sizeof(text) - (size_t)used, "%s %s\n",
                         address, name);
    }
    return write_in_dir(lab, "hosts", text, err);
}

/* Names are to be looked up in our hosts file and nowhere else. */
static enum nf_status write_nsswitch(const struct lab *lab,
                                     struct nf_error *err)
{
    char path[LAB_PATH_BYTES], line[512];
    FILE *from = fopen("/etc/nsswitch.conf", "re");
    FILE *to;

    if (from == NULL)
        return NF_OK; /* then files are the default */
    lab_path(lab, "nsswitch.conf", path);
    to = fopen(path, "we");
    if (to == NULL) {
        fclose(from);
        return nf_fail(err, NF_ERR_IO, "cannot write %s: %s", path,
                       strerror(errno));
    }
    while (fgets(line, sizeof(line), from) != NULL)
        if (strncmp(line, "hosts:", 6) != 0)
            fputs(line, to);
    fputs("hosts: files\n", to);
    fclose(from);
    if (fclose(to) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_IO, "cannot write %s: %s", path,
                   strerror(errno));
}

static enum nf_status write_dir(const struct lab *lab,
                                const struct lab_config *config,
                                const char *program, struct nf_error *err)
{
    char name[LAB_HOST_BYTES], path[LAB_PATH_BYTES];
    enum nf_status status;

    if (mkdir(lab->dir, 0700) != 0)
        return nf_fail(err, NF_ERR_IO, "cannot make directory %s: %s", lab->dir,
                       strerror(errno));
    for (unsigned i = 0; i < config->nhosts; i++) {
        lab_host_name(i, name);
        lab_path(lab, name, path);
        if (mkdir(path, 0700) != 0 ||
            (config->private_tmp && chmod(path, 01777) != 0))
            return nf_fail(err, NF_ERR_IO, "cannot make directory %s: %s", path,
                           strerror(errno));
    }
    lab_path(lab, "rsh", path);
    if (symlink(program, path) != 0)
        return nf_fail(err, NF_ERR_IO, "%s: %s", path, strerror(errno));
    status = write_hosts(lab, config, err);
    if (status == NF_OK)
        status = write_nsswitch(lab, err);
    if (status == NF_OK)
        status = lab_config_save(lab, config, err);
    return status;
}

/* Until the other end says that it is complete (a NUL), fails (a text and the
 * end) or we are interrupted. */
static enum nf_status await_report(int fd, const sigset_t *mask,
                                   struct nf_error *err)
{
    char text[NF_ERROR_TEXT_BYTES - 40] = "";
    size_t used = 0;
    struct pollfd readable = { .fd = fd, .events = POLLIN };

    while (!interrupted) {
        char piece[256];
        ssize_t n;

        if (ppoll(&readable, 1, NULL, mask) < 0)
            continue;
        n = read(fd, piece, sizeof(piece));
        if (n <= 0)
            break;
        if (memchr(piece, '\0', (size_t)n) != NULL)
            return NF_OK;
        for (ssize_t i = 0; i < n && used + 1 < sizeof(text); i++)
            text[used++] = piece[i];
    }
    while (used > 0 && text[used - 1] == '\n')
        text[--used] = '\0';
    nf_text_make_line(text);
    if (interrupted)
        return nf_fail(err, NF_ERR_INTERRUPTED, "lab: interrupted");
    return nf_fail(err, NF_ERR_UNREACHABLE, "lab: %s",
                   used > 0 ? text : "killed while it was being set up");
}

static enum nf_status make_namespaces(void *arg, struct nf_error *err)
{
    (void)arg;
    return lab_new_namespaces(err);
}

/* Start pid 1 and wait until the lab is complete. */
static enum nf_status start(struct lab_plan *plan, const sigset_t *old,
                            struct nf_error *err)
{
    int report[2];
    enum nf_status status;
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) != 0)
        return nf_fail(err, NF_ERR_FAILED, "pipe: %s", strerror(errno));
    pid = lab_spawn(make_namespaces, NULL, err);
    if (pid == 0) {
        plan->report_fd = report[1];
        lab_init(plan);
    }
    close(report[1]);
    if (pid < 0) {
        close(report[0]);
        return err->status;
    }
    status = await_report(report[0], old, err);
    close(report[0]);
    if (status != NF_OK) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    return status;
}

/* What is left when its processes are dead. */
static enum nf_status clear(const struct lab *lab, struct nf_error *err)
{
    struct lab_cgroup cgroup;
    enum nf_status status = NF_OK;

    if (lab_cgroup_find_here(&cgroup, NULL) == NF_OK)
        status = lab_cgroup_remove(&cgroup, lab, err);
    if (status == NF_OK)
        status = lab_remove_dir(lab, err);
    return status;
}

static enum nf_status up_locked(struct lab_plan *plan, const sigset_t *old,
                                struct nf_error *err)
{
    const struct lab *lab = plan->lab;
    struct nf_error ignored;
    enum nf_status status;

    if (lab_holder(lab, "lab") != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "lab %s is up already (nowfarm lab down, or another "
                       "name: --name)",
                       lab->name);
    status = clear(lab, err); /* of one that crashed */
    if (status == NF_OK)
        status = write_dir(lab, plan->config, plan->program, err);
    /* without groups there are no quotas: `cpu` says so then */
    if (status == NF_OK && lab_cgroup_find_here(&plan->cgroup, NULL) == NF_OK &&
        lab_cgroup_make(&plan->cgroup, lab, plan->config->nhosts, &ignored) ==
            NF_OK)
        plan->has_groups = true;
    if (status == NF_OK)
        status = start(plan, old, err);
    if (status != NF_OK)
        clear(lab, &ignored);
    return status;
}

enum nf_status lab_up(const struct lab *lab, const struct lab_config *config,
                      const char *program, struct nf_error *err)
{
    struct lab_plan plan = { .lab = lab, .config = config, .program = program };
    enum nf_status status;
    sigset_t old;
    int lock;

    status = lab_lock(lab, &lock, err);
    if (status != NF_OK)
        return status;
    hold_signals(&old);
    status = up_locked(&plan, &old, err);
    lab_unlock(lab, lock);
    return status;
}

/* Whether the process has ended; a zombie has. */
static bool has_ended(pid_t pid)
{
    char path[40], state = 'Z';
    FILE *from;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    from = fopen(path, "re");
    if (from == NULL)
        return true;
    if (fscanf(from, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    fclose(from);
    return state == 'Z' || state == 'X';
}

/* Kill pid 1 and wait until it has ended, which is when the last process in
 * there has gone.  By a descriptor, which cannot mean another process that got
 * the number meanwhile; but the kernel may be older than those (5.3). */
static enum nf_status kill_all(const struct lab *lab, pid_t pid,
                               struct nf_error *err)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    int rc = 0;

    if (lab_holder(lab, "lab") == pid)
        rc = fd >= 0 ? (int)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0)
                     : kill(pid, SIGKILL);
    if (fd >= 0)
        close(fd);
    if (rc != 0 && errno != ESRCH)
        return nf_fail(err, NF_ERR_IO, "lab %s: process %ld: %s", lab->name,
                       (long)pid, strerror(errno));
    for (int ms = 0; ms < DYING_PATIENCE_MS; ms += DYING_POLL_MS) {
        if (has_ended(pid))
            return NF_OK;
        usleep(DYING_POLL_MS * 1000);
    }
    return nf_fail(err, NF_ERR_IO,
                   "lab %s: processes do not end; try again later", lab->name);
}

enum nf_status lab_down(const struct lab *lab, bool *was_up_p,
                        struct nf_error *err)
{
    pid_t pid = lab_holder(lab, "lab");
    struct stat info;
    enum nf_status status;
    int lock;

    if (pid == 1)
        return nf_fail(err, NF_ERR_INVAL,
                       "lab %s: not from inside the lab itself", lab->name);
    status = lab_lock(lab, &lock, err);
    if (status != NF_OK)
        return status;
    pid = lab_holder(lab, "lab");
    *was_up_p = pid != 0 || lstat(lab->dir, &info) == 0;
    if (pid != 0)
        status = kill_all(lab, pid, err);
    if (status == NF_OK)
        status = clear(lab, err);
    lab_unlock(lab, lock);
    return status;
}

enum nf_status lab_probe(const char *program, char *text_p, size_t bytes,
                         struct nf_error *err)
{
    struct lab_plan plan = { .program = program };
    size_t used = 0;
    int report[2];
    ssize_t n;
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) != 0)
        return nf_fail(err, NF_ERR_FAILED, "pipe: %s", strerror(errno));
    pid = lab_spawn(make_namespaces, NULL, err);
    if (pid == 0) {
        plan.report_fd = report[1];
        lab_init_probe(&plan);
    }
    close(report[1]);
    while (pid > 0 && used + 1 < bytes &&
           ((n = read(report[0], text_p + used, bytes - used - 1)) > 0))
        used += (size_t)n;
    text_p[used] = '\0';
    close(report[0]);
    if (pid < 0)
        return err->status;
    waitpid(pid, NULL, 0);
    return NF_OK;
}
