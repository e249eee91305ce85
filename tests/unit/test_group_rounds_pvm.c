/* A thousand calls of PVM tasks one after the other, of random kinds, roots,
 * sizes, types, operators and algorithms, some in place, in which each task is late
 * at random: every result is what a plain loop over all members gives.
 *
 * Another seed each time, which is printed; NF_TEST_SEED=N is that one again. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "tests/unit/group_rounds.h"
#include "tests/unit/own_pvm.h"
#include "tests/unit/scene.h"

/* Where sanitizers or valgrind slow all down there are so many rounds less. */
enum { ROUNDS = 1000, LESS = 4, FORCED_IN_TURN = 25 };
/* Large enough for several segments, and for members to wait for credit. */
enum { MANY = 20000, MANY_EVERY = 40 };

/* ================================================== the part of a task === */

static const char seed_variable[] = "NF_TEST_SEED";

/* Mostly not at all, now and then by 0.1 to 3 ms, seldom by 5 to 20. */
static void be_late(struct nf_rng *rng)
{
    uint64_t chance = nf_rng_below(rng, 1000);
    int64_t us;

    if (chance >= 150)
        return;
    us = chance < 4 ? 5000 + (int64_t)nf_rng_below(rng, 15001)
                    : 100 + (int64_t)nf_rng_below(rng, 2901);
    nf_sleep_until_us(nf_now_us() + us);
}

/* Some rounds by what the group chooses, some by drawn algorithms; the same in
 * all members, as @p rng is. */
static void set_algorithms(struct nf_group *group, struct nf_rng *rng,
                           unsigned i)
{
    char algorithms[NF_COLL_OPS * sizeof(group->forced[0])] = "";
    struct nf_error err;

    if (i % FORCED_IN_TURN != 0)
        return;
    nf_group_unforce(group);
    if (i / FORCED_IN_TURN % 2 == 0)
        return;
    draw_algorithms(rng, group->ranks, algorithms, sizeof(algorithms));
    CHECK(nf_group_force(group, algorithms, &err) == NF_OK);
}

static void make_some(struct round *round, const struct nf_group *group,
                      struct nf_rng *rng, unsigned i)
{
    uint64_t number = nf_rng_below(rng, UINT64_C(1) << 40);
    enum nf_call_kind kind;

    if (i % MANY_EVERY != 0) {
        round_make(round, group->rank, group->ranks, number);
        return;
    }
    kind = (enum nf_call_kind)nf_rng_below(rng, NF_CALL_BARRIER + 1);
    round_make_kind(round, group->rank, group->ranks, number, kind, MANY);
}

static void say(const struct nf_group *group, const struct round *round,
                unsigned i, const char *what)
{
    fprintf(stderr,
            "task %u, round %u, kind %d, root %u, type %d, operator %d, %zu "
            "elements, forced \"%s\": %s\n",
            me, i, (int)round->call.kind, (unsigned)round->call.root,
            round->call.type, round->call.op, round->call.count,
            group->forced[round->call.kind], what);
}

/* @param own  for what this task alone does */
static void play_round(struct nf_group *group, struct nf_rng *rng,
                       struct nf_rng *own, unsigned i)
{
    struct nf_request *request = NULL;
    struct round round;
    enum nf_status status;
    bool right;

    set_algorithms(group, rng, i);
    make_some(&round, group, rng, i);
    be_late(own);
    status = start_somehow(group, &round.call, &request);
    be_late(own); /* the call has begun, and nobody carries it on */
    if (status == NF_OK)
        status = nf_request_wait(request);
    right =
        status == NF_OK && round_is_right(&round) && round_keeps_input(&round);
    if (!right)
        say(group, &round, i,
            status == NF_OK ? "wrong result" : nf_group_error(group)->text);
    round_fini(&round);
    CHECK(right);
}

static void play_late(void)
{
    const char *seed = getenv(seed_variable);
    struct nf_rng rng = { seed != NULL ? strtoull(seed, NULL, 10) : 0 };
    struct nf_rng own = { rng.state * 1000 + me + 1 };
    unsigned rounds = slowed_us(1) == 1 ? ROUNDS : ROUNDS / LESS;
    struct nf_group *group = NULL;
    struct nf_error err = { NF_OK, "" };

    if (nf_group_open(tids, ntasks, 1, NULL, &group, &err) != NF_OK)
        fprintf(stderr, "%s\n", err.text);
    CHECK(group != NULL && round_define(group));
    for (unsigned i = 0; i < rounds; i++)
        play_round(group, &rng, &own, i);
    CHECK(nf_barrier(group) == NF_OK);
    nf_group_close(group);
}

/* Every other member sends in XDR, the others as they have it: what comes in
 * one is sent along in the other. */
static void play_mixed(void)
{
    if (me % 2 == 1)
        setenv("NOWFARM_ENCODING", "xdr", 1);
    play_late();
}

/* Small reductions whose roots change: members that have no part in the next ones
 * but to send run ahead of the one that is late, and wait for it in a later call. */
enum { REDUCTIONS = 2000, LATE_EVERY = 400, TIMEOUT_US = 1500000 };

static void play_roots(void)
{
    const struct nf_group_options options = { .timeout_us =
                                                  slowed_us(TIMEOUT_US) };
    struct nf_rng rng = { strtoull(getenv(seed_variable), NULL, 10) };
    struct nf_group *group = NULL;
    struct nf_error err = { NF_OK, "" };

    CHECK(nf_group_open(tids, ntasks, 1, &options, &group, &err) == NF_OK);
    for (unsigned i = 0; i < REDUCTIONS; i++) {
        uint32_t root = (uint32_t)nf_rng_below(&rng, ntasks);
        uint32_t late = (uint32_t)nf_rng_below(&rng, ntasks);
        int64_t mine = (int64_t)i * (me + 1), sum = -1;
        enum nf_status status;

        if (me == late && i % LATE_EVERY == 0)
            nf_sleep_until_us(nf_now_us() + TIMEOUT_US / 2);
        status =
            nf_reduce(group, &mine, &sum, 1, NF_ELEM_INT64, NF_SUM, root);
        if (status != NF_OK)
            fprintf(stderr, "task %u, reduction %u to %u: %s\n", me, i, root,
                    nf_group_error(group)->text);
        CHECK(status == NF_OK);
        CHECK(me != root || sum == (int64_t)i * ntasks * (ntasks + 1) / 2);
    }
    CHECK(nf_barrier(group) == NF_OK);
    nf_group_close(group);
}

static const struct scene scenes[] = {
    { "late", play_late },
    { "mixed", play_mixed },
    { "roots", play_roots },
    { NULL, NULL },
};

/* ======================================================== the test === */

static uint64_t seed;

/* @param variable  set to @p value for the tasks; NULL: none is */
static void run(const char *scene, uint32_t count, const char *variable,
                const char *value)
{
    struct own_task all[OWN_TASKS_MOST];
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64, seed);
    setenv(seed_variable, text, 1);
    if (variable != NULL)
        setenv(variable, value, 1);
    own_tasks_start(all, count, scene, STDERR_FILENO);
    for (uint32_t i = 0; i < count; i++)
        CU_ASSERT(own_task_end(&all[i], false));
    if (variable != NULL)
        unsetenv(variable);
}

static void a_thousand_late_rounds_are_right(void)
{
    run("late", 5, NULL, NULL);
}

static void a_thousand_late_rounds_are_right_in_xdr(void)
{
    run("late", 4, "NOWFARM_ENCODING", "xdr");
}

static void a_thousand_late_rounds_are_right_where_some_convert(void)
{
    run("mixed", 5, NULL, NULL);
}

static void a_thousand_late_rounds_are_right_via_daemons(void)
{
    run("late", 6, "NOWFARM_ROUTE", "daemon");
}

static void reductions_with_changing_roots_wait_for_the_late(void)
{
    run("roots", 5, NULL, NULL);
}

static void choose_seed(void)
{
    const char *given = getenv(seed_variable);

    seed = given != NULL ? strtoull(given, NULL, 10)
                         : (uint64_t)nf_now_us() % 1000000000;
    printf("%s=%" PRIu64 "\n", seed_variable, seed);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        { "a thousand rounds of tasks that are late are right",
          a_thousand_late_rounds_are_right },
        { "the same in XDR", a_thousand_late_rounds_are_right_in_xdr },
        { "the same where some members send in XDR",
          a_thousand_late_rounds_are_right_where_some_convert },
        { "the same by way of the pvmds",
          a_thousand_late_rounds_are_right_via_daemons },
        { "reductions with changing roots wait for the late",
          reductions_with_changing_roots_wait_for_the_late },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "rounds of PVM tasks that are late", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (argc == 4)
        return scene_play(argv + 1, scenes);
    choose_seed();
    return own_pvm_run(suites);
}
