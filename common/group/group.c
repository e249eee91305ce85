/* Calls under way and the messages for them.
 *
 * Calls are numbered by epochs, equal in all members as all make the same calls
 * in the same order.  A message of a call that has not begun here is kept; one
 * of a call that is over can only come from a member that made another one. */
#include "config.h"
#include "common/coll/wish.h"
#include "common/group/group.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

enum {
    /* Reading costs as much as sending, and calls may follow each other
     * closely. */
    LOOK_AGAIN_US = 1000,
    /* Operators of the user may take long: after so much of them in one look
     * the caller gets a turn. */
    OPERATORS_US = 1000,
};

int64_t nf_group_now_us(const struct nf_group *group)
{
    return group->clock.now_us(group->clock.user);
}

/* ------------------------------------------------------------------- plans */

static uint64_t hash_sides(const struct nf_coll_sides *sides, uint64_t hash)
{
    for (uint32_t i = 0; i < sides->count; i++)
        hash =
            (hash ^ hash >> 29 ^ sides->of[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

static uint64_t hash_params(const struct nf_coll_params *params, uint64_t hash)
{
    hash = (hash ^ params->radix) * UINT64_C(0x9e3779b97f4a7c15);
    return hash_sides(&params->shape, hash_sides(&params->radices, hash));
}

static uint32_t plan_slot(const struct nf_coll_choice *choice, uint32_t root)
{
    uint64_t hash = (uint64_t)(uintptr_t)choice->algorithm;

    hash = (hash ^ root) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ choice->segments) * UINT64_C(0x9e3779b97f4a7c15);
    hash = hash_params(&choice->params, hash);
    hash = (hash ^ (uint64_t)(uintptr_t)choice->tree) *
           UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40) % NF_PLANS_KEPT;
}

void nf_group_outdate_plans(struct nf_group *group,
                            const struct nf_coll_tree *tree)
{
    for (uint32_t i = 0; i < NF_PLANS_KEPT; i++) {
        struct nf_plan *plan = group->plans[i];

        if (plan != NULL && plan->args.tree != NULL &&
            (tree == NULL || plan->args.tree == tree))
            plan->outdated = true;
    }
}

static enum nf_status take_plan(struct nf_group *group,
                                struct nf_request *request,
                                const struct nf_coll_choice *choice,
                                uint32_t root)
{
    uint32_t slot = plan_slot(choice, root);
    struct nf_plan *plan = group->plans[slot];
    struct nf_coll_args args = { .ranks = group->ranks,
                                 .root = root,
                                 .segments = choice->segments,
                                 .hosts = group->hosts,
                                 .tree = choice->tree };
    enum nf_status status;

    nf_coll_use_params(&choice->params, &args);
    if (plan == NULL || plan->outdated ||
        plan->algorithm != choice->algorithm || plan->args.root != root ||
        plan->args.segments != choice->segments ||
        plan->args.tree != choice->tree ||
        !nf_coll_same_params(&plan->params, &choice->params)) {
        status = nf_plan_create(choice->algorithm, &args, group->rank, &plan,
                                &group->error);
        if (status != NF_OK)
            return status;
        request->owns_plan = group->plan_users[slot] > 0;
        if (!request->owns_plan) {
            nf_plan_destroy(group->plans[slot]);
            group->plans[slot] = plan;
        }
    }
    request->plan = plan;
    request->plan_slot = slot;
    if (!request->owns_plan)
        group->plan_users[slot]++;
    return NF_OK;
}

/* ---------------------------------------------------------------- requests */

struct nf_request *nf_group_new_request(struct nf_group *group)
{
    struct nf_request *request = group->spare;

    group->spare = NULL;
    if (request == NULL)
        request = nf_malloc(sizeof(*request));
    if (request == NULL)
        return NULL;
    memset(request, 0, sizeof(*request));
    request->group = group;
    request->status = NF_WAIT;
    return request;
}

static void unlink_request(struct nf_request *request)
{
    struct nf_request **at = &request->group->requests;

    while (*at != NULL && *at != request)
        at = &(*at)->next;
    if (*at == request)
        *at = request->next;
}

/* It is over: give back all but the status. */
static void end_request(struct nf_request *request, enum nf_status status)
{
    struct nf_group *group = request->group;

    unlink_request(request);
    group->moves += request->exec.moves;
    request->status = status;
    if (request->plan != NULL && !nf_exec_fini(&request->exec)) {
        nf_mesh_close(group->mesh);
        group->mesh = NULL;
    }
    if (request->owns_plan)
        nf_plan_destroy(request->plan);
    else if (request->plan != NULL)
        group->plan_users[request->plan_slot]--;
    request->plan = NULL;
    nf_free(request->input);
    nf_free(request->offsets);
    nf_free(request->send_offsets);
    request->input = NULL;
    request->offsets = NULL;
    request->send_offsets = NULL;
}

void nf_group_drop_request(struct nf_request *request)
{
    struct nf_group *group = request->group;

    if (request->status == NF_WAIT)
        end_request(request, NF_ERR_INTERRUPTED);
    nf_free(request->input); /* of a call with nothing to do */
    nf_free(request->offsets);
    nf_free(request->send_offsets);
    if (group->spare == NULL)
        group->spare = request;
    else
        nf_free(request);
}

uint32_t nf_group_moves(const struct nf_group *group)
{
    uint32_t moves = group->moves;

    if (group->mesh != NULL)
        moves += (uint32_t)nf_mesh_moved_bytes(group->mesh);
    for (const struct nf_request *r = group->requests; r != NULL; r = r->next)
        moves += r->exec.moves;
    return moves;
}

static bool is_before(uint32_t epoch, uint32_t other)
{
    return (int32_t)(epoch - other) < 0;
}

bool nf_group_is_ahead(const struct nf_group *group, uint32_t epoch)
{
    return !is_before(epoch, group->epoch);
}

bool nf_group_ends(const struct nf_group *group, uint32_t epoch)
{
    return group->revoked && !is_before(epoch, group->end_epoch);
}

uint32_t nf_group_first_epoch(const struct nf_group *group)
{
    return group->requests != NULL ? group->requests->epoch : group->epoch;
}

void nf_group_abandon(struct nf_group *group, uint32_t epoch,
                      enum nf_status status)
{
    for (struct nf_request *r = group->requests, *next; r != NULL; r = next) {
        next = r->next;
        if (!is_before(r->epoch, epoch))
            end_request(r, status);
    }
    if (group->mesh == NULL && group->requests != NULL) { /* out of memory */
        group->end_epoch = group->requests->epoch;
        while (group->requests != NULL)
            end_request(group->requests, NF_ERR_NOMEM);
    }
    if (nf_group_ends(group, nf_group_first_epoch(group)))
        nf_group_forget_early(group);
}

/* ---------------------------------------------------------------- messages */

static enum nf_status fail_text(struct nf_group *group, enum nf_status reason,
                                uint32_t culprit, const struct nf_error *err)
{
    return nf_group_revoke(group, reason, &culprit, 1, err->text);
}

/* A function of the user's type gave up, of this member; nobody is lost. */
static enum nf_status fail_packing(struct nf_group *group,
                                   const struct nf_exec *exec)
{
    char type[NF_CODE_NAME_BYTES];
    struct nf_error err;

    nf_elem_name(exec->call.type, type);
    nf_fail(&err, NF_ERR_FAILED, "member %u, this one: %s() of %s returned %d",
            group->rank, exec->refused, type, exec->refused_code);
    return fail_text(group, NF_ERR_FAILED, group->rank, &err);
}

static bool is_slow(const struct nf_request *request)
{
    return request->exec.call.op >= NF_OPERATOR_USER;
}

static enum nf_status run(struct nf_group *group, struct nf_request *request)
{
    uint32_t received = request->exec.queue_head;
    enum nf_status status = nf_exec_run(&request->exec);
    uint32_t lost = request->exec.lost_peer;

    if (is_slow(request) && request->exec.queue_head != received &&
        nf_group_now_us(group) - group->pumped_us >= OPERATORS_US)
        group->tired = true;
    nf_group_let_in(group, request);
    if (lost != NF_PLAN_NONE && (status == NF_OK || status == NF_WAIT)) {
        struct nf_error err;

        nf_fail(&err, NF_ERR_DEAD, "member %u has ended", lost);
        return fail_text(group, NF_ERR_DEAD, lost, &err);
    }
    if (status == NF_WAIT)
        return NF_OK;
    if (status == NF_ERR_FAILED)
        return fail_packing(group, &request->exec);
    if (status != NF_OK)
        return nf_group_broke(group, status);
    end_request(request, NF_OK);
    group->moved_us = nf_group_now_us(group);
    return NF_OK;
}

/* The two members of a block gave different counts. */
static enum nf_status fail_clash(struct nf_group *group, uint32_t block,
                                 const struct nf_error *err)
{
    const uint32_t culprits[2] = { block / group->ranks, block % group->ranks };

    return nf_group_revoke(group, NF_ERR_MISMATCH, culprits, 2, err->text);
}

static enum nf_status give(struct nf_group *group, struct nf_request *request,
                           uint32_t from, const struct nf_head *head,
                           struct nf_blob *payload)
{
    struct nf_error err;
    enum nf_status status =
        nf_exec_take(&request->exec, from, head, payload, &err);

    if (status == NF_ERR_FAILED)
        return fail_packing(group, &request->exec);
    if (status == NF_ERR_NOMEM)
        return nf_group_broke(group, status);
    if (status == NF_ERR_MISMATCH && request->exec.clash != NF_PLAN_NONE)
        return fail_clash(group, request->exec.clash, &err);
    return status == NF_OK ? NF_OK : fail_text(group, status, from, &err);
}

static enum nf_status saw_other_call(struct nf_group *group, uint32_t from,
                                     uint32_t epoch)
{
    struct nf_error err;

    nf_fail(&err, NF_ERR_MISMATCH,
            "member %u made a different call: call %u is over here", from,
            epoch);
    return fail_text(group, NF_ERR_MISMATCH, from, &err);
}

static enum nf_status take_data(struct nf_group *group, uint32_t from,
                                const struct nf_head *head,
                                struct nf_blob *payload)
{
    struct nf_request *request = group->requests;

    if (nf_group_ends(group, head->epoch)) {
        nf_blob_unref(payload);
        return NF_OK;
    }
    if (nf_group_is_ahead(group, head->epoch)) {
        enum nf_status status = nf_group_keep(group, from, head, payload);

        return status == NF_OK ? NF_OK : nf_group_broke(group, status);
    }
    while (request != NULL && request->epoch != head->epoch)
        request = request->next;
    if (request != NULL) {
        /* then a member's block is all that there is to come of it */
        bool alone = group->requests->next == NULL;
        enum nf_status status = give(group, request, from, head, payload);

        if (status == NF_OK)
            status = run(group, request);
        if (status == NF_OK && !alone)
            nf_group_hold_next(group, from);
        return status;
    }
    nf_blob_unref(payload);
    return saw_other_call(group, from, head->epoch);
}

static enum nf_status take_message(struct nf_group *group,
                                   const struct nf_mesh_event *event)
{
    struct nf_head head;
    struct nf_control control;
    struct nf_error err;
    bool is_control;
    enum nf_status status =
        nf_head_decode(event->message.head, event->message.head_bytes,
                       &is_control, &head, &control);

    if (status == NF_OK && is_control) {
        nf_blob_unref(event->message.payload); /* none is sent */
        return nf_group_saw_control(group, event->member, &control);
    }
    if (status == NF_OK)
        return take_data(group, event->member, &head, event->message.payload);
    nf_blob_unref(event->message.payload);
    nf_fail(&err, status, "member %u sent something that does not decode",
            event->member);
    return fail_text(group, status, event->member, &err);
}

enum nf_status nf_group_pump(struct nf_group *group)
{
    struct nf_mesh_event event;
    enum nf_status status = NF_OK;
    bool was_busy = group->requests != NULL;

    group->pumped_us = nf_group_now_us(group);
    group->tired = false;
    while (status == NF_OK && group->mesh != NULL && !group->tired) {
        /* all calls are done: the rest can wait, and the caller need not */
        if (was_busy && group->requests == NULL)
            return NF_OK;
        status = nf_mesh_next(group->mesh, &event);
        if (status == NF_WAIT)
            return NF_OK;
        if (status != NF_OK) {
            group->broken = status;
            return nf_group_broke(group, status);
        }
        if (event.kind == NF_MESH_LEFT)
            nf_group_saw_left(group, event.member);
        else
            status = take_message(group, &event);
    }
    return status;
}

enum nf_status nf_group_progress(struct nf_group *group)
{
    enum nf_status status;
    uint32_t moves;
    int64_t now_us;

    if (nf_group_ends(group, nf_group_first_epoch(group))) {
        /* what stays in the mesh would keep who sleeps on it awake */
        (void)nf_group_pump(group);
        return NF_ERR_REVOKED;
    }
    status = nf_group_pump(group);
    for (struct nf_request *r = group->requests, *next;
         r != NULL && status == NF_OK; r = next) {
        next = r->next;
        if (!group->tired || !is_slow(r))
            status = run(group, r);
    }
    if (status != NF_OK || group->requests == NULL)
        return status;
    now_us = nf_group_now_us(group);
    moves = nf_group_moves(group);
    if (moves != group->moves_seen)
        nf_group_saw_progress(group, now_us);
    group->moves_seen = moves;
    status = nf_group_watch(group, now_us);
    return status != NF_OK ? status : NF_WAIT;
}

enum nf_status nf_group_look_around(struct nf_group *group, bool starting)
{
    enum nf_status status;

    if (nf_group_now_us(group) - group->pumped_us < LOOK_AGAIN_US)
        return NF_OK;
    /* the mesh may hold its last look to be fresh, and what we send to one that
     * has ended can take away what it said last */
    if (group->mesh != NULL)
        (void)nf_mesh_wait(group->mesh, 0);
    group->starting = starting;
    status = nf_group_progress(group);
    group->starting = false;
    return status;
}

/* ------------------------------------------------------------------- begin */

static enum nf_status take_early(struct nf_group *group,
                                 struct nf_request *request)
{
    struct nf_early *early;
    enum nf_status status = NF_OK;

    while (status == NF_OK &&
           (early = nf_group_find_early(group, request->epoch)) != NULL) {
        status =
            give(group, request, early->from, &early->head, early->payload);
        nf_free(early);
    }
    if (status == NF_OK)
        nf_group_resume(group);
    return status;
}

enum nf_status nf_group_pass(struct nf_group *group)
{
    uint32_t epoch = group->epoch++;
    struct nf_early *early = nf_group_find_early(group, epoch);
    enum nf_status status;

    if (early == NULL)
        return NF_OK;
    status = saw_other_call(group, early->from, epoch);
    nf_blob_unref(early->payload);
    nf_free(early);
    return status;
}

static uint64_t hash_tree(const struct nf_coll_tree *tree, uint64_t hash)
{
    for (uint32_t v = 0; tree != NULL && v < tree->ranks; v++) {
        uint64_t child = v + 1 < tree->ranks ? tree->child[v] : 0;

        hash = (hash ^ hash >> 29 ^ child << 32 ^ tree->first[v]) *
               UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash;
}

/* Counts that differ are noticed even where pieces are of one size. */
static uint16_t digest(const struct nf_group *group,
                       const struct nf_exec_call *call,
                       const struct nf_coll_choice *choice)
{
    const struct nf_exec_layout *layout = &call->layout;
    uint64_t hash = layout->varies ? 0 : layout->elements;

    hash = (hash + choice->segments) * UINT64_C(0x9e3779b97f4a7c15);
    hash = hash_params(&choice->params, hash);
    hash = hash_tree(choice->tree, hash);
    for (uint32_t i = 0; i < group->ranks; i++)
        if (layout->counts != NULL && !layout->varies)
            hash = (hash ^ hash >> 29 ^ layout->counts[i]) *
                   UINT64_C(0x9e3779b97f4a7c15);
    return (uint16_t)(hash >> 48);
}

/* Members that define a type differently are told so.  Sizes below 256 differ.
 */
static uint32_t size_digest(const struct nf_group *group, int type)
{
    uint32_t bytes = (uint32_t)nf_elem_equal_bytes(&group->codes, type);

    if (type < NF_ELEM_USER)
        return 0;
    bytes ^= bytes >> 16;
    return ((bytes ^ bytes >> 8) << 8) & NF_HEAD_SIZE_MASK;
}

static struct nf_head head_of(const struct nf_group *group,
                              const struct nf_exec_call *call,
                              const struct nf_coll_choice *choice,
                              uint32_t root)
{
    uint8_t number = 0;

    while (nf_coll_table[number] != choice->algorithm)
        number++;
    return (struct nf_head){
        .op = (uint8_t)choice->algorithm->op,
        .algorithm = number,
        .flags = digest(group, call, choice),
        .epoch = group->epoch,
        .table = (group->has_rules ? group->rules.id : 0) ^
                 (group->sharing ? 0 : nf_measured_id(group->measured)),
        .root = root,
        .code = (uint32_t)call->type | size_digest(group, call->type) |
                (call->op < 0 ? 0xffff0000u : (uint32_t)call->op << 16),
    };
}

static void tell_algorithm(struct nf_request *request,
                           const struct nf_coll_choice *choice)
{
    const struct nf_coll_params none = { .radix = 0 };
    const struct nf_coll_wish wish = { .algorithm = choice->algorithm,
                                       .params = choice->params };

    request->algorithm = choice->algorithm->name;
    if (nf_coll_same_params(&choice->params, &none))
        return;
    nf_coll_wish_write(&wish, request->told, sizeof(request->told));
    request->algorithm = request->told;
}

enum nf_status nf_group_launch(struct nf_group *group,
                               struct nf_request *request,
                               const struct nf_coll_choice *choice,
                               const struct nf_exec_call *call, uint32_t root)
{
    struct nf_head head = head_of(group, call, choice, root);
    struct nf_request **at = &group->requests;
    enum nf_status status;

    if (group->requests == NULL) {
        nf_group_saw_progress(group, nf_group_now_us(group));
        group->suspected_us = group->moved_us;
    }
    request->epoch = group->epoch++;
    tell_algorithm(request, choice);
    status = take_plan(group, request, choice, root);
    if (status == NF_OK)
        status = nf_exec_init(&request->exec, request->plan, call, &head,
                              group->mesh);
    request->exec.gone = group->left;
    while (*at != NULL)
        at = &(*at)->next;
    *at = request;
    request->next = NULL;
    if (status != NF_OK)
        return nf_group_broke(group, status);
    status = take_early(group, request);
    if (status == NF_OK)
        nf_group_hold_back(group, request);
    return status == NF_OK ? run(group, request) : status;
}

const char *nf_request_algorithm(const struct nf_request *request)
{
    return request->algorithm == NULL ? "" : request->algorithm;
}
