/* The keeper process and its workers.  Requests and answers are datagrams of
 * tab-separated fields on one SOCK_SEQPACKET pair: workers write to it
 * directly, so an answer never passes through a process that could hang. */
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
#include "common/net/keeper_work.h"
#include "common/net/pvm.h"
#include "common/net/vmlock.h"

struct nf_keeper {
    int socket;
    pid_t pid;
    char data[DATAGRAM_BYTES + 1];
    int *tids;
};

/* ------------------------------------------------------- both directions */

void nf_keeper_post(int to, const char *format, ...)
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

/* ------------------------------------------------------------- the keeper */

struct keeping {
    int socket; /* to the master; the workers' too */
    struct nf_vmlock lock;
};

/* No worker can be had: the master must not wait for its word. */
static void refuse(struct keeping *k, char **f, int n)
{
    if (strcmp(f[0], "spawn") == 0 && n == 6) {
        nf_keeper_post(k->socket, "refused\t%s\t%s\t%s\tfork: %s", f[1], f[2],
                       f[3], strerror(errno));
        nf_keeper_post(k->socket, "ended\t%s", f[1]);
    } else if (n == 2) {
        nf_keeper_post(k->socket, "failed\t%.*s\tfork: %s",
                       (int)strcspn(f[1], " "), f[1], strerror(errno));
    }
}

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
            nf_keeper_work_kill(k->socket, f);
            _exit(0);
        }
    }
}

static void handle(struct keeping *k, char *request)
{
    char *f[FIELDS_MAX];
    int n = split(request, f, 6);
    pid_t pid;

    if (strcmp(f[0], "kill") == 0 && n == 2) {
        handle_kill(k, f);
        return;
    }
    if (strcmp(f[0], "stay") == 0) {
        nf_vmlock_mark(&k->lock, false);
        return;
    }
    pid = fork_worker(k);
    if (pid < 0)
        refuse(k, f, n);
    if (pid != 0)
        return;
    if (strcmp(f[0], "spawn") == 0 && n == 6)
        nf_keeper_work_spawn(k->socket, f);
    else if (strcmp(f[0], "halt") == 0)
        nf_keeper_work_halt_now(k->socket);
    else if (n == 2)
        nf_keeper_work_host(k->socket, f);
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
    if (pid > 0 && poll(&(struct pollfd){ .fd = pair[0], .events = POLLIN }, 1,
                        timeout_ms) == 1)
        bytes = recv(pair[0], answer, DATAGRAM_BYTES, 0);
    close(pair[0]);
    if (pid > 0 && bytes <= 0) {
        kill(-pid, SIGKILL); /* a pvmd that never came up, too */
        kill(pid, SIGKILL);
    }
    answer[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

/* Have a virtual machine and a hold on it, and tell the master. */
static bool begin(struct keeping *k, enum nf_keep how)
{
    static char answer[DATAGRAM_BYTES + 1];
    struct nf_error err;

    if (nf_vmlock_begin(&k->lock, &err) != NF_OK) {
        nf_keeper_post(k->socket, "error\t%s", err.text);
        return false;
    }
    if (!ask_worker(k, nf_keeper_work_start, how != NF_KEEP_LOOK, answer,
                    15000)) {
        nf_keeper_post(k->socket,
                       "error\tthe local pvmd does not answer (its log is "
                       "%s/pvml.%ld)",
                       nf_pvm_folder(), (long)getuid());
        return false;
    }
    if (strncmp(answer, "error\t", 6) == 0) {
        nf_keeper_post(k->socket, "%s", answer);
        return false;
    }
    if (strcmp(answer, "started") == 0)
        nf_vmlock_mark(&k->lock, true);
    nf_vmlock_hold(&k->lock);
    nf_keeper_post(k->socket, "ready");
    return true;
}

/* Workers stay as long as slaves do, and SIGCHLD is ignored: no zombies. */
static bool workers_stay(void)
{
    return waitpid(-1, NULL, WNOHANG) == 0;
}

/* Slaves end when their master does; what cannot (stopped, say) is killed. */
static void end_slaves(struct keeping *k)
{
    static char answer[DATAGRAM_BYTES + 1];

    for (int i = 0; i < 100 && workers_stay(); i++)
        usleep(10000);
    if (workers_stay())
        ask_worker(k, nf_keeper_work_end_slaves, false, answer, 3000);
}

static void clean_up_after_pvmd(struct keeping *k)
{
    char path[PATH_MAX];

    nf_keeper_await_halted();
    /* one that was killed leaves its file; it would block plain PVM */
    nf_pvm_socket_file(path, sizeof(path));
    if (access(path, F_OK) == 0 && !nf_pvm_answers())
        unlink(path);
    nf_vmlock_mark(&k->lock, false);
}

/* Slaves of a nowfarm that was killed with its keeper need up to 10 s to end.
 * Nobody is kept waiting meanwhile: the master sees the first process go, and
 * who comes in takes over. */
enum { ORPHAN_TRIES = 30, ORPHAN_PAUSE_US = 500000 };

static void finish(struct keeping *k)
{
    static char answer[DATAGRAM_BYTES + 1];

    end_slaves(k);
    for (int i = 0; i < ORPHAN_TRIES && nf_vmlock_last(&k->lock); i++) {
        if (!ask_worker(k, nf_keeper_work_halt, i == 0, answer, 10000) ||
            strcmp(answer, "busy") == 0)
            break;
        if (strcmp(answer, "gone") == 0) {
            clean_up_after_pvmd(k);
            break;
        }
        nf_vmlock_hold(&k->lock);
        if (i == 0 && fork() > 0)
            _exit(0);
        usleep(ORPHAN_PAUSE_US);
    }
    nf_vmlock_end(&k->lock);
}

/* Nothing of the master's may stay open: a shell waits for its pipes to close,
 * and a pvmd that we start would keep them for days. */
static void detach(int *socket_p)
{
    int null;
    long limit = sysconf(_SC_OPEN_MAX);

    setsid();
    /* first of all: without standard files, the socket may be one of them */
    if (*socket_p != 3) {
        dup2(*socket_p, 3);
        *socket_p = 3;
    }
    fcntl(3, F_SETFD, FD_CLOEXEC);
    null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
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
        nf_free(keeper);
        keep(pair[1], how);
        _exit(0);
    }
    close(pair[1]);
    keeper->socket = pair[0];
    status = keeper->pid < 0
                 ? nf_fail(err, NF_ERR_UNREACHABLE, "fork: %s", strerror(errno))
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
    nf_keeper_post(keeper->socket, "spawn\t%u\t%s\t%u\t%s\t%s", spawn_id, host,
                   count, program, address);
}

void nf_keeper_add(struct nf_keeper *keeper, const char *host_line)
{
    nf_keeper_post(keeper->socket, "add\t%s", host_line);
}

void nf_keeper_remove(struct nf_keeper *keeper, const char *host)
{
    nf_keeper_post(keeper->socket, "remove\t%s", host);
}

void nf_keeper_stay(struct nf_keeper *keeper)
{
    nf_keeper_post(keeper->socket, "stay");
}

void nf_keeper_halt(struct nf_keeper *keeper)
{
    nf_keeper_post(keeper->socket, "halt");
}

void nf_keeper_kill(struct nf_keeper *keeper, const int *tids, size_t count)
{
    char list[DATAGRAM_BYTES / 2];

    if (count == 0)
        return;
    nf_keeper_print_tids(tids, (uint32_t)count, list, sizeof(list));
    nf_keeper_post(keeper->socket, "kill\t%s", list);
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
            return n > 2 ? read_tids(keeper, f[2], a) : NF_OK;
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
    a->status = kind[0] == 'i' ? NF_ERR_INVAL : NF_ERR_UNREACHABLE;
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
        return errno == EAGAIN || errno == EINTR ? NF_WAIT : NF_ERR_UNREACHABLE;
    if (bytes == 0)
        return NF_ERR_UNREACHABLE;
    keeper->data[bytes] = '\0';
    return read_answer(keeper, answer_p);
}

int nf_keeper_fd(const struct nf_keeper *keeper)
{
    return keeper->socket;
}
