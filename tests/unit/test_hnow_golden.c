/* Trees for hosts that differ, and their simulation, against
 * tests/golden/hnow.json: values of an independent implementation. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/tree/hnow.h"
#include "common/tree/times.h"
#include "sim/hnow.h"
#include "tests/unit/hnow_nets.h"
#include "tests/unit/nf_unit.h"

static json_t *golden;

static double real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static uint64_t whole(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static bool is_near(const char *what, double got, double want, double relative)
{
    bool ok = fabs(got - want) <= relative * fabs(want);

    if (!ok)
        printf("\n    %s: %.9f, want %.9f", what, got, want);
    return ok;
}

static void random_numbers_are_those_of_the_goldens(void)
{
    json_t *row = json_object_get(golden, "rng");
    struct nf_rng rng = { whole(row, "seed") };
    size_t i;
    json_t *value;

    json_array_foreach(json_object_get(row, "u64"), i, value)
    {
        char text[32];

        snprintf(text, sizeof(text), "%llu",
                 (unsigned long long)nf_rng_next(&rng));
        CU_ASSERT_STRING_EQUAL(text, json_string_value(value));
    }
    CU_ASSERT(i == 4);
}

/* ---- hnow_fixed ---- */

static bool has_children(const struct nf_tree *tree, const json_t *children)
{
    for (uint32_t v = 0; v < tree->nodes; v++) {
        const json_t *list = json_array_get(children, v);
        uint32_t count = tree->first[v + 1] - tree->first[v];

        if (json_array_size(list) != count)
            return false;
        for (uint32_t i = 0; i < count; i++)
            if (tree->child[tree->first[v] + i] !=
                (uint32_t)json_integer_value(json_array_get(list, i)))
                return false;
    }
    return true;
}

static void check_tree(const json_t *results, const char *key,
                       const struct nf_tree *tree, double time_us)
{
    const json_t *want = json_object_get(results, key);

    CU_ASSERT(want != NULL);
    CU_ASSERT(hnow_is_tree(tree));
    CU_ASSERT(is_near(key, time_us, real(want, "time"), 1e-9));
    if (!has_children(tree, json_object_get(want, "children"))) {
        printf("\n    %s: another tree", key);
        CU_FAIL("another tree");
    }
}

static void check_heuristic(const json_t *results, const char *name,
                            hnow_builder *builder, const struct nf_hops *hops,
                            uint32_t root)
{
    struct nf_tree tree;
    double time_us = 0;
    char key[64];

    snprintf(key, sizeof(key), "%s/blocking", name);
    CU_ASSERT(builder(hops, root, true, &tree) == NF_OK);
    CU_ASSERT(nf_tree_times(&tree, hops, true, NULL, &time_us) == NF_OK);
    check_tree(results, key, &tree, time_us);
    nf_tree_fini(&tree);
    snprintf(key, sizeof(key), "%s/nonblocking", name);
    CU_ASSERT(builder(hops, root, false, &tree) == NF_OK);
    CU_ASSERT(nf_tree_times(&tree, hops, false, NULL, &time_us) == NF_OK);
    check_tree(results, key, &tree, time_us);
    snprintf(key, sizeof(key), "%s/nonblocking+A1", name);
    CU_ASSERT(nf_tree_reorder(&tree, hops, 1, &time_us) == NF_OK);
    check_tree(results, key, &tree, time_us);
    nf_tree_fini(&tree);
}

static void check_bounds(const json_t *results, const struct nf_hops *hops,
                         uint32_t root)
{
    struct nf_tree tree;
    double time_us = 0;

    CU_ASSERT(nf_tree_exact(hops, root, false, &tree, &time_us) == NF_OK);
    CU_ASSERT(
        is_near("exact", time_us, real(results, "exact/nonblocking"), 1e-9));
    nf_tree_fini(&tree);
    CU_ASSERT(nf_tree_exact(hops, root, true, &tree, &time_us) == NF_OK);
    CU_ASSERT(is_near("exact, blocking", time_us,
                      real(results, "exact/blocking"), 1e-9));
    nf_tree_fini(&tree);
    CU_ASSERT(nf_tree_bound(hops, root, &time_us) == NF_OK);
    CU_ASSERT(is_near("bound", time_us, real(results, "lower_bound"), 1e-9));
}

static void check_plan(const json_t *want, const struct nf_hetero *hetero,
                       uint32_t root, uint64_t bytes, uint32_t polish)
{
    const struct nf_crl_options options = { .bytes = bytes, .polish = polish };
    struct nf_crl_plan plan;

    CU_ASSERT(nf_crl_plan(hetero, root, &options, &plan, NULL) == NF_OK);
    CU_ASSERT(plan.time_us <= real(want, "time") * (1 + 1e-9));
    nf_crl_plan_fini(&plan);
}

static void fixed_networks_have_the_same_trees(void)
{
    size_t i;
    json_t *row, *rows = json_object_get(golden, "hnow_fixed");

    CU_ASSERT(json_array_size(rows) >= 2);
    json_array_foreach(rows, i, row)
    {
        const json_t *results = json_object_get(row, "results");
        uint64_t bytes = whole(row, "bytes");
        struct nf_hetero hetero, drawn;
        struct nf_hops hops;
        uint32_t root, drawn_root;

        hnow_params(json_object_get(row, "params"), &hetero, &root);
        hnow_net(row, whole(row, "seed"), &drawn, &drawn_root);
        CU_ASSERT(root == drawn_root);
        for (uint32_t v = 0; v < hetero.hosts; v++)
            CU_ASSERT(fabs(hetero.send[v].fixed_us - drawn.send[v].fixed_us) <
                      1e-9);
        CU_ASSERT(nf_hops_init(&hops, &hetero, (double)bytes) == NF_OK);
        check_heuristic(results, "FEF", nf_tree_fef, &hops, root);
        check_heuristic(results, "ECEF", nf_tree_ecef, &hops, root);
        check_heuristic(results, "ECEF-LA", nf_tree_ecef_la, &hops, root);
        check_heuristic(results, "FNF", nf_tree_fnf, &hops, root);
        check_bounds(results, &hops, root);
        check_plan(json_object_get(results, "CRL"), &hetero, root, bytes, 0);
        check_plan(json_object_get(results, "CRL+polish300"), &hetero, root,
                   bytes, NF_CRL_POLISH);
        nf_hops_fini(&hops);
        nf_hetero_fini(&hetero);
        nf_hetero_fini(&drawn);
    }
}

/* ---- hnow_mc ---- */

static void check_runs(const json_t *row, uint32_t runs)
{
    struct nf_hnow_summary got[NF_HNOW_COUNT];
    const json_t *results = json_object_get(row, "results");

    CU_ASSERT(nf_hnow_sim((uint32_t)whole(row, "n"), whole(row, "bytes"), runs,
                          got) == NF_OK);
    for (int c = 0; c < NF_HNOW_COUNT; c++) {
        const json_t *want = json_object_get(results, nf_hnow_names[c]);
        const char *name = nf_hnow_names[c];

        CU_ASSERT(want != NULL);
        if (whole(want, "n") != runs)
            continue;
        CU_ASSERT(is_near(name, got[c].mean, real(want, "mean"), 1e-6));
        CU_ASSERT(fabs(got[c].sd - real(want, "sd")) < 2e-6);
        CU_ASSERT(fabs(got[c].min - real(want, "min")) < 2e-6);
        CU_ASSERT(fabs(got[c].max - real(want, "max")) < 2e-6);
    }
}

static void simulated_means_are_the_same(void)
{
    size_t i;
    json_t *row, *rows = json_object_get(golden, "hnow_mc");

    CU_ASSERT(json_array_size(rows) >= 4);
    json_array_foreach(rows, i, row)
    {
        check_runs(row, 1000);
        check_runs(row, 200);
    }
}

/* ---- hnow_exact ---- */

static double plan_us(const struct nf_hetero *hetero, uint32_t root,
                      uint64_t bytes, uint32_t polish)
{
    const struct nf_crl_options options = { .bytes = bytes, .polish = polish };
    struct nf_crl_plan plan;
    double time_us;

    CU_ASSERT(nf_crl_plan(hetero, root, &options, &plan, NULL) == NF_OK);
    time_us = plan.time_us;
    nf_crl_plan_fini(&plan);
    return time_us;
}

enum { EXACT_MEANS = 11 };

static const char *const exact_keys[EXACT_MEANS] = {
    "LB",         "FEF", "FEF+A1", "ECEF", "ECEF+A1",    "ECEF-LA",
    "ECEF-LA+A1", "FNF", "FNF+A1", "CRL",  "CRL+polish",
};

/* The times of one network, without Algorithm 1 and with it. */
static void add_exact(const json_t *row, uint64_t seed, double *sums)
{
    static hnow_builder *const builders[] = { nf_tree_fef, nf_tree_ecef,
                                              nf_tree_ecef_la, nf_tree_fnf };
    double us[EXACT_MEANS] = { 0 }, optimum_us = 0;
    struct nf_hetero hetero;
    struct nf_hops hops;
    struct nf_tree tree;
    uint32_t root;

    hnow_net(row, seed, &hetero, &root);
    CU_ASSERT(nf_hops_init(&hops, &hetero, (double)whole(row, "bytes")) ==
              NF_OK);
    CU_ASSERT(nf_tree_exact(&hops, root, false, &tree, &optimum_us) == NF_OK);
    nf_tree_fini(&tree);
    CU_ASSERT(nf_tree_bound(&hops, root, &us[0]) == NF_OK);
    for (int b = 0; b < 4; b++) {
        CU_ASSERT(builders[b](&hops, root, false, &tree) == NF_OK);
        CU_ASSERT(nf_tree_times(&tree, &hops, false, NULL, &us[1 + 2 * b]) ==
                  NF_OK);
        CU_ASSERT(nf_tree_reorder(&tree, &hops, 1, &us[2 + 2 * b]) == NF_OK);
        CU_ASSERT(us[2 + 2 * b] <= us[1 + 2 * b] * (1 + 1e-12));
        nf_tree_fini(&tree);
    }
    us[9] = plan_us(&hetero, root, whole(row, "bytes"), 0);
    us[10] = plan_us(&hetero, root, whole(row, "bytes"), NF_CRL_POLISH);
    CU_ASSERT(us[0] <= optimum_us * (1 + 1e-9));
    CU_ASSERT(us[10] >= optimum_us * (1 - 1e-9));
    CU_ASSERT(us[9] <= us[4] * (1 + 1e-12));
    for (int k = 0; k < EXACT_MEANS; k++)
        sums[k] += us[k] / optimum_us;
    nf_hops_fini(&hops);
    nf_hetero_fini(&hetero);
}

static void ratios_to_the_optimum_are_as_good(void)
{
    size_t i;
    json_t *row, *rows = json_object_get(golden, "hnow_exact");

    CU_ASSERT(json_array_size(rows) >= 4);
    json_array_foreach(rows, i, row)
    {
        const json_t *want = json_object_get(row, "ratio_to_optimum");
        uint64_t n = whole(row, "n");
        uint64_t runs = whole(json_object_get(want, "CRL"), "n");
        double sums[EXACT_MEANS] = { 0 };

        for (uint64_t r = 0; r < runs; r++)
            add_exact(row, n * 100000 + r, sums);
        for (int k = 0; k < EXACT_MEANS; k++) {
            double mean = sums[k] / (double)runs;
            double its = real(json_object_get(want, exact_keys[k]), "mean");

            if (k < 9)
                CU_ASSERT(is_near(exact_keys[k], mean, its, 1e-6));
            CU_ASSERT(mean <= its + 0.01);
        }
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
        { "random numbers are those of the goldens",
          random_numbers_are_those_of_the_goldens },
        { "fixed networks have the same trees",
          fixed_networks_have_the_same_trees },
        { "simulated means are the same", simulated_means_are_the_same },
        { "ratios to the optimum are as good",
          ratios_to_the_optimum_are_as_good },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = { { "hosts that differ", load, drop, NULL, NULL,
                                tests },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
