/* Schedules priced where hosts and links differ, and the cheapest broadcast. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/tree/bcast_plan.h"
#include "common/tree/hnow.h"
#include "common/tree/times.h"
#include "tests/unit/bcast_nets.h"
#include "tests/unit/nf_unit.h"

static double price(const struct nf_hetero *net, const char *name,
                    const struct nf_coll_tree *tree, uint64_t bytes,
                    uint32_t segments)
{
    const struct nf_bcast_query query = {
        .bytes = bytes, .elements = bytes, .root = tree != NULL ? tree->root : 0
    };
    struct nf_pricer pricer;
    double us = -1;

    CU_ASSERT_FATAL(nf_pricer_init(&pricer, net) == NF_OK);
    CU_ASSERT_EQUAL(nf_bcast_price(&pricer, nf_coll_find(name), &query, tree,
                                   segments, &us),
                    NF_OK);
    nf_pricer_fini(&pricer);
    return us;
}

enum { PRICED = 11 };

/* A random tree, as the simulation of trees has it, to the bit. */
static void is_priced_as_a_tree(const struct nf_hetero *net, struct nf_rng *rng,
                                uint64_t seed)
{
    static const uint32_t ks[] = { 1, 2, 16, 64 };
    uint32_t root = (uint32_t)(seed % PRICED), k = ks[seed % 4];
    uint32_t sender[PRICED], receiver[PRICED];
    struct nf_tree tree;
    struct nf_hops hops;
    struct nf_coll_tree view;
    double want_us, us;

    for (uint32_t v = 1; v < PRICED; v++) {
        sender[v - 1] = (root + (uint32_t)nf_rng_below(rng, v)) % PRICED;
        receiver[v - 1] = (root + v) % PRICED;
    }
    CU_ASSERT_FATAL(nf_tree_init(&tree, PRICED, root) == NF_OK);
    CU_ASSERT_FATAL(nf_tree_build(&tree, sender, receiver, NULL) == NF_OK);
    CU_ASSERT_FATAL(nf_hops_init(&hops, net, 65536.0 / k) == NF_OK);
    CU_ASSERT_EQUAL(nf_tree_pipe(&tree, &hops, k, &want_us), NF_OK);
    view = (struct nf_coll_tree){ PRICED, root, tree.first, tree.child };
    us = price(net, "bcast.tree", &view, 65536, k);
    if (us != want_us)
        printf("\n    seed %d: %.17g, want %.17g", (int)seed, us, want_us);
    CU_ASSERT(us == want_us);
    nf_hops_fini(&hops);
    nf_tree_fini(&tree);
}

static void a_tree_costs_what_trees_cost(void)
{
    struct nf_rng rng = { 5 };

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct nf_hetero net = make_net(PRICED, 5, seed);
        struct nf_network network = measured_net(PRICED, 5, seed);
        struct nf_hetero measured = nf_network_hetero(&network, true);

        net.has_ports = seed % 3 != 0;
        is_priced_as_a_tree(&net, &rng, seed);
        is_priced_as_a_tree(&measured, &rng, seed);
        nf_network_fini(&network);
        nf_hetero_fini(&net);
    }
}

/* By hand: a star of three, a chain of three in two segments. */
static void small_ones_cost_what_a_hand_finds(void)
{
    struct nf_hetero net = make_net(3, 1, 1);

    for (uint32_t i = 0; i < 3; i++) {
        net.send[i] = (struct nf_cost){ 10, 0 };
        net.recv[i] = (struct nf_cost){ 20, 0 };
    }
    for (uint32_t i = 0; i < 9; i++)
        net.wire[i] = (struct nf_cost){ 5, 0.1 };
    /* 10, its wire 100 to 110; the second waits for the port: 110 + 105 + 20 */
    CU_ASSERT_DOUBLE_EQUAL(price(&net, "bcast.flat", NULL, 1000, 1), 235, 1e-9);
    net.has_ports = false;
    CU_ASSERT_DOUBLE_EQUAL(price(&net, "bcast.flat", NULL, 1000, 1), 145, 1e-9);
    /* halves: 10 + 55 + 20 at the second, 95 handed on, 170; the other one is
     * there at 75 but taken only at 95: 115, 125, 200 */
    CU_ASSERT_DOUBLE_EQUAL(price(&net, "bcast.pipeline.fd", NULL, 1000, 2), 200,
                           1e-9);
    nf_hetero_fini(&net);
}

static double price_elements(const struct nf_hetero *net,
                             const struct nf_coll_algorithm *algorithm,
                             const struct nf_coll_tree *tree, uint64_t elements,
                             uint32_t segments)
{
    const struct nf_bcast_query query = { .bytes = 200 * elements,
                                          .elements = elements };
    struct nf_pricer pricer;
    double us = -1;

    CU_ASSERT_FATAL(nf_pricer_init(&pricer, net) == NF_OK);
    CU_ASSERT_EQUAL(
        nf_bcast_price(&pricer, algorithm, &query, tree, segments, &us), NF_OK);
    nf_pricer_fini(&pricer);
    return us;
}

/* By hand: 5 elements of 200 bytes in two segments are 2 and 3 of them, to a
 * chain of three, by whatever name. */
static void segments_are_of_whole_elements(void)
{
    static const uint32_t first[] = { 0, 1, 2, 2 }, child[] = { 1, 2 };
    static const char *const chains[] = { "bcast.tree", "bcast.pipeline.fd",
                                          "bcast.pipeline.hd" };
    const struct nf_coll_tree tree = { 3, 0, first, child };
    struct nf_hetero net = make_net(3, 1, 1);

    for (uint32_t i = 0; i < 3; i++) {
        net.send[i] = (struct nf_cost){ 10, 0 };
        net.recv[i] = (struct nf_cost){ 20, 0 };
    }
    for (uint32_t i = 0; i < 9; i++)
        net.wire[i] = (struct nf_cost){ 5, 0.1 };
    /* 400 bytes: handed over at 10, wire 45, taken at 75, handed on at 85,
     * taken at 150.  600 bytes: the port is free at 50, wire 65, there at 115
     * and taken at 135, handed on at 145; port free, there at 210, taken at 230
     */
    for (int i = 0; i < 3; i++)
        CU_ASSERT_DOUBLE_EQUAL(price_elements(&net, nf_coll_find(chains[i]),
                                              i == 0 ? &tree : NULL, 5, 2),
                               230, 1e-9);
    nf_hetero_fini(&net);
}

/* Of every algorithm: what does not go up evenly takes at least as long as if
 * the last elements were not there, and at most as if there were more. */
static void uneven_items_cost_what_lies_between(void)
{
    unsigned between = 0;

    for (uint32_t hosts = 3; hosts <= 9; hosts++)
        for (size_t i = 0; nf_coll_table[i] != NULL; i++)
            for (uint32_t k = 1; k <= 7; k++) {
                const struct nf_coll_algorithm *a = nf_coll_table[i];
                const struct nf_coll_args args = { .ranks = hosts,
                                                   .segments = k };
                struct nf_hetero net = make_net(hosts, 1, hosts);
                uint64_t items = nf_coll_item_count(a, &args);
                double us[3];

                for (uint32_t e = 0; e < 3 && a->op == NF_COLL_BCAST; e++)
                    us[e] = price_elements(
                        &net, a, NULL, 40 * items + e * (items - items / 2), k);
                if (a->op == NF_COLL_BCAST && isfinite(us[0])) {
                    CU_ASSERT(us[0] <= us[1] * (1 + 1e-9));
                    CU_ASSERT(us[1] <= us[2] * (1 + 1e-9));
                    between += us[0] < us[1] && us[1] < us[2];
                }
                nf_hetero_fini(&net);
            }
    CU_ASSERT(between > 500);
}

/* @return the least price of any broadcast in @p k segments */
static double least_price(const struct nf_hetero *net, uint64_t bytes,
                          uint32_t k, unsigned *priced)
{
    double least_us = INFINITY;

    for (size_t a = 0; nf_coll_table[a] != NULL; a++) {
        double us;

        if (nf_coll_table[a]->op != NF_COLL_BCAST)
            continue;
        us = price(net, nf_coll_table[a]->name, NULL, bytes, k);
        *priced += isfinite(us);
        least_us = fmin(least_us, us);
    }
    return least_us;
}

/* However many send pieces to a host at a time, and in whatever turn: all of
 * the message comes over its one link. */
static void a_thin_link_takes_its_time(void)
{
    static const double ratios[] = { 3, 5, 10, 20 };
    enum { RATIOS = sizeof(ratios) / sizeof(ratios[0]) };
    unsigned priced = 0;

    for (uint32_t hosts = 3; hosts <= 8; hosts++)
        for (uint32_t i = 0; i < RATIOS * (hosts - 1); i++) {
            double ratio = ratios[i % RATIOS];
            struct nf_hetero net = one_slow(hosts, ratio, i / RATIOS);

            for (uint64_t bytes = 8192; bytes <= 1 << 20; bytes *= 2)
                for (uint32_t k = 1; k <= 64; k = k < 8 ? k + 1 : 2 * k) {
                    double us = least_price(&net, bytes, k, &priced);
                    double link_us = (double)bytes * 0.08 * ratio;

                    if (us < link_us)
                        printf("\n    %u hosts, %g x, %d bytes in %u: %g < %g",
                               hosts, ratio, (int)bytes, k, us, link_us);
                    CU_ASSERT(us >= link_us);
                }
            nf_hetero_fini(&net);
        }
    CU_ASSERT(priced > 10000);
}

/* Whatever the plan says, nothing that was priced is cheaper. */
static void the_plan_is_the_cheapest(void)
{
    static const uint64_t sizes[] = { 64, 8192, 262144 };
    static const uint32_t ks[] = { 1, 2, 4, 8, 16 };

    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct nf_hetero net =
            make_net(4 + (uint32_t)seed, seed % 2 == 0 ? 1 : 4, seed);
        uint64_t bytes = sizes[seed % 3];
        struct nf_bcast_plan p = plan(&net, bytes);

        for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
            const struct nf_coll_algorithm *a = nf_coll_table[i];

            if (a->op != NF_COLL_BCAST || a == &nf_coll_bcast_tree)
                continue;
            for (int k = 0; k < 5; k++)
                if (ks[k] == 1 || (a->items == NF_ITEMS_SEGMENTS &&
                                   bytes / ks[k] >= NF_BCAST_SEGMENT))
                    CU_ASSERT(price(&net, a->name, NULL, bytes, ks[k]) >=
                              p.cost_us * (1 - 1e-9));
        }
        nf_bcast_plan_fini(&p);
        nf_hetero_fini(&net);
    }
}

/* Segments that are tried. */
struct range {
    uint64_t least_bytes; /* of each */
    bool every;           /* number of them, not only powers of two */
};

/* The cheapest of all others, each with its best segments. */
static double best_other(const struct nf_hetero *net, uint64_t bytes,
                         const struct range *segments)
{
    double best_us = INFINITY;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *a = nf_coll_table[i];

        if (a->op != NF_COLL_BCAST || a == &nf_coll_bcast_tree)
            continue;
        for (uint32_t k = 1; k == 1 || bytes / k >= segments->least_bytes;
             k = segments->every ? k + 1 : 2 * k) {
            best_us = fmin(best_us, price(net, a->name, NULL, bytes, k));
            if (a->items != NF_ITEMS_SEGMENTS)
                break;
        }
    }
    return best_us;
}

/* Where hosts and links differ by more than twice no other broadcast comes near
 * the tree. */
static void trees_win_where_hosts_differ(void)
{
    static const uint64_t sizes[] = { 64, 4096, 65536, 1 << 20 };
    const struct range powers = { NF_BCAST_LEAST, false };

    for (int i = 0; i < 4; i++) {
        unsigned wins = 0;
        double gain = 0;

        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct nf_hetero net = make_net(12, 4, seed);
            struct nf_bcast_plan p = plan(&net, sizes[i]);

            wins += p.algorithm == &nf_coll_bcast_tree;
            gain += log(best_other(&net, sizes[i], &powers) / p.cost_us);
            nf_bcast_plan_fini(&p);
            nf_hetero_fini(&net);
        }
        printf("\n    %7d bytes: %u of 20 by trees, %.2f times as fast",
               (int)sizes[i], wins, exp(gain / 20));
        CU_ASSERT_EQUAL(wins, 20);
    }
}

/* The cheapest segments of one algorithm, if only powers of two are tried. */
static double best_power(struct nf_pricer *pricer,
                         const struct nf_coll_algorithm *algorithm,
                         uint64_t bytes)
{
    const struct nf_bcast_query query = { .bytes = bytes, .elements = bytes };
    double best_us = INFINITY, judged_us = INFINITY;

    for (uint32_t k = 1; k == 1 || bytes / k >= NF_BCAST_LEAST; k *= 2) {
        double us = INFINITY, more;

        CU_ASSERT_EQUAL(nf_bcast_price(pricer, algorithm, &query, NULL, k, &us),
                        NF_OK);
        more = k > 1 && bytes / k < NF_BCAST_SEGMENT ? 1 / NF_CRL_SHORT : 1;
        if (us * more < judged_us) {
            judged_us = us * more;
            best_us = us;
        }
        if (algorithm->items != NF_ITEMS_SEGMENTS)
            break;
    }
    return best_us;
}

/* Of all others. */
static double best_of_powers(const struct nf_hetero *net, uint64_t bytes)
{
    double best_us = INFINITY;
    struct nf_pricer pricer;

    CU_ASSERT_FATAL(nf_pricer_init(&pricer, net) == NF_OK);
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        if (nf_coll_table[i]->op == NF_COLL_BCAST &&
            nf_coll_table[i] != &nf_coll_bcast_tree)
            best_us =
                fmin(best_us, best_power(&pricer, nf_coll_table[i], bytes));
    nf_pricer_fini(&pricer);
    return best_us;
}

/* How trees do, of so many networks. */
struct score {
    unsigned wins, networks;
    double most;        /* how many times the cheapest a tree takes at most */
    double most_powers; /* of the cheapest in 1, 2, 4, ... segments */
};

static void count_wins(int kind, uint32_t hosts, double ratio, uint64_t bytes,
                       struct score *score)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct nf_hetero net = net_of(kind, hosts, ratio, seed);
        struct nf_bcast_plan p = plan(&net, bytes);

        score->networks++;
        score->wins += p.tree_us <= p.cost_us * (1 + 1e-9);
        score->most = fmax(score->most, p.tree_us / p.cost_us);
        score->most_powers =
            fmax(score->most_powers, p.tree_us / best_of_powers(&net, bytes));
        nf_bcast_plan_fini(&p);
        nf_hetero_fini(&net);
    }
}

struct limit {
    int kind;
    uint32_t hosts;
    uint64_t bytes;
    double most_powers, most;
};

/* Where the slowest is a little more than twice as slow as the quickest trees
 * win, but
 *   - where all links are equal: then all wires at once carry more than those
 *     of one tree, however hosts differ, as long as it is the wires that take
 *     time;
 *   - between 5 hosts: of 4 KiB, in two pieces that go around; of 16 and 32 KiB
 *     two chains differ by who has a segment that is a byte longer first; and
 * of 32 KiB if one host is slow, in powers of two and short segments. What
 * trees could do at best there: test_bcast_limits.c.
 * @return how many times the cheapest a tree may take, and about takes */
static struct limit tree_most(int kind, uint32_t hosts, uint64_t bytes)
{
    static const struct limit rows[] = {
        { 0, 5, 4096, 1.02, 1.02 },    { 1, 5, 4096, 1.08, 1.08 },
        { 2, 5, 4096, 1.06, 1.06 },    { 1, 5, 8192, 1.04, 1.06 },
        { 1, 5, 16384, 1, 1.0001 },    { 1, 5, 32768, 1, 1.0001 },
        { 3, 5, 32768, 1.04, 1 },      { 1, 12, 8192, 1, 1.04 },
        { 1, 12, 16384, 1.01, 1.09 },  { 1, 12, 32768, 1.08, 1.08 },
        { 1, 12, 65536, 1, 1.01 },     { 1, 12, 131072, 1, 1.01 },
        { 1, 24, 8192, 1, 1.01 },      { 1, 24, 16384, 1.01, 1.04 },
        { 1, 24, 32768, 1.10, 1.10 },  { 1, 24, 65536, 1.20, 1.20 },
        { 1, 24, 131072, 1.02, 1.02 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].kind == kind && rows[i].hosts == hosts &&
            rows[i].bytes == bytes)
            return rows[i];
    return (struct limit){ kind, hosts, bytes, 1, 1 };
}

static void about(double got, double most, const struct limit *of)
{
    bool ok = got <= most * (1 + 1e-9) && (most == 1 || got > most - 0.015);

    if (!ok)
        printf("\n    kind %d, %u hosts, %d bytes: %.4f, not about %.4f",
               of->kind, of->hosts, (int)of->bytes, got, most);
    CU_ASSERT(ok);
}

static void trees_from_twice_on(void)
{
    static const uint64_t sizes[] = { 64,    4096,  8192,   16384,
                                      32768, 65536, 131072, 1 << 20 };
    static const double ratios[] = { 2.1, 2.5, 3 };
    static const uint32_t hosts[] = { 5, 12, 24 };
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

    for (int kind = 0; kind < 4; kind++)
        for (int h = 0; h < 3; h++)
            for (int i = 0; i < SIZES; i++) {
                struct limit may = tree_most(kind, hosts[h], sizes[i]);
                struct score score = { .most = 1 };

                for (int r = 0; r < 3; r++)
                    count_wins(kind, hosts[h], ratios[r], sizes[i], &score);
                CU_ASSERT(may.most > 1 || score.wins == score.networks);
                about(score.most, may.most, &may);
                about(score.most_powers, may.most_powers, &may);
                if (score.wins < score.networks)
                    printf("\n    kind %d, %u hosts, %d bytes: trees win %u of "
                           "%u, others at most %.3f (%.3f in powers of two)",
                           kind, hosts[h], (int)sizes[i], score.wins,
                           score.networks, score.most, score.most_powers);
            }
}

/* That shorter segments are tried makes no plan worse: those with long ones are
 * looked for as hard. */
static void short_segments_do_no_harm(void)
{
    static const uint64_t sizes[] = { 4096, 16384, 65536, 262144 };

    for (uint64_t seed = 1; seed <= 12; seed++)
        for (int i = 0; i < 4; i++) {
            const struct nf_crl_options options = {
                .bytes = sizes[i],
                .least_segment = NF_BCAST_SEGMENT,
                .polish = NF_CRL_POLISH,
            };
            struct nf_hetero net = make_net(5 + (uint32_t)seed, 3, seed);
            struct nf_bcast_plan p = plan(&net, sizes[i]);
            struct nf_crl_plan crl;

            CU_ASSERT_FATAL(nf_crl_plan(&net, 0, &options, &crl, NULL) ==
                            NF_OK);
            if (p.tree_us > crl.time_us * (1 + 1e-9))
                printf("\n    seed %d, %d bytes: %.3f us, long segments %.3f",
                       (int)seed, (int)sizes[i], p.tree_us, crl.time_us);
            CU_ASSERT(p.tree_us <= crl.time_us * (1 + 1e-9));
            nf_crl_plan_fini(&crl);
            nf_bcast_plan_fini(&p);
            nf_hetero_fini(&net);
        }
}

/* Who wins by short segments saves a twentieth of what anything else takes in
 * longer ones, the tree too; but for what takes longer than the tree. */
static void short_segments_save_a_twentieth_of_all(void)
{
    static const uint64_t sizes[] = { 4096, 8192, 16384 };
    const struct range longer = { NF_BCAST_SEGMENT, true };
    unsigned won = 0;

    for (uint32_t i = 0; i < 4 * 3 * 3 * 5; i++) {
        uint64_t bytes = sizes[i / 4 % 3], segment;
        struct nf_hetero net = net_of((int)(i % 4), 3 + i / 12 % 3,
                                      i % 2 == 0 ? 2.5 : 5, 1 + i / 36);
        struct nf_bcast_plan p = plan(&net, bytes);
        double short_us = p.cost_us / NF_CRL_SHORT * (1 - 1e-9);

        segment = (bytes + p.segments - 1) / p.segments;
        if (p.algorithm != &nf_coll_bcast_tree && p.segments > 1 &&
            segment < NF_BCAST_SEGMENT) {
            won++;
            CU_ASSERT(best_other(&net, bytes, &longer) >=
                      fmin(short_us, p.tree_us * (1 - 1e-9)));
            segment = (bytes + p.tree_segments - 1) / p.tree_segments;
            if (p.tree_segments == 1 || segment >= NF_BCAST_SEGMENT)
                CU_ASSERT(p.tree_us >= short_us);
        }
        nf_bcast_plan_fini(&p);
        nf_hetero_fini(&net);
    }
    CU_ASSERT(won >= 10);
}

/* All equal: messages of a middling size go along a circulant graph or the
 * like, in which more wires are in use than in any one tree. */
static void others_win_where_hosts_are_alike(void)
{
    unsigned wins = 0;

    for (uint64_t bytes = 4096; bytes <= 1 << 20; bytes *= 4) {
        struct nf_hetero net = make_net(16, 1, 1);
        struct nf_bcast_plan p = plan(&net, bytes);

        printf("\n    %7d bytes: %s:k=%u, %.0f us; a tree %.0f us", (int)bytes,
               p.algorithm->name, p.segments, p.cost_us, p.tree_us);
        CU_ASSERT(p.algorithm != &nf_coll_bcast_tree);
        wins += p.cost_us < 0.99 * p.tree_us;
        nf_bcast_plan_fini(&p);
        nf_hetero_fini(&net);
    }
    CU_ASSERT(wins >= 2);
}

static void few_hosts_and_bytes_have_plans(void)
{
    static const uint64_t sizes[] = { 0, 1, 4095, 1 << 20 };

    for (uint32_t hosts = 1; hosts <= 3; hosts++)
        for (int i = 0; i < 4; i++) {
            struct nf_hetero net = make_net(hosts, 3, hosts);
            struct nf_bcast_plan p = plan(&net, sizes[i]);

            CU_ASSERT(p.segments >= 1 && p.segments <= sizes[i] + 1);
            CU_ASSERT_EQUAL(nf_bcast_plan_view(&p).ranks, hosts);
            nf_bcast_plan_fini(&p);
            nf_hetero_fini(&net);
        }
}

static void no_segment_is_empty(void)
{
    const struct nf_bcast_query query = { .bytes = 1 << 20, .elements = 3 };
    struct nf_hetero net = make_net(6, 3, 9);
    struct nf_bcast_plan p;

    CU_ASSERT_EQUAL(nf_bcast_plan(&net, &query, &p, NULL), NF_OK);
    CU_ASSERT(p.segments <= 3 && p.tree_segments <= 3);
    nf_bcast_plan_fini(&p);
    nf_hetero_fini(&net);
}

static void running_out_of_memory_is_told(void)
{
    const struct nf_bcast_query query = { .bytes = 65536, .elements = 65536 };
    struct nf_hetero net = make_net(5, 3, 7);
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

int main(void)
{
    CU_TestInfo tests[] = {
        { "a tree costs what trees cost", a_tree_costs_what_trees_cost },
        { "small ones cost what a hand finds",
          small_ones_cost_what_a_hand_finds },
        { "segments are of whole elements", segments_are_of_whole_elements },
        { "uneven items cost what lies between",
          uneven_items_cost_what_lies_between },
        { "a thin link takes its time", a_thin_link_takes_its_time },
        { "the plan is the cheapest", the_plan_is_the_cheapest },
        { "trees win where hosts differ", trees_win_where_hosts_differ },
        { "trees from twice on", trees_from_twice_on },
        { "short segments do no harm", short_segments_do_no_harm },
        { "short segments save a twentieth of all",
          short_segments_save_a_twentieth_of_all },
        { "others win where hosts are alike",
          others_win_where_hosts_are_alike },
        { "few hosts and bytes have plans", few_hosts_and_bytes_have_plans },
        { "no segment is empty", no_segment_is_empty },
        { "running out of memory is told", running_out_of_memory_is_told },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "broadcast plans", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
