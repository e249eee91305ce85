/* The executor: readiness of steps, and where values lie.  Work per call is
 * O(own steps + items), per message O(items carried), and to find the next one of
 * n that may be sent O(log n). */
#include "config.h"
#include "common/group/exec.h"
#include <stdatomic.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/heap.h"
#include "common/group/exec_data.h"

/* --------------------------------------------------------------- readiness */

/* In the order of the plan, whichever was ready first: a rank that has all
 * segments hands each to all its children, and not all to the first child, then
 * all to the next, which would wait for most of the time. */
static inline bool is_sooner(const uint32_t *a, const uint32_t *b)
{
    return *a < *b;
}
NF_HEAP(sends, uint32_t, is_sooner)

/* A receive joins the queue when its turn has come and the message too. */
static void push(struct nf_exec *exec, uint32_t self)
{
    const struct nf_plan_step *step = &exec->plan->steps[self];

    exec->states[self] = NF_EXEC_READY;
    if (step->sends)
        sends_push(exec->sends, exec->nready_sends++, self);
    else if (exec->arrived[self] != NULL || nf_exec_is_void(exec, self))
        exec->queue[exec->queue_tail++] = self;
}

/* With a window: take up the next steps. */
static void open_window(struct nf_exec *exec)
{
    while (exec->nunder_way < exec->window &&
           exec->nbegun < exec->plan->nsteps) {
        exec->nunder_way++;
        push(exec, exec->nbegun++);
    }
}

/* What was sent counts until it has left, as far as there is anything. */
static void leave_window(struct nf_exec *exec, const struct nf_plan_step *step)
{
    if (exec->window == 0)
        return;
    if (step->sends && nf_mesh_backlog_bytes(exec->mesh, step->peer) > 0) {
        exec->posted[exec->nposted++] = step->peer;
        return;
    }
    exec->nunder_way--;
    open_window(exec);
}

/* What was sent to whom may have left by now. */
static void move_window(struct nf_exec *exec)
{
    for (uint32_t i = exec->nposted; i-- > 0;) {
        if (nf_mesh_backlog_bytes(exec->mesh, exec->posted[i]) > 0)
            continue;
        exec->posted[i] = exec->posted[--exec->nposted];
        exec->nunder_way--;
        exec->moves++;
    }
    open_window(exec);
}

static void finish_step(struct nf_exec *exec, uint32_t self)
{
    const struct nf_plan_step *step = &exec->plan->steps[self];

    /* who is to get nothing need not be there */
    if (step->sends && exec->gone != NULL && exec->gone[step->peer] &&
        !nf_exec_is_void(exec, self))
        exec->lost_peer = step->peer;
    exec->states[self] = NF_EXEC_DONE;
    exec->ndone++;
    exec->moves++;
    for (uint32_t i = 0; i < step->nnext; i++) {
        uint32_t next = exec->plan->next[step->first_next + i];

        if (--exec->waits[next] == 0)
            push(exec, next);
    }
    leave_window(exec, step);
}

static enum nf_status run_sends(struct nf_exec *exec)
{
    while (exec->nready_sends > 0) {
        uint32_t self = exec->sends[0];
        enum nf_status status;

        sends_pop(exec->sends, exec->nready_sends--);
        status = nf_exec_send_step(exec, self);
        if (status != NF_OK)
            return status;
        finish_step(exec, self);
    }
    return NF_OK;
}

/* --------------------------------------------------------------- receiving */

static void set_value(struct nf_exec_item *item, const uint8_t *value,
                      struct nf_blob *owner)
{
    item->value = value;
    item->owner = owner;
    item->lent = false;
}

/* Values are in the message.  Whatever can be sent on goes before they are
 * copied home: the next rank waits for it. */
static enum nf_status receive_copy(struct nf_exec *exec, uint32_t self)
{
    struct nf_blob *blob = exec->arrived[self];
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    const uint8_t *from = blob->data;
    bool landed = nf_blob_is_borrowed(blob); /* it is where it is to be */
    bool lent = false;
    enum nf_status status;
    uint32_t i;

    while (nf_exec_walk_next(&walk, &i)) {
        set_value(nf_exec_book(exec, i), from, landed ? NULL : blob);
        from += nf_exec_item_bytes(exec, i);
    }
    finish_step(exec, self);
    status = run_sends(exec);
    if (status != NF_OK || !nf_exec_may_go_home(exec, self) ||
        exec->plan->steps[self].keep)
        return status;
    walk = nf_exec_walk(exec, self);
    while (nf_exec_walk_next(&walk, &i)) {
        struct nf_exec_item *item = nf_exec_book(exec, i);

        if (item->value != nf_exec_home_of(exec, i))
            memcpy(nf_exec_home_of(exec, i), item->value,
                   nf_exec_item_bytes(exec, i));
        lent = lent || item->lent;
        set_value(item, nf_exec_home_of(exec, i), NULL);
    }
    if (!lent) {
        nf_blob_unref(blob);
        exec->arrived[self] = NULL;
    }
    return NF_OK;
}

/* exscan: what comes in are the sums of lower ranks. */
static enum nf_status receive_before(struct nf_exec *exec, uint32_t i,
                                     const uint8_t *in)
{
    struct nf_exec_item *item = nf_exec_book(exec, i);
    uint64_t first, count;
    uint8_t *before;

    nf_exec_item_place(exec, i, &first, &count);
    before = (uint8_t *)exec->call.before + first * exec->elem_bytes;
    if (item->has_before)
        return nf_combine(exec->call.codes, exec->call.type, exec->call.op,
                          before, in, before, (size_t)count);
    memcpy(before, in, (size_t)count * exec->elem_bytes);
    item->has_before = true;
    return NF_OK;
}

static enum nf_status combine_item(const struct nf_exec *exec, uint32_t i,
                                   enum nf_coll_action action, uint8_t *out,
                                   const uint8_t *in)
{
    const uint8_t *mine = nf_exec_book(exec, i)->value;
    bool left = action == NF_COLL_LEFT;

    return nf_combine(exec->call.codes, exec->call.type, exec->call.op, out,
                      left ? in : mine, left ? mine : in,
                      nf_exec_item_bytes(exec, i) / exec->elem_bytes);
}

/* A message to combine into: the incoming one if nobody else looks at it. */
static struct nf_blob *out_blob(struct nf_exec *exec, uint32_t self)
{
    struct nf_blob *in = exec->arrived[self], *out;

    if (!exec->plan->steps[self].keep && !nf_blob_is_borrowed(in) &&
        atomic_load_explicit(&in->refs, memory_order_acquire) == 1)
        return in;
    out = nf_blob_create(in->bytes, exec->wire);
    if (out != NULL)
        exec->held[exec->nheld++] = out;
    return out;
}

static enum nf_status receive_combine(struct nf_exec *exec, uint32_t self)
{
    const struct nf_plan_step *step = &exec->plan->steps[self];
    struct nf_blob *in = exec->arrived[self], *owner = NULL;
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    const uint8_t *from = in->data;
    bool home = nf_exec_may_go_home(exec, self);
    enum nf_status status = NF_OK;
    uint32_t i;

    if (!home) {
        owner = out_blob(exec, self);
        if (owner == NULL)
            return NF_ERR_NOMEM;
    }
    while (nf_exec_walk_next(&walk, &i)) {
        size_t offset = (size_t)(from - (const uint8_t *)in->data);
        uint8_t *out =
            home ? nf_exec_home_of(exec, i) : (uint8_t *)owner->data + offset;

        if (exec->call.before != NULL)
            status = receive_before(exec, i, from);
        /* the last rank of an exscan hands nothing on */
        if (status == NF_OK && (exec->call.before == NULL || step->nnext > 0))
            status = combine_item(exec, i, step->action, out, from);
        if (status != NF_OK)
            return status;
        set_value(nf_exec_book(exec, i), out, owner);
        from += nf_exec_item_bytes(exec, i);
    }
    if (owner != in && !step->keep) {
        nf_blob_unref(in);
        exec->arrived[self] = NULL;
    }
    finish_step(exec, self);
    return NF_OK;
}

static void keep_car(struct nf_exec *exec, uint32_t self)
{
    struct nf_blob *blob = exec->arrived[self];
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    const uint8_t *from = blob->data;
    uint32_t i;

    while (nf_exec_walk_next(&walk, &i)) {
        nf_exec_book(exec, i)->car = from;
        nf_exec_book(exec, i)->car_owner = blob;
        from += nf_exec_item_bytes(exec, i);
    }
}

static enum nf_status run_receive(struct nf_exec *exec, uint32_t self)
{
    const struct nf_plan_step *step = &exec->plan->steps[self];

    if (exec->arrived[self] == NULL || exec->plan->items == 0) {
        finish_step(exec, self);
        return NF_OK;
    }
    if (exec->call.layout.pairs) {
        nf_exec_keep_pairs(exec, self);
        finish_step(exec, self);
        return NF_OK;
    }
    if (step->keep)
        keep_car(exec, self);
    if (step->action == NF_COLL_COPY)
        return receive_copy(exec, self);
    return receive_combine(exec, self);
}

/* ------------------------------------------------------------------ public */

static void set_up_chains(struct nf_exec *exec)
{
    uint32_t ranks = exec->plan->args.ranks, rank = exec->plan->rank;

    for (uint32_t to = 0; to < ranks; to++) {
        struct nf_exec_item *item = nf_exec_book(exec, rank * ranks + to);

        item->owner = nf_blob_ref(exec->call.chains[to]);
        item->value = item->owner != NULL ? item->owner->data : NULL;
        item->came = NF_PLAN_NONE;
    }
}

static void set_up_items(struct nf_exec *exec)
{
    const struct nf_exec_call *call = &exec->call;
    const uint8_t *src = call->src;
    uint32_t i = 0, end = exec->plan->items;

    if (call->chains != NULL)
        set_up_chains(exec);
    if (src == NULL)
        return;
    if (call->layout.pairs) { /* only those from here */
        i = exec->plan->rank * exec->plan->args.ranks;
        end = i + exec->plan->args.ranks;
    }
    for (; i < end; i++) {
        uint64_t first, count;

        if (call->src_own && i != exec->plan->rank)
            continue;
        nf_exec_item_place(exec, i, &first, &count);
        nf_exec_book(exec, i)->value =
            src + (call->src_own ? 0 : first * exec->elem_bytes);
    }
}

/* All-to-all has 2 P or P^2 of them: plan.h and nowfarm_group.h tell how much that
 * takes. */
_Static_assert(sizeof(void *) > 8 || sizeof(struct nf_exec_item) <= 40,
               "items take more memory than is told");

/* One block for all arrays: pointers first, then numbers, then bytes. */
static bool reserve(struct nf_exec *exec)
{
    size_t n = exec->plan->nsteps;
    bool lists = exec->call.layout.varies && exec->plan->lists;
    size_t nsizes = lists ? exec->plan->items : 0;
    size_t nresting = exec->call.layout.pairs ? n : 0;
    size_t bytes = exec->plan->nbooks * sizeof(*exec->items) +
                   (nsizes + 2 * nresting) * sizeof(uint64_t) +
                   3 * n * sizeof(void *) + 3 * n * sizeof(uint32_t) + 2 * n +
                   exec->plan->args.ranks;
    uint8_t *block = nf_calloc(1, bytes);

    if (block == NULL)
        return false;
    exec->items = (struct nf_exec_item *)(void *)block;
    exec->sizes = (uint64_t *)(void *)(exec->items + exec->plan->nbooks);
    exec->resting = exec->sizes + nsizes;
    exec->kept = exec->resting + nresting;
    exec->arrived = (struct nf_blob **)(void *)(exec->kept + nresting);
    if (!lists)
        exec->sizes = NULL;
    exec->held = exec->arrived + n;
    exec->waits = (uint32_t *)(void *)(exec->held + 2 * n);
    exec->queue = exec->waits + n;
    exec->sends = exec->queue + n;
    exec->states = (uint8_t *)(exec->sends + n);
    exec->listed = exec->states + n;
    exec->told = exec->listed + n;
    return true;
}

enum nf_status nf_exec_init(struct nf_exec *exec, const struct nf_plan *plan,
                            const struct nf_exec_call *call,
                            const struct nf_head *head, struct nf_mesh *mesh)
{
    *exec = (struct nf_exec){
        .plan = plan,
        .call = *call,
        .head = *head,
        .mesh = mesh,
        .elem_bytes = nf_elem_bytes(call->codes, call->type),
        .wire = nf_elem_wire(call->codes, call->type),
        .packing = nf_elem_packing(call->codes, call->type),
        .lost_peer = NF_PLAN_NONE,
        .clash = NF_PLAN_NONE,
        .moves = 1,
    };
    if (!reserve(exec))
        return NF_ERR_NOMEM;
    exec->head.digest = nf_head_digest(head);
    nf_exec_set_up_sizes(exec);
    set_up_items(exec);
    if (plan->rank == plan->args.root)
        exec->window = plan->algorithm->window;
    for (uint32_t i = 0; i < plan->nsteps; i++) {
        exec->waits[i] = plan->steps[i].waits;
        if (exec->waits[i] == 0 && exec->window == 0)
            push(exec, i);
    }
    open_window(exec);
    return NF_OK;
}

static bool is_held_only(struct nf_blob *blob)
{
    return atomic_load_explicit(&blob->refs, memory_order_acquire) == 1;
}

/* Bytes that were only lent are taken back, or become the message's own.  A mesh that
 * was closed meanwhile has no references any more. */
static bool own(struct nf_mesh *mesh, struct nf_blob *blob)
{
    void *copy;

    if (!nf_blob_is_borrowed(blob) || is_held_only(blob))
        return true;
    nf_mesh_take_back(mesh, blob);
    if (is_held_only(blob))
        return true;
    copy = nf_malloc(blob->bytes);
    if (copy == NULL)
        return false;
    memcpy(copy, blob->data, blob->bytes);
    blob->data = copy;
    blob->release = nf_free;
    return true;
}

bool nf_exec_fini(struct nf_exec *exec)
{
    bool safe = true;

    if (exec->items == NULL)
        return true;
    for (uint32_t i = 0; i < exec->nheld && !exec->done; i++)
        safe = own(exec->mesh, exec->held[i]) && safe;
    for (uint32_t i = 0; exec->call.layout.pairs && i < exec->plan->nbooks; i++)
        nf_blob_unref(exec->items[i].owner);
    /* lent bytes may lie in other messages: only now may those go */
    for (uint32_t i = 0; i < exec->nheld; i++)
        nf_blob_unref(exec->held[i]);
    for (uint32_t i = 0; i < exec->plan->nsteps; i++)
        if (exec->plan->items > 0)
            nf_blob_unref(exec->arrived[i]);
    nf_free(exec->items);
    exec->items = NULL;
    return safe;
}

/* Has everything that was sent left?  Nobody would push it after the call. */
static bool is_drained(struct nf_exec *exec)
{
    const struct nf_plan *plan = exec->plan;

    while (exec->ndrained < plan->ntargets &&
           nf_mesh_backlog_bytes(exec->mesh, plan->targets[exec->ndrained]) ==
               0) {
        exec->ndrained++;
        exec->moves++;
    }
    return exec->ndrained == plan->ntargets;
}

static void bring_home(struct nf_exec *exec)
{
    bool pairs = exec->call.layout.pairs; /* only those for this one */
    uint32_t step = pairs ? exec->plan->args.ranks : 1;

    for (uint32_t i = pairs ? exec->plan->rank : 0; i < exec->plan->items;
         i += step) {
        struct nf_exec_item *item = nf_exec_book(exec, i);
        uint8_t *home = nf_exec_home_of(exec, i);

        if (home == NULL || item->value == NULL || item->value == home)
            continue;
        memmove(home, item->value, nf_exec_item_bytes(exec, i));
        set_value(item, home, NULL);
    }
}

/* Hand blocks out with what they are in. */
static void give_blocks(struct nf_exec *exec)
{
    uint32_t ranks = exec->plan->args.ranks, rank = exec->plan->rank;

    for (uint32_t from = 0; from < ranks; from++) {
        struct nf_exec_item *item = nf_exec_book(exec, from * ranks + rank);

        exec->call.blocks[from] = (struct nf_exec_block){
            item->owner, item->owner != NULL ? item->value : NULL
        };
        item->owner = NULL;
        item->value = NULL;
    }
}

bool nf_exec_is_ready(const struct nf_exec *exec)
{
    return exec->queue_head < exec->queue_tail;
}

enum nf_status nf_exec_run(struct nf_exec *exec)
{
    bool slow = exec->call.op >= NF_OPERATOR_USER;
    enum nf_status status;

    move_window(exec);
    status = run_sends(exec);
    while (status == NF_OK && nf_exec_is_ready(exec)) {
        status = run_receive(exec, exec->queue[exec->queue_head++]);
        if (status == NF_OK)
            status = run_sends(exec);
        if (slow)
            break;
    }
    if (status != NF_OK)
        return status;
    if (exec->ndone < exec->plan->nsteps || !is_drained(exec))
        return NF_WAIT;
    if (exec->call.blocks != NULL)
        give_blocks(exec);
    else
        bring_home(exec);
    exec->done = true;
    return NF_OK;
}

bool nf_exec_settles(const struct nf_exec *exec)
{
    return exec->ndone == exec->plan->nsteps;
}

bool nf_exec_awaits(const struct nf_exec *exec, uint32_t *member_p)
{
    const struct nf_plan *plan = exec->plan;

    for (uint32_t i = 0; i < plan->nsteps; i++)
        if (exec->states[i] == NF_EXEC_READY && exec->arrived[i] == NULL &&
            !plan->steps[i].sends) {
            *member_p = plan->steps[i].peer;
            return true;
        }
    for (uint32_t i = 0; i < plan->ntargets; i++)
        if (nf_mesh_backlog_bytes(exec->mesh, plan->targets[i]) > 0) {
            *member_p = plan->targets[i];
            return true;
        }
    return false;
}

/* Is it the turn of a step, as far as there is a window? */
static bool has_begun(const struct nf_exec *exec, uint32_t self)
{
    return exec->window == 0 || self < exec->nbegun;
}

static bool lacks(const struct nf_exec *exec, uint32_t member, bool sends_too)
{
    for (uint32_t i = 0; i < exec->plan->nsteps; i++) {
        const struct nf_plan_step *step = &exec->plan->steps[i];

        if (step->peer != member || exec->states[i] == NF_EXEC_DONE)
            continue;
        if (step->sends ? !sends_too : exec->arrived[i] != NULL)
            continue;
        if (!sends_too && !has_begun(exec, i))
            continue;
        if (!nf_exec_is_void(exec, i))
            return true;
    }
    return false;
}

bool nf_exec_expects(const struct nf_exec *exec, uint32_t member)
{
    return lacks(exec, member, false);
}

bool nf_exec_holds_back(const struct nf_exec *exec, uint32_t member)
{
    for (uint32_t i = exec->nbegun; exec->window > 0 && i < exec->plan->nsteps;
         i++) {
        const struct nf_plan_step *step = &exec->plan->steps[i];

        if (step->peer == member && !step->sends)
            return exec->arrived[i] == NULL &&
                   nf_exec_step_bytes(exec, step) > NF_COLL_HELD_BYTES;
    }
    return false;
}

bool nf_exec_needs(const struct nf_exec *exec, uint32_t member)
{
    return lacks(exec, member, true);
}
