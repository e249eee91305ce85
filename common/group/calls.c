/* The operations: what each member has and is to have, and their blocking
 * forms. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/group/group.h"
#include <string.h>

/* One call being prepared. */
struct draft {
    struct nf_group *group;
    const struct nf_call *call;
    struct nf_request *request;
    struct nf_exec_call exec;
    struct nf_choice_query query;
    bool is_root, in_place;
    uint64_t total; /* elements of all blocks, or of the vector */
};

static enum nf_status bad(struct nf_group *group, const char *what)
{
    return nf_fail(&group->error, NF_ERR_INVAL, "%s", what);
}

static bool combines(enum nf_call_kind kind)
{
    return kind == NF_CALL_REDUCE || kind == NF_CALL_ALLREDUCE ||
           kind == NF_CALL_REDUCE_SCATTER || kind == NF_CALL_SCAN ||
           kind == NF_CALL_EXSCAN;
}

static bool is_rooted(enum nf_call_kind kind)
{
    return kind == NF_CALL_BCAST || kind == NF_CALL_REDUCE ||
           kind == NF_CALL_GATHER || kind == NF_CALL_SCATTER;
}

static bool is_of_blocks(enum nf_call_kind kind)
{
    return kind == NF_CALL_REDUCE_SCATTER || kind == NF_CALL_ALLGATHER ||
           kind == NF_CALL_GATHER || kind == NF_CALL_SCATTER;
}

/* Kinds are numbered as operations. */
static enum nf_coll_op op_of(enum nf_call_kind kind)
{
    _Static_assert((int)NF_CALL_BARRIER == (int)NF_COLL_BARRIER &&
                       (int)NF_CALL_GATHER == (int)NF_COLL_GATHER,
                   "kinds of calls and operations differ");
    return (enum nf_coll_op)kind;
}

static enum nf_status check(struct nf_group *group, const struct nf_call *call)
{
    size_t bytes = nf_elem_bytes(&group->codes, call->type);

    if ((int)call->kind < 0 || call->kind > NF_CALL_BARRIER ||
        call->kind == NF_CALL_ALLTOALL)
        return bad(group, "no such operation");
    if (call->kind == NF_CALL_BARRIER)
        return NF_OK;
    if (bytes == 0)
        return bad(group, "no such element type");
    if (is_rooted(call->kind) && call->root >= group->ranks)
        return nf_fail(&group->error, NF_ERR_INVAL,
                       "root %u: want a rank below %u", call->root,
                       group->ranks);
    if (combines(call->kind) &&
        !nf_operator_fits(&group->codes, call->type, call->op))
        return bad(group, "the operator does not fit the element type");
    if (call->count > SIZE_MAX / 2 / bytes / group->ranks)
        return bad(group, "more elements than memory can hold");
    if (call->kind == NF_CALL_REDUCE_SCATTER && call->counts == NULL)
        return bad(group, "reduce_scatter wants counts");
    return NF_OK;
}

/* Sum of counts, and where blocks begin if the user does not say. */
static enum nf_status set_counts(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    struct nf_exec_layout *layout = &draft->exec.layout;
    uint32_t ranks = draft->group->ranks;
    size_t bytes = nf_elem_bytes(&draft->group->codes, call->type);
    size_t *offsets = NULL;

    if (call->offsets == NULL) {
        offsets = nf_calloc(ranks, sizeof(*offsets));
        draft->request->offsets = offsets;
        if (offsets == NULL)
            return NF_ERR_NOMEM;
    }
    draft->total = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        if (call->counts[i] > SIZE_MAX / 2 / bytes - draft->total ||
            (offsets == NULL &&
             (call->offsets[i] > SIZE_MAX / 2 / bytes ||
              call->counts[i] > SIZE_MAX / 2 / bytes - call->offsets[i])))
            return bad(draft->group, "more elements than memory can hold");
        if (offsets != NULL)
            offsets[i] = (size_t)draft->total;
        draft->total += call->counts[i];
    }
    layout->counts = call->counts;
    layout->offsets = offsets != NULL ? offsets : call->offsets;
    layout->elements = draft->total;
    return NF_OK;
}

static enum nf_status set_layout(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    struct nf_exec_layout *layout = &draft->exec.layout;

    layout->blocks = is_of_blocks(call->kind);
    layout->elements = call->kind == NF_CALL_BARRIER ? 0 : call->count;
    layout->varies = call->varies && (call->kind == NF_CALL_GATHER ||
                                      call->kind == NF_CALL_SCATTER);
    draft->total = layout->elements;
    if (layout->blocks)
        draft->total *= draft->group->ranks;
    if (layout->blocks && call->counts != NULL &&
        (!layout->varies || draft->is_root))
        return set_counts(draft);
    if (layout->varies && draft->is_root)
        return bad(draft->group, "the root wants counts");
    return NF_OK;
}

/* ------------------------------------------------------------------- buffers
 */

static enum nf_status set_vector_buffers(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    struct nf_exec_call *exec = &draft->exec;

    if (call->kind == NF_CALL_BCAST) {
        exec->src = draft->is_root ? call->recv : NULL;
        exec->home = call->recv;
        return NF_OK;
    }
    if (call->kind == NF_CALL_REDUCE && draft->in_place && !draft->is_root)
        return bad(draft->group, "only the root may reduce in place");
    exec->src = draft->in_place ? call->recv : call->send;
    if (call->kind != NF_CALL_REDUCE || draft->is_root)
        exec->home = call->recv;
    if (call->kind != NF_CALL_EXSCAN)
        return NF_OK;
    exec->home = NULL;
    exec->before = call->recv;
    if (draft->in_place) { /* results may come before the input is sent */
        size_t bytes =
            call->count * nf_elem_bytes(&draft->group->codes, call->type);

        draft->request->input = nf_malloc(bytes);
        if (draft->request->input == NULL)
            return NF_ERR_NOMEM;
        exec->src = memcpy(draft->request->input, call->recv, bytes);
    }
    return NF_OK;
}

static enum nf_status set_block_buffers(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    struct nf_exec_call *exec = &draft->exec;
    bool gathers =
        call->kind != NF_CALL_SCATTER && call->kind != NF_CALL_REDUCE_SCATTER;

    if (call->kind == NF_CALL_GATHER && draft->in_place && !draft->is_root)
        return bad(draft->group, "only the root may gather in place");
    if (gathers) {
        exec->src = draft->in_place ? call->recv : call->send;
        exec->src_own = !draft->in_place;
        if (call->kind == NF_CALL_ALLGATHER || draft->is_root)
            exec->home = call->recv;
        return NF_OK;
    }
    exec->home = call->recv;
    exec->home_own = true;
    if (call->kind == NF_CALL_REDUCE_SCATTER) {
        exec->src = draft->in_place ? call->recv : call->send;
        exec->home_late = draft->in_place;
        return NF_OK;
    }
    if (draft->is_root)
        exec->src = call->send;
    if (call->recv == NF_IN_PLACE) {
        if (!draft->is_root)
            return bad(draft->group, "only the root may scatter in place");
        exec->home = NULL;
    }
    return NF_OK;
}

/* Does this member read its send buffer, or write its recv buffer?  Who has no
 * element needs no place for it. */
static void find_uses(const struct draft *draft, bool *send_p, bool *recv_p)
{
    const struct nf_call *call = draft->call;
    const size_t *counts = draft->exec.layout.counts;
    bool own =
        (counts != NULL ? counts[draft->group->rank] : call->count) > 0;
    bool any = draft->total > 0;

    *send_p = *recv_p = any;
    switch (call->kind) {
    case NF_CALL_BCAST:
        *send_p = false;
        break;
    case NF_CALL_REDUCE:
        *recv_p = any && draft->is_root;
        break;
    case NF_CALL_GATHER:
        *send_p = own;
        *recv_p = any && draft->is_root;
        break;
    case NF_CALL_ALLGATHER:
        *send_p = own;
        break;
    case NF_CALL_SCATTER:
        *send_p = any && draft->is_root;
        *recv_p = own;
        break;
    case NF_CALL_REDUCE_SCATTER:
        *recv_p = own || (any && draft->in_place);
        break;
    case NF_CALL_BARRIER:
        *send_p = *recv_p = false;
        break;
    default:
        break;
    }
}

static enum nf_status check_buffers(const struct draft *draft)
{
    const struct nf_call *call = draft->call;
    bool send, recv;

    find_uses(draft, &send, &recv);
    if ((send && call->send == NULL) || (recv && call->recv == NULL))
        return bad(draft->group, "a buffer is missing");
    if (recv && call->recv == NF_IN_PLACE && call->kind != NF_CALL_SCATTER)
        return bad(draft->group, "only a scatter has its recv in place");
    if (send && call->send == NF_IN_PLACE && call->kind == NF_CALL_SCATTER)
        return bad(draft->group, "a scatter has its recv in place, not send");
    return NF_OK;
}

/* ---------------------------------------------------------------------- start
 */

static void set_query(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    size_t bytes = draft->exec.codes == NULL || call->kind == NF_CALL_BARRIER
                       ? 1
                       : nf_elem_bytes(draft->exec.codes, call->type);
    bool one_block =
        call->kind == NF_CALL_GATHER || call->kind == NF_CALL_SCATTER;

    draft->query.varies = draft->exec.layout.varies;
    draft->query.type = combines(call->kind) ? call->type : 0;
    draft->query.op = combines(call->kind) ? call->op : 0;
    draft->query.coll = (struct nf_coll_query){
        .op = op_of(call->kind),
        .ranks = draft->group->ranks,
        .root = is_rooted(call->kind) ? call->root : 0,
        .elements = one_block ? call->count : draft->total,
        .commutative = !combines(call->kind) ||
                       nf_operator_commutes(&draft->group->codes, call->op),
    };
    if (draft->query.varies) /* nothing that only some know */
        draft->query.coll.elements = 0;
    draft->query.coll.bytes = draft->query.coll.elements * bytes;
}

static enum nf_status prepare(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    enum nf_status status;

    draft->is_root = is_rooted(call->kind) && call->root == draft->group->rank;
    draft->in_place = call->send == NF_IN_PLACE;
    draft->exec.codes = &draft->group->codes;
    draft->exec.type =
        call->kind == NF_CALL_BARRIER ? NF_ELEM_BYTE : call->type;
    draft->exec.op = combines(call->kind) ? call->op : -1;
    status = set_layout(draft);
    if (status == NF_OK)
        status = check_buffers(draft);
    if (status == NF_OK && call->kind != NF_CALL_BARRIER)
        status = draft->exec.layout.blocks ? set_block_buffers(draft)
                                           : set_vector_buffers(draft);
    set_query(draft);
    return status;
}

static bool is_empty(const struct draft *draft)
{
    return draft->call->kind != NF_CALL_BARRIER && draft->total == 0 &&
           !draft->exec.layout.varies;
}

static enum nf_status launch(struct draft *draft)
{
    struct nf_group *group = draft->group;
    struct nf_coll_choice choice;
    enum nf_status status;

    if (is_empty(draft)) {
        status = nf_group_pass(group);
        if (status == NF_OK)
            draft->request->status = NF_OK;
        return status;
    }
    status = nf_group_choose(group, &draft->query, &choice, &group->error);
    if (status != NF_OK)
        return status;
    return nf_group_launch(group, draft->request, &choice, &draft->exec,
                           draft->query.coll.root);
}

enum nf_status nf_group_start(struct nf_group *group,
                              const struct nf_call *call,
                              struct nf_request **request_p)
{
    struct draft draft = { .group = group, .call = call };
    enum nf_status status;

    if (nf_group_ends(group, group->epoch))
        return NF_ERR_REVOKED;
    status = check(group, call);
    if (status != NF_OK)
        return status;
    status = nf_group_look_around(group);
    if (status >= 0 && nf_group_ends(group, group->epoch))
        status = NF_ERR_REVOKED;
    if (status < 0)
        return status;
    draft.request = nf_group_new_request(group);
    status = draft.request == NULL ? NF_ERR_NOMEM : prepare(&draft);
    if (status == NF_OK)
        status = launch(&draft);
    if (status == NF_ERR_NOMEM)
        (void)nf_group_broke(group, status);
    if (status != NF_OK) {
        if (draft.request != NULL)
            nf_group_drop_request(draft.request);
        return status;
    }
    *request_p = draft.request;
    return NF_OK;
}

enum nf_status nf_request_test(struct nf_request *request)
{
    if (request->status == NF_WAIT)
        (void)nf_group_progress(request->group);
    return request->status;
}

enum nf_status nf_request_wait(struct nf_request *request)
{
    struct nf_group *group = request->group;
    enum nf_status status;

    while (nf_request_test(request) == NF_WAIT)
        (void)nf_mesh_wait(group->mesh, nf_group_deadline_us(group));
    status = request->status;
    nf_group_drop_request(request);
    return status;
}

void nf_request_free(struct nf_request *request)
{
    if (request == NULL)
        return;
    if (request->status == NF_WAIT)
        (void)nf_group_revoke(request->group, NF_ERR_FAILED, NULL, 0,
                              "a call was given up by its member");
    nf_group_drop_request(request);
}

/* ------------------------------------------------------------- blocking calls
 */

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

enum nf_status nf_barrier(struct nf_group *group)
{
    return do_call(group, &(struct nf_call){ .kind = NF_CALL_BARRIER });
}
