/* The operations: what each member has and is to have. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/wish.h"
#include "common/group/group.h"
#include <assert.h>
#include <string.h>

/* One call being prepared. */
struct draft {
    struct nf_group *group;
    const struct nf_call *call;
    const struct nf_blocks *blocks; /* or NULL: as the user has it */
    struct nf_request *request;
    struct nf_exec_call exec;
    struct nf_choice_query query;
    bool is_root, in_place;
    bool sends;     /* alltoallv: there are elements to send */
    uint64_t total; /* elements of all blocks, or of the vector */
    uint64_t end;   /* with counts: behind the last of them */
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
           kind == NF_CALL_GATHER || kind == NF_CALL_SCATTER ||
           kind == NF_CALL_ALLTOALL;
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
    size_t bytes = nf_elem_most_bytes(&group->codes, call->type);

    if ((int)call->kind < 0 || call->kind > NF_CALL_BARRIER)
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
    if (call->count > SIZE_MAX / 2 / bytes / group->ranks ||
        call->usual_count > SIZE_MAX / 2 / bytes / group->ranks)
        return bad(group, "more elements than memory can hold");
    if (call->kind == NF_CALL_REDUCE_SCATTER && call->counts == NULL)
        return bad(group, "reduce_scatter wants counts");
    return NF_OK;
}

/* Sum of counts, and where blocks begin if the user does not say.
 * @param own_p       set to memory for offsets if the user gave none
 * @param offsets_p   in: the user's, or NULL
 * @param end_p       behind the last element */
static enum nf_status add_counts(struct draft *draft, const size_t *counts,
                                 size_t **own_p, const size_t **offsets_p,
                                 uint64_t *total_p, uint64_t *end_p)
{
    uint32_t ranks = draft->group->ranks;
    uint64_t most = SIZE_MAX / 2 /
                    nf_elem_most_bytes(&draft->group->codes, draft->call->type);
    size_t *own = NULL;

    if (*offsets_p == NULL) {
        own = nf_calloc(ranks, sizeof(*own));
        *own_p = own;
        *offsets_p = own;
        if (own == NULL)
            return NF_ERR_NOMEM;
    }
    *total_p = *end_p = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        if (own != NULL)
            own[i] = (size_t)*total_p;
        if (counts[i] > most - *total_p || (*offsets_p)[i] > most ||
            counts[i] > most - (*offsets_p)[i])
            return bad(draft->group, "more elements than memory can hold");
        *total_p += counts[i];
        if (counts[i] > 0 && (*offsets_p)[i] + counts[i] > *end_p)
            *end_p = (*offsets_p)[i] + counts[i];
    }
    return NF_OK;
}

/* The root says twice how long its own block is.  Its buffer for that is as
 * long as `count` says. */
static bool has_two_counts(const struct draft *draft)
{
    const struct nf_call *call = draft->call;

    return draft->is_root && draft->exec.layout.varies &&
           call->count != call->counts[draft->group->rank];
}

static enum nf_status set_counts(struct draft *draft)
{
    struct nf_exec_layout *layout = &draft->exec.layout;
    enum nf_status status;

    layout->counts = draft->call->counts;
    layout->offsets = draft->call->offsets;
    status = add_counts(draft, layout->counts, &draft->request->offsets,
                        &layout->offsets, &draft->total, &draft->end);
    layout->elements = draft->total;
    if (status == NF_OK && has_two_counts(draft))
        return bad(draft->group, "the root's block has two counts");
    return status;
}

/* All-to-all: what comes in and, unless it is in place, what goes out. */
static enum nf_status set_both_counts(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    struct nf_exec_layout *layout = &draft->exec.layout;
    uint64_t sent = 0, end = 0;
    enum nf_status status;

    if (call->counts == NULL || (!draft->in_place && call->send_counts == NULL))
        return bad(draft->group, "alltoallv wants counts");
    status = set_counts(draft);
    if (status != NF_OK)
        return status;
    layout->send_counts = layout->counts;
    layout->send_offsets = layout->offsets;
    draft->sends = draft->total > 0;
    if (draft->in_place)
        return NF_OK;
    layout->send_counts = call->send_counts;
    layout->send_offsets = call->send_offsets;
    status =
        add_counts(draft, layout->send_counts, &draft->request->send_offsets,
                   &layout->send_offsets, &sent, &end);
    draft->sends = sent > 0;
    if (status == NF_OK && call->send_counts[draft->group->rank] !=
                               call->counts[draft->group->rank])
        return bad(draft->group, "a member's block for itself has two counts");
    return status;
}

/* What kind of blocks there are, and of how many elements if all are alike. */
static void set_form(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    struct nf_exec_layout *layout = &draft->exec.layout;

    layout->blocks = is_of_blocks(call->kind);
    layout->elements = call->kind == NF_CALL_BARRIER ? 0 : call->count;
    layout->pairs = call->kind == NF_CALL_ALLTOALL;
    layout->varies = call->varies && (call->kind == NF_CALL_GATHER ||
                                      call->kind == NF_CALL_SCATTER ||
                                      call->kind == NF_CALL_ALLTOALL);
    draft->total = layout->elements;
    if (layout->blocks)
        draft->total *= draft->group->ranks;
    draft->end = draft->total;
}

static enum nf_status set_layout(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    struct nf_exec_layout *layout = &draft->exec.layout;

    set_form(draft);
    if (layout->pairs && layout->varies)
        return set_both_counts(draft);
    if (layout->pairs)
        return NF_OK;
    if (layout->blocks && call->counts != NULL &&
        (!layout->varies || draft->is_root))
        return set_counts(draft);
    if (layout->varies && draft->is_root)
        return bad(draft->group, "the root wants counts");
    return NF_OK;
}

/* ------------------------------------------------------------------- buffers
 */

/* In place, where results may come before the input is sent. */
static enum nf_status copy_input(struct draft *draft, uint64_t elements)
{
    const struct nf_call *call = draft->call;
    size_t bytes =
        (size_t)elements * nf_elem_bytes(&draft->group->codes, call->type);

    draft->request->input = nf_malloc(bytes);
    if (draft->request->input == NULL)
        return NF_ERR_NOMEM;
    draft->exec.src = draft->request->input;
    if (bytes > 0)
        memcpy(draft->request->input, call->recv, bytes);
    return NF_OK;
}

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
    return draft->in_place ? copy_input(draft, call->count) : NF_OK;
}

/* What goes to each is as long as was said, and nothing is for this one. */
static bool are_blocks(const struct draft *draft, struct nf_blob *const *chains)
{
    const struct nf_group *group = draft->group;
    size_t elem = nf_elem_bytes(&group->codes, draft->call->type);

    for (uint32_t r = 0; chains != NULL && r < nf_group_size(group); r++) {
        size_t bytes = chains[r] != NULL ? chains[r]->bytes : 0;

        if (bytes % elem != 0 || (r == nf_group_rank(group) && bytes > 0) ||
            (r != nf_group_rank(group) &&
             bytes / elem != draft->call->send_counts[r]))
            return false;
    }
    return true;
}

static enum nf_status set_block_buffers(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    struct nf_exec_call *exec = &draft->exec;
    bool gathers =
        call->kind != NF_CALL_SCATTER && call->kind != NF_CALL_REDUCE_SCATTER;

    if (draft->blocks != NULL) {
        if (!are_blocks(draft, draft->blocks->chains))
            return bad(draft->group, "a block is not as long as was said");
        exec->src = draft->blocks->chains == NULL ? call->send : NULL;
        exec->chains = draft->blocks->chains;
        exec->blocks = draft->blocks->come;
        return NF_OK;
    }
    if (call->kind == NF_CALL_ALLTOALL) {
        exec->src = call->send;
        exec->home = call->recv;
        return draft->in_place ? copy_input(draft, draft->end) : NF_OK;
    }
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
    bool own = (counts != NULL ? counts[draft->group->rank] : call->count) > 0;
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
    case NF_CALL_ALLTOALL:
        *send_p = draft->exec.layout.varies ? draft->sends : any;
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
    if (draft->blocks != NULL) {
        send = send && draft->blocks->chains == NULL;
        recv = false;
    }
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
                       : nf_elem_equal_bytes(draft->exec.codes, call->type);
    bool one_block = call->kind == NF_CALL_GATHER ||
                     call->kind == NF_CALL_SCATTER ||
                     call->kind == NF_CALL_ALLTOALL;
    bool varies = draft->exec.layout.varies;
    /* all members know it, if none knows all counts */
    size_t usual = call->kind == NF_CALL_ALLTOALL ? call->usual_count : 0;

    draft->query.varies = varies && usual == 0;
    draft->query.lists = varies;
    draft->query.plain = draft->group->plain;
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
    if (varies) /* nothing that only some know */
        draft->query.coll.elements = usual;
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

static enum nf_status start(struct nf_group *group, const struct nf_call *call,
                            const struct nf_blocks *blocks,
                            struct nf_request **request_p)
{
    struct draft draft = { .group = group, .call = call, .blocks = blocks };
    enum nf_status status;

    if (nf_group_ends(group, group->epoch))
        return NF_ERR_REVOKED;
    status = check(group, call);
    if (status != NF_OK)
        return status;
    status = nf_group_look_around(group, true);
    if (status >= 0 && nf_group_ends(group, group->epoch))
        status = NF_ERR_REVOKED;
    if (status < 0)
        return status;
    draft.request = nf_group_new_request(group);
    status = draft.request == NULL ? NF_ERR_NOMEM : prepare(&draft);
    if (status == NF_OK)
        status = launch(&draft);
    if (status == NF_OK && group->mesh != NULL)
        nf_mesh_landing_changed(group->mesh);
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

enum nf_status nf_group_start(struct nf_group *group,
                              const struct nf_call *call,
                              struct nf_request **request_p)
{
    return start(group, call, NULL, request_p);
}

/* As set_layout(), of a call that is only asked about: it has no buffers. */
static enum nf_status add_up(struct draft *draft)
{
    const struct nf_call *call = draft->call;
    uint64_t most = SIZE_MAX / 2;

    set_form(draft);
    if (!draft->exec.layout.blocks || draft->exec.layout.varies ||
        call->counts == NULL)
        return NF_OK;
    draft->total = 0;
    for (uint32_t i = 0; i < draft->group->ranks; i++) {
        if (call->counts[i] > most - draft->total)
            return bad(draft->group, "more elements than memory can hold");
        draft->total += call->counts[i];
    }
    return NF_OK;
}

enum nf_status nf_group_algorithm(struct nf_group *group,
                                  const struct nf_call *call, char *text,
                                  size_t bytes)
{
    struct draft draft = { .group = group, .call = call };
    struct nf_coll_choice choice;
    char name[NF_TOLD_BYTES] = "";
    enum nf_status status;

    if (nf_group_ends(group, group->epoch))
        return NF_ERR_REVOKED;
    status = check(group, call);
    draft.exec.codes = &group->codes;
    if (status == NF_OK)
        status = add_up(&draft);
    if (status != NF_OK)
        return status;
    set_query(&draft);
    if (group->ranks > 1 && !is_empty(&draft)) {
        status = nf_group_choose(group, &draft.query, &choice, &group->error);
        if (status != NF_OK)
            return status;
        nf_coll_wish_write(&(struct nf_coll_wish){ choice.algorithm,
                                                   choice.segments,
                                                   choice.params },
                           name, sizeof(name));
    }
    if (strlen(name) >= bytes)
        return nf_fail(&group->error, NF_ERR_RANGE,
                       "no room for an algorithm's name");
    memcpy(text, name, strlen(name) + 1);
    return NF_OK;
}

enum nf_status nf_group_start_blocks(struct nf_group *group,
                                     const struct nf_call *call,
                                     const struct nf_blocks *blocks,
                                     struct nf_request **request_p)
{
    assert(call->kind == NF_CALL_ALLTOALL && call->varies);
    assert(blocks->chains == NULL || group->mesh == NULL ||
           nf_mesh_takes_chains(group->mesh));
    return start(group, call, blocks, request_p);
}

bool nf_group_likes_chain(const struct nf_group *group, uint32_t rank,
                          size_t bytes, size_t parts)
{
    return group->mesh != NULL &&
           nf_mesh_likes_chain(group->mesh, rank, bytes, parts);
}

/* Of one that is done, too: its user may have been away for long, and be so again
 * before the next call. */
enum nf_status nf_request_test(struct nf_request *request)
{
    if (request->status == NF_WAIT)
        (void)nf_group_progress(request->group);
    else
        (void)nf_group_look_around(request->group, false);
    return request->status;
}

enum nf_status nf_request_wait(struct nf_request *request)
{
    struct nf_group *group = request->group;
    enum nf_status status;

    while (nf_request_test(request) == NF_WAIT)
        if (nf_group_is_stopped(group))
            (void)nf_group_revoke(group, NF_ERR_INTERRUPTED, NULL, 0,
                                  nf_strerror(NF_ERR_INTERRUPTED));
        else
            nf_group_sleep(group, nf_group_deadline_us(group));
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
