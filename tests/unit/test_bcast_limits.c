/* Where other broadcasts are cheaper than the planned tree: that no planner of single
 * trees could do better, by a bound where others win by the most, and between few hosts
 * by all trees there are. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include "common/tree/hnow.h"
#include "common/tree/times.h"
#include "tests/unit/bcast_nets.h"

/* What any single tree takes at least, in segments of one size: it is a chain,
 * whose last host has it after all hops, or below a node of two children each
 * segment takes that node two ports. */
static double least_in_segments(const struct nf_hops *hops, uint64_t segments)
{
    double hop_us = INFINITY, port_us = INFINITY, send_us = INFINITY,
           recv_us = INFINITY, bound_us = 0, more = (double)(segments - 1);
    double chain_us, branch_us;

    for (uint32_t i = 0; i < hops->nodes; i++) {
        send_us = fmin(send_us, hops->send[i]);
        recv_us = i > 0 ? fmin(recv_us, hops->recv[i]) : recv_us;
        for (uint32_t j = 1; j < hops->nodes; j++)
            if (i != j) {
                hop_us = fmin(hop_us, nf_hops_time(hops, i, j));
                port_us = fmin(port_us, nf_hops_port(hops, i, j));
            }
    }
    chain_us =
        (hops->nodes - 1) * hop_us + more * fmax(port_us, send_us + recv_us);
    branch_us = hop_us + (2 * more + 1) * fmax(port_us, send_us);
    CU_ASSERT_EQUAL(nf_tree_bound_of(hops, 0, segments, &bound_us, NULL),
                    NF_OK);
    return fmax(bound_us, fmin(chain_us, branch_us));
}

/* In any number of segments. */
static double least_of_any_tree(const struct nf_hetero *net, uint64_t bytes)
{
    double least_us = INFINITY;

    for (uint64_t k = 1; bytes / k >= NF_BCAST_LEAST; k++) {
        struct nf_hops hops;

        CU_ASSERT_FATAL(nf_hops_init(&hops, net, (double)(bytes / k)) == NF_OK);
        least_us = fmin(least_us, least_in_segments(&hops, k));
        nf_hops_fini(&hops);
    }
    return least_us;
}

/* No planner of single trees could do better where others win by the most. */
static void others_win_where_no_tree_can(void)
{
    enum { BYTES = 65536 };
    double most =
        0; /* what any tree takes at least, in times of the cheapest */

    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct nf_hetero net = net_of(1, 24, 2.1, seed);
        struct nf_bcast_plan p = plan(&net, BYTES);
        double least_us = least_of_any_tree(&net, BYTES);

        CU_ASSERT(p.tree_us >= least_us * (1 - 1e-9));
        most = fmax(most, least_us / p.cost_us);
        nf_bcast_plan_fini(&p);
        nf_hetero_fini(&net);
    }
    printf("\n    24 hosts, %d bytes: no tree below %.3f of the cheapest",
           BYTES, most);
    CU_ASSERT(most >= 1);
}

enum { FEW = 5 };

/* The @p n-th order of @p hosts hosts, the first one being the root. */
static void make_order(uint32_t n, uint32_t hosts, uint32_t order[FEW])
{
    uint32_t left[FEW - 1] = { 1, 2, 3, 4 };

    order[0] = 0;
    for (uint32_t i = 1, count = hosts - 1; i < hosts; i++, n /= count + 1) {
        uint32_t at = n % count;

        order[i] = left[at];
        left[at] = left[--count];
    }
}

/* @return false: the @p n-th choice of parents is no tree from host 0 on */
static bool make_parents(uint32_t n, uint32_t hosts, uint32_t parent[FEW])
{
    parent[0] = NF_TREE_NONE;
    for (uint32_t v = 1; v < hosts; v++, n /= hosts)
        parent[v] = n % hosts;
    for (uint32_t v = 1; v < hosts; v++) {
        uint32_t above = v, hops = 0;

        while (above != 0 && hops++ < hosts)
            above = parent[above];
        if (above != 0)
            return false;
    }
    return true;
}

/* Of all trees, each in all orders of children, in @p k segments of so many
 * bytes. */
static double best_of_all(const struct nf_hetero *net, uint64_t segment,
                          uint64_t k)
{
    static const uint32_t all[FEW + 1] = { 0, 0, 1, 3, 16, 125 };
    uint32_t hosts = net->hosts, trees = 0, orders = 1, choices = 1;
    double best_us = INFINITY;
    uint32_t order[FEW];
    struct nf_tree tree;
    struct nf_hops hops;

    for (uint32_t i = 1; i < hosts; i++) {
        orders *= i;
        choices *= hosts;
    }
    CU_ASSERT_FATAL(nf_tree_init(&tree, hosts, 0) == NF_OK);
    CU_ASSERT_FATAL(nf_hops_init_segments(&hops, net, (double)segment, k) ==
                    NF_OK);
    for (uint32_t n = 0; n < choices; n++) {
        if (!make_parents(n, hosts, tree.parent))
            continue;
        trees++;
        for (uint32_t i = 0; i < orders; i++) {
            double us = INFINITY;

            make_order(i, hosts, order);
            nf_tree_children(&tree, order, hosts);
            CU_ASSERT(nf_tree_pipe(&tree, &hops, k, &us) == NF_OK);
            best_us = fmin(best_us, us);
        }
    }
    CU_ASSERT_EQUAL(trees, all[hosts]);
    nf_hops_fini(&hops);
    nf_tree_fini(&tree);
    return best_us;
}

/* By how much segments count more, as the planner has it. */
static double handicap(uint64_t segment, uint64_t bytes)
{
    return segment < bytes && segment < NF_BCAST_SEGMENT ? 1 / NF_CRL_SHORT : 1;
}

/* Of all trees in any number of segments: as the planner judges them, the last
 * segment being as long as the others, or at least, all being as short as the
 * shortest. */
static double best_in_any(const struct nf_hetero *net, uint64_t bytes,
                          bool as_judged)
{
    double best_us = INFINITY;

    for (uint64_t k = 1; bytes / k >= NF_BCAST_LEAST; k++) {
        uint64_t segment = bytes / k;
        double more = 1;

        if (as_judged) {
            segment += bytes % k != 0;
            more = handicap(segment, bytes);
        }
        best_us = fmin(best_us, best_of_all(net, segment, k) * more);
    }
    return best_us;
}

/* Where others win between few hosts no tree could. */
static void others_win_against_the_best_tree(void)
{
    static const struct {
        int kind;
        double ratio;
        uint64_t bytes;
    } rows[] = {
        { 0, 2.1, 4096 }, { 1, 2.1, 4096 }, { 1, 3, 4096 },
        { 2, 2.1, 4096 }, { 1, 2.5, 8192 }, { 1, 3, 8192 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t bytes = rows[i].bytes;
        unsigned lost = 0;

        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct nf_hetero net =
                net_of(rows[i].kind, FEW, rows[i].ratio, seed);
            struct nf_bcast_plan p = plan(&net, bytes);

            if (p.tree_us > p.cost_us * (1 + 1e-9)) {
                lost++;
                CU_ASSERT(best_in_any(&net, bytes, false) > p.cost_us);
            }
            nf_bcast_plan_fini(&p);
            nf_hetero_fini(&net);
        }
        CU_ASSERT(lost > 0);
    }
}

/* Between few hosts the plan is the fastest of all trees in all orders of
 * children, and in any number of segments. */
static void is_best(const struct nf_hetero *net, uint64_t bytes,
                    const char *what, double ratio)
{
    struct nf_bcast_plan p = plan(net, bytes);
    double best_us = best_in_any(net, bytes, true);
    double plan_us = p.crl.time_us * handicap(p.crl.segment_bytes, bytes);

    if (plan_us > best_us * (1 + 1e-9))
        printf("\n    %s, %u hosts, %d bytes, %g x: %.3f us, %.3f of the best",
               what, net->hosts, (int)bytes, ratio, plan_us, plan_us / best_us);
    CU_ASSERT(plan_us <= best_us * (1 + 1e-9));
    CU_ASSERT(p.tree_us <= p.crl.time_us * (1 + 1e-9));
    nf_bcast_plan_fini(&p);
}

static const uint64_t few_sizes[] = { 2048, 4096, 8192, 12001, 65536 };
static const double few_ratios[] = { 2.1, 2.5, 3, 10 };

static void few_hosts_get_the_best_tree(void)
{
    static const char *const kinds[] = { "both", "hosts", "links", "one" };

    for (uint32_t i = 0; i < 4 * 5 * 4 * 4; i++) {
        double ratio = few_ratios[i / 16 % 4];
        struct nf_hetero net =
            net_of((int)(i / 4 % 4), 2 + i % 4, ratio, 1 + i % 5);

        is_best(&net, few_sizes[i / 64], kinds[i / 4 % 4], ratio);
        nf_hetero_fini(&net);
    }
}

/* Where short messages leave a quick link at once and come in by a slow one. */
static void few_measured_hosts_get_the_best_tree(void)
{
    for (uint32_t i = 0; i < 4 * 5 * 4; i++) {
        double ratio = few_ratios[i / 4 % 4];
        struct nf_network network = measured_net(2 + i % 4, ratio, 1 + i % 7);
        struct nf_hetero net = nf_network_hetero(&network, true);

        is_best(&net, few_sizes[i / 16], "measured", ratio);
        nf_network_fini(&network);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "others win where no tree can", others_win_where_no_tree_can },
        { "others win against the best tree",
          others_win_against_the_best_tree },
        { "few hosts get the best tree", few_hosts_get_the_best_tree },
        { "few measured ones, too", few_measured_hosts_get_the_best_tree },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "limits of trees", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
