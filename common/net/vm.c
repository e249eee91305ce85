/* The virtual machine for everybody but masters.  Calls of PVM wait for hosts
 * that may be dead: all are made by a keeper or another child. */
#include "config.h"
#include "common/net/vm.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/keeper.h"
#include "common/net/pvm.h"

enum { ANSWER_US = 5000000 }; /* a pvmd that takes longer is stopped or worse */

static struct nf_keeper *held;
static unsigned holds;

enum nf_status nf_vm_hold(struct nf_error *err)
{
    enum nf_status status = NF_OK;

    if (holds == 0)
        status = nf_keeper_open(NF_KEEP_JOB, &held, err);
    holds += status == NF_OK;
    return status;
}

void nf_vm_release(void)
{
    if (holds == 0 || --holds > 0)
        return;
    nf_keeper_close(held, true);
    held = NULL;
}

/* In a process of its own: tell what the local pvmd knows, if it answers. */
static void tell_hosts(int to)
{
    struct nf_pvm_host *list;
    size_t count;
    int tid;

    if (nf_pvm_enroll(&tid) != NF_OK || nf_pvm_hosts(&list, &count) != NF_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        struct nf_vm_host host = { .here = list[i].tid == nf_pvm_host_of(tid) };

        memcpy(host.name, list[i].name, sizeof(host.name));
        memcpy(host.arch, list[i].arch, sizeof(host.arch));
        if (write(to, &host, sizeof(host)) != (ssize_t)sizeof(host))
            break; /* less than PIPE_BUF: whole or not at all */
    }
    nf_pvm_leave();
    nf_free(list);
}

/* Read hosts until the end.  NF_WAIT: it does not come. */
static enum nf_status hear_hosts(int from, struct nf_vm_host **hosts_p,
                                 size_t *count_p)
{
    int64_t until_us = nf_now_us() + ANSWER_US;
    struct pollfd watch = { .fd = from, .events = POLLIN };
    struct nf_vm_host host;
    ssize_t bytes = -1;

    while (bytes != 0 && nf_now_us() < until_us) {
        struct nf_vm_host *hosts;

        if (poll(&watch, 1, (int)((until_us - nf_now_us()) / 1000) + 1) <= 0)
            continue;
        bytes = read(from, &host, sizeof(host));
        if (bytes != (ssize_t)sizeof(host))
            continue;
        hosts = realloc(*hosts_p, (*count_p + 1) * sizeof(host));
        if (hosts == NULL)
            return NF_ERR_NOMEM;
        hosts[(*count_p)++] = host;
        *hosts_p = hosts;
    }
    return bytes == 0 ? NF_OK : NF_WAIT;
}

enum nf_status nf_vm_hosts(struct nf_vm_host **hosts_p, size_t *count_p,
                           struct nf_error *err)
{
    struct nf_vm_host *hosts = NULL;
    size_t count = 0;
    enum nf_status status = nf_pvm_is_allowed(err);
    int ends[2];
    pid_t pid;

    if (status != NF_OK)
        return status;
    if (pipe(ends) != 0)
        return nf_fail(err, NF_ERR_UNREACHABLE, "pipe: %s", strerror(errno));
    pid = fork();
    if (pid == 0) {
        tell_hosts(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return nf_fail(err, NF_ERR_UNREACHABLE, "fork: %s", strerror(errno));
    }
    status = hear_hosts(ends[0], &hosts, &count);
    close(ends[0]);
    kill(pid, SIGKILL); /* it is done, or hangs */
    waitpid(pid, NULL, 0);
    if (status == NF_WAIT)
        status =
            nf_fail(err, NF_ERR_UNREACHABLE, "the local pvmd does not answer");
    else if (status != NF_OK)
        nf_fail(err, status, "out of memory");
    else if (count == 0)
        status = nf_fail(err, NF_ERR_UNREACHABLE,
                         "PVM does not run here (nowfarm run or nowfarm add "
                         "start it)");
    if (status != NF_OK) {
        free(hosts);
        return status;
    }
    *hosts_p = hosts;
    *count_p = count;
    return NF_OK;
}

/* Wait for the word on one host. */
static enum nf_status await(struct nf_keeper *keeper, const char *host,
                            int64_t limit_us, struct nf_error *err)
{
    int64_t until_us = nf_now_us() + limit_us;
    struct pollfd watch = { .fd = nf_keeper_fd(keeper), .events = POLLIN };
    struct nf_answer answer;

    while (nf_now_us() < until_us) {
        enum nf_status status = nf_keeper_next(keeper, &answer);

        if (status == NF_WAIT) {
            poll(&watch, 1, (int)((until_us - nf_now_us()) / 1000) + 1);
            continue;
        }
        if (status != NF_OK)
            return nf_fail(err, NF_ERR_UNREACHABLE, "host %s: no answer", host);
        if (answer.kind == NF_ANSWER_FAILED)
            return nf_fail(err, answer.status, "host %s: %s", host,
                           answer.text);
        if (answer.kind == NF_ANSWER_ADDED || answer.kind == NF_ANSWER_REMOVED)
            return NF_OK;
    }
    return nf_fail(err, NF_ERR_UNREACHABLE, "host %s: no answer within %lld s",
                   host, (long long)(limit_us / 1000000));
}

enum nf_status nf_vm_add(const char *host_line, int64_t limit_us,
                         struct nf_error *err)
{
    struct nf_keeper *keeper;
    enum nf_status status = nf_keeper_open(NF_KEEP_JOB, &keeper, err);

    if (status != NF_OK)
        return status;
    nf_keeper_add(keeper, host_line);
    status = await(keeper, host_line, limit_us, err);
    if (status == NF_OK)
        nf_keeper_stay(keeper);
    nf_keeper_close(keeper, true);
    return status;
}

enum nf_status nf_vm_remove(const char *host, int64_t limit_us,
                            struct nf_error *err)
{
    struct nf_keeper *keeper;
    enum nf_status status = nf_keeper_open(NF_KEEP_LOOK, &keeper, err);

    if (status != NF_OK)
        return status;
    nf_keeper_remove(keeper, host);
    status = await(keeper, host, limit_us, err);
    nf_keeper_close(keeper, false);
    return status;
}

enum nf_status nf_vm_halt(struct nf_error *err)
{
    struct nf_keeper *keeper;
    enum nf_status status = nf_keeper_open(NF_KEEP_LOOK, &keeper, err);

    if (status != NF_OK)
        return status;
    nf_keeper_halt(keeper);
    status = await(keeper, "all", 5000000, err);
    nf_keeper_close(keeper, true);
    return status;
}
