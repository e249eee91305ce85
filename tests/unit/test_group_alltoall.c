/* All-to-all between members: every algorithm with blocks of one size and of
 * different ones, in place and not; and what members say of calls that do not
 * go together. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/group/plan.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 4 };

static const struct nf_group_options *options_of(const char *algorithm)
{
    static struct nf_group_options options;

    options = (struct nf_group_options){ .timeout_us = 1000000,
                                         .algorithms = algorithm };
    return &options;
}

/* Two calls, one behind the other, with nobody waiting in between.
 * @param usual  how large blocks are said to be, where they differ */
static bool exchanges_about(const char *algorithm, uint32_t ranks,
                            uint64_t number, size_t count, size_t usual)
{
    struct group_sim *sim = calloc(1, sizeof(*sim));
    struct round *rounds = calloc(ranks, sizeof(*rounds));
    bool right = sim_open(sim, ranks, number + 1, options_of(algorithm));

    for (uint64_t call = 0; right && call < 2; call++) {
        for (uint32_t r = 0; r < ranks; r++) {
            round_make_kind(&rounds[r], r, ranks, number + call,
                            NF_CALL_ALLTOALL, count);
            rounds[r].call.usual_count = usual;
            sim_start(sim, r, &rounds[r].call);
        }
        right = sim_run(sim);
        for (uint32_t r = 0; r < ranks; r++) {
            right = right && sim->statuses[r] == NF_OK &&
                    round_is_right(&rounds[r]);
            if (sim->statuses[r] != NF_OK)
                printf("\n    %s", nf_group_error(sim->groups[r])->text);
            round_fini(&rounds[r]);
        }
    }
    if (!right)
        printf("\n    %s, P=%u, call %u, %zu elements", algorithm, ranks,
               (unsigned)number, count);
    sim_close(sim);
    free(rounds);
    free(sim);
    return right;
}

static bool exchanges(const char *algorithm, uint32_t ranks, uint64_t number,
                      size_t count)
{
    return exchanges_about(algorithm, ranks, number, count, 0);
}

/* The numbers make blocks differ, lie in place, and have offsets, or not. */
static void every_algorithm_exchanges(void)
{
    static const size_t counts[] = { 0, 1, 7, 300 };

    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (uint32_t ranks = 1; ranks <= 9; ranks++) {
            const struct nf_coll_args args = { .ranks = ranks, .segments = 1 };

            if (nf_coll_table[i]->op != NF_COLL_ALLTOALL ||
                nf_coll_fits(nf_coll_table[i], &args, NULL) != NF_OK)
                continue;
            for (uint64_t number = 0; number < 30; number++)
                CU_ASSERT(exchanges(nf_coll_table[i]->name, ranks, number,
                                    counts[number % 4]));
        }
}

/* Books are kept of P^2 blocks only where these pass through others. */
static void books_are_kept_of_own_blocks_only(void)
{
    static const struct {
        const char *name;
        bool straight;
    } cases[] = {
        { "alltoall.burst", true },
        { "alltoall.pairwise_shift", true },
        { "alltoall.pairwise_xor", true },
        { "alltoall.tournament_hd", true },
        { "alltoall.bruck", false },
        { "alltoall.mixed", false },
        { "alltoall.dh", false },
        { "alltoall.pairwise_grid", true }, /* of one side */
    };
    const struct nf_coll_args args = { .ranks = 16, .segments = 1 };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (uint32_t rank = 0; rank < 16; rank++) {
            struct nf_plan *plan;

            CU_ASSERT_EQUAL_FATAL(nf_plan_create(nf_coll_find(cases[i].name),
                                                 &args, rank, &plan, NULL),
                                  NF_OK);
            CU_ASSERT_EQUAL(plan->straight, cases[i].straight);
            CU_ASSERT_EQUAL(plan->nbooks, cases[i].straight ? 32 : 256);
            nf_plan_destroy(plan);
        }
}

/* What is said beyond the name. */
static void parameters_are_taken(void)
{
    static const struct {
        const char *algorithm;
        uint32_t ranks;
    } wishes[] = {
        { "alltoall.mixed:radices=3x2x2", 9 },
        { "alltoall.mixed:radices=2x5", 9 },
        { "alltoall.bruck:radix=3", 8 },
        { "alltoall.khop:radix=4:shape=3x4", 12 },
        { "alltoall.dh:shape=2x4", 8 },
        { "alltoall.cdh:shape=2x4:radix=2", 8 },
        { "alltoall.mdh:shape=3x3", 9 },
        { "alltoall.naive:shape=2x3x2", 12 },
        { "alltoall.split_merge:shape=3x5", 15 },
        { "alltoall.bruck_grid:shape=3x3:radix=3", 9 },
        { "alltoall.pairwise_grid:shape=5x2", 10 },
    };

    for (size_t i = 0; i < sizeof(wishes) / sizeof(*wishes); i++)
        for (uint64_t number = 0; number < 8; number++)
            CU_ASSERT(exchanges(wishes[i].algorithm, wishes[i].ranks, number,
                                number * 10));
}

/* Two plans of one algorithm are not taken for each other. */
static void groups_of_other_parameters_do_not_agree(void)
{
    static const char *const names[] = { "alltoall.mixed:radices=2x3",
                                         "alltoall.mixed:radices=3x2" };
    struct group_sim sim;
    struct nf_error err;
    int64_t send[RANKS] = { 0 }, recv[RANKS][RANKS];
    uint32_t mismatches = 0;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 5, options_of("")));
    for (uint32_t r = 0; r < RANKS; r++) {
        const struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                                      .send = send,
                                      .recv = recv[r],
                                      .count = 1,
                                      .type = NF_ELEM_INT64 };

        CU_ASSERT_EQUAL(nf_group_force(sim.groups[r], names[r % 2], &err),
                        NF_OK);
        sim_start(&sim, r, &call);
    }
    CU_ASSERT(sim_run(&sim));
    for (uint32_t r = 0; r < RANKS; r++)
        mismatches += sim.statuses[r] == NF_ERR_MISMATCH;
    CU_ASSERT(mismatches > 0);
    sim_close(&sim);
}

static void wishes_that_make_no_sense_are_refused(void)
{
    static const struct {
        const char *wish, *said;
    } bad[] = {
        { "alltoall.mixed:radices=2x2",
          "alltoall.mixed: wants radices from 2 whose product is 9 or more" },
        { "alltoall.mixed:radices=2x",
          "\"alltoall.mixed:radices=2x\": want :radices= and numbers as "
          "3x2x3" },
        { "alltoall.mixed:radix=2",
          "\"alltoall.mixed:radix=2\": want :radices= and numbers as 3x2x3 "
          "after the name" },
        { "alltoall.dh:shape=2x4", "the shape has 8 ranks, not 9" },
        { "alltoall.dh:shape=0x9",
          "\"alltoall.dh:shape=0x9\": want :shape= and sides as 3x4" },
        { "alltoall.bruck:shape=3x3",
          "\"alltoall.bruck:shape=3x3\": want :radix= and a number up to 4096 "
          "after the name" },
        { "alltoall.bruck:radix=1", "alltoall.bruck: radix 1: want 2 to 4096" },
        { "alltoall.cdh:radix=5",
          "alltoall.cdh: radix 5: want 2, or alltoall.khop" },
        { "alltoall.pairwise_xor",
          "alltoall.pairwise_xor: wants 2, 4, 8, ... ranks, not 9" },
        { "alltoall.burst:shape=3x3",
          "\"alltoall.burst:shape=3x3\": want nothing after the name" },
    };
    struct nf_group *groups[9];
    struct nf_error err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CU_ASSERT_EQUAL(
            nf_group_open_threads(9, options_of(bad[i].wish), groups, &err),
            NF_ERR_INVAL);
        CU_ASSERT_STRING_EQUAL(err.text, bad[i].said);
    }
    /* this one says itself what it is for */
    CU_ASSERT_EQUAL(nf_group_open_threads(8, options_of("alltoall.split_merge"),
                                          groups, &err),
                    NF_ERR_INVAL);
    CU_ASSERT(strstr(err.text, "odd") != NULL);
}

static void the_choice_exchanges(void)
{
    for (uint64_t number = 0; number < 30; number++)
        CU_ASSERT(exchanges("", 1 + (uint32_t)number % 9, number, 40));
    /* whatever is said of sizes, and however wrong */
    for (uint64_t number = 0; number < 60; number++)
        CU_ASSERT(exchanges_about("", 3 + (uint32_t)number % 16, number,
                                  number % 4 * 20,
                                  number % 3 == 0 ? 1 : number * 100));
}

/* @param said  [RANKS] gets what each member says, if not NULL
 * @return how many members say that calls differ; all must fail */
static uint32_t clash(const char *algorithm, struct nf_call *calls,
                      uint32_t *failures_p, struct nf_error *said)
{
    struct group_sim *sim = calloc(1, sizeof(*sim));
    uint32_t mismatches = 0;

    CU_ASSERT_FATAL(sim_open(sim, RANKS, 5, options_of(algorithm)));
    for (uint32_t r = 0; r < RANKS; r++)
        sim_start(sim, r, &calls[r]);
    CU_ASSERT(sim_run(sim));
    *failures_p = 0;
    for (uint32_t r = 0; r < RANKS; r++) {
        mismatches += sim->statuses[r] == NF_ERR_MISMATCH;
        *failures_p += sim->statuses[r] < 0;
        if (said != NULL)
            said[r] = *nf_group_error(sim->groups[r]);
    }
    sim_close(sim);
    free(sim);
    return mismatches;
}

/* Rank 1 sends more to rank 2 than that awaits; what it sends in all is as
 * much as ever.  Told by the sizes that go before, or by the block itself. */
static void different_counts_are_an_error(void)
{
    static const char *const names[] = { "alltoall.pairwise_shift",
                                         "alltoall.bruck", "alltoall.dh",
                                         "alltoall.naive", "alltoall.mixed" };
    const size_t usual[RANKS] = { 2, 2, 2, 2 }, other[RANKS] = { 1, 2, 3, 2 };
    int64_t send[8] = { 0 }, recv[RANKS][8];

    for (size_t i = 0; i < 5; i++) {
        struct nf_call calls[RANKS];
        uint32_t failures;

        for (uint32_t r = 0; r < RANKS; r++)
            calls[r] = (struct nf_call){
                .kind = NF_CALL_ALLTOALL,
                .send = send,
                .recv = recv[r],
                .counts = usual,
                .send_counts = r == 1 ? other : usual,
                .varies = 1,
                .type = NF_ELEM_INT64,
            };
        CU_ASSERT(clash(names[i], calls, &failures, NULL) > 0);
        CU_ASSERT(failures > 0);
        for (uint32_t r = 0; r < RANKS; r++)
            calls[r] = (struct nf_call){ .kind = NF_CALL_ALLTOALL,
                                         .send = send,
                                         .recv = recv[r],
                                         .count = r == 1 ? 1 : 2,
                                         .type = NF_ELEM_INT64 };
        CU_ASSERT(clash(names[i], calls, &failures, NULL) > 0);
        CU_ASSERT_EQUAL(failures, RANKS);
    }
}

/* The blocks for rank 3, some of which go there by way of another one, who is
 * not to blame. */
static void the_members_whose_counts_differ_are_named(void)
{
    static const char *const names[] = { "alltoall.bruck", "alltoall.naive",
                                         "alltoall.dh", "alltoall.mixed" };
    const size_t usual[RANKS] = { 2, 2, 2, 2 }, other[RANKS] = { 2, 2, 2, 1 };
    int64_t send[8] = { 0 }, recv[RANKS][8];

    for (size_t i = 0; i < 4; i++)
        for (uint32_t from = 0; from < RANKS - 1; from++) {
            struct nf_call calls[RANKS];
            struct nf_error said[RANKS];
            uint32_t failures;
            char want[2][100];

            for (uint32_t r = 0; r < RANKS; r++)
                calls[r] = (struct nf_call){
                    .kind = NF_CALL_ALLTOALL,
                    .send = send,
                    .recv = recv[r],
                    .counts = usual,
                    .send_counts = r == from ? other : usual,
                    .varies = 1,
                    .type = NF_ELEM_INT64,
                };
            CU_ASSERT(clash(names[i], calls, &failures, said) > 0);
            snprintf(want[0], sizeof(want[0]),
                     "members %u and 3 gave different counts for the block "
                     "from %u to 3",
                     from, from);
            snprintf(want[1], sizeof(want[1]),
                     "members %u, 3 made a different call, says member 3",
                     from);
            CU_ASSERT_STRING_EQUAL(said[3].text, want[0]);
            for (uint32_t r = 0; r < 3; r++)
                CU_ASSERT(said[r].status == NF_OK ||
                          strcmp(said[r].text, want[1]) == 0);
        }
}

static void bad_calls_are_refused(void)
{
    const size_t huge = SIZE_MAX / 4, two = 2, three = 3, none = 0;
    struct nf_group *group;
    struct nf_error err;
    int32_t in[3] = { 4, 5, 6 }, out[3] = { 0, 0, 0 };
    const int type = NF_ELEM_INT32;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(1, NULL, &group, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_alltoall(group, in, out, 2, type), NF_OK);
    CU_ASSERT(out[0] == 4 && out[1] == 5 && out[2] == 0);
    CU_ASSERT_EQUAL(nf_alltoall(group, NF_IN_PLACE, out, 2, type), NF_OK);
    CU_ASSERT_EQUAL(nf_alltoall(group, NULL, NULL, 0, type), NF_OK);
    CU_ASSERT_EQUAL(nf_alltoall(group, NULL, out, 1, type), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_alltoall(group, in, NULL, 1, type), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_alltoall(group, in, NF_IN_PLACE, 1, type), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_alltoall(group, in, out, huge, type), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_alltoall(group, in, out, 1, 99), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(
        nf_alltoallv(group, in, &three, NULL, out, &three, NULL, type), NF_OK);
    CU_ASSERT_EQUAL(out[2], 6);
    CU_ASSERT_EQUAL(
        nf_alltoallv(group, NULL, &none, NULL, NULL, &none, NULL, type), NF_OK);
    CU_ASSERT_EQUAL(
        nf_alltoallv(group, NF_IN_PLACE, NULL, NULL, out, &three, NULL, type),
        NF_OK);
    CU_ASSERT_EQUAL(
        nf_alltoallv(group, in, &two, NULL, out, &three, NULL, type),
        NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_alltoallv(group, in, NULL, NULL, out, &two, NULL, type),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_alltoallv(group, in, &two, NULL, out, NULL, NULL, type),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(
        nf_alltoallv(group, in, &huge, NULL, out, &huge, NULL, type),
        NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_alltoallv(group, in, &two, &huge, out, &two, NULL, type),
                    NF_ERR_INVAL);
    nf_group_close(group);
}

int main(void)
{
    CU_TestInfo all[] = {
        { "every algorithm, blocks of one size and of others",
          every_algorithm_exchanges },
        { "books are kept of own blocks only",
          books_are_kept_of_own_blocks_only },
        { "radices and shapes are taken", parameters_are_taken },
        { "other radices are another call",
          groups_of_other_parameters_do_not_agree },
        { "wishes that make no sense are refused",
          wishes_that_make_no_sense_are_refused },
        { "what a group takes by itself", the_choice_exchanges },
        { "counts that differ are an error", different_counts_are_an_error },
        { "the members whose counts differ are named",
          the_members_whose_counts_differ_are_named },
        { "bad calls are refused", bad_calls_are_refused },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "all-to-all", NULL, NULL, NULL, NULL, all },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
