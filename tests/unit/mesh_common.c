/* Scenes of test_mesh_pvm with several meshes in one context, as those of
 * slaves are: one comes after the other, and they need not have the same
 * members. */
#include "config.h"
#include <signal.h>
#include <unistd.h>
#include "tests/unit/mesh_play.h"

enum { COMMON_CONTEXT = 0x10001 };

static struct nf_mesh *join(const uint32_t *members, uint32_t count,
                            uint64_t cookie, bool routes)
{
    struct nf_mesh *mesh = NULL;
    int list[OWN_TASKS_MOST];

    for (uint32_t i = 0; i < count; i++)
        list[i] = tids[members[i]];
    CHECK(nf_mesh_join_pvm(list, count, cookie, COMMON_CONTEXT,
                           NF_MESH_CONTEXT_COMMON, routes, &mesh,
                           NULL) == NF_OK);
    return mesh;
}

/* Task 1 is in the next mesh, and speaks, while task 0 has not closed the last.
 * @param reads  that makes task 0 read it before it closes; else it does so
 * then
 */
static void go_to_next(uint64_t cookie, bool routes, bool reads)
{
    const uint32_t both[] = { 0, 1 };
    struct nf_mesh *last = join(both, 2, cookie, routes), *then;
    struct nf_mesh_event event;
    pid_t pid = 0;

    meet(last, 1);
    if (me == 1) {
        say(last, 0, (uint32_t)getpid(), NULL);
        then = join(both, 2, cookie + 1, routes);
        say(then, 0, 7, NULL);
        if (reads)
            tell(0);
        else
            raise(SIGSTOP);
        nf_mesh_close(last);
    } else {
        event = next(last);
        pid = (pid_t)word_of(&event);
        if (reads)
            await_word(1);
        else
            await_stop(pid);
        nf_mesh_close(last);
        if (!reads)
            kill(pid, SIGCONT);
        then = join(both, 2, cookie + 1, routes);
        hear(then, 1, 7);
    }
    meet(then, 8);
    nf_mesh_close(then);
}

void play_next_mesh(void)
{
    for (uint64_t way = 0; way < 4; way++)
        go_to_next(10 + 2 * way, way / 2 == 1, way % 2 == 1);
}

/* Who has never been in a mesh with task 0 speaks while that has another one.
 */
void play_newcomer(void)
{
    const uint32_t before[] = { 0, 1 }, after[] = { 0, 2 };
    struct nf_mesh *last = NULL, *then = NULL;

    if (me < 2) {
        last = join(before, 2, 5, true);
        meet(last, 1);
    }
    if (me == 0) {
        tell(2);
        await_word(2); /* and what it said before has been read */
        then = join(after, 2, 6, true);
        hear(then, 1, 7);
        say(then, 1, 8, NULL);
    } else if (me == 2) {
        await_word(0);
        then = join(after, 2, 6, true);
        say(then, 0, 7, NULL);
        tell(0);
        hear(then, 0, 8);
    }
    nf_mesh_close(then);
    nf_mesh_close(last);
}

/* The third may have closed it before. */
static void await_left(struct nf_mesh *mesh, uint32_t member)
{
    struct nf_mesh_event event;

    do {
        event = next(mesh);
        CHECK(event.kind == NF_MESH_LEFT);
    } while (event.member != member);
}

/* That a task has ended is known in meshes that are opened after word of it
 * came, too: whether another one is still open or not. */
void play_ended_before(void)
{
    const uint32_t all[] = { 0, 1, 2 };
    struct nf_mesh *mesh = join(all, 3, 5, false), *then;

    meet(mesh, 1);
    if (me == 1) { /* not before the others know that it was there */
        await_word(0);
        await_word(2);
        raise(SIGKILL);
    }
    tell(1);
    await_left(mesh, 1);
    for (uint64_t cookie = 6; cookie < 8; cookie++) {
        if (cookie == 7)
            nf_mesh_close(mesh);
        then = join(all, 3, cookie, false);
        await_left(then, 1);
        if (cookie == 6)
            nf_mesh_close(mesh);
        mesh = then;
    }
    nf_mesh_close(mesh);
}
