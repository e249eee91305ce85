/* Scenes of test_mesh_pvm in which what is lent is not read at once. */
#include "config.h"
#include <limits.h>
#include <string.h>
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/mesh_lending.h"

enum { BYTES = LENT_BYTES, BEHIND = 30, TRIES = 5 };

static bool is_early; /* for is_later_here() */
static uint32_t early_word; /* != 0: for this one only */

static bool is_later_here(void *self, const uint8_t *head, size_t head_bytes)
{
    uint32_t word;

    CHECK(self == &ground && head_bytes == sizeof(word));
    memcpy(&word, head, sizeof(word));
    return is_early && (early_word == 0 || word == early_word);
}

/* A word of a lender that leaves: it may still have been there. */
static void hear_last(struct nf_mesh *mesh, uint32_t word)
{
    struct nf_mesh_event event = next(mesh);

    if (event.kind == NF_MESH_MESSAGE) {
        CHECK(word_of(&event) == word);
        nf_blob_unref(event.message.payload);
        event = next(mesh);
    }
    CHECK(event.kind == NF_MESH_LEFT);
}

/* Of one that was paused, and has room for no more than a window then. */
static void take_what_came_behind(struct nf_mesh *mesh)
{
    nf_mesh_pause(mesh, 0, true);
    tell(0);
    await_word(0);
    for (int turn = 0; turn < 100; turn++) {
        struct nf_mesh_event event;

        CHECK(nf_mesh_next(mesh, &event) == NF_WAIT);
        nf_mesh_wait(mesh, 1000);
    }
    nf_mesh_pause(mesh, 0, false);
    for (uint32_t i = 0; i < BEHIND; i++)
        hear(mesh, 0, 10 + i);
    CHECK(ground.asked == 0);
}

static void wait_till_wanted(struct nf_mesh *mesh)
{
    struct nf_mesh_event event;

    hear(mesh, 0, 2); /* what comes behind it goes before */
    for (int turn = 0; turn < 20; turn++) {
        CHECK(nf_mesh_next(mesh, &event) == NF_WAIT);
        CHECK(nf_mesh_wait(mesh, 1000) == NF_WAIT); /* and nobody is kept awake */
    }
    CHECK(ground.asked == 0);
    is_early = false;
    CHECK(nf_mesh_wait(mesh, 0) == NF_OK);
    tell(0);
    event = next(mesh);
    CHECK(word_of(&event) == 1 && event.message.payload->data == ground.bytes);
    CHECK(pipe_payload_is(event.message.payload, 1, BYTES, NF_FLOAT64));
    nf_blob_unref(event.message.payload);
    is_early = true;
    hear_last(mesh, 3);
}

/* What their reader is not ready for is not read until he is, nor then if its lender
 * has left. */
void play_lent_later(void)
{
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_blob *small = pipe_payload(2, 100000, NF_BYTES);
    struct nf_mesh_event event;
    struct nf_mesh *mesh;

    if (!can_read())
        return;
    mesh = open_lending();
    if (me == 0) {
        await_word(1);
        say(mesh, 1, 1, payload);
        for (uint32_t i = 0; i < BEHIND; i++)
            say(mesh, 1, 10 + i, small);
        tell(1);
        say(mesh, 1, 2, NULL);
        while (nf_mesh_backlog_bytes(mesh, 1) > BYTES)
            if (nf_mesh_next(mesh, &event) != NF_OK)
                nf_mesh_wait(mesh, 1000);
        await_word(1);
        CHECK(atomic_load(&payload->refs) >= 2); /* it waits to be read */
        drain(mesh, 1);
        CHECK(atomic_load(&payload->refs) == 1);
        say(mesh, 1, 3, payload);
    } else {
        ground.to = ground.bytes;
        ground.asked = 0;
        ground.most = INT_MAX;
        is_early = true;
        mesh->landing = (struct nf_mesh_landing){ .self = &ground,
                                                  .is_later = is_later_here,
                                                  .find = find_ground };
        take_what_came_behind(mesh);
        wait_till_wanted(mesh);
    }
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
    nf_blob_unref(small);
}

static void see_nothing(struct nf_mesh *mesh)
{
    struct nf_mesh_event event;

    for (int turn = 0; turn < 20; turn++) {
        CHECK(nf_mesh_next(mesh, &event) == NF_WAIT);
        nf_mesh_wait(mesh, 1000);
    }
}

/* Words 1, 3, 5 and 7 are lent. */
static void hear_in_order(struct nf_mesh *mesh, const struct nf_blob *payload)
{
    is_early = true;
    early_word = 0;
    mesh->landing = (struct nf_mesh_landing){ .self = &ground,
                                              .is_later = is_later_here };
    hear(mesh, 0, 2); /* before the first, of a call to come */
    hear_payload(mesh, 1, payload, 0); /* that the third has come makes it be read */
    hear(mesh, 0, 4);
    hear_payload(mesh, 3, payload, 0);
    hear(mesh, 0, 6);
    early_word = 5; /* the seventh is wanted now */
    hear_payload(mesh, 5, payload, 0);
    hear_payload(mesh, 7, payload, 0);
}

/* What is lent behind it makes it be read first: that this was taken means that it was,
 * too.  Of who is paused it is not read. */
void play_lent_order(void)
{
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_mesh *mesh;

    if (!can_read())
        return;
    mesh = open_lending();
    if (me == 0) {
        for (uint32_t word = 1; word <= 8; word++)
            say(mesh, 1, word, word % 2 == 0 ? NULL : payload);
        await_word(1);
        drain(mesh, 1);
        CHECK(atomic_load(&payload->refs) == 1);
        say(mesh, 1, 9, payload);
        say(mesh, 1, 10, NULL);
        await_word(1);
    } else {
        hear_in_order(mesh, payload);
        hear(mesh, 0, 8);
        tell(0);
        early_word = 9;
        hear(mesh, 0, 10);
        nf_mesh_pause(mesh, 0, true);
        is_early = false;
        see_nothing(mesh);
        tell(0);
        see_nothing(mesh); /* nor that its lender has left, before */
        nf_mesh_pause(mesh, 0, false);
        hear_last(mesh, 9);
    }
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

/* As next(), but whoever overlooks that it has come does so for long. */
static struct nf_mesh_event next_in_time(struct nf_mesh *mesh)
{
    int64_t until_us = nf_now_us() + PATIENCE_US / 2;
    struct nf_mesh_event event;

    while (nf_mesh_next(mesh, &event) == NF_WAIT)
        nf_mesh_wait(mesh, PATIENCE_US);
    CHECK(nf_now_us() < until_us);
    return event;
}

/* The last one has not begun to read. */
static void settle(struct nf_mesh *mesh, const struct nf_blob *payload)
{
    struct nf_mesh_event event;

    mesh->settles = true;
    event = next_in_time(mesh);
    CHECK(event.member == 1 && word_of(&event) == 5);
    CHECK(nf_mesh_backlog_bytes(mesh, 1) == BYTES);
    tell(1);
    event = next_in_time(mesh);
    CHECK(event.kind == NF_MESH_LEFT && event.member == 1);
    CHECK(nf_mesh_backlog_bytes(mesh, 1) == 0);
    CHECK(nf_mesh_backlog_bytes(mesh, 2) == 2 * (size_t)BYTES);
    tell(2);
    drain(mesh, 2);
    CHECK(atomic_load(&payload->refs) == 1);
}

/* That member 1 has left may come before or behind it. */
static void hear_beside_an_end(struct nf_mesh *mesh, uint32_t word)
{
    struct nf_mesh_event event = next(mesh);

    if (event.kind == NF_MESH_LEFT && event.member == 1)
        event = next(mesh);
    CHECK(word_of(&event) == word &&
          pipe_payload_is(event.message.payload, 1, BYTES, NF_FLOAT64));
    nf_blob_unref(event.message.payload);
}

/* Whoever waits only for what it lent hears of the others all the same, though the one
 * to whom it was lent last is to wake it. */
void play_lent_settles(void)
{
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_mesh *mesh;

    if (!can_read())
        return;
    mesh = open_lending();
    is_early = true;
    early_word = 2;
    mesh->landing = (struct nf_mesh_landing){ .self = &ground,
                                              .is_later = is_later_here };
    if (me == 0) {
        await_word(1);
        await_word(2);
        for (uint32_t i = 0; i < 4; i++)
            say(mesh, 1 + i % 2, 1 + i / 2, payload);
        settle(mesh, payload);
    } else if (me == 1) {
        tell(0);
        hear_payload(mesh, 1, payload, 0);
        say(mesh, 0, 5, NULL);
        await_word(0);
    } else {
        tell(0);
        await_word(0);
        hear_beside_an_end(mesh, 1);
        is_early = false;
        hear_beside_an_end(mesh, 2);
    }
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

/* @return whether word of both readers came at once: not if the lender looked by
 *  itself, having got no processor before */
static bool nap(struct nf_mesh *mesh, struct nf_blob *payload)
{
    int64_t until_us = nf_now_us() + PATIENCE_US / 2;
    struct nf_mesh_event event;
    bool at_once;

    await_word(1);
    await_word(2);
    say(mesh, 1, 1, payload);
    say(mesh, 2, 1, payload);
    while (nf_mesh_backlog_bytes(mesh, 1) > 0) {
        CHECK(nf_mesh_wait(mesh, PATIENCE_US) == NF_OK);
        CHECK(nf_mesh_next(mesh, &event) == NF_WAIT);
    }
    CHECK(nf_now_us() < until_us); /* a reader woke it, and not the end of its nap */
    at_once = nf_mesh_backlog_bytes(mesh, 2) == 0;
    drain(mesh, 2);
    CHECK(atomic_load(&payload->refs) == 1);
    return at_once;
}

/* Only the last of its readers wakes it, who does not begin before the other has read. */
void play_lent_nap(void)
{
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_mesh *mesh;
    uint32_t naps = 0;

    if (!can_read())
        return;
    nf_mesh_pvm_nap_for(PATIENCE_US);
    mesh = open_lending();
    mesh->settles = me == 0;
    for (uint32_t i = 0; i < TRIES; i++) {
        if (me == 0) {
            naps += nap(mesh, payload);
            continue;
        }
        tell(0);
        if (me == 2)
            await_word(1);
        hear_payload(mesh, 1, payload, 0);
        tell(3 - me);
        if (me == 1)
            await_word(2);
    }
    CHECK(me != 0 || naps > 0);
    if (me == 0) { /* nothing else comes to it before */
        tell(1);
        tell(2);
    } else {
        await_word(0);
    }
    meet(mesh, 100);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}
