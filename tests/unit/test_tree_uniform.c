/* Trees for hosts that are alike: against each other, and what must hold of any
 * tree. */
#include "config.h"
#include "tests/unit/nf_unit.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/tree/mesh_chain.h"
#include "common/tree/opt_table.h"
#include "tests/unit/tree_oracles.h"

enum { MOST = 400 };

static int64_t ready[NF_UNIFORM_NODES_MAX];

static struct nf_uniform_args args_of(uint32_t nodes, int64_t hold, int64_t end)
{
    return (struct nf_uniform_args){
        .nodes = nodes, .uniform = { .hold = hold, .end = end, .ports = 1 }
    };
}

/* The time of a tree that is built and evaluated; -1 if that fails. */
static int64_t time_with(const struct nf_uniform_algorithm *algorithm,
                         const struct nf_uniform_args *args)
{
    struct nf_tree tree;
    struct nf_error err;
    int64_t time = -1;

    if (nf_uniform_make(algorithm, args, &tree, &err) != NF_OK) {
        printf("\n    %s: %s", algorithm->name, err.text);
        return -1;
    }
    if (nf_uniform_eval(&args->uniform, &tree, ready) == NF_OK)
        time = nf_uniform_last(ready, tree.nodes);
    nf_tree_fini(&tree);
    return time;
}

static int64_t time_of(const struct nf_uniform_algorithm *algorithm,
                       uint32_t nodes, int64_t hold, int64_t end)
{
    struct nf_uniform_args args = args_of(nodes, hold, end);

    return time_with(algorithm, &args);
}

static int64_t ceil_log2(uint32_t k)
{
    int64_t steps = 0;

    while ((UINT32_C(1) << steps) < k)
        steps++;
    return steps;
}

/* ---- figures of the paper ---- */

static void seven_nodes_take_80_90_or_120(void)
{
    CU_ASSERT_EQUAL(time_of(&nf_uniform_opt, 7, 10, 40), 80);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_binomial, 7, 10, 40), 120);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_binomial_rootceil, 7, 10, 40), 90);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_binomial_bits, 7, 10, 40), 90);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_u_mesh, 7, 10, 40), 120);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_binomial, 9, 20, 55), 220);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_binomial_rootceil, 9, 20, 55), 165);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_binomial_bits, 9, 20, 55), 185);
}

static void sequential_is_best_in_figure_3(void)
{
    CU_ASSERT_EQUAL(time_of(&nf_uniform_sequential, 4, 2, 5), 9);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_opt, 4, 2, 5), 9);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_binomial, 4, 2, 5), 10);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_chain, 4, 2, 5), 15);
}

/* What a node of the root's group costs, and one of the first child's. */
static void both_columns_of_table_1(void)
{
    static const int64_t t[] = { 0, 55, 75, 95, 110, 115, 130, 130, 135 };
    static const uint32_t j[] = { 0, 1, 2, 3, 3, 4, 5, 5, 6 };
    struct nf_opt_table table;

    CU_ASSERT_EQUAL_FATAL(nf_opt_table_init(&table, 9, 20, 55), NF_OK);
    for (uint32_t i = 2; i <= 9; i++) {
        int64_t kept = j[i - 1] > 1 ? t[j[i - 1] - 1] + 20 : 0;
        int64_t given = t[i - j[i - 1] - 1] + 55;

        CU_ASSERT_EQUAL(table.time[i], t[i - 1]);
        CU_ASSERT_EQUAL(table.keep[i], j[i - 1]);
        CU_ASSERT_EQUAL(table.time[i], kept > given ? kept : given);
    }
    nf_opt_table_fini(&table);
}

static void opt_is_binomial_if_hold_is_end(void)
{
    for (uint32_t k = 1; k < 70; k++) {
        CU_ASSERT_EQUAL(time_of(&nf_uniform_opt, k, 20, 20), 20 * ceil_log2(k));
        CU_ASSERT_EQUAL(time_of(&nf_uniform_binomial, k, 20, 20),
                        20 * ceil_log2(k));
    }
    CU_ASSERT_EQUAL(time_of(&nf_uniform_opt, 7, 20, 20), 60);
}

static void closed_forms_of_the_baselines(void)
{
    struct nf_rng rng = { 3 };

    for (int i = 0; i < 300; i++) {
        uint32_t k = (uint32_t)nf_rng_below(&rng, MOST) + 2;
        int64_t h = (int64_t)nf_rng_below(&rng, 100);
        int64_t e = (int64_t)nf_rng_below(&rng, 100);
        int64_t halves = e * ceil_log2(k);

        CU_ASSERT_EQUAL(time_of(&nf_uniform_sequential, k, h, e),
                        (k - 2) * h + e);
        CU_ASSERT_EQUAL(time_of(&nf_uniform_chain, k, h, e), (k - 1) * e);
        if (h > e)
            continue;
        CU_ASSERT_EQUAL(time_of(&nf_uniform_binomial, k, h, e), halves);
        CU_ASSERT(time_of(&nf_uniform_binomial_rootceil, k, h, e) <= halves);
        CU_ASSERT(time_of(&nf_uniform_binomial_bits, k, h, e) <= halves);
    }
}

static void without_hold_the_root_sends_to_all(void)
{
    for (uint32_t k = 2; k <= 50; k++)
        CU_ASSERT_EQUAL(time_of(&nf_uniform_opt, k, 0, 55), 55);
    /* as hold grows, a chain */
    CU_ASSERT_EQUAL(time_of(&nf_uniform_opt, 50, 100000, 3), 49 * 3);
}

/* ---- the table ---- */

static bool tables_agree(uint32_t k, int64_t h, int64_t e)
{
    static int64_t splits[MOST + 1], queues[MOST + 1];
    struct nf_opt_table table;
    bool ok = nf_opt_table_init(&table, k, h, e) == NF_OK;

    oracle_all_splits(k, h, e, splits);
    oracle_two_queues(k, h, e, queues);
    for (uint32_t i = 1; ok && i <= k; i++) {
        uint32_t grown = i > 2 ? table.keep[i] - table.keep[i - 1] : 0;

        ok = table.time[i] == splits[i] && table.time[i] == queues[i] &&
             grown <= 1 && (h > e || i < 2 || 2 * table.keep[i] >= i);
    }
    ok = ok && time_of(&nf_uniform_opt, k, h, e) == splits[k];
    ok = ok && time_of(&nf_uniform_multi_port, k, h, e) == splits[k];
    nf_opt_table_fini(&table);
    if (!ok)
        printf("\n    k %u, hold %" PRId64 ", end %" PRId64, k, h, e);
    return ok;
}

static void all_ways_to_the_optimum_agree(void)
{
    struct nf_rng rng = { 1 };

    for (uint32_t k = 1; k <= 3; k++)
        for (int64_t h = 0; h < 4; h++)
            for (int64_t e = 0; e < 4; e++)
                CU_ASSERT(tables_agree(k, h, e));
    for (int i = 0; i < 1500; i++) {
        uint32_t k = (uint32_t)nf_rng_below(&rng, i % 10 ? 60 : MOST) + 1;
        /* small ones, so that there are ties; h > e as often as not */
        uint64_t top = i % 3 ? 12 : 100000;

        CU_ASSERT(tables_agree(k, (int64_t)nf_rng_below(&rng, top),
                               (int64_t)nf_rng_below(&rng, top)));
    }
}

static void a_table_of_the_largest_times(void)
{
    struct nf_opt_table table;

    CU_ASSERT_EQUAL_FATAL(nf_opt_table_init(&table, NF_UNIFORM_NODES_MAX,
                                            NF_UNIFORM_TIME_MAX,
                                            NF_UNIFORM_TIME_MAX),
                          NF_OK);
    CU_ASSERT_EQUAL(table.time[NF_UNIFORM_NODES_MAX], 20 * NF_UNIFORM_TIME_MAX);
    nf_opt_table_fini(&table);
    CU_ASSERT_EQUAL(time_of(&nf_uniform_sequential, NF_UNIFORM_NODES_MAX,
                            NF_UNIFORM_TIME_MAX, NF_UNIFORM_TIME_MAX),
                    (NF_UNIFORM_NODES_MAX - 1) * NF_UNIFORM_TIME_MAX);
}

/* ---- ports ---- */

/* The other reading: ports are filled one after the other, and free again a
 * hold after the last of them was. */
static int64_t in_batches(const struct nf_uniform *uniform, uint32_t n)
{
    uint32_t ports = uniform->ports;

    return n / ports * ((ports - 1) * uniform->interval + uniform->hold) +
           n % ports * uniform->interval;
}

static void starts_follow_the_recurrence(void)
{
    struct nf_rng rng = { 2 };

    for (int i = 0; i < 300; i++) {
        struct nf_uniform uniform = {
            .hold = (int64_t)nf_rng_below(&rng, 50),
            .interval = (int64_t)nf_rng_below(&rng, 20),
            .ports = 1 + (uint32_t)nf_rng_below(&rng, 7),
        };
        int64_t o[40] = { 0 };

        for (uint32_t n = 1; n < 40; n++) {
            o[n] = o[n - 1] + uniform.interval;
            if (n >= uniform.ports &&
                o[n - uniform.ports] + uniform.hold > o[n])
                o[n] = o[n - uniform.ports] + uniform.hold;
            CU_ASSERT_EQUAL(nf_uniform_start(&uniform, n), o[n]);
        }
    }
}

static void no_tree_is_faster_with_ports(void)
{
    struct nf_rng rng = { 4 };

    for (int i = 0; i < 300; i++) {
        struct nf_uniform_args args = args_of(
            (uint32_t)nf_rng_below(&rng, 40) + 1,
            (int64_t)nf_rng_below(&rng, 30), (int64_t)nf_rng_below(&rng, 60));

        args.uniform.ports = 1 + (uint32_t)nf_rng_below(&rng, 5);
        args.uniform.interval = (int64_t)nf_rng_below(&rng, 12);
        if (i % 2)
            args.uniform.start = in_batches;
        CU_ASSERT_EQUAL(time_with(&nf_uniform_multi_port, &args),
                        oracle_ports(args.nodes, &args.uniform));
    }
}

/* It is as if it was held so long. */
static void one_port_has_an_interval(void)
{
    struct nf_uniform_args slow = args_of(30, 7, 20), held = args_of(30, 11, 20);

    CU_ASSERT_EQUAL(nf_uniform_hold(&slow.uniform), 7);
    slow.uniform.interval = 11;
    CU_ASSERT_EQUAL(nf_uniform_hold(&slow.uniform), 11);
    for (uint32_t i = 0; nf_uniform_table[i] != NULL; i++)
        CU_ASSERT_EQUAL(time_with(nf_uniform_table[i], &slow),
                        time_with(nf_uniform_table[i], &held));
    slow.uniform.ports = 2; /* none waits for its port */
    CU_ASSERT_EQUAL(time_with(&nf_uniform_opt, &slow),
                    time_with(&nf_uniform_opt, &held));
}

static void the_two_readings_of_several_ports(void)
{
    struct nf_uniform_args args = args_of(12, 22, 55);

    args.uniform.ports = 3;
    args.uniform.interval = 10;
    CU_ASSERT_EQUAL(time_with(&nf_uniform_multi_port, &args), 125);
    args.uniform.start = in_batches;
    CU_ASSERT_EQUAL(time_with(&nf_uniform_multi_port, &args), 130);
}

/* ---- every tree ---- */

/* Children come after the root or their parent, each once; the last one is
 * when the tree says. */
static bool is_whole(const struct nf_uniform_algorithm *algorithm,
                     const struct nf_uniform_args *args)
{
    static bool reached[MOST + 1];
    struct nf_tree tree;
    uint32_t count = 1;
    bool ok = nf_uniform_make(algorithm, args, &tree, NULL) == NF_OK;

    if (!ok)
        return false;
    memset(reached, 0, sizeof(reached));
    reached[args->root] = true;
    ok = tree.nodes == args->nodes && tree.root == args->root &&
         tree.parent[args->root] == NF_TREE_NONE && tree.first[0] == 0 &&
         tree.first[args->nodes] == args->nodes - 1;
    for (uint32_t v = 0; ok && v < args->nodes; v++)
        for (uint32_t i = tree.first[v]; ok && i < tree.first[v + 1]; i++) {
            uint32_t c = tree.child[i];

            ok = c < args->nodes && !reached[c] && tree.parent[c] == v;
            reached[c] = true;
            count++;
        }
    ok = ok && count == args->nodes &&
         nf_uniform_eval(&args->uniform, &tree, ready) == NF_OK;
    for (uint32_t v = 0; ok && v < args->nodes; v++)
        ok = v == args->root || ready[v] >= ready[tree.parent[v]];
    nf_tree_fini(&tree);
    return ok;
}

static void shuffle(struct nf_rng *rng, uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        list[i] = i;
    nf_rng_shuffle(rng, list, n);
}

static void every_node_is_reached_once(void)
{
    static uint32_t order[MOST];
    struct nf_rng rng = { 5 };

    for (int i = 0; i < 2000; i++) {
        const struct nf_uniform_algorithm *algorithm = nf_uniform_table[i % 9];
        struct nf_uniform_args args = args_of(
            (uint32_t)nf_rng_below(&rng, i < 90 ? 4 : MOST) + 1,
            (int64_t)nf_rng_below(&rng, 30), (int64_t)nf_rng_below(&rng, 30));

        args.root = (uint32_t)nf_rng_below(&rng, args.nodes);
        if (i % 2) {
            shuffle(&rng, order, args.nodes);
            args.node_at = order;
            if (!algorithm->on_chain)
                args.root = order[0];
        }
        if (!is_whole(algorithm, &args)) {
            printf("\n    %s: %u nodes, root %u", algorithm->name, args.nodes,
                   args.root);
            CU_FAIL("no tree of all nodes");
        }
    }
}

static void the_root_of_a_mesh_tree_costs_nothing(void)
{
    static const int64_t times[][2] = {
        { 20, 55 }, { 30, 30 }, { 1, 90 }, { 7, 8 }, { 0, 5 }
    };

    for (uint32_t k = 1; k < 40; k++)
        for (uint32_t s = 0; s < k; s++)
            for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
                int64_t h = times[i][0], e = times[i][1], halves;
                struct nf_uniform_args args = args_of(k, h, e);

                args.root = s;
                CU_ASSERT_EQUAL(time_with(&nf_uniform_opt_mesh, &args),
                                time_of(&nf_uniform_opt, k, h, e));
                halves = e * ceil_log2(k);
                if (k > 2 && ceil_log2(k) > ceil_log2(k - 1) && 2 * s == k - 1)
                    CU_ASSERT(time_with(&nf_uniform_u_mesh, &args) <= halves)
                else
                    CU_ASSERT_EQUAL(time_with(&nf_uniform_u_mesh, &args),
                                    halves)
            }
}

static void a_long_hold_leaves_mesh_trees_whole(void)
{
    for (uint32_t k = 1; k < 60; k++)
        for (uint32_t s = 0; s < k; s++) {
            struct nf_uniform_args args = args_of(k, 90, 10);

            args.root = s;
            CU_ASSERT(is_whole(&nf_uniform_opt_mesh, &args));
        }
}

/* ---- chains ---- */

static void chains_are_sorted(void)
{
    enum { DIMS = 3, SIDE = 7, ALL = SIDE * SIDE * SIDE };
    static uint32_t place[ALL], address[ALL * DIMS], order[ALL];
    struct nf_rng rng = { 6 };

    for (int i = 0; i < 50; i++) {
        uint32_t n = (uint32_t)nf_rng_below(&rng, ALL) + 1;

        shuffle(&rng, place, ALL);
        for (uint32_t v = 0; v < n; v++) {
            address[v * DIMS] = place[v] / (SIDE * SIDE);
            address[v * DIMS + 1] = place[v] / SIDE % SIDE;
            address[v * DIMS + 2] = place[v] % SIDE;
        }
        CU_ASSERT_EQUAL(nf_mesh_chain(address, n, DIMS, order, NULL), NF_OK);
        for (uint32_t p = 1; p < n; p++)
            CU_ASSERT(place[order[p - 1]] < place[order[p]]);
    }
}

/* ---- what is refused ---- */

static void refuse(struct nf_uniform_args args, enum nf_status want)
{
    for (size_t i = 0; nf_uniform_table[i] != NULL; i++) {
        struct nf_tree tree;
        struct nf_error err = { .text = "" };

        CU_ASSERT_EQUAL(
            nf_uniform_make(nf_uniform_table[i], &args, &tree, &err), want);
        CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
    }
}

static void bad_arguments_are_refused(void)
{
    static const uint32_t twice[] = { 0, 1, 1 }, beyond[] = { 0, 1, 7 },
                          rootless[] = { 1, 2, 3 };
    struct nf_uniform_args good = args_of(3, 1, 2), args = good;

    args.nodes = 0;
    refuse(args, NF_ERR_RANGE);
    args.nodes = NF_UNIFORM_NODES_MAX + 1;
    refuse(args, NF_ERR_RANGE);
    args = good, args.root = 3;
    refuse(args, NF_ERR_RANGE);
    args = good, args.uniform.hold = -1;
    refuse(args, NF_ERR_RANGE);
    args = good, args.uniform.end = NF_UNIFORM_TIME_MAX + 1;
    refuse(args, NF_ERR_RANGE);
    args = good, args.uniform.ports = 0;
    refuse(args, NF_ERR_RANGE);
    args = good, args.node_at = twice;
    refuse(args, NF_ERR_INVAL);
    args = good, args.node_at = beyond;
    refuse(args, NF_ERR_INVAL);
    args = good, args.node_at = rootless;
    refuse(args, NF_ERR_INVAL);
}

static void one_address_twice_is_refused(void)
{
    static const uint32_t address[] = { 1, 2, 0, 5, 1, 2 };
    uint32_t order[3];
    struct nf_error err = { .text = "" };

    CU_ASSERT_EQUAL(nf_mesh_chain(address, 3, 2, order, &err), NF_ERR_INVAL);
    CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
}

static void running_out_of_memory_is_said(void)
{
    struct nf_uniform_args args = args_of(20, 3, 7);
    struct nf_tree tree;

    for (size_t i = 0; nf_uniform_table[i] != NULL; i++) {
        enum nf_status status = NF_ERR_NOMEM;
        long n = 0;

        for (; status == NF_ERR_NOMEM && n < 50; n++) {
            nf_alloc_fail_after(n);
            status = nf_uniform_make(nf_uniform_table[i], &args, &tree, NULL);
            nf_alloc_fail_after(-1);
        }
        CU_ASSERT_EQUAL(status, NF_OK);
        CU_ASSERT(n > 5);
        nf_alloc_fail_after(0);
        CU_ASSERT_EQUAL(nf_uniform_eval(&args.uniform, &tree, ready),
                        NF_ERR_NOMEM);
        nf_alloc_fail_after(-1);
        nf_tree_fini(&tree);
    }
}

static void names_find_their_algorithm(void)
{
    for (size_t i = 0; nf_uniform_table[i] != NULL; i++)
        CU_ASSERT_PTR_EQUAL(nf_uniform_find(nf_uniform_table[i]->name),
                            nf_uniform_table[i]);
    CU_ASSERT_PTR_NULL(nf_uniform_find("oak"));
}

int main(void)
{
    CU_TestInfo paper[] = {
        { "7 and 9 nodes", seven_nodes_take_80_90_or_120 },
        { "figure 3: sequential is best", sequential_is_best_in_figure_3 },
        { "both columns of table 1", both_columns_of_table_1 },
        { "OPT is binomial if hold is end", opt_is_binomial_if_hold_is_end },
        { "closed forms", closed_forms_of_the_baselines },
        { "no hold, much hold", without_hold_the_root_sends_to_all },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo optimum[] = {
        { "all ways to it agree", all_ways_to_the_optimum_agree },
        { "the largest times", a_table_of_the_largest_times },
        { "starts follow the recurrence", starts_follow_the_recurrence },
        { "no tree is faster with ports", no_tree_is_faster_with_ports },
        { "one port has an interval", one_port_has_an_interval },
        { "two readings of ports", the_two_readings_of_several_ports },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo trees[] = {
        { "every node is reached once", every_node_is_reached_once },
        { "any root of a chain", the_root_of_a_mesh_tree_costs_nothing },
        { "a long hold on a mesh", a_long_hold_leaves_mesh_trees_whole },
        { "chains are sorted", chains_are_sorted },
        { "bad arguments are refused", bad_arguments_are_refused },
        { "one address twice is refused", one_address_twice_is_refused },
        { "out of memory", running_out_of_memory_is_said },
        { "names", names_find_their_algorithm },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "figures of the paper", NULL, NULL, NULL, NULL, paper },
        { "the optimum", NULL, NULL, NULL, NULL, optimum },
        { "trees", NULL, NULL, NULL, NULL, trees },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
