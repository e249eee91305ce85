/* Messages for calls that have not begun here, and how many there may be.
 *
 * A member that waits in a call must take what comes, as what it waits for may
 * be behind it.  So of a member that has run ahead it takes messages until it
 * keeps more than NF_EARLY_BYTES of it and needs nothing of it: then the member
 * is paused, and its own calls wait for credit.  It goes on when it is needed,
 * or when half of what is kept has been used.  The root of a gather also pauses
 * members whose large blocks are not to come yet (the window of exec.h): when
 * it begins the call, and when they have sent all that other calls under way
 * wait for.  As long as such a call waits for a member, that one is let in, as
 * what it waits for may be behind the block.
 *
 * That blocks nobody for ever.  Of members that wait, take one in the earliest
 * call.  If it waits for a message, its sender is not paused by it, and sends
 * it or waits in the same call.  If it waits for credit of another member, that
 * one keeps messages of later calls than its own only, so it is in an earlier
 * call, or in none; or it is the root of a gather that waits for others, whose
 * blocks need nobody else's. */
#include "config.h"
#include "common/group/group.h"
#include "common/base/alloc.h"

static enum nf_status add(struct nf_early_list *list, uint32_t from,
                          const struct nf_head *head, struct nf_blob *payload)
{
    struct nf_early *early = nf_calloc(1, sizeof(*early));

    if (early == NULL) {
        nf_blob_unref(payload);
        return NF_ERR_NOMEM;
    }
    early->from = from;
    early->head = *head;
    early->payload = payload;
    if (list->first == NULL)
        list->first = early;
    else
        list->last->next = early;
    list->last = early;
    return NF_OK;
}

static void clear(struct nf_early_list *list)
{
    while (list->first != NULL) {
        struct nf_early *early = list->first;

        list->first = early->next;
        nf_blob_unref(early->payload);
        nf_free(early);
    }
}

static size_t cost_of(const struct nf_blob *payload)
{
    return sizeof(struct nf_early) +
           (payload != NULL ? sizeof(*payload) + payload->bytes : 0);
}

/* Does a call under way wait for a message of this member? */
static bool expects(const struct nf_group *group, uint32_t member)
{
    for (const struct nf_request *r = group->requests; r != NULL; r = r->next)
        if (nf_exec_expects(&r->exec, member))
            return true;
    return false;
}

/* Is its block to wait, and nothing else wanted of it? */
static bool is_held_back(const struct nf_group *group, uint32_t member)
{
    bool held = false;

    for (const struct nf_request *r = group->requests; r != NULL; r = r->next)
        held = held || nf_exec_holds_back(&r->exec, member);
    return held && !expects(group, member);
}

static void set_paused(struct nf_group *group, uint32_t member, bool paused)
{
    if (group->paused[member] == paused)
        return;
    group->paused[member] = paused;
    group->npaused += paused ? 1 : UINT32_MAX;
    if (group->mesh != NULL)
        nf_mesh_pause(group->mesh, member, paused);
}

enum nf_status nf_group_keep(struct nf_group *group, uint32_t from,
                             const struct nf_head *head,
                             struct nf_blob *payload)
{
    size_t bytes = cost_of(payload);
    enum nf_status status =
        add(&group->early[head->epoch % NF_EARLY_LISTS], from, head, payload);

    if (status != NF_OK)
        return status;
    group->early_bytes[from] += bytes;
    if (group->early_bytes[from] > group->early_most_bytes &&
        !expects(group, from))
        set_paused(group, from, true);
    return NF_OK;
}

struct nf_early *nf_group_find_early(struct nf_group *group, uint32_t epoch)
{
    struct nf_early_list *list = &group->early[epoch % NF_EARLY_LISTS];
    struct nf_early **at = &list->first, *last = NULL, *early;

    while (*at != NULL && (*at)->head.epoch != epoch) {
        last = *at;
        at = &last->next;
    }
    early = *at;
    if (early == NULL)
        return NULL;
    *at = early->next;
    if (early->next == NULL)
        list->last = last;
    group->early_bytes[early->from] -= cost_of(early->payload);
    return early;
}

/* Let a paused one in again, if nothing is against it. */
static void let_in(struct nf_group *group, uint32_t member)
{
    if (group->paused[member] &&
        (expects(group, member) ||
         (group->early_bytes[member] <= group->early_most_bytes / 2 &&
          !is_held_back(group, member))))
        set_paused(group, member, false);
}

void nf_group_resume(struct nf_group *group)
{
    for (uint32_t i = 0; i < group->ranks && group->npaused > 0; i++)
        let_in(group, i);
}

void nf_group_hold_back(struct nf_group *group, struct nf_request *request)
{
    request->nlet_in = request->exec.nbegun;
    if (request->exec.nbegun == request->plan->nsteps ||
        request->exec.window == 0)
        return;
    for (uint32_t i = 0; i < group->ranks; i++)
        if (is_held_back(group, i))
            set_paused(group, i, true);
}

void nf_group_hold_next(struct nf_group *group, uint32_t member)
{
    if (is_held_back(group, member))
        set_paused(group, member, true);
}

void nf_group_let_in(struct nf_group *group, struct nf_request *request)
{
    for (; request->nlet_in < request->exec.nbegun; request->nlet_in++)
        let_in(group, request->plan->steps[request->nlet_in].peer);
}

void nf_group_forget_early(struct nf_group *group)
{
    for (uint32_t i = 0; i < NF_EARLY_LISTS; i++)
        clear(&group->early[i]);
    for (uint32_t i = 0; i < group->ranks; i++) {
        group->early_bytes[i] = 0;
        set_paused(group, i, false);
    }
}
