/* The virtual machine for everybody but masters.  All of it goes through a
 * keeper, because these calls wait for hosts that may be dead. */
#include "config.h"
#include "common/net/vm.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/keeper.h"
#include "common/net/pvm.h"

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

enum nf_status nf_vm_hosts(struct nf_vm_host **hosts_p, size_t *count_p,
                           struct nf_error *err)
{
    struct nf_pvm_host *list;
    struct nf_vm_host *hosts;
    size_t count;
    int tid;
    enum nf_status status = nf_pvm_is_allowed(err);

    if (status != NF_OK)
        return status;
    status = nf_pvm_enroll(&tid);
    if (status == NF_OK) {
        status = nf_pvm_hosts(&list, &count);
        if (status != NF_OK)
            nf_pvm_leave();
    }
    if (status != NF_OK)
        return nf_fail(err, status,
                       "PVM does not run here (nowfarm run or nowfarm add "
                       "start it)");
    hosts = calloc(count, sizeof(*hosts));
    for (size_t i = 0; hosts != NULL && i < count; i++) {
        memcpy(hosts[i].name, list[i].name, sizeof(hosts[i].name));
        memcpy(hosts[i].arch, list[i].arch, sizeof(hosts[i].arch));
        hosts[i].here = list[i].tid == nf_pvm_host_of(tid);
    }
    nf_pvm_leave();
    nf_free(list);
    if (hosts == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
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
            return nf_fail(err, NF_ERR_UNREACHABLE, "host %s: %s", host,
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
    enum nf_status status = nf_keeper_open(NF_KEEP_STAY, &keeper, err);

    if (status != NF_OK)
        return status;
    nf_keeper_add(keeper, host_line);
    status = await(keeper, host_line, limit_us, err);
    nf_keeper_close(keeper, false);
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
