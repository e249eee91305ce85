/* Groups of real PVM tasks, none of which nowfarm has spawned: mixed rounds, a
 * task that is killed, a task that does not come. */
#include "config.h"
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/pvm_context.h"
#include "nowfarm_group.h"
#include "tests/unit/group_alone.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/own_pvm.h"
#include "tests/unit/scene.h"

enum { TIMEOUT_US = 1500000 };
/* A dead one is found at once, not by its silence. */
enum { KILL_TIMEOUT_US = 20000000, AT_ONCE_US = 3000000 };

/* ================================================== the part of a task === */

static struct nf_group *open_group(int64_t timeout_us)
{
    /* the others need not even have the file */
    const char *table = me == 0 ? getenv("NF_TEST_TABLE") : NULL;
    const struct nf_group_options options = { .timeout_us = timeout_us,
                                              .table_file = table };
    struct nf_group *group = NULL;
    struct nf_error err = { NF_OK, "" };

    if (nf_group_open(tids, ntasks, 1, &options, &group, &err) != NF_OK)
        fprintf(stderr, "task %u: %s\n", me, err.text);
    CHECK(group != NULL && nf_group_rank(group) == me);
    CHECK(round_define(group));
    CHECK(group->has_rules == (getenv("NF_TEST_TABLE") != NULL));
    return group;
}

/* What was said before the call is what it goes by; names may have segments. */
static bool goes_by(const struct nf_request *request, const char *said)
{
    const char *went = nf_request_algorithm(request);

    return strncmp(said, went, strlen(went)) == 0;
}

/* @return the status of the first that failed */
static enum nf_status rounds(struct nf_group *group, uint64_t first,
                             uint64_t count)
{
    enum nf_status status = NF_OK;

    for (uint64_t i = 0; i < count && status == NF_OK; i++) {
        struct nf_request *request;
        struct round round;
        char said[NF_ALGORITHM_BYTES];
        enum nf_status asked;

        round_make(&round, nf_group_rank(group), nf_group_size(group),
                   first + i);
        asked = nf_group_algorithm(group, &round.call, said, sizeof(said));
        status = start_somehow(group, &round.call, &request);
        if (status == NF_OK) {
            CHECK(asked != NF_OK || nf_group_size(group) == 1 ||
                  goes_by(request, said));
            status = nf_request_wait(request);
        }
        if (status == NF_OK)
            CHECK(round_is_right(&round));
        round_fini(&round);
    }
    return status;
}

/* All members say the same. */
static void play_asking(struct nf_group *group)
{
    char said[NF_ALGORITHM_BYTES] = "", first[NF_ALGORITHM_BYTES];

    for (int kind = NF_CALL_BCAST; kind <= NF_CALL_BARRIER; kind++) {
        const size_t counts[] = { 1, 70, 9000, 3, 5 };
        const struct nf_call call = { .kind = (enum nf_call_kind)kind,
                                      .count = 3000,
                                      .counts = kind == NF_CALL_REDUCE_SCATTER
                                                    ? counts
                                                    : NULL,
                                      .type = NF_ELEM_INT64,
                                      .root = ntasks - 1 };

        CHECK(ntasks <= 5);
        CHECK(nf_group_algorithm(group, &call, said, sizeof(said)) == NF_OK);
        memcpy(first, said, sizeof(first));
        CHECK(nf_bcast(group, first, sizeof(first), NF_ELEM_BYTE, 0) == NF_OK);
        CHECK((said[0] != '\0') == (ntasks > 1));
        CHECK(strcmp(first, said) == 0);
    }
}

static void play_rounds(void)
{
    struct nf_group *group = open_group(0);
    enum { BYTES = 3 << 20 };
    unsigned char *bytes = malloc(BYTES);
    enum nf_status status = rounds(group, 0, 400);

    if (status != NF_OK)
        fprintf(stderr, "%s\n", nf_group_error(group)->text);
    CHECK(status == NF_OK);
    for (uint32_t root = 0; root < ntasks; root++) {
        memset(bytes, me == root ? (int)root + 7 : 0, BYTES);
        CHECK(nf_bcast(group, bytes, BYTES, NF_ELEM_BYTE, root) == NF_OK);
        CHECK(bytes[0] == root + 7 && memcmp(bytes, bytes + 1, BYTES - 1) == 0);
    }
    CHECK(nf_barrier(group) == NF_OK);
    play_asking(group);
    nf_group_close(group);
    free(bytes);
}

/* Survivors name the victim, and go on without it.
 * @param reason  why calls end for whom finds it out
 * @param status  of the last call */
static void survive(struct nf_group *group, uint32_t victim,
                    enum nf_status reason, enum nf_status status)
{
    struct nf_group *smaller;
    struct nf_error err;

    if (status == NF_OK) /* had all that it needed */
        status = nf_barrier(group);
    CHECK(status == reason || status == NF_ERR_REVOKED);
    for (uint32_t r = 0; r < ntasks; r++)
        CHECK((nf_group_is_lost(group, r) != 0) == (r == victim));
    CHECK(nf_barrier(group) == NF_ERR_REVOKED);
    CHECK(nf_group_shrink(group, &smaller, &err) == NF_OK);
    CHECK(nf_group_size(smaller) == ntasks - 1);
    nf_group_close(group);
    CHECK(rounds(smaller, 5000, 100) == NF_OK);
    CHECK(nf_barrier(smaller) == NF_OK);
    nf_group_close(smaller);
}

static void play_killed(void)
{
    struct nf_group *group = open_group(KILL_TIMEOUT_US);
    int64_t since_us;
    enum nf_status status;

    CHECK(rounds(group, 100, 30) == NF_OK);
    if (me == 1) {
        CHECK(rounds(group, 130, 17) == NF_OK);
        raise(SIGKILL);
    }
    since_us = nf_now_us();
    status = rounds(group, 130, 400);
    CHECK(nf_now_us() - since_us < slowed_us(AT_ONCE_US));
    survive(group, 1, NF_ERR_DEAD, status);
}

static void play_absent(void)
{
    struct nf_group *group = open_group(TIMEOUT_US), *smaller;
    const uint32_t victim = ntasks == 2 ? 1 : 2;
    struct nf_error err;
    enum nf_status status;

    CHECK(rounds(group, 100, 30) == NF_OK);
    if (me != victim) {
        survive(group, victim, NF_ERR_TIMEDOUT, rounds(group, 130, 100));
        return;
    }
    /* the others have decided and ended, and word of it lies unread */
    nf_sleep_until_us(nf_now_us() + 3 * TIMEOUT_US);
    status = nf_barrier(group);
    CHECK(status < 0);
    CHECK(nf_group_shrink(group, &smaller, &err) < 0);
    nf_group_close(group);
}

/* Task 1 comes to the agreement when task 0 has ended. */
static void play_late(void)
{
    struct nf_group *group = open_group(TIMEOUT_US), *smaller;
    struct nf_error err;

    CHECK(rounds(group, 100, 30) == NF_OK);
    if (me == 1) {
        nf_sleep_until_us(nf_now_us() + 3 * TIMEOUT_US);
        CHECK(nf_group_shrink(group, &smaller, &err) < 0);
    } else {
        CHECK(nf_group_shrink(group, &smaller, &err) == NF_OK);
        CHECK(nf_group_size(smaller) == 1);
        nf_group_close(smaller);
    }
    nf_group_close(group);
}

/* Several groups, closed in any order, also after the task has left PVM; and
 * that leaves PVM with nothing to complain of. */
static void play_several(void)
{
    struct nf_group *groups[6];
    const int order[6] = { 2, 0, 5, 1, 4, 3 };
    struct nf_error err;

    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 6; i++)
            CHECK(nf_group_open(tids, ntasks, (uint64_t)i, NULL, &groups[i],
                                &err) == NF_OK);
        for (int i = 0; i < 6; i++)
            CHECK(round_define(groups[i]));
        for (int i = 0; i < 6; i++) {
            CHECK(rounds(groups[order[i]], 0, 1) == NF_OK);
            CHECK(nf_barrier(groups[order[i]]) == NF_OK);
            if (again == 0 || i < 3)
                nf_group_close(groups[order[i]]);
        }
    }
    CHECK(pvm_exit() == 0);
    CHECK(nf_barrier(groups[3]) < 0 && nf_barrier(groups[3]) < 0);
    for (int i = 3; i < 6; i++)
        nf_group_close(groups[order[i]]);
    CHECK(nf_pvm_self() < 0);
}

/* Is what is freed kept, so that its use is noticed? */
static bool keeps_freed(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return true;
#else
    return getenv("NF_VALGRIND") != NULL;
#endif
}

static long rss_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Task 2 gathers, and task 1 comes late; task 0 has no need to wait. */
static void play_ahead(void)
{
    enum { BYTES = 64 * 1024, CALLS = 10000 };
    struct nf_group *group = open_group(0);
    unsigned char *buffer = calloc(4, BYTES), *all = buffer + BYTES;
    long before_kib;

    CHECK(nf_barrier(group) == NF_OK);
    before_kib = rss_kib();
    memset(buffer, 1, 4 * BYTES);
    for (int i = 0; i < CALLS; i++) {
        if (me == 1 && i == 0)
            nf_sleep_until_us(nf_now_us() + TIMEOUT_US);
        memset(buffer, i + (int)me, BYTES);
        CHECK(nf_gather(group, buffer, all, BYTES, NF_ELEM_BYTE, 2) == NF_OK);
        CHECK(group->early_bytes[0] <= NF_EARLY_BYTES + 2 * BYTES);
        CHECK(me != 2 || i > 0 || group->early_bytes[0] > NF_EARLY_BYTES / 2);
        for (int r = 0; r < 3 && me == 2; r++)
            CHECK(all[r * BYTES] == ((i + r) & 255) &&
                  all[(r + 1) * BYTES - 1] == ((i + r) & 255));
    }
    /* a member that computes takes nothing */
    for (int i = 0; i < CALLS; i++) {
        if (me == 1 && i == 0)
            nf_sleep_until_us(nf_now_us() + TIMEOUT_US);
        if (me == 0)
            memset(buffer, i, BYTES);
        CHECK(nf_bcast(group, buffer, BYTES, NF_ELEM_BYTE, 0) == NF_OK);
        CHECK(buffer[0] == (i & 255) && buffer[BYTES - 1] == (i & 255));
    }
    CHECK(nf_barrier(group) == NF_OK);
    CHECK(keeps_freed() || rss_kib() - before_kib < 12 * 1024);
    nf_group_close(group);
    free(buffer);
}

static char logged[1000];

static void keep_log(enum nf_log_level level, const char *line)
{
    size_t used = strlen(logged);

    (void)level;
    snprintf(logged + used, sizeof(logged) - used, "%s\n", line);
}

/* The last member has no direct routes at first, which only that one knows:
 * rank 0 tells it of a table of direct routes. */
static void play_detour(void)
{
    const struct nf_group_options options = {
        .table_file = me == 0 ? getenv("NF_TEST_TABLE") : NULL
    };

    nf_log_set_sink(keep_log);
    for (uint64_t id = 1; id <= 2; id++) {
        struct nf_group *group = NULL;
        struct nf_error err;

        if (me == ntasks - 1) /* it asks for none */
            setenv("NOWFARM_ROUTE", id == 1 ? "daemon" : "direct", 1);
        logged[0] = '\0';
        CHECK(nf_group_open(tids, ntasks, id, &options, &group, &err) == NF_OK);
        CHECK(group->has_rules);
        CHECK((strstr(logged, "tuned for messages by the direct route") !=
               NULL) == (me == 0 && id == 1));
        CHECK(nf_barrier(group) == NF_OK);
        nf_group_close(group);
    }
    nf_log_set_sink(NULL);
}

/* What rank 0 says holds for all, whatever they were told: of allreduce only
 * the ring keeps less than two vectors. */
static void play_memory(void)
{
    enum { COUNT = 100, LIMIT = COUNT * 8 / 4 * 7 };
    const struct nf_group_options options = { .memory_bytes =
                                                  me == 0 ? LIMIT : 0 };
    struct nf_group *group = NULL, *smaller = NULL;
    struct nf_request *request;
    int64_t *mine = calloc(COUNT, 8), *all = calloc(COUNT, 8);
    const struct nf_call call = { .kind = NF_CALL_ALLREDUCE,
                                  .send = mine,
                                  .recv = all,
                                  .count = COUNT,
                                  .type = NF_ELEM_INT64,
                                  .op = NF_SUM };
    struct nf_error err;

    if (me != 0)
        setenv("NOWFARM_COLL_MEMORY", me == 1 ? "1B" : "8GiB", 1);
    CHECK(nf_group_open(tids, ntasks, 1, &options, &group, &err) == NF_OK);
    CHECK(group->memory_bytes == LIMIT);
    CHECK(round_define(group));
    for (int i = 0; i < COUNT; i++)
        mine[i] = me + i;
    CHECK(nf_group_start(group, &call, &request) == NF_OK);
    CHECK(strcmp(request->algorithm, "allreduce.ring") == 0);
    CHECK(nf_request_wait(request) == NF_OK);
    for (int i = 0; i < COUNT; i++)
        CHECK(all[i] == ntasks * (ntasks - 1) / 2 + ntasks * i);
    CHECK(rounds(group, 0, 100) == NF_OK);
    CHECK(nf_group_shrink(group, &smaller, &err) == NF_OK);
    CHECK(smaller->memory_bytes == LIMIT);
    nf_group_close(group);
    CHECK(rounds(smaller, 0, 20) == NF_OK);
    CHECK(nf_barrier(smaller) == NF_OK);
    nf_group_close(smaller);
    free(mine);
    free(all);
}

/* Each in a group of its own. */
static void play_alone(void)
{
    struct nf_group *group = NULL;
    struct nf_error err;

    CHECK(nf_group_open(&tids[me], 1, 1, NULL, &group, &err) == NF_OK);
    CHECK(is_right_alone(group));
    nf_group_close(group);
}

static const struct scene scenes[] = {
    { "alone", play_alone },
    { "memory", play_memory },
    { "ahead", play_ahead },
    { "several", play_several },
    { "rounds", play_rounds },
    { "killed", play_killed },
    { "absent", play_absent },
    { "late", play_late },
    { "detour", play_detour },
    { NULL, NULL },
};

/* ======================================================== the test === */

static int said_fd; /* what tasks say on standard error: nothing */

static int open_said(void)
{
    said_fd = memfd_create("said", MFD_CLOEXEC);
    return said_fd < 0;
}

/* libpvm has a line of its own for who writes to a task that has ended, until
 * word of that end comes; no option silences it. */
static bool is_libpvms(const char *line)
{
    return strncmp(line, "libpvm [", 8) == 0 &&
           strstr(line, "mxfer() write tt sock: Broken pipe") != NULL;
}

/* @param ended  some tasks end while others still use the group */
static void check_nothing_said(bool ended)
{
    char text[4096] = "";
    ssize_t bytes = pread(said_fd, text, sizeof(text) - 1, 0);

    CU_ASSERT(bytes >= 0);
    for (char *line = strtok(text, "\n"); line != NULL;
         line = strtok(NULL, "\n")) {
        CU_ASSERT(ended && is_libpvms(line));
        if (!ended || !is_libpvms(line))
            fprintf(stderr, "%s\n", line);
    }
    CU_ASSERT_EQUAL(ftruncate(said_fd, 0), 0);
    lseek(said_fd, 0, SEEK_SET);
}

/* @param dies  the task that is to be killed, or -1 */
static void run(const char *scene, uint32_t count, int dies)
{
    struct own_task all[OWN_TASKS_MOST];

    own_tasks_start(all, count, scene, said_fd);
    for (uint32_t i = 0; i < count; i++)
        CU_ASSERT(own_task_end(&all[i], (int)i == dies));
    check_nothing_said(dies >= 0 || strcmp(scene, "absent") == 0 ||
                       strcmp(scene, "late") == 0);
}

static void tasks_get_right_results(void)
{
    run("rounds", 5, -1);
    run("rounds", 1, -1);
}

static void run_with_table(const char *scene)
{
    char path[] = "/tmp/nf-table-XXXXXX";
    int fd = mkstemp(path);

    CU_ASSERT(fd >= 0 && write_table(path));
    setenv("NF_TEST_TABLE", path, 1);
    run(scene, 3, -1);
    unsetenv("NF_TEST_TABLE");
    close(fd);
    unlink(path);
}

static void the_table_of_rank_0_is_everybodys(void)
{
    run_with_table("rounds");
}

static void the_memory_of_rank_0_is_everybodys(void)
{
    run("memory", 4, -1);
}

static void alone_no_operator_is_called(void)
{
    run("alone", 2, -1);
}

static void routes_of_others_count_too(void)
{
    run_with_table("detour");
}

static void the_same_in_xdr(void)
{
    setenv("NOWFARM_ENCODING", "xdr", 1);
    run("rounds", 3, -1);
    unsetenv("NOWFARM_ENCODING");
}

/* Sizes of blocks travel too, in messages of their own. */
static void blocks_of_many_sizes_along_trees_in_xdr(void)
{
    setenv("NOWFARM_COLL", "gather.binomial,scatter.binomial", 1);
    run("rounds", 5, -1);
    setenv("NOWFARM_ENCODING", "xdr", 1);
    run("rounds", 5, -1);
    unsetenv("NOWFARM_ENCODING");
    unsetenv("NOWFARM_COLL");
}

static void a_killed_task_is_named_and_left_behind(void)
{
    run("killed", 5, 1);
}

static void a_task_that_does_not_come_is_left_behind(void)
{
    run("absent", 4, -1);
    run("absent", 2, -1);
}

static void a_task_that_comes_late_hears_the_decision(void)
{
    run("late", 2, -1);
}

static void leaving_says_nothing(void)
{
    run("several", 3, -1);
}

static void who_runs_ahead_fills_nobodys_memory(void)
{
    setenv("NOWFARM_COLL", "bcast.flat,gather.linear_nb", 1);
    run("ahead", 3, -1);
    unsetenv("NOWFARM_COLL");
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        { "tasks get right results", tasks_get_right_results },
        { "the same in XDR", the_same_in_xdr },
        { "blocks of many sizes go along trees, in XDR too",
          blocks_of_many_sizes_along_trees_in_xdr },
        { "who closes groups and leaves PVM says nothing",
          leaving_says_nothing },
        { "who runs ahead fills nobody's memory",
          who_runs_ahead_fills_nobodys_memory },
        { "the table of rank 0 is everybody's",
          the_table_of_rank_0_is_everybodys },
        { "how much memory rank 0 allows holds for all",
          the_memory_of_rank_0_is_everybodys },
        { "alone, no operator is called", alone_no_operator_is_called },
        { "a table is compared with the routes of all",
          routes_of_others_count_too },
        { "a killed task is named and left behind",
          a_killed_task_is_named_and_left_behind },
        { "a task that does not come is left behind",
          a_task_that_does_not_come_is_left_behind },
        { "a task that comes late hears what was decided",
          a_task_that_comes_late_hears_the_decision },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "groups of PVM tasks", open_said, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (argc == 4)
        return scene_play(argv + 1, scenes);
    return own_pvm_run(suites);
}
