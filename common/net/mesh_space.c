/* What arrives in the contexts of meshes, and which mesh it is for. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/net/mesh_pvm.h"

static struct mesh_space *spaces;

/* The most of a member that waits for a mesh: more it has no credit for. */
enum { EARLY_BYTES = NF_LINK_WINDOW_MAX_BYTES + NF_LINK_URGENT_BYTES };

bool nf_mesh_pvm_is_used(void)
{
    return spaces != NULL;
}

bool nf_mesh_pvm_is_pending(void)
{
    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *p = s->meshes; p != NULL; p = p->next)
            if (p->urgent.head != NULL || p->normal.head != NULL)
                return true;
    return false;
}

bool nf_mesh_pvm_is_last(const struct mesh_pvm *p)
{
    return spaces == p->space && spaces->next == NULL && spaces->meshes == p &&
           p->next == NULL;
}

static uint32_t number_of(const struct mesh_pvm *p, int tid)
{
    for (uint32_t i = 0; i < p->base.ranks; i++)
        if (p->members[i].tid == tid && i != p->base.rank)
            return i;
    return UINT32_MAX;
}

static bool is_closed(const struct mesh_space *space, uint64_t cookie)
{
    for (size_t i = 0; i < space->nclosed; i++)
        if (space->closed[i] == cookie)
            return true;
    return false;
}

/* -------------------------------------------------------- early frames */

static size_t early_bytes(const struct nf_frame *f)
{
    return (size_t)f->body_bytes + f->payload_bytes + NF_FRAME_HEADER_BYTES +
           NF_LINK_FRAME_COST_BYTES;
}

/* A member may have made its subset, and sent, before we make ours. */
static void keep_early(struct mesh_space *space, const struct nf_pvm_message *m)
{
    struct mesh_early **end = &space->early, *early;
    struct nf_link_in in = { .frame = m->frame };
    size_t held_bytes = early_bytes(&m->frame);

    for (; *end != NULL; end = &(*end)->next)
        if ((*end)->tid == m->tid)
            held_bytes += early_bytes(&(*end)->frame);
    if (held_bytes > EARLY_BYTES)
        return; /* it keeps to no rules */
    early = nf_malloc(sizeof(*early) + m->frame.body_bytes +
                      m->frame.payload_bytes);
    if (early == NULL) {
        space->lost = true;
        return;
    }
    early->next = NULL;
    early->tid = m->tid;
    early->frame = m->frame;
    in.body = early->bytes;
    in.payload = early->bytes + m->frame.body_bytes;
    if (nf_pvm_take(&in) != NF_OK) {
        nf_free(early);
        return;
    }
    *end = early;
}

static void take_early(struct mesh_space *space, struct mesh_pvm *p)
{
    struct mesh_early **at = &space->early;

    while (*at != NULL) {
        struct mesh_early *early = *at;
        uint32_t member = number_of(p, early->tid);

        if (early->frame.cookie != p->cookie) {
            at = &early->next;
            continue;
        }
        *at = early->next;
        if (member != UINT32_MAX)
            nf_mesh_pvm_take(p, member, &early->frame, early->bytes);
        nf_free(early);
    }
}

/* ------------------------------------------------------------ messages */

static void take_frame(struct mesh_space *space, const struct nf_pvm_message *m)
{
    bool known = false;

    for (struct mesh_pvm *p = space->meshes; p != NULL; p = p->next) {
        uint32_t member = number_of(p, m->tid);

        known = known || member != UINT32_MAX;
        if (p->cookie != m->frame.cookie)
            continue;
        if (member != UINT32_MAX && space->sending) {
            space->kept = true;
            break;
        }
        if (member != UINT32_MAX)
            nf_mesh_pvm_take(p, member, &m->frame, NULL);
        return;
    }
    if (known && !is_closed(space, m->frame.cookie))
        keep_early(space, m);
}

void nf_mesh_space_catch_up(struct mesh_space *space)
{
    if (!space->kept)
        return;
    space->kept = false;
    for (struct mesh_pvm *p = space->meshes; p != NULL; p = p->next) {
        take_early(space, p);
        if (space->lost)
            p->failed = NF_ERR_NOMEM;
    }
}

static void take_end(struct mesh_space *space, const struct nf_pvm_message *m)
{
    for (struct mesh_pvm *p = space->meshes; p != NULL; p = p->next)
        for (uint32_t i = 0; i < p->base.ranks; i++)
            if (m->kind == NF_PVM_EXIT
                    ? p->members[i].tid == m->tid
                    : nf_pvm_host_of(p->members[i].tid) == m->tid)
                p->members[i].exited = true;
}

static void on_message(int context, const struct nf_pvm_message *message)
{
    struct mesh_space *space = spaces;

    while (space != NULL &&
           (space->context != context || nf_mesh_space_is_dead(space)))
        space = space->next;
    if (space == NULL)
        return;
    if (message->kind == NF_PVM_FRAME)
        take_frame(space, message);
    else if (message->kind == NF_PVM_EXIT || message->kind == NF_PVM_HOST_LOST)
        take_end(space, message);
}

/* ---------------------------------------------------------------- life */

bool nf_mesh_space_is_dead(const struct mesh_space *space)
{
    return space->tid != nf_pvm_self();
}

struct mesh_space *nf_mesh_space_open(int context)
{
    struct mesh_space *space = spaces;

    while (space != NULL &&
           (space->context != context || nf_mesh_space_is_dead(space)))
        space = space->next;
    if (space != NULL)
        return space;
    space = nf_calloc(1, sizeof(*space));
    if (space == NULL)
        return NULL;
    space->context = context;
    space->tid = nf_pvm_self();
    space->next = spaces;
    spaces = space;
    space->watch = -1;
    return space;
}

enum nf_status nf_mesh_pvm_enter(struct mesh_pvm *p, struct mesh_space *space,
                                 uint64_t cookie)
{
    p->cookie = cookie;
    for (uint32_t i = 0; i < p->base.ranks; i++)
        p->members[i].link.cookie = cookie;
    p->space = space;
    p->next = space->meshes;
    space->meshes = p;
    if (space->watch < 0 &&
        nf_pvm_watch(space->context, on_message, &space->watch) != NF_OK)
        return NF_ERR_NOMEM;
    take_early(space, p);
    return space->lost ? NF_ERR_NOMEM : p->failed;
}

static void remember_closed(struct mesh_space *space, uint64_t cookie)
{
    if (space->nclosed == space->closed_capacity) {
        size_t capacity = 2 * space->closed_capacity + 8;
        uint64_t *closed =
            nf_realloc(space->closed, capacity * sizeof(*closed));

        if (closed == NULL)
            return; /* leftovers are kept as early frames: bounded too */
        space->closed = closed;
        space->closed_capacity = capacity;
    }
    space->closed[space->nclosed++] = cookie;
}

void nf_mesh_space_drop(struct mesh_space *space)
{
    struct mesh_space **at = &spaces;

    while (*at != space)
        at = &(*at)->next;
    *at = space->next;
    if (space->watch >= 0 && !nf_mesh_space_is_dead(space))
        nf_pvm_unwatch(space->watch);
    if (space->owned && !nf_mesh_space_is_dead(space))
        nf_pvm_context_free(space->context);
    while (space->early != NULL) {
        struct mesh_early *early = space->early;

        space->early = early->next;
        nf_free(early);
    }
    nf_free(space->closed);
    nf_free(space);
}

void nf_mesh_space_leave(struct mesh_pvm *p)
{
    struct mesh_pvm **at = &p->space->meshes;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    remember_closed(p->space, p->cookie);
    if (p->space->meshes == NULL)
        nf_mesh_space_drop(p->space);
    p->space = NULL;
}
