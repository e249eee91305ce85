/* Processes in other namespaces.
 *
 * A process cannot change its own process id namespace, and one that entered a
 * lab's other namespaces would keep them alive.  So a child enters them all,
 * forks the grandchild in there as *our* child (CLONE_PARENT), and leaves. */
#include "config.h"
#include "apps/lab/lab_spawn.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/error.h"

/* In a user namespace of our own we keep our user id, so we are not its root
 * and would lose its privileges at exec.  These stay, for whatever runs in the
 * lab: to enter workstations (rsh) and to send packets of all kinds (ping).
 * They are worth nothing outside of it. */
static int keep_capabilities(void)
{
    static const unsigned kept[] = { CAP_SYS_ADMIN,  CAP_SYS_CHROOT,
                                     CAP_SYS_PTRACE, CAP_NET_ADMIN,
                                     CAP_NET_RAW,    CAP_NET_BIND_SERVICE };
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct sets[2];

    if (syscall(SYS_capget, &header, sets) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        sets[CAP_TO_INDEX(kept[i])].inheritable |= CAP_TO_MASK(kept[i]);
    if (syscall(SYS_capset, &header, sets) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0) != 0)
            return -1;
    return 0;
}

/* Open the namespace @p kind of @p pid if it is not ours: -1 and errno 0 if it
 * is. */
static int open_namespace(pid_t pid, const char *kind)
{
    char path[64];
    struct stat theirs, ours;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
    if (stat(path, &ours) != 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%ld/ns/%s", (long)pid, kind);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &theirs) == 0 && theirs.st_dev == ours.st_dev &&
        theirs.st_ino == ours.st_ino) {
        close(fd);
        errno = 0;
        return -1;
    }
    return fd;
}

enum nf_status lab_enter(pid_t pid, struct nf_error *err)
{
    /* the user's first: it gives the right to enter the others */
    static const struct {
        const char *name;
        int flag;
    } kinds[] = {
        { "user", CLONE_NEWUSER }, { "pid", CLONE_NEWPID },
        { "net", CLONE_NEWNET },   { "uts", CLONE_NEWUTS },
        { "ipc", CLONE_NEWIPC },   { "mnt", CLONE_NEWNS },
    };
    enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };
    int fds[NKINDS];

    for (int i = 0; i < NKINDS; i++) {
        fds[i] = open_namespace(pid, kinds[i].name);
        if (fds[i] < 0 && errno != 0)
            return nf_fail(err, NF_ERR_UNREACHABLE,
                           "cannot enter the lab: its %s namespace: %s",
                           kinds[i].name, strerror(errno));
    }
    for (int i = 0; i < NKINDS; i++) {
        if (fds[i] < 0)
            continue;
        if (setns(fds[i], kinds[i].flag) != 0)
            return nf_fail(err, NF_ERR_UNREACHABLE,
                           "cannot enter the lab: its %s namespace: %s",
                           kinds[i].name, strerror(errno));
        close(fds[i]);
        if (i == 0 && keep_capabilities() != 0)
            return nf_fail(err, NF_ERR_UNREACHABLE,
                           "cannot enter the lab: capabilities: %s",
                           strerror(errno));
    }
    return NF_OK;
}

static int map_id(const char *file, unsigned long id)
{
    char line[64];
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    int length = snprintf(line, sizeof(line), "%lu %lu 1\n", id, id);
    bool written = fd >= 0 && write(fd, line, (size_t)length) == length;

    if (fd >= 0)
        close(fd);
    return written ? 0 : -1;
}

static enum nf_status new_user_namespace(struct nf_error *err)
{
    unsigned long uid = geteuid(), gid = getegid();
    int fd;

    if (unshare(CLONE_NEWUSER) != 0)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "this system lets ordinary users make no user "
                       "namespaces (%s): ask root, or work as root",
                       strerror(errno));
    fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (write(fd, "deny", 4) != 4) {
            close(fd);
            return nf_fail(err, NF_ERR_UNREACHABLE,
                           "user namespace: setgroups: %s", strerror(errno));
        }
        close(fd);
    }
    if (map_id("/proc/self/uid_map", uid) != 0 ||
        map_id("/proc/self/gid_map", gid) != 0 || keep_capabilities() != 0)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "user namespaces give no rights here (%s); AppArmor? "
                       "see kernel.apparmor_restrict_unprivileged_userns",
                       strerror(errno));
    return NF_OK;
}

enum nf_status lab_new_namespaces(struct nf_error *err)
{
    enum nf_status status = NF_OK;

    if (geteuid() != 0)
        status = new_user_namespace(err);
    if (status == NF_OK && unshare(CLONE_NEWPID) != 0)
        status = nf_fail(
            err, NF_ERR_UNREACHABLE, "no namespaces can be made here: %s%s",
            strerror(errno),
            errno == EPERM ? " (a container without CAP_SYS_ADMIN?)" : "");
    return status;
}

/* What the child in the middle tells us. */
struct message {
    pid_t pid;
    struct nf_error err;
};

/* @return true in the grandchild; false in the child if it failed.  The child
 * that succeeded never returns. */
static bool in_the_middle(lab_change_fn *change, void *arg, int report_fd)
{
    struct message message = { .pid = -1 };

    if (change(arg, &message.err) == NF_OK) {
        long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

        if (pid == 0)
            return true;
        if (pid < 0)
            nf_fail(&message.err, NF_ERR_UNREACHABLE,
                    "no process can be started in there: %s", strerror(errno));
        message.pid = (pid_t)pid;
    }
    if (write(report_fd, &message, sizeof(message)) != sizeof(message))
        _exit(1);
    _exit(0);
}

/* The grandchild goes on when it is known outside, or never. */
static void begin(int report_fd, const int go[2])
{
    char byte;

    close(report_fd);
    close(go[1]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go[0], &byte, 1) != 1)
        _exit(1);
    close(go[0]);
}

pid_t lab_spawn(lab_change_fn *change, void *arg, struct nf_error *err)
{
    struct message message = { .pid = -1 };
    int report[2], go[2];
    pid_t middle;
    bool told;

    if (pipe2(report, O_CLOEXEC) != 0 || pipe2(go, O_CLOEXEC) != 0 ||
        (middle = fork()) < 0) {
        nf_fail(err, NF_ERR_FAILED, "cannot fork: %s", strerror(errno));
        return -1;
    }
    if (middle == 0) {
        close(report[0]);
        if (in_the_middle(change, arg, report[1]))
            begin(report[1], go);
        return 0;
    }
    close(report[1]);
    close(go[0]);
    told = read(report[0], &message, sizeof(message)) == sizeof(message);
    close(report[0]);
    while (waitpid(middle, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (!told)
        nf_fail(err, NF_ERR_FAILED, "a process on its way in was killed");
    else if (message.pid < 0)
        *err = message.err;
    else if (write(go[1], "g", 1) != 1)
        message.pid = -1;
    close(go[1]);
    return message.pid;
}

static void attended_signals(sigset_t *set_p)
{
    static const int signals[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                   SIGUSR1, SIGUSR2, SIGCONT, SIGCHLD };

    sigemptyset(set_p);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(set_p, signals[i]);
}

void lab_attend_prepare(sigset_t *old_p)
{
    sigset_t set;

    attended_signals(&set);
    sigprocmask(SIG_BLOCK, &set, old_p);
}

int lab_attend(pid_t pid)
{
    sigset_t set;
    siginfo_t info;
    int status;

    attended_signals(&set);
    for (;;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);

        if (ended < 0 && errno != EINTR)
            return 128 + SIGKILL;
        if (ended == pid && WIFSIGNALED(status))
            return 128 + WTERMSIG(status);
        if (ended == pid)
            return WEXITSTATUS(status);
        if (sigwaitinfo(&set, &info) < 0 || info.si_signo == SIGCHLD)
            continue;
        if (info.si_code <= 0) /* from a process, not from the terminal */
            kill(pid, info.si_signo);
    }
}
