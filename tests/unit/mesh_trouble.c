/* Scenes of test_mesh_pvm in which tasks stop, die, go or come late. */
#include "config.h"
#include <poll.h>
#include <pthread.h>
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/mesh_play.h"

enum {
    FDS_MOST = 64,
    SOON_MS = 10000, /* who sleeps so long has missed something */
    HANG_S = 60,     /* a call that waits for a stopped task never returns */
};

static bool wakes(struct nf_mesh *mesh, int timeout_ms)
{
    struct pollfd watch[FDS_MOST];
    const int *fds;
    size_t count = nf_mesh_fds(mesh, &fds);

    CHECK(count <= FDS_MOST);
    for (size_t i = 0; i < count; i++)
        watch[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
    return poll(watch, (nfds_t)count, timeout_ms) > 0;
}

static void expect_left(struct nf_mesh *mesh, uint32_t member)
{
    struct nf_mesh_event event = next(mesh);

    CHECK(event.kind == NF_MESH_LEFT && event.member == member);
}

/* One wakes the other as soon as that has stopped. */
static void tell_pid(struct nf_mesh *mesh, uint32_t to)
{
    say(mesh, to, (uint32_t)getpid(), NULL);
    raise(SIGSTOP);
}

/* -------------------------------------------------------- who has stopped */

/* Task 1 stops; what several meshes have on the way to it is not more than the
 * socket takes. */
void play_several_stopped(void)
{
    enum { MESHES = 6, BYTES = 2 << 20, TURNS = 20 };
    struct nf_mesh *meshes[MESHES];
    struct nf_blob *payload = pipe_payload(5, BYTES, NF_BYTES);

    for (int i = 0; i < MESHES; i++)
        meshes[i] = open_mesh((uint64_t)i + 1);
    if (me == 1) {
        tell_pid(meshes[0], 0);
        for (int i = 0; i < MESHES; i++) {
            struct nf_mesh_event event = next(meshes[i]);

            CHECK(pipe_payload_is(event.message.payload, 5, BYTES, NF_BYTES));
            nf_blob_unref(event.message.payload);
            for (uint32_t k = 0; k < TURNS; k++)
                hear(meshes[i], 0, k);
        }
    } else {
        struct nf_mesh_event event = next(meshes[0]);
        pid_t pid = (pid_t)word_of(&event);

        await_stop(pid);
        alarm(HANG_S);
        for (int i = 0; i < MESHES; i++) {
            say(meshes[i], 1, 0, payload);
            for (uint32_t k = 0; k < TURNS; k++)
                say(meshes[i], 1, k, NULL);
            CHECK(nf_mesh_next(meshes[i], &event) == NF_WAIT);
        }
        kill(pid, SIGCONT);
        for (int i = 0; i < MESHES; i++)
            drain(meshes[i], 1);
    }
    meet(meshes[0], 5);
    for (int i = 0; i < MESHES; i++)
        nf_mesh_close(meshes[i]);
    nf_blob_unref(payload);
}

/* The goodbye has room also when everything else has used what there is. */
void play_no_room(void)
{
    struct nf_mesh *mesh = open_mesh(1), *other = open_mesh(2);
    struct nf_blob *payload = pipe_payload(5, 4 << 20, NF_BYTES);
    const struct nf_mesh_message urgent = {
        .head = (const uint8_t *)"x",
        .head_bytes = 1,
        .urgent = true,
    };

    if (me == 1) {
        struct nf_mesh_event event;

        tell_pid(other, 0);
        do {
            event = next(mesh);
            if (event.kind == NF_MESH_MESSAGE)
                nf_blob_unref(event.message.payload);
        } while (event.kind == NF_MESH_MESSAGE);
    } else {
        struct nf_mesh_event event = next(other);
        pid_t pid = (pid_t)word_of(&event);

        await_stop(pid);
        alarm(HANG_S);
        say(mesh, 1, 0, payload);
        for (int i = 0; i < 100; i++)
            CHECK(nf_mesh_send(mesh, 1, &urgent) == NF_OK);
        nf_alloc_fail_after(0);
        nf_mesh_close(mesh);
        nf_alloc_fail_after(-1);
        mesh = NULL;
        kill(pid, SIGCONT);
    }
    meet(other, 6);
    nf_mesh_close(mesh);
    nf_mesh_close(other);
    nf_blob_unref(payload);
}

static pid_t pid_of(int tid)
{
    struct pvmtaskinfo *info;
    int count = 0;

    CHECK(pvm_tasks(tid, &count, &info) == 0 && count == 1);
    return (pid_t)info->ti_pid;
}

/* Nobody asks a member for a route that does not answer.  It is in the mesh as
 * soon as it goes on. */
void play_stopped_lower(void)
{
    enum { CONTEXT = 0x10000 };
    struct nf_mesh *mesh = NULL;

    if (me == 1)
        raise(SIGSTOP);
    else
        await_stop(pid_of(tids[1]));
    alarm(HANG_S);
    CHECK(nf_mesh_join_pvm(tids, 3, 77, CONTEXT, NF_MESH_CONTEXT_LENT,
                           true, &mesh, NULL) == NF_OK);
    if (me != 1) {
        for (uint32_t i = 0; i < 10; i++) {
            say(mesh, 2 - me, i, NULL);
            hear(mesh, 2 - me, i);
        }
        if (me == 0)
            kill(pid_of(tids[1]), SIGCONT);
    }
    meet(mesh, 20);
    nf_mesh_close(mesh);
}

/* Task 1 is there until all begin to open routes, and then does not call PVM
 * any more: the others give up in time, whether they come before or behind it.
 */
void play_here_and_gone(void)
{
    const struct nf_mesh_terms terms = { .id = 1, .timeout_us = 1000000 };
    struct nf_error err = { NF_OK, "" };
    struct nf_mesh *mesh = NULL;

    alarm(HANG_S);
    if (me == 1) {
        say_here_and_no_more(1);
        for (;;)
            pause(); /* until it is killed */
    }
    CHECK(nf_mesh_open_pvm(tids, ntasks, &terms, &mesh, &err) ==
          NF_ERR_UNREACHABLE);
    CHECK(mesh == NULL && strstr(err.text, "member 1 of 4") != NULL);
    if (me > 0) {
        tell(0);
        return;
    }
    await_word(2);
    await_word(3);
    kill(pid_of(tids[1]), SIGKILL);
}

/* ------------------------------------------------------- who is asleep */

/* Nothing that has come is waited for, whoever has made libpvm read it. */
void play_asleep(void)
{
    struct nf_mesh *a = open_mesh(1), *b = open_mesh(2);
    struct nf_blob *payload = pipe_payload(1, 4 << 20, NF_BYTES);
    struct nf_mesh_event event;

    if (me == 1) {
        say(a, 0, 1, NULL);
        say(a, 0, 2, NULL);
        hear(b, 0, 3);
        event = next(a);
        CHECK(pipe_payload_is(event.message.payload, 1, 4 << 20, NF_BYTES));
        nf_blob_unref(event.message.payload);
    } else {
        usleep(200000);
        hear(a, 1, 1); /* and has got the second too */
        CHECK(wakes(a, SOON_MS));
        hear(a, 1, 2);
        say(a, 1, 0, payload);
        CHECK(nf_mesh_backlog_bytes(a, 1) > 0);
        say(b, 1, 3, NULL);
        while (nf_mesh_backlog_bytes(a, 1) > 0) {
            usleep(20000); /* what confirms that is read in the other mesh */
            CHECK(nf_mesh_next(b, &event) == NF_WAIT);
            CHECK(wakes(a, SOON_MS));
            CHECK(nf_mesh_next(a, &event) == NF_WAIT);
        }
    }
    meet(b, 4);
    nf_mesh_close(a);
    nf_mesh_close(b);
    nf_blob_unref(payload);
}

/* A death is known in all meshes, whichever has read of it. */
void play_asleep_death(void)
{
    struct nf_mesh *a = open_mesh(1), *b = open_mesh(2);

    if (me == 1) {
        hear(a, 0, 1);
        raise(SIGKILL);
    }
    say(a, 1, 1, NULL);
    usleep(300000);
    expect_left(b, 1);
    CHECK(wakes(a, SOON_MS));
    expect_left(a, 1);
    nf_mesh_close(a);
    nf_mesh_close(b);
}

/* --------------------------------------------------------- who has gone */

/* A program that has left PVM stays out of it, whatever it asks its mesh. */
void play_left_pvm(void)
{
    struct nf_mesh *mesh = open_mesh(1), *other;
    const int *fds;

    other = open_mesh(2);
    if (me == 1) {
        nf_mesh_close(mesh);
        meet(other, 1);
        nf_mesh_close(other);
        return;
    }
    meet(other, 1); /* behind the goodbye, that is read by it too */
    pvm_exit();
    expect_left(mesh, 1);
    CHECK(nf_pvm_self() < 0);
    CHECK(nf_mesh_fds(mesh, &fds) >= 1 && wakes(mesh, 0));
    CHECK(nf_pvm_self() < 0);
    CHECK(nf_mesh_wait(mesh, 0) == NF_OK);
    nf_mesh_close(other);
    nf_mesh_close(mesh);
    CHECK(nf_pvm_self() < 0);
}

/* All notices that were asked for are read or taken back: none is left in a
 * context that nobody looks at. */
void play_notices(void)
{
    enum { TIMES = 5 };
    struct nf_mesh *mesh = open_mesh(100);
    int last;

    for (uint64_t i = 0; i < TIMES; i++) {
        struct nf_mesh *one = open_mesh(i + 1);

        meet(one, 1);
        nf_mesh_close(one);
    }
    if (me == 1) {
        nf_mesh_close(mesh);
        return;
    }
    expect_left(mesh, 1);
    nf_mesh_close(mesh);
    usleep(300000); /* the other one ends */
    last = pvm_newcontext();
    for (int context = last - 2 * TIMES - 10; context <= last; context++) {
        pvm_setcontext(context);
        CHECK(context < 1 || pvm_probe(-1, -1) == 0);
    }
    pvm_setcontext(0);
}

/* -------------------------------------------------------- who comes late */

static uint32_t make_context(struct nf_mesh *mesh)
{
    struct nf_mesh_event event;

    if (me > 0) {
        while ((event = next(mesh)).member != 0)
            note_ahead(&event); /* that one has it already */
        return word_of(&event);
    }
    for (uint32_t i = 1; i < ntasks; i++)
        say(mesh, i, 0x10000, NULL);
    return 0x10000;
}

static struct nf_mesh *join(uint32_t context, uint64_t cookie, bool routes)
{
    struct nf_mesh *mesh = NULL;

    CHECK(nf_mesh_join_pvm(tids, ntasks, cookie, (int)context,
                           NF_MESH_CONTEXT_LENT, routes, &mesh, NULL) == NF_OK);
    return mesh;
}

/* Who opens its end after the other one has closed it hears so at once. */
void play_late(void)
{
    struct nf_mesh *mesh = open_mesh(1), *shy;
    uint32_t context = make_context(mesh);
    struct nf_mesh_event event;

    if (me == 0) {
        shy = join(context, 5, false);
        nf_mesh_close(shy);
        meet(mesh, 1);
        while ((event = next(mesh)).kind == NF_MESH_MESSAGE)
            ;
        CHECK(event.kind == NF_MESH_LEFT);
    } else {
        meet(mesh, 1);
        shy = join(context, 5, me == 2);
        do
            event = next(shy);
        while (event.member != 0);
        CHECK(event.kind == NF_MESH_LEFT);
        nf_mesh_close(shy);
    }
    nf_mesh_close(mesh);
}

/* A death is no news of a mesh that has been closed here and that not all know
 * of yet: nobody would ever take it. */
void play_closed_death(void)
{
    struct nf_mesh *mesh = open_mesh(1);
    uint32_t context = make_context(mesh);
    struct nf_mesh_event event;

    if (me == 0)
        nf_mesh_close(join(context, 5, false));
    meet(mesh, 1);
    if (me == 1) { /* not before the others know that it was there */
        await_word(0);
        await_word(2);
        raise(SIGKILL);
    }
    tell(1);
    expect_left(mesh, 1);
    if (me == 0) {
        usleep(300000); /* in the context of the other mesh it is told again */
        CHECK(nf_mesh_next(mesh, &event) == NF_WAIT);
        CHECK(nf_mesh_pvm_is_used() && !nf_mesh_pvm_is_pending());
        say(mesh, 2, 2, NULL);
    } else {
        hear(mesh, 0, 2);
    }
    nf_mesh_close(mesh);
}

/* Members that wait for nobody: some come late, with routes and without. */
void play_shy(void)
{
    struct nf_mesh *mesh = open_mesh(1), *shy;
    uint32_t context = make_context(mesh);

    for (uint64_t round = 0; round < 2; round++) {
        if (me == round)
            usleep(200000);
        shy = join(context, 10 + round, round == 1);
        for (uint32_t word = 0; word < 20; word++)
            meet(shy, word);
        nf_mesh_close(shy);
        meet(mesh, 100 + (uint32_t)round);
    }
    nf_mesh_close(mesh);
}

/* What comes for meshes that this task does not have yet is kept: a window of
 * each, of one member. */
void play_early(void)
{
    enum { SUBSETS = 8, BYTES = 4 << 20 };
    const uint32_t both[] = { 0, 1 };
    struct nf_mesh *mesh = open_mesh(1), *subs[SUBSETS];
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_BYTES);
    struct nf_mesh_event event;

    if (me == 1)
        hear(mesh, 0, 1); /* behind all that could be sent so far */
    for (uint64_t i = 0; i < SUBSETS; i++)
        CHECK(nf_mesh_subset(mesh, both, 2, i, &subs[i], NULL) == NF_OK);
    if (me == 0) {
        for (int i = 0; i < SUBSETS; i++)
            say(subs[i], 1, 2, payload);
        for (int turn = 0; turn < 50; turn++) {
            for (int i = 0; i < SUBSETS; i++)
                CHECK(nf_mesh_next(subs[i], &event) == NF_WAIT);
            usleep(2000);
        }
        say(mesh, 1, 1, NULL);
        for (int i = 0; i < SUBSETS; i++)
            drain(subs[i], 1);
    } else {
        for (int i = 0; i < SUBSETS; i++) {
            event = next(subs[i]);
            CHECK(pipe_payload_is(event.message.payload, 1, BYTES, NF_BYTES));
            nf_blob_unref(event.message.payload);
        }
    }
    meet(mesh, 3);
    for (int i = 0; i < SUBSETS; i++)
        nf_mesh_close(subs[i]);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

/* ------------------------------------------------------------ the rest */

static struct nf_mesh *used;

static void *use(void *nothing)
{
    struct nf_mesh_event event;
    sigset_t now;

    (void)nothing;
    while (used == NULL)
        usleep(1000);
    say(used, 1 - me, 1, NULL);
    hear(used, 1 - me, 1);
    for (int looks = 0; looks < 3; looks++) /* at libpvm too: that may have come by a duct */
        if (nf_mesh_next(used, &event) == NF_OK)
            note_ahead(&event);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
    CHECK(sigismember(&now, SIGPIPE) == 1);
    return NULL;
}

/* A thread that was there before the mesh uses it: a member that dies makes no
 * signal in it. */
void play_thread(void)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, use, NULL) == 0);
    usleep(50000);
    used = open_mesh(1);
    CHECK(pthread_join(thread, NULL) == 0);
    meet(used, 2);
    nf_mesh_close(used);
}

void play_pause(void)
{
    enum { COUNT = 20, URGENT = 77 };
    struct nf_mesh *mesh = open_mesh(1);
    uint32_t word = URGENT;
    const struct nf_mesh_message urgent = {
        .head = (const uint8_t *)&word,
        .head_bytes = sizeof(word),
        .urgent = true,
    };
    struct nf_mesh_event event;

    if (me == 1) {
        hear(mesh, 0, 1);
        for (uint32_t i = 0; i < COUNT; i++)
            say(mesh, 0, i, NULL);
        CHECK(nf_mesh_send(mesh, 0, &urgent) == NF_OK);
        nf_mesh_close(mesh);
        return;
    }
    nf_mesh_pause(mesh, 1, true);
    say(mesh, 1, 1, NULL);
    hear(mesh, 1, URGENT); /* and nothing else */
    usleep(100000);
    CHECK(nf_mesh_next(mesh, &event) == NF_WAIT);
    nf_mesh_pause(mesh, 1, false);
    CHECK(wakes(mesh, SOON_MS));
    for (uint32_t i = 0; i < COUNT; i++)
        hear(mesh, 1, i);
    expect_left(mesh, 1);
    nf_mesh_close(mesh);
}

/* A paused member ends, and what it had begun to send can't become whole. */
void play_pause_death(void)
{
    struct nf_mesh *mesh = open_mesh(1);
    struct nf_blob *payload = pipe_payload(1, 4 << 20, NF_BYTES);

    if (me == 1) {
        hear(mesh, 0, 1);
        say(mesh, 0, 2, payload);
        raise(SIGKILL);
    }
    nf_mesh_pause(mesh, 1, true);
    say(mesh, 1, 1, NULL);
    expect_left(mesh, 1);
    nf_mesh_pause(mesh, 1, false);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

static int handle_some(int buffer)
{
    (void)buffer;
    return 0;
}

/* A program that takes messages of all contexts is told that this does not go.
 */
void play_handler(void)
{
    const struct nf_mesh_terms terms = { .id = 1,
                                         .timeout_us = INT64_MAX - 1 };
    struct nf_error err = { NF_OK, "" };
    struct nf_mesh *mesh = NULL;
    int handler = pvm_addmhf(-1, 5, -1, handle_some);

    CHECK(handler >= 0);
    CHECK(nf_mesh_open_pvm(tids, ntasks, &terms, &mesh, &err) == NF_ERR_INVAL);
    CHECK(mesh == NULL && strstr(err.text, "pvm_addmhf") != NULL);
}
