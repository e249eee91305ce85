/* Scenes of test_mesh_pvm in which messages go by the pvmds. */
#include "config.h"
#include <pvm3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
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

/* A mesh in which one task has descriptors for it, and not one more for a route.
 */
static struct nf_mesh *open_poor(uint64_t id, uint32_t poor)
{
    struct rlimit before, tight;
    struct nf_mesh *mesh;
    int free_fd = dup(STDIN_FILENO);

    close(free_fd);
    CHECK(free_fd > 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
    tight = before;
    tight.rlim_cur = (rlim_t)free_fd + 1;
    if (me == poor)
        CHECK(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    mesh = open_mesh(id);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    return mesh;
}

static void open_without_route(uint32_t poor)
{
    const uint32_t both[] = { 0, 1 };
    struct nf_mesh *mesh = open_poor(poor + 1, poor), *sub;

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

/* There is a route to another one already, which says nothing of this one. */
void play_no_route_among_others(void)
{
    struct nf_mesh *mesh;

    if (me == 2) { /* a route of the program's own, before there is a mesh */
        pvm_setopt(PvmRoute, PvmRouteDirect);
        tell(0);
        pvm_setopt(PvmRoute, PvmAllowDirect);
        tell(1);
    } else {
        await_word(2);
    }
    mesh = open_poor(1, 1);
    if (me == 2) {
        CHECK(nf_mesh_is_direct(mesh, 0));
        CHECK(!nf_mesh_is_direct(mesh, 1));
    }
    for (uint32_t word = 0; word < TURNS; word++)
        meet(mesh, word);
    nf_mesh_close(mesh);
}

/* The descriptor of the duct between the two members; libpvm has none. */
static int find_duct(struct nf_mesh *mesh)
{
    const int *fds;
    size_t count = nf_mesh_fds(mesh, &fds);
    int *libpvm_fds, libpvm_count = pvm_getfds(&libpvm_fds), found = -1;

    for (size_t i = 0; i < count; i++) {
        int listens = 1;
        socklen_t bytes = sizeof(listens);
        bool is_libpvm = false;

        for (int k = 0; k < libpvm_count; k++)
            is_libpvm = is_libpvm || libpvm_fds[k] == fds[i];
        if (!is_libpvm &&
            getsockopt(fds[i], SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) ==
                0 &&
            listens == 0)
            found = fds[i];
    }
    CHECK(libpvm_count == 1 && found >= 0);
    return found;
}

/* The connection breaks while both tasks live: each is lost to the other,
 * behind what it has said.  Others are not. */
void play_duct_ends(void)
{
    struct nf_mesh *mesh = open_mesh(1);
    struct nf_mesh_event event;

    meet(mesh, 1);
    if (me == 1) {
        say(mesh, 0, 2, NULL);
        drain(mesh, 0);
        CHECK(shutdown(find_duct(mesh), SHUT_RDWR) == 0);
    } else {
        hear(mesh, 1, 2);
    }
    event = next(mesh);
    CHECK(event.kind == NF_MESH_LEFT && event.member == 1 - me);
    nf_mesh_close(mesh);
    mesh = open_mesh(2); /* another one can be opened */
    expect_route(mesh, true);
    talk(mesh);
    nf_mesh_close(mesh);
}

/* A route of libpvm breaks while both tasks live. */
void play_route_ends(void)
{
    struct nf_mesh *mesh;
    int *fds, count;

    setenv("NOWFARM_ROUTE", "pvm", 1);
    mesh = open_mesh(1);
    count = pvm_getfds(&fds);
    expect_route(mesh, true);
    meet(mesh, 1);
    meet(mesh, 2);
    CHECK(count == 2); /* that to the pvmd comes first */
    if (me == 1)
        CHECK(shutdown(fds[1], SHUT_RDWR) == 0);
    usleep(200000);
    while (me == 1 && nf_mesh_is_direct(mesh, 0)) {
        struct nf_mesh_event event;

        CHECK(nf_mesh_next(mesh, &event) == NF_WAIT);
        usleep(1000);
    }
    expect_route(mesh, false);
    talk(mesh);
    nf_mesh_close(mesh);
    mesh = open_mesh(2); /* another one can be opened */
    expect_route(mesh, true);
    talk(mesh);
    nf_mesh_close(mesh);
}

/* Who is not there any more is found out without routes, too. */
void play_gone_by_daemon(void)
{
    setenv("NOWFARM_ROUTE", "daemon", 1);
    play_here_and_gone();
}
