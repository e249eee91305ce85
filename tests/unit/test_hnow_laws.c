/* What holds for all trees for hosts that differ: orders, bounds,
 * optima. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/tree/greedy.h"
#include "common/tree/hnow.h"
#include "common/tree/make.h"
#include "common/tree/times.h"
#include "sim/hnow.h"
#include "tests/unit/hnow_nets.h"
#include "tests/unit/nf_unit.h"

static bool is_same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void draw(uint64_t seed, uint32_t n, bool is_matrix, bool has_ports,
                 double bytes, struct nf_hetero *hetero_p,
                 struct nf_hops *hops_p, uint32_t *root_p)
{
    CU_ASSERT(nf_hnow_draw(seed, n, is_matrix, hetero_p, root_p) == NF_OK);
    hetero_p->has_ports = has_ports;
    CU_ASSERT(nf_hops_init(hops_p, hetero_p, bytes) == NF_OK);
}

static void done(struct nf_hetero *hetero, struct nf_hops *hops)
{
    nf_hops_fini(hops);
    nf_hetero_fini(hetero);
}

static void random_tree(struct nf_rng *rng, struct nf_tree *tree)
{
    uint32_t n = tree->nodes, reached = 1;
    uint32_t nodes[32], sender[32];

    for (uint32_t v = 0; v < n; v++)
        nodes[v] = v;
    nodes[0] = tree->root;
    nodes[tree->root] = 0;
    for (; reached < n; reached++)
        sender[reached - 1] = nodes[nf_rng_below(rng, reached)];
    CU_ASSERT(nf_tree_build(tree, sender, nodes + 1, NULL) == NF_OK);
}

/* ---- times ---- */

/* Sawahata & Shibusawa, Figure 1: a star of three. */
static void a_star_takes_340_blocking_and_160_not(void)
{
    static const uint32_t sender[] = { 0, 0, 0 }, receiver[] = { 1, 2, 3 };
    struct nf_hetero hetero;
    struct nf_hops hops;
    struct nf_tree tree;
    double time_us = 0, ready_us[4];

    hnow_alike(4, 20, 0, 100, &hetero);
    hetero.recv[1].fixed_us = 80;
    CU_ASSERT(nf_hops_init(&hops, &hetero, 0) == NF_OK);
    CU_ASSERT(nf_tree_init(&tree, 4, 0) == NF_OK);
    CU_ASSERT(nf_tree_build(&tree, sender, receiver, NULL) == NF_OK);
    CU_ASSERT(nf_tree_times(&tree, &hops, true, ready_us, &time_us) == NF_OK);
    CU_ASSERT(is_same(time_us, 340) && is_same(ready_us[2], 220));
    CU_ASSERT(nf_tree_times(&tree, &hops, false, ready_us, &time_us) == NF_OK);
    CU_ASSERT(is_same(time_us, 160) && is_same(ready_us[1], 100) &&
              is_same(ready_us[2], 140));
    nf_tree_fini(&tree);
    done(&hetero, &hops);
}

static void the_formula_is_what_the_simulation_finds(void)
{
    struct nf_rng rng = { 1 };

    for (uint64_t r = 0; r < 400; r++) {
        bool has_ports = r % 2 == 1, is_matrix = r % 4 >= 2;
        uint64_t segments = 1 + nf_rng_below(&rng, 40);
        double formula_us = 0, pipe_us = 0;
        struct nf_hetero hetero;
        struct nf_hops hops;
        struct nf_tree tree;
        uint32_t root;

        draw(r, 2 + (uint32_t)r % 20, is_matrix, has_ports, 5000, &hetero,
             &hops, &root);
        CU_ASSERT(nf_tree_init(&tree, hops.nodes, root) == NF_OK);
        random_tree(&rng, &tree);
        CU_ASSERT(nf_tree_reorder(&tree, &hops, segments, &formula_us) ==
                  NF_OK);
        CU_ASSERT(hnow_is_tree(&tree));
        CU_ASSERT(nf_tree_pipe(&tree, &hops, segments, &pipe_us) == NF_OK);
        CU_ASSERT(formula_us <= pipe_us * (1 + 1e-9));
        CU_ASSERT(has_ports || is_same(formula_us, pipe_us));
        nf_tree_fini(&tree);
        done(&hetero, &hops);
    }
}

/* ---- Algorithm 1 ---- */

/* The next order of nodes[0..count), ascending; false: that was the last. */
static bool next_order(uint32_t *nodes, uint32_t count)
{
    uint32_t i = count, j = count, keep;

    while (i > 1 && nodes[i - 2] > nodes[i - 1])
        i--;
    if (i < 2)
        return false;
    while (nodes[j - 1] < nodes[i - 2])
        j--;
    keep = nodes[j - 1];
    nodes[j - 1] = nodes[i - 2];
    nodes[i - 2] = keep;
    for (j = count; i < j; i++, j--) {
        keep = nodes[j - 1];
        nodes[j - 1] = nodes[i - 1];
        nodes[i - 1] = keep;
    }
    return true;
}

static int ascending(const void *a, const void *b)
{
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* All orders of the children of all nodes from v on. */
static double best_order_us(struct nf_tree *tree, const struct nf_hops *hops,
                            uint64_t segments, uint32_t v)
{
    double least_us = INFINITY, time_us = 0;
    uint32_t count;

    if (v == tree->nodes) {
        CU_ASSERT(nf_tree_pipe(tree, hops, segments, &time_us) == NF_OK);
        return time_us;
    }
    count = tree->first[v + 1] - tree->first[v];
    qsort(tree->child + tree->first[v], count, sizeof(uint32_t), ascending);
    do
        least_us = fmin(least_us, best_order_us(tree, hops, segments, v + 1));
    while (next_order(tree->child + tree->first[v], count));
    return least_us;
}

static void algorithm_1_never_harms_and_is_optimal(void)
{
    struct nf_rng rng = { 2 };

    for (uint64_t r = 0; r < 200; r++) {
        bool has_ports = r % 4 == 1; /* of one speed */
        uint64_t segments = r % 3 == 0 ? 1 : 1 + nf_rng_below(&rng, 6);
        double before_us = 0, after_us = 0;
        struct nf_hetero hetero;
        struct nf_hops hops;
        struct nf_tree tree;
        uint32_t root;

        draw(r, 2 + (uint32_t)r % 5, !has_ports && r % 2 == 0, has_ports, 8000,
             &hetero, &hops, &root);
        CU_ASSERT(nf_tree_init(&tree, hops.nodes, root) == NF_OK);
        random_tree(&rng, &tree);
        CU_ASSERT(nf_tree_pipe(&tree, &hops, segments, &before_us) == NF_OK);
        CU_ASSERT(nf_tree_reorder(&tree, &hops, segments, NULL) == NF_OK);
        CU_ASSERT(nf_tree_pipe(&tree, &hops, segments, &after_us) == NF_OK);
        CU_ASSERT(after_us <= before_us * (1 + 1e-12));
        CU_ASSERT(is_same(after_us, best_order_us(&tree, &hops, segments, 0)));
        nf_tree_fini(&tree);
        done(&hetero, &hops);
    }
}

/* ---- heuristics ---- */

static bool has_same_parents(const struct nf_tree *a, const struct nf_tree *b)
{
    return memcmp(a->parent, b->parent, a->nodes * sizeof(*a->parent)) == 0;
}

/* Equal links are a matrix whose entries are all the same. */
static void fast_and_slow_versions_make_the_same_trees(void)
{
    static hnow_builder *const builders[] = { nf_tree_fef, nf_tree_ecef,
                                              nf_tree_ecef_la, nf_tree_fnf,
                                              nf_tree_ecef_ports };

    for (uint64_t r = 0; r < 200; r++) {
        struct nf_hetero hetero, matrix;
        struct nf_hops fast, slow;
        uint32_t root, n = 1 + (uint32_t)r % 40;

        draw(r, n, false, r % 2 == 0, 1000, &hetero, &fast, &root);
        draw(r, n, true, r % 2 == 0, 1000, &matrix, &slow, &root);
        for (uint32_t k = 0; k < n * n; k++) {
            slow.wire[k] = fast.wire[0];
            slow.port[k] = fast.port[0];
        }
        for (int b = 0; b < 10; b++) {
            struct nf_tree one, other;

            CU_ASSERT(builders[b / 2](&fast, root, b % 2 == 0, &one) == NF_OK);
            CU_ASSERT(builders[b / 2](&slow, root, b % 2 == 0, &other) ==
                      NF_OK);
            CU_ASSERT(hnow_is_tree(&one) && hnow_is_tree(&other));
            CU_ASSERT(has_same_parents(&one, &other));
            nf_tree_fini(&one);
            nf_tree_fini(&other);
        }
        done(&hetero, &fast);
        done(&matrix, &slow);
    }
}

struct plain {
    double free_us[32], port_us[32];
    uint32_t degree[32], parent[32];
    bool is_reached[32];
};

static double plain_key(const struct nf_greedy *how, const struct nf_hops *hops,
                        const struct plain *p, uint32_t root, uint32_t i,
                        uint32_t j)
{
    double ahead_us = INFINITY, hands_us = (p->degree[i] + 1) * hops->send[i];

    if (i != root)
        hands_us += hops->recv[i];
    if (p->is_reached[j] || !p->is_reached[i] || hands_us > how->cap_us ||
        p->port_us[i] + nf_hops_port(hops, i, j) > how->cap_us)
        return INFINITY;
    for (uint32_t k = 0; k < hops->nodes; k++)
        if (!p->is_reached[k] && k != j)
            ahead_us = fmin(ahead_us, nf_hops_time(hops, j, k));
    return p->free_us[i] + nf_hops_time(hops, i, j) +
           how->look_ahead * (isinf(ahead_us) ? 0 : ahead_us);
}

/* By the definition. @return false if the cap leaves one out */
static bool plain_greedy(const struct nf_greedy *how,
                         const struct nf_hops *hops, uint32_t root,
                         struct plain *p)
{
    *p = (struct plain){ .is_reached = { false } };
    p->is_reached[root] = true;
    for (uint32_t reached = 1; reached < hops->nodes; reached++) {
        double least_us = INFINITY;
        uint32_t from = 0, to = 0;

        for (uint32_t i = 0; i < hops->nodes; i++)
            for (uint32_t j = 0; j < hops->nodes; j++) {
                double key_us = plain_key(how, hops, p, root, i, j);

                if (key_us < least_us) {
                    least_us = key_us;
                    from = i;
                    to = j;
                }
            }
        if (isinf(least_us))
            return false;
        p->free_us[to] = p->free_us[from] + nf_hops_time(hops, from, to);
        p->free_us[from] += nf_hops_hold(hops, from, to);
        p->degree[from]++;
        p->port_us[from] += nf_hops_port(hops, from, to);
        p->is_reached[to] = true;
        p->parent[to] = from;
    }
    return true;
}

static void lazy_choice_is_that_of_the_definition(void)
{
    static const double looks[] = { 0, 0.5, 1, 4 };
    struct nf_rng rng = { 3 };
    unsigned fitted = 0;

    for (uint64_t r = 0; r < 1000; r++) {
        struct nf_greedy how = { .holds_port = true,
                                 .look_ahead = looks[r % 4],
                                 .cap_us =
                                     1000 + (double)nf_rng_below(&rng, 2000) };
        struct nf_greedy_room room;
        struct nf_hetero hetero;
        struct nf_hops hops;
        struct nf_ldt ldt;
        struct plain p;
        uint32_t root;
        bool fits;

        draw(r, 2 + (uint32_t)r % 20, true, true, 8192, &hetero, &hops, &root);
        CU_ASSERT(nf_greedy_room_init(&room, hops.nodes) == NF_OK);
        CU_ASSERT(nf_ldt_init(&ldt, hops.nodes) == NF_OK);
        ldt.root = root;
        fits = plain_greedy(&how, &hops, root, &p);
        CU_ASSERT_EQUAL(nf_greedy_pairs(&how, &hops, &room, &ldt),
                        fits ? NF_GREEDY_FITS : NF_GREEDY_EXCEEDS);
        for (uint32_t v = 0; fits && v < hops.nodes; v++)
            CU_ASSERT(v == root || ldt.parent[v] == p.parent[v]);
        fitted += fits;
        nf_greedy_room_fini(&room);
        nf_ldt_fini(&ldt);
        done(&hetero, &hops);
    }
    CU_ASSERT(fitted > 300 && fitted < 900);
}

/* The tree for receivers in their order, and its time. */
static enum nf_greedy_end run_greedy(const struct nf_greedy *how,
                                     const struct nf_hops *hops, uint32_t root,
                                     double *time_us_p)
{
    struct nf_greedy_room room;
    enum nf_greedy_end end;
    uint32_t receivers[32];
    struct nf_ldt ldt;

    CU_ASSERT(nf_greedy_room_init(&room, hops->nodes) == NF_OK);
    CU_ASSERT(nf_ldt_init(&ldt, hops->nodes) == NF_OK);
    ldt.root = root;
    nf_receivers_all(hops->nodes, root, receivers);
    end = how->look_ahead > 0
              ? nf_greedy_pairs(how, hops, &room, &ldt)
              : nf_greedy_serve(how, hops, receivers, &room, &ldt);
    if (end != NF_GREEDY_NONE)
        *time_us_p = nf_ldt_run(&ldt, hops, how->segments);
    nf_greedy_room_fini(&room);
    nf_ldt_fini(&ldt);
    return end;
}

static void only_what_takes_too_long_is_given_up(void)
{
    unsigned given_up = 0;

    for (uint64_t r = 0; r < 1000; r++) {
        struct nf_greedy how = { .look_ahead = r % 2 == 0 ? 1 : 0,
                                 .segments = 1 + r % 30,
                                 .cap_us = INFINITY };
        double time_us = 0, again_us = 0;
        struct nf_hetero hetero;
        struct nf_hops hops;
        uint32_t root;

        draw(r, 2 + (uint32_t)r % 30, r % 3 != 0, r % 5 != 0, 8192, &hetero,
             &hops, &root);
        CU_ASSERT_EQUAL(run_greedy(&how, &hops, root, &time_us),
                        NF_GREEDY_FITS);
        how.limit_us = time_us * (1 + 1e-9);
        CU_ASSERT_EQUAL(run_greedy(&how, &hops, root, &again_us),
                        NF_GREEDY_FITS);
        CU_ASSERT(is_same(time_us, again_us));
        how.limit_us = time_us / 2;
        given_up += run_greedy(&how, &hops, root, &again_us) == NF_GREEDY_NONE;
        done(&hetero, &hops);
    }
    CU_ASSERT(given_up > 900);
}

/* ---- optima and bounds ---- */

static void three_ways_lead_to_the_optimum(void)
{
    for (uint64_t r = 0; r < 60; r++) {
        uint32_t root, n = 1 + (uint32_t)r % 7;
        double best_us = 0, bound_us = 0, again_us = 0;
        struct nf_hetero hetero;
        struct nf_hops hops;
        struct nf_tree tree;

        draw(r, n, r % 2 == 0, false, 1000, &hetero, &hops, &root);
        CU_ASSERT(nf_tree_exact(&hops, root, true, &tree, &best_us) == NF_OK);
        CU_ASSERT(is_same(best_us, hnow_branch_us(&hops, root, true)));
        CU_ASSERT(nf_tree_times(&tree, &hops, true, NULL, &again_us) == NF_OK);
        CU_ASSERT(is_same(best_us, again_us) && hnow_is_tree(&tree));
        nf_tree_fini(&tree);
        CU_ASSERT(nf_tree_exact(&hops, root, false, &tree, &best_us) == NF_OK);
        CU_ASSERT(is_same(best_us, hnow_branch_us(&hops, root, false)));
        CU_ASSERT(nf_tree_times(&tree, &hops, false, NULL, &again_us) == NF_OK);
        CU_ASSERT(is_same(best_us, again_us) && hnow_is_tree(&tree));
        nf_tree_fini(&tree);
        if (n >= 2 && n <= 6)
            CU_ASSERT(is_same(best_us,
                              hnow_enumerate_us(&hetero, root, 1000, false)));
        CU_ASSERT(nf_tree_bound(&hops, root, &bound_us) == NF_OK);
        CU_ASSERT(bound_us <= best_us * (1 + 1e-9));
        done(&hetero, &hops);
    }
}

/* As if a sender waited for its port before it has the next message in hand: which it
 * need not, so that none takes longer. */
static void with_ports_two_ways_lead_to_the_optimum(void)
{
    unsigned differ = 0;

    for (uint64_t r = 0; r < 120; r++) {
        uint32_t root, n = 1 + (uint32_t)r % 7;
        double best_us = 0, pipe_us = 0, free_us = 0;
        struct nf_hetero hetero;
        struct nf_hops hops, free;
        struct nf_tree tree;

        draw(r, n, r % 3 != 0, true, 20000, &hetero, &hops, &root);
        CU_ASSERT(nf_tree_exact(&hops, root, false, &tree, &best_us) == NF_OK);
        CU_ASSERT(is_same(best_us, hnow_branch_us(&hops, root, false)));
        CU_ASSERT(nf_tree_pipe(&tree, &hops, 1, &pipe_us) == NF_OK);
        CU_ASSERT(pipe_us <= best_us * (1 + 1e-9) && hnow_is_tree(&tree));
        nf_tree_fini(&tree);
        hetero.has_ports = false;
        CU_ASSERT(nf_hops_init(&free, &hetero, 20000) == NF_OK);
        CU_ASSERT(nf_tree_exact(&free, root, false, &tree, &free_us) == NF_OK);
        CU_ASSERT(free_us <= best_us * (1 + 1e-9));
        differ += free_us < best_us * (1 - 1e-9);
        nf_tree_fini(&tree);
        nf_hops_fini(&free);
        done(&hetero, &hops);
    }
    CU_ASSERT(differ > 30);
}

static void more_nodes_than_the_exact_search_takes_are_refused(void)
{
    struct nf_hetero hetero;
    struct nf_hops hops;
    struct nf_tree tree;
    double time_us;

    CU_ASSERT_EQUAL(nf_segment_count(0, 1024), 1);
    CU_ASSERT_EQUAL(nf_segment_count(1025, 1024), 2);
    hnow_alike(NF_TREE_EXACT_MAX + 1, 1, 1, 1, &hetero);
    CU_ASSERT(nf_hops_init(&hops, &hetero, 0) == NF_OK);
    CU_ASSERT(nf_tree_exact(&hops, 0, false, &tree, &time_us) == NF_ERR_RANGE);
    done(&hetero, &hops);
}

static void what_cannot_be_planned_with_is_refused(void)
{
    static hnow_builder *const builders[] = { nf_tree_fef, nf_tree_ecef,
                                              nf_tree_ecef_la, nf_tree_fnf,
                                              nf_tree_ecef_ports };
    static const double wrong[] = { NAN, -1, INFINITY };

    for (int k = 0; k < 32; k++) {
        bool is_root = k % 4 == 3, is_matrix = k >= 16;
        enum nf_status want = is_root ? NF_ERR_RANGE : NF_ERR_INVAL;
        struct nf_hetero hetero;
        struct nf_hops hops;
        struct nf_tree tree;
        double time_us, *at[4];
        uint32_t root;

        draw(1, 5, is_matrix, true, 1000, &hetero, &hops, &root);
        at[0] = &hops.send[1];
        at[1] = &hops.recv[2];
        at[2] = hops.wire + is_matrix; /* of a matrix [0] is not used */
        at[3] = hops.port + is_matrix;
        if (is_root)
            root = 5;
        else
            *at[k / 4 % 4] = wrong[k % 4];
        for (size_t b = 0; b < 5; b++)
            CU_ASSERT_EQUAL(builders[b](&hops, root, false, &tree), want);
        CU_ASSERT_EQUAL(nf_tree_exact(&hops, root, true, &tree, &time_us),
                        want);
        CU_ASSERT_EQUAL(nf_tree_bound(&hops, root, &time_us), want);
        done(&hetero, &hops);
    }
}

int main(void)
{
    static CU_TestInfo trees[] = {
        { "a star takes 340 blocking and 160 not",
          a_star_takes_340_blocking_and_160_not },
        { "the formula is what the simulation finds",
          the_formula_is_what_the_simulation_finds },
        { "Algorithm 1 never harms and is optimal",
          algorithm_1_never_harms_and_is_optimal },
        { "fast and slow versions make the same trees",
          fast_and_slow_versions_make_the_same_trees },
        { "lazy choice is that of the definition",
          lazy_choice_is_that_of_the_definition },
        { "only what takes too long is given up",
          only_what_takes_too_long_is_given_up },
        { "three ways lead to the optimum", three_ways_lead_to_the_optimum },
        { "with ports two ways lead to the optimum",
          with_ports_two_ways_lead_to_the_optimum },
        { "more nodes than the exact search takes are refused",
          more_nodes_than_the_exact_search_takes_are_refused },
        { "what cannot be planned with is refused",
          what_cannot_be_planned_with_is_refused },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = { { "trees for hosts that differ", NULL, NULL, NULL,
                                NULL, trees },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
