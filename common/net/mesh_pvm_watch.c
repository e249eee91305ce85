/* Word of ends: what a mesh of PVM tasks asks PVM for, and what its members
 * tell each other.  Who does which: mesh_lookout.h. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"
#include "common/net/pvm_route.h"

enum {
    SAID_MOST_BYTES = NF_LINK_URGENT_BODY_BYTES,
    /* Tids in one message to the pvmd that takes back. */
    BATCH = 256,
    /* Members that close their meshes do that at about the same time.  That one has
     * ended may be told so much later, once: who waits for it asks by then, too. */
    SETTLE_US = 500000,
};

/* Meshes in which something is to be done. */
static size_t ndue;

bool nf_mesh_watch_is_due(void)
{
    return ndue > 0;
}

static void set_due(struct mesh_pvm *p, bool due)
{
    ndue += (size_t)(due && !p->watch_due);
    ndue -= (size_t)(!due && p->watch_due);
    p->watch_due = due;
}

void nf_mesh_watch_forget(struct mesh_pvm *p)
{
    set_due(p, false);
}

/* ---------------------------------------------------------------- asking */

/* Of a closed mesh: it stays until all the others know that. */
static bool is_late(const struct mesh_pvm *p, uint32_t member)
{
    return member > p->base.rank && !p->members[member].heard &&
           !p->members[member].exited;
}

static bool asks(const struct mesh_pvm *p, uint32_t member)
{
    return p->closed ? is_late(p, member)
                     : nf_lookout_asks(&p->lookout, member);
}

/* @return whether @p tid is new in the space, and @p list */
static size_t add(struct mesh_space *space, int *list, size_t count, int tid,
                  enum mesh_watched what)
{
    if (tid == 0 || nf_int_map_get(&space->watched, tid) != NF_INT_MAP_NONE)
        return count;
    (void)nf_int_map_put(&space->watched, tid, what); /* there is room */
    list[count++] = tid;
    return count;
}

enum nf_status nf_mesh_watch_ask(struct mesh_pvm *p)
{
    struct mesh_space *space = p->space;
    size_t most = 0, ntasks = 0, nhosts = 0;
    struct nf_pvm_guard guard;
    int *tasks, *hosts;

    for (uint32_t i = 0; i < p->base.ranks; i++)
        most +=
            asks(p, i) && nf_int_map_get(&space->watched, p->members[i].tid) ==
                              NF_INT_MAP_NONE;
    if (most == 0)
        return NF_OK;
    tasks = nf_calloc(2 * most, sizeof(*tasks));
    if (tasks == NULL ||
        nf_int_map_reserve(&space->watched, 2 * most) != NF_OK) {
        nf_free(tasks);
        return NF_ERR_NOMEM;
    }
    hosts = tasks + most;
    for (uint32_t i = 0; i < p->base.ranks; i++) {
        int tid = p->members[i].tid;

        if (!asks(p, i) ||
            nf_int_map_get(&space->watched, tid) != NF_INT_MAP_NONE)
            continue;
        ntasks = add(space, tasks, ntasks, tid, MESH_TASK);
        nhosts = add(space, hosts, nhosts, nf_pvm_host_of(tid), MESH_HOST);
    }
    nf_pvm_enter(space->context, false, &guard);
    nf_pvm_notify_tasks(tasks, ntasks, false);
    nf_pvm_notify_hosts_lost(hosts, nhosts, false);
    nf_pvm_return(&guard);
    nf_free(tasks);
    return NF_OK;
}

void nf_mesh_watch_took(struct mesh_space *space, int tid)
{
    nf_int_map_drop(&space->watched, tid);
}

/* What was asked for and has not come is said when it is taken back: it comes
 * before the answer to anything else, and must find its context watched. */
void nf_mesh_watch_take_back(struct mesh_space *space)
{
    struct nf_pvm_guard guard;
    int tasks[BATCH];
    size_t ntasks = 0;
    bool any = false;

    nf_pvm_enter(space->context, false, &guard);
    /* what comes meanwhile takes tids out, and moves nothing */
    for (size_t i = 0; i < space->watched.capacity; i++) {
        const struct nf_int_map_place place = space->watched.places[i];

        if (place.key == 0 || place.value == NF_INT_MAP_NONE)
            continue;
        any = true;
        if (place.value == MESH_HOST)
            nf_pvm_notify_hosts_lost(&place.key, 1, true);
        else
            tasks[ntasks++] = place.key;
        if (ntasks == BATCH) {
            nf_pvm_notify_tasks(tasks, ntasks, true);
            ntasks = 0;
        }
    }
    nf_pvm_notify_tasks(tasks, ntasks, true);
    if (any)
        nf_pvm_await_pvmd();
    nf_pvm_return(&guard);
}

/* --------------------------------------------------------------- noting */

static void make_due(struct mesh_pvm *p)
{
    set_due(p, true);
    if (!p->closed)
        nf_mesh_pvm_wake(p);
}

void nf_mesh_watch_note(struct mesh_pvm *p, uint32_t member,
                        enum nf_lookout_word word)
{
    switch (nf_lookout_note(&p->lookout, member, word)) {
    case NF_LOOKOUT_NOTHING:
        break;
    case NF_LOOKOUT_SOON:
        if (p->watch_at_us == 0)
            p->watch_at_us = nf_now_us() + SETTLE_US;
        break;
    case NF_LOOKOUT_NOW:
        make_due(p);
        break;
    }
}

int64_t nf_mesh_watch_left_us(const struct mesh_pvm *p)
{
    int64_t left_us;

    if (p->watch_at_us == 0)
        return -1;
    left_us = p->watch_at_us - nf_now_us();
    return left_us > 0 ? left_us : 0;
}

void nf_mesh_watch_suspect(struct nf_mesh *mesh, uint32_t member)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh;

    if (nf_lookout_suspect(&p->lookout, member))
        make_due(p);
}

void nf_mesh_watch_see(struct mesh_pvm *p)
{
    bool settled = nf_mesh_watch_left_us(p) == 0;

    if (!p->watch_due && !settled)
        return;
    set_due(p, false);
    if (settled) {
        p->watch_at_us = 0;
        nf_lookout_settle(&p->lookout);
    }
    if (p->leaving || nf_mesh_space_is_dead(p->space))
        return;
    if (nf_mesh_watch_ask(p) != NF_OK)
        p->failed = NF_ERR_NOMEM; /* else an end would not be known */
    for (uint32_t i = 0; i < p->base.ranks; i++)
        if (nf_mesh_watch_owes(p, i))
            nf_mesh_pvm_touch(p, i);
}

/* -------------------------------------------------------------- telling */

bool nf_mesh_watch_owes(const struct mesh_pvm *p, uint32_t member)
{
    const struct mesh_member *m = &p->members[member];

    return member != p->base.rank && m->told_ends != p->lookout.nended &&
           nf_lookout_tells(&p->lookout) && m->met && !m->left && !m->exited &&
           !p->leaving;
}

void nf_mesh_watch_tell(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    size_t bytes = nf_lookout_bytes(p->base.ranks);
    uint32_t nended = p->lookout.nended;
    uint8_t said[SAID_MOST_BYTES]; /* more may become known while it is sent */
    struct nf_link_out out;

    if (!nf_mesh_watch_owes(p, member) || bytes > sizeof(said))
        return;
    memcpy(said, p->lookout.ended, bytes);
    nf_link_signal(&m->link, KIND_ANSWER, &out);
    out.body = said;
    out.frame.body_bytes = (uint32_t)bytes;
    out.frame.body_total_bytes = bytes;
    if (nf_route_admit(nf_mesh_route(m), &m->link, &out) != NF_OK)
        return; /* it is touched again when there is room */
    if (out.frame.kind == KIND_ANSWER)
        m->told_ends = nended;
    nf_mesh_pvm_transmit(p, member, &out);
}

void nf_mesh_watch_hear(struct mesh_pvm *p, uint32_t from, const uint8_t *said,
                        size_t bytes)
{
    if (bytes != nf_lookout_bytes(p->base.ranks) || !p->base.partial)
        return; /* an answer without a body, or nothing that we say */
    for (uint32_t i = 0; i < p->base.ranks; i++)
        if (i != p->base.rank && i != from && nf_lookout_says(said, i))
            nf_mesh_watch_note(p, i, NF_LOOKOUT_TOLD);
}
