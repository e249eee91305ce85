/* What arrives in the contexts of meshes, and which mesh it is for. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/net/mesh_pvm.h"
#include "common/net/pvm_route.h"

static struct mesh_space *spaces;

enum {
    /* The most of a member that waits for one mesh: more it has no credit for.
     * Its goodbye goes without. */
    EARLY_MOST_BYTES =
        NF_LINK_WINDOW_MAX_BYTES + NF_LINK_URGENT_BYTES + 16 * 1024,
    /* And for all meshes that there may ever be, so that a member that keeps to
     * no rules does not take the memory. */
    EARLY_ALL_MOST_BYTES = 64 << 20,
};

bool nf_mesh_pvm_is_used(void)
{
    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *p = s->meshes; p != NULL; p = p->next)
            if (!p->closed)
                return true;
    return false;
}

bool nf_mesh_pvm_is_pending(void)
{
    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *p = s->meshes; p != NULL; p = p->next)
            if (!p->closed && nf_mesh_pvm_has_news(p))
                return true;
    return false;
}

bool nf_mesh_pvm_is_last(const struct mesh_pvm *p)
{
    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *q = s->meshes; q != NULL; q = q->next)
            if (q != p && !q->closed)
                return false;
    return true;
}

static uint32_t number_of(const struct mesh_pvm *p, int tid)
{
    uint32_t member = nf_int_map_get(&p->numbers, tid);

    return member == p->base.rank ? NF_INT_MAP_NONE : member;
}

static bool is_closed(const struct mesh_space *space, uint64_t cookie)
{
    for (size_t i = 0; i < space->nclosed; i++)
        if (space->closed[i] == cookie)
            return true;
    return false;
}

/* -------------------------------------------------------- early frames */

/* A member may have made its mesh, and sent, before we make ours.
 * @param known  it is a member of one that is here */
static void keep_early(struct mesh_space *space, const struct nf_pvm_message *m,
                       bool known)
{
    struct mesh_early **end = &space->early, *early;
    struct nf_link_in in = { .frame = m->frame };
    uint64_t one_bytes = nf_frame_cost_bytes(&m->frame), all_bytes = one_bytes;

    for (; *end != NULL; end = &(*end)->next) {
        uint64_t bytes = nf_frame_cost_bytes(&(*end)->frame);

        if ((*end)->tid != m->tid)
            continue;
        all_bytes += bytes;
        one_bytes += (*end)->frame.cookie == m->frame.cookie ? bytes : 0;
    }
    if (one_bytes > EARLY_MOST_BYTES)
        return; /* it keeps to no rules */
    if (all_bytes > EARLY_ALL_MOST_BYTES) {
        if (known)
            space->lost = true; /* it may keep to them all the same */
        return;
    }
    early = nf_malloc(sizeof(*early) + m->frame.body_bytes +
                      m->frame.payload_bytes);
    if (early == NULL) {
        space->lost = true;
        return;
    }
    early->next = NULL;
    early->tid = m->tid;
    early->by_duct = m->bytes != NULL;
    early->frame = m->frame;
    in.body = early->bytes;
    in.payload = early->bytes + m->frame.body_bytes;
    if (m->bytes != NULL) {
        memcpy(early->bytes, m->bytes,
               m->frame.body_bytes + m->frame.payload_bytes);
    } else if (nf_pvm_take(&in) != NF_OK) {
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
            nf_mesh_pvm_take(p, member, &early->frame, early->bytes,
                             early->by_duct);
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
            nf_mesh_pvm_take(p, member, &m->frame, m->bytes, m->bytes != NULL);
        return;
    }
    if ((known || space->stays) && !is_closed(space, m->frame.cookie))
        keep_early(space, m, known);
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
    for (struct mesh_pvm *p = space->meshes; p != NULL; p = p->next) {
        uint32_t member = number_of(p, m->tid);

        if (m->kind == NF_PVM_EXIT && member != UINT32_MAX)
            nf_mesh_pvm_note_end(p, member);
        for (uint32_t i = 0; i < p->base.ranks && m->kind != NF_PVM_EXIT; i++)
            if (i != p->base.rank &&
                nf_pvm_host_of(p->members[i].tid) == m->tid)
                nf_mesh_pvm_note_end(p, i);
    }
    /* that was the only word of it: a mesh that comes later asks again, which
     * is answered at once */
    nf_mesh_watch_took(space, m->tid);
}

/* That is one context for all spaces. */
static void take_route_end(int tid)
{
    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *p = s->meshes; p != NULL; p = p->next) {
            uint32_t member = number_of(p, tid);

            if (member != UINT32_MAX && !nf_mesh_space_is_dead(s) &&
                !p->members[member].duct)
                nf_mesh_pvm_note_silence(p, member);
        }
}

void nf_mesh_space_cut(int tid)
{
    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *p = s->meshes; p != NULL; p = p->next) {
            uint32_t member = number_of(p, tid);

            if (member == UINT32_MAX || nf_mesh_space_is_dead(s) ||
                !p->members[member].duct)
                continue;
            p->members[member].cut = true;
            if (p->members[member].exited)
                nf_mesh_pvm_note_silence(p, member);
            else if (!p->closed && !p->base.partial)
                nf_mesh_pvm_leave(p, member); /* PVM's word may come later */
        }
}

void nf_mesh_space_hear(int context, const struct nf_pvm_message *message)
{
    struct mesh_space *space = spaces;

    if (message->kind == NF_PVM_ROUTE_ENDED &&
        context == NF_PVM_ROUTES_CONTEXT) {
        nf_route_closed(message->tid);
        take_route_end(message->tid);
    }
    if (message->kind == NF_PVM_ROUTE_OPENED &&
        context == NF_PVM_ROUTES_CONTEXT)
        nf_route_opened(message->tid);
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

/* -------------------------------------------------------------- routes */

/* Called from within libpvm.  @param route  as nf_mesh_route() */
static void on_room(int route)
{
    int tid = route < 0 ? -route : route;

    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *p = s->meshes; p != NULL; p = p->next) {
            uint32_t member = number_of(p, tid);

            if (member == UINT32_MAX || p->closed ||
                nf_mesh_route(&p->members[member]) != route ||
                (p->members[member].link.queued_bytes == 0 &&
                 !nf_mesh_watch_owes(p, member) &&
                 !nf_mesh_loan_owes(p, member)))
                continue;
            nf_mesh_pvm_touch(p, member);
            nf_mesh_pvm_wake(p);
        }
}

/* By any link: what it says holds for all of them. */
static void confirm_routes_of(struct mesh_pvm *p)
{
    struct nf_pvm_guard guard;
    struct nf_link_out out;

    for (uint32_t i = 0; i < p->base.ranks; i++) {
        struct mesh_member *m = &p->members[i];

        if (!m->met || m->left || m->exited || !nf_route_owes(nf_mesh_route(m)))
            continue;
        nf_pvm_enter(p->space->context, false, &guard);
        nf_link_confirm(&m->link, &out);
        nf_mesh_pvm_transmit(p, i, &out);
        nf_pvm_return(&guard);
    }
}

/* How much may be on the way is one number for all meshes, so what was read for
 * one that nobody looks at now is confirmed too. */
static void confirm_routes(void)
{
    nf_route_all_told();
    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *p = s->meshes; p != NULL; p = p->next)
            if (!p->closed && !nf_mesh_space_is_dead(s))
                confirm_routes_of(p);
}

/* ---------------------------------------------------------------- life */

/* Before we asked to be told of any. */
static bool some_are_older;

void nf_mesh_look_for_route(int tid)
{
    if (some_are_older && nf_route_presume(tid))
        nf_pvm_notify_route_end(tid);
}

bool nf_mesh_finds_route(int tid)
{
    if (nf_route_is_to_watch(tid))
        nf_pvm_notify_route_end(tid);
    return nf_route_is_direct(tid);
}

/* Until this task leaves PVM. */
static void watch_routes(void)
{
    static int watched_by = -1;
    int watch;

    if (watched_by == nf_pvm_self() ||
        nf_pvm_watch(NF_PVM_ROUTES_CONTEXT, nf_mesh_space_hear, &watch) !=
            NF_OK)
        return;
    watched_by = nf_pvm_self();
    some_are_older = nf_pvm_notify_routes();
}

bool nf_mesh_space_is_dead(const struct mesh_space *space)
{
    return space->tid != nf_pvm_self();
}

/* Those that stay. */
static size_t nstaying;

void nf_mesh_space_keep(struct mesh_space *space)
{
    nstaying += !space->stays;
    space->stays = true;
}

struct mesh_space *nf_mesh_space_open(int context)
{
    struct mesh_space *space = spaces;

    while (space != NULL &&
           (space->context != context || nf_mesh_space_is_dead(space)))
        space = space->next;
    if (space != NULL)
        return space;
    nf_mesh_pvm_tend();
    nf_route_on_room(on_room);
    watch_routes();
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
                                 uint64_t cookie, struct nf_error *err)
{
    enum nf_status status = NF_OK;

    p->cookie = cookie;
    for (uint32_t i = 0; i < p->base.ranks; i++)
        p->members[i].link.cookie = cookie;
    p->space = space;
    p->next = space->meshes;
    space->meshes = p;
    if (space->watch < 0)
        status =
            nf_pvm_watch(space->context, nf_mesh_space_hear, &space->watch);
    if (status == NF_ERR_INVAL)
        return nf_fail(err, status,
                       "the program has a message handler for all contexts "
                       "(pvm_addmhf), which takes the messages of groups");
    take_early(space, p);
    if (status == NF_OK)
        status = space->lost ? NF_ERR_NOMEM : p->failed;
    return status == NF_OK ? NF_OK : nf_fail(err, status, "out of memory");
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

    if (!nf_mesh_space_is_dead(space))
        nf_mesh_watch_take_back(space);
    nstaying -= space->stays;
    while (*at != space)
        at = &(*at)->next;
    *at = space->next;
    if (space->watch >= 0 && !nf_mesh_space_is_dead(space))
        nf_pvm_unwatch(space->watch, space->once ? space->context : -1);
    if (space->owned && !nf_mesh_space_is_dead(space))
        nf_pvm_context_free(space->context);
    while (space->early != NULL) {
        struct mesh_early *early = space->early;

        space->early = early->next;
        nf_free(early);
    }
    nf_int_map_fini(&space->watched);
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
    while (p->ntouched > 0)
        (void)nf_mesh_pvm_pop_touched(p);
    for (uint32_t i = 0; i < p->base.ranks; i++)
        if (i != p->base.rank)
            nf_route_doubt(nf_mesh_route(&p->members[i]));
    if (p->space->meshes == NULL &&
        (!p->space->stays || nf_mesh_space_is_dead(p->space)))
        nf_mesh_space_drop(p->space);
    p->space = NULL;
}

/* ------------------------------------------- closed, and not all know it */

static bool is_known_to_all(const struct mesh_pvm *p)
{
    for (uint32_t i = p->base.rank + 1; i < p->base.ranks; i++)
        if (!p->members[i].heard && !p->members[i].exited)
            return false;
    return true;
}

static void answer_late(struct mesh_pvm *p)
{
    struct nf_pvm_guard guard;
    struct nf_link_out out;

    nf_pvm_enter(p->space->context, false, &guard);
    while (p->ntouched > 0) {
        uint32_t member = nf_mesh_pvm_pop_touched(p);
        struct mesh_member *m = &p->members[member];

        if (m->exited || !nf_route_takes_goodbye(nf_mesh_route(m), &m->link))
            continue;
        nf_link_signal(&m->link, KIND_BYE, &out);
        nf_mesh_pvm_transmit(p, member, &out);
    }
    nf_pvm_return(&guard);
}

/* @return whether any was freed */
static bool tend_one(struct mesh_space *space)
{
    for (struct mesh_pvm *p = space->meshes; p != NULL; p = p->next) {
        bool dead = nf_mesh_space_is_dead(space);

        if (!p->closed || (p->ntouched == 0 && !dead))
            continue;
        if (!dead)
            answer_late(p);
        if (!dead && !is_known_to_all(p))
            continue;
        nf_mesh_space_leave(p);
        nf_mesh_pvm_free(p);
        return true;
    }
    return false;
}

static size_t nlate;

bool nf_mesh_pvm_waits_for_late(struct mesh_pvm *p)
{
    if (nf_mesh_space_is_dead(p->space) || is_known_to_all(p))
        return false;
    p->closed = true;
    (void)nf_mesh_watch_ask(p); /* without memory it stays for longer */
    nlate++;
    return true;
}

static void watch_all(void)
{
    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *p = s->meshes; p != NULL; p = p->next)
            nf_mesh_watch_see(p);
}

static void serve_all(void)
{
    for (struct mesh_space *s = spaces; s != NULL; s = s->next)
        for (struct mesh_pvm *p = s->meshes; p != NULL; p = p->next)
            if (nf_mesh_space_is_dead(s))
                while (p->ntouched > 0) /* there is nobody to send to */
                    (void)nf_mesh_pvm_pop_touched(p);
            else if (!p->closed)
                nf_mesh_pvm_serve(p);
}

/* Spaces without a mesh that stay until this task has left PVM: it has. */
static void drop_dead(void)
{
    struct mesh_space *space = nstaying > 0 ? spaces : NULL;

    while (space != NULL)
        if (space->stays && space->meshes == NULL &&
            nf_mesh_space_is_dead(space)) {
            nf_mesh_space_drop(space);
            space = spaces;
        } else {
            space = space->next;
        }
}

void nf_mesh_pvm_tend(void)
{
    struct mesh_space *space = nlate > 0 ? spaces : NULL;

    if (nf_mesh_watch_is_due())
        watch_all();
    if (nf_mesh_pvm_any_touched())
        serve_all();
    nf_mesh_turn_serve();
    while (nf_route_some_owe()) /* sending reads, too */
        confirm_routes();
    while (space != NULL)
        if (tend_one(space)) {
            nlate--;
            space = spaces; /* this one may have gone */
        } else {
            space = space->next;
        }
    drop_dead();
    nf_mesh_duct_tend();
}
