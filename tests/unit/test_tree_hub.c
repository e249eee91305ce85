/* Trees and other broadcasts on a hub, where all messages share one medium; and
 * trees in which some hosts must be leaves. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/model/network.h"
#include "common/tree/bcast_plan.h"
#include "common/tree/crl_search.h"
#include "common/tree/hnow_table.h"
#include "common/tree/hub.h"
#include "common/tree/times.h"
#include "common/tree/uniform.h"
#include "tests/unit/hnow_nets.h"
#include "tests/unit/nf_unit.h"

static double draw(struct nf_rng *rng, double least, double most)
{
    return least + (most - least) * (double)nf_rng_below(rng, 1 << 20) /
                       (double)(1 << 20);
}

/* A hub: hosts of which the slowest is up to @p ratio times the quickest, and a
 * wire of @p byte_us for all. */
static struct nf_hetero make_hub(uint32_t hosts, double ratio, double byte_us,
                                 uint64_t seed)
{
    struct nf_rng rng = { seed };
    struct nf_hetero net;

    CU_ASSERT_FATAL(nf_hetero_init(&net, hosts, true) == NF_OK);
    net.has_ports = net.is_shared = true;
    for (uint32_t i = 0; i < hosts; i++) {
        net.send[i].fixed_us = draw(&rng, 20, 20 * ratio);
        net.send[i].byte_us = draw(&rng, 0.004, 0.004 * ratio);
        net.recv[i].fixed_us = draw(&rng, 30, 30 * ratio);
        net.recv[i].byte_us = draw(&rng, 0.006, 0.006 * ratio);
        for (uint32_t j = 0; j < hosts; j++)
            net.wire[(size_t)i * hosts + j] = (struct nf_cost){ 40, byte_us };
    }
    return net;
}

/* 10 to send, 20 to receive, a wire of 5 and 0.1 a byte. */
static struct nf_hetero make_simple(uint32_t hosts)
{
    struct nf_hetero net = make_hub(hosts, 1, 0.1, 1);

    for (uint32_t i = 0; i < hosts; i++) {
        net.send[i] = (struct nf_cost){ 10, 0 };
        net.recv[i] = (struct nf_cost){ 20, 0 };
    }
    for (uint32_t i = 0; i < hosts * hosts; i++)
        net.wire[i].fixed_us = 5;
    return net;
}

static double price(const struct nf_hetero *net, const char *name,
                    const struct nf_tree *tree, uint64_t bytes, uint32_t k)
{
    struct nf_bcast_query query = { .bytes = bytes, .elements = bytes };
    struct nf_coll_tree view;
    struct nf_pricer pricer;
    double us = -1;

    if (tree != NULL) {
        query.root = tree->root;
        view = (struct nf_coll_tree){ tree->nodes, tree->root, tree->first,
                                      tree->child };
    }
    CU_ASSERT_FATAL(nf_pricer_init(&pricer, net) == NF_OK);
    CU_ASSERT_EQUAL(nf_bcast_price(&pricer, nf_coll_find(name), &query,
                                   tree != NULL ? &view : NULL, k, &us),
                    NF_OK);
    nf_pricer_fini(&pricer);
    return us;
}

static struct nf_tree tree_of(uint32_t nodes, const uint32_t *sender,
                              const uint32_t *receiver)
{
    struct nf_tree tree;

    CU_ASSERT_FATAL(nf_tree_init(&tree, nodes, sender[0]) == NF_OK);
    CU_ASSERT_FATAL(nf_tree_build(&tree, sender, receiver, NULL) == NF_OK);
    return tree;
}

static struct nf_tree random_tree(uint32_t nodes, uint32_t root,
                                  struct nf_rng *rng)
{
    uint32_t sender[64], receiver[64];

    for (uint32_t v = 1; v < nodes; v++) {
        sender[v - 1] = (root + (uint32_t)nf_rng_below(rng, v)) % nodes;
        receiver[v - 1] = (root + v) % nodes;
    }
    return tree_of(nodes, sender, receiver);
}

static double pipe_us(const struct nf_hetero *net, const struct nf_tree *tree,
                      uint64_t bytes, uint32_t k)
{
    struct nf_hops hops;
    double us = -1;

    CU_ASSERT_FATAL(nf_hops_init(&hops, net, (double)bytes / k) == NF_OK);
    CU_ASSERT_EQUAL(nf_tree_pipe(tree, &hops, k, &us), NF_OK);
    nf_hops_fini(&hops);
    return us;
}

/* ---- prices ---- */

/* The first one's way to the wire, all on the wire, the last one's way. */
static void a_star_takes_one_after_the_other(void)
{
    for (uint32_t n = 2; n <= 9; n++) {
        struct nf_hetero net = make_simple(n);
        double want_us = 10 + (n - 1) * 100 + 5 + 20;

        CU_ASSERT_DOUBLE_EQUAL(price(&net, "bcast.flat", NULL, 1000, 1),
                               want_us, 1e-9);
        nf_hetero_fini(&net);
    }
}

static void small_ones_take_what_a_hand_finds(void)
{
    static const uint32_t sender[] = { 0, 0, 1 }, receiver[] = { 1, 2, 3 };
    struct nf_hetero net = make_simple(4);
    struct nf_tree tree = tree_of(4, sender, receiver);
    struct nf_hops hops;
    double ready_us[4], us;

    /* 1 has it at 10 + 105 + 20 and hands on at 145; the wire, which 0 got for
     * 2 at 110, is free at 210: 210 + 105 + 20 */
    CU_ASSERT_FATAL(nf_hops_init(&hops, &net, 1000) == NF_OK);
    CU_ASSERT_EQUAL(nf_tree_times(&tree, &hops, false, ready_us, &us), NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(ready_us[0], 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ready_us[1], 135, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ready_us[2], 235, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ready_us[3], 335, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(us, 335, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(price(&net, "bcast.tree", &tree, 1000, 1), 335,
                           1e-9);
    /* who waits for its receiver hands over at 145, as 1 does: 0 comes first */
    CU_ASSERT_EQUAL(nf_tree_times(&tree, &hops, true, ready_us, &us), NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(ready_us[1], 135, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ready_us[2], 145 + 105 + 20, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ready_us[3], 245 + 105 + 20, 1e-9);
    nf_hops_fini(&hops);
    /* on a switch 1 need not wait */
    net.is_shared = false;
    CU_ASSERT_DOUBLE_EQUAL(price(&net, "bcast.tree", &tree, 1000, 1),
                           145 + 105 + 20, 1e-9);
    nf_tree_fini(&tree);
    nf_hetero_fini(&net);
}

/* Two ways to the same price, to the bit; and a hub is no faster than a switch,
 * nor than its wire. */
static void trees_and_schedules_take_the_same(void)
{
    enum { BYTES = 32800 }; /* segments are all equal */
    static const uint32_t ks[] = { 1, 2, 5, 16 };
    struct nf_rng rng = { 3 };

    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint32_t n = 2 + (uint32_t)(seed % 11), k = ks[seed % 4];
        struct nf_hetero net = make_hub(n, 4, seed % 3 == 0 ? 0.5 : 0.02, seed);
        struct nf_tree tree = random_tree(n, (uint32_t)seed % n, &rng);
        double us = pipe_us(&net, &tree, BYTES, k);

        CU_ASSERT(us == price(&net, "bcast.tree", &tree, BYTES, k));
        CU_ASSERT(us > (n - 1) * net.wire[0].byte_us * BYTES);
        net.is_shared = false;
        CU_ASSERT(us >= pipe_us(&net, &tree, BYTES, k) * (1 - 1e-12));
        nf_tree_fini(&tree);
        nf_hetero_fini(&net);
    }
}

/* With nothing to wait for on the medium it is a switch, to the bit. */
static void without_bytes_a_hub_is_a_switch(void)
{
    struct nf_rng rng = { 4 };

    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint32_t n = 2 + (uint32_t)(seed % 13), k = 1 + (uint32_t)(seed % 7);
        struct nf_hetero net = make_hub(n, 4, 0.05, seed);
        struct nf_tree tree = random_tree(n, 0, &rng);
        struct nf_hub hub;
        struct nf_hops hops;
        uint32_t order[16];
        double want_us = -1;

        net.is_shared = false;
        nf_tree_order(&tree, order);
        CU_ASSERT_FATAL(nf_hops_init(&hops, &net, 4096) == NF_OK);
        CU_ASSERT_FATAL(nf_hub_init(&hub, n, n * k) == NF_OK);
        CU_ASSERT_EQUAL(nf_tree_pipe(&tree, &hops, k, &want_us), NF_OK);
        CU_ASSERT(nf_hub_pipe(&hub, &tree, order, &hops, k, false) == want_us);
        CU_ASSERT_EQUAL(nf_tree_times(&tree, &hops, true, NULL, &want_us),
                        NF_OK);
        CU_ASSERT_DOUBLE_EQUAL(nf_hub_pipe(&hub, &tree, order, &hops, 1, true),
                               want_us, 1e-9 * want_us);
        nf_hub_fini(&hub);
        nf_hops_fini(&hops);
        nf_tree_fini(&tree);
        nf_hetero_fini(&net);
    }
}

/* All broadcasts of the table: rounds, many ranks, blocks. */
static void no_broadcast_is_faster_on_a_hub(void)
{
    struct nf_hetero net = make_hub(12, 3, 0.08, 9);

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *a = nf_coll_table[i];
        double hub_us, switch_us;

        if (a->op != NF_COLL_BCAST)
            continue;
        net.is_shared = true;
        hub_us = price(&net, a->name, NULL, 60000, 1);
        net.is_shared = false;
        switch_us = price(&net, a->name, NULL, 60000, 1);
        CU_ASSERT(isinf(hub_us) == isinf(switch_us));
        CU_ASSERT(isinf(hub_us) || hub_us >= switch_us);
        /* all but the root get it over the one wire */
        CU_ASSERT(isinf(hub_us) || hub_us > 11 * 0.08 * 60000);
    }
    nf_hetero_fini(&net);
}

/* ---- choosing ---- */

static double least_uniform(const struct nf_hetero *net, uint64_t bytes,
                            uint32_t root)
{
    double least_us = INFINITY;

    for (size_t i = 0; nf_uniform_table[i] != NULL; i++) {
        struct nf_uniform_args args = {
            .nodes = net->hosts,
            .root = root,
            .uniform = { .hold = (int64_t)(80 * bytes + 30000),
                         .end = (int64_t)(90 * bytes + 150000),
                         .ports = 1 },
        };
        struct nf_error err;
        struct nf_tree tree;

        if (nf_uniform_make(nf_uniform_table[i], &args, &tree, &err) != NF_OK)
            continue;
        least_us = fmin(least_us, pipe_us(net, &tree, bytes, 1));
        nf_tree_fini(&tree);
    }
    return least_us;
}

static double least_heuristic(const struct nf_hetero *net, uint64_t bytes,
                              uint32_t root)
{
    double least_us = INFINITY;

    for (size_t i = 0; nf_hnow_table[i] != NULL; i++) {
        struct nf_crl_plan plan;

        if (strcmp(nf_hnow_table[i]->name, "crl") == 0 ||
            (strcmp(nf_hnow_table[i]->name, "exact") == 0 &&
             net->hosts > NF_CRL_EXACT) ||
            nf_hnow_make(nf_hnow_table[i], net, root, bytes, &plan, NULL) !=
                NF_OK)
            continue;
        least_us = fmin(least_us, plan.time_us);
        nf_crl_plan_fini(&plan);
    }
    return least_us;
}

/* Of all that is offered nothing is cheaper than what is chosen. */
static void the_plan_is_the_cheapest_on_a_hub(void)
{
    static const uint64_t sizes[] = { 0, 64, 1024, 8192, 65536, 1 << 20 };
    static const uint32_t ks[] = { 1, 2, 4, 16, 64 };
    unsigned stars = 0, trees = 0;

    for (uint64_t seed = 1; seed <= 36; seed++) {
        uint32_t n = 3 + (uint32_t)(seed % 12), root = (uint32_t)seed % n;
        struct nf_hetero net = make_hub(n, seed % 2 == 0 ? 1 : 5, 0.08, seed);
        struct nf_bcast_query query = { .root = root,
                                        .bytes = sizes[seed % 6],
                                        .elements = sizes[seed % 6] };
        struct nf_bcast_plan p;
        struct nf_pricer pricer;
        double tree_us;

        CU_ASSERT_FATAL(nf_bcast_plan(&net, &query, &p, NULL) == NF_OK);
        CU_ASSERT_FATAL(nf_pricer_init(&pricer, &net) == NF_OK);
        tree_us = p.tree_us * (1 - 1e-9);
        CU_ASSERT(p.cost_us <= p.tree_us);
        CU_ASSERT(tree_us <= least_heuristic(&net, query.bytes, root));
        CU_ASSERT(p.cost_us * (1 - 1e-9) <=
                  least_uniform(&net, query.bytes, root));
        for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
            const struct nf_coll_algorithm *a = nf_coll_table[i];
            bool segments = a->items == NF_ITEMS_SEGMENTS;

            for (int k = 0; k < (segments ? 5 : 1); k++) {
                double us = 0;

                if (a->op != NF_COLL_BCAST || a == &nf_coll_bcast_tree ||
                    query.bytes / ks[k] < (ks[k] > 1 ? NF_BCAST_SEGMENT : 0))
                    continue;
                CU_ASSERT_EQUAL(
                    nf_bcast_price(&pricer, a, &query, NULL, ks[k], &us),
                    NF_OK);
                CU_ASSERT(p.cost_us * (1 - 1e-9) <= us);
                if (strcmp(a->name, "bcast.flat") == 0)
                    CU_ASSERT(tree_us <= us);
            }
        }
        stars += p.crl.tree.first[root + 1] - p.crl.tree.first[root] == n - 1;
        trees += p.crl.tree.first[root + 1] - p.crl.tree.first[root] < n - 1;
        nf_pricer_fini(&pricer);
        nf_bcast_plan_fini(&p);
        nf_hetero_fini(&net);
    }
    printf("\n    %u stars, %u other trees", stars, trees);
    CU_ASSERT(stars > 4 && trees > 4);
}

/* All trees of five hosts, their children in the best order of a switch. */
static void no_tree_is_much_better(void)
{
    double worst = 1, sum = 0;

    for (uint64_t seed = 1; seed <= 30; seed++) {
        const struct nf_crl_options options = { .bytes = 512 << seed % 6,
                                                .least_segment = 1 << 20,
                                                .polish = NF_CRL_POLISH };
        struct nf_hetero net = make_hub(5, 6, 0.08, seed);
        struct nf_crl_plan plan;
        double least_us = INFINITY;

        CU_ASSERT_FATAL(nf_crl_plan(&net, 0, &options, &plan, NULL) == NF_OK);
        /* who has it from whom: 5^4 ways, those that are trees */
        for (uint32_t code = 0; code < 625; code++) {
            uint32_t rest = code, depth = 0;
            struct nf_tree tree;
            struct nf_hops hops;
            bool ok = true;
            double us;

            CU_ASSERT_FATAL(nf_tree_init(&tree, 5, 0) == NF_OK);
            tree.parent[0] = NF_TREE_NONE;
            for (uint32_t v = 1; v < 5; v++, rest /= 5)
                tree.parent[v] = rest % 5;
            for (uint32_t v = 1; v < 5 && ok; v++) {
                uint32_t at = v;

                for (depth = 0; at != 0 && depth < 5; depth++)
                    at = tree.parent[at];
                ok = at == 0;
            }
            if (ok) {
                nf_tree_children(&tree, NULL, 5);
                CU_ASSERT_FATAL(
                    nf_hops_init(&hops, &net, (double)options.bytes) == NF_OK);
                CU_ASSERT_EQUAL(nf_tree_reorder(&tree, &hops, 1, NULL), NF_OK);
                CU_ASSERT_EQUAL(nf_tree_pipe(&tree, &hops, 1, &us), NF_OK);
                least_us = fmin(least_us, us);
                nf_hops_fini(&hops);
            }
            nf_tree_fini(&tree);
        }
        CU_ASSERT(plan.time_us > 0.9 * least_us); /* another order */
        worst = fmax(worst, plan.time_us / least_us);
        sum += plan.time_us / least_us;
        nf_crl_plan_fini(&plan);
        nf_hetero_fini(&net);
    }
    printf("\n    %.4f times the best on average, at worst %.4f", sum / 30,
           worst);
    CU_ASSERT(sum / 30 < 1.01 && worst < 1.05);
}

static void running_out_of_memory_is_told(void)
{
    const struct nf_bcast_query query = { .bytes = 65536, .elements = 65536 };
    struct nf_hetero net = make_hub(5, 3, 0.08, 7);
    enum nf_status status = NF_ERR_NOMEM;
    unsigned failed = 0;

    for (long n = 0; status == NF_ERR_NOMEM && n < 5000; n++) {
        struct nf_bcast_plan p;

        nf_alloc_fail_after(n);
        status = nf_bcast_plan(&net, &query, &p, NULL);
        nf_alloc_fail_after(-1);
        failed += status == NF_ERR_NOMEM;
        if (status == NF_OK)
            nf_bcast_plan_fini(&p);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(failed > 50);
    nf_hetero_fini(&net);
}

/* ---- a measured hub ---- */

static void a_measured_hub_is_shared(void)
{
    struct nf_network network;
    struct nf_hetero net;
    struct nf_hops hops;

    CU_ASSERT_FATAL(nf_network_init(&network, 3) == NF_OK);
    for (uint32_t i = 0; i < 3; i++) {
        network.hosts[i].send.line = (struct nf_cost){ 10, 0.01 };
        network.hosts[i].recv.line = (struct nf_cost){ 20, 0.01 };
        /* it is held for longer than a wire is, or for less */
        network.hosts[i].hold.line = (struct nf_cost){ 0, i == 0 ? 0.2 : 0.05 };
        for (uint32_t j = 0; j < 3; j++)
            nf_network_wire(&network, i, j)->line = (struct nf_cost){ 5, 0.1 };
    }
    net = nf_network_hetero(&network, true);
    CU_ASSERT(!net.is_shared);
    network.shared = true;
    CU_ASSERT(!nf_network_hetero(&network, false).is_shared);
    net = nf_network_hetero(&network, true);
    CU_ASSERT(net.is_shared);
    CU_ASSERT_FATAL(nf_hops_init(&hops, &net, 1000) == NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(nf_hops_port(&hops, 0, 1), 200, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(nf_hops_medium(&hops, 0, 1), 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(nf_hops_port(&hops, 1, 2), 50, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(nf_hops_medium(&hops, 1, 2), 50, 1e-9);
    nf_hops_set(&hops, &net, 2000);
    CU_ASSERT_DOUBLE_EQUAL(nf_hops_medium(&hops, 0, 1), 200, 1e-9);
    CU_ASSERT_EQUAL(nf_hops_check(&hops, 0), NF_OK);
    hops.medium[1] = NAN;
    CU_ASSERT_EQUAL(nf_hops_check(&hops, 0), NF_ERR_INVAL);
    nf_hops_fini(&hops);
    nf_network_fini(&network);
}

/* ---- leaves ---- */

static bool leaves_have_none(const struct nf_tree *tree, const bool *is_leaf)
{
    for (uint32_t v = 0; v < tree->nodes; v++)
        if (v != tree->root && is_leaf[v] &&
            tree->first[v + 1] > tree->first[v])
            return false;
    return true;
}

/* However good a relay it would be. */
static void who_is_to_be_a_leaf_is_one(void)
{
    static const uint64_t sizes[] = { 0, 1000, 65536, 1 << 20 };
    unsigned minded = 0;

    for (uint64_t seed = 1; seed <= 64; seed++) {
        uint32_t n = 2 + (uint32_t)(seed % 14);
        const struct nf_crl_options options = { .bytes = sizes[seed % 4],
                                                .least_segment = 4096,
                                                .polish = NF_CRL_POLISH };
        struct nf_hetero net = make_hub(n, seed % 3 == 0 ? 1 : 8, 0.08, seed);
        struct nf_rng rng = { seed };
        struct nf_crl_plan plan, freely;
        bool is_leaf[16];
        uint32_t root = (uint32_t)nf_rng_below(&rng, n);

        net.is_shared = seed % 5 == 0;
        for (uint32_t v = 0; v < n; v++)
            is_leaf[v] = seed % 16 == 0 || nf_rng_below(&rng, 3) == 0;
        CU_ASSERT_FATAL(nf_crl_plan(&net, root, &options, &freely, NULL) ==
                        NF_OK);
        net.is_leaf = is_leaf;
        CU_ASSERT_FATAL(nf_crl_plan(&net, root, &options, &plan, NULL) ==
                        NF_OK);
        CU_ASSERT(hnow_is_tree(&plan.tree));
        CU_ASSERT(leaves_have_none(&plan.tree, is_leaf));
        minded += !leaves_have_none(&freely.tree, is_leaf);
        if (seed % 16 == 0)
            CU_ASSERT_EQUAL(plan.tree.first[root + 1] - plan.tree.first[root],
                            n - 1);
        nf_crl_plan_fini(&plan);
        nf_crl_plan_fini(&freely);
        nf_hetero_fini(&net);
    }
    CU_ASSERT(minded > 20);
}

int main(void)
{
    CU_TestInfo prices[] = {
        { "a star takes one after the other",
          a_star_takes_one_after_the_other },
        { "small ones take what a hand finds",
          small_ones_take_what_a_hand_finds },
        { "trees and schedules take the same",
          trees_and_schedules_take_the_same },
        { "without bytes a hub is a switch", without_bytes_a_hub_is_a_switch },
        { "no broadcast is faster on a hub", no_broadcast_is_faster_on_a_hub },
        { "a measured hub is shared", a_measured_hub_is_shared },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo plans[] = {
        { "the plan is the cheapest on a hub",
          the_plan_is_the_cheapest_on_a_hub },
        { "no tree is much better", no_tree_is_much_better },
        { "running out of memory is told", running_out_of_memory_is_told },
        { "who is to be a leaf is one", who_is_to_be_a_leaf_is_one },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "prices on a shared medium", NULL, NULL, NULL, NULL, prices },
        { "plans with constraints", NULL, NULL, NULL, NULL, plans },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
