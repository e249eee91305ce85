/* libpvm, wrapped: this process as a task, and the virtual machine.  Messages
 * are in pvm_message.c, contexts in pvm_context.c. */
#include "config.h"
#include "common/net/pvm.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/net/pipe_signal.h"
#include "common/net/pvm_route.h"

static const char *pvm_text(int code)
{
    switch (code) {
    case PvmNoFile:
        return "no such program there";
    case PvmNoHost:
        return "no such host in the virtual machine";
    case PvmSysErr:
        return "no pvmd answers";
    case PvmDSysErr:
        return "its pvmd failed in a system call";
    case PvmDenied:
        return "denied";
    case PvmNoMem:
        return "out of memory there";
    case PvmOutOfRes:
        return "out of resources there";
    case PvmDupHost:
        return "is in the virtual machine already";
    case PvmCantStart:
        return "its pvmd can't be started";
    case PvmAlready:
        return "is being added already";
    case PvmBadVersion:
        return "its PVM is of another version";
    case PvmHostFail:
        return "the host failed";
    case PvmIPLoopback:
        return "this host's own name means a loopback address";
    default:
        return "PVM refused";
    }
}

/* For pvm_start_pvmd, whose children write to the descriptor. */
static int mute(void)
{
    int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);

    if (null >= 0) {
        dup2(null, STDERR_FILENO);
        close(null);
    }
    return saved;
}

static void unmute(int saved)
{
    if (saved >= 0) {
        dup2(saved, STDERR_FILENO);
        close(saved);
    }
}

/* libpvm writes to the stream, so another stream is put there: what other
 * threads, and processes that are forked meanwhile, write is not lost.  That
 * stderr may be set is of the GNU C library. */
static FILE *heard_stream, *hushed_stream;
static _Thread_local bool hushed;

static ssize_t write_if_heard(void *nothing, const char *text, size_t bytes)
{
    (void)nothing;
    if (!hushed)
        (void)fwrite(text, 1, bytes, heard_stream);
    return (ssize_t)bytes;
}

void nf_pvm_hush(void)
{
    static const cookie_io_functions_t functions = { .write = write_if_heard };

    if (hushed_stream == NULL)
        hushed_stream = fopencookie(NULL, "w", functions);
    if (hushed_stream == NULL || stderr == hushed_stream)
        return;
    setvbuf(hushed_stream, NULL, _IONBF, 0);
    heard_stream = stderr;
    hushed = true;
    stderr = hushed_stream;
}

void nf_pvm_unhush(void)
{
    if (!hushed)
        return;
    stderr = heard_stream;
    hushed = false;
}

/* Big enough for a whole frame, so that PVM does not cut it again. */
enum { FRAGMENT_BYTES = 64 * 1024 };

enum { KEPT_BYTES = 4 << 20 };

/* libpvm takes memory for each message and frees it soon after.  glibc gives
 * what is free at the end of the heap back to the kernel from 128 KiB on, and
 * fetches it again for the next message: 5 % of the processor's time in a stream
 * of segments.  It keeps twice the largest block that it got from the kernel and
 * was freed, so one is: no setting is fixed by that, as by mallopt(), and a program
 * that has fixed its own keeps it. */
static void keep_memory(void)
{
    static bool kept;
    void *volatile block;

    if (kept)
        return;
    kept = true;
    block = malloc(KEPT_BYTES);
    free(block);
}

enum nf_status nf_pvm_enroll(int *tid_p)
{
    int tid;

    if (!nf_pvm_answers()) /* with a stale file libpvm would try for 12 s */
        return NF_ERR_UNREACHABLE;
    nf_pvm_hush();
    pvm_setopt(PvmAutoErr, 0);
    tid = pvm_mytid();
    nf_pvm_unhush();
    if (tid < 0)
        return NF_ERR_UNREACHABLE;
    pvm_setopt(PvmFragSize, FRAGMENT_BYTES);
    keep_memory();
    nf_pipe_signal_block();
    nf_route_begin(tid);
    *tid_p = tid;
    return NF_OK;
}

void nf_pvm_leave(void)
{
    nf_pvm_hush();
    pvm_exit();
    nf_pvm_unhush();
    nf_route_begin(-1);
    nf_pipe_signal_unblock();
}

enum nf_status nf_pvm_is_allowed(struct nf_error *err)
{
    if (getuid() != 0 || getenv("PVM_ALLOW_ROOT") != NULL)
        return NF_OK;
    return nf_fail(err, NF_ERR_UNREACHABLE,
                   "PVM does not start for root unless PVM_ALLOW_ROOT=1 is "
                   "set");
}

enum nf_status nf_pvm_start(struct nf_error *err)
{
    int saved, code, tid;

    saved = mute();
    pvm_setopt(PvmAutoErr, 0);
    code = pvm_start_pvmd(0, NULL, 1);
    unmute(saved);
    if (code < 0 && code != PvmDupHost)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "no pvmd can be started here (%s): is PVM installed, "
                       "and its folder %s writable?",
                       pvm_text(code), nf_pvm_folder());
    if (nf_pvm_enroll(&tid) != NF_OK)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "pvmd was started but does not answer; its log is "
                       "%s/pvml.%ld",
                       nf_pvm_folder(), (long)getuid());
    return NF_OK;
}

void nf_pvm_ask_direct_routes(bool ask)
{
    pvm_setopt(PvmRoute, ask ? PvmRouteDirect : PvmAllowDirect);
}

bool nf_pvm_wants_direct_routes(void)
{
    const char *route = getenv("NOWFARM_ROUTE");

    return route == NULL || strcmp(route, "daemon") != 0;
}

enum nf_status nf_pvm_hosts(struct nf_pvm_host **hosts_p, size_t *count_p)
{
    struct pvmhostinfo *info;
    struct nf_pvm_host *hosts;
    int count, narch;

    if (pvm_config(&count, &narch, &info) < 0 || count < 1)
        return NF_ERR_UNREACHABLE;
    hosts = nf_calloc((size_t)count, sizeof(*hosts));
    if (hosts == NULL)
        return NF_ERR_NOMEM;
    for (int i = 0; i < count; i++) {
        snprintf(hosts[i].name, sizeof(hosts[i].name), "%s", info[i].hi_name);
        snprintf(hosts[i].arch, sizeof(hosts[i].arch), "%s", info[i].hi_arch);
        hosts[i].tid = info[i].hi_tid;
        hosts[i].format = info[i].hi_dsig;
    }
    *hosts_p = hosts;
    *count_p = (size_t)count;
    return NF_OK;
}

static const struct nf_pvm_host *find_host(const struct nf_pvm_host *hosts,
                                           size_t count, int tid)
{
    for (size_t i = 0; i < count; i++)
        if (hosts[i].tid == tid)
            return &hosts[i];
    return NULL;
}

bool nf_pvm_formats_differ(const struct nf_pvm_host *hosts, size_t count, int one,
                           int other)
{
    const struct nf_pvm_host *a = find_host(hosts, count, one);
    const struct nf_pvm_host *b = find_host(hosts, count, other);

    return a == NULL || b == NULL || a->format != b->format;
}

int nf_pvm_host_of(int tid)
{
    return pvm_tidtohost(tid);
}

enum nf_status nf_pvm_add_host(const char *line, struct nf_error *err)
{
    char copy[512], *list[1] = { copy };
    int answer = 0, code;

    snprintf(copy, sizeof(copy), "%s", line);
    /* a pvmd adds one host at a time */
    for (int i = 0; i < 600; i++) {
        code = pvm_addhosts(list, 1, &answer);
        if (code != PvmAlready && !(code >= 0 && answer == PvmAlready))
            break;
        usleep(100000);
    }
    if (code == 1 && (answer >= 0 || answer == PvmDupHost))
        return NF_OK;
    if (code < 0)
        answer = code;
    if (answer == PvmDupHost)
        return NF_OK;
    return nf_fail(err, NF_ERR_UNREACHABLE, "%s (PVM error %d)",
                   pvm_text(answer), answer);
}

enum nf_status nf_pvm_remove_host(const char *name, struct nf_error *err)
{
    char copy[128], *list[1] = { copy };
    int answer = 0, code;

    snprintf(copy, sizeof(copy), "%s", name);
    code = pvm_delhosts(list, 1, &answer);
    if (code == 1 && answer >= 0)
        return NF_OK;
    if (code < 0)
        answer = code;
    if (code >= 0 && answer == PvmBadParam)
        return nf_fail(err, NF_ERR_INVAL,
                       "it started the virtual machine and cannot be removed; "
                       "nowfarm remove --all halts all of it");
    return nf_fail(err, NF_ERR_UNREACHABLE, "%s (PVM error %d)",
                   pvm_text(answer), answer);
}

enum nf_status nf_pvm_spawn(const char *program, const char *host,
                            uint32_t count, const char *exported, int *tids_p,
                            uint32_t *started_p, struct nf_error *err)
{
    char program_copy[PATH_MAX], host_copy[128];
    int code, failed = PvmSysErr, tid;
    uint32_t started = 0;

    if (nf_pvm_enroll(&tid) != NF_OK)
        return nf_fail(err, NF_ERR_UNREACHABLE, "no pvmd answers");
    setenv("PVM_EXPORT", exported, 1);
    pvm_setopt(PvmOutputTid, tid);
    pvm_setopt(PvmOutputCode, NF_PVM_TAG_OUTPUT);
    snprintf(program_copy, sizeof(program_copy), "%s", program);
    snprintf(host_copy, sizeof(host_copy), "%s", host);
    code = pvm_spawn(program_copy, NULL, PvmTaskHost, host_copy, (int)count,
                     tids_p);
    for (uint32_t i = 0; i < count && code >= 0; i++) {
        if (tids_p[i] > 0)
            tids_p[started++] = tids_p[i];
        else
            failed = tids_p[i];
    }
    *started_p = started;
    if (code < 0)
        failed = code;
    if (started == count)
        return NF_OK;
    if (failed == PvmNoFile)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "no program %s there (install nowfarm at the same path "
                       "on every host)",
                       program);
    return nf_fail(err, NF_ERR_UNREACHABLE, "%s (PVM error %d)",
                   pvm_text(failed), failed);
}

void nf_pvm_kill(const int *tids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pvm_sendsig(tids[i], SIGKILL);
}

static bool is_of_our_group(const struct pvmtaskinfo *task)
{
    return task->ti_host == pvm_tidtohost(pvm_mytid()) && task->ti_pid > 0 &&
           getpgid(task->ti_pid) == getpgrp();
}

/* Whose is this task?  Ours are the processes of our group and what they
 * spawned.  Tasks that were started by hand have no parent, those of the
 * console one below zero. */
static enum nf_pvm_company owner(const struct pvmtaskinfo *info, int n,
                                 const struct pvmtaskinfo *task)
{
    if (is_of_our_group(task))
        return NF_PVM_OURS;
    if (task->ti_ptid <= 0)
        return NF_PVM_OTHERS;
    for (int i = 0; i < n; i++)
        if (info[i].ti_tid == task->ti_ptid)
            return is_of_our_group(&info[i]) ? NF_PVM_OURS : NF_PVM_OTHERS;
    return NF_PVM_ORPHANS;
}

enum nf_pvm_company nf_pvm_company(void)
{
    struct pvmtaskinfo *info;
    enum nf_pvm_company most = NF_PVM_ALONE;
    int n = 0, me = pvm_mytid();

    if (pvm_tasks(pvm_tidtohost(me), &n, &info) < 0)
        return NF_PVM_OTHERS; /* unknown: leave the machine alone */
    for (int i = 0; i < n; i++) {
        enum nf_pvm_company whose = owner(info, n, &info[i]);

        if (info[i].ti_tid != me && whose > most)
            most = whose;
    }
    return most;
}

void nf_pvm_kill_ours(bool everywhere)
{
    struct pvmtaskinfo *info;
    int n = 0, me = pvm_mytid();

    if (pvm_tasks(everywhere ? 0 : pvm_tidtohost(me), &n, &info) < 0)
        return;
    for (int i = 0; i < n; i++)
        if (owner(info, n, &info[i]) == NF_PVM_OURS &&
            !is_of_our_group(&info[i]))
            pvm_sendsig(info[i].ti_tid, SIGKILL);
}

void nf_pvm_halt(void)
{
    nf_pvm_hush();
    pvm_halt();
    nf_pvm_unhush();
}
