/* What the tasks of test_mesh_pvm do: each plays its part of a scene. */
#include "config.h"
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/net/mesh_pvm.h"
#include "common/net/pvm_route.h"
#include "common/wire/link.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/mesh_play.h"
#include "tests/unit/mesh_task.h"

static uint64_t seed_of(uint32_t from, uint32_t to, uint32_t i)
{
    return 1 + (from * 8 + to) * UINT64_C(1000) + i;
}

static enum nf_type type_of(uint64_t seed)
{
    return (enum nf_type)(seed % (NF_INT16 + 1));
}

static size_t bytes_of(uint64_t seed)
{
    struct nf_rng rng = { .state = seed };
    bool large = nf_rng_below(&rng, 3) == 0;
    size_t bytes = (size_t)nf_rng_below(&rng, large ? (1 << 20) + 1 : 5000);

    return seed % 10 == 0 ? 0 : bytes - bytes % 8;
}

static void say_seeded(struct nf_mesh *mesh, uint32_t to, uint32_t i)
{
    uint64_t seed = seed_of(mesh->rank, to, i);
    struct nf_blob *payload = pipe_payload(seed, bytes_of(seed), type_of(seed));

    say(mesh, to, i, bytes_of(seed) > 0 ? payload : NULL);
    nf_blob_unref(payload);
}

static bool hear_seeded(struct nf_mesh *mesh, uint32_t *got)
{
    struct nf_mesh_event event;
    enum nf_status status = nf_mesh_next(mesh, &event);
    uint64_t seed;

    if (status == NF_WAIT)
        return false;
    CHECK(status == NF_OK);
    if (event.kind == NF_MESH_LEFT) {
        CHECK(got[event.member] == MESSAGES);
        return false;
    }
    seed = seed_of(event.member, mesh->rank, got[event.member]);
    CHECK(word_of(&event) == got[event.member]);
    CHECK(pipe_payload_is(event.message.payload, seed, bytes_of(seed),
                          type_of(seed)));
    nf_blob_unref(event.message.payload);
    got[event.member]++;
    return true;
}

static void play_exchange(void)
{
    struct nf_mesh *mesh = open_mesh(1);
    uint32_t sent[OWN_TASKS_MOST] = { 0 }, got[OWN_TASKS_MOST] = { 0 }, all = 0;
    struct nf_rng rng = { .state = me + 1 };

    for (uint32_t n = 0; n < (ntasks - 1) * MESSAGES; n++) {
        uint32_t to = (uint32_t)nf_rng_below(&rng, ntasks);

        while (to == me || sent[to] == MESSAGES)
            to = (to + 1) % ntasks;
        say_seeded(mesh, to, sent[to]++);
        while (nf_rng_below(&rng, 3) == 0 && hear_seeded(mesh, got))
            all++;
    }
    while (all < (ntasks - 1) * MESSAGES)
        if (hear_seeded(mesh, got))
            all++;
        else
            CHECK(nf_mesh_wait(mesh, PATIENCE_US) == NF_OK);
    for (uint32_t i = 0; i < ntasks; i++)
        drain(mesh, i);
    nf_mesh_close(mesh);
}

/* Task 2 stops; the others neither block nor lose what is for it. */
static void play_stopped(void)
{
    enum { BYTES = 8 << 20, TURNS = 200 };
    struct nf_mesh *mesh = open_mesh(1);
    struct nf_blob *payload = pipe_payload(5, BYTES, NF_BYTES);

    if (me == 2) {
        say(mesh, 0, (uint32_t)getpid(), NULL);
        raise(SIGSTOP);
        for (int got = 0; got < 2;) {
            struct nf_mesh_event event = next(mesh);

            if (event.message.payload == NULL) {
                note_ahead(&event); /* the first is through */
                continue;
            }
            CHECK(pipe_payload_is(event.message.payload, 5, BYTES, NF_BYTES));
            nf_blob_unref(event.message.payload);
            got++;
        }
    } else {
        struct nf_mesh_event event;
        uint32_t pid = 0;

        if (me == 0) {
            event = next(mesh);
            pid = word_of(&event);
            await_stop((pid_t)pid);
            say(mesh, 1, 4, NULL);
        } else {
            hear(mesh, 0, 4);
        }
        alarm(60); /* a send that blocks never returns */
        say(mesh, 2, 1, payload);
        for (uint32_t i = 0; i < TURNS; i++) {
            say(mesh, 1 - me, i, NULL);
            hear(mesh, 1 - me, i);
        }
        if (me == 0) { /* all that has not gone is there, and no more */
            CHECK(nf_mesh_backlog_bytes(mesh, 2) >
                  BYTES - 2 * NF_LINK_WINDOW_MAX_BYTES);
            CHECK(nf_mesh_backlog_bytes(mesh, 2) <= BYTES + 4);
        }
        if (me == 0)
            kill((pid_t)pid, SIGCONT);
    }
    meet(mesh, 5);
    CHECK(atomic_load(&payload->refs) == 1);
    nf_blob_unref(payload);
    nf_mesh_close(mesh);
}

/* What has not begun is dropped; the member is stopped meanwhile. */
static void play_dropped(void)
{
    struct nf_mesh *mesh = open_mesh(1);
    struct nf_blob *payload = pipe_payload(5, 8 << 20, NF_BYTES);

    if (me == 0) {
        struct nf_mesh_event event = next(mesh);

        await_stop((pid_t)word_of(&event));
        for (uint32_t i = 0; i < 3; i++)
            say(mesh, 1, i, payload);
        CHECK(nf_mesh_moved_bytes(mesh) > 0);
        nf_mesh_drop(mesh);
        CHECK(nf_mesh_backlog_bytes(mesh, 1) < payload->bytes);
        CHECK(atomic_load(&payload->refs) == 2);
        kill((pid_t)word_of(&event), SIGCONT);
    } else {
        say(mesh, 0, (uint32_t)getpid(), NULL);
        raise(SIGSTOP);
        hear(mesh, 0, 0);
        CHECK(nf_mesh_moved_bytes(mesh) > payload->bytes / 2);
    }
    meet(mesh, 4);
    nf_blob_unref(payload);
    nf_mesh_close(mesh);
}

/* The third member may be further than we are, or through. */
static struct nf_mesh_event next_of(struct nf_mesh *mesh, uint32_t member)
{
    struct nf_mesh_event event;

    do
        event = next(mesh);
    while (event.member != member);
    return event;
}

static void play_killed(void)
{
    const uint32_t rest[] = { 0, 2 };
    struct nf_mesh *mesh = open_mesh(1), *sub = NULL, *more;
    struct nf_mesh_event event;

    if (me == 1) {
        say(mesh, 0, 9, NULL);
        say(mesh, 2, 9, NULL);
        raise(SIGKILL);
    }
    event = next_of(mesh, 1);
    CHECK(word_of(&event) == 9); /* what it said before is not lost */
    event = next_of(mesh, 1);
    CHECK(event.kind == NF_MESH_LEFT);
    say(mesh, 1, 3, NULL); /* to nobody */
    CHECK(nf_mesh_backlog_bytes(mesh, 1) == 0);
    say(mesh, 2 - me, 55, NULL); /* a leftover */
    if (me == 2)
        usleep(100000); /* the other one sends to what we do not have yet */
    CHECK(nf_mesh_subset(mesh, rest, 2, 7, &sub, NULL) == NF_OK);
    CHECK(sub->rank == me / 2 && sub->ranks == 2);
    CHECK(nf_mesh_subset(mesh, rest, 2, 7, &more, NULL) == NF_ERR_INVAL);
    say(sub, 1 - sub->rank, 100, NULL);
    nf_mesh_close(mesh);
    hear(sub, 1 - sub->rank, 100);
    for (uint32_t i = 0; i < MESSAGES; i++)
        say_seeded(sub, 1 - sub->rank, i);
    for (uint32_t i = 0, got[2] = { 0 }; i < MESSAGES;)
        if (hear_seeded(sub, got))
            i++;
        else
            CHECK(nf_mesh_wait(sub, PATIENCE_US) == NF_OK);
    meet(sub, 8);
    if (sub->rank == 0) {
        nf_mesh_close(sub);
        return;
    }
    event = next(sub); /* who closes its mesh has left */
    CHECK(event.kind == NF_MESH_LEFT && event.member == 0);
    nf_mesh_close(sub);
}

static void send_garbage(int to, int tag, struct nf_rng *rng)
{
    static uint8_t data[4096];
    int bytes = (int)nf_rng_below(rng, sizeof(data));

    for (int k = 0; k < bytes; k++)
        data[k] = (uint8_t)nf_rng_next(rng);
    if (bytes >= NF_FRAME_HEADER_BYTES && bytes % 3 > 0) {
        struct nf_frame f = {
            .kind = (enum nf_msg_kind)nf_rng_below(rng, NF_MSG_KINDS),
            .cookie = nf_rng_next(rng),
            .body_total_bytes = (uint32_t)bytes - NF_FRAME_HEADER_BYTES,
            .body_bytes = (uint32_t)bytes - NF_FRAME_HEADER_BYTES,
        };

        nf_frame_encode(&f, data);
    }
    pvm_initsend(PvmDataRaw);
    pvm_pkbyte((char *)data, bytes, 1);
    pvm_send(to, tag);
}

enum { TAG_FRAME = 0x4e4601, TAG_EXIT, TAG_SECRET };

/* All that a mesh's frames show, told to one that is no member. */
static void betray(struct nf_mesh *mesh, int to)
{
    const struct mesh_pvm *p = (const struct mesh_pvm *)mesh;
    int context = p->space->context;

    pvm_initsend(PvmDataRaw);
    pvm_pkint(&context, 1, 1);
    pvm_pkbyte((char *)(uintptr_t)&p->cookie, sizeof(p->cookie), 1);
    pvm_send(to, TAG_SECRET);
}

/* Frames that are right but for who sends them. */
static void pretend(int to, int context, uint64_t cookie, bool bye)
{
    static const uint32_t lie = 4711;
    uint8_t data[NF_FRAME_HEADER_BYTES + NF_ROUTE_STAMP_BYTES + sizeof(lie)];
    struct nf_frame f = {
        .kind = bye ? NF_MSG_STOP : NF_MSG_LEASE,
        .cookie = cookie,
        .body_total_bytes = bye ? 0 : sizeof(lie),
        .body_bytes = bye ? 0 : sizeof(lie),
        .window_bytes = NF_LINK_WINDOW_BYTES,
    };

    memset(data, 0, sizeof(data));
    nf_frame_encode(&f, data);
    memcpy(data + sizeof(data) - sizeof(lie), &lie, sizeof(lie));
    pvm_setcontext(context);
    pvm_initsend(PvmDataRaw);
    pvm_pkbyte((char *)data, (int)(sizeof(data) - (bye ? sizeof(lie) : 0)), 1);
    pvm_send(to, TAG_FRAME);
}

/* The last task is a stranger, who also guesses the contexts, and then knows
 * everything. */
static void play_stranger(void)
{
    enum { TURNS = 300 };
    struct nf_rng rng = { .state = 3 };
    int victim = tids[1], context;
    uint64_t cookie = 0;
    struct nf_mesh *mesh;

    ntasks--;
    if (me < ntasks) {
        mesh = open_mesh(1);
        if (me == 0)
            betray(mesh, tids[ntasks]);
        usleep(20000);
        for (uint32_t i = 0; i < TURNS; i++) {
            meet(mesh, i);
            usleep(500);
        }
        nf_mesh_close(mesh);
        return;
    }
    CHECK(pvm_recv(tids[0], TAG_SECRET) > 0);
    pvm_upkint(&context, 1, 1);
    pvm_upkbyte((char *)&cookie, sizeof(cookie), 1);
    for (uint32_t i = 0; i < 2 * ntasks; i++)
        pretend(tids[i % ntasks], context, cookie, i >= ntasks);
    for (int i = 0; i < 3000; i++) {
        const int contexts[] = { 0, 0x24e46, context - 1, context + 1,
                                 context };

        pvm_setcontext(contexts[i % 5]);
        if (i % 50 == 1) { /* "that one has died" */
            pvm_initsend(PvmDataRaw);
            pvm_pkint(&victim, 1, 1);
            pvm_send(tids[0], TAG_EXIT);
        }
        send_garbage(tids[(uint32_t)i % ntasks], i % 7 == 0 ? i : TAG_FRAME,
                     &rng);
    }
}

/* A program that uses PVM for itself before, between and after. */
static void play_foreign(void)
{
    struct nf_blob *payload = pipe_payload(1, 3000, NF_BYTES);
    int context, buffer, value = 0, other = tids[1 - me], packed, from;
    struct nf_mesh *mesh;

    pvm_setopt(PvmRoute, PvmDontRoute);
    pvm_setopt(PvmFragSize, 5000);
    pvm_setopt(PvmAutoErr, 1);
    pvm_initsend(PvmDataDefault);
    value = 1;
    pvm_pkint(&value, 1, 1);
    pvm_send(other, 11);
    mesh = open_mesh(1);
    buffer = pvm_recv(-1, -1); /* waits since before the mesh was there */
    CHECK(buffer > 0 && pvm_upkint(&value, 1, 1) == 0 && value == 1);
    for (uint32_t i = 0; i < 200; i++) {
        int numbers[2] = { (int)i, (int)i + 1 };

        pvm_initsend(PvmDataDefault);
        packed = pvm_getsbuf();
        pvm_pkint(&numbers[0], 1, 1);
        say(mesh, 1 - me, i, payload); /* in the middle of packing */
        pvm_pkint(&numbers[1], 1, 1);
        CHECK(pvm_getsbuf() == packed);
        pvm_send(other, 12);
        say(mesh, 1 - me, 1000 + i, NULL);
        buffer = pvm_recv(-1, -1);
        CHECK(pvm_bufinfo(buffer, NULL, NULL, &from) == 0 && from == other);
        CHECK(pvm_upkint(&numbers[0], 1, 1) == 0);
        {
            struct nf_mesh_event event = next(mesh);

            nf_blob_unref(event.message.payload);
        }
        hear(mesh, 1 - me, 1000 + i);
        CHECK(pvm_getrbuf() == buffer); /* and of unpacking */
        CHECK(pvm_upkint(&numbers[1], 1, 1) == 0);
        CHECK(numbers[0] == (int)i && numbers[1] == (int)i + 1);
    }
    context = pvm_newcontext();
    pvm_setcontext(context);
    meet(mesh, 4);
    CHECK(pvm_getcontext() == context);
    pvm_setcontext(0);
    meet(mesh, 5);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
    CHECK(pvm_getopt(PvmRoute) == PvmDontRoute);
    CHECK(pvm_getopt(PvmFragSize) == 5000);
    CHECK(pvm_getopt(PvmAutoErr) == 1);
    CHECK(pvm_nrecv(-1, -1) == 0);
}

static void play_two(void)
{
    struct nf_mesh *a = open_mesh(1), *b = open_mesh(2);

    for (uint32_t i = 0; i < 300; i++) {
        say(a, 1 - me, i, NULL);
        say(b, 1 - me, 1000 + i, NULL);
    }
    for (uint32_t i = 0; i < 300; i++)
        hear(b, 1 - me, 1000 + i);
    CHECK(nf_mesh_wait(a, 0) == NF_OK); /* no socket tells of them */
    for (uint32_t i = 0; i < 300; i++)
        hear(a, 1 - me, i);
    meet(a, 1);
    nf_mesh_close(a);
    meet(b, 2);
    nf_mesh_close(b);
}

static void expect_refusal(const int *list, uint32_t count, int64_t timeout_us,
                           enum nf_status status, const char *text)
{
    const struct nf_mesh_terms terms = { .id = 9, .timeout_us = timeout_us };
    struct nf_error err = { NF_OK, "" };
    struct nf_mesh *mesh = NULL;

    CHECK(nf_mesh_open_pvm(list, count, &terms, &mesh, &err) == status);
    if (strstr(err.text, text) == NULL)
        fprintf(stderr, "said: %s\n", err.text);
    CHECK(strstr(err.text, text) != NULL && mesh == NULL);
}

/* The last of three does not come, and later all do. */
static void play_missing(void)
{
    const int twice[] = { tids[0], tids[1], tids[1] };
    const int others[] = { tids[(me + 1) % 3], tids[(me + 2) % 3] };
    const int none[] = { tids[0], 0 };
    struct nf_mesh *mesh;
    char text[64];

    expect_refusal(twice, 3, 1000000, NF_ERR_INVAL, "1 and 2 are the same");
    expect_refusal(others, 2, 1000000, NF_ERR_INVAL, "not among the members");
    expect_refusal(none, 2, 1000000, NF_ERR_INVAL, "member 1 is no task");
    snprintf(text, sizeof(text), "member 2 of 3, task t%x, did not come",
             (unsigned)tids[2]);
    if (me < 2) {
        tell(1 - me); /* so that none is missing for the other */
        await_word(1 - me);
        expect_refusal(tids, 3, 700000, NF_ERR_UNREACHABLE, text);
        tell(2);
    } else {
        await_word(0);
        await_word(1);
    }
    snprintf(text, sizeof(text), "member 0 of 3, task t%x, did not come",
             (unsigned)tids[0]);
    if (me > 0) {
        expect_refusal(tids, 3, 300000, NF_ERR_UNREACHABLE, text);
        tell(0);
    } else {
        await_word(1);
        await_word(2);
    }
    mesh = open_mesh(9); /* in spite of the words of those who gave up */
    meet(mesh, 1);
    nf_mesh_close(mesh);
}

static void play_no_memory(void)
{
    const int strange[] = { tids[0], tids[1], 0x3ffff };
    const struct nf_mesh_terms terms = { .id = 3, .timeout_us = 100 };
    const uint32_t both[] = { 0, 1 };
    struct nf_mesh *mesh = NULL, *sub = NULL;
    struct nf_blob *payload = pipe_payload(1, 3000, NF_BYTES);
    struct nf_mesh_message m = {
        .head = (const uint8_t *)"x",
        .head_bytes = 1,
        .payload = payload,
    };
    enum nf_status status = NF_ERR_NOMEM;
    long n;

    for (n = 0; n < 8; n++) { /* the third is nobody */
        nf_alloc_fail_after(n);
        status = nf_mesh_open_pvm(strange, 3, &terms, &mesh, NULL);
        nf_alloc_fail_after(-1);
        CHECK(status == (n < 5 ? NF_ERR_NOMEM : status) && status != NF_OK);
    }
    mesh = open_mesh(1);
    nf_alloc_fail_after(0);
    status = nf_mesh_send(mesh, 1 - me, &m);
    nf_alloc_fail_after(-1);
    CHECK(status == NF_ERR_NOMEM);
    meet(mesh, 2); /* as if it had never been asked for */
    for (n = 0, status = NF_ERR_NOMEM; status == NF_ERR_NOMEM; n++) {
        nf_alloc_fail_after(n);
        status = nf_mesh_subset(mesh, both, 2, 4, &sub, NULL);
        nf_alloc_fail_after(-1);
        CHECK(n < 100);
    }
    CHECK(status == NF_OK && n > 5);
    meet(mesh, 7); /* what came while memory failed would be lost */
    meet(sub, 3);
    if (me == 0) {
        struct nf_mesh_event event;

        nf_alloc_fail_after(0);
        while ((status = nf_mesh_next(sub, &event)) == NF_WAIT)
            nf_mesh_wait(sub, 1000000);
        nf_alloc_fail_after(-1);
        CHECK(status == NF_ERR_NOMEM);
    } else {
        usleep(200000);
        CHECK(nf_mesh_send(sub, 0, &m) == NF_OK);
        CHECK(next(sub).kind == NF_MESH_LEFT);
    }
    nf_mesh_close(sub);
    meet(mesh, 6);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

const struct scene mesh_scenes[] = {
    { "exchange", play_exchange },
    { "stopped", play_stopped },
    { "killed", play_killed },
    { "stranger", play_stranger },
    { "foreign", play_foreign },
    { "two", play_two },
    { "missing", play_missing },
    { "no-memory", play_no_memory },
    { "several-stopped", play_several_stopped },
    { "no-room", play_no_room },
    { "stopped-lower", play_stopped_lower },
    { "here-and-gone", play_here_and_gone },
    { "asleep", play_asleep },
    { "asleep-death", play_asleep_death },
    { "left-pvm", play_left_pvm },
    { "notices", play_notices },
    { "late-bye", play_late_bye },
    { "late", play_late },
    { "closed-death", play_closed_death },
    { "shy", play_shy },
    { "early", play_early },
    { "next-mesh", play_next_mesh },
    { "newcomer", play_newcomer },
    { "ended-before", play_ended_before },
    { "thread", play_thread },
    { "pause", play_pause },
    { "pause-death", play_pause_death },
    { "handler", play_handler },
    { "dropped", play_dropped },
    { "turns", play_turns },
    { "turns-given-up", play_turns_given_up },
    { "interrupted", play_interrupted },
    { "stopped-before", play_stopped_before },
    { "stopped-each", play_stopped_each },
    { "interrupted-routes", play_interrupted_routes },
    { "interrupted-crossing", play_interrupted_crossing },
    { "closed-together", play_closed_together },
    { "interrupted-silence", play_interrupted_silence },
    { "other-order", play_other_order },
    { "other-halves", play_other_halves },
    { "other-count", play_other_count },
    { "other-at-first", play_other_at_first },
    { "other-group-first", play_other_group_first },
    { "ended-early", play_ended_early },
    { "first-ended-early", play_first_ended_early },
    { "busy-death", play_busy_death },
    { "by-daemon", play_by_daemon },
    { "gone-by-daemon", play_gone_by_daemon },
    { "no-route", play_no_route },
    { "no-route-granted", play_no_route_granted },
    { "no-route-among-others", play_no_route_among_others },
    { "duct-ends", play_duct_ends },
    { "route-ends", play_route_ends },
    { "lent", play_lent },
    { "lent-back", play_lent_back },
    { "lent-lent", play_lent_lent },
    { "lent-landed", play_lent_landed },
    { "lent-later", play_lent_later },
    { "lent-order", play_lent_order },
    { "lent-settles", play_lent_settles },
    { "lent-nap", play_lent_nap },
    { "lent-nowhere", play_lent_nowhere },
    { "lent-cut", play_lent_cut },
    { "lent-subset", play_lent_subset },
    { "lent-death", play_lent_death },
    { "lent-unread", play_lent_unread },
    { "lent-closed", play_lent_closed },
    { NULL, NULL },
};
