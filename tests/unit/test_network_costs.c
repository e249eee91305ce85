/* What a measured network leaves out and what it adds: times that were uneven,
 * and what messages cost more in groups; and bounds where all share a medium.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/model/estimate.h"
#include "common/model/network_file.h"
#include "common/tree/bcast_plan.h"
#include "common/tree/hnow.h"
#include "tests/unit/nf_unit.h"

enum { HOSTS = 6, SIZES = 5 };
static const double sizes[SIZES] = { 0, 100, 1000, 10000, 100000 };
static const uint32_t runs[2] = { 2, 6 };

/* S = 10 + 0.01 m, R = 20 + 0.02 m, X = 50 + 0.1 m, H = 12 + 0.09 m, exactly.
 */
static struct nf_measures measure(uint32_t hosts)
{
    struct nf_measures m;

    CU_ASSERT_FATAL(nf_measures_init(&m, hosts, sizes, SIZES, SIZES, runs, 2) ==
                    NF_OK);
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t k = 0; k < SIZES; k++) {
            double bytes = sizes[k], there_us = 80 + 0.13 * bytes;

            m.send[i * SIZES + k] = 10 + 0.01 * bytes;
            m.recv[i * SIZES + k] = 20 + 0.02 * bytes;
            for (uint32_t r = 0; r < 2; r++)
                *nf_measures_seq(&m, i, k, r) =
                    there_us + 80 + runs[r] * (12 + 0.09 * bytes);
            for (uint32_t j = 0; j < hosts; j++)
                *nf_measures_ping(&m, i, j, k) = there_us + 80;
        }
    return m;
}

static bool is_line(const struct nf_curve *curve, double fixed_us,
                    double byte_us)
{
    for (int k = 0; k < SIZES; k++) {
        double want_us = fixed_us + byte_us * sizes[k];

        if (fabs(nf_curve_us(curve, sizes[k]) - want_us) > 1e-6 * want_us)
            return false;
    }
    return true;
}

/* Each is wild where it was uneven: so much so that no line would do. */
static void uneven_times_do_not_count(void)
{
    struct nf_measures m = measure(2);
    struct nf_network network;
    const size_t at = 1 * SIZES + 3;

    m.recv[at] = 9e5;
    *nf_measures_ping(&m, 1, 0, 3) = 9e6;
    *nf_measures_seq(&m, 1, 3, 1) = 9e6;
    for (int told = 0; told < 2; told++) {
        m.recv_uneven[at] = m.seq_uneven[at] = told == 1;
        m.ping_uneven[(1 * 2 + 0) * SIZES + 3] = told == 1;
        CU_ASSERT_EQUAL_FATAL(nf_estimate(&m, &network, NULL), NF_OK);
        CU_ASSERT(is_line(&network.hosts[1].recv, 20, 0.02) == (told == 1));
        CU_ASSERT(is_line(&network.hosts[1].hold, 12, 0.09) == (told == 1));
        CU_ASSERT(is_line(nf_network_wire(&network, 1, 0), 50, 0.1) ==
                  (told == 1));
        CU_ASSERT_EQUAL(network.hosts[1].recv.npoints, told == 1 ? 4 : 5);
        CU_ASSERT(is_line(&network.hosts[0].recv, 20, 0.02));
        CU_ASSERT(is_line(nf_network_wire(&network, 0, 1), 50, 0.1) ==
                  (told == 1)); /* less what its receiver takes */
        nf_network_fini(&network);
    }
    nf_measures_fini(&m);
}

/* Rather uneven times than a line through two. */
static void too_few_even_ones_are_not_enough(void)
{
    struct nf_measures m = measure(2);
    struct nf_network network;

    for (uint32_t k = 0; k < SIZES; k++)
        m.recv_uneven[k] = k != 3; /* 0 bytes count, whatever is said */
    for (uint32_t k = 0; k < SIZES; k++)
        m.seq_uneven[k] = k == 0 || k > 2;
    CU_ASSERT_EQUAL_FATAL(nf_estimate(&m, &network, NULL), NF_OK);
    CU_ASSERT_EQUAL(network.hosts[0].recv.npoints, SIZES);
    CU_ASSERT_EQUAL(network.hosts[0].hold.npoints, NF_EVEN_LEAST);
    CU_ASSERT(network.hosts[0].hold.points[0].bytes <= 0);
    CU_ASSERT(is_line(&network.hosts[0].hold, 12, 0.09));
    nf_network_fini(&network);
    nf_measures_fini(&m);
}

static void what_groups_cost_more_is_both_ends(void)
{
    static const double bare_us[4] = { 0, 80, 90, 100 };
    static const double own[4] = { 3, 3, 8, 21 };
    double group_us[4] = { 0 };
    struct nf_network network;

    CU_ASSERT_FATAL(nf_network_init(&network, 4) == NF_OK);
    for (int j = 1; j < 4; j++)
        group_us[j] = bare_us[j] + own[0] + own[j];
    nf_network_set_runtime(&network, group_us, bare_us);
    for (int j = 0; j < 4; j++)
        CU_ASSERT_DOUBLE_EQUAL(network.hosts[j].runtime_us, own[j], 1e-9);
    group_us[2] = bare_us[2] - 7; /* noise */
    nf_network_set_runtime(&network, group_us, bare_us);
    CU_ASSERT_DOUBLE_EQUAL(network.hosts[0].runtime_us, 0, 0);
    CU_ASSERT_DOUBLE_EQUAL(network.hosts[1].runtime_us, 6, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(network.hosts[2].runtime_us, 0, 0);
    nf_network_fini(&network);
}

static void is_call(const struct nf_call_time *calls, uint32_t count,
                    double call_us, double wake_us)
{
    struct nf_network network;

    CU_ASSERT_FATAL(nf_network_init(&network, 2) == NF_OK);
    nf_network_set_call(&network, calls, count);
    CU_ASSERT_DOUBLE_EQUAL(network.call_us, call_us, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(network.wake_us, wake_us, 1e-9);
    nf_network_fini(&network);
}

static void what_calls_take_is_told_from_who_is_woken(void)
{
    static const struct nf_call_time exact[] = {
        { 80 + 17 + 1 * 25, 80, 1 },
        { 70 + 17 + 3 * 25, 70, 3 },
        { 160 + 17 + 7 * 25, 160, 7 },
    };
    /* the nearest line of all, by hand: slope 6 / 8, through the mean */
    static const struct nf_call_time noisy[] = { { 11, 10, 1 },
                                                 { 16, 10, 3 },
                                                 { 14, 10, 5 } };
    static const struct nf_call_time falling[] = { { 50, 10, 1 },
                                                   { 30, 10, 7 } };
    static const struct nf_call_time steep[] = { { 11, 10, 1 }, { 31, 10, 3 } };
    static const struct nf_call_time less[] = { { 5, 10, 1 }, { 4, 10, 3 } };
    static const struct nf_call_time alike[] = { { 15, 10, 1 },
                                                 { 17, 10, 1 + 1e-12 } };

    is_call(exact, 3, 17, 25);
    is_call(noisy, 3, 11.0 / 3 - 3 * 0.75, 0.75);
    is_call(falling, 2, 30, 0); /* nobody is woken in less than no time */
    is_call(steep, 2, 0, (1.0 * 1 + 3.0 * 21) / 10);
    is_call(less, 2, 0, 0);
    is_call(alike, 2, 6, 0);
    is_call(exact, 1, 17 + 25, 0);
}

/* Only in groups, once a hop: a stream of segments does not wait for it. */
static void whoever_is_woken_is_a_part_of_the_way(void)
{
    static const uint32_t together[3] = { 0, 0, 1 };
    struct nf_network network;
    struct nf_hetero hetero;
    struct nf_hops without, with, bare;

    CU_ASSERT_FATAL(nf_network_init(&network, 3) == NF_OK);
    hetero = nf_network_hetero(&network, true);
    CU_ASSERT_FATAL(nf_hops_init(&bare, &hetero, 100) == NF_OK);
    hetero.in_groups = true;
    CU_ASSERT_FATAL(nf_hops_init(&without, &hetero, 100) == NF_OK);
    network.wake_us = 30;
    CU_ASSERT_FATAL(nf_hops_init(&with, &hetero, 100) == NF_OK);
    hetero.in_groups = false;
    nf_hops_set(&bare, &hetero, 100);
    hetero.in_groups = true; /* whoever shares a host has to be woken, too */
    CU_ASSERT_FATAL(nf_network_share(&network, together) == NF_OK);
    nf_hops_set(&with, &hetero, 100);
    for (uint32_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(with.send[i], without.send[i]);
        CU_ASSERT_EQUAL(with.recv[i], without.recv[i]);
        for (uint32_t j = 0; j < 3; j++) {
            CU_ASSERT_EQUAL(nf_hops_port(&with, i, j),
                            nf_hops_port(&without, i, j));
            CU_ASSERT_EQUAL(nf_hops_wire(&with, i, j),
                            nf_hops_wire(&without, i, j) + (i != j ? 30 : 0));
            CU_ASSERT_EQUAL(nf_hops_wire(&bare, i, j),
                            nf_hops_wire(&without, i, j));
        }
    }
    nf_hops_fini(&without);
    nf_hops_fini(&with);
    nf_hops_fini(&bare);
    nf_network_fini(&network);
}

/* All alike but for the wires. */
static void make_network(struct nf_network *network, double runtime_us)
{
    CU_ASSERT_FATAL(nf_network_init(network, HOSTS) == NF_OK);
    network->model.npieces = 1;
    network->model.pieces[0] = (struct nf_model_piece){ 0, 176, 0.1 };
    network->model.delta = 1;
    strcpy(network->model.date, "2026-11-22T12:00:00Z");
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct nf_network_host *host = &network->hosts[i];

        snprintf(host->name, sizeof(host->name), "h%u", i);
        host->send = nf_curve_line((struct nf_cost){ 10, 0.001 });
        host->recv = nf_curve_line((struct nf_cost){ 15, 0.001 });
        host->hold = nf_curve_line((struct nf_cost){ 10, 0.08 });
        host->runtime_us = runtime_us;
        for (uint32_t j = 0; j < HOSTS; j++)
            *nf_network_wire(network, i, j) = nf_curve_line(
                (struct nf_cost){ 40 + i + j, 0.08 * (1 + (i + j) % 3) });
    }
}

static void the_file_keeps_what_groups_cost(void)
{
    struct nf_network network, back;
    char *text;
    size_t bytes;

    make_network(&network, 0);
    network.hosts[2].runtime_us = 12.5;
    CU_ASSERT_EQUAL_FATAL(nf_network_write(&network, &text, &bytes), NF_OK);
    CU_ASSERT_EQUAL_FATAL(nf_network_parse(text, bytes, "m", &back, NULL),
                          NF_OK);
    for (uint32_t i = 0; i < HOSTS; i++)
        CU_ASSERT(back.hosts[i].runtime_us == network.hosts[i].runtime_us);
    nf_network_fini(&back);
    nf_network_fini(&network);
    nf_free(text);
}

/* A host that was never measured has the most. */
static void strangers_cost_as_much_as_any(void)
{
    const char names[2][NF_NETWORK_NAME_BYTES] = { "h1", "stranger" };
    struct nf_network network, now;

    make_network(&network, 5);
    network.hosts[3].runtime_us = 30;
    CU_ASSERT_EQUAL_FATAL(nf_network_of(&network, names, 2, &now, NULL), NF_OK);
    CU_ASSERT(now.hosts[0].runtime_us == 5 && now.hosts[1].runtime_us == 30);
    nf_network_fini(&now);
    nf_network_fini(&network);
}

static void segments_are_fewer_the_more_each_costs(void)
{
    static const double more_us[] = { 0, 30, 100, 300, 1000, 10000 };
    const struct nf_bcast_query query = { .bytes = 1 << 20,
                                          .elements = 1 << 20 };
    uint32_t segments[6];
    double tree_us = 0, bare_us = 0;

    for (int i = 0; i < 6; i++) {
        struct nf_bcast_plan plan;
        struct nf_network network;
        struct nf_hetero hetero;

        make_network(&network, more_us[i]);
        hetero = nf_network_hetero(&network, true);
        CU_ASSERT_EQUAL_FATAL(nf_bcast_plan(&hetero, &query, &plan, NULL),
                              NF_OK);
        CU_ASSERT(i == 0 || plan.tree_us == bare_us); /* of single messages */
        bare_us = plan.tree_us;
        nf_bcast_plan_fini(&plan);
        hetero.in_groups = true;
        CU_ASSERT_EQUAL_FATAL(nf_bcast_plan(&hetero, &query, &plan, NULL),
                              NF_OK);
        segments[i] = plan.tree_segments;
        CU_ASSERT(i == 0 || segments[i] <= segments[i - 1]);
        CU_ASSERT(plan.tree_us > tree_us);
        CU_ASSERT(i > 0 || plan.tree_us == bare_us);
        tree_us = plan.tree_us;
        nf_bcast_plan_fini(&plan);
        nf_network_fini(&network);
    }
    /* what is less than the wire takes is no reason to have fewer */
    CU_ASSERT(segments[0] > 64 && segments[1] > 64);
    CU_ASSERT(segments[4] < segments[0]);
    CU_ASSERT(segments[5] <= 16);
}

/* What a call takes is a part of each price, and decides nothing. */
static void a_call_costs_all_the_same(void)
{
    static const uint64_t totals[] = { 1, 1024, 65536, 1 << 20 };
    const char names[2][NF_NETWORK_NAME_BYTES] = { "h1", "h0" };
    struct nf_network network, now;

    make_network(&network, 5);
    network.wake_us = 40;
    for (int i = 0; i < 4; i++) {
        const struct nf_bcast_query query = { .bytes = totals[i],
                                              .elements = totals[i] };
        struct nf_hetero hetero = nf_network_hetero(&network, true);
        struct nf_bcast_plan without, with, bare;

        hetero.in_groups = true;
        network.call_us = 0;
        CU_ASSERT_FATAL(nf_bcast_plan(&hetero, &query, &without, NULL) ==
                        NF_OK);
        network.call_us = 50000;
        CU_ASSERT_FATAL(nf_bcast_plan(&hetero, &query, &with, NULL) == NF_OK);
        hetero.in_groups = false;
        CU_ASSERT_FATAL(nf_bcast_plan(&hetero, &query, &bare, NULL) == NF_OK);
        CU_ASSERT_PTR_EQUAL(with.algorithm, without.algorithm);
        CU_ASSERT_EQUAL(with.segments, without.segments);
        CU_ASSERT_EQUAL(with.tree_segments, without.tree_segments);
        CU_ASSERT_DOUBLE_EQUAL(with.cost_us, without.cost_us + 50000, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(with.tree_us, without.tree_us + 50000, 1e-6);
        CU_ASSERT(bare.cost_us < without.cost_us); /* nor runtime_us */
        nf_bcast_plan_fini(&without);
        nf_bcast_plan_fini(&with);
        nf_bcast_plan_fini(&bare);
    }
    CU_ASSERT_EQUAL_FATAL(nf_network_of(&network, names, 2, &now, NULL), NF_OK);
    CU_ASSERT_EQUAL(now.call_us, 50000);
    CU_ASSERT_EQUAL(now.wake_us, 40);
    nf_network_fini(&now);
    nf_network_fini(&network);
}

/* Nothing is quicker than all messages one after the other. */
static void hubs_have_bounds(void)
{
    static const uint64_t totals[] = { 1, 1000, 65536, 1 << 20 };

    for (int i = 0; i < 4; i++) {
        const struct nf_crl_options options = { .bytes = totals[i],
                                                .least_segment = 4096,
                                                .polish = NF_CRL_POLISH };
        struct nf_crl_plan plan;
        struct nf_network network;
        struct nf_hetero hetero;
        struct nf_hops hops;
        double bound_us = 0;

        make_network(&network, 0);
        for (uint32_t k = 0; k < HOSTS * HOSTS; k++)
            network.wires[k] = nf_curve_line((struct nf_cost){ 40, 0.8 });
        for (uint32_t k = 0; k < HOSTS; k++)
            network.hosts[k].hold = nf_curve_line((struct nf_cost){ 10, 0.8 });
        network.shared = true;
        hetero = nf_network_hetero(&network, true);
        CU_ASSERT_EQUAL_FATAL(nf_crl_plan(&hetero, 0, &options, &plan, NULL),
                              NF_OK);
        CU_ASSERT_EQUAL_FATAL(
            nf_hops_init(&hops, &hetero, (double)plan.segment_bytes), NF_OK);
        CU_ASSERT_EQUAL(
            nf_tree_bound_of(&hops, 0, plan.segments, &bound_us, NULL), NF_OK);
        nf_hops_fini(&hops);
        CU_ASSERT(bound_us <= plan.time_us * (1 + 1e-9));
        CU_ASSERT(bound_us >= (HOSTS - 1) * 0.8 * (double)totals[i]);
        CU_ASSERT(i < 3 || bound_us > 0.95 * plan.time_us);
        nf_crl_plan_fini(&plan);
        nf_network_fini(&network);
    }
}

int main(void)
{
    CU_TestInfo measured[] = {
        { "uneven times do not count", uneven_times_do_not_count },
        { "too few even ones are not enough",
          too_few_even_ones_are_not_enough },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo groups[] = {
        { "what groups cost more is both ends'",
          what_groups_cost_more_is_both_ends },
        { "what calls take is told from who is woken",
          what_calls_take_is_told_from_who_is_woken },
        { "whoever is woken is a part of the way",
          whoever_is_woken_is_a_part_of_the_way },
        { "the file keeps what groups cost", the_file_keeps_what_groups_cost },
        { "strangers cost as much as any", strangers_cost_as_much_as_any },
        { "segments are fewer the more each costs",
          segments_are_fewer_the_more_each_costs },
        { "what a call takes is in all prices and decides nothing",
          a_call_costs_all_the_same },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo hubs[] = {
        { "hubs have bounds", hubs_have_bounds },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "uneven times", NULL, NULL, NULL, NULL, measured },
        { "messages of groups", NULL, NULL, NULL, NULL, groups },
        { "bounds", NULL, NULL, NULL, NULL, hubs },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
