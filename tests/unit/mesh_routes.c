/* Scenes of test_mesh_pvm in which messages go by the pvmds. */
#include "config.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "tests/unit/link_pipe.h"
#include "tests/unit/mesh_play.h"

enum { TURNS = 20, BYTES = 300000 };

/* Large and small ones, both ways, in order. */
static void talk(struct nf_mesh *mesh)
{
    struct nf_blob *payload = pipe_payload(3, BYTES, NF_BYTES);

    for (uint32_t i = 0; i < TURNS; i++) {
        say(mesh, 1 - me, i, i % 2 == 0 ? payload : NULL);
        say(mesh, 1 - me, TURNS + i, NULL);
    }
    for (uint32_t i = 0; i < TURNS; i++) {
        struct nf_mesh_event event = next(mesh);

        CHECK(word_of(&event) == i);
        if (i % 2 == 0)
            CHECK(pipe_payload_is(event.message.payload, 3, BYTES, NF_BYTES));
        nf_blob_unref(event.message.payload);
        hear(mesh, 1 - me, TURNS + i);
    }
    drain(mesh, 1 - me);
    nf_blob_unref(payload);
}

static void expect_route(struct nf_mesh *mesh, bool direct)
{
    struct nf_mesh_place place;

    CHECK(nf_mesh_place(mesh, &place));
    if (me == 1) { /* who asks for it knows */
        CHECK(nf_mesh_is_direct(mesh, 0) == direct);
        CHECK(place.direct == direct);
    }
}

void play_by_daemon(void)
{
    struct nf_mesh *mesh;

    setenv("NOWFARM_ROUTE", "daemon", 1);
    mesh = open_mesh(1);
    expect_route(mesh, false);
    talk(mesh);
    nf_mesh_close(mesh);
    setenv("NOWFARM_ROUTE", "direct", 1);
    mesh = open_mesh(2);
    expect_route(mesh, true);
    talk(mesh);
    nf_mesh_close(mesh);
}

/* One task has descriptors for the mesh, and not one more for a route. */
static void open_without_route(uint32_t poor)
{
    const uint32_t both[] = { 0, 1 };
    struct rlimit before, tight;
    struct nf_mesh *mesh, *sub;
    int free_fd = dup(STDIN_FILENO);

    close(free_fd);
    CHECK(free_fd > 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
    tight = before;
    tight.rlim_cur = (rlim_t)free_fd + 1;
    if (me == poor)
        CHECK(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    mesh = open_mesh(poor + 1);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    expect_route(mesh, false);
    talk(mesh);
    CHECK(nf_mesh_subset(mesh, both, 2, 5, &sub, NULL) == NF_OK);
    expect_route(sub, false);
    nf_mesh_close(mesh);
    talk(sub);
    nf_mesh_close(sub);
}

/* Neither the one that asks for a route nor the one that is asked can have one:
 * a mesh is there all the same, and knows. */
void play_no_route(void)
{
    open_without_route(1);
}

void play_no_route_granted(void)
{
    open_without_route(0);
}

/* Who is not there any more is found out without routes, too. */
void play_gone_by_daemon(void)
{
    setenv("NOWFARM_ROUTE", "daemon", 1);
    play_here_and_gone();
}
