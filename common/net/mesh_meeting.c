/* How the tasks of a mesh meet.
 *
 *     member i                   member 0
 *     JOIN attempt  ------------>            I am here (any time, any order)
 *            <------------------ CALL        all were: are you still?
 *     HERE   ------------------->
 *            <------------------ START       all are: context, cookie
 *            <------------------ FAIL        or: this one did not come
 *
 * JOINs of attempts that were given up are harmless, since
 * only who answers CALL is waited for.  A STOP may be as old, and its member
 * come again: one that was there before member 0 is not heeded at once.
 *
 * A task is in one meeting at a time.  Who waits for long asks who is missing,
 * and member 0 if that is another one, whether it waits for this task in
 * another meeting: then the two were given different lists of members, or ids,
 * and once time is up it is that which is told.
 *
 * Who is stopped while routes are opened says STOP to all, and goodbye; who was
 * called and is stopped before START has come says it to all, too. */
#include "config.h"
#include <stdio.h>
#include <sys/random.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/mesh_meeting.h"

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
    /* By a tag of its own: a JOIN for the next meeting must stay. */
    STOP_TAG = 1 << 24,
    INQUIRY_TAG = 1 << 25,
};
/* So long that nothing that is added makes it overflow. */
#define FOR_EVER_US   (INT64_MAX / 2)
#define MAGIC         (UINT64_C(0x4e464d53) << 32) /* "NFMS" */
#define INQUIRY_MAGIC (UINT64_C(0x4e464d49) << 32) /* "NFMI" */

enum word { KIND, ID, TIDS, ATTEMPT, NONCE, CONTEXT, COOKIE, MISSING };
/* What is said by one tag in all meetings. */
enum inquiry_kind {
    INQUIRE = 1, /* I wait for you: do you wait for me, in another meeting? */
    WAITING,     /* I do, in one of so many members; 0: in yours */
};

/* In a FAIL, and in what is WAITING, there is no context: */
enum { WHY = CONTEXT, COUNT = COOKIE };

/* Who is missing is asked first after a quarter of the time-out, within these. */
enum { ASK_LEAST_US = 100000, ASK_MOST_US = 2000000 };

struct nf_meeting_guest {
    uint64_t attempt;
    bool joined, here, stopped;
    uint64_t
        elsewhere; /* so many members has the meeting that it is in, or 0 */
    int64_t forgiven_us; /* if it is still stopped then it does not come */
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

enum nf_status nf_no_pvmd(struct nf_error *err)
{
    return nf_fail(err, NF_ERR_UNREACHABLE, "the local pvmd does not answer");
}

static const char *why_text(const struct nf_meeting *m, char *room,
                            size_t room_bytes)
{
    static const char *const texts[NF_MEETING_WHYS] = {
        "did not come in time", "has ended", "was interrupted",
        "waits for a group of other members, in another order or of another id"
    };

    if (m->why != NF_MEETING_ELSEWHERE || m->other == m->count)
        return texts[m->why];
    snprintf(room, room_bytes, "waits for a group of %llu",
             (unsigned long long)m->other);
    return room;
}

enum nf_status nf_meeting_fails(struct nf_meeting *m, uint32_t rank,
                                enum nf_meeting_why why, struct nf_error *err)
{
    static const enum nf_status statuses[NF_MEETING_WHYS] = {
        NF_ERR_UNREACHABLE, NF_ERR_UNREACHABLE, NF_ERR_INTERRUPTED,
        NF_ERR_MISMATCH
    };
    char room[64];

    m->guilty = rank < m->count ? rank : 0;
    m->why = why;
    if (why == NF_MEETING_STOPPED && m->guilty == m->rank)
        return nf_fail(err, NF_ERR_INTERRUPTED, "interrupted");
    return nf_fail(err, statuses[why], "member %u of %u, task t%x, %s",
                   m->guilty, m->count, (unsigned)m->tids[m->guilty],
                   why_text(m, room, sizeof(room)));
}

bool nf_meeting_is_stopped(const struct nf_meeting *m)
{
    return m->stop != NULL && *m->stop;
}

/* Notices of ends are true whoever has asked for them. */
static void hear_ends(struct nf_meeting *m)
{
    int tid;

    while (nf_pvm_hear_end(&tid)) {
        uint32_t i = nf_int_map_get(m->numbers, tid);

        if (i != NF_INT_MAP_NONE && i != m->rank) {
            m->guilty = i;
            m->why = NF_MEETING_ENDED;
        }
    }
}

static void hear_stops(struct nf_meeting *m)
{
    m->caught_up = true;
    for (uint32_t i = 0; i < m->count && m->guests != NULL; i++)
        if (m->guests[i].stopped && nf_now_us() >= m->guests[i].forgiven_us) {
            m->guilty = i;
            m->why = NF_MEETING_STOPPED;
        }
}

/* Say something to a member.  That it may be gone is known by its silence. */
static void say(struct nf_meeting *m, uint32_t to, int kind, uint64_t attempt)
{
    uint64_t words[NF_PVM_WORDS] = {
        [KIND] = MAGIC | (uint64_t)kind,
        [ID] = m->id,
        [TIDS] = m->hash,
        [ATTEMPT] = attempt,
        [NONCE] = m->nonce,
        [CONTEXT] = kind == FAIL ? (uint64_t)m->why : (uint64_t)m->context,
        [COOKIE] = kind == FAIL ? m->other : m->cookie,
        [MISSING] = m->guilty,
    };

    (void)nf_pvm_say(m->tids[to], m->tag, words);
}

/* For who opens routes already, if this is the meeting that has been called. */
void nf_meeting_stop_all(struct nf_meeting *m)
{
    struct nf_pvm_guard guard;
    int tag = m->tag;

    nf_pvm_enter(NF_PVM_MEETING_CONTEXT, false, &guard);
    m->tag |= STOP_TAG;
    for (uint32_t i = 0; i < m->count; i++)
        if (i != m->rank)
            say(m, i, STOP, m->cookie);
    m->tag = tag;
    nf_pvm_return(&guard);
}

/* ------------------------------------------------------------- inquiries */

/* Member 0 misses those that keep it waiting, the others it, until it calls. */
static bool is_missing(const struct nf_meeting *m, uint32_t member)
{
    if (m->guests == NULL)
        return member == 0 && m->nonce == 0;
    return member != 0 &&
           (m->called ? !m->guests[member].here : !m->guests[member].joined);
}

/* Less and less often: words for who never comes lie there for ever.  And by
 * those that wait for member 0 once more when its time is up: it may have come
 * since. */
static void inquire(struct nf_meeting *m)
{
    const uint64_t words[NF_PVM_WORDS] = {
        [KIND] = INQUIRY_MAGIC | INQUIRE,
        [TIDS] = m->hash,
        [NONCE] = m->attempt,
    };
    int64_t now_us = nf_now_us(), last_us = m->until_us - NF_MEETING_GRACE_US;

    if (now_us < m->ask_us)
        return;
    m->ask_us = now_us + m->ask_step_us;
    if (m->rank > 0 && now_us < last_us && m->ask_us > last_us)
        m->ask_us = last_us;
    m->ask_step_us *= 2;
    for (uint32_t i = 0; i < m->count; i++)
        if (is_missing(m, i))
            (void)nf_pvm_say(m->tids[i], INQUIRY_TAG, words);
}

/* @return how many members the other meeting has that it is in; 0: not known to be */
static uint64_t *elsewhere_of(struct nf_meeting *m, uint32_t member)
{
    return m->guests != NULL ? &m->guests[member].elsewhere : &m->elsewhere;
}

/* A member waits for us, and asks where we are. */
static void answer(const struct nf_meeting *m, uint32_t member,
                   const uint64_t asked[NF_PVM_WORDS])
{
    const uint64_t words[NF_PVM_WORDS] = {
        [KIND] = INQUIRY_MAGIC | WAITING,
        [TIDS] = m->hash,
        [NONCE] = asked[NONCE],
        [COUNT] = asked[TIDS] != m->hash ? m->count : 0,
    };

    (void)nf_pvm_say(m->tids[member], INQUIRY_TAG, words);
}

static void hear_inquiries(struct nf_meeting *m)
{
    uint64_t words[NF_PVM_WORDS] = { 0 };
    int tid = 0;

    while (nf_pvm_hear(INQUIRY_TAG, 0, &tid, words) == NF_OK) {
        uint32_t i = nf_int_map_get(m->numbers, tid);

        /* what a meeting that is over, or without us, was asked is let pass */
        if (i == NF_INT_MAP_NONE || i == m->rank)
            continue;
        if (words[KIND] == (INQUIRY_MAGIC | INQUIRE)) {
            answer(m, i, words);
        } else if (words[KIND] == (INQUIRY_MAGIC | WAITING) &&
                   words[NONCE] == m->attempt && is_missing(m, i)) {
            *elsewhere_of(m, i) = words[COUNT];
        }
    }
}

/* Time is up: the fault of one that is elsewhere, else of the first that is missing. */
static enum nf_status is_late(struct nf_meeting *m, struct nf_error *err)
{
    uint32_t first = m->count;

    for (uint32_t i = 0; i < m->count; i++) {
        if (!is_missing(m, i))
            continue;
        m->other = *elsewhere_of(m, i);
        if (m->other != 0)
            return nf_meeting_fails(m, i, NF_MEETING_ELSEWHERE, err);
        if (first == m->count)
            first = i;
    }
    return nf_meeting_fails(m, first, NF_MEETING_LATE, err);
}

/* What a member says of this meeting; anything else is let pass.
 *  @retval NF_WAIT  time is up, or m->guilty
 *  @retval NF_ERR_INTERRUPTED  we are to stop */
static enum nf_status hear(struct nf_meeting *m, uint32_t *from_p,
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
        if (status != NF_OK && nf_meeting_is_stopped(m))
            return NF_ERR_INTERRUPTED;
        if (status == NF_WAIT) {
            hear_ends(m);
            hear_stops(m);
            if (m->cookie == 0) {
                hear_inquiries(m);
                inquire(m);
            }
        }
        if (status != NF_OK &&
            (status != NF_WAIT || left_us <= 0 || m->guilty < m->count))
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

static void set_guest(struct nf_meeting *m, uint32_t from,
                      struct nf_meeting_guest guest)
{
    m->njoined += (uint32_t)guest.joined;
    m->njoined -= (uint32_t)m->guests[from].joined;
    m->nhere += (uint32_t)guest.here;
    m->nhere -= (uint32_t)m->guests[from].here;
    m->guests[from] = guest;
}

static void call_all(struct nf_meeting *m)
{
    for (uint32_t i = 1; i < m->count; i++)
        if (!m->guests[i].here)
            say(m, i, CALL, m->guests[i].attempt);
}

static enum nf_status gather(struct nf_meeting *m, struct nf_error *err)
{
    uint64_t words[NF_PVM_WORDS] = { 0 };
    uint32_t from = 0;

    while (m->nhere < m->count - 1) {
        enum nf_status status;

        if (!m->called && m->njoined == m->count - 1) {
            m->called = true;
            call_all(m);
        }
        status = hear(m, &from, words);
        if (status == NF_ERR_INTERRUPTED)
            return nf_meeting_fails(m, m->rank, NF_MEETING_STOPPED, err);
        if (status == NF_ERR_UNREACHABLE)
            return nf_no_pvmd(err);
        if (status == NF_WAIT && m->guilty < m->count)
            return nf_meeting_fails(m, m->guilty, m->why, err);
        if (status == NF_WAIT)
            return is_late(m, err);
        if (words[KIND] == STOP && words[ATTEMPT] == m->guests[from].attempt) {
            const struct nf_meeting_guest stopped = {
                .stopped = true,
                .forgiven_us = nf_now_us() + (m->caught_up ? 0 : AGAIN_US),
            };

            set_guest(m, from, stopped);
        }
        if (words[KIND] == JOIN) {
            const struct nf_meeting_guest joined = { words[ATTEMPT],
                                                     .joined = true };

            set_guest(m, from, joined);
            if (m->called)
                say(m, from, CALL, words[ATTEMPT]);
        } else if (words[KIND] == HERE && words[NONCE] == m->nonce &&
                   words[ATTEMPT] == m->guests[from].attempt) {
            struct nf_meeting_guest here = m->guests[from];

            here.here = true;
            set_guest(m, from, here);
        }
    }
    return NF_OK;
}

static enum nf_status host_meeting(struct nf_meeting *m, struct nf_error *err)
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
        status = nf_no_pvmd(err);
    m->context = context;
    m->cookie = draw();
    for (uint32_t i = 1; i < m->count; i++)
        if (m->guests[i].joined)
            say(m, i, status == NF_OK ? START : FAIL, m->guests[i].attempt);
    nf_free(m->guests);
    m->guests = NULL;
    return status;
}

/* ----------------------------------------------------------- the others */

static enum nf_status attend_meeting(struct nf_meeting *m, struct nf_error *err)
{
    const uint64_t attempt = m->attempt;
    uint64_t words[NF_PVM_WORDS] = { 0 };
    uint32_t from = 0;

    m->until_us += NF_MEETING_GRACE_US;
    say(m, 0, JOIN, attempt);
    for (;;) {
        enum nf_status status = hear(m, &from, words);

        if (status == NF_ERR_INTERRUPTED) {
            say(m, 0, STOP, attempt);
            if (m->nonce != 0) /* START may be on its way */
                nf_meeting_stop_all(m);
            return nf_meeting_fails(m, m->rank, NF_MEETING_STOPPED, err);
        }
        if (status == NF_ERR_UNREACHABLE)
            return nf_no_pvmd(err);
        if (status == NF_WAIT)
            return m->guilty < m->count
                       ? nf_meeting_fails(m, m->guilty, m->why, err)
                       : is_late(m, err);
        if (from != 0 || words[ATTEMPT] != attempt)
            continue;
        if (words[KIND] == CALL) {
            m->nonce = words[NONCE];
            say(m, 0, HERE, attempt);
        } else if (words[KIND] == FAIL) {
            m->other = words[COUNT];
            return nf_meeting_fails(m, (uint32_t)words[MISSING],
                                    words[WHY] < NF_MEETING_WHYS
                                        ? (enum nf_meeting_why)words[WHY]
                                        : NF_MEETING_LATE,
                                    err);
        } else if (words[KIND] == START && words[NONCE] == m->nonce) {
            m->context = (int)words[CONTEXT];
            m->cookie = words[COOKIE];
            return NF_OK;
        }
    }
}

/* Member 0 waits for all, they for it.  What is taken back is said now. */
static void watch_ends(const struct nf_meeting *m, bool back)
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

struct nf_meeting nf_meeting_of(const int *tids, uint32_t count, uint32_t rank,
                                const struct nf_int_map *numbers,
                                const struct nf_mesh_terms *terms)
{
    uint64_t hash = hash_of(tids, count, terms->id);
    bool for_ever = terms->timeout_us < 0 || terms->timeout_us > FOR_EVER_US;
    int64_t now_us = nf_now_us(), step_us = ASK_MOST_US;

    if (!for_ever && terms->timeout_us / 4 < step_us)
        step_us = terms->timeout_us / 4 > ASK_LEAST_US ? terms->timeout_us / 4
                                                       : ASK_LEAST_US;
    return (struct nf_meeting){
        .tids = tids,
        .numbers = numbers,
        .count = count,
        .rank = rank,
        .id = terms->id,
        .hash = hash,
        .tag = (int)(hash & 0xffffff),
        .until_us = for_ever ? FOR_EVER_US : now_us + terms->timeout_us,
        .stop = terms->stop,
        .guilty = count,
        .attempt = draw(),
        .ask_us = now_us + step_us,
        .ask_step_us = step_us,
    };
}

enum nf_status nf_meeting_hold(struct nf_meeting *m, struct nf_error *err)
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

/* Has a member given up since the meeting?  It says so before its goodbye. */
bool nf_meeting_others_stop(const struct nf_meeting *m, uint32_t *who_p)
{
    struct nf_meeting now = *m;
    uint64_t words[NF_PVM_WORDS] = { 0 };
    struct nf_pvm_guard guard;
    bool found = false;

    now.tag |= STOP_TAG;
    now.until_us = 0;
    nf_pvm_enter(NF_PVM_MEETING_CONTEXT, false, &guard);
    while (!found && hear(&now, who_p, words) == NF_OK)
        found = words[KIND] == STOP && words[NONCE] == m->nonce;
    nf_pvm_return(&guard);
    return found;
}
