/* Opening the mesh of tasks that have met (mesh_meeting.c), or without that:
 * each asks the members before it for direct routes (mesh_pvm_meet.c). */
#include "config.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/mesh_meeting.h"
#include "common/net/mesh_pvm.h"

/* --------------------------------------------------------------- routes */

static void introduce_all(struct mesh_pvm *p)
{
    struct nf_pvm_guard guard;

    nf_pvm_enter(p->space->context, false, &guard);
    for (uint32_t i = 0; i < p->base.rank; i++)
        nf_mesh_pvm_introduce(p, i);
    nf_pvm_return(&guard);
}

/* The first that has not met this one; that one has gone is an event of the
 * mesh.  Those behind it open the routes to it. */
static uint32_t first_unmet(const struct mesh_pvm *p)
{
    uint32_t i = 0;

    while (i < p->base.ranks && (i == p->base.rank || p->members[i].met ||
                                 p->members[i].exited || p->members[i].left))
        i++;
    return i;
}

/* Has a member asked whether we are there, and not opened its route yet?  It
 * may be waiting for us to be in a call of PVM. */
static bool is_awaited(const struct mesh_pvm *p)
{
    for (uint32_t i = p->base.rank + 1; i < p->base.ranks; i++)
        if (p->members[i].heard && !p->members[i].met &&
            !p->members[i].exited && !p->members[i].left)
            return true;
    return false;
}

/* @param m  until all have met; NULL: until nobody waits for us */
static enum nf_status pump_until(struct mesh_pvm *p, int64_t until_us,
                                 struct nf_meeting *m, struct nf_error *err)
{
    uint32_t who = 0;

    while (m != NULL ? first_unmet(p) < p->base.ranks : is_awaited(p)) {
        enum nf_status status = nf_mesh_pvm_move(p);

        if (status < NF_OK)
            return nf_no_pvmd(err);
        if (p->failed != NF_OK)
            return nf_fail(err, p->failed, "out of memory");
        if (status != NF_WAIT)
            continue;
        if (m != NULL && nf_meeting_is_stopped(m)) {
            nf_meeting_stop_all(m);
            return nf_meeting_fails(m, m->rank, NF_MEETING_STOPPED, err);
        }
        if (m != NULL && nf_meeting_others_stop(m, &who))
            return nf_meeting_fails(m, who, NF_MEETING_STOPPED, err);
        if (nf_now_us() >= until_us)
            return NF_WAIT;
        if (!nf_mesh_pvm_any_touched()) /* a look for stops reads frames, too */
            (void)nf_mesh_pvm_sleep(10000);
    }
    return NF_OK;
}

static enum nf_status await_all(struct mesh_pvm *p, struct nf_meeting *m,
                                struct nf_error *err)
{
    enum nf_status status = pump_until(p, m->until_us, m, err);
    uint32_t who = 0;

    if (status == NF_OK && nf_meeting_others_stop(m, &who))
        return nf_meeting_fails(m, who, NF_MEETING_STOPPED, err);
    if (status != NF_WAIT)
        return status;
    status = nf_meeting_fails(m, first_unmet(p), NF_MEETING_LATE, err);
    (void)pump_until(p, nf_now_us() + NF_MEETING_GRACE_US, NULL, NULL);
    return status;
}

/* ----------------------------------------------------------------- open */

/* The mesh enters its space, and speaks to those before it. */
static enum nf_status enter(struct mesh_pvm *p, int context,
                            enum nf_mesh_context use, uint64_t cookie,
                            bool routes, struct nf_error *err)
{
    struct mesh_space *space = nf_mesh_space_open(context);
    enum nf_status status;

    if (space == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    space->owned = space->owned || use == NF_MESH_CONTEXT_OWN;
    space->once = space->once || space->owned || !p->shy;
    if (use == NF_MESH_CONTEXT_COMMON)
        nf_mesh_space_keep(space);
    p->routes = routes && p->base.ranks <= NF_MESH_ROUTES_MOST &&
                nf_pvm_wants_direct_routes();
    nf_mesh_pvm_compare_formats(p); /* before anything is sent */
    status = nf_mesh_pvm_enter(p, space, cookie, err);
    if (status != NF_OK)
        return status;
    if (nf_mesh_watch_ask(p) != NF_OK)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    introduce_all(p);
    return NF_OK;
}

static enum nf_status connect_all(struct mesh_pvm *p, struct nf_meeting *m,
                                  struct nf_error *err)
{
    enum nf_status status =
        enter(p, m->context,
              m->rank == 0 ? NF_MESH_CONTEXT_OWN : NF_MESH_CONTEXT_LENT,
              m->cookie, true, err);

    if (status != NF_OK)
        return status;
    if (m->until_us < nf_now_us() + NF_MEETING_GRACE_US)
        m->until_us = nf_now_us() + NF_MEETING_GRACE_US;
    status = await_all(p, m, err);
    nf_mesh_duct_settle();
    for (uint32_t i = 0; i < m->count && status == NF_OK; i++)
        nf_link_set_window(&p->members[i].link,
                           nf_mesh_window_bytes(&p->members[i]));
    return status;
}

enum nf_status nf_mesh_open_pvm(const int *tids, uint32_t count,
                                const struct nf_mesh_terms *terms,
                                struct nf_mesh **mesh_p, struct nf_error *err)
{
    struct nf_meeting m;
    struct mesh_pvm *p;
    uint32_t rank = 0;
    enum nf_status status;
    int tid;

    if (nf_pvm_is_allowed(err) != NF_OK)
        return NF_ERR_UNREACHABLE;
    if (nf_pvm_enroll_quietly(&tid) != NF_OK)
        return nf_no_pvmd(err);
    status = nf_mesh_pvm_check_tids(tids, count, tid, &rank, err);
    if (status == NF_OK)
        status = nf_mesh_pvm_create(tids, count, rank, &p, err);
    if (status != NF_OK)
        return status;
    p->id = terms->id;
    m = nf_meeting_of(tids, count, rank, &p->numbers, terms);
    status = nf_meeting_hold(&m, err);
    if (status != NF_OK) {
        nf_mesh_pvm_free(p);
        return status;
    }
    status = connect_all(p, &m, err);
    if (status == NF_OK)
        *mesh_p = &p->base;
    else
        nf_mesh_close(&p->base);
    return status;
}

enum nf_status nf_mesh_join_pvm(const int *tids, uint32_t count,
                                uint64_t cookie, int context,
                                enum nf_mesh_context use, bool routes,
                                struct nf_mesh **mesh_p, struct nf_error *err)
{
    struct mesh_pvm *p;
    uint32_t rank = 0;
    int tid;
    enum nf_status status;

    if (nf_pvm_enroll_quietly(&tid) != NF_OK)
        return nf_no_pvmd(err);
    status = nf_mesh_pvm_check_tids(tids, count, tid, &rank, err);
    if (status == NF_OK)
        status = nf_mesh_pvm_create(tids, count, rank, &p, err);
    if (status != NF_OK)
        return status;
    p->id = cookie;
    p->shy = true;
    status = enter(p, context, use, cookie, routes, err);
    for (uint32_t i = 0; i < rank && status == NF_OK && !routes; i++)
        nf_link_set_window(&p->members[i].link, nf_pvm_window_bytes());
    if (status == NF_OK)
        *mesh_p = &p->base;
    else
        nf_mesh_close(&p->base);
    return status;
}
