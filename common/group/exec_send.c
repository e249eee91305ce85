/* What the executor sends: the data of a step, and before them the sizes of its
 * blocks where the receiver may not know them. */
#include "config.h"
#include "common/group/exec_data.h"
#include <string.h>

/* More than that, in no less messages, is much of a call: it takes as long as all of them
 * need, and not as one of them is on its way.  (By recursive doubling between eight there
 * are three, each after the answer to the one before.) */
enum { BULK_BYTES = 256 << 10, BULK_MESSAGES = 4 };

static bool is_much(uint64_t messages, uint64_t bytes)
{
    return messages >= BULK_MESSAGES && messages * bytes > BULK_BYTES;
}

/* As if all that it sends were as large, as it mostly is, and no more than a window lets
 * under way: where that is one, the next message waits for this. */
static bool is_in_bulk(const struct nf_exec *exec, const struct nf_blob *payload)
{
    const struct nf_plan *plan = exec->plan;
    uint64_t most = exec->window > 0 ? exec->window : plan->nsteps, count = 0;

    if (payload == NULL || !is_much(most, payload->bytes))
        return false;
    for (uint32_t i = 0;
         i < plan->nsteps && count < most && !is_much(count, payload->bytes); i++)
        count += plan->steps[i].sends && !nf_exec_is_void(exec, i);
    return is_much(count, payload->bytes);
}

static enum nf_status send_head(struct nf_exec *exec,
                                const struct nf_plan_step *step,
                                uint32_t segment, struct nf_blob *payload,
                                uint64_t bytes)
{
    uint8_t encoded[NF_HEAD_BYTES];
    struct nf_head head = exec->head;
    struct nf_mesh_message message = { .head = encoded, .payload = payload };

    head.step = step->round;
    head.segment = segment;
    head.bytes = bytes;
    head.brief = exec->told[step->peer];
    exec->told[step->peer] = true;
    message.in_bulk = is_in_bulk(exec, payload);
    message.head_bytes = nf_head_encode(&head, encoded);
    return nf_mesh_send(exec->mesh, step->peer, &message);
}

bool nf_exec_lists(const struct nf_exec *exec, const struct nf_plan_step *step)
{
    return exec->sizes != NULL && step->lists;
}

static uint32_t count_items(const struct nf_exec *exec,
                            const struct nf_plan_step *step)
{
    uint32_t count = 0;

    for (uint32_t s = 0; s < step->nspans; s++)
        count += exec->plan->spans[step->first_span + s].count;
    return count;
}

static enum nf_status send_list(struct nf_exec *exec, uint32_t self)
{
    const struct nf_plan_step *step = &exec->plan->steps[self];
    size_t bytes = count_items(exec, step) * sizeof(uint64_t);
    struct nf_blob *payload = nf_blob_create(bytes, NF_INT64);
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    enum nf_status status;
    uint8_t *to;
    uint32_t i;

    if (payload == NULL)
        return NF_ERR_NOMEM;
    to = payload->data;
    while (nf_exec_walk_next(&walk, &i)) {
        memcpy(to, &exec->sizes[i], sizeof(uint64_t));
        to += sizeof(uint64_t);
    }
    status =
        send_head(exec, step, step->first_item | NF_HEAD_SIZES, payload, bytes);
    nf_blob_unref(payload);
    return status;
}

/* The payload of step @p self, in the form for its peer.
 * @param segment_p  in: its first item; out: with the mark of packed elements
 */
static enum nf_status make_payload(struct nf_exec *exec, uint32_t self,
                                   struct nf_blob **payload_p,
                                   uint32_t *segment_p)
{
    uint64_t bytes;

    if (nf_exec_packs(exec, self)) {
        *segment_p |= NF_HEAD_PACKED;
        return nf_exec_pack(exec, self, payload_p);
    }
    *payload_p = nf_exec_payload(exec, self, &bytes);
    return *payload_p != NULL ? NF_OK : NF_ERR_NOMEM;
}

enum nf_status nf_exec_send_step(struct nf_exec *exec, uint32_t self)
{
    const struct nf_plan_step *step = &exec->plan->steps[self];
    struct nf_blob *payload;
    enum nf_status status = NF_OK;
    uint32_t segment = step->first_item;

    if (exec->plan->items == 0)
        return send_head(exec, step, segment, NULL, 0);
    if (nf_exec_lists(exec, step))
        status = send_list(exec, self);
    if (status != NF_OK || nf_exec_step_bytes(exec, step) == 0)
        return status; /* the receiver knows that nothing comes */
    status = make_payload(exec, self, &payload, &segment);
    if (status != NF_OK)
        return status;
    status = send_head(exec, step, segment, payload, payload->bytes);
    nf_blob_unref(payload);
    if (exec->call.layout.pairs)
        nf_exec_drop_pairs(exec, self);
    return status;
}

/* All is looked at before anything is believed. */
bool nf_exec_take_list(struct nf_exec *exec, uint32_t self,
                       const struct nf_blob *payload)
{
    const struct nf_plan_step *step = &exec->plan->steps[self];
    uint64_t left =
        SIZE_MAX / 2 / nf_elem_most_bytes(exec->call.codes, exec->call.type);
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    const uint8_t *from;
    uint64_t size;
    uint32_t i;

    if (payload == NULL ||
        payload->bytes != count_items(exec, step) * sizeof(size))
        return false;
    from = payload->data;
    for (; nf_exec_walk_next(&walk, &i); from += sizeof(size)) {
        memcpy(&size, from, sizeof(size));
        if (size > left)
            return false;
        left -= size;
        if (exec->sizes[i] == NF_SIZE_UNKNOWN || exec->sizes[i] == size)
            continue;
        /* who passed it on need not be one of the two */
        exec->clash = exec->call.layout.pairs ? i : NF_PLAN_NONE;
        return false;
    }
    walk = nf_exec_walk(exec, self);
    from = payload->data;
    for (; nf_exec_walk_next(&walk, &i); from += sizeof(size))
        memcpy(&exec->sizes[i], from, sizeof(size));
    exec->listed[self] = true;
    return true;
}
