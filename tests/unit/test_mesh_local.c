/* Meshes of threads. */
#include "config.h"
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/net/mesh.h"
#include "common/wire/link.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MOST = 5, MESSAGES = 60, PATIENCE_US = 20 * 1000000 };

static struct nf_mesh *meshes[RANKS_MOST];

static void begin(uint32_t ranks)
{
    struct nf_error err = { NF_OK, "" };

    CU_ASSERT_EQUAL_FATAL(nf_mesh_open_local(ranks, meshes, &err), NF_OK);
    for (uint32_t i = 0; i < ranks; i++) {
        CU_ASSERT_EQUAL(meshes[i]->rank, i);
        CU_ASSERT_EQUAL(meshes[i]->ranks, ranks);
    }
}

static void end(uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++)
        nf_mesh_close(meshes[i]);
}

static enum nf_status send_word(struct nf_mesh *mesh, uint32_t to,
                                uint32_t word, struct nf_blob *payload,
                                bool urgent)
{
    struct nf_mesh_message m = {
        .head = (const uint8_t *)&word,
        .head_bytes = sizeof(word),
        .payload = payload,
        .urgent = urgent,
    };

    return nf_mesh_send(mesh, to, &m);
}

static uint32_t word_of(const struct nf_mesh_event *event)
{
    uint32_t word = UINT32_MAX;

    if (event->kind == NF_MESH_MESSAGE &&
        event->message.head_bytes == sizeof(word))
        memcpy(&word, event->message.head, sizeof(word));
    return word;
}

static void expect_word(struct nf_mesh *mesh, uint32_t from, uint32_t word)
{
    struct nf_mesh_event event;

    CU_ASSERT_EQUAL_FATAL(nf_mesh_next(mesh, &event), NF_OK);
    CU_ASSERT_EQUAL(event.kind, NF_MESH_MESSAGE);
    CU_ASSERT_EQUAL(event.member, from);
    CU_ASSERT_EQUAL(word_of(&event), word);
    nf_blob_unref(event.message.payload);
}

static void expect_left(struct nf_mesh *mesh, uint32_t member)
{
    struct nf_mesh_event event;

    CU_ASSERT_EQUAL_FATAL(nf_mesh_next(mesh, &event), NF_OK);
    CU_ASSERT_EQUAL(event.kind, NF_MESH_LEFT);
    CU_ASSERT_EQUAL(event.member, member);
}

static void expect_nothing(struct nf_mesh *mesh)
{
    struct nf_mesh_event event;

    CU_ASSERT_EQUAL(nf_mesh_next(mesh, &event), NF_WAIT);
}

/* -------------------------------------------------------------- exchange */

static uint64_t seed_of(uint32_t from, uint32_t to, uint32_t i)
{
    return 1 + (from * 8 + to) * UINT64_C(1000) + i;
}

static size_t bytes_of(uint64_t seed)
{
    struct nf_rng rng = { .state = seed };

    return (size_t)nf_rng_below(&rng,
                                nf_rng_below(&rng, 3) == 0 ? 1 << 20 : 5000);
}

struct talk {
    struct nf_mesh *mesh;
    uint32_t sent[RANKS_MOST], got[RANKS_MOST];
    unsigned wrong;
};

static void say_one(struct talk *t, uint32_t to)
{
    uint32_t i = t->sent[to]++;
    uint64_t seed = seed_of(t->mesh->rank, to, i);
    struct nf_blob *payload = pipe_payload(seed, bytes_of(seed), NF_BYTES);

    t->wrong += send_word(t->mesh, to, i, payload, false) != NF_OK;
    nf_blob_unref(payload);
}

static bool hear_one(struct talk *t)
{
    struct nf_mesh_event event;
    enum nf_status status = nf_mesh_next(t->mesh, &event);
    uint64_t seed;

    if (status != NF_OK) {
        t->wrong += status != NF_WAIT;
        return false;
    }
    seed = seed_of(event.member, t->mesh->rank, t->got[event.member]);
    t->wrong +=
        event.kind != NF_MESH_MESSAGE ||
        word_of(&event) != t->got[event.member] ||
        !pipe_payload_is(event.message.payload, seed, bytes_of(seed), NF_BYTES);
    nf_blob_unref(event.message.payload);
    t->got[event.member]++;
    return true;
}

static void *talk(void *arg)
{
    struct talk *t = arg;
    uint32_t ranks = t->mesh->ranks, me = t->mesh->rank, got = 0;
    struct nf_rng rng = { .state = me + 1 };

    for (uint32_t sent = 0; sent < (ranks - 1) * MESSAGES; sent++) {
        uint32_t to = (uint32_t)nf_rng_below(&rng, ranks);

        while (to == me || t->sent[to] == MESSAGES)
            to = (to + 1) % ranks;
        say_one(t, to);
        while (nf_rng_below(&rng, 3) == 0 && hear_one(t))
            got++;
    }
    while (got < (ranks - 1) * MESSAGES && t->wrong == 0)
        if (hear_one(t))
            got++;
        else
            t->wrong += nf_mesh_wait(t->mesh, PATIENCE_US) != NF_OK;
    return NULL;
}

static void test_exchange(void)
{
    struct talk talks[RANKS_MOST] = { 0 };
    pthread_t threads[RANKS_MOST];

    begin(RANKS_MOST);
    for (uint32_t i = 0; i < RANKS_MOST; i++) {
        talks[i].mesh = meshes[i];
        pthread_create(&threads[i], NULL, talk, &talks[i]);
    }
    for (uint32_t i = 0; i < RANKS_MOST; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(talks[i].wrong, 0);
    }
    for (uint32_t i = 0; i < RANKS_MOST; i++)
        expect_nothing(meshes[i]);
    end(RANKS_MOST);
}

/* ----------------------------------------------------------------- order */

static void test_urgent(void)
{
    begin(2);
    send_word(meshes[0], 1, 1, NULL, false);
    send_word(meshes[0], 1, 2, NULL, false);
    send_word(meshes[0], 1, 3, NULL, true);
    send_word(meshes[0], 1, 4, NULL, true);
    expect_word(meshes[1], 0, 3);
    expect_word(meshes[1], 0, 4);
    expect_word(meshes[1], 0, 1);
    expect_word(meshes[1], 0, 2);
    expect_nothing(meshes[1]);
    end(2);
}

static void test_bad_messages(void)
{
    uint8_t head[NF_MESH_HEAD_BYTES + 1] = { 0 };
    struct nf_blob *payload = pipe_payload(1, 8, NF_BYTES);
    struct nf_mesh_message m = {
        .head = head,
        .head_bytes = sizeof(head),
    };

    begin(2);
    CU_ASSERT_EQUAL(nf_mesh_send(meshes[0], 1, &m), NF_ERR_INVAL);
    m.head_bytes = 0;
    CU_ASSERT_EQUAL(nf_mesh_send(meshes[0], 1, &m), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(send_word(meshes[0], 0, 1, NULL, false), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(send_word(meshes[0], 2, 1, NULL, false), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(send_word(meshes[0], 1, 1, payload, true), NF_ERR_INVAL);
    expect_nothing(meshes[1]);
    m.head_bytes = NF_MESH_HEAD_BYTES;
    CU_ASSERT_EQUAL(nf_mesh_send(meshes[0], 1, &m), NF_OK);
    nf_blob_unref(payload);
    end(2);
}

static void test_references(void)
{
    char text[] = "borrowed";
    struct nf_blob *owned = pipe_payload(1, 100, NF_BYTES);
    struct nf_blob *lent = nf_blob_wrap(text, sizeof(text), NF_BYTES, NULL);
    struct nf_mesh_event event;

    begin(2);
    send_word(meshes[0], 1, 1, owned, false);
    send_word(meshes[0], 1, 2, lent, false);
    CU_ASSERT_EQUAL(nf_mesh_backlog_bytes(meshes[0], 1), 0);
    memset(text, 'x', sizeof(text));
    CU_ASSERT_EQUAL_FATAL(nf_mesh_next(meshes[1], &event), NF_OK);
    CU_ASSERT_PTR_EQUAL(event.message.payload, owned);
    nf_blob_unref(event.message.payload);
    CU_ASSERT_EQUAL_FATAL(nf_mesh_next(meshes[1], &event), NF_OK);
    CU_ASSERT_STRING_EQUAL(event.message.payload->data, "borrowed");
    nf_blob_unref(event.message.payload);
    CU_ASSERT_EQUAL(atomic_load(&owned->refs), 1);
    CU_ASSERT_EQUAL(atomic_load(&lent->refs), 1);
    nf_blob_unref(owned);
    nf_blob_unref(lent);
    end(2);
}

/* --------------------------------------------------------------- backlog */

static bool is_readable(struct nf_mesh *mesh)
{
    const int *fds;
    struct pollfd watch = { .events = POLLIN };

    CU_ASSERT_EQUAL(nf_mesh_fds(mesh, &fds), 1);
    watch.fd = fds[0];
    return poll(&watch, 1, 0) == 1;
}

static void test_backlog(void)
{
    enum { BYTES = 40000, COUNT = 10 };
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_BYTES);
    size_t all = (size_t)COUNT * (BYTES + sizeof(uint32_t));
    struct nf_mesh_event event;

    begin(3);
    for (uint32_t i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(send_word(meshes[0], 1, i, payload, false), NF_OK);
    CU_ASSERT_EQUAL(nf_mesh_backlog_bytes(meshes[0], 1),
                    all - NF_LINK_WINDOW_BYTES);
    CU_ASSERT_EQUAL(nf_mesh_backlog_bytes(meshes[0], 2), 0);
    CU_ASSERT_EQUAL(nf_mesh_backlog_bytes(meshes[1], 0), 0);
    expect_nothing(meshes[0]);
    CU_ASSERT(!is_readable(meshes[0]));
    CU_ASSERT_EQUAL(nf_mesh_wait(meshes[0], 0), NF_WAIT);
    CU_ASSERT_EQUAL(nf_mesh_moved_bytes(meshes[0]), 0);
    expect_word(meshes[1], 0, 0); /* which is something to its sender */
    CU_ASSERT_EQUAL(nf_mesh_moved_bytes(meshes[0]), BYTES + sizeof(uint32_t));
    CU_ASSERT_EQUAL(nf_mesh_moved_bytes(meshes[1]), 0);
    CU_ASSERT(is_readable(meshes[0]));
    CU_ASSERT_EQUAL(nf_mesh_wait(meshes[0], 0), NF_OK);
    expect_nothing(meshes[0]);
    CU_ASSERT(!is_readable(meshes[0]));
    for (uint32_t i = 1; i < COUNT; i++)
        expect_word(meshes[1], 0, i);
    CU_ASSERT_EQUAL(nf_mesh_backlog_bytes(meshes[0], 1), 0);
    CU_ASSERT(nf_mesh_moved_bytes(meshes[0]) < all); /* the rest did not wait */
    expect_nothing(meshes[1]);
    CU_ASSERT_EQUAL(nf_mesh_wait(meshes[1], 1000), NF_WAIT);
    for (uint32_t i = 0; i < COUNT; i++)
        send_word(meshes[0], 1, i, payload, false);
    CU_ASSERT_EQUAL(nf_mesh_wait(meshes[1], -1), NF_OK);
    nf_mesh_close(meshes[1]);
    CU_ASSERT_EQUAL(nf_mesh_backlog_bytes(meshes[0], 1), 0);
    CU_ASSERT_EQUAL(atomic_load(&payload->refs), 1);
    CU_ASSERT_EQUAL(nf_mesh_next(meshes[0], &event), NF_OK);
    nf_mesh_close(meshes[0]);
    nf_mesh_close(meshes[2]);
    nf_blob_unref(payload);
}

/* A paused member is not heard, and has no credit; nothing is lost of it. */
static void count_call(void *arg)
{
    ++*(int *)arg;
}

/* Whoever sleeps on something else is woken when there is something, once. */
static void test_wake(void)
{
    int calls = 0;

    begin(2);
    nf_mesh_wake_by(meshes[0], count_call, &calls);
    send_word(meshes[1], 0, 1, NULL, false);
    CU_ASSERT_EQUAL(calls, 0); /* it has not looked yet */
    expect_word(meshes[0], 1, 1);
    send_word(meshes[1], 0, 2, NULL, false);
    CU_ASSERT_EQUAL(calls, 0); /* nor seen that there is nothing */
    expect_word(meshes[0], 1, 2);
    expect_nothing(meshes[0]);
    send_word(meshes[1], 0, 3, NULL, false);
    CU_ASSERT_EQUAL(calls, 1);
    send_word(meshes[1], 0, 4, NULL, true);
    CU_ASSERT_EQUAL(calls, 1);
    expect_word(meshes[0], 1, 4);
    expect_word(meshes[0], 1, 3);
    expect_nothing(meshes[0]);
    nf_mesh_close(meshes[1]);
    CU_ASSERT_EQUAL(calls, 2);
    expect_left(meshes[0], 1);
    nf_mesh_close(meshes[0]);
    /* one that has left is not woken */
    begin(2);
    calls = 0;
    nf_mesh_wake_by(meshes[0], count_call, &calls);
    expect_nothing(meshes[0]);
    nf_mesh_close(meshes[0]);
    send_word(meshes[1], 0, 1, NULL, false);
    CU_ASSERT_EQUAL(calls, 0);
    nf_mesh_close(meshes[1]);
}

static void test_pause(void)
{
    enum { BYTES = 40000, COUNT = 10 };
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_BYTES);

    begin(3);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i == 2)
            nf_mesh_pause(meshes[1], 0, true);
        send_word(meshes[0], 1, i, payload, false);
    }
    expect_nothing(meshes[1]);
    CU_ASSERT(nf_mesh_backlog_bytes(meshes[0], 1) > 0);
    CU_ASSERT_EQUAL(nf_mesh_wait(meshes[1], 0), NF_WAIT);
    send_word(meshes[2], 1, 77, NULL, false);
    send_word(meshes[0], 1, 99, NULL, true);
    expect_word(meshes[1], 0, 99);
    expect_word(meshes[1], 2, 77);
    expect_nothing(meshes[1]);
    nf_mesh_pause(meshes[1], 0, false);
    CU_ASSERT(is_readable(meshes[1]));
    expect_word(meshes[1], 0, 0);
    nf_mesh_pause(meshes[1], 0, true);
    expect_nothing(meshes[1]);
    send_word(meshes[0], 1, COUNT, NULL, false);
    nf_mesh_close(meshes[0]);
    expect_nothing(meshes[1]);
    nf_mesh_pause(meshes[1], 0, false);
    for (uint32_t i = 1; i <= COUNT; i++)
        expect_word(meshes[1], 0, i);
    expect_left(meshes[1], 0);
    expect_nothing(meshes[1]);
    nf_mesh_close(meshes[1]);
    nf_mesh_close(meshes[2]);
    CU_ASSERT_EQUAL(atomic_load(&payload->refs), 1);
    nf_blob_unref(payload);
}

/* That it has left is, if nothing of it is to come before. */
static void test_pause_left(void)
{
    begin(2);
    send_word(meshes[0], 1, 1, NULL, false);
    expect_word(meshes[1], 0, 1);
    nf_mesh_pause(meshes[1], 0, true);
    nf_mesh_close(meshes[0]);
    expect_left(meshes[1], 0);
    nf_mesh_pause(meshes[1], 0, false);
    expect_nothing(meshes[1]);
    nf_mesh_close(meshes[1]);
}

/* --------------------------------------------------------------- leaving */

static void test_leaving(void)
{
    begin(3);
    send_word(meshes[1], 0, 7, NULL, false);
    nf_mesh_close(meshes[1]);
    expect_word(meshes[0], 1, 7); /* what it said before is not lost */
    expect_left(meshes[0], 1);
    expect_nothing(meshes[0]);
    expect_left(meshes[2], 1);
    CU_ASSERT_EQUAL(send_word(meshes[0], 1, 1, NULL, false), NF_OK);
    send_word(meshes[0], 2, 5, NULL, false);
    expect_word(meshes[2], 0, 5);
    nf_mesh_close(meshes[2]);
    expect_left(meshes[0], 2);
    nf_mesh_close(meshes[0]);
}

static void test_subset(void)
{
    const uint32_t members[] = { 0, 2, 3 };
    struct nf_mesh *sub[3] = { NULL, NULL, NULL }, *more;
    struct nf_error err = { NF_OK, "" };

    begin(4);
    nf_mesh_close(meshes[1]);
    CU_ASSERT_EQUAL_FATAL(
        nf_mesh_subset(meshes[0], members, 3, 9, &sub[0], &err), NF_OK);
    CU_ASSERT_EQUAL(sub[0]->rank, 0);
    CU_ASSERT_EQUAL(sub[0]->ranks, 3);
    send_word(meshes[0], 2, 100, NULL, false); /* in the old one */
    send_word(sub[0], 1, 200, NULL, false);    /* who has not come yet */
    nf_mesh_close(meshes[0]);
    CU_ASSERT_EQUAL_FATAL(
        nf_mesh_subset(meshes[2], members, 3, 9, &sub[1], &err), NF_OK);
    CU_ASSERT_EQUAL(sub[1]->rank, 1);
    CU_ASSERT_EQUAL(nf_mesh_subset(meshes[2], members, 3, 9, &more, &err),
                    NF_ERR_INVAL);
    expect_word(sub[1], 0, 200);
    expect_nothing(sub[1]);
    expect_left(meshes[2], 1);
    expect_word(meshes[2], 0, 100);
    nf_mesh_close(sub[0]);
    expect_left(sub[1], 0);
    CU_ASSERT_EQUAL_FATAL(
        nf_mesh_subset(meshes[3], members, 3, 9, &sub[2], &err), NF_OK);
    expect_left(sub[2], 0);
    send_word(sub[2], 1, 300, NULL, false);
    nf_mesh_close(sub[2]);
    nf_mesh_close(meshes[3]);
    expect_word(sub[1], 2, 300);
    expect_left(sub[1], 2);
    expect_nothing(sub[1]);
    nf_mesh_close(meshes[2]);
    nf_mesh_close(sub[1]);
}

/* One that has closed its old mesh and never asked for the new one. */
static void test_subset_without_one(void)
{
    const uint32_t members[] = { 0, 1, 2 };
    struct nf_mesh *sub[2];

    begin(3);
    CU_ASSERT_EQUAL_FATAL(
        nf_mesh_subset(meshes[0], members, 3, 1, &sub[0], NULL), NF_OK);
    send_word(sub[0], 2, 1, NULL, false);
    expect_nothing(sub[0]);
    nf_mesh_close(meshes[2]);
    expect_left(sub[0], 2);
    CU_ASSERT_EQUAL_FATAL(
        nf_mesh_subset(meshes[1], members, 3, 1, &sub[1], NULL), NF_OK);
    expect_left(sub[1], 2);
    nf_mesh_close(sub[0]);
    nf_mesh_close(sub[1]);
    CU_ASSERT_EQUAL_FATAL(/* the id is free again */
                          nf_mesh_subset(meshes[1], members, 3, 1, &sub[1],
                                         NULL),
                          NF_OK);
    expect_left(sub[1], 2);
    expect_nothing(sub[1]);
    nf_mesh_close(sub[1]);
    end(2);
}

static void test_bad_subsets(void)
{
    const uint32_t absent[] = { 1, 2 }, strange[] = { 0, 3 },
                   twice[] = { 0, 1, 1 }, back[] = { 1, 0 };
    const struct {
        const uint32_t *members;
        uint32_t count;
        const char *text;
    } bad[] = { { absent, 2, "member 0, which is this one" },
                { strange, 2, "no member 3 of 3" },
                { twice, 3, "ascending" },
                { back, 2, "ascending" },
                { absent, 0, "not among them" } };

    begin(3);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct nf_error err = { NF_OK, "" };
        struct nf_mesh *sub = NULL;

        CU_ASSERT_EQUAL(nf_mesh_subset(meshes[0], bad[i].members, bad[i].count,
                                       1, &sub, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].text));
        CU_ASSERT_PTR_NULL(sub);
    }
    CU_ASSERT_EQUAL(nf_mesh_open_local(0, meshes, NULL), NF_ERR_INVAL);
    end(3);
}

/* ---------------------------------------------------------------- memory */

static void test_no_memory(void)
{
    const uint32_t members[] = { 0, 1 };
    enum nf_status status = NF_ERR_NOMEM;
    struct nf_mesh *sub[2];
    char text[] = "lent";
    struct nf_blob *lent = nf_blob_wrap(text, sizeof(text), NF_BYTES, NULL);
    long n;

    for (n = 0; status == NF_ERR_NOMEM && n < 1000; n++) {
        nf_alloc_fail_after(n);
        status = nf_mesh_open_local(2, meshes, NULL);
        nf_alloc_fail_after(-1);
    }
    CU_ASSERT_EQUAL_FATAL(status, NF_OK);
    CU_ASSERT(n > 10);
    for (n = 0; n < 3; n++) {
        nf_alloc_fail_after(n);
        status = send_word(meshes[0], 1, 1, lent, false);
        nf_alloc_fail_after(-1);
        CU_ASSERT_EQUAL(status, n < 2 ? NF_ERR_NOMEM : NF_OK);
    }
    expect_word(meshes[1], 0, 1);
    expect_nothing(meshes[1]);
    status = NF_ERR_NOMEM;
    for (n = 0; status == NF_ERR_NOMEM && n < 1000; n++) {
        nf_alloc_fail_after(n);
        status = nf_mesh_subset(meshes[0], members, 2, 4, &sub[0], NULL);
        nf_alloc_fail_after(-1);
    }
    CU_ASSERT_EQUAL_FATAL(status, NF_OK);
    CU_ASSERT(n > 10);
    CU_ASSERT_EQUAL_FATAL(
        nf_mesh_subset(meshes[1], members, 2, 4, &sub[1], NULL), NF_OK);
    send_word(sub[1], 0, 3, NULL, false);
    expect_word(sub[0], 1, 3);
    nf_mesh_close(sub[0]);
    nf_mesh_close(sub[1]);
    nf_blob_unref(lent);
    end(2);
}

static CU_TestInfo tests[] = {
    { "all exchange messages of all sizes", test_exchange },
    { "urgent messages overtake", test_urgent },
    { "what can't be sent is refused", test_bad_messages },
    { "payloads go by reference, lent bytes are copied", test_references },
    { "the backlog shows who does not read", test_backlog },
    { "who sleeps elsewhere is woken", test_wake },
    { "a paused member is not heard and has no credit", test_pause },
    { "that a paused member has left is heard", test_pause_left },
    { "who closes its mesh has left", test_leaving },
    { "a subset has queues of its own", test_subset },
    { "a member of a subset that can't come", test_subset_without_one },
    { "bad subsets are refused", test_bad_subsets },
    { "out of memory at every place", test_no_memory },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "mesh of threads", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
