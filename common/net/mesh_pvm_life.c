/* The life of a mesh of PVM tasks: how it is made, how subsets of it are, where
 * it is, and how it says goodbye. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/model/model.h"
#include "common/net/mesh_pvm.h"
#include "common/net/net.h"
#include "common/net/net_pvm.h"
#include "common/net/pvm_route.h"

/* For members to read what was sent, before this task may end. */
enum { LINGER_US = 1000000 };

enum nf_status nf_mesh_pvm_check_tids(const int *tids, uint32_t count, int tid,
                                      uint32_t *rank_p, struct nf_error *err)
{
    struct nf_int_map seen = { .capacity = 0 };
    enum nf_status status = NF_OK;
    uint32_t rank;

    for (uint32_t i = 0; i < count && status == NF_OK; i++) {
        uint32_t k = nf_int_map_get(&seen, tids[i]);

        if (tids[i] <= 0)
            status = nf_fail(err, NF_ERR_INVAL, "member %u is no task (%d)", i,
                             tids[i]);
        else if (k != NF_INT_MAP_NONE)
            status = nf_fail(err, NF_ERR_INVAL,
                             "members %u and %u are the same task t%x", k, i,
                             (unsigned)tids[i]);
        else if (nf_int_map_put(&seen, tids[i], i) != NF_OK)
            status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    rank = nf_int_map_get(&seen, tid);
    nf_int_map_fini(&seen);
    if (status == NF_OK && rank != NF_INT_MAP_NONE)
        *rank_p = rank;
    else if (status == NF_OK)
        status = nf_fail(err, NF_ERR_INVAL,
                         "this task, t%x, is not among the members",
                         (unsigned)tid);
    return status;
}

enum nf_status nf_mesh_pvm_create(const int *tids, uint32_t ranks,
                                  uint32_t rank, struct mesh_pvm **mesh_p,
                                  struct nf_error *err)
{
    struct mesh_pvm *p = nf_calloc(1, sizeof(*p));
    bool complete;

    if (p == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    p->base = (struct nf_mesh){ .ops = &nf_mesh_pvm,
                                .rank = rank,
                                .ranks = ranks };
    p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->members = nf_calloc(ranks, sizeof(*p->members));
    p->touched = nf_calloc(ranks, sizeof(*p->touched));
    complete = p->fd >= 0 && p->members != NULL && p->touched != NULL &&
               nf_lookout_init(&p->lookout, rank, ranks) &&
               nf_int_map_reserve(&p->numbers, ranks) == NF_OK;
    for (uint32_t i = 0; i < ranks && complete; i++) {
        struct mesh_note *note = nf_calloc(1, sizeof(*note));

        p->members[i].tid = tids[i];
        p->members[i].leaving = note;
        (void)nf_int_map_put(&p->numbers, tids[i], i); /* there is room */
        nf_link_init(&p->members[i].link, 0, nf_message_limit_bytes());
        complete = note != NULL;
        if (note == NULL)
            break;
        note->kind = NF_MESH_LEFT;
        note->member = i;
    }
    if (!complete) {
        nf_mesh_pvm_free(p);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    p->base.partial = nf_lookout_is_partial(&p->lookout);
    *mesh_p = p;
    return NF_OK;
}

/* What only its user needs. */
static void drop_all(struct mesh_pvm *p)
{
    nf_mesh_turn_drop(p);
    for (uint32_t i = 0; i < p->base.ranks && p->members != NULL; i++) {
        nf_mesh_loan_withdraw(p, i);
        nf_link_fini(&p->members[i].link);
        nf_mesh_notes_free(&p->members[i].held);
    }
    nf_mesh_notes_free(&p->urgent);
    nf_mesh_notes_free(&p->normal);
    nf_mesh_notes_free(&p->later);
    nf_mesh_note_free(p->current);
    p->current = NULL;
    nf_free(p->fds);
    p->fds = NULL;
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

void nf_mesh_pvm_free(struct mesh_pvm *p)
{
    drop_all(p);
    nf_mesh_watch_forget(p);
    for (uint32_t i = 0; i < p->base.ranks && p->members != NULL; i++)
        nf_mesh_note_free(p->members[i].leaving);
    nf_int_map_fini(&p->numbers);
    nf_lookout_fini(&p->lookout);
    nf_free(p->members);
    nf_free(p->touched);
    nf_free(p);
}

void nf_mesh_pvm_compare_formats(struct mesh_pvm *p)
{
    const char *encoding = getenv("NOWFARM_ENCODING");
    bool always = encoding != NULL && strcmp(encoding, "xdr") == 0;
    struct nf_pvm_host *hosts = NULL;
    size_t count = 0;
    int mine = nf_pvm_host_of(p->members[p->base.rank].tid);

    if (!always && nf_pvm_hosts(&hosts, &count) != NF_OK)
        count = 0;
    for (uint32_t i = 0; i < p->base.ranks; i++)
        p->members[i].convert = nf_pvm_formats_differ(
            hosts, count, mine, nf_pvm_host_of(p->members[i].tid));
    nf_free(hosts);
}

bool nf_mesh_pvm_has_detour(const struct mesh_pvm *p, uint32_t member)
{
    const struct mesh_member *m = &p->members[member];

    return member < p->base.rank && m->met && !m->left && !m->exited &&
           !m->duct && !nf_route_is_direct(m->tid);
}

/* @return false: they are not known */
static bool find_names(const struct mesh_pvm *p, char (*names)[64])
{
    struct nf_pvm_host *hosts = NULL;
    size_t count = 0;

    if (nf_pvm_hosts(&hosts, &count) != NF_OK)
        count = 0;
    for (uint32_t i = 0; i < p->base.ranks; i++)
        for (size_t h = 0; h < count; h++)
            if (hosts[h].tid == nf_pvm_host_of(p->members[i].tid))
                memcpy(names[i], hosts[h].name, sizeof(names[i]));
    nf_free(hosts);
    return count > 0;
}

void nf_mesh_pvm_host_names(const struct nf_mesh *mesh, char (*names_p)[64])
{
    (void)find_names((const struct mesh_pvm *)mesh, names_p);
}

void nf_mesh_pvm_place(const struct nf_mesh *mesh,
                       struct nf_mesh_place *place_p)
{
    const struct mesh_pvm *p = (const struct mesh_pvm *)mesh;
    char(*names)[64] = nf_calloc(p->base.ranks, sizeof(*names));

    *place_p = (struct nf_mesh_place){ .direct = p->routes };
    if (names == NULL)
        return;
    if (find_names(p, names)) {
        for (uint32_t i = 0; i < p->base.ranks; i++) {
            place_p->converts = place_p->converts || p->members[i].convert;
            place_p->direct = place_p->direct && !nf_mesh_pvm_has_detour(p, i);
        }
        place_p->hosts_hash =
            nf_model_hosts_hash(names[0], sizeof(names[0]), p->base.ranks);
    }
    nf_free(names);
}

static void say_bye(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    struct nf_link_out out;

    if (m->owes_bye && !m->exited) { /* it may wait for no more than this */
        m->owes_bye = false;
        nf_link_confirm(&m->link, &out);
        nf_mesh_pvm_transmit(p, member, &out);
    }
    if (m->left || m->exited || (member > p->base.rank && !m->heard))
        return;
    nf_link_purge(&m->link);
    if (!nf_route_takes_goodbye(nf_mesh_route(m), &m->link))
        return;
    nf_link_signal(&m->link, KIND_BYE, &out);
    nf_mesh_pvm_transmit(p, member, &out);
}

static bool has_unread(const struct mesh_pvm *p)
{
    for (uint32_t i = 0; i < p->base.ranks; i++) {
        const struct mesh_member *m = &p->members[i];

        if (i != p->base.rank && m->heard && !m->left && !m->exited &&
            m->link.confirmed_bytes != m->link.sent_bytes)
            return true;
    }
    return false;
}

/* After this the task may end.  A member that then sends us a confirmation
 * finds the route broken, and libpvm throws away what it has not read from
 * there: so all must have read their goodbye, which is the last.  But for those
 * that never said a word: they may never read it, and a stop is not to wait. */
static void linger(struct mesh_pvm *p)
{
    int64_t until_us = nf_now_us() + LINGER_US, left_us = LINGER_US;

    while (has_unread(p) && left_us > 0) {
        bool came = nf_mesh_duct_read();
        enum nf_status status = nf_pvm_pump();

        if (status < NF_OK)
            return;
        if (came)
            status = NF_OK;
        nf_mesh_pvm_tend();
        if (status == NF_WAIT)
            (void)nf_mesh_pvm_sleep(left_us);
        left_us = until_us - nf_now_us();
    }
}

void nf_mesh_pvm_close(struct nf_mesh *mesh)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh;
    struct nf_pvm_guard guard;

    if (p->space == NULL) {
        nf_mesh_pvm_free(p);
        return;
    }
    p->leaving = true;
    if (!nf_mesh_space_is_dead(p->space)) {
        nf_pvm_enter(p->space->context, false, &guard);
        (void)nf_pvm_pump(); /* who has gone already need not be told */
        (void)nf_mesh_duct_read();
        nf_pvm_hush();       /* who closed first may have ended by now */
        nf_mesh_turn_drop(p);
        for (uint32_t i = 0; i < p->base.ranks; i++)
            if (i != p->base.rank)
                say_bye(p, i);
        nf_pvm_unhush();
        if (!p->shy && nf_mesh_pvm_is_last(p)) /* shy ones are of event loops */
            linger(p);
        nf_pvm_return(&guard);
    }
    nf_mesh_duct_tend();
    if (nf_mesh_pvm_waits_for_late(p)) {
        drop_all(p);
        return;
    }
    nf_mesh_space_leave(p);
    nf_mesh_pvm_free(p);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

/* The same at all members, without a word. */
static uint64_t subset_cookie(const struct mesh_pvm *p, const uint32_t *members,
                              uint32_t count, uint64_t id)
{
    uint64_t cookie = mix(p->cookie, id);

    for (uint32_t i = 0; i < count; i++)
        cookie = mix(cookie, members[i]);
    return cookie;
}

/* Those that have not met in the old mesh do it in this one. */
static void introduce_the_rest(struct mesh_pvm *p)
{
    struct nf_pvm_guard guard;

    if (nf_mesh_space_is_dead(p->space))
        return;
    nf_pvm_enter(p->space->context, false, &guard);
    for (uint32_t i = 0; i < p->base.rank; i++)
        if (!p->members[i].met && !p->members[i].exited)
            nf_mesh_pvm_introduce(p, i);
    nf_pvm_return(&guard);
}

enum nf_status nf_mesh_pvm_subset(struct nf_mesh *mesh, const uint32_t *members,
                                  uint32_t count, uint64_t id,
                                  struct nf_mesh **mesh_p, struct nf_error *err)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh, *sub;
    uint64_t cookie = subset_cookie(p, members, count, id);
    uint32_t rank;
    int *tids;
    enum nf_status status =
        nf_mesh_check_subset(mesh, members, count, &rank, err);

    if (status != NF_OK)
        return status;
    for (struct mesh_pvm *q = p->space->meshes; q != NULL; q = q->next)
        if (q->cookie == cookie)
            return nf_fail(err, NF_ERR_INVAL,
                           "these members have a mesh with this id already");
    tids = nf_calloc(count, sizeof(*tids));
    if (tids == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        tids[i] = p->members[members[i]].tid;
    status = nf_mesh_pvm_create(tids, count, rank, &sub, err);
    nf_free(tids);
    if (status != NF_OK)
        return status;
    sub->id = id;
    sub->shy = p->shy;
    sub->routes = p->routes;
    for (uint32_t i = 0; i < count; i++) {
        const struct mesh_member *old = &p->members[members[i]];

        sub->members[i].convert = old->convert;
        sub->members[i].exited = old->exited;
        sub->members[i].exited_us = old->exited_us;
        sub->nexited += old->exited;
        if (old->exited)
            nf_mesh_watch_note(sub, i, NF_LOOKOUT_ENDED);
        sub->members[i].duct = old->duct;
        sub->members[i].cut = old->cut;
        sub->members[i].heard = old->heard;
        sub->members[i].met = old->met;
        sub->members[i].shown = old->lends;
        sub->members[i].reads = old->reads;
        sub->members[i].mark = old->mark;
        sub->members[i].lends = old->lends;
        nf_link_set_window(&sub->members[i].link, old->link.window_bytes);
    }
    status = nf_mesh_pvm_enter(sub, p->space, cookie, err);
    if (status == NF_OK && nf_mesh_watch_ask(sub) != NF_OK)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    if (status != NF_OK) {
        nf_mesh_space_leave(sub);
        nf_mesh_pvm_free(sub);
        return status;
    }
    for (uint32_t i = 0; i < count; i++)
        if (sub->members[i].cut && !sub->members[i].exited)
            nf_mesh_pvm_leave(sub, i); /* nothing else would tell */
    introduce_the_rest(sub);
    *mesh_p = &sub->base;
    return NF_OK;
}
