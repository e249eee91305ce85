/* Scenes of test_mesh_pvm in which members end, or give up, while others wait
 * for them to come or talk without a pause. */
#include "config.h"
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"
#include "common/net/pvm_context.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/mesh_play.h"

enum {
    LONG_US = 60000000, /* what nobody may wait for */
    SOON_US = 10000000,
    STOP_AFTER_US = 300000,
    AGAIN_US = 1000000, /* as in mesh_meeting.c */
};

/* ------------------------------------------------------ while a mesh opens */

static volatile int stop;
static volatile int64_t stopped_us;

static void on_alarm(int number)
{
    (void)number;
    stop = 1;
    stopped_us = nf_now_us();
}

/* Opening fails, long before time is up.  @return how long it took */
static int64_t fail_to_open(uint64_t id, enum nf_status status,
                            struct nf_error *err_p)
{
    const struct nf_mesh_terms terms = { .id = id,
                                         .timeout_us = LONG_US,
                                         .stop = &stop };
    struct nf_mesh *mesh = NULL;
    int64_t start_us = nf_now_us(), took_us;
    enum nf_status got = nf_mesh_open_pvm(tids, ntasks, &terms, &mesh, err_p);

    took_us = nf_now_us() - start_us;
    if (got != status)
        fprintf(stderr, "task %u: status %d, %s\n", me, (int)got, err_p->text);
    CHECK(got == status && mesh == NULL);
    CHECK(took_us < SOON_US);
    return took_us;
}

static void expect_failure(uint64_t id, enum nf_status status, const char *text)
{
    struct nf_error err = { NF_OK, "" };

    (void)fail_to_open(id, status, &err);
    if (strstr(err.text, text) == NULL)
        fprintf(stderr, "task %u: %s\n", me, err.text);
    CHECK(strstr(err.text, text) != NULL);
}

/* What members say in the meeting, by hand: see mesh_meeting.c. */
enum { JOIN = 1, CALL, HERE, START, FAIL, STOP };
enum { KIND, ID, TIDS, ATTEMPT, NONCE, CONTEXT, COOKIE };

static uint64_t hash_of(uint64_t id)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ id;

    for (uint32_t i = 0; i < ntasks; i++)
        hash = (hash ^ (uint32_t)tids[i]) * UINT64_C(1099511628211);
    return hash ^ (hash >> 31);
}

/* In a meeting of mesh @p id. */
static void say_by_hand(uint32_t to, uint64_t id, int kind,
                        uint64_t words[NF_PVM_WORDS])
{
    struct nf_pvm_guard guard;

    words[KIND] = UINT64_C(0x4e464d53) << 32 | (uint64_t)kind;
    words[ID] = id;
    words[TIDS] = hash_of(id);
    nf_pvm_enter(NF_PVM_MEETING_CONTEXT, false, &guard);
    CHECK(nf_pvm_say(tids[to], (int)(hash_of(id) & 0xffffff), words) == NF_OK);
    nf_pvm_return(&guard);
}

/* @return of whom it is */
static uint32_t hear_by_hand(uint64_t id, int kind,
                             uint64_t words_p[NF_PVM_WORDS])
{
    struct nf_pvm_guard guard;
    uint32_t from = 0;
    int tid = 0;

    nf_pvm_enter(NF_PVM_MEETING_CONTEXT, false, &guard);
    CHECK(nf_pvm_hear((int)(hash_of(id) & 0xffffff), PATIENCE_US, &tid,
                      words_p) == NF_OK);
    nf_pvm_return(&guard);
    CHECK((words_p[KIND] & 7) == (uint64_t)kind && words_p[ID] == id);
    while (tids[from] != tid)
        from++;
    return from;
}

void say_here_and_no_more(uint64_t id)
{
    uint64_t words[NF_PVM_WORDS] = { [ATTEMPT] = 99 };

    say_by_hand(0, id, JOIN, words);
    CHECK(hear_by_hand(id, CALL, words) == 0);
    say_by_hand(0, id, HERE, words);
}

/* Task 2 stays away.  A signal handler ends the wait of one task, and so that
 * of all, whether it is the first one or not. */
void play_interrupted(void)
{
    struct sigaction action = { .sa_handler = on_alarm,
                                .sa_flags = SA_RESTART };
    struct itimerval once = { .it_value = { .tv_usec = STOP_AFTER_US } };
    struct nf_mesh *mesh;

    sigaction(SIGALRM, &action, NULL);
    for (uint32_t who = 0; who < 2 && me < 2; who++) {
        char text[64];

        stop = 0;
        snprintf(text, sizeof(text), "member %u of 3, task t%x, was", who,
                 (unsigned)tids[who]);
        if (who == me)
            setitimer(ITIMER_REAL, &once, NULL);
        expect_failure(who + 1, NF_ERR_INTERRUPTED,
                       who == me ? "interrupted" : text);
    }
    stop = 0;
    mesh = open_mesh(9);
    meet(mesh, 1);
    nf_mesh_close(mesh);
}

/* All have come, and wait for task 3 to open its routes: it never does. */
void play_interrupted_routes(void)
{
    struct sigaction action = { .sa_handler = on_alarm,
                                .sa_flags = SA_RESTART };
    struct itimerval once = { .it_value = { .tv_usec = STOP_AFTER_US } };

    sigaction(SIGALRM, &action, NULL);
    for (uint32_t who = 0; who < 3; who++) {
        char text[64];

        stop = 0;
        snprintf(text, sizeof(text), "member %u of 4, task t%x, was", who,
                 (unsigned)tids[who]);
        if (me == 3) {
            say_here_and_no_more(who + 1);
            for (uint32_t i = 0; i < 3; i++)
                await_word(i);
            for (uint32_t i = 0; i < 3; i++)
                tell(i);
            continue;
        }
        if (who == me)
            setitimer(ITIMER_REAL, &once, NULL);
        expect_failure(who + 1, NF_ERR_INTERRUPTED,
                       who == me ? "interrupted" : text);
        tell(3);
        await_word(3);
    }
}

/* Task 2 is stopped when all are there, and word of that is on its way: the
 * others, which have it already, do not wait for it. */
void play_interrupted_crossing(void)
{
    uint64_t attempts[3] = { 0 }, words[NF_PVM_WORDS];
    struct sigaction action = { .sa_handler = on_alarm,
                                .sa_flags = SA_RESTART };
    struct itimerval once = { .it_value = { .tv_usec = STOP_AFTER_US } };

    if (me > 0) {
        sigaction(SIGALRM, &action, NULL);
        if (me == 2)
            setitimer(ITIMER_REAL, &once, NULL);
        expect_failure(1, NF_ERR_INTERRUPTED,
                       me == 2 ? "interrupted" : "member 2 of 3, task");
        tell(0);
        return;
    }
    for (uint32_t i = 1; i < 3; i++) {
        uint32_t from = hear_by_hand(1, JOIN, words);

        attempts[from] = words[ATTEMPT];
    }
    for (uint32_t i = 1; i < 3; i++) {
        uint64_t call[NF_PVM_WORDS] = { [ATTEMPT] = attempts[i], [NONCE] = 7 };

        say_by_hand(i, 1, CALL, call);
        (void)hear_by_hand(1, HERE, words);
    }
    {
        uint64_t start[NF_PVM_WORDS] = { [ATTEMPT] = attempts[1],
                                         [NONCE] = 7,
                                         [CONTEXT] =
                                             (uint64_t)nf_pvm_context_create(),
                                         [COOKIE] = 5 };

        say_by_hand(1, 1, START, start);
    }
    await_word(1);
    await_word(2);
}

/* What is longer has waited for its full second. */
enum { TRIES = 5, CLOSES = 12, AT_ONCE_US = 800000 };

/* Task 0 closes its mesh when the goodbye of the other one has come, has nothing
 * to wait for, and lives on: that one need not wait for it. */
void play_closed_together(void)
{
    int late = 0; /* once this host may have been busy */

    for (uint64_t id = 1; id <= CLOSES; id++) {
        struct nf_mesh *mesh = open_mesh(id);
        int64_t start_us;

        usleep(me == 0 ? 80000 : 20000); /* it is read in the close */
        start_us = nf_now_us();
        nf_mesh_close(mesh);
        late += nf_now_us() - start_us > AT_ONCE_US;
        tell(1 - me);
        await_word(1 - me);
    }
    CHECK(late <= 1);
}

/* Task 1 is there and never says a word, to one before it and one behind it: a
 * stop of the last one does not wait for it. */
void play_interrupted_silence(void)
{
    struct sigaction action = { .sa_handler = on_alarm,
                                .sa_flags = SA_RESTART };
    struct itimerval once = { .it_value = { .tv_usec = STOP_AFTER_US } };
    int64_t least_us = INT64_MAX; /* this host may be busy for a while */

    sigaction(SIGALRM, &action, NULL);
    for (uint64_t id = 1; id <= TRIES; id++) {
        if (me == 1) {
            say_here_and_no_more(id);
            await_word(0);
            await_word(2);
            tell(0);
            tell(2);
            continue;
        }
        stop = 0;
        if (me == 2)
            setitimer(ITIMER_REAL, &once, NULL);
        expect_failure(id, NF_ERR_INTERRUPTED,
                       me == 2 ? "interrupted" : "member 2 of 3, task");
        if (me == 2 && nf_now_us() - stopped_us < least_us)
            least_us = nf_now_us() - stopped_us;
        tell(1);
        await_word(1);
    }
    CHECK(me != 2 || least_us < AT_ONCE_US);
}

/* Task 1 is stopped while task 0 is elsewhere, and comes again, before task 0
 * opens the same mesh or soon after. */
void play_stopped_before(void)
{
    struct nf_mesh *mesh;

    for (uint64_t id = 1; id <= 2; id++) {
        if (me == 1) {
            stop = 1;
            expect_failure(id, NF_ERR_INTERRUPTED, "interrupted");
            stop = 0;
            tell(0);
            if (id == 2)
                usleep(STOP_AFTER_US);
        } else {
            await_word(1);
            if (id == 1)
                usleep(STOP_AFTER_US);
        }
        mesh = open_mesh(id);
        meet(mesh, 1);
        nf_mesh_close(mesh);
    }
    if (me == 1) { /* and if it does not come again */
        stop = 1;
        expect_failure(3, NF_ERR_INTERRUPTED, "interrupted");
        tell(0);
        await_word(0);
    } else {
        await_word(1);
        expect_failure(3, NF_ERR_INTERRUPTED, "member 1 of 2, task");
        tell(1);
    }
}

/* Task 2 was stopped before task 0 began, and may come again; task 1 is stopped
 * then: it is that one who ends it. */
void play_stopped_each(void)
{
    uint64_t words[NF_PVM_WORDS] = { [ATTEMPT] = 99 };
    struct nf_error err = { NF_OK, "" };
    int64_t took_us;

    if (me == 0) {
        await_word(2);
        tell(1);
        took_us = fail_to_open(1, NF_ERR_INTERRUPTED, &err);
        /* a busy machine may keep task 1 longer than task 2 has to come again */
        CHECK(strstr(err.text, took_us < AGAIN_US ? "member 1 of 3, task"
                                                  : "of 3, task") != NULL);
        tell(1);
        tell(2);
        return;
    }
    if (me == 1) {
        await_word(0);
        usleep(STOP_AFTER_US);
    }
    say_by_hand(0, 1, JOIN, words);
    say_by_hand(0, 1, STOP, words);
    if (me == 2)
        tell(0);
    await_word(0);
}

/* A task that ends before it has come is not waited for, whoever it is. */
void play_ended_early(void)
{
    char text[64];

    if (me == 2) {
        await_word(0);
        await_word(1);
        usleep(STOP_AFTER_US);
        raise(SIGKILL);
    }
    tell(2);
    snprintf(text, sizeof(text), "member 2 of 3, task t%x, has ended",
             (unsigned)tids[2]);
    expect_failure(1, NF_ERR_UNREACHABLE, text);
    expect_failure(2, NF_ERR_UNREACHABLE, text); /* nor one that has */
}

void play_first_ended_early(void)
{
    char text[64];

    if (me == 0) {
        await_word(1);
        await_word(2);
        usleep(STOP_AFTER_US);
        raise(SIGKILL);
    }
    tell(0);
    snprintf(text, sizeof(text), "member 0 of 3, task t%x, has ended",
             (unsigned)tids[0]);
    expect_failure(1, NF_ERR_UNREACHABLE, text);
}

/* ---------------------------------------------------- in unbroken traffic */

enum {
    /* Of the one that ends: so few that nobody confirms them.  What is sent to
     * a task that has ended makes libpvm throw away what it has not read of it.
     */
    WORDS = 15,
    TALK = 5000,           /* a word of those that talk, and ... */
    ENOUGH = 5001,         /* ... their last */
    TAKES_US = 2000,       /* longer than to send one */
    AHEAD_BYTES = 1 << 20, /* so there is always one more */
    TOLD_WORDS = 5000, /* of the other; never, but for silence and patience */
    TALK_BYTES = 2000,
};

static void spin(int64_t us)
{
    int64_t until_us = nf_now_us() + us;

    while (nf_now_us() < until_us)
        continue;
}

/* Until what was sent has gone, whatever comes. */
static void flush(struct nf_mesh *mesh, uint32_t to)
{
    struct nf_mesh_event event;

    while (nf_mesh_backlog_bytes(mesh, to) > 0)
        if (nf_mesh_next(mesh, &event) != NF_OK)
            CHECK(nf_mesh_wait(mesh, PATIENCE_US) == NF_OK);
        else if (event.kind == NF_MESH_MESSAGE)
            nf_blob_unref(event.message.payload);
}

/* Say all, so that it is on its way, and end. */
static void say_and_end(struct nf_mesh *mesh)
{
    for (uint32_t i = 0; i < WORDS; i++)
        for (uint32_t to = 0; to < 2; to++)
            say(mesh, to, i, NULL);
    drain(mesh, 0);
    drain(mesh, 1);
    raise(SIGKILL);
}

/* Tasks 0 and 1 have always something from each other to take.  That task 2 has
 * ended is told all the same, and behind all that it has said. */
void play_busy_death(void)
{
    struct nf_mesh *mesh = open_mesh(1);
    struct nf_blob *payload = pipe_payload(1, TALK_BYTES, NF_BYTES);
    uint32_t heard = 0, since = 0; /* ... words of the other, behind these */
    bool told = false, enough = false;

    if (me == 2)
        say_and_end(mesh);
    while (!told || !enough) {
        struct nf_mesh_event event;

        while (!told &&
               nf_mesh_backlog_bytes(mesh, 1 - me) < AHEAD_BYTES)
            say(mesh, 1 - me, TALK, payload);
        event = next(mesh);
        if (event.kind == NF_MESH_LEFT) {
            CHECK(event.member == 2 && heard == WORDS && !told);
            told = true;
            say(mesh, 1 - me, ENOUGH, NULL);
            continue;
        }
        if (event.member == 2) {
            CHECK(word_of(&event) == heard++);
            continue;
        }
        enough = enough || word_of(&event) == ENOUGH;
        nf_blob_unref(event.message.payload);
        spin(TAKES_US);
        CHECK(told || heard < WORDS || ++since < TOLD_WORDS);
    }
    flush(mesh, 1 - me);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

/* Both ends close at once: the goodbye that comes after the own end has gone is
 * not left in libpvm, where nobody would ever look.  Task 1 says it as it would
 * if the other one's had come just after it looked. */
void play_late_bye(void)
{
    struct nf_mesh *mesh = open_mesh(1), *one = open_mesh(2), *more;
    struct mesh_pvm *p = (struct mesh_pvm *)one;
    int context = p->space->context;
    struct nf_pvm_guard guard;
    struct nf_link_out out;

    meet(one, 1);
    if (me == 0)
        nf_mesh_close(one);
    more = open_mesh(3);
    if (me == 1) {
        nf_pvm_enter(context, false, &guard);
        nf_link_signal(&p->members[0].link, KIND_BYE, &out);
        nf_mesh_pvm_transmit(p, 0, &out);
        nf_pvm_return(&guard);
        nf_mesh_close(one);
    }
    meet(mesh, 2); /* on the same route, behind the goodbye */
    if (me == 0) {
        pvm_setcontext(context);
        CHECK(pvm_probe(-1, -1) == 0);
        pvm_setcontext(0);
    }
    nf_mesh_close(more);
    nf_mesh_close(mesh);
}
