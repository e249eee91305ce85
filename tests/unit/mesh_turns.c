/* Scenes of test_mesh_pvm in which the way out of the host is busy. */
#include "config.h"
#include <limits.h>
#include <poll.h>
#include "common/base/alloc.h"
#include "common/net/mesh_pvm.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/mesh_play.h"

enum { LONG_BYTES = 20000, FDS_MOST = 64, SOON_MS = 10000 };

/* For so many looks the way is free. */
static int nfree;

static bool look(void)
{
    return nfree > 0 && nfree-- > 0;
}

static bool wakes(struct nf_mesh *mesh)
{
    struct pollfd watch[FDS_MOST];
    const int *fds;
    size_t count = nf_mesh_fds(mesh, &fds);

    CHECK(count <= FDS_MOST);
    for (size_t i = 0; i < count; i++)
        watch[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
    return poll(watch, (nfds_t)count, SOON_MS) > 0;
}

/* The others may be further, and say so. */
static void look_once(struct nf_mesh *mesh)
{
    struct nf_mesh_event event;

    if (nf_mesh_next(mesh, &event) == NF_OK)
        note_ahead(&event);
}

static void drain_all(struct nf_mesh *mesh)
{
    for (uint32_t i = 0; i < mesh->ranks; i++)
        while (nf_mesh_backlog_bytes(mesh, i) > 0) {
            CHECK(nf_mesh_wait(mesh, PATIENCE_US) == NF_OK);
            look_once(mesh);
        }
}

static void hear_first(struct nf_mesh *mesh, uint32_t word)
{
    struct nf_mesh_event event = next(mesh);

    for (; event.member != 0; event = next(mesh))
        note_ahead(&event);
    CHECK(word_of(&event) == word);
    nf_blob_unref(event.message.payload);
}

static void send_in_turns(struct nf_mesh *mesh, struct nf_blob *payload)
{
    nf_mesh_turn_look_with(look);
    nfree = 1;
    say(mesh, 1, 0, payload); /* now others wait, but not who had the last */
    say(mesh, 1, 1, payload);
    CHECK(nfree == 0 && nf_mesh_backlog_bytes(mesh, 1) == 0);
    say(mesh, 2, 0, payload);
    say(mesh, 1, 2, payload); /* behind that */
    CHECK(nf_mesh_backlog_bytes(mesh, 2) >= LONG_BYTES);
    CHECK(nf_mesh_backlog_bytes(mesh, 1) >= LONG_BYTES);
    say(mesh, 2, 1, NULL); /* what is short does not overtake */
    CHECK(nf_mesh_backlog_bytes(mesh, 2) > LONG_BYTES);
    say(mesh, 3, 7, NULL); /* but need not wait */
    CHECK(nf_mesh_backlog_bytes(mesh, 3) == 0);
    for (int i = 0; i < 5; i++) { /* no socket tells when the way is free */
        CHECK(nf_mesh_wait(mesh, PATIENCE_US) == NF_OK && wakes(mesh));
        look_once(mesh);
    }
    CHECK(nf_mesh_backlog_bytes(mesh, 2) > LONG_BYTES);
    nfree = 1;
    while (nf_mesh_backlog_bytes(mesh, 2) >= LONG_BYTES)
        look_once(mesh);
    CHECK(nf_mesh_backlog_bytes(mesh, 1) > 0);
    nfree = INT_MAX;
    drain_all(mesh);
    nf_mesh_turn_look_with(NULL);
}

/* Task 0 has much to send to each of two. */
void play_turns(void)
{
    struct nf_blob *payload = pipe_payload(5, LONG_BYTES, NF_BYTES);
    struct nf_mesh *mesh = open_mesh(1);

    if (me == 0)
        send_in_turns(mesh, payload);
    for (uint32_t i = 0; me == 1 && i < 3; i++)
        hear_first(mesh, i);
    for (uint32_t i = 0; me == 2 && i < 2; i++)
        hear_first(mesh, i);
    if (me == 3)
        hear_first(mesh, 7);
    meet(mesh, 9);
    CHECK(atomic_load(&payload->refs) == 1);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

/* What waits for its turn is dropped, and given up at the end; nobody waits for
 * the turn of a member that has ended. */
void play_turns_given_up(void)
{
    struct nf_blob *payload = pipe_payload(5, LONG_BYTES, NF_BYTES);
    struct nf_mesh *mesh = open_mesh(1), *other = open_mesh(2);

    if (me == 0) {
        nf_mesh_turn_look_with(look);
        nfree = 0;
        say(mesh, 1, 0, payload);
        say(mesh, 2, 0, payload);
        say(other, 1, 0, payload);
        nf_mesh_drop(mesh);
        CHECK(nf_mesh_backlog_bytes(mesh, 1) == 0);
        CHECK(nf_mesh_backlog_bytes(mesh, 2) == 0);
        say(mesh, 1, 1, NULL); /* nothing stands before it any more */
        say(mesh, 2, 1, payload);
        nf_mesh_close(other);
        CHECK(atomic_load(&payload->refs) == 2);
        nfree = INT_MAX;
        drain_all(mesh);
        nf_mesh_turn_look_with(NULL);
    } else {
        hear_first(mesh, 1);
        CHECK(next(other).kind == NF_MESH_LEFT);
        nf_mesh_close(other);
    }
    meet(mesh, 9);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}
