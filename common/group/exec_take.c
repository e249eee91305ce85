/* What the executor takes: whether a message is of this call and as long as it
 * must be, and elements that come packed. */
#include "config.h"
#include "common/base/error.h"
#include "common/group/exec_data.h"

/* What the two calls disagree in, or NULL. */
static const char *difference(const struct nf_exec *exec,
                              const struct nf_head *a)
{
    const struct nf_head *b = &exec->head;

    if (a->brief) /* what it is has been said before */
        return a->digest != b->digest ? "arguments" : NULL;
    if (a->op != b->op)
        return "operation";
    if (a->root != b->root)
        return "root";
    if (((a->code ^ b->code) & ~NF_HEAD_SIZE_MASK) != 0)
        return "type or operator";
    if (a->code != b->code)
        return exec->packing != NULL ? "packed_bytes of the type"
                                     : "size of the type";
    if (a->table != b->table)
        return "table of algorithms";
    if (a->flags != b->flags)
        return "count";
    if (a->algorithm != b->algorithm)
        return "algorithm";
    return NULL;
}

/* A barrier's message has no payload; its arrival must be seen all the same. */
static char no_payload;

static bool awaits_list(const struct nf_exec *exec, uint32_t self)
{
    return nf_exec_lists(exec, &exec->plan->steps[self]) && !exec->listed[self];
}

/* The sizes that come before step @p self. */
static enum nf_status take_list(struct nf_exec *exec, uint32_t self,
                                struct nf_blob *payload)
{
    if (!awaits_list(exec, self) || !nf_exec_take_list(exec, self, payload))
        return NF_ERR_MISMATCH;
    nf_blob_unref(payload);
    exec->moves++;
    if (exec->states[self] == NF_EXEC_READY && nf_exec_is_void(exec, self))
        exec->queue[exec->queue_tail++] = self;
    return NF_OK;
}

/* Why a payload is not whole though the calls are alike. */
static const char *other_length(const struct nf_exec *exec)
{
    return exec->call.layout.varies ? "count" : "size of the type";
}

/* Has just one item bytes? */
static bool is_of_one(const struct nf_exec *exec, uint32_t self)
{
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    uint32_t count = 0, i;

    while (nf_exec_walk_next(&walk, &i))
        count += nf_exec_item_bytes(exec, i) > 0;
    return count == 1;
}

/* @return whether the payload is as long as that of step @p self must be */
static bool is_whole(const struct nf_exec *exec, uint32_t self,
                     const struct nf_head *head, const struct nf_blob *payload)
{
    uint64_t bytes = payload != NULL ? payload->bytes : 0;
    uint64_t want = nf_exec_step_bytes(exec, &exec->plan->steps[self]);

    if (payload != NULL && nf_blob_is_chain(payload) &&
        (!exec->call.layout.pairs || !is_of_one(exec, self)))
        return false;
    if ((head->segment & NF_HEAD_PACKED) != 0)
        want = want / exec->elem_bytes * exec->packing->packed_bytes;
    return bytes == want && (head->brief || bytes == head->bytes) &&
           (payload != NULL || exec->plan->items == 0);
}

static enum nf_status say_clash(const struct nf_exec *exec,
                                struct nf_error *err)
{
    uint32_t ranks = exec->plan->args.ranks;
    uint32_t from = exec->clash / ranks, to = exec->clash % ranks;

    return nf_fail(err, NF_ERR_MISMATCH,
                   "members %u and %u gave different counts for the block from "
                   "%u to %u",
                   from, to, from, to);
}

/* The homes of what step @p self receives, if they lie in one piece. */
static uint8_t *home_of_step(const struct nf_exec *exec, uint32_t self)
{
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    uint8_t *home = NULL, *end = NULL;
    uint32_t i;

    while (nf_exec_walk_next(&walk, &i)) {
        size_t bytes = nf_exec_item_bytes(exec, i);
        uint8_t *to = nf_exec_home_of(exec, i);

        if (bytes == 0)
            continue;
        if (home == NULL)
            home = end = to;
        if (to != end)
            return NULL;
        end += bytes;
    }
    return home;
}

uint8_t *nf_exec_landing(const struct nf_exec *exec, uint32_t from,
                         const struct nf_head *head, size_t bytes)
{
    const struct nf_plan_step *step;
    uint32_t self = NF_PLAN_NONE;

    if (!exec->call.layout.pairs && exec->plan->items > 0 &&
        (head->segment & (NF_HEAD_SIZES | NF_HEAD_PACKED)) == 0 &&
        difference(exec, head) == NULL)
        self = nf_plan_find(exec->plan, from, head->step, head->segment);
    if (self == NF_PLAN_NONE || exec->arrived[self] != NULL ||
        exec->states[self] != NF_EXEC_READY || awaits_list(exec, self))
        return NULL;
    step = &exec->plan->steps[self];
    if (step->action != NF_COLL_COPY || step->keep ||
        nf_exec_step_bytes(exec, step) != bytes ||
        (!head->brief && head->bytes != bytes) ||
        !nf_exec_may_go_home(exec, self))
        return NULL;
    return home_of_step(exec, self);
}

enum nf_status nf_exec_take(struct nf_exec *exec, uint32_t from,
                            const struct nf_head *head, struct nf_blob *payload,
                            struct nf_error *err)
{
    const char *what = difference(exec, head);
    bool is_list = (head->segment & NF_HEAD_SIZES) != 0;
    bool is_packed = (head->segment & NF_HEAD_PACKED) != 0;
    uint32_t self = NF_PLAN_NONE;

    if (what == NULL && is_packed && (is_list || exec->packing == NULL))
        what = "type";
    if (what == NULL)
        self = nf_plan_find(exec->plan, from, head->step,
                            head->segment & ~(NF_HEAD_SIZES | NF_HEAD_PACKED));
    if (what == NULL && (self == NF_PLAN_NONE || exec->arrived[self] != NULL ||
                         exec->states[self] == NF_EXEC_DONE))
        what = "number of segments";
    if (what == NULL && is_list) {
        if (take_list(exec, self, payload) == NF_OK)
            return NF_OK;
        what = "count";
    }
    if (what == NULL &&
        (awaits_list(exec, self) || !is_whole(exec, self, head, payload))) {
        what = awaits_list(exec, self) ? "count" : other_length(exec);
        /* of one block, straight from its member, the sizes are not told */
        if (exec->sizes != NULL && exec->call.layout.pairs &&
            !exec->plan->steps[self].lists)
            exec->clash = exec->plan->steps[self].first_item;
    }
    if (what != NULL) {
        nf_blob_unref(payload);
        if (exec->clash != NF_PLAN_NONE)
            return say_clash(exec, err);
        /* either may be the odd one: no more than two meet here */
        return nf_fail(err, NF_ERR_MISMATCH,
                       "members %u and %u made different calls: not the same "
                       "%s",
                       from, exec->plan->rank, what);
    }
    if (is_packed) {
        enum nf_status status = nf_exec_unpack(exec, &payload);

        if (status != NF_OK)
            return status;
    }
    exec->arrived[self] =
        payload != NULL ? payload : (struct nf_blob *)(void *)&no_payload;
    exec->moves++;
    if (exec->states[self] == NF_EXEC_READY)
        exec->queue[exec->queue_tail++] = self;
    return NF_OK;
}
