/* gather, scatter, barrier: goldens, and runs on symbols. */
#include "config.h"
#include "common/base/error.h"
#include "tests/unit/coll_golden.h"
#include "tests/unit/coll_laws.h"
#include "tests/unit/coll_values.h"
#include "tests/unit/nf_unit.h"

static void expect(struct coll_golden_count count, size_t compared)
{
    CU_ASSERT_EQUAL(count.compared, compared);
    CU_ASSERT_EQUAL(count.wrong, 0);
}

static void expect_runs(struct coll_values_count count)
{
    CU_ASSERT_TRUE(count.runs > 0);
    CU_ASSERT_EQUAL(count.wrong, 0);
}

static void schedules_are_the_goldens(void)
{
    expect(coll_golden_schedules(NF_COLL_GATHER), 12);
    expect(coll_golden_schedules(NF_COLL_SCATTER), 12);
    expect(coll_golden_schedules(NF_COLL_BARRIER), 6);
}

static void as_many_steps_as_the_goldens(void)
{
    static const struct {
        const char *key, *algorithm;
    } rows[] = {
        { "gather.linear", "gather.linear" },
        { "gather.binomial", "gather.binomial" },
        { "scatter.linear", "scatter.linear" },
        { "scatter.binomial", "scatter.binomial" },
        { "barrier.tree", "barrier.tree" },
        { "barrier.dissemination", "barrier.dissemination" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect(coll_golden_steps(rows[i].key, rows[i].algorithm, 0), 24);
}

static void costs_are_the_goldens(void)
{
    static const struct coll_golden_cost rows[] = {
        { "gather.linear", "gather.linear", NF_PORTS_MANY },
        { "gather.binomial", "gather.binomial", NF_PORTS_MANY },
        { "scatter.linear", "scatter.linear", NF_PORTS_MANY },
        { "scatter.binomial", "scatter.binomial", NF_PORTS_MANY },
        { "barrier.linear", "barrier.linear", NF_PORTS_MANY },
        { "barrier.tree", "barrier.tree", NF_PORTS_MANY },
        { "barrier.dissemination.hd", "barrier.dissemination", NF_PORTS_HALF },
        { "barrier.dissemination.fd", "barrier.dissemination", NF_PORTS_FULL },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t both = rows[i].ports == NF_PORTS_MANY ? 2 : 1;

        expect(coll_golden_costs("per-block m", &rows[i]), 60 * both);
    }
}

static void results_are_right_on_symbols(void)
{
    expect_runs(coll_values_sweep(NF_COLL_GATHER));
    expect_runs(coll_values_sweep(NF_COLL_SCATTER));
    expect_runs(coll_values_sweep(NF_COLL_BARRIER));
}

static void spoilt_schedules_are_noticed(void)
{
    expect_runs(coll_values_mutants(NF_COLL_GATHER));
    expect_runs(coll_values_mutants(NF_COLL_SCATTER));
    expect_runs(coll_values_mutants(NF_COLL_BARRIER));
}

static void the_part_of_a_rank_is_a_part(void)
{
    expect_runs(coll_values_parts(NF_COLL_GATHER));
    expect_runs(coll_values_parts(NF_COLL_SCATTER));
    expect_runs(coll_values_parts(NF_COLL_BARRIER));
}

/* ---- what the reference does not have ---- */

static double cost(const char *name, enum nf_coll_ports ports, uint32_t ranks,
                   double bytes)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);
    const struct nf_coll_price price = {
        .npieces = 1,
        .pieces = { { 0, 100, 0.5 } },
        .ports = ports,
    };

    CU_ASSERT_PTR_NOT_NULL_FATAL(algorithm);
    return algorithm->cost_us(algorithm, &price, ranks, bytes, 1);
}

static void not_blocking_costs_one_start(void)
{
    CU_ASSERT_DOUBLE_EQUAL(cost("gather.linear_nb", NF_PORTS_HALF, 9, 64),
                           100 + 8 * 32, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(cost("scatter.linear_nb", NF_PORTS_FULL, 2, 64),
                           100 + 32, 1e-9);
}

static double cost_with_occupancy(const char *name, uint32_t ranks,
                                  double bytes)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);
    const struct nf_coll_price price = {
        .npieces = 1,
        .pieces = { { 0, 100, 0.5 } },
        .occupancy_us = 20,
        .ports = NF_PORTS_FULL,
    };

    CU_ASSERT_PTR_NOT_NULL_FATAL(algorithm);
    return algorithm->cost_us(algorithm, &price, ranks, bytes, 1);
}

/* The first takes its time, each other one what it keeps the root busy or its
 * link, whichever is more; trees do not care. */
static void each_message_keeps_the_root_busy(void)
{
    static const struct {
        const char *name;
        double small, large; /* P = 9, 8 and 64 bytes */
    } rows[] = {
        { "gather.linear_nb", 104 + 7 * 20, 132 + 7 * 32 },
        { "scatter.linear_nb", 104 + 7 * 20, 132 + 7 * 32 },
        { "bcast.flat", 104 + 7 * 20, 132 + 7 * 32 },
        { "bcast.knomial3", 2 * (104 + 20), 2 * (132 + 32) },
        { "bcast.knomial8", 104 + (104 + 6 * 20), 132 + (132 + 6 * 32) },
        { "gather.linear", 8 * 104, 8 * 132 },
        { "gather.binomial", 4 * 100 + 8 * 4, 4 * 100 + 8 * 32 },
        { "scatter.binomial", 4 * 100 + 8 * 4, 4 * 100 + 8 * 32 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CU_ASSERT_DOUBLE_EQUAL(cost_with_occupancy(rows[i].name, 9, 8),
                               rows[i].small, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(cost_with_occupancy(rows[i].name, 9, 64),
                               rows[i].large, 1e-9);
    }
    CU_ASSERT_DOUBLE_EQUAL(cost_with_occupancy("gather.linear_nb", 2, 8), 104,
                           1e-9);
}

/* The lines of long and short messages start elsewhere, by 137 us here as measured
 * between hosts of 100 Mbit/s.  That is no part of what a message takes of a link,
 * or of 93 ms: counted with each of 7 it had the binomial tree win. */
static void lines_start_once(void)
{
    const struct nf_coll_price price = {
        .npieces = 2,
        .pieces = { { 0, 18.5, 0.1 }, { 65536, 155.4, 0.088354 } },
        .occupancy_us = 12.7,
        .ports = NF_PORTS_FULL,
    };
    const double bytes = 1 << 20;
    static const char *const names[][2] = {
        { "gather.linear_nb", "gather.binomial" },
        { "scatter.linear_nb", "scatter.binomial" },
    };

    for (unsigned i = 0; i < 2; i++) {
        const struct nf_coll_algorithm *linear = nf_coll_find(names[i][0]);
        const struct nf_coll_algorithm *tree = nf_coll_find(names[i][1]);

        CU_ASSERT_DOUBLE_EQUAL(linear->cost_us(linear, &price, 8, bytes, 1),
                               155.4 + 7 * 0.088354 * bytes, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(tree->cost_us(tree, &price, 8, bytes, 1),
                               3 * 155.4 + 7 * 0.088354 * bytes, 1e-6);
    }
}

static void not_blocking_is_one_round(void)
{
    const struct nf_coll_args args = { .ranks = 12, .root = 5, .segments = 1 };
    static const char *const names[] = { "gather.linear_nb",
                                         "scatter.linear_nb" };

    for (unsigned i = 0; i < 2; i++) {
        struct nf_schedule schedule;
        struct nf_error err;

        CU_ASSERT_EQUAL(nf_coll_make(nf_coll_find(names[i]), &args,
                                     NF_ALL_RANKS, &schedule, &err),
                        NF_OK);
        CU_ASSERT_EQUAL(schedule.count, 11);
        CU_ASSERT_EQUAL(nf_schedule_rounds(&schedule), 1);
        nf_schedule_fini(&schedule);
    }
}

/* Shifts of 1 to 3, 4, 8, 12; half duplex those of P = 16 count twice. */
static void a_radix_is_rounds_and_messages(void)
{
    static const struct {
        const char *name;
        uint32_t ranks, rounds;
        double half, full; /* starts */
    } rows[] = {
        { "barrier.dissemination", 16, 4, 8, 4 },
        { "barrier.dissemination3", 9, 2, 3 + 3 + 3 + 3, 4 },
        { "barrier.dissemination3", 10, 3, 2 + 3 + 2 + 3 + 2, 5 },
        { "barrier.dissemination4", 16, 2, 12, 6 },
        { "barrier.dissemination4", 5, 2, 12, 4 },
        { "barrier.dissemination4", 4, 1, 6, 3 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct nf_coll_args args = { .ranks = rows[i].ranks,
                                           .segments = 1 };
        struct nf_schedule schedule;
        struct nf_error err;

        CU_ASSERT_EQUAL(nf_coll_make(nf_coll_find(rows[i].name), &args,
                                     NF_ALL_RANKS, &schedule, &err),
                        NF_OK);
        CU_ASSERT_EQUAL(nf_schedule_rounds(&schedule), rows[i].rounds);
        CU_ASSERT_EQUAL(schedule.count, rows[i].full * rows[i].ranks);
        nf_schedule_fini(&schedule);
        CU_ASSERT_DOUBLE_EQUAL(
            cost(rows[i].name, NF_PORTS_HALF, rows[i].ranks, 0),
            100 * rows[i].half, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(
            cost(rows[i].name, NF_PORTS_FULL, rows[i].ranks, 0),
            100 * rows[i].full, 1e-9);
    }
}

static void running_out_of_memory_is_told(void)
{
    coll_law_nomem(NF_COLL_GATHER);
    coll_law_nomem(NF_COLL_SCATTER);
    coll_law_nomem(NF_COLL_BARRIER);
}

static void the_table_is_complete(void)
{
    coll_law_table(NF_COLL_GATHER);
    coll_law_table(NF_COLL_SCATTER);
    coll_law_table(NF_COLL_BARRIER);
}

static CU_TestInfo tests[] = {
    { "schedules are those of the reference", schedules_are_the_goldens },
    { "step counts are those of the reference", as_many_steps_as_the_goldens },
    { "costs and the best k are those of the reference",
      costs_are_the_goldens },
    { "results are right for P = 1 to 64, in any order",
      results_are_right_on_symbols },
    { "spoilt schedules give wrong results", spoilt_schedules_are_noticed },
    { "the schedule of one rank is its part of the whole",
      the_part_of_a_rank_is_a_part },
    { "not blocking costs one start-up", not_blocking_costs_one_start },
    { "each message keeps the root busy", each_message_keeps_the_root_busy },
    { "the start of a line counts once", lines_start_once },
    { "not blocking is one round", not_blocking_is_one_round },
    { "a radix means fewer rounds of more messages",
      a_radix_is_rounds_and_messages },
    { "running out of memory is told", running_out_of_memory_is_told },
    { "the table is complete and arguments are checked",
      the_table_is_complete },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "gather, scatter, barrier", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
