/* Calls of PVM's group library as one who knows it writes them: direct routes,
 * a frozen group, a tag for each call. */
#include "config.h"
#include "apps/collbench/group_library.h"
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/pvm.h"

enum { JOIN_TRIES = 50, JOIN_PAUSE_US = 100000, FIRST_TAG = 0x4e46 };

static void on_alarm(int number)
{
    static const char line[] =
        "nowfarm: PVM's group library waits for a member that does not come\n";

    (void)number;
    if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
        _exit(1);
    _exit(1);
}

bool bench_library_has(enum nf_coll_op op)
{
    return op == NF_COLL_BCAST || op == NF_COLL_REDUCE ||
           op == NF_COLL_GATHER || op == NF_COLL_SCATTER ||
           op == NF_COLL_BARRIER;
}

static enum nf_status everybody(struct bench_team *team)
{
    const struct nf_call barrier = { .kind = NF_CALL_BARRIER };

    return bench_aside(team, &barrier);
}

/* The group server may be just starting. */
static int join_patiently(struct bench_library *library)
{
    int instance = -1;

    for (int i = 0; i < JOIN_TRIES && instance < 0; i++) {
        if (i > 0)
            nf_sleep_until_us(nf_now_us() + JOIN_PAUSE_US);
        instance = pvm_joingroup(library->group);
    }
    return instance;
}

/* A route between two tasks is made by the first message that asks for one, and
 * pvm_mcast() never does: without routes it goes by the pvmds. */
static int make_routes(struct bench_library *library)
{
    int status = 0;

    for (uint32_t i = 0; i < library->ranks && status >= 0; i++) {
        int tid = pvm_gettid(library->group, (int)i);

        if (i < library->instance) {
            status = pvm_recv(tid, FIRST_TAG);
        } else if (i > library->instance) {
            pvm_initsend(PvmDataRaw);
            status = pvm_send(tid, FIRST_TAG);
        }
    }
    return status;
}

enum nf_status bench_library_join(struct bench_team *team, uint64_t id,
                                  struct bench_library *library)
{
    bool first = nf_group_rank(team->work) == 0;
    uint64_t joined = 1;
    int instance = 0;
    enum nf_status status;

    *library = (struct bench_library){
        .ranks = team->ranks,
        .tag = FIRST_TAG,
        .patience_s = (unsigned)(team->timeout_us / 1000000) + 1,
    };
    snprintf(library->group, sizeof(library->group), "nowfarm-%llx-%u",
             (unsigned long long)id, team->ranks);
    pvm_setopt(PvmAutoErr, 0);
    library->route = pvm_setopt(PvmRoute, nf_pvm_wants_direct_routes()
                                              ? PvmRouteDirect
                                              : PvmDontRoute);
    if (first) {
        instance = join_patiently(library);
        joined = instance >= 0;
    }
    status = bench_agree(team, &joined); /* the others come after rank 0 */
    if (status == NF_OK && joined == 0)
        return nf_fail(team->err, NF_ERR_UNREACHABLE,
                       "PVM's group library: no group server");
    if (status == NF_OK && !first)
        instance = pvm_joingroup(library->group);
    if (status == NF_OK && instance < 0)
        return nf_fail(team->err, NF_ERR_FAILED,
                       "PVM's group library: pvm_joingroup: error %d",
                       instance);
    if (status == NF_OK)
        status = everybody(team);
    if (status != NF_OK)
        return status;
    library->instance = (uint32_t)instance;
    signal(SIGALRM, on_alarm);
    bench_library_watch(library, true);
    if (pvm_freezegroup(library->group, (int)library->ranks) < 0)
        return nf_fail(team->err, NF_ERR_FAILED,
                       "PVM's group library: the group can't be frozen");
    if (nf_pvm_wants_direct_routes() && make_routes(library) < 0)
        return nf_fail(team->err, NF_ERR_FAILED,
                       "PVM's group library: a member can't be reached");
    bench_library_watch(library, false);
    return NF_OK;
}

void bench_library_watch(const struct bench_library *library, bool begins)
{
    alarm(begins ? library->patience_s : 0);
}

void bench_library_leave(struct bench_library *library)
{
    bench_library_watch(library, false);
    if (library->group[0] == '\0')
        return;
    pvm_lvgroup(library->group);
    pvm_setopt(PvmRoute, library->route);
}

static int broadcast(struct bench_library *library,
                     const struct bench_call *call, void *buffer)
{
    int status;

    if (library->instance == 0) {
        pvm_initsend(PvmDataRaw);
        pvm_pkbyte(buffer, (int)call->bytes, 1);
        return pvm_bcast(library->group, library->tag);
    }
    status = pvm_recv(-1, library->tag);
    return status < 0 ? status : pvm_upkbyte(buffer, (int)call->bytes, 1);
}

enum nf_status bench_library_call(struct bench_library *library,
                                  const struct bench_call *call, void *send,
                                  void *recv)
{
    int bytes = (int)call->bytes, status = -1;

    library->tag++;
    switch (call->op) {
    case NF_COLL_BCAST:
        status = broadcast(library, call, recv);
        break;
    case NF_COLL_REDUCE:
        status = pvm_reduce(PvmSum, recv, bytes / 8, PVM_DOUBLE, library->tag,
                            library->group, 0);
        break;
    case NF_COLL_GATHER:
        status = pvm_gather(recv, send, bytes, PVM_BYTE, library->tag,
                            library->group, 0);
        break;
    case NF_COLL_SCATTER:
        status = pvm_scatter(recv, send, bytes, PVM_BYTE, library->tag,
                             library->group, 0);
        break;
    case NF_COLL_BARRIER:
        status = pvm_barrier(library->group, (int)library->ranks);
        break;
    default:
        break;
    }
    return status < 0 ? NF_ERR_FAILED : NF_OK;
}
