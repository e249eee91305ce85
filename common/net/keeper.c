/* The keeper process and its workers.  Requests and answers are datagrams of
 * tab-separated fields on one SOCK_SEQPACKET pair: workers write to it directly,
 * so an answer never passes through a process that could hang. */
#include "config.h"
#include "common/net/keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/pvm.h"
#include "common/net/vmlock.h"

enum { DATAGRAM_BYTES = 60000, FIELDS_MAX = 8 };

struct nf_keeper {
    int socket;
    pid_t pid;
    char data[DATAGRAM_BYTES + 1];
    int *tids;
};

/* ------------------------------------------------------- both directions */

static void post(int to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void post(int to, const char *format, ...)
{
    static char data[DATAGRAM_BYTES];
    va_list args;
    int bytes;

    va_start(args, format);
    bytes = vsnprintf(data, sizeof(data), format, args);
    va_end(args);
    if (bytes >= (int)sizeof(data))
        bytes = (int)sizeof(data) - 1;
    while (send(to, data, (size_t)bytes, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

/* Split data in place; the last field keeps further tabs. */
static int split(char *data, char *fields[FIELDS_MAX], int want)
{
    int n = 0;

    for (fields[n++] = data; n < want; n++) {
        char *tab = strchr(fields[n - 1], '\t');

        if (tab == NULL)
            break;
        *tab = '\0';
        fields[n] = tab + 1;
    }
    return n;
}

/* ------------------------------------------------------------ the workers */

static void print_tids(const int *tids, uint32_t count, char *text, size_t size)
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
        post(socket, "output\t%x\t%.*s", (unsigned)m.tid, (int)m.text_bytes,
             m.text_bytes > 0 ? m.text : "");
    }
}

/* spawn ID HOST COUNT PROGRAM ADDRESS */
static void work_spawn(int socket, char **f)
{
    uint32_t count = (uint32_t)strtoul(f[3], NULL, 10), started = 0;
    int *tids = nf_calloc(count, sizeof(*tids));
    const char *more = getenv("PVM_EXPORT");
    char exported[1024], list[DATAGRAM_BYTES / 2];
    struct nf_error err = { .text = "out of memory" };

    snprintf(exported, sizeof(exported),
             "NOWFARM_SLAVE:NOWFARM_LOG:NOWFARM_ENCODING:LD_LIBRARY_PATH:"
             "OPENBLAS_NUM_THREADS%s%s",
             more != NULL ? ":" : "", more != NULL ? more : "");
    setenv("NOWFARM_SLAVE", f[5], 1);
    /* slots are the threads of a slave; more would be in their way */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    if (tids != NULL)
        nf_pvm_spawn(f[4], f[2], count, exported, tids, &started, &err);
    if (started > 0) {
        print_tids(tids, started, list, sizeof(list));
        post(socket, "spawned\t%s\t%s\t%s", f[1], f[2], list);
    }
    if (started < count)
        post(socket, "refused\t%s\t%s\t%u\t%s", f[1], f[2], count - started,
             err.text);
    relay_output(socket, started);
    post(socket, "ended\t%s", f[1]);
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
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "%s can't be run (PVM_RSH names the program that reaches "
                       "other hosts, as /usr/bin/ssh)",
                       shell);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return nf_fail(err, NF_ERR_UNREACHABLE, "%s %s true failed", shell,
                       name);
    return NF_OK;
}

static void work_host(int socket, char **f)
{
    bool add = strcmp(f[0], "add") == 0;
    char name[128];
    struct nf_error err = { .text = "no pvmd answers" };
    int tid;
    enum nf_status status = add ? try_host(f[1], &err) : NF_OK;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(f[1], " "), f[1]);
    if (status == NF_OK)
        status = nf_pvm_enroll(&tid);
    if (status == NF_OK)
        status = add ? nf_pvm_add_host(f[1], &err)
                     : nf_pvm_remove_host(f[1], &err);
    if (status == NF_OK)
        post(socket, "%s\t%s", add ? "added" : "removed", name);
    else
        post(socket, "failed\t%s\t%s", name, err.text);
    nf_pvm_leave();
}

/* The next job must not meet a pvmd that is just going down. */
static void await_halted(void)
{
    char path[PATH_MAX];

    nf_pvm_socket_file(path, sizeof(path));
    for (int i = 0; i < 100 && access(path, F_OK) == 0; i++)
        usleep(10000);
}

static void work_halt_now(int socket)
{
    int tid;

    signal(SIGTERM, SIG_IGN); /* halting sends it to us */
    if (nf_pvm_enroll(&tid) == NF_OK)
        nf_pvm_halt();
    await_halted();
    post(socket, "removed\tall"); /* last: we may be killed after it */
}

static void work_kill(int socket, char **f)
{
    int tid, victim = (int)strtol(f[1], NULL, 16);

    if (nf_pvm_enroll(&tid) == NF_OK)
        nf_pvm_kill(&victim, 1);
    post(socket, "killed");
    nf_pvm_leave();
}

/* Connect, or start a pvmd.  Says "running" or "started" or an error. */
static void work_start(int socket, bool may_start)
{
    char path[PATH_MAX];
    struct nf_error err = { .text = "" };
    int tid;

    setsid(); /* the pvmd must outlive our process group */
    nf_pvm_socket_file(path, sizeof(path));
    if (nf_pvm_is_allowed(&err) != NF_OK) {
        post(socket, "error\t%s", err.text);
        return;
    }
    /* a pvmd that is just starting needs a moment before it answers */
    for (int i = 0; i < 10 && access(path, F_OK) == 0; i++) {
        if (nf_pvm_enroll(&tid) == NF_OK) {
            post(socket, "running");
            nf_pvm_leave();
            return;
        }
        usleep(50000);
    }
    if (!may_start) {
        post(socket, "error\tPVM does not run here (nowfarm run or nowfarm add "
                     "start it)");
        return;
    }
    if (access(path, F_OK) == 0 && unlink(path) != 0) {
        post(socket, "error\tstale PVM file %s can't be removed: %s", path,
             strerror(errno));
        return;
    }
    if (nf_pvm_start(&err) != NF_OK)
        post(socket, "error\t%s", err.text);
    else
        post(socket, "started");
    nf_pvm_leave();
}

/* Halt, unless tasks of other programs are on this host. */
static void work_halt(int socket)
{
    int tid;

    signal(SIGTERM, SIG_IGN); /* halting sends it to us */
    if (nf_pvm_enroll(&tid) != NF_OK) {
        post(socket, "gone");
    } else if (nf_pvm_others_here(NULL, 0)) {
        post(socket, "busy");
        nf_pvm_leave();
    } else {
        nf_pvm_halt();
        post(socket, "gone");
    }
}

/* ------------------------------------------------------------- the keeper */

struct keeping {
    int socket;               /* to the master; the workers' too */
    struct nf_vmlock lock;
};

/* Fork a worker; 0 in the worker, which must _exit. */
static pid_t fork_worker(struct keeping *k)
{
    pid_t pid = fork();

    if (pid == 0) {
        signal(SIGCHLD, SIG_DFL);
        nf_vmlock_forget(&k->lock);
    }
    return pid;
}

static void handle_kill(struct keeping *k, char **f)
{
    /* one worker each: a task on a dead host must not delay the others */
    for (char *tid = strtok(f[1], ","); tid != NULL; tid = strtok(NULL, ",")) {
        f[1] = tid;
        if (fork_worker(k) == 0) {
            work_kill(k->socket, f);
            _exit(0);
        }
    }
}

static void handle(struct keeping *k, char *request)
{
    char *f[FIELDS_MAX];
    int n = split(request, f, 6);

    if (strcmp(f[0], "kill") == 0 && n == 2) {
        handle_kill(k, f);
        return;
    }
    if (fork_worker(k) != 0)
        return;
    if (strcmp(f[0], "spawn") == 0 && n == 6)
        work_spawn(k->socket, f);
    else if (strcmp(f[0], "halt") == 0)
        work_halt_now(k->socket);
    else if (n == 2)
        work_host(k->socket, f);
    _exit(0);
}

/* Run one worker function and wait for its word, at most timeout_ms. */
static bool ask_worker(struct keeping *k, void (*work)(int socket, bool flag),
                       bool flag, char *answer, int timeout_ms)
{
    int pair[2];
    pid_t pid;
    ssize_t bytes = -1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    pid = fork_worker(k);
    if (pid == 0) {
        close(pair[0]);
        close(k->socket);
        work(pair[1], flag);
        _exit(0);
    }
    close(pair[1]);
    if (pid > 0 &&
        poll(&(struct pollfd){ .fd = pair[0], .events = POLLIN }, 1,
             timeout_ms) == 1)
        bytes = recv(pair[0], answer, DATAGRAM_BYTES, 0);
    close(pair[0]);
    if (pid > 0 && bytes <= 0)
        kill(pid, SIGKILL);
    answer[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

static void halt_adapter(int socket, bool flag)
{
    (void)flag;
    work_halt(socket);
}

/* Have a virtual machine and a hold on it, and tell the master. */
static bool begin(struct keeping *k, enum nf_keep how)
{
    static char answer[DATAGRAM_BYTES + 1];
    struct nf_error err;

    if (nf_vmlock_begin(&k->lock, &err) != NF_OK) {
        post(k->socket, "error\t%s", err.text);
        return false;
    }
    if (!ask_worker(k, work_start, how != NF_KEEP_LOOK, answer, 15000)) {
        post(k->socket, "error\tthe local pvmd does not answer (its log is "
                        "%s/pvml.%ld)",
             nf_pvm_folder(), (long)getuid());
        return false;
    }
    if (strncmp(answer, "error\t", 6) == 0) {
        post(k->socket, "%s", answer);
        return false;
    }
    if (how == NF_KEEP_STAY)
        nf_vmlock_mark(&k->lock, false); /* from now on it is the user's */
    else if (strcmp(answer, "started") == 0)
        nf_vmlock_mark(&k->lock, true);
    nf_vmlock_hold(&k->lock);
    post(k->socket, "ready");
    return true;
}

static void finish(struct keeping *k)
{
    static char answer[DATAGRAM_BYTES + 1];

    if (nf_vmlock_last(&k->lock) &&
        ask_worker(k, halt_adapter, false, answer, 2500) &&
        strcmp(answer, "gone") == 0) {
        char path[PATH_MAX];

        await_halted();
        /* one that was killed leaves its file; it would block plain PVM */
        nf_pvm_socket_file(path, sizeof(path));
        if (access(path, F_OK) == 0 && !nf_pvm_answers())
            unlink(path);
        nf_vmlock_mark(&k->lock, false);
    }
    nf_vmlock_end(&k->lock);
}

/* Nothing of the master's may stay open: a shell waits for its pipes to close,
 * and a pvmd that we start would keep them for days. */
static void detach(int *socket_p)
{
    int null = open("/dev/null", O_RDWR);
    long limit = sysconf(_SC_OPEN_MAX);

    setsid();
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    if (*socket_p != 3) {
        dup2(*socket_p, 3);
        *socket_p = 3;
    }
    fcntl(3, F_SETFD, FD_CLOEXEC);
#ifdef HAVE_CLOSE_RANGE
    if (close_range(4, ~0u, 0) == 0)
        limit = 0;
#endif
    for (int fd = 4; fd < limit && fd < 65536; fd++)
        close(fd);
}

static void keep(int socket, enum nf_keep how)
{
    static char request[DATAGRAM_BYTES + 1];
    struct keeping k = { .socket = socket };
    ssize_t bytes;

    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); /* reaped by the kernel */
    detach(&k.socket);
    nf_vmlock_init(&k.lock);
    if (!begin(&k, how))
        _exit(0);
    for (;;) {
        bytes = recv(k.socket, request, DATAGRAM_BYTES, 0);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            break;
        request[bytes] = '\0';
        handle(&k, request);
    }
    finish(&k);
    kill(0, SIGKILL); /* our process group: workers that hang, and us */
}

/* -------------------------------------------------------- the master's side */

static enum nf_status await_ready(struct nf_keeper *keeper,
                                  struct nf_error *err)
{
    struct pollfd watch = { .fd = keeper->socket, .events = POLLIN };
    int64_t until_us = nf_now_us() + 40 * 1000000LL;
    ssize_t bytes;

    while (poll(&watch, 1, (int)((until_us - nf_now_us()) / 1000) + 1) < 0 &&
           errno == EINTR && nf_now_us() < until_us)
        ;
    bytes = recv(keeper->socket, keeper->data, DATAGRAM_BYTES, MSG_DONTWAIT);
    keeper->data[bytes > 0 ? bytes : 0] = '\0';
    if (strcmp(keeper->data, "ready") == 0)
        return NF_OK;
    if (strncmp(keeper->data, "error\t", 6) == 0)
        return nf_fail(err, NF_ERR_UNREACHABLE, "%s", keeper->data + 6);
    return nf_fail(err, NF_ERR_UNREACHABLE, "PVM can't be reached: no answer");
}

enum nf_status nf_keeper_open(enum nf_keep how, struct nf_keeper **keeper_p,
                              struct nf_error *err)
{
    struct nf_keeper *keeper = nf_calloc(1, sizeof(*keeper));
    int pair[2];
    enum nf_status status;

    if (keeper == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        nf_free(keeper);
        return nf_fail(err, NF_ERR_UNREACHABLE, "no socket pair: %s",
                       strerror(errno));
    }
    keeper->pid = fork();
    if (keeper->pid == 0) {
        close(pair[0]);
        keep(pair[1], how);
        _exit(0);
    }
    close(pair[1]);
    keeper->socket = pair[0];
    status = keeper->pid < 0 ? nf_fail(err, NF_ERR_UNREACHABLE, "fork: %s",
                                       strerror(errno))
                             : await_ready(keeper, err);
    if (status != NF_OK) {
        nf_keeper_close(keeper, false);
        return status;
    }
    *keeper_p = keeper;
    return NF_OK;
}

void nf_keeper_close(struct nf_keeper *keeper, bool wait)
{
    int64_t until_us = nf_now_us() + 4 * 1000000LL;

    if (keeper == NULL)
        return;
    close(keeper->socket);
    while (keeper->pid > 0 && wait &&
           waitpid(keeper->pid, NULL, WNOHANG) == 0 && nf_now_us() < until_us)
        usleep(2000);
    if (keeper->pid > 0 && !wait)
        waitpid(keeper->pid, NULL, WNOHANG);
    nf_free(keeper->tids);
    nf_free(keeper);
}

void nf_keeper_spawn(struct nf_keeper *keeper, uint32_t spawn_id,
                     const char *host, uint32_t count, const char *program,
                     const char *address)
{
    post(keeper->socket, "spawn\t%u\t%s\t%u\t%s\t%s", spawn_id, host, count,
         program, address);
}

void nf_keeper_add(struct nf_keeper *keeper, const char *host_line)
{
    post(keeper->socket, "add\t%s", host_line);
}

void nf_keeper_remove(struct nf_keeper *keeper, const char *host)
{
    post(keeper->socket, "remove\t%s", host);
}

void nf_keeper_halt(struct nf_keeper *keeper)
{
    post(keeper->socket, "halt");
}

void nf_keeper_kill(struct nf_keeper *keeper, const int *tids, size_t count)
{
    char list[DATAGRAM_BYTES / 2];

    if (count == 0)
        return;
    print_tids(tids, (uint32_t)count, list, sizeof(list));
    post(keeper->socket, "kill\t%s", list);
}

static enum nf_status read_tids(struct nf_keeper *keeper, char *list,
                                struct nf_answer *a)
{
    uint32_t count = 1;
    int *tids;

    for (const char *c = list; *c != '\0'; c++)
        count += *c == ',';
    tids = nf_realloc(keeper->tids, count * sizeof(*tids));
    if (tids == NULL)
        return NF_ERR_NOMEM;
    keeper->tids = a->tids = tids;
    for (char *c = list; a->ntids < count; c++) {
        tids[a->ntids++] = (int)strtol(c, &c, 16);
        if (*c != ',')
            break;
    }
    return NF_OK;
}

static enum nf_status read_answer(struct nf_keeper *keeper, struct nf_answer *a)
{
    char *f[FIELDS_MAX] = { NULL };
    const char *kind = keeper->data;
    int n = split(keeper->data, f, 2);

    memset(a, 0, sizeof(*a));
    a->kind = NF_ANSWER_KILLED;
    if (n < 2)
        return NF_OK;
    if (strcmp(kind, "output") == 0) {
        split(f[1], f, 2);
        a->kind = NF_ANSWER_OUTPUT;
        a->text = f[1];
        return read_tids(keeper, f[0], a);
    }
    if (strcmp(kind, "spawned") == 0 || strcmp(kind, "refused") == 0) {
        n = split(f[1], f, kind[0] == 's' ? 3 : 4);
        a->spawn_id = (uint32_t)strtoul(f[0], NULL, 10);
        a->host = n > 1 ? f[1] : f[0];
        if (kind[0] == 's') {
            a->kind = NF_ANSWER_SPAWNED;
            return read_tids(keeper, f[2], a);
        }
        a->kind = NF_ANSWER_REFUSED;
        a->count = n > 2 ? (uint32_t)strtoul(f[2], NULL, 10) : 0;
        a->text = n > 3 ? f[3] : f[0];
        return NF_OK;
    }
    if (strcmp(kind, "ended") == 0) {
        a->kind = NF_ANSWER_ENDED;
        a->spawn_id = (uint32_t)strtoul(f[1], NULL, 10);
        return NF_OK;
    }
    a->kind = kind[0] == 'a'   ? NF_ANSWER_ADDED
              : kind[0] == 'r' ? NF_ANSWER_REMOVED
                               : NF_ANSWER_FAILED;
    n = split(f[1], f, 2);
    a->host = f[0];
    a->text = n > 1 ? f[1] : f[0];
    return NF_OK;
}

enum nf_status nf_keeper_next(struct nf_keeper *keeper,
                              struct nf_answer *answer_p)
{
    ssize_t bytes =
        recv(keeper->socket, keeper->data, DATAGRAM_BYTES, MSG_DONTWAIT);

    if (bytes < 0)
        return errno == EAGAIN || errno == EINTR ? NF_WAIT
                                                 : NF_ERR_UNREACHABLE;
    if (bytes == 0)
        return NF_ERR_UNREACHABLE;
    keeper->data[bytes] = '\0';
    return read_answer(keeper, answer_p);
}

int nf_keeper_fd(const struct nf_keeper *keeper)
{
    return keeper->socket;
}
