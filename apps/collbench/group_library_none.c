/* A build without PVM's group library. */
#include "config.h"
#include "apps/collbench/group_library.h"
#include "common/base/error.h"

bool bench_library_has(enum nf_coll_op op)
{
    (void)op;
    return false;
}

enum nf_status bench_library_join(struct bench_team *team, uint64_t id,
                                  struct bench_library *library)
{
    (void)id, (void)library;
    return nf_fail(team->err, NF_ERR_UNREACHABLE,
                   "built without PVM's group library");
}

void bench_library_leave(struct bench_library *library)
{
    (void)library;
}

void bench_library_watch(const struct bench_library *library, bool begins)
{
    (void)library, (void)begins;
}

enum nf_status bench_library_call(struct bench_library *library,
                                  const struct bench_call *call, void *send,
                                  void *recv)
{
    (void)library, (void)call, (void)send, (void)recv;
    return NF_ERR_FAILED;
}
