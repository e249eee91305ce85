/* Commands on workstations: enter their namespaces and become the command. */
#include "config.h"
#include "apps/lab/lab_exec.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apps/lab/lab_cgroup.h"
#include "apps/lab/lab_spawn.h"
#include "apps/nowfarm/cli.h"
#include "common/base/error.h"
#include "common/base/units.h"

static enum nf_status enter_holder(void *arg, struct nf_error *err)
{
    const struct lab_command *command = arg;
    const struct lab *lab = command->lab;
    struct lab_cgroup cgroup;
    pid_t pid = lab_holder(lab, command->where);

    if (pid == 0 && lab_holder(lab, "lab") == 0)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "lab %s is not up (nowfarm lab up N)", lab->name);
    if (pid == 0)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "%s of lab %s was killed (nowfarm lab down)",
                       command->where, lab->name);
    /* first, while the control groups can be seen */
    if (lab_cgroup_find_here(&cgroup, NULL) == NF_OK)
        lab_cgroup_join(&cgroup, lab, command->where);
    return lab_enter(pid, err);
}

static void set_environment(const struct lab_command *command)
{
    char path[LAB_PATH_BYTES];

    setenv("NOWFARM_LAB", command->lab->name, 1);
    lab_path(command->lab, "rsh", path);
    setenv("PVM_RSH", path, 1);
    lab_path(command->lab, command->where, path);
    setenv("PVM_TMP", command->private_tmp ? "/tmp" : path, 1);
    unsetenv("PVM_VMID");
    if (geteuid() == 0) /* a machine of its own: nothing to protect */
        setenv("PVM_ALLOW_ROOT", "1", 0);
}

/* Become the command.  @return exit status if that is not possible */
static int become(const struct lab_command *command, const char *cwd)
{
    const char *home = getenv("HOME");

    if (command->from_home)
        cwd = home != NULL ? home : "/";
    if (chdir(cwd) != 0 && chdir("/") != 0)
        return 126;
    set_environment(command);
    execvp(command->argv[0], (char *const *)command->argv);
    nf_usage_error("lab: %s: %s", command->argv[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

int lab_run(const struct lab_command *command)
{
    char cwd[PATH_MAX];
    struct nf_error err;
    sigset_t old;
    pid_t pid;

    if (getcwd(cwd, sizeof(cwd)) == NULL)
        strcpy(cwd, "/");
    if (lab_is_inside(command->lab))
        return enter_holder((void *)command, &err) == NF_OK
                   ? become(command, cwd)
                   : nf_failure(&err);
    lab_attend_prepare(&old);
    pid = lab_spawn(enter_holder, (void *)command, &err);
    if (pid < 0)
        return nf_failure(&err);
    if (pid > 0)
        return lab_attend(pid);
    sigprocmask(SIG_SETMASK, &old, NULL);
    _exit(become(command, cwd));
}

static bool network_of(const char *pid, struct stat *info_p)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%.20s/ns/net", pid);
    return stat(path, info_p) == 0;
}

void lab_each_process(const struct lab *lab, const char *where,
                      void (*visit)(pid_t pid, void *arg), void *arg)
{
    pid_t keeper = lab_holder(lab, where);
    char text[24];
    struct stat there, theirs;
    struct dirent *entry;
    DIR *proc;

    snprintf(text, sizeof(text), "%ld", (long)keeper);
    if (keeper == 0 || !network_of(text, &there))
        return;
    proc = opendir("/proc");
    if (proc == NULL)
        return;
    while ((entry = readdir(proc)) != NULL) {
        uint64_t pid;

        if (nf_parse_count(entry->d_name, 1, INT_MAX, &pid) == NF_OK &&
            (pid_t)pid != keeper && network_of(entry->d_name, &theirs) &&
            theirs.st_ino == there.st_ino && theirs.st_dev == there.st_dev)
            visit((pid_t)pid, arg);
    }
    closedir(proc);
}
