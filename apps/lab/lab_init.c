/* Pid 1 of a lab, and the keepers of its workstations. */
#include "config.h"
#include "apps/lab/lab_init.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/error.h"

enum {
    OWN_NAMESPACES = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC
};

static enum nf_status lacks(struct nf_error *err, const char *what)
{
    return nf_fail(err, NF_ERR_UNREACHABLE, "%s: %s%s", what, strerror(errno),
                   errno == EPERM ? " (a container, or no privileges?)" : "");
}

/* Nothing of ours may keep the files and pipes of whoever called us open. */
static void close_others(int kept_fd)
{
    long limit = sysconf(_SC_OPEN_MAX);

    if (limit < 0 || limit > 65536)
        limit = 65536;
    for (int fd = STDERR_FILENO + 1; fd < limit; fd++)
        if (fd != kept_fd)
            close(fd);
}

static void close_standard(void)
{
    int null = open("/dev/null", O_RDWR);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null >= 0; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

/* --- mounts ------------------------------------------------------------- */

static enum nf_status mount_own(struct nf_error *err)
{
    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0)
        return lacks(err, "mounts cannot be made private");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              NULL) != 0)
        return lacks(err, "/proc cannot be mounted");
    return NF_OK;
}

static enum nf_status mount_file(const struct lab *lab, const char *file,
                                 const char *place, struct nf_error *err)
{
    char path[LAB_PATH_BYTES];

    lab_path(lab, file, path);
    if (access(path, R_OK) == 0 &&
        mount(path, place, "none", MS_BIND, NULL) != 0)
        return lacks(err, place);
    return NF_OK;
}

static enum nf_status mount_names(const struct lab *lab, struct nf_error *err)
{
    enum nf_status status = mount_file(lab, "hosts", "/etc/hosts", err);

    if (status == NF_OK)
        status = mount_file(lab, "nsswitch.conf", "/etc/nsswitch.conf", err);
    /* a name service cache would answer for the host; there may be none */
    if (access("/run/nscd", F_OK) == 0)
        mount("none", "/run/nscd", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755");
    return status;
}

/* The host's directory becomes its /tmp; the lab's directory, which may be in
 * the old /tmp, stays where it is. */
static enum nf_status mount_tmp(const struct lab *lab, const char *host,
                                struct nf_error *err)
{
    char path[LAB_PATH_BYTES], dir[64];
    int fd = open(lab->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int rc;

    lab_path(lab, host, path);
    if (fd < 0 || mount(path, "/tmp", "none", MS_BIND, NULL) != 0)
        return lacks(err, "/tmp");
    rc = strncmp(lab->root, "/tmp/", 5);
    if (rc == 0) {
        snprintf(dir, sizeof(dir), "/proc/self/fd/%d", fd);
        mkdir(lab->root, 0700);
        mkdir(lab->dir, 0700);
        rc = mount(dir, lab->dir, "none", MS_BIND, NULL);
        if (rc != 0)
            return lacks(err, lab->dir);
    }
    close(fd);
    return NF_OK;
}

/* --- workstations ------------------------------------------------------- */

static enum nf_status become_keeper(struct lab_plan *plan, const char *host,
                                    struct nf_error *err)
{
    char title[16];
    enum nf_status status = NF_OK;

    if (plan->has_groups)
        lab_cgroup_join(&plan->cgroup, plan->lab, host);
    snprintf(title, sizeof(title), "lab:%.10s", host);
    prctl(PR_SET_NAME, title);
    if (unshare(OWN_NAMESPACES) != 0 || sethostname(host, strlen(host)) != 0)
        return lacks(err, "a workstation's namespaces");
    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0)
        return lacks(err, "mounts cannot be made private");
    if (plan->config->private_tmp)
        status = mount_tmp(plan->lab, host, err);
    if (status == NF_OK)
        status = lab_hold(plan->lab, host, err);
    return status;
}

static _Noreturn void keep(struct lab_plan *plan, const char *host, int ready)
{
    struct nf_error err = { 0 };

    close(plan->report_fd);
    close_standard();
    if (become_keeper(plan, host, &err) == NF_OK)
        err.status = NF_OK;
    if (write(ready, &err, sizeof(err)) != sizeof(err) || err.status != NF_OK)
        _exit(1);
    close(ready);
    for (;;)
        pause();
}

static enum nf_status start_keeper(struct lab_plan *plan, unsigned index,
                                   pid_t *pid_p, struct nf_error *err)
{
    char host[LAB_HOST_BYTES];
    struct nf_error said;
    int ready[2];
    bool heard;

    lab_host_name(index, host);
    if (pipe2(ready, O_CLOEXEC) != 0 || (*pid_p = fork()) < 0)
        return nf_fail(err, NF_ERR_FAILED, "%s: cannot fork: %s", host,
                       strerror(errno));
    if (*pid_p == 0) {
        close(ready[0]);
        keep(plan, host, ready[1]);
    }
    close(ready[1]);
    heard = read(ready[0], &said, sizeof(said)) == sizeof(said);
    close(ready[0]);
    if (!heard)
        return nf_fail(err, NF_ERR_FAILED, "%s: its keeper was killed", host);
    if (said.status != NF_OK)
        *err = said;
    return said.status;
}

/* --- the network -------------------------------------------------------- */

void lab_net_path(const char *program, char *path_p, size_t bytes)
{
    const char *slash = strrchr(program, '/');

    snprintf(path_p, bytes, "%.*slab-net",
             slash == NULL ? 0 : (int)(slash + 1 - program), program);
}

/* lab-net tells what is wrong on what we call standard error. */
static int run_net(const struct lab_plan *plan, const char *const *argv)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        dup2(plan->report_fd, STDOUT_FILENO);
        dup2(plan->report_fd, STDERR_FILENO);
        execv(argv[0], (char *const *)argv);
        dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status == 0 ? 0 : -1;
}

/* lab-net build FRAMES KIND MEDIUM_BPS ADDRESS/RATE_BPS/LATENCY_US/PID... */
static enum nf_status connect_all(const struct lab_plan *plan,
                                  const pid_t *keepers, struct nf_error *err)
{
    const struct lab_config *config = plan->config;
    static char words[LAB_MAX_HOSTS][96];
    const char *argv[LAB_MAX_HOSTS + 6] = { 0 };
    char path[PATH_MAX], frames[12], medium[24], address[LAB_ADDRESS_BYTES];

    lab_net_path(plan->program, path, sizeof(path));
    snprintf(medium, sizeof(medium), "%llu",
             (unsigned long long)config->medium_bps);
    snprintf(frames, sizeof(frames), "%u", config->frames);
    argv[0] = path;
    argv[1] = "build";
    argv[2] = frames;
    argv[3] = config->hub ? "hub" : "switch";
    argv[4] = medium;
    for (unsigned i = 0; i < config->nhosts; i++) {
        lab_host_address(i, address);
        snprintf(words[i], sizeof(words[i]), "%s/%llu/%lld/%ld", address,
                 (unsigned long long)config->hosts[i].rate_bps,
                 (long long)config->hosts[i].latency_us, (long)keepers[i]);
        argv[5 + i] = words[i];
    }
    if (run_net(plan, argv) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_UNREACHABLE, "%s", ""); /* it has told */
}

static enum nf_status own_namespaces(struct nf_error *err)
{
    setsid();
    umask(022);
    if (chdir("/") != 0 || unshare(OWN_NAMESPACES) != 0)
        return lacks(err, "no namespaces can be made here");
    return mount_own(err);
}

static enum nf_status build(struct lab_plan *plan, struct nf_error *err)
{
    static pid_t keepers[LAB_MAX_HOSTS];
    enum nf_status status = own_namespaces(err);

    if (status == NF_OK)
        status = mount_names(plan->lab, err);
    if (status == NF_OK)
        status = lab_hold(plan->lab, "lab", err);
    for (unsigned i = 0; status == NF_OK && i < plan->config->nhosts; i++)
        status = start_keeper(plan, i, &keepers[i], err);
    if (status == NF_OK)
        status = connect_all(plan, keepers, err);
    return status;
}

/* --- pid 1 -------------------------------------------------------------- */

static void prepare(const struct lab_plan *plan)
{
    sigset_t children;

    prctl(PR_SET_NAME, "lab:switch");
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_SETMASK, &children, NULL);
    close_standard();
    close_others(plan->report_fd);
}

static _Noreturn void reap(void)
{
    sigset_t children;
    int number;

    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    for (;;) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        sigwait(&children, &number);
    }
}

_Noreturn void lab_init(struct lab_plan *plan)
{
    struct nf_error err = { 0 };

    prepare(plan);
    if (build(plan, &err) != NF_OK) {
        dprintf(plan->report_fd, "%s", err.text);
        _exit(1);
    }
    prctl(PR_SET_PDEATHSIG, 0);
    if (write(plan->report_fd, "", 1) != 1)
        _exit(1); /* nobody waits any more */
    close(plan->report_fd);
    reap();
}

_Noreturn void lab_init_probe(struct lab_plan *plan)
{
    char path[PATH_MAX];
    const char *argv[] = { path, "probe", NULL };
    struct nf_error err = { 0 };

    prepare(plan);
    lab_net_path(plan->program, path, sizeof(path));
    if (own_namespaces(&err) != NF_OK)
        dprintf(plan->report_fd, "network no %s\n", err.text);
    else
        run_net(plan, argv);
    _exit(0);
}
