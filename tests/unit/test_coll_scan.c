/* scan and exscan: goldens, rounds of segmented scans, and runs on symbols. */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/coll/scan.h"
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
    expect(coll_golden_schedules(NF_COLL_SCAN), 42);
}

static void as_many_steps_as_the_goldens(void)
{
    static const struct {
        const char *key, *algorithm;
    } rows[] = {
        { "scan.brent_kung", "scan.brent_kung" },
        { "scan.linear", "scan.linear" },
        { "scan.rec_doubling", "scan.rec_doubling" },
        { "scan.rootp(chain and fan)", "scan.rootp_chain" },
        { "scan.rootp(chain and fan)", "scan.rootp_fan" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect(coll_golden_steps(rows[i].key, rows[i].algorithm, 0), 24);
}

static void costs_are_the_goldens(void)
{
    static const struct coll_golden_cost rows[] = {
        { "linear", "scan.linear", NF_PORTS_MANY },
        { "pipeline.hd", "scan.pipeline.hd", NF_PORTS_HALF },
        { "pipeline.overlap.hd", "scan.pipeline.fd", NF_PORTS_HALF },
        { "pipeline.overlap.fd", "scan.pipeline.fd", NF_PORTS_FULL },
        { "brent_kung", "scan.brent_kung", NF_PORTS_MANY },
        { "rootp", "scan.rootp_chain", NF_PORTS_MANY },
        { "rootp", "scan.rootp_fan", NF_PORTS_MANY },
        { "rootp_seg.hd", "scan.rootp_seg_chain.hd", NF_PORTS_HALF },
        { "rootp_seg.fd", "scan.rootp_seg_chain.fd", NF_PORTS_FULL },
        { "rec_doubling.hd", "scan.rec_doubling", NF_PORTS_HALF },
        { "rec_doubling.fd", "scan.rec_doubling", NF_PORTS_FULL },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t both = rows[i].ports == NF_PORTS_MANY ? 2 : 1;

        expect(coll_golden_costs("scan", &rows[i]), 120 * both);
    }
}

static void results_are_right_on_symbols(void)
{
    expect_runs(coll_values_sweep(NF_COLL_SCAN));
    expect_runs(coll_values_sweep(NF_COLL_EXSCAN));
}

static void spoilt_schedules_are_noticed(void)
{
    expect_runs(coll_values_mutants(NF_COLL_SCAN));
    expect_runs(coll_values_mutants(NF_COLL_EXSCAN));
}

static void the_part_of_a_rank_is_a_part(void)
{
    expect_runs(coll_values_parts(NF_COLL_SCAN));
    expect_runs(coll_values_parts(NF_COLL_EXSCAN));
}

/* All algorithms of both operations send the same. */
static void exclusive_scans_are_the_same_schedules(void)
{
    size_t pairs = 0;

    for (size_t a = 0; nf_coll_table[a] != NULL; a++) {
        const struct nf_coll_algorithm *scan = nf_coll_table[a], *exscan;
        char name[64];

        if (scan->op != NF_COLL_SCAN)
            continue;
        snprintf(name, sizeof(name), "ex%s", scan->name);
        exscan = nf_coll_find(name);
        CU_ASSERT_PTR_NOT_NULL(exscan);
        if (exscan == NULL)
            continue;
        pairs++;
        CU_ASSERT_EQUAL(exscan->op, NF_COLL_EXSCAN);
        CU_ASSERT_TRUE(exscan->make == scan->make);
        CU_ASSERT_TRUE(exscan->cost_us == scan->cost_us);
        CU_ASSERT_EQUAL(exscan->ports, scan->ports);
    }
    CU_ASSERT_EQUAL(pairs, 11);
}

/* ---- rounds of segmented scans ---- */

enum circuit { CHAIN, FAN, BRENT_KUNG, LINE };

static uint32_t rounds(enum circuit circuit, enum nf_coll_ports ports,
                       uint32_t ranks, uint32_t segments)
{
    struct nf_schedule base, schedule;
    uint32_t n;

    nf_schedule_init(&base, NF_ALL_RANKS);
    nf_schedule_init(&schedule, NF_ALL_RANKS);
    if (circuit == BRENT_KUNG)
        nf_scan_brent_kung(ranks, &base);
    else if (circuit == LINE)
        for (uint32_t r = 0; r + 1 < ranks; r++)
            nf_schedule_send(&base, r, r, r + 1, 0, 1, NF_COLL_LEFT);
    else
        nf_scan_rootp(ranks, circuit == FAN, &base);
    nf_schedule_sort(&base);
    nf_scan_segment(&base, ranks, segments, ports, &schedule);
    nf_schedule_sort(&schedule);
    CU_ASSERT_FALSE(schedule.failed);
    CU_ASSERT_EQUAL(schedule.count, base.count * segments);
    n = nf_schedule_rounds(&schedule);
    nf_schedule_fini(&base);
    nf_schedule_fini(&schedule);
    return n;
}

static void compare_rounds(const json_t *row, enum circuit circuit,
                           enum nf_coll_ports ports, uint32_t ranks)
{
    double slope = rounds(circuit, ports, ranks, 48);

    slope = (slope - rounds(circuit, ports, ranks, 24)) / 24;
    CU_ASSERT_EQUAL(rounds(circuit, ports, ranks, 1),
                    json_integer_value(json_object_get(row, "steps_k1")));
    CU_ASSERT_EQUAL(rounds(circuit, ports, ranks, 8),
                    json_integer_value(json_object_get(row, "steps_k8")));
    CU_ASSERT_DOUBLE_EQUAL(
        slope,
        json_number_value(json_object_get(row, "steps_per_extra_segment")),
        1e-3);
}

static void segments_follow_as_in_the_goldens(void)
{
    static const char *const circuits[] = { "rootp_chain", "rootp_fan",
                                            "brent_kung", "linear_pipeline" };
    json_t *golden =
        json_load_file(NF_SRCDIR "/tests/golden/collectives.json", 0, NULL);
    const char *ranks;
    json_t *rows;
    size_t compared = 0;

    json_object_foreach(json_object_get(golden, "segmented_scan"), ranks, rows)
    {
        for (unsigned i = 0; i < 8; i++) {
            char name[32];
            const json_t *row;

            snprintf(name, sizeof(name), "%s.%s", circuits[i / 2],
                     i % 2 == 0 ? "hd" : "fd");
            row = json_object_get(rows, name);
            CU_ASSERT_PTR_NOT_NULL(row);
            compare_rounds(row, (enum circuit)(i / 2),
                           i % 2 == 0 ? NF_PORTS_HALF : NF_PORTS_FULL,
                           (uint32_t)strtoul(ranks, NULL, 10));
            compared++;
        }
    }
    CU_ASSERT_EQUAL(compared, 40);
    json_decref(golden);
}

/* What the costs say: after steps(P) rounds, L more for each segment. */
static void rootp_takes_the_rounds_of_its_cost(void)
{
    static const uint32_t half[] = { 1, 2, 3, 3, 4 }, full[] = { 1, 1, 2 };

    for (uint32_t p = 2; p <= 64; p++)
        for (uint32_t k = 1; k <= 9; k++) {
            uint32_t steps = nf_scan_rootp_rounds(p);

            CU_ASSERT_EQUAL(rounds(CHAIN, NF_PORTS_HALF, p, k),
                            steps + (k - 1) * half[p < 6 ? p - 2 : 4]);
            CU_ASSERT_EQUAL(rounds(CHAIN, NF_PORTS_FULL, p, k),
                            steps + (k - 1) * full[p < 4 ? p - 2 : 2]);
        }
}

static void brent_kung_gains_nothing_by_segments(void)
{
    const struct nf_coll_algorithm *algorithm =
        nf_coll_find("scan.brent_kung_seg.hd");
    const struct nf_coll_price price = {
        .npieces = 1,
        .pieces = { { 0, 100, 0.5 } },
        .combine_byte_us = 0.25,
        .ports = NF_PORTS_HALF,
    };

    for (uint32_t p = 2; p <= 64; p *= 2)
        for (uint32_t k = 1; k <= 9; k++) {
            uint32_t n = rounds(BRENT_KUNG, NF_PORTS_HALF, p, k);

            CU_ASSERT_EQUAL(n, k * nf_scan_brent_kung_rounds(p));
            CU_ASSERT_DOUBLE_EQUAL(
                algorithm->cost_us(algorithm, &price, p, 512 * k, k),
                n * (100 + 512 * 0.75), 1e-6);
        }
    CU_ASSERT_TRUE(isinf(algorithm->cost_us(algorithm, &price, 6, 1, 1)));
}

static void running_out_of_memory_is_told(void)
{
    coll_law_nomem(NF_COLL_SCAN);
    coll_law_nomem(NF_COLL_EXSCAN);
}

static void the_table_is_complete(void)
{
    coll_law_table(NF_COLL_SCAN);
    coll_law_table(NF_COLL_EXSCAN);
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
    { "exclusive scans are the same schedules",
      exclusive_scans_are_the_same_schedules },
    { "segments follow as in the reference",
      segments_follow_as_in_the_goldens },
    { "RootP takes the rounds of its cost",
      rootp_takes_the_rounds_of_its_cost },
    { "Brent-Kung gains nothing by segments",
      brent_kung_gains_nothing_by_segments },
    { "running out of memory is told", running_out_of_memory_is_told },
    { "the table is complete and arguments are checked",
      the_table_is_complete },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "scan and exscan", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
