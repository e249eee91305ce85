/* What the keeper's workers do: each call here may hang for minutes. */
#include "config.h"
#include "common/net/keeper_work.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/net/pvm.h"

void nf_keeper_print_tids(const int *tids, uint32_t count, char *text,
                          size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < count && used + 12 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%x",
                                 i > 0 ? "," : "", (unsigned)tids[i]);
}

/* Stay as the parent of the slaves and pass on what they print. */
static void relay_output(int socket, uint32_t running)
{
    struct nf_pvm_message m;

    while (running > 0 && nf_pvm_receive(-1, &m) == NF_OK) {
        if (m.kind != NF_PVM_OUTPUT)
            continue;
        if (m.text_bytes == 0)
            running--;
        nf_keeper_post(socket, "output\t%x\t%.*s", (unsigned)m.tid,
                       (int)m.text_bytes, m.text_bytes > 0 ? m.text : "");
    }
}

/* spawn ID HOST COUNT PROGRAM ADDRESS */
void nf_keeper_work_spawn(int socket, char **f)
{
    uint32_t count = (uint32_t)strtoul(f[3], NULL, 10), started = 0;
    int *tids = nf_calloc(count, sizeof(*tids));
    const char *more = getenv("PVM_EXPORT");
    char exported[1024], list[DATAGRAM_BYTES / 2];
    struct nf_error err = { .text = "out of memory" };

    snprintf(exported, sizeof(exported),
             "NOWFARM_SLAVE:NOWFARM_LOG:NOWFARM_ENCODING:NOWFARM_ROUTE:NOWFARM_LOANS:"
             "LD_LIBRARY_PATH:OPENBLAS_NUM_THREADS%s%s",
             more != NULL ? ":" : "", more != NULL ? more : "");
    setenv("NOWFARM_SLAVE", f[5], 1);
    /* slots are the threads of a slave; more would be in their way */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    if (tids != NULL)
        nf_pvm_spawn(f[4], f[2], count, exported, tids, &started, &err);
    if (started > 0) {
        nf_keeper_print_tids(tids, started, list, sizeof(list));
        nf_keeper_post(socket, "spawned\t%s\t%s\t%s", f[1], f[2], list);
    }
    if (started < count)
        nf_keeper_post(socket, "refused\t%s\t%s\t%u\t%s", f[1], f[2],
                       count - started, err.text);
    relay_output(socket, started);
    nf_keeper_post(socket, "ended\t%s", f[1]);
    nf_pvm_leave();
}

/* Does the host let us in?  A pvmd adds one host at a time and may try a dead
 * one for minutes, so only those that answer are worth its time.  The command
 * is the one it uses itself: PVM_RSH, else rsh. */
static enum nf_status try_host(const char *line, struct nf_error *err)
{
    const char *shell = getenv("PVM_RSH"), *login = strstr(line, " lo=");
    char name[128], user[64] = "";
    int status = -1, limit_ms = 15000;
    pid_t pid;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, " "), line);
    if (login != NULL)
        snprintf(user, sizeof(user), "%.*s", (int)strcspn(login + 4, " "),
                 login + 4);
    if (shell == NULL || *shell == '\0')
        shell = "rsh";
    signal(SIGCHLD, SIG_DFL);
    pid = fork();
    if (pid == 0) {
        if (user[0] != '\0')
            execlp(shell, shell, "-l", user, "-n", name, "true", (char *)NULL);
        else
            execlp(shell, shell, "-n", name, "true", (char *)NULL);
        _exit(127);
    }
    for (; waitpid(pid, &status, WNOHANG) == 0 && limit_ms > 0; limit_ms -= 10)
        usleep(10000);
    if (limit_ms <= 0) {
        kill(pid, SIGKILL);
        return nf_fail(err, NF_ERR_UNREACHABLE, "%s did not answer in 15 s",
                       shell);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return nf_fail(
            err, NF_ERR_UNREACHABLE,
            "%s can't be run (PVM_RSH names the program that reaches "
            "other hosts, as /usr/bin/ssh)",
            shell);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return nf_fail(err, NF_ERR_UNREACHABLE, "%s %s true failed", shell,
                       name);
    return NF_OK;
}

/* Is the host in the virtual machine already?  This one is, whatever name its
 * pvmd was given; loopback names were replaced when the line was read. */
static bool is_member(const char *name)
{
    struct nf_pvm_host *hosts;
    char own[128];
    size_t count;
    bool found = gethostname(own, sizeof(own)) == 0 &&
                 memchr(own, '\0', sizeof(own)) != NULL &&
                 strcmp(name, own) == 0;

    if (found || nf_pvm_hosts(&hosts, &count) != NF_OK)
        return found;
    for (size_t i = 0; i < count && !found; i++)
        found = strcmp(name, hosts[i].name) == 0;
    nf_free(hosts);
    return found;
}

/* A member need not let us in: PVM reaches it already, and this host may have
 * nobody who answers. */
static enum nf_status add_host(const char *line, const char *name,
                               struct nf_error *err)
{
    enum nf_status status;
    int tid;

    if (nf_pvm_enroll(&tid) != NF_OK)
        return NF_ERR_UNREACHABLE;
    if (is_member(name))
        return NF_OK;
    nf_pvm_leave(); /* the program that is tried must not inherit the socket */
    status = try_host(line, err);
    if (status == NF_OK)
        status = nf_pvm_enroll(&tid);
    return status == NF_OK ? nf_pvm_add_host(line, err) : status;
}

static enum nf_status remove_host(const char *name, struct nf_error *err)
{
    int tid;

    return nf_pvm_enroll(&tid) == NF_OK ? nf_pvm_remove_host(name, err)
                                        : NF_ERR_UNREACHABLE;
}

void nf_keeper_work_host(int socket, char **f)
{
    bool add = strcmp(f[0], "add") == 0;
    char name[128];
    struct nf_error err = { .text = "no pvmd answers" };
    enum nf_status status;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(f[1], " "), f[1]);
    status = add ? add_host(f[1], name, &err) : remove_host(name, &err);
    if (status == NF_OK)
        nf_keeper_post(socket, "%s\t%s", add ? "added" : "removed", name);
    else
        nf_keeper_post(socket, "%s\t%s\t%s",
                       status == NF_ERR_INVAL ? "invalid" : "failed", name,
                       err.text);
    nf_pvm_leave();
}

/* The next job must not meet a pvmd that is just going down. */
void nf_keeper_await_halted(void)
{
    char path[PATH_MAX];

    nf_pvm_socket_file(path, sizeof(path));
    for (int i = 0; i < 100 && access(path, F_OK) == 0; i++)
        usleep(10000);
}

void nf_keeper_work_halt_now(int socket)
{
    int tid;

    signal(SIGTERM, SIG_IGN); /* halting sends it to us */
    if (nf_pvm_enroll(&tid) == NF_OK)
        nf_pvm_halt();
    nf_keeper_await_halted();
    nf_keeper_post(socket,
                   "removed\tall"); /* last: we may be killed after it */
}

void nf_keeper_work_kill(int socket, char **f)
{
    int tid, victim = (int)strtol(f[1], NULL, 16);

    if (nf_pvm_enroll(&tid) == NF_OK)
        nf_pvm_kill(&victim, 1);
    nf_keeper_post(socket, "killed");
    nf_pvm_leave();
}

/* Connect, or start a pvmd.  Says "running" or "started" or an error. */
void nf_keeper_work_start(int socket, bool may_start)
{
    char path[PATH_MAX];
    struct nf_error err = { .text = "" };
    int tid;

    setsid(); /* the pvmd must outlive our process group */
    nf_pvm_socket_file(path, sizeof(path));
    if (nf_pvm_is_allowed(&err) != NF_OK) {
        nf_keeper_post(socket, "error\t%s", err.text);
        return;
    }
    /* a pvmd that is just starting needs a moment before it answers */
    for (int i = 0; i < 10 && access(path, F_OK) == 0; i++) {
        if (nf_pvm_enroll(&tid) == NF_OK) {
            nf_keeper_post(socket, "running");
            nf_pvm_leave();
            return;
        }
        usleep(50000);
    }
    if (!may_start) {
        nf_keeper_post(
            socket, "error\tPVM does not run here (nowfarm run or nowfarm add "
                    "start it)");
        return;
    }
    if (access(path, F_OK) == 0 && unlink(path) != 0) {
        nf_keeper_post(socket, "error\tstale PVM file %s can't be removed: %s",
                       path, strerror(errno));
        return;
    }
    if (nf_pvm_start(&err) != NF_OK)
        nf_keeper_post(socket, "error\t%s", err.text);
    else
        nf_keeper_post(socket, "started");
    nf_pvm_leave();
}

/* Who is left, after a moment for tasks that are just ending: slaves that were
 * told to, and the workers that look after them. */
static enum nf_pvm_company who_stays(bool patient)
{
    enum nf_pvm_company who = nf_pvm_company();

    for (int i = 0; i < 100 && patient && who != NF_PVM_ALONE; i++) {
        usleep(10000);
        who = nf_pvm_company();
    }
    return who;
}

/* The master is gone, these are not: stopped, say, or in a long unit. */
void nf_keeper_work_end_slaves(int socket, bool flag)
{
    int tid;

    (void)flag;
    if (nf_pvm_enroll(&tid) == NF_OK) {
        nf_pvm_kill_ours(false); /* first: the other may hang */
        nf_pvm_kill_ours(true);
    }
    nf_keeper_post(socket, "ended");
    nf_pvm_leave();
}

void nf_keeper_work_halt(int socket, bool patient)
{
    enum nf_pvm_company who = NF_PVM_ALONE;
    int tid;

    signal(SIGTERM, SIG_IGN); /* halting sends it to us */
    if (nf_pvm_enroll(&tid) == NF_OK) {
        who = who_stays(patient);
        if (who <= NF_PVM_OURS)
            nf_pvm_halt();
        else
            nf_pvm_leave();
    }
    nf_keeper_post(socket, who == NF_PVM_OTHERS    ? "busy"
                           : who == NF_PVM_ORPHANS ? "orphans"
                                                   : "gone");
}
