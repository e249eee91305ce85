/* A mesh and a group of more real PVM tasks than may all ask for word of each
 * other: the first one tells the others who has ended, and when it has ended
 * itself, the next one does.  Not under valgrind, which so many would take
 * minutes and gigabytes. */
#include "config.h"
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/group/group.h"
#include "common/net/mesh_pvm.h"
#include "nowfarm_group.h"
#include "tests/unit/own_pvm.h"
#include "tests/unit/scene.h"

enum {
    TASKS = 136,
    /* So long that nobody is found by being silent. */
    TIMEOUT_US = 120000000,
    AT_ONCE_US = 20000000, /* so many tasks share a few processors */
    OPEN_US = 60000000, /* how fast so many open is not what is tested */
};

/* ================================================== the part of a task === */

static int64_t at_once_us(void)
{
    return slowed_us(AT_ONCE_US);
}

static size_t watched(const struct mesh_pvm *p)
{
    const struct nf_int_map *map = &p->space->watched;
    size_t count = 0;

    for (size_t i = 0; i < map->capacity; i++)
        count += map->places[i].key != 0 && map->places[i].value == MESH_TASK;
    return count;
}

/* @param first   this is the lowest that lives
 * @param living  so many do
 * @param next    so many more die next: who is slow may be told of them already */
static void check_watched(const struct nf_mesh *mesh, bool first, size_t living,
                          size_t next)
{
    size_t count = watched((const struct mesh_pvm *)mesh);
    size_t least = first ? living - 1 : NF_LOOKOUT_FIRSTS;
    /* of those that others told of PVM's own word may still come */
    size_t most = least + (ntasks - living) + next;

    CHECK(mesh->partial);
    if (count < least || count > most)
        fprintf(stderr, "task %u watches %zu of %zu\n", me, count, living);
    CHECK(count >= least && count <= most);
}

/* ------------------------------------------------------------- a mesh */

enum { SEEN = 1, DIE, CLOSE };

static bool gone[TASKS];
static uint32_t nseen;

static void say(struct nf_mesh *mesh, uint32_t to, uint8_t word)
{
    const struct nf_mesh_message message = { .head = &word, .head_bytes = 1 };

    CHECK(nf_mesh_send(mesh, to, &message) == NF_OK);
    while (nf_mesh_backlog_bytes(mesh, to) > 0)
        CHECK(nf_mesh_wait(mesh, at_once_us()) == NF_OK);
}

static void die(void)
{
    raise(SIGKILL);
}

/* One event, and what it asks for.  @return a word of another kind, or 0 */
static uint8_t hear(struct nf_mesh *mesh, int64_t until_us)
{
    struct nf_mesh_event event;
    enum nf_status status;
    uint8_t word;

    while ((status = nf_mesh_next(mesh, &event)) == NF_WAIT) {
        CHECK(nf_now_us() < until_us);
        (void)nf_mesh_wait(mesh, 1000000);
    }
    CHECK(status == NF_OK);
    if (event.kind == NF_MESH_LEFT) {
        CHECK(!gone[event.member]);
        gone[event.member] = true;
        return 0;
    }
    word = event.message.head[0];
    if (word == DIE)
        die();
    nseen += word == SEEN;
    return word == CLOSE ? CLOSE : 0;
}

/* These die, at the word of member @p first, and perhaps that one with them;
 * all others are told of each, and nobody of anybody else. */
static void lose(struct nf_mesh *mesh, uint32_t first, uint32_t next,
                 const uint32_t *victims, size_t count, bool first_too)
{
    int64_t until_us = nf_now_us() + at_once_us();
    bool dead[TASKS];

    memcpy(dead, gone, sizeof(dead));
    for (size_t i = 0; i < count; i++) {
        if (me == first)
            say(mesh, victims[i], DIE);
        dead[victims[i]] = true;
    }
    if (first_too && me == first)
        die();
    dead[first] = dead[first] || first_too;
    while (memcmp(dead, gone, sizeof(dead)) != 0) {
        for (uint32_t i = 0; i < ntasks; i++)
            CHECK(dead[i] || !gone[i]);
        CHECK(hear(mesh, until_us) == 0);
    }
    if (me != next)
        say(mesh, next, SEEN);
}

/* Member @p first waits until all have seen the last deaths. */
static void await_seen(struct nf_mesh *mesh, uint32_t first)
{
    int64_t until_us = nf_now_us() + at_once_us();
    uint32_t living = 0;

    for (uint32_t i = 0; i < ntasks; i++)
        living += !gone[i];
    while (me == first && nseen < living - 1)
        CHECK(hear(mesh, until_us) == 0);
    nseen = 0;
}

static struct nf_mesh *open_mesh(void)
{
    const struct nf_mesh_terms terms = { .id = 1, .timeout_us = OPEN_US };
    struct nf_error err = { NF_OK, "" };
    struct nf_mesh *mesh = NULL;

    if (nf_mesh_open_pvm(tids, ntasks, &terms, &mesh, &err) != NF_OK)
        fprintf(stderr, "task %u: %s\n", me, err.text);
    CHECK(mesh != NULL);
    return mesh;
}

/* Nobody waits for any that dies: that they have is known only by word of the
 * first one. */
static void play_mesh(void)
{
    struct nf_mesh *mesh = open_mesh();

    check_watched(mesh, me == 0, ntasks, 1);
    lose(mesh, 0, 0, (const uint32_t[]){ 77 }, 1, false);
    await_seen(mesh, 0);
    lose(mesh, 0, 1, NULL, 0, true);
    await_seen(mesh, 1);
    check_watched(mesh, me == 1, ntasks - 2, 2);
    lose(mesh, 1, 1, (const uint32_t[]){ 40, 135 }, 2, false);
    await_seen(mesh, 1);
    /* with both that all watch, and one that only these have asked for */
    lose(mesh, 1, 3, (const uint32_t[]){ 100, 2 }, 2, true);
    await_seen(mesh, 3);
    check_watched(mesh, me == 3, ntasks - 7, 0);
    if (me == 3)
        for (uint32_t i = 0; i < ntasks; i++)
            if (i != me && !gone[i])
                say(mesh, i, CLOSE);
    while (me != 3 && hear(mesh, nf_now_us() + at_once_us()) != CLOSE)
        continue;
    nf_mesh_close(mesh);
}

/* These two are not the first. */
enum { HEARER = 5, TALKER = 9, TALKS = 20, TALK_BYTES = 1000 };

/* Member 5 is told that member 9 has ended, before that has sent what it sends: so
 * early does word of an end come that has overtaken all of it. */
static void hear_of_the_end(struct nf_mesh *mesh)
{
    uint8_t said[(TASKS + 7) / 8] = { [TALKER / 8] = 1 << TALKER % 8 };
    int64_t until_us = nf_now_us() + at_once_us();
    struct nf_mesh_event event;
    uint32_t talks = 0;

    say(mesh, TALKER, SEEN);
    nf_mesh_watch_hear((struct mesh_pvm *)mesh, 0, said, sizeof(said));
    while (!gone[TALKER]) {
        enum nf_status status = nf_mesh_next(mesh, &event);

        CHECK(status >= NF_OK && nf_now_us() < until_us);
        if (status == NF_WAIT) {
            (void)nf_mesh_wait(mesh, 1000000);
        } else if (event.kind == NF_MESH_LEFT) {
            CHECK(event.member == TALKER && talks == TALKS);
            gone[TALKER] = true;
        } else {
            CHECK(event.member == TALKER && event.message.payload != NULL);
            nf_blob_unref(event.message.payload);
            talks++;
        }
    }
    say(mesh, 0, SEEN);
}

static void talk_and_end(struct nf_mesh *mesh)
{
    const uint8_t word = SEEN;
    struct nf_mesh_message message = { .head = &word, .head_bytes = 1 };

    while (nseen == 0)
        CHECK(hear(mesh, nf_now_us() + at_once_us()) == 0);
    usleep(300000); /* for what was told to have its effect */
    for (int i = 0; i < TALKS; i++) {
        message.payload = nf_blob_create(TALK_BYTES, NF_BYTES);
        CHECK(message.payload != NULL);
        memset((void *)(uintptr_t)message.payload->data, i, TALK_BYTES);
        CHECK(nf_mesh_send(mesh, HEARER, &message) == NF_OK);
        nf_blob_unref(message.payload);
    }
    CHECK(nf_mesh_backlog_bytes(mesh, HEARER) == 0);
    die();
}

/* Nothing that was sent is lost by it. */
static void play_told(void)
{
    struct nf_mesh *mesh = open_mesh();

    if (me == TALKER)
        talk_and_end(mesh);
    if (me == HEARER)
        hear_of_the_end(mesh);
    while (me == 0 && nseen == 0)
        CHECK(hear(mesh, nf_now_us() + at_once_us()) == 0);
    for (uint32_t i = 1; i < ntasks && me == 0; i++)
        if (i != TALKER)
            say(mesh, i, CLOSE);
    while (me != 0 && hear(mesh, nf_now_us() + at_once_us()) != CLOSE)
        continue;
    nf_mesh_close(mesh);
}

/* Each closes its mesh when the one before it has, and all behind it wait in theirs.
 * The first one of those asks for all, and the others for the next: but not each
 * time. */
static void play_closing(void)
{
    int64_t start_us = nf_now_us(); /* the first ones may not wait for long */
    struct nf_mesh *mesh = open_mesh();
    size_t first = ntasks - 1, most;

    while (me > 0 && !gone[me - 1])
        CHECK(hear(mesh, nf_now_us() + at_once_us()) == 0);
    /* one became the first when the others had waited for long enough */
    most = NF_LOOKOUT_FIRSTS *
           (2 + (size_t)((nf_now_us() - start_us) / 500000));
    if (me > 0 && watched((const struct mesh_pvm *)mesh) > most) {
        fprintf(stderr, "member %u has asked for %zu\n", me,
                watched((const struct mesh_pvm *)mesh));
        CHECK(watched((const struct mesh_pvm *)mesh) <= first);
        CHECK(nf_now_us() - start_us > 500000);
    }
    nf_mesh_close(mesh);
}

/* ------------------------------------------------------------ a group */

static enum nf_status sum(struct nf_group *group)
{
    int64_t mine = nf_group_rank(group) + 1, all = 0;
    int64_t ranks = nf_group_size(group);
    enum nf_status status =
        nf_allreduce(group, &mine, &all, 1, NF_ELEM_INT64, NF_SUM);

    CHECK(status != NF_OK || all == ranks * (ranks + 1) / 2);
    return status;
}

enum { TAG_WORD = 33 };

/* Member 0 does something else until member 1 has come out of its calls. */
static void be_busy(uint32_t rank, bool before)
{
    if (rank == 0 && before)
        CHECK(pvm_recv(tids[1], TAG_WORD) > 0);
    if (rank == 1 && !before) {
        pvm_initsend(PvmDataRaw);
        CHECK(pvm_send(tids[0], TAG_WORD) == 0);
    }
}

/* Member @p victim dies; the others name it, at once, and go on without it.
 * @param busy  member 0 is elsewhere meanwhile
 * @return their group */
static struct nf_group *survive(struct nf_group *group, uint32_t victim,
                                bool busy)
{
    uint32_t ranks = nf_group_size(group), rank = nf_group_rank(group);
    struct nf_group *smaller = NULL;
    struct nf_error err = { NF_OK, "" };
    int64_t since_us;
    enum nf_status status;

    CHECK(sum(group) == NF_OK);
    /* few of those for whom it waited for long, before the first group is
     * closed */
    if (ranks == ntasks && rank > 0)
        CHECK(watched((const struct mesh_pvm *)group->mesh) < ntasks / 4);
    CHECK(nf_barrier(group) == NF_OK);
    if (rank == victim)
        die();
    since_us = nf_now_us();
    if (busy)
        be_busy(rank, true);
    do
        status = sum(group);
    while (status == NF_OK);
    if (busy)
        be_busy(rank, false);
    CHECK(status == NF_ERR_DEAD || status == NF_ERR_REVOKED);
    for (uint32_t r = 0; r < ranks; r++)
        CHECK((nf_group_is_lost(group, r) != 0) == (r == victim));
    CHECK(nf_barrier(group) == NF_ERR_REVOKED);
    if (nf_group_shrink(group, &smaller, &err) != NF_OK)
        fprintf(stderr, "task %u: %s\n", me, err.text);
    CHECK(smaller != NULL && nf_group_size(smaller) == ranks - 1);
    CHECK(nf_group_rank(smaller) == rank - (rank > victim));
    CHECK(nf_now_us() - since_us < at_once_us());
    nf_group_close(group);
    return smaller;
}

static struct nf_group *open_group(int64_t timeout_us)
{
    const struct nf_group_options options = { .timeout_us = timeout_us };
    struct nf_group *group = NULL;
    struct nf_error err = { NF_OK, "" };

    if (nf_group_open(tids, ntasks, 1, &options, &group, &err) != NF_OK)
        fprintf(stderr, "task %u: %s\n", me, err.text);
    CHECK(group != NULL);
    return group;
}

static void play_group(void)
{
    struct nf_group *group = open_group(TIMEOUT_US);

    group = survive(group, 77, false);
    group = survive(group, 0, false);
    CHECK(sum(group) == NF_OK && nf_barrier(group) == NF_OK);
    nf_group_close(group);
}

/* Nobody tells, no time-out ends the wait: who waits for the dead one asks. */
static void play_busy(void)
{
    struct nf_group *group = open_group(-1);

    alarm((unsigned)(3 * at_once_us() / 1000000));
    group = survive(group, 77, true);
    CHECK(sum(group) == NF_OK && nf_barrier(group) == NF_OK);
    nf_group_close(group);
}

static const struct scene scenes[] = {
    { "mesh", play_mesh },
    { "told", play_told },
    { "closing", play_closing },
    { "busy", play_busy },
    { "group", play_group },
    { NULL, NULL },
};

/* ======================================================== the test === */

static void run(const char *scene, const uint32_t *dead, size_t count)
{
    static struct own_task all[OWN_TASKS_MOST];
    uint32_t right = 0;

    own_tasks_start(all, TASKS, scene, STDERR_FILENO);
    for (uint32_t i = 0; i < TASKS; i++) {
        bool dies = false;

        for (size_t k = 0; k < count; k++)
            dies = dies || dead[k] == i;
        right += own_task_end(&all[i], dies);
    }
    /* once: where one is wrong, all are, and its words would drown */
    CU_ASSERT_EQUAL(right, TASKS);
}

static void members_tell_each_other_of_ends(void)
{
    run("mesh", (const uint32_t[]){ 77, 0, 40, 135, 100, 2, 1 }, 7);
}

static void what_was_sent_comes_though_an_end_is_told(void)
{
    run("told", (const uint32_t[]){ TALKER }, 1);
}

static void closing_in_order_asks_for_few(void)
{
    run("closing", NULL, 0);
}

static void survivors_name_the_dead_and_shrink(void)
{
    run("group", (const uint32_t[]){ 77, 0 }, 2);
}

static void who_waits_asks_though_the_first_is_busy(void)
{
    run("busy", (const uint32_t[]){ 77 }, 1);
}

/* A socket a pair would take longer than all the rest. */
static int go_by_the_pvmds(void)
{
    return setenv("NOWFARM_ROUTE", "daemon", 1);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        { "members of a mesh tell each other of ends",
          members_tell_each_other_of_ends },
        { "what was sent comes, though an end is told before",
          what_was_sent_comes_though_an_end_is_told },
        { "members that close one after the other ask for few",
          closing_in_order_asks_for_few },
        { "survivors of a group name the dead, and shrink",
          survivors_name_the_dead_and_shrink },
        { "who waits asks, though the first is busy",
          who_waits_asks_though_the_first_is_busy },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "many PVM tasks", go_by_the_pvmds, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (argc == 4)
        return scene_play(argv + 1, scenes);
    if (getenv("NF_VALGRIND") != NULL) {
        fprintf(stderr, "skipped: %d tasks are too many for valgrind\n", TASKS);
        return 77;
    }
    return own_pvm_run(suites);
}
