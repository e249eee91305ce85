/* allreduce, reduce-scatter, allgather: goldens, and runs on symbols. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
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
    expect(coll_golden_schedules(NF_COLL_ALLREDUCE), 30);
}

static void as_many_steps_as_the_goldens(void)
{
    static const struct {
        const char *key, *algorithm;
    } rows[] = {
        { "allreduce.circulant", "allreduce.circulant" },
        { "allreduce.rec_doubling", "allreduce.rec_doubling" },
        { "allreduce.reduce_bcast", "allreduce.reduce_bcast" },
        { "allreduce.ring", "allreduce.ring" },
        { "allreduce.seg", "allreduce.seg_doubling" },
        { "allreduce.seg", "allreduce.seg_halving" },
        { "allgather.circulant", "allgather.circulant" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect(coll_golden_steps(rows[i].key, rows[i].algorithm, 0), 24);
}

static void costs_are_the_goldens(void)
{
    static const struct coll_golden_cost rows[] = {
        { "allreduce.reduce_bcast", "allreduce.reduce_bcast", NF_PORTS_MANY },
        { "allreduce.rd.hd", "allreduce.rec_doubling", NF_PORTS_HALF },
        { "allreduce.rd.fd", "allreduce.rec_doubling", NF_PORTS_FULL },
        { "allreduce.seg.hd", "allreduce.seg_doubling", NF_PORTS_HALF },
        { "allreduce.seg.fd", "allreduce.seg_doubling", NF_PORTS_FULL },
        { "allreduce.seg.hd", "allreduce.seg_halving", NF_PORTS_HALF },
        { "allreduce.seg.fd", "allreduce.seg_halving", NF_PORTS_FULL },
        { "allreduce.ring.hd", "allreduce.ring", NF_PORTS_HALF },
        { "allreduce.ring.fd", "allreduce.ring", NF_PORTS_FULL },
        { "allreduce.circulant.hd", "allreduce.circulant", NF_PORTS_HALF },
        { "allreduce.circulant.fd", "allreduce.circulant", NF_PORTS_FULL },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t both = rows[i].ports == NF_PORTS_MANY ? 2 : 1;

        expect(coll_golden_costs("reduce", &rows[i]), 120 * both);
    }
}

static void results_are_right_on_symbols(void)
{
    expect_runs(coll_values_sweep(NF_COLL_ALLREDUCE));
    expect_runs(coll_values_sweep(NF_COLL_REDUCE_SCATTER));
    expect_runs(coll_values_sweep(NF_COLL_ALLGATHER));
}

static void spoilt_schedules_are_noticed(void)
{
    expect_runs(coll_values_mutants(NF_COLL_ALLREDUCE));
    expect_runs(coll_values_mutants(NF_COLL_REDUCE_SCATTER));
    expect_runs(coll_values_mutants(NF_COLL_ALLGATHER));
}

static void the_part_of_a_rank_is_a_part(void)
{
    expect_runs(coll_values_parts(NF_COLL_ALLREDUCE));
    expect_runs(coll_values_parts(NF_COLL_REDUCE_SCATTER));
    expect_runs(coll_values_parts(NF_COLL_ALLGATHER));
}

/* ---- costs that the reference does not have ---- */

/* A machine with constants such that no two mistakes cancel. */
static struct nf_coll_price odd_price(enum nf_coll_ports ports)
{
    return (struct nf_coll_price){
        .npieces = 2,
        .pieces = { { 0, 17, 0.25 }, { 1000, 101, 0.125 } },
        .combine_byte_us = 0.0625,
        .ports = ports,
    };
}

/* All ranks march in step: a round takes as long as its longest message. */
static double march_us(const struct nf_coll_algorithm *algorithm,
                       const struct nf_coll_price *price, uint32_t ranks,
                       double bytes)
{
    const struct nf_coll_args args = { .ranks = ranks, .segments = 1 };
    double items = nf_coll_item_count(algorithm, &args), us = 0;
    struct nf_schedule s;
    struct nf_error err;

    if (nf_coll_make(algorithm, &args, NF_ALL_RANKS, &s, &err) != NF_OK)
        CU_FAIL("no schedule");
    for (size_t i = 0; i < s.count;) {
        uint32_t round = s.messages[i].round;
        double longest = 0, combined = 0;

        for (; i < s.count && s.messages[i].round == round; i++) {
            double n = 0;

            for (uint32_t j = 0; j < s.messages[i].nspans; j++)
                n += s.spans[s.messages[i].first_span + j].count;
            longest = fmax(longest, n);
            if (s.messages[i].action != NF_COLL_COPY)
                combined = fmax(combined, n);
        }
        us += nf_price_send_us(price, longest * bytes / items) +
              nf_price_combine_us(price, combined * bytes / items);
    }
    nf_schedule_fini(&s);
    return us;
}

static void full_duplex_costs_are_those_of_marching(void)
{
    const struct nf_coll_price price = odd_price(NF_PORTS_FULL);
    size_t compared = 0;

    for (size_t a = 0; nf_coll_table[a] != NULL; a++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_table[a];

        if (algorithm->op != NF_COLL_ALLREDUCE &&
            algorithm->op != NF_COLL_REDUCE_SCATTER &&
            algorithm->op != NF_COLL_ALLGATHER)
            continue;
        for (uint32_t p = 2; p <= 40; p++) {
            double us, want_us;

            if (algorithm->power_of_two && (p & (p - 1)) != 0)
                continue;
            us = algorithm->cost_us(algorithm, &price, p, 12345, 1);
            if (!isfinite(us))
                continue; /* two levels have no formula */
            want_us = march_us(algorithm, &price, p, 12345);
            compared++;
            if (fabs(us - want_us) > 1e-9 * want_us) {
                printf("\n    %s, P = %u: %f us, want %f", algorithm->name, p,
                       us, want_us);
                CU_FAIL("a cost is wrong");
            }
        }
    }
    CU_ASSERT_EQUAL(compared, 6 * 39 + 4 * 39 + 2 * 39 + 5);
}

static double cost(const char *name, const struct nf_coll_price *price,
                   uint32_t ranks, double bytes)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);

    CU_ASSERT_PTR_NOT_NULL_FATAL(algorithm);
    return algorithm->cost_us(algorithm, price, ranks, bytes, 1);
}

/* An allreduce of two phases costs what they cost, half duplex too. */
static void allreduce_costs_its_phases(void)
{
    static const char *const rows[][3] = {
        { "allreduce.ring", "reduce_scatter.ring", "allgather.ring" },
        { "allreduce.circulant", "reduce_scatter.circulant",
          "allgather.circulant" },
        { "allreduce.seg_halving", "reduce_scatter.halving",
          "allgather.rec_doubling" },
        { "allreduce.seg_doubling", "reduce_scatter.doubling",
          "allgather.rec_doubling" },
    };

    for (unsigned ports = NF_PORTS_HALF; ports <= NF_PORTS_FULL; ports++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
            for (uint32_t p = 2; p <= 33; p++) {
                const struct nf_coll_price price =
                    odd_price((enum nf_coll_ports)ports);
                double us = cost(rows[i][0], &price, p, 65432);

                if (i > 1 && (p & (p - 1)) != 0)
                    continue;
                CU_ASSERT_DOUBLE_EQUAL(cost(rows[i][1], &price, p, 65432) +
                                           cost(rows[i][2], &price, p, 65432),
                                       us, 1e-9 * us);
            }
}

/* Only these are for any operator wherever the ranks are. */
static void operands_stay_in_order_where_it_is_promised(void)
{
    static const char *const any[] = {
        "allreduce.reduce_bcast",
        "allreduce.rec_doubling",
        "allreduce.seg_doubling",
        "reduce_scatter.doubling",
    };

    for (size_t a = 0; nf_coll_table[a] != NULL; a++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_table[a];
        bool promised = false;

        if (algorithm->op != NF_COLL_ALLREDUCE &&
            algorithm->op != NF_COLL_REDUCE_SCATTER)
            continue;
        for (size_t i = 0; i < sizeof(any) / sizeof(*any); i++)
            promised = promised || strcmp(any[i], algorithm->name) == 0;
        CU_ASSERT_EQUAL(algorithm->order,
                        algorithm == &nf_coll_allreduce_two_level_ordered
                            ? NF_ORDER_HOSTS
                        : promised ? NF_ORDER_RANKS
                                   : NF_ORDER_COMMUTATIVE);
    }
}

static void running_out_of_memory_is_told(void)
{
    coll_law_nomem(NF_COLL_ALLREDUCE);
    coll_law_nomem(NF_COLL_REDUCE_SCATTER);
}

static void the_table_is_complete(void)
{
    coll_law_table(NF_COLL_ALLREDUCE);
    coll_law_table(NF_COLL_REDUCE_SCATTER);
    coll_law_table(NF_COLL_ALLGATHER);
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
    { "full-duplex costs are those of marching in step",
      full_duplex_costs_are_those_of_marching },
    { "allreduce costs what its phases cost", allreduce_costs_its_phases },
    { "operands stay in order where it is promised",
      operands_stay_in_order_where_it_is_promised },
    { "running out of memory is told", running_out_of_memory_is_told },
    { "the table is complete and arguments are checked",
      the_table_is_complete },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "allreduce, reduce-scatter, allgather", NULL, NULL, NULL, NULL,
          tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
