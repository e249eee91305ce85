/* The blocking forms of the operations. */
#include "config.h"
#include "common/group/group.h"

static enum nf_status do_call(struct nf_group *group,
                              const struct nf_call *call)
{
    struct nf_request *request;
    enum nf_status status = nf_group_start(group, call, &request);

    return status == NF_OK ? nf_request_wait(request) : status;
}

enum nf_status nf_bcast(struct nf_group *group, void *buffer, size_t count,
                        int type, uint32_t root)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_BCAST,
                                             .recv = buffer,
                                             .count = count,
                                             .type = type,
                                             .root = root });
}

enum nf_status nf_reduce(struct nf_group *group, const void *send, void *recv,
                         size_t count, int type, int op, uint32_t root)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_REDUCE,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .type = type,
                                             .op = op,
                                             .root = root });
}

enum nf_status nf_allreduce(struct nf_group *group, const void *send,
                            void *recv, size_t count, int type, int op)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_ALLREDUCE,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .type = type,
                                             .op = op });
}

enum nf_status nf_reduce_scatter(struct nf_group *group, const void *send,
                                 void *recv, const size_t *counts, int type,
                                 int op)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_REDUCE_SCATTER,
                                             .send = send,
                                             .recv = recv,
                                             .counts = counts,
                                             .type = type,
                                             .op = op });
}

enum nf_status nf_scan(struct nf_group *group, const void *send, void *recv,
                       size_t count, int type, int op)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_SCAN,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .type = type,
                                             .op = op });
}

enum nf_status nf_exscan(struct nf_group *group, const void *send, void *recv,
                         size_t count, int type, int op)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_EXSCAN,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .type = type,
                                             .op = op });
}

enum nf_status nf_allgather(struct nf_group *group, const void *send,
                            void *recv, size_t count, int type)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_ALLGATHER,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .type = type });
}

enum nf_status nf_allgatherv(struct nf_group *group, const void *send,
                             void *recv, const size_t *counts,
                             const size_t *offsets, int type)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_ALLGATHER,
                                             .send = send,
                                             .recv = recv,
                                             .counts = counts,
                                             .offsets = offsets,
                                             .type = type });
}

enum nf_status nf_gather(struct nf_group *group, const void *send, void *recv,
                         size_t count, int type, uint32_t root)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_GATHER,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .type = type,
                                             .root = root });
}

enum nf_status nf_gatherv(struct nf_group *group, const void *send,
                          size_t count, void *recv, const size_t *counts,
                          const size_t *offsets, int type, uint32_t root)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_GATHER,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .counts = counts,
                                             .offsets = offsets,
                                             .varies = 1,
                                             .type = type,
                                             .root = root });
}

enum nf_status nf_scatter(struct nf_group *group, const void *send, void *recv,
                          size_t count, int type, uint32_t root)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_SCATTER,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .type = type,
                                             .root = root });
}

enum nf_status nf_scatterv(struct nf_group *group, const void *send,
                           const size_t *counts, const size_t *offsets,
                           void *recv, size_t count, int type, uint32_t root)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_SCATTER,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .counts = counts,
                                             .offsets = offsets,
                                             .varies = 1,
                                             .type = type,
                                             .root = root });
}

enum nf_status nf_alltoall(struct nf_group *group, const void *send, void *recv,
                           size_t count, int type)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_ALLTOALL,
                                             .send = send,
                                             .recv = recv,
                                             .count = count,
                                             .type = type });
}

enum nf_status nf_alltoallv(struct nf_group *group, const void *send,
                            const size_t *send_counts,
                            const size_t *send_offsets, void *recv,
                            const size_t *counts, const size_t *offsets,
                            int type)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_ALLTOALL,
                                             .send = send,
                                             .recv = recv,
                                             .counts = counts,
                                             .offsets = offsets,
                                             .send_counts = send_counts,
                                             .send_offsets = send_offsets,
                                             .varies = 1,
                                             .type = type });
}

enum nf_status nf_barrier(struct nf_group *group)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_BARRIER });
}
