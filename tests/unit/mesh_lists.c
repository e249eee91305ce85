/* Scenes of test_mesh_pvm in which members open a mesh with lists that differ:
 * of other members, or in another order. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/net/mesh_pvm.h"
#include "tests/unit/mesh_play.h"

enum {
    TIMEOUT_US = 2000000,
    LATE_US = 2000000,
    LONG_US = 60000000,
    MEMBERS = 3,
    MEMBERS_MOST = 4,
    ODD = 5, /* the id of what comes to nothing; of what comes after it: */
    NEXT = 6
};

/* All have come so far. */
static void begin(void)
{
    for (uint32_t i = 0; i < ntasks; i++)
        if (i != me)
            tell(i);
    for (uint32_t i = 0; i < ntasks; i++)
        if (i != me)
            await_word(i);
}

/* @param members  [count] numbers of tasks
 * @return NULL: @p err says why not */
static struct nf_mesh *open_list(const uint32_t *members, uint32_t count,
                                 uint64_t id, int64_t timeout_us,
                                 struct nf_error *err)
{
    const struct nf_mesh_terms terms = { .id = id, .timeout_us = timeout_us };
    struct nf_mesh *mesh = NULL;
    int list[MEMBERS_MOST];

    for (uint32_t i = 0; i < count; i++)
        list[i] = tids[members[i]];
    *err = (struct nf_error){ .status = NF_OK };
    (void)nf_mesh_open_pvm(list, count, &terms, &mesh, err);
    return mesh;
}

static void expect_failure_of(const uint32_t *members, uint32_t count,
                              int64_t timeout_us, enum nf_status status,
                              const char *text)
{
    struct nf_error err;
    struct nf_mesh *mesh = open_list(members, count, ODD, timeout_us, &err);
    bool right =
        mesh == NULL && err.status == status && strstr(err.text, text) != NULL;

    if (!right)
        fprintf(stderr, "task %u: status %d, %s\n", me, (int)err.status,
                err.text);
    CHECK(right);
}

static void expect_mismatch(const uint32_t *members, uint32_t count,
                            const char *text)
{
    expect_failure_of(members, count, slowed_us(TIMEOUT_US), NF_ERR_MISMATCH,
                      text);
}

static void expect_mesh(const uint32_t *members, uint32_t count)
{
    struct nf_error err;
    struct nf_mesh *mesh = open_list(members, count, NEXT, LONG_US, &err);

    CHECK(mesh != NULL);
    nf_mesh_close(mesh);
}

static const uint32_t all[] = { 0, 1, 2, 3 };

/* Task 2 has the list the other way around: two believe to be member 0. */
void play_other_order(void)
{
    static const uint32_t back[MEMBERS] = { 2, 1, 0 };
    char text[100];

    snprintf(text, sizeof(text),
             "member 2 of 3, task t%x, waits for a group of "
             "other members, in another order",
             (unsigned)tids[2]);
    begin();
    expect_mismatch(me == 2 ? back : all, MEMBERS,
                    me == 2 ? "waits for a group of other members" : text);
    expect_mesh(all, MEMBERS); /* and nothing is left of it */
}

/* Two meetings of two each, who wait for the two others: all hear of it. */
void play_other_halves(void)
{
    static const uint32_t back[MEMBERS_MOST] = { 3, 2, 1, 0 };

    begin();
    expect_mismatch(me < 2 ? all : back, MEMBERS_MOST,
                    "waits for a group of other members");
    expect_mesh(all, MEMBERS_MOST);
}

/* Task 1 leaves task 2 out. */
void play_other_count(void)
{
    char text[100];

    snprintf(text, sizeof(text),
             "member %u of %d, task t%x, waits for a group of %d",
             me == 1 ? 0 : 1, me == 1 ? 2 : 3, (unsigned)tids[me == 1 ? 0 : 1],
             me == 1 ? 3 : 2);
    begin();
    expect_mismatch(all, me == 1 ? 2 : 3, text);
    expect_mesh(all, MEMBERS);
}

/* Task 0 is elsewhere for a while, and comes: it is not its fault that task 2
 * does not.  Task 1 asks after 2, 4 and 8 s, and once more when its time is up.
 */
void play_other_at_first(void)
{
    enum { FIRST_US = 9000000, SECOND_US = 10000000 };
    struct nf_error err;
    struct nf_mesh *mesh;

    begin();
    if (me == 0) {
        mesh = open_list(all, 2, NEXT, FIRST_US, &err);
        CHECK(mesh == NULL);
    }
    if (me < 2)
        expect_failure_of(all, MEMBERS, SECOND_US, NF_ERR_UNREACHABLE,
                          "did not come in time");
    begin();
}

/* Task 1 is in another group with task 2, which comes late, before it comes to
 * one with task 0: that one asks where it is meanwhile. */
void play_other_group_first(void)
{
    begin();
    if (me == 2)
        usleep(LATE_US);
    if (me > 0)
        expect_mesh(&all[1], 2);
    if (me < 2)
        expect_mesh(all, 2);
}
