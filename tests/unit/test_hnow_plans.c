/* Plans of CRL against tests/golden/hnow.json: those of an independent
 * implementation, the best trees there are, and other trees. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/tree/hnow.h"
#include "common/tree/times.h"
#include "tests/unit/hnow_nets.h"
#include "tests/unit/nf_unit.h"

static json_t *golden;

static uint64_t whole(const json_t *row, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(row, key));
}

static double real(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static double mean_of(const json_t *results, const char *key)
{
    json_t *cell = json_object_get(results, key);

    CU_ASSERT(cell != NULL);
    return real(cell, "mean");
}

/* got <= want, with a line that says what was compared if it is not */
static void at_most(const char *what, double got, double want)
{
    if (!(got <= want))
        printf("\n    %s: %.9f, want at most %.9f", what, got, want);
    CU_ASSERT(got <= want);
}

static void near_to(const char *what, double got, double want, double relative)
{
    bool ok = fabs(got - want) <= relative * fabs(want);

    if (!ok)
        printf("\n    %s: %.9f, want %.9f", what, got, want);
    CU_ASSERT(ok);
}

/* @param segment_p  bytes of a segment; may be NULL */
static double plan_segment_us(const struct nf_hetero *hetero, uint32_t root,
                              uint64_t bytes, uint32_t polish,
                              uint64_t *segment_p)
{
    const struct nf_crl_options options = { .bytes = bytes, .polish = polish };
    struct nf_crl_plan plan;
    double time_us;

    CU_ASSERT(nf_crl_plan(hetero, root, &options, &plan, NULL) == NF_OK);
    CU_ASSERT(hnow_is_tree(&plan.tree));
    time_us = plan.time_us;
    if (segment_p != NULL)
        *segment_p = plan.segment_bytes;
    nf_crl_plan_fini(&plan);
    return time_us;
}

static double plan_us(const struct nf_hetero *hetero, uint32_t root,
                      uint64_t bytes, uint32_t polish)
{
    return plan_segment_us(hetero, root, bytes, polish, NULL);
}

/* Means of @p n within four standard errors; @p sum and @p square of ours. */
static void in_four_errors(const char *what, double sum, double square,
                           uint32_t n, const json_t *cell)
{
    double variance = fmax(0, square / n - sum * sum / n / n);

    at_most(what, fabs(sum / n - real(cell, "mean")),
            4 * sqrt((variance + pow(real(cell, "sd"), 2)) / n) + 1e-12);
}

/* ---- plan_fixed ---- */

/* The tree and the segments of the golden plan, carried out by us. */
static double golden_plan_us(const json_t *plan, const struct nf_hetero *hetero,
                             uint32_t root)
{
    json_t *all = json_object_get(plan, "ch"), *list, *value;
    uint32_t sender[16], receiver[16], order[17] = { root }, count = 1;
    struct nf_tree tree;
    struct nf_hops hops;
    double time_us = 0;
    size_t i;

    CU_ASSERT_FATAL(json_array_size(all) == hetero->hosts &&
                    hetero->hosts <= 17);
    for (uint32_t k = 0; k < count; k++) {
        list = json_array_get(all, order[k]);
        json_array_foreach(list, i, value)
        {
            sender[count - 1] = order[k];
            receiver[count - 1] = (uint32_t)json_integer_value(value);
            order[count] = receiver[count - 1];
            count++;
        }
    }
    CU_ASSERT_FATAL(nf_tree_init(&tree, hetero->hosts, root) == NF_OK);
    CU_ASSERT(nf_tree_build(&tree, sender, receiver, NULL) == NF_OK);
    CU_ASSERT(nf_hops_init(&hops, hetero, (double)whole(plan, "seg")) == NF_OK);
    CU_ASSERT(nf_tree_pipe(&tree, &hops, whole(plan, "Q"), &time_us) == NF_OK);
    nf_hops_fini(&hops);
    nf_tree_fini(&tree);
    return time_us;
}

static void fixed_plans_are_as_good(void)
{
    size_t i;
    json_t *row, *rows = json_object_get(golden, "plan_fixed");

    CU_ASSERT(json_array_size(rows) >= 2);
    json_array_foreach(rows, i, row)
    {
        uint64_t bytes = whole(row, "bytes");
        struct nf_hetero hetero;
        uint32_t root;
        double time_us;

        hnow_net(row, whole(row, "seed"), &hetero, &root);
        at_most("CRL", plan_us(&hetero, root, bytes, 0),
                real(json_object_get(row, "CRL"), "T") * (1 + 1e-9));
        at_most("CRL, polished", plan_us(&hetero, root, bytes, NF_CRL_POLISH),
                real(json_object_get(row, "CRL_polish300"), "T") * (1 + 1e-9));
        near_to("the golden plan, simulated",
                golden_plan_us(json_object_get(row, "CRL"), &hetero, root),
                real(row, "pipe_sim"), 1e-9);
        near_to("ECEF + A1",
                hnow_best_us(nf_tree_ecef, &hetero, root, bytes, false),
                real(row, "ecef_a1_unsegmented"), 1e-9);
        near_to("ECEF + A1 in segments",
                hnow_best_us(nf_tree_ecef_ports, &hetero, root, bytes, true),
                json_number_value(json_array_get(
                    json_object_get(row, "ecef_a1_best_segment"), 0)),
                1e-9);
        near_to("chain in segments",
                hnow_best_us(hnow_chain, &hetero, root, bytes, true),
                real(row, "chain_best_segment"), 1e-9);
        CU_ASSERT(nf_tree_bound_segments(&hetero, root, bytes, NF_CRL_SEGMENT,
                                         &time_us) == NF_OK);
        near_to("bound", time_us, real(row, "lower_bound"), 1e-9);
        nf_hetero_fini(&hetero);
    }
}

/* ---- means over random networks ---- */

/* To the optimum; sums, in the end means. */
struct means {
    double ecef, ports, chain, crl, polished, bound;
};

static void add_exact(const json_t *row, uint64_t seed, struct means *m)
{
    uint64_t bytes = whole(row, "bytes");
    struct nf_hetero hetero;
    uint32_t root;
    double optimum_us, bound_us;

    hnow_net(row, seed, &hetero, &root);
    optimum_us = hnow_enumerate_us(&hetero, root, bytes, true) * 20;
    CU_ASSERT(nf_tree_bound_segments(&hetero, root, bytes, NF_CRL_SEGMENT,
                                     &bound_us) == NF_OK);
    m->ecef +=
        hnow_best_us(nf_tree_ecef, &hetero, root, bytes, false) / optimum_us;
    m->ports += hnow_best_us(nf_tree_ecef_ports, &hetero, root, bytes, true) /
                optimum_us;
    m->chain +=
        hnow_best_us(hnow_chain, &hetero, root, bytes, true) / optimum_us;
    m->crl += plan_us(&hetero, root, bytes, 0) / optimum_us;
    m->polished += plan_us(&hetero, root, bytes, NF_CRL_POLISH) / optimum_us;
    m->bound += bound_us / optimum_us;
    nf_hetero_fini(&hetero);
}

static void plans_are_near_the_best_of_all_trees(void)
{
    size_t i;
    json_t *row, *rows = json_object_get(golden, "plan_exact");

    CU_ASSERT(json_array_size(rows) >= 6);
    json_array_foreach(rows, i, row)
    {
        json_t *want = json_object_get(row, "ratio_to_static_tree_optimum");
        struct means m = { .crl = 0 };

        for (uint64_t r = 0; r < 20; r++)
            add_exact(row, 9000 + r, &m);
        near_to("ECEF", m.ecef, mean_of(want, "ECEF+A1 unsegmented"), 1e-6);
        near_to("ECEF in segments", m.ports,
                mean_of(want, "ECEF+A1 port-aware, best segment"), 1e-6);
        near_to("chain", m.chain, mean_of(want, "chain, best segment"), 1e-6);
        at_most("CRL", m.crl, mean_of(want, "CRL") + 0.01);
        at_most("CRL, polished", m.polished,
                mean_of(want, "CRL+polish") + 0.01);
        /* ours is higher where the slowest way leads to the root */
        at_most("bound of the goldens", mean_of(want, "LB"),
                m.bound * (1 + 1e-6));
        at_most("bound", m.bound, 1 + 1e-9);
    }
}

enum { LARGE_MEANS = 6, LARGE_RUNS = 10 };

struct sums {
    double sum[LARGE_MEANS], ecef_us, segment, segment_squares;
};

static void add_large(const json_t *row, uint64_t seed, struct sums *sums)
{
    uint64_t bytes = whole(row, "bytes");
    double us, ecef_us, values[LARGE_MEANS], bound_us;
    struct nf_hetero hetero;
    uint64_t segment;
    uint32_t root;

    hnow_net(row, seed, &hetero, &root);
    us = plan_segment_us(&hetero, root, bytes, NF_CRL_POLISH, &segment);
    sums->segment += (double)segment;
    sums->segment_squares += (double)segment * (double)segment;
    CU_ASSERT(nf_tree_bound_segments(&hetero, root, bytes, NF_CRL_SEGMENT,
                                     &bound_us) == NF_OK);
    values[0] = us;
    ecef_us = hnow_best_us(nf_tree_ecef, &hetero, root, bytes, false);
    sums->ecef_us += ecef_us;
    values[1] = us / ecef_us;
    values[2] =
        us / hnow_best_us(nf_tree_ecef_ports, &hetero, root, bytes, true);
    values[3] = us / hnow_best_us(hnow_chain, &hetero, root, bytes, true);
    values[4] = us / hnow_best_us(hnow_binomial, &hetero, root, bytes, true);
    values[5] = us / bound_us;
    for (int k = 0; k < LARGE_MEANS; k++)
        sums->sum[k] += values[k];
    CU_ASSERT(values[5] >= 1 - 1e-9);
    CU_ASSERT(values[1] <= 1 + 1e-9 && values[2] <= 1 + 1e-9 &&
              values[3] <= 1 + 1e-9);
    nf_hetero_fini(&hetero);
}

static void large_plans_gain_what_they_should(void)
{
    static const char *const keys[LARGE_MEANS] = {
        "CRL+polish us",
        "CRL / (ECEF+A1 unsegmented)",
        "CRL / (ECEF+A1 port-aware best segment)",
        "CRL / (chain best segment)",
        "CRL / (binomial by rank, best segment)",
        "CRL / lower bound",
    };
    size_t i;
    json_t *row, *rows = json_object_get(golden, "plan_large");

    CU_ASSERT(json_array_size(rows) >= 10);
    json_array_foreach(rows, i, row)
    {
        json_t *want = json_object_get(row, "results");
        struct sums sums = { .ecef_us = 0 };

        for (uint64_t r = 0; r < LARGE_RUNS; r++)
            add_large(row, 7000 + r, &sums);
        near_to("ECEF", sums.ecef_us / LARGE_RUNS,
                mean_of(want, "ECEF+A1 unsegmented us"), 1e-6);
        in_four_errors("segments", sums.segment, sums.segment_squares,
                       LARGE_RUNS, json_object_get(want, "CRL segment bytes"));
        for (int k = 0; k < LARGE_MEANS; k++) {
            /* the same networks, so that there is no chance in it */
            at_most(keys[k], sums.sum[k] / LARGE_RUNS,
                    real(json_object_get(want, keys[k]), "mean") * 1.01);
        }
    }
}

/* ---- parameters that are wrong ---- */

static double off_by(struct nf_rng *rng, double error)
{
    double u = (double)(nf_rng_next(rng) >> 11) * 0x1p-53;

    return 1 + error * (2 * u - 1);
}

static void disturb(struct nf_hetero *hetero, uint64_t seed, double error)
{
    struct nf_rng rng = { seed };
    uint32_t n = hetero->hosts;

    for (uint32_t i = 0; i < n; i++)
        hetero->send[i].fixed_us *= off_by(&rng, error);
    for (uint32_t i = 0; i < n; i++)
        hetero->send[i].byte_us *= off_by(&rng, error);
    for (uint32_t i = 0; i < n; i++)
        hetero->recv[i].fixed_us *= off_by(&rng, error);
    for (uint32_t i = 0; i < n; i++)
        hetero->recv[i].byte_us *= off_by(&rng, error);
    hetero->wire[0].byte_us *= off_by(&rng, error);
}

/* A plan for one network on another one: the segments are of 1000 bytes, as
 * many as there are. */
static double carried_over_us(const struct nf_hetero *planned,
                              const struct nf_hetero *truth, uint32_t root,
                              uint64_t bytes)
{
    const struct nf_crl_options options = { .bytes = bytes };
    struct nf_crl_plan plan;
    struct nf_hops hops;
    double time_us = 0;

    CU_ASSERT(nf_crl_plan(planned, root, &options, &plan, NULL) == NF_OK);
    CU_ASSERT(nf_hops_init(&hops, truth, (double)plan.segment_bytes) == NF_OK);
    CU_ASSERT(nf_tree_pipe(&plan.tree, &hops, plan.segments, &time_us) ==
              NF_OK);
    nf_hops_fini(&hops);
    nf_crl_plan_fini(&plan);
    return time_us;
}

/* The same of ECEF with Algorithm 1; 1000 bytes are in one segment. */
static double ecef_carried_over_us(const struct nf_hetero *planned,
                                   const struct nf_hetero *truth, uint32_t root,
                                   uint64_t bytes)
{
    struct nf_tree tree;
    struct nf_hops hops;
    double time_us = 0;

    CU_ASSERT(nf_segment_next(bytes, NF_CRL_SEGMENT) == 0);
    CU_ASSERT(nf_hops_init(&hops, planned, (double)bytes) == NF_OK);
    CU_ASSERT(nf_tree_ecef_ports(&hops, root, false, &tree) == NF_OK);
    CU_ASSERT(nf_tree_reorder(&tree, &hops, 1, &time_us) == NF_OK);
    nf_hops_set(&hops, truth, (double)bytes);
    CU_ASSERT(nf_tree_pipe(&tree, &hops, 1, &time_us) == NF_OK);
    nf_hops_fini(&hops);
    nf_tree_fini(&tree);
    return time_us;
}

static void wrong_parameters_cost_what_they_should(void)
{
    size_t i;
    json_t *row, *rows = json_object_get(golden, "plan_noise");

    CU_ASSERT(json_array_size(rows) >= 4);
    json_array_foreach(rows, i, row)
    {
        json_t *want = json_object_get(row, "results");
        uint64_t bytes = whole(row, "bytes");
        double sum[2] = { 0, 0 }, square[2] = { 0, 0 };

        for (uint64_t r = 0; r < 20; r++) {
            struct nf_hetero truth, noisy;
            uint32_t root;
            double ratio[2], best_us;

            hnow_net(row, 6000 + r, &truth, &root);
            hnow_net(row, 6000 + r, &noisy, &root);
            truth.has_ports = noisy.has_ports = true;
            disturb(&noisy, 12345 + r, real(row, "error"));
            best_us = carried_over_us(&truth, &truth, root, bytes);
            ratio[0] = carried_over_us(&noisy, &truth, root, bytes) / best_us;
            ratio[1] =
                ecef_carried_over_us(&noisy, &truth, root, bytes) / best_us;
            for (int k = 0; k < 2; k++) {
                sum[k] += ratio[k];
                square[k] += ratio[k] * ratio[k];
            }
            nf_hetero_fini(&truth);
            nf_hetero_fini(&noisy);
        }
        in_four_errors("wrong parameters, CRL", sum[0], square[0], 20,
                       json_object_get(want, "CRL on noisy / CRL on true"));
        in_four_errors("wrong parameters, ECEF", sum[1], square[1], 20,
                       json_object_get(want, "ECEF+A1 (port-aware, segmented) "
                                             "on noisy / CRL on true"));
    }
}

static int load(void)
{
    golden = hnow_golden();
    return golden == NULL;
}

static int drop(void)
{
    json_decref(golden);
    return 0;
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "plans are as good as those of another implementation",
          fixed_plans_are_as_good },
        { "plans are near the best of all trees",
          plans_are_near_the_best_of_all_trees },
        { "large plans gain what they should",
          large_plans_gain_what_they_should },
        { "wrong parameters cost what they should",
          wrong_parameters_cost_what_they_should },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = { { "plans of CRL", load, drop, NULL, NULL, tests },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
