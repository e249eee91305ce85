/* How the tasks of a mesh meet.
 *
 *     member i                   member 0
 *     JOIN attempt  ------------>            I am here (any time, any order)
 *            <------------------ CALL        all were: are you still?
 *     HERE   ------------------->
 *            <------------------ START       all are: context, cookie
 *            <------------------ FAIL        or: this one did not come
 *
 * Then each asks the members before it for direct routes (mesh_pvm_meet.c).
 * JOINs of attempts that were given up are harmless, since
 * only who answers CALL is waited for.  A STOP may be as old, and its member come
 * again: one that was there before member 0 is not heeded at once.
 *
 * Who is stopped while routes are opened says STOP to all, and goodbye; who was
 * called and is stopped before START has come says it to all, too. */
#include "config.h"
#include <string.h>
#include <sys/random.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/mesh_pvm.h"

enum {
    JOIN = 1,
    CALL,
    HERE,
    START,
    FAIL,
    STOP, /* I do not come after all */
    /* How long a stop may stay unheard, and that a member has ended. */
    LOOK_US = 100000,
    /* For who was stopped before member 0 began, to come again. */
    AGAIN_US = 1000000,
    /* Word of a failure comes after the time is up. */
    GRACE_US = 500000,
    /* By a tag of its own: a JOIN for the next meeting must stay. */
    STOP_TAG = 1 << 24,
};
/* So long that nothing that is added makes it overflow. */
#define FOR_EVER_US (INT64_MAX / 2)
#define MAGIC       (UINT64_C(0x4e464d53) << 32) /* "NFMS" */

enum word { KIND, ID, TIDS, ATTEMPT, NONCE, CONTEXT, COOKIE, MISSING };
/* In a FAIL there is no context, but: */
enum { WHY = CONTEXT };
enum why { TOO_LATE, HAS_ENDED, STOPPED };

struct meeting {
    const int *tids;
    const struct nf_int_map *numbers; /* of members, by their tids */
    uint32_t count, rank;
    uint32_t njoined, nhere; /* guests, of member 0 */
    uint64_t id, hash;
    int tag;
    int64_t until_us;
    const volatile int *stop;
    uint32_t guilty; /* why it comes to nothing; count: it is not known to */
    enum why why;
    uint64_t nonce;
    struct guest {
        uint64_t attempt;
        bool joined, here, stopped;
        int64_t forgiven_us; /* if it is still stopped then it does not come */
    } * guests;     /* [count], of member 0 */
    bool caught_up; /* all that was there before has been heard */
    uint64_t said[NF_PVM_WORDS]; /* by START */
};

static uint64_t hash_of(const int *tids, uint32_t count, uint64_t id)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ id;

    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ (uint32_t)tids[i]) * UINT64_C(1099511628211);
    return hash ^ (hash >> 31);
}

static uint64_t draw(void)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        number = (uint64_t)nf_now_us();
    return number;
}

static enum nf_status no_pvmd(struct nf_error *err)
{
    return nf_fail(err, NF_ERR_UNREACHABLE, "the local pvmd does not answer");
}

static enum nf_status is_missing(struct meeting *m, uint32_t rank, enum why why,
                                 struct nf_error *err)
{
    static const char *const texts[] = { "did not come in time", "has ended",
                                         "was interrupted" };

    m->guilty = rank < m->count ? rank : 0;
    m->why = why;
    if (why == STOPPED && m->guilty == m->rank)
        return nf_fail(err, NF_ERR_INTERRUPTED, "interrupted");
    return nf_fail(err,
                   why == STOPPED ? NF_ERR_INTERRUPTED : NF_ERR_UNREACHABLE,
                   "member %u of %u, task t%x, %s", m->guilty, m->count,
                   (unsigned)m->tids[m->guilty], texts[why]);
}

static bool is_stopped(const struct meeting *m)
{
    return m->stop != NULL && *m->stop;
}

/* Notices of ends are true whoever has asked for them. */
static void hear_ends(struct meeting *m)
{
    int tid;

    while (nf_pvm_hear_end(&tid)) {
        uint32_t i = nf_int_map_get(m->numbers, tid);

        if (i != NF_INT_MAP_NONE && i != m->rank) {
            m->guilty = i;
            m->why = HAS_ENDED;
        }
    }
}

static void hear_stops(struct meeting *m)
{
    m->caught_up = true;
    for (uint32_t i = 0; i < m->count && m->guests != NULL; i++)
        if (m->guests[i].stopped && nf_now_us() >= m->guests[i].forgiven_us) {
            m->guilty = i;
            m->why = STOPPED;
        }
}

/* Say something to a member.  That it may be gone is known by its silence. */
static void say(struct meeting *m, uint32_t to, int kind, uint64_t attempt)
{
    uint64_t words[NF_PVM_WORDS];

    memcpy(words, m->said, sizeof(words));
    words[KIND] = MAGIC | (uint64_t)kind;
    words[ID] = m->id;
    words[TIDS] = m->hash;
    words[ATTEMPT] = attempt;
    words[NONCE] = m->nonce;
    (void)nf_pvm_say(m->tids[to], m->tag, words);
}

/* For who opens routes already, if this is the meeting that has been called. */
static void stop_all(struct meeting *m)
{
    struct nf_pvm_guard guard;
    int tag = m->tag;

    nf_pvm_enter(NF_PVM_MEETING_CONTEXT, false, &guard);
    m->tag |= STOP_TAG;
    for (uint32_t i = 0; i < m->count; i++)
        if (i != m->rank)
            say(m, i, STOP, m->said[COOKIE]);
    m->tag = tag;
    nf_pvm_return(&guard);
}

/* What a member says of this meeting; anything else is let pass.
 *  @retval NF_WAIT  time is up, or m->guilty
 *  @retval NF_ERR_INTERRUPTED  we are to stop */
static enum nf_status hear(struct meeting *m, uint32_t *from_p,
                           uint64_t words_p[NF_PVM_WORDS])
{
    for (;;) {
        int64_t left_us = m->until_us - nf_now_us();
        int64_t slice_us = left_us < LOOK_US ? left_us : LOOK_US;
        int tid = 0;
        uint32_t i;
        enum nf_status status =
            nf_pvm_hear(m->tag, slice_us > 0 ? slice_us : 0, &tid, words_p);

        /* what has been heard is done first: it is not said again */
        if (status != NF_OK && is_stopped(m))
            return NF_ERR_INTERRUPTED;
        if (status == NF_WAIT) {
            hear_ends(m);
            hear_stops(m);
        }
        if (status != NF_OK && (status != NF_WAIT || left_us <= 0 ||
                                m->guilty < m->count))
            return status;
        if (status != NF_OK || words_p[ID] != m->id ||
            words_p[TIDS] != m->hash || (words_p[KIND] & ~7ULL) != MAGIC)
            continue;
        i = nf_int_map_get(m->numbers, tid);
        if (i == NF_INT_MAP_NONE || i == m->rank)
            continue;
        *from_p = i;
        words_p[KIND] &= 7;
        return NF_OK;
    }
}

/* ------------------------------------------------------------- member 0 */

/* The first that has not joined, or is not here; count if there is none. */
static uint32_t first_missing(const struct meeting *m, bool here)
{
    uint32_t i = 1;

    while (i < m->count && (here ? m->guests[i].here : m->guests[i].joined))
        i++;
    return i;
}

static void set_guest(struct meeting *m, uint32_t from, struct guest guest)
{
    m->njoined += (uint32_t)guest.joined;
    m->njoined -= (uint32_t)m->guests[from].joined;
    m->nhere += (uint32_t)guest.here;
    m->nhere -= (uint32_t)m->guests[from].here;
    m->guests[from] = guest;
}

static void call_all(struct meeting *m)
{
    for (uint32_t i = 1; i < m->count; i++)
        if (!m->guests[i].here)
            say(m, i, CALL, m->guests[i].attempt);
}

static enum nf_status gather(struct meeting *m, struct nf_error *err)
{
    uint64_t words[NF_PVM_WORDS] = { 0 };
    bool called = false;
    uint32_t from = 0;

    while (m->nhere < m->count - 1) {
        enum nf_status status;

        if (!called && m->njoined == m->count - 1) {
            called = true;
            call_all(m);
        }
        status = hear(m, &from, words);
        if (status == NF_ERR_INTERRUPTED)
            return is_missing(m, m->rank, STOPPED, err);
        if (status == NF_ERR_UNREACHABLE)
            return no_pvmd(err);
        if (status == NF_WAIT && m->guilty < m->count)
            return is_missing(m, m->guilty, m->why, err);
        if (status == NF_WAIT)
            return is_missing(m, first_missing(m, called), TOO_LATE, err);
        if (words[KIND] == STOP && words[ATTEMPT] == m->guests[from].attempt) {
            const struct guest stopped = {
                .stopped = true,
                .forgiven_us = nf_now_us() + (m->caught_up ? 0 : AGAIN_US),
            };

            set_guest(m, from, stopped);
        }
        if (words[KIND] == JOIN) {
            const struct guest joined = { words[ATTEMPT], .joined = true };

            set_guest(m, from, joined);
            if (called)
                say(m, from, CALL, words[ATTEMPT]);
        } else if (words[KIND] == HERE && words[NONCE] == m->nonce &&
                   words[ATTEMPT] == m->guests[from].attempt) {
            struct guest here = m->guests[from];

            here.here = true;
            set_guest(m, from, here);
        }
    }
    return NF_OK;
}

static enum nf_status host_meeting(struct meeting *m, struct nf_error *err)
{
    enum nf_status status;
    int context;

    m->nonce = draw();
    m->guests = nf_calloc(m->count, sizeof(*m->guests));
    if (m->guests == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = gather(m, err);
    context = status == NF_OK ? nf_pvm_context_create() : -1;
    if (status == NF_OK && context < 0)
        status = no_pvmd(err);
    m->said[MISSING] = m->guilty;
    m->said[CONTEXT] = status == NF_OK ? (uint64_t)context : (uint64_t)m->why;
    m->said[COOKIE] = draw();
    for (uint32_t i = 1; i < m->count; i++)
        if (m->guests[i].joined)
            say(m, i, status == NF_OK ? START : FAIL, m->guests[i].attempt);
    nf_free(m->guests);
    m->guests = NULL;
    return status;
}

/* ----------------------------------------------------------- the others */

static enum nf_status attend_meeting(struct meeting *m, struct nf_error *err)
{
    uint64_t words[NF_PVM_WORDS] = { 0 }, attempt = draw();
    uint32_t from = 0;

    m->until_us += GRACE_US;
    say(m, 0, JOIN, attempt);
    for (;;) {
        enum nf_status status = hear(m, &from, words);

        if (status == NF_ERR_INTERRUPTED) {
            say(m, 0, STOP, attempt);
            if (m->nonce != 0) /* START may be on its way */
                stop_all(m);
            return is_missing(m, m->rank, STOPPED, err);
        }
        if (status == NF_ERR_UNREACHABLE)
            return no_pvmd(err);
        if (status == NF_WAIT)
            return is_missing(m, 0, m->why, err);
        if (from != 0 || words[ATTEMPT] != attempt)
            continue;
        if (words[KIND] == CALL) {
            m->nonce = words[NONCE];
            say(m, 0, HERE, attempt);
        } else if (words[KIND] == FAIL) {
            return is_missing(m, (uint32_t)words[MISSING],
                              words[WHY] <= STOPPED ? (enum why)words[WHY]
                                                    : TOO_LATE,
                              err);
        } else if (words[KIND] == START && words[NONCE] == m->nonce) {
            memcpy(m->said, words, sizeof(words));
            return NF_OK;
        }
    }
}

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

/* Has a member given up since the meeting?  It says so before its goodbye. */
static bool others_stop(const struct meeting *m, uint32_t *who_p)
{
    struct meeting now = *m;
    uint64_t words[NF_PVM_WORDS] = { 0 };
    struct nf_pvm_guard guard;
    bool found = false;

    now.until_us = 0;
    nf_pvm_enter(NF_PVM_MEETING_CONTEXT, false, &guard);
    while (!found && hear(&now, who_p, words) == NF_OK)
        found = words[KIND] == STOP && words[NONCE] == m->nonce;
    nf_pvm_return(&guard);
    return found;
}

/* @param m  until all have met; NULL: until nobody waits for us */
static enum nf_status pump_until(struct mesh_pvm *p, int64_t until_us,
                                 struct meeting *m, struct nf_error *err)
{
    uint32_t who = 0;

    while (m != NULL ? first_unmet(p) < p->base.ranks : is_awaited(p)) {
        enum nf_status status = nf_mesh_pvm_move(p);

        if (status < NF_OK)
            return no_pvmd(err);
        if (p->failed != NF_OK)
            return nf_fail(err, p->failed, "out of memory");
        if (status != NF_WAIT)
            continue;
        if (m != NULL && is_stopped(m)) {
            stop_all(m);
            return is_missing(m, m->rank, STOPPED, err);
        }
        if (m != NULL && others_stop(m, &who))
            return is_missing(m, who, STOPPED, err);
        if (nf_now_us() >= until_us)
            return NF_WAIT;
        if (!nf_mesh_pvm_any_touched()) /* a look for stops reads frames, too */
            (void)nf_mesh_pvm_sleep(10000);
    }
    return NF_OK;
}

static enum nf_status await_all(struct mesh_pvm *p, struct meeting *m,
                                struct nf_error *err)
{
    enum nf_status status = pump_until(p, m->until_us, m, err);
    uint32_t who = 0;

    if (status == NF_OK && others_stop(m, &who))
        return is_missing(m, who, STOPPED, err);
    if (status != NF_WAIT)
        return status;
    status = is_missing(m, first_unmet(p), TOO_LATE, err);
    (void)pump_until(p, nf_now_us() + GRACE_US, NULL, NULL);
    return status;
}

/* ----------------------------------------------------------------- open */

/* Member 0 waits for all, they for it.  What is taken back is said now. */
static void watch_ends(const struct meeting *m, bool back)
{
    int tid;

    if (m->rank == 0)
        nf_pvm_notify_ends(m->tids + 1, m->count - 1, back);
    else
        nf_pvm_notify_ends(m->tids, 1, back);
    if (!back || m->count == 1)
        return;
    nf_pvm_await_pvmd();
    while (nf_pvm_hear_end(&tid))
        continue;
}

static enum nf_status meet(struct meeting *m, struct nf_error *err)
{
    struct nf_pvm_guard guard;
    enum nf_status status;

    nf_pvm_enter(NF_PVM_MEETING_CONTEXT, false, &guard);
    watch_ends(m, false);
    status = m->rank == 0 ? host_meeting(m, err) : attend_meeting(m, err);
    watch_ends(m, true);
    nf_pvm_return(&guard);
    return status;
}

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

static enum nf_status connect_all(struct mesh_pvm *p, struct meeting *m,
                                  struct nf_error *err)
{
    enum nf_status status =
        enter(p, (int)m->said[CONTEXT],
              m->rank == 0 ? NF_MESH_CONTEXT_OWN : NF_MESH_CONTEXT_LENT,
              m->said[COOKIE], true, err);

    if (status != NF_OK)
        return status;
    m->until_us = nf_now_us() > m->until_us - GRACE_US ? nf_now_us() + GRACE_US
                                                       : m->until_us;
    m->tag |= STOP_TAG;
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
    struct meeting m = { .tids = tids,
                         .count = count,
                         .guilty = count,
                         .id = terms->id,
                         .stop = terms->stop };
    struct mesh_pvm *p;
    enum nf_status status;
    int tid;

    if (nf_pvm_is_allowed(err) != NF_OK)
        return NF_ERR_UNREACHABLE;
    if (nf_pvm_enroll_quietly(&tid) != NF_OK)
        return no_pvmd(err);
    status = nf_mesh_pvm_check_tids(tids, count, tid, &m.rank, err);
    if (status == NF_OK)
        status = nf_mesh_pvm_create(tids, count, m.rank, &p, err);
    if (status != NF_OK)
        return status;
    p->id = terms->id;
    m.numbers = &p->numbers;
    m.hash = hash_of(tids, count, terms->id);
    m.tag = (int)(m.hash & 0xffffff);
    m.until_us = terms->timeout_us < 0 || terms->timeout_us > FOR_EVER_US
                     ? FOR_EVER_US
                     : nf_now_us() + terms->timeout_us;
    status = meet(&m, err);
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
        return no_pvmd(err);
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
