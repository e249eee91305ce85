/* Groups of five real PVM tasks of which one is killed at a random moment of
 * every algorithm, or stopped in one of each operation; of eight or nine in
 * what is for such numbers or shapes only.  Nobody hangs, the right one is
 * named, and the survivors go on without it.
 *
 * The moment is a number of messages, not a time: the victim counts what it
 * sends and gets and dies, or stops, in the middle of a call.
 *
 * Victims and moments are drawn by NOWFARM_TEST_SEED, else by a seed of this
 * second, which is printed: moments of as many as the victim's part of the
 * schedule has messages.  NOWFARM_TEST_KILLS=FIRST (`make check-kills`) takes
 * each algorithm with each victim and each of those moments instead, from the
 * case FIRST on, for NOWFARM_TEST_KILLS_S seconds, and says where to go on. */
#include "config.h"
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/coll/wish.h"
#include "common/group/plan.h"
#include "nowfarm_group.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/own_pvm.h"
#include "tests/unit/scene.h"

enum { TASKS = 5, TASKS_MOST = 9, STOPS = NF_COLL_OPS, AT_ONCE = 6 };
/* Of larger groups as many tasks at a time. */
enum { LARGE_AT_ONCE = 3 };
/* A stopped member is found by its silence, a dead one at once. */
enum { KILL_TIMEOUT_US = 20000000, STOP_TIMEOUT_US = 1000000 };
enum { AT_ONCE_US = 3000000 };
enum { SWEEP_S = 600 }; /* the long mode, if nobody says */

/* Who dies, when, in what: the same in the test and in its tasks. */
struct scenario {
    const struct nf_coll_algorithm *algorithm; /* NULL: there is no such case */
    uint32_t tasks;
    struct nf_coll_sides shape; /* of the tasks; count 0: none is asked for */
    uint64_t number;            /* of its calls */
    uint32_t segments, victim;
    uint64_t moves;
    struct nf_rng rng; /* for the rest */
};

/* What is not for five in a ring. */
static const struct {
    const struct nf_coll_algorithm *algorithm;
    struct nf_coll_sides shape;
    uint32_t tasks;
} large[] = {
    { &nf_coll_allgather_rec_doubling, { 0 }, 8 },
    { &nf_coll_alltoall_dh, { 2, { 2, 4 } }, 8 },
    { &nf_coll_alltoall_pairwise_xor, { 0 }, 8 },
    { &nf_coll_alltoall_split_merge, { 2, { 3, 3 } }, 9 },
    { &nf_coll_alltoall_split_merge0, { 2, { 3, 3 } }, 9 },
    { &nf_coll_alltoall_mdh, { 2, { 3, 3 } }, 9 },
};
enum { LARGE = sizeof(large) / sizeof(large[0]) };

/* The n-th algorithm that there is for so many; NULL: there are fewer. */
static const struct nf_coll_algorithm *algorithm_of(uint32_t n)
{
    const struct nf_coll_args args = { .ranks = TASKS, .segments = 1 };

    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        if (nf_coll_fits(nf_coll_table[i], &args, NULL) == NF_OK && n-- == 0)
            return nf_coll_table[i];
    return NULL;
}

/* One of that operation. */
static const struct nf_coll_algorithm *draw_of(struct nf_rng *rng, uint32_t op)
{
    const struct nf_coll_algorithm *some, *drawn = NULL;
    uint64_t seen = 0;

    for (uint32_t n = 0; (some = algorithm_of(n)) != NULL; n++)
        if ((uint32_t)some->op == op && nf_rng_below(rng, ++seen) == 0)
            drawn = some;
    return drawn;
}

static struct scenario scenario_by(const struct nf_coll_algorithm *by,
                                   uint32_t n, struct nf_rng rng)
{
    struct scenario s = { .algorithm = by, .tasks = TASKS, .rng = rng };

    CHECK(by != NULL);
    /* even ones are of an operator that does not commute */
    s.number = 2 * (uint64_t)n + (by->order != NF_ORDER_RANKS);
    s.segments = by->items == NF_ITEMS_SEGMENTS
                     ? 1 + (uint32_t)nf_rng_below(&s.rng, 9)
                     : 1;
    return s;
}

/* How many messages the victim has to send and to get in such a call. */
static uint32_t count_moves(const struct scenario *s)
{
    static const uint32_t one_host[TASKS_MOST];
    const struct nf_coll_args args = {
        .ranks = s->tasks,
        .root = (uint32_t)(s->number % s->tasks),
        .segments = s->segments,
        .hosts = one_host,
        .shape = s->shape.count > 0 ? &s->shape : NULL,
    };
    struct nf_plan *plan;
    uint32_t moves;

    CHECK(nf_plan_create(s->algorithm, &args, s->victim, &plan, NULL) == NF_OK);
    moves = plan->nsteps;
    for (uint32_t i = 0; i < plan->nsteps; i++)
        moves += plan->steps[i].lists; /* the sizes go by themselves */
    nf_plan_destroy(plan);
    CHECK(moves > 0);
    return moves;
}

/* @param stops  one of operation @p n, else algorithm @p n
 * @param seed   of all that is drawn */
static struct scenario draw_scenario(bool stops, uint64_t seed, uint32_t n)
{
    struct nf_rng rng = { seed + n };
    const struct nf_coll_algorithm *by =
        stops ? draw_of(&rng, n) : algorithm_of(n);
    struct scenario s = scenario_by(by, n, rng);

    s.victim = (uint32_t)nf_rng_below(&s.rng, TASKS);
    s.moves = nf_rng_below(&s.rng, count_moves(&s));
    return s;
}

/* The case of that number of the sweep. */
static struct scenario sweep_scenario(uint64_t seed, uint32_t number)
{
    const struct nf_coll_algorithm *by;
    uint32_t before = 0;

    for (uint32_t n = 0; (by = algorithm_of(n)) != NULL; n++) {
        struct scenario s = scenario_by(by, n, (struct nf_rng){ seed + n });

        for (s.victim = 0; s.victim < TASKS; s.victim++) {
            uint32_t moves = count_moves(&s);

            if (number - before < moves) {
                s.moves = number - before;
                s.rng = (struct nf_rng){ seed + number };
                return s;
            }
            before += moves;
        }
    }
    return (struct scenario){ .algorithm = NULL };
}

static struct scenario large_scenario(uint64_t seed, uint32_t n)
{
    struct scenario s =
        scenario_by(large[n].algorithm, n, (struct nf_rng){ seed + n });

    s.tasks = large[n].tasks;
    s.shape = large[n].shape;
    s.victim = (uint32_t)nf_rng_below(&s.rng, s.tasks);
    s.moves = nf_rng_below(&s.rng, count_moves(&s));
    return s;
}

static struct scenario scenario_of(const char *how, uint64_t seed, uint32_t n)
{
    if (how[0] == 'l')
        return large_scenario(seed, n);
    return how[0] == 'a' ? sweep_scenario(seed, n)
                         : draw_scenario(how[0] == 's', seed, n);
}

/* ================================================== the part of a task === */

static uint32_t victim;
static const struct nf_coll_algorithm *algorithm; /* of next_call() */
static uint64_t number;
static bool stops;
static bool counting; /* is what it does one of them? */
static uint64_t moves_left;
static enum nf_status (*real_send)(struct nf_mesh *, uint32_t,
                                   const struct nf_mesh_message *);

static enum nf_status (*real_next)(struct nf_mesh *, struct nf_mesh_event *);

static enum nf_status send_and_die(struct nf_mesh *mesh, uint32_t to,
                                   const struct nf_mesh_message *message)
{
    enum nf_status status = real_send(mesh, to, message);

    if (counting && moves_left-- == 0)
        raise(stops ? SIGSTOP : SIGKILL);
    return status;
}

static enum nf_status hear_and_die(struct nf_mesh *mesh,
                                   struct nf_mesh_event *event_p)
{
    enum nf_status status = real_next(mesh, event_p);

    if (status == NF_OK && counting && moves_left-- == 0)
        raise(stops ? SIGSTOP : SIGKILL);
    return status;
}

/* From now on the victim's messages are counted. */
static void arm(struct nf_group *group, uint64_t moves)
{
    static struct nf_mesh_ops ops;

    ops = *group->mesh->ops;
    real_send = ops.send;
    real_next = ops.next;
    ops.send = send_and_die;
    ops.next = hear_and_die;
    moves_left = moves;
    group->mesh->ops = &ops;
}

static bool is_forced(const struct nf_request *request)
{
    const char *name = nf_request_algorithm(request);
    size_t length = strlen(algorithm->name);

    return strncmp(name, algorithm->name, length) == 0 &&
           (name[length] == '\0' || name[length] == ':');
}

/* @return the status of the call */
static enum nf_status one_call(struct nf_group *group, enum nf_call_kind kind,
                               uint64_t seed, size_t count)
{
    struct nf_request *request;
    struct round round;
    enum nf_status status;

    round_make_kind(&round, nf_group_rank(group), nf_group_size(group), seed,
                    kind, count);
    status = start_somehow(group, &round.call, &request);
    if (status == NF_OK) {
        /* by those who survive anything may be called */
        CHECK(nf_group_size(group) < ntasks ||
              (int)kind != (int)algorithm->op || is_forced(request));
        status = nf_request_wait(request);
    }
    CHECK(status != NF_OK || round_is_right(&round));
    CHECK(round_keeps_input(&round));
    round_fini(&round);
    return status;
}

/* The calls that go on until the victim is gone.  One in eight is a barrier,
 * for those who need nothing of the victim; it does not die there.  Of so many
 * elements no block is empty, so that it has a part in all others. */
static enum nf_status next_call(struct nf_group *group)
{
    static uint32_t made;
    enum nf_call_kind kind =
        ++made % 8 == 0 ? NF_CALL_BARRIER : (enum nf_call_kind)algorithm->op;

    counting = (int)kind == (int)algorithm->op;
    return one_call(group, kind, number, 3001);
}

/* @param status  of the call before: the victim may have died in it */
static void survive(struct nf_group *group, enum nf_status status)
{
    int64_t most_us = stops ? STOP_TIMEOUT_US + 1000000 : slowed_us(AT_ONCE_US);
    struct nf_group *smaller;
    struct nf_error err;
    int64_t begun_us;

    while (status == NF_OK) { /* it had all that it needed */
        begun_us = nf_now_us();
        status = next_call(group);
        CHECK(nf_now_us() - begun_us < most_us);
    }
    CHECK(status == NF_ERR_REVOKED ||
          status == (stops ? NF_ERR_TIMEDOUT : NF_ERR_DEAD));
    for (uint32_t r = 0; r < ntasks; r++)
        CHECK((nf_group_is_lost(group, r) != 0) == (r == victim));
    CHECK(nf_barrier(group) == NF_ERR_REVOKED);
    CHECK(nf_group_shrink(group, &smaller, &err) == NF_OK);
    CHECK(nf_group_size(smaller) == ntasks - 1);
    CHECK(nf_group_rank(smaller) == me - (me > victim));
    nf_group_close(group);
    for (uint32_t n = 0; n <= NF_CALL_BARRIER; n++)
        CHECK(one_call(smaller, (enum nf_call_kind)n, number + n, 50) == NF_OK);
    CHECK(nf_barrier(smaller) == NF_OK);
    nf_group_close(smaller);
}

/* In a list the last one of an operation counts. */
static void prefer(const struct scenario *s, char *algorithms, size_t bytes)
{
    const struct nf_coll_wish wish = {
        .algorithm = s->algorithm,
        .segments = s->algorithm->items == NF_ITEMS_SEGMENTS ? s->segments : 0,
        .params.shape = s->shape,
    };
    size_t used = strlen(algorithms);

    CHECK(used + 65 < bytes);
    algorithms[used++] = ',';
    nf_coll_wish_write(&wish, algorithms + used, bytes - used);
}

/* The scene is "kill NUMBER SEED", or stop, or all: a kill of the sweep; or
 * larg: one of a larger group. */
static int play(char **args)
{
    struct scenario s;
    struct nf_group_options options = { 0 };
    struct nf_group *group;
    struct nf_error err = { NF_OK, "" };
    char algorithms[600];
    enum nf_status status;
    unsigned long long seed;
    uint32_t n;

    scene_begin(args);
    stops = strncmp(scene_name, "stop", 4) == 0;
    CHECK(sscanf(scene_name + 4, "%u %llu", &n, &seed) == 2);
    s = scenario_of(scene_name, seed, n);
    victim = s.victim;
    algorithm = s.algorithm;
    number = s.number;
    CHECK(algorithm != NULL);
    CHECK(ntasks == s.tasks);
    draw_algorithms(&s.rng, ntasks, algorithms, sizeof(algorithms));
    prefer(&s, algorithms, sizeof(algorithms));
    options.algorithms = algorithms;
    options.timeout_us = stops ? STOP_TIMEOUT_US : KILL_TIMEOUT_US;
    if (nf_group_open(tids, ntasks, 1, &options, &group, &err) != NF_OK) {
        fprintf(stderr, "%s: %s\n", scene_name, err.text);
        return 1;
    }
    CHECK(round_define(group));
    status = nf_barrier(group);
    CHECK(status == NF_OK || me != victim);
    if (me == victim)
        arm(group, s.moves);
    while (me == victim)
        if (next_call(group) != NF_OK)
            return 3; /* was stopped, and went on */
    survive(group, status);
    pvm_exit();
    return 0;
}

/* ======================================================== the test === */

static uint64_t the_seed;

static void start_case(struct own_task *all, uint32_t n, const char *how)
{
    char scene[64];

    snprintf(scene, sizeof(scene), "%-4s%u %llu", how, n,
             (unsigned long long)the_seed);
    own_tasks_start(all, scenario_of(how, the_seed, n).tasks, scene,
                    STDERR_FILENO);
}

/* @return whether it was as it should be */
static bool end_case(struct own_task *all, uint32_t n, const char *how)
{
    const struct scenario s = scenario_of(how, the_seed, n);
    uint32_t dies = s.victim;
    bool right = true;

    for (uint32_t k = 1; k <= s.tasks; k++) { /* the victim last */
        uint32_t i = (dies + k) % s.tasks;

        if (i == dies && how[0] == 's')
            kill(all[i].pid, SIGKILL);
        right = own_task_end(&all[i], i == dies) && right;
    }
    if (!right)
        printf("\nnot right: %s %u, seed %llu\n", how, n,
               (unsigned long long)the_seed);
    return right;
}

/* @return the first case that was not begun by @p until_us */
static uint32_t run_from(uint32_t first, uint32_t cases, const char *how,
                         int64_t until_us)
{
    static struct own_task tasks[AT_ONCE][TASKS];

    for (; first < cases && nf_now_us() < until_us; first += AT_ONCE) {
        for (uint32_t i = 0; i < AT_ONCE && first + i < cases; i++)
            start_case(tasks[i], first + i, how);
        for (uint32_t i = 0; i < AT_ONCE && first + i < cases; i++)
            CU_ASSERT(end_case(tasks[i], first + i, how));
    }
    return first < cases ? first : cases;
}

/* Under valgrind: five tasks at a time, that of each operation which comes at
 * the end of its list. */
static void run_few(void)
{
    static struct own_task tasks[TASKS];
    const struct nf_coll_algorithm *now, *next = algorithm_of(0);

    for (uint32_t n = 0; (now = next) != NULL; n++) {
        next = algorithm_of(n + 1);
        if (next != NULL && next->op == now->op)
            continue;
        start_case(tasks, n, "kill");
        CU_ASSERT(end_case(tasks, n, "kill"));
    }
}

static void run(uint32_t cases, const char *how)
{
    run_from(0, cases, how, INT64_MAX);
}

/* All of them take longer than anybody waits: begin where the last one ended.
 */
static void whoever_is_killed_whenever(void)
{
    const char *limit = getenv("NOWFARM_TEST_KILLS_S");
    int64_t most_s = limit != NULL ? strtol(limit, NULL, 10) : SWEEP_S;
    uint32_t first = (uint32_t)strtoul(getenv("NOWFARM_TEST_KILLS"), NULL, 10);
    uint32_t cases = 0, next;

    while (sweep_scenario(the_seed, cases).algorithm != NULL)
        cases++;
    next = run_from(first, cases, "all", nf_now_us() + most_s * 1000000);
    CU_ASSERT(next > first);
    printf("cases %u to %u of %u, seed %llu", first, next, cases,
           (unsigned long long)the_seed);
    if (next < cases)
        printf("; go on by NOWFARM_TEST_SEED=%llu NOWFARM_TEST_KILLS=%u",
               (unsigned long long)the_seed, next);
    printf("\n");
}

static void killed_members_are_left_behind(void)
{
    uint32_t cases = 0;

    while (algorithm_of(cases) != NULL)
        cases++;
    CU_ASSERT(cases > NF_COLL_OPS);
    if (getenv("NF_VALGRIND") != NULL)
        run_few();
    else
        run(cases, "kill");
}

/* Of eight or nine. */
static void members_of_grids_are_left_behind(void)
{
    static struct own_task tasks[LARGE_AT_ONCE][TASKS_MOST];
    uint32_t at_once = getenv("NF_VALGRIND") != NULL ? 1 : LARGE_AT_ONCE;

    for (uint32_t first = 0; first < LARGE; first += at_once) {
        for (uint32_t i = 0; i < at_once && first + i < LARGE; i++)
            start_case(tasks[i], first + i, "larg");
        for (uint32_t i = 0; i < at_once && first + i < LARGE; i++)
            CU_ASSERT(end_case(tasks[i], first + i, "larg"));
    }
}

static void stopped_members_are_left_behind(void)
{
    if (getenv("NF_VALGRIND") == NULL) /* all others must answer in a second */
        run(STOPS, "stop");
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        { "killed members are left behind", killed_members_are_left_behind },
        { "killed members of grids are left behind",
          members_of_grids_are_left_behind },
        { "stopped members are left behind", stopped_members_are_left_behind },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo sweep[] = {
        { "whoever is killed, whenever", whoever_is_killed_whenever },
        CU_TEST_INFO_NULL,
    };
    const char *seed = getenv("NOWFARM_TEST_SEED");
    bool all = getenv("NOWFARM_TEST_KILLS") != NULL;
    CU_SuiteInfo suites[] = {
        { "members of groups that are killed", NULL, NULL, NULL, NULL,
          all ? sweep : tests },
        CU_SUITE_INFO_NULL,
    };

    if (argc == 4)
        return play(argv + 1);
    the_seed =
        seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)the_seed);
    fflush(stdout);
    return own_pvm_run(suites);
}
