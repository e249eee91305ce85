/* `nowfarm probe` without a network: who measures when and how often, predictions, and
 * procedures between threads. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/nowfarm/probe.h"
#include "common/base/error.h"
#include "tests/unit/nf_unit.h"

enum { MOST = 40 };

/* ---- steps ---- */

static void check_steps(uint32_t n, bool alone)
{
    static uint32_t met[MOST][MOST];
    struct probe_couple couples[MOST];

    memset(met, 0, sizeof(met));
    for (uint32_t s = 0; s < probe_steps(n, alone); s++) {
        uint32_t count = probe_step(n, alone, s, couples);
        bool busy[MOST] = { false };

        CU_ASSERT(count >= 1 && count <= n / 2 && (!alone || count == 1));
        for (uint32_t i = 0; i < count; i++) {
            uint32_t a = couples[i].member, b = couples[i].partner;

            CU_ASSERT_FATAL(a < n && b < n && a != b);
            CU_ASSERT(!busy[a] && !busy[b]);
            busy[a] = busy[b] = true;
            met[a][b]++;
        }
    }
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            CU_ASSERT_EQUAL(met[a][b], a != b);
}

static void test_steps(void)
{
    for (uint32_t n = 2; n <= MOST; n++) {
        check_steps(n, false);
        check_steps(n, true);
        CU_ASSERT(probe_steps(n, false) <= 2 * n);
    }
}

static void test_host_steps(void)
{
    for (uint32_t n = 2; n <= MOST; n++)
        for (int alone = 0; alone < 2; alone++) {
            struct probe_couple couples[MOST];
            uint32_t times[MOST] = { 0 };

            for (uint32_t s = 0; s < probe_host_steps(n, alone); s++) {
                uint32_t count = probe_host_step(n, alone, s, couples);

                for (uint32_t i = 0; i < count; i++) {
                    CU_ASSERT_FATAL(couples[i].member < n);
                    CU_ASSERT(couples[i].partner < n &&
                              couples[i].partner != couples[i].member);
                    times[couples[i].member]++;
                }
            }
            for (uint32_t i = 0; i < n; i++)
                CU_ASSERT_EQUAL(times[i], 1);
        }
}

/* ---- the budget ---- */

static void equal_speeds(struct probe_speed *speeds, uint32_t n, double mbit)
{
    for (uint32_t i = 0; i < n; i++)
        speeds[i] = (struct probe_speed){ 200, 8 / mbit };
}

static void test_budget(void)
{
    struct probe_speed speeds[MOST];
    struct probe_costs costs;
    double alone_us;

    equal_speeds(speeds, 8, 100);
    probe_plan(8, false, speeds, 30e6, &costs);
    CU_ASSERT(costs.total_us <= 30e6);
    CU_ASSERT(costs.total_us > 10e6);
    CU_ASSERT_EQUAL(costs.count[PROBE_JOB_PING][0], 30);
    CU_ASSERT_EQUAL(costs.warm[PROBE_JOB_PING][0], 5);
    CU_ASSERT_EQUAL(costs.count[PROBE_JOB_PING][6], 30);
    probe_plan(8, true, speeds, 30e6, &costs);
    alone_us = costs.total_us;
    CU_ASSERT(alone_us <= 30e6);
    CU_ASSERT(costs.count[PROBE_JOB_PING][6] < 30);
    /* what it takes at least it takes, however little there is */
    probe_plan(8, true, speeds, 1000, &costs);
    for (int job = 0; job < PROBE_JOBS; job++)
        for (int k = 0; k < PROBE_SIZES; k++)
            CU_ASSERT_EQUAL(costs.count[job][k], 5);
    CU_ASSERT(costs.total_us < alone_us);
    /* and no more than 30 times, however much */
    probe_plan(8, true, speeds, 1e12, &costs);
    CU_ASSERT_EQUAL(costs.count[PROBE_JOB_SEQ + 1][6], 30);
}

/* 8 hosts on a switch of 100 Mbit/s: all but long messages in a row are taken
 * 30 times, in half of the minute that all may take.  With two on links of 20 Mbit/s and
 * two that take five times as long for a message, long ones are taken less
 * often, but still often enough for quartiles, and in no more time. */
static void a_minute_for_8_hosts(void)
{
    const double budget_us = PROBE_BUDGET_US;
    struct probe_speed speeds[MOST];
    struct probe_costs costs;

    equal_speeds(speeds, 8, 100);
    probe_plan(8, false, speeds, budget_us, &costs);
    CU_ASSERT(costs.total_us <= budget_us);
    for (int job = 0; job < PROBE_JOBS; job++)
        for (int k = 0; k < PROBE_SIZES; k++) {
            bool is_long = job >= PROBE_JOB_SEQ && probe_sizes[k] > 16384;

            CU_ASSERT(costs.count[job][k] >= (is_long ? 10 : 30));
            CU_ASSERT(costs.warm[job][k] >= (is_long ? 2 : 5));
        }
    speeds[3].byte_us = speeds[5].byte_us = 0.4;
    speeds[5].empty_us = speeds[6].empty_us = 1500;
    probe_plan(8, false, speeds, budget_us, &costs);
    CU_ASSERT(costs.total_us <= budget_us);
    CU_ASSERT(costs.total_us > 0.8 * budget_us);
    for (int job = 0; job < PROBE_JOBS; job++)
        for (int k = 0; k < PROBE_SIZES; k++) {
            uint32_t least = job == PROBE_JOBS - 1 ? 12 : 20;

            CU_ASSERT(costs.count[job][k] >=
                      (probe_sizes[k] <= 1024 ? least : 5));
            CU_ASSERT(costs.warm[job][k] >= 2);
        }
}

/* A time that is always uneven would be taken three times as often as planned:
 * of a job of 20 steps, each of which is as uneven as can be. */
static double spent_us(double budget_us, double total_us)
{
    const struct probe_costs costs = { .total_us = total_us };
    double spent = 0, done = 0;

    for (int step = 0; step < 20; step++) {
        for (int t = 0; t < 3; t++)
            if (t == 0 || probe_may_retry(&costs, budget_us, spent, done))
                spent += total_us / 20;
        done += total_us / 20;
    }
    return spent;
}

static void retries_are_of_the_budget(void)
{
    CU_ASSERT(spent_us(40e6, 40e6) <= 1.3 * 40e6 + 40e6 / 20);
    CU_ASSERT(spent_us(40e6, 40e6) > 45e6);
    CU_ASSERT(spent_us(40e6, 20e6) <= 1.3 * 40e6 + 20e6 / 20);
    CU_ASSERT(spent_us(40e6, 20e6) > 45e6);
    CU_ASSERT(spent_us(40e6, 5e6) >= 15e6 - 1); /* there is room for all */
    CU_ASSERT(spent_us(1, 5e6) <= 1.3 * 5e6 + 5e6 / 20);
}

/* How long all steps take if each takes @p factor times as long as thought.
 * @param few_p  how many are taken less often than planned */
static double played_us(const struct probe_costs *costs, double budget_us,
                        double factor, unsigned *few_p)
{
    double spent = 0, done = 0;

    *few_p = 0;
    for (int job = 0; job < PROBE_JOBS; job++)
        for (int step = 0; step < 14; step++)
            for (int k = 0; k < PROBE_SIZES; k++) {
                uint32_t count =
                    probe_repeats(costs, (enum probe_job)job, (uint32_t)k,
                                  budget_us, spent, done);
                uint32_t warm = costs->warm[job][k];

                CU_ASSERT(count >= 5 && count <= costs->count[job][k]);
                *few_p += count < costs->count[job][k];
                spent += factor * costs->us[job][k] / 14 * (count + warm);
                done += costs->us[job][k] / 14 * (costs->count[job][k] + warm);
            }
    return spent;
}

/* What takes longer than was thought is measured less often: the time that was
 * said stays true. */
static void what_is_late_is_made_up_for(void)
{
    const double budget_us = PROBE_BUDGET_US;
    struct probe_speed speeds[MOST];
    struct probe_costs costs;
    unsigned few;

    equal_speeds(speeds, 8, 100);
    probe_plan(8, false, speeds, budget_us, &costs);
    CU_ASSERT_DOUBLE_EQUAL(played_us(&costs, budget_us, 1, &few), costs.total_us, 1e3);
    CU_ASSERT_EQUAL(few, 0);
    CU_ASSERT(played_us(&costs, budget_us, 1.25, &few) <= 1.3 * budget_us);
    CU_ASSERT_EQUAL(few, 0);
    CU_ASSERT(played_us(&costs, budget_us, 1.5, &few) <= 1.32 * budget_us);
    CU_ASSERT(few > 0);
    CU_ASSERT(played_us(&costs, budget_us, 2, &few) <= 1.4 * budget_us);
    /* but for the least that is to be taken */
    CU_ASSERT(played_us(&costs, budget_us, 20, &few) > 2 * budget_us);
    CU_ASSERT_EQUAL(
        probe_repeats(&costs, PROBE_JOB_PING, 0, budget_us, 1e9, 0), 5);
}

/* On links of 100 Mbit/s: what it took in the lab, 2.5 s for the model of one pair.  All
 * is within a minute for 8 hosts, the star, the chain, and 0.7 s of floods, too. */
static void what_comes_after_is_in_the_plan(void)
{
    struct probe_options o = { .validate = false };
    struct probe_speed speeds[MOST];
    struct probe_costs costs;
    double groups_us, thin_us, shapes_us, alone_us, trees_us;

    equal_speeds(speeds, 8, 100);
    CU_ASSERT(probe_trees_us(8, false, speeds, &o) <= 0);
    groups_us = probe_groups_us(8, speeds);
    CU_ASSERT(groups_us > 2e6 && groups_us < 6e6);
    o.validate = true;
    shapes_us = probe_trees_us(8, false, speeds, &o);
    CU_ASSERT(shapes_us > 2.8e6 && shapes_us < 3.7e6);
    alone_us = probe_trees_us(8, true, speeds, &o) - shapes_us; /* of 8 - 2 steps */
    CU_ASSERT(alone_us > 1.8e6 && alone_us < 2.5e6);
    probe_plan(8, false, speeds, PROBE_BUDGET_US, &costs);
    CU_ASSERT(probe_most_us(&costs, PROBE_BUDGET_US) + groups_us + shapes_us < 50e6);
    o.sizes[0] = 65536;
    o.nsizes = 1;
    CU_ASSERT(probe_trees_us(8, false, speeds, &o) > 2 * shapes_us);
    o.sizes[0] = 1024; /* 1080 times 0.8 ms, of 16 trees */
    trees_us = probe_trees_us(8, false, speeds, &o);
    CU_ASSERT(trees_us > 8e6 && trees_us < 30e6);
    speeds[5].byte_us *= 5;
    thin_us = probe_groups_us(8, speeds);
    CU_ASSERT(thin_us > groups_us + 1e6 && thin_us < groups_us + 8e6);
    equal_speeds(speeds, 2, 100);
    CU_ASSERT(probe_groups_us(2, speeds) < groups_us);
}

/* ---- trees ---- */

/* Lee's example at 1000 bytes: t_hold 20, t_end 55 */
static void equal_hosts(struct nf_network *network, uint32_t n)
{
    (void)nf_network_init(network, n);
    for (uint32_t i = 0; i < n; i++) {
        struct nf_network_host *host = &network->hosts[i];

        host->send = nf_curve_line((struct nf_cost){ 10, 0 });
        host->recv = nf_curve_line((struct nf_cost){ 15, 0 });
        host->hold = nf_curve_line((struct nf_cost){ 0, 0.02 });
        for (uint32_t j = 0; j < n; j++)
            *nf_network_wire(network, i, j) =
                nf_curve_line((struct nf_cost){ 10, 0.02 });
    }
}

static double time_of(enum probe_shape shape, const struct nf_network *network,
                      uint32_t nodes)
{
    struct probe_check check;
    double us;

    CU_ASSERT_EQUAL_FATAL(probe_plan_shape(shape, network, 1000, &check),
                          NF_OK);
    CU_ASSERT_EQUAL(check.plan.tree.nodes, nodes);
    CU_ASSERT_EQUAL(check.plan.tree.root, 0);
    us = check.plan.time_us;
    nf_crl_plan_fini(&check.plan);
    return us;
}

static void test_trees(void)
{
    static const double t[] = { 0, 0, 55, 75, 95, 110, 115, 130, 130, 135 };

    for (uint32_t n = 2; n <= 9; n++) {
        uint32_t few = n < 4 ? n : 4;
        struct nf_network network;

        equal_hosts(&network, n);
        CU_ASSERT_DOUBLE_EQUAL(time_of(PROBE_OPT, &network, n), t[n], 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(time_of(PROBE_STAR, &network, few),
                               55 + 20 * (few - 2), 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(time_of(PROBE_CHAIN, &network, few),
                               55 * (few - 1), 1e-9);
        nf_network_fini(&network);
    }
}

/* All that nowfarm trees lists; none is faster than crl, but where that sends
 * one message and another one may be as fast. */
static void test_listed(void)
{
    struct nf_network network;
    struct probe_check check;
    double crl_us = INFINITY, least_us = INFINITY;
    uint32_t number = 0;

    equal_hosts(&network, 7);
    while (probe_plan_listed(number++, &network, 100000, &check) == NF_OK) {
        CU_ASSERT_EQUAL(check.plan.tree.nodes, 7);
        CU_ASSERT(check.plan.segments * check.plan.segment_bytes >= 100000);
        if (strcmp(check.name, "crl") == 0)
            crl_us = check.plan.time_us;
        least_us = fmin(least_us, check.plan.time_us);
        nf_crl_plan_fini(&check.plan);
    }
    CU_ASSERT_EQUAL(probe_plan_listed(number, &network, 100000, &check),
                    NF_ERR_RANGE);
    CU_ASSERT(number > 15 && crl_us <= least_us);
    nf_network_fini(&network);
}

static enum nf_status price_call(const struct nf_network *network,
                                 uint32_t number, double *us_p)
{
    struct probe_check check;

    CU_ASSERT_EQUAL_FATAL(probe_plan_call(number, network, &check), NF_OK);
    CU_ASSERT_EQUAL(check.bytes, 1);
    CU_ASSERT_EQUAL(check.plan.tree.nodes, network->nhosts);
    *us_p = check.plan.time_us;
    nf_crl_plan_fini(&check.plan);
    return NF_OK;
}

/* From what trees would take if messages cost wake_us more each, and all of
 * them call_us. */
static void test_call(void)
{
    struct nf_network network;
    double us[PROBE_CALLS];

    equal_hosts(&network, 8);
    network.call_us = 120;
    network.wake_us = 9;
    for (uint32_t k = 0; k < PROBE_CALLS; k++)
        (void)price_call(&network, k, &us[k]);
    /* a chain: 7 of S + X + R, 35.02, + 9, X being 10.02; and 120 */
    CU_ASSERT_DOUBLE_EQUAL(us[0], 7 * (35.02 + 9) + 120, 1e-9);
    network.call_us = network.wake_us = 0;
    CU_ASSERT_EQUAL(probe_set_call(&network, us, price_call), NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(network.call_us, 120, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(network.wake_us, 9, 1e-6);
    nf_network_fini(&network);
}

/* So many times, less one, what is slowest: the hands of the sender, the wire, or the
 * receiver. */
static void test_floods(void)
{
    struct probe_flood flood = { .from = 1, .to = 2, .bytes = 100000 };
    struct nf_network network;

    equal_hosts(&network, 4);
    for (int slow = 0; slow < 3; slow++) {
        struct nf_curve *curve = slow == 0   ? &network.hosts[1].hold
                                 : slow == 1 ? nf_network_wire(&network, 1, 2)
                                             : &network.hosts[2].recv;
        const struct nf_curve was = *curve;

        *curve = nf_curve_line((struct nf_cost){ 0, 0.5 });
        CU_ASSERT_EQUAL(probe_plan_flood(&network, &flood), NF_OK);
        CU_ASSERT_DOUBLE_EQUAL(flood.predicted_us, 15 * 50000, 1e-6);
        *curve = was;
    }
    nf_network_fini(&network);
}

/* ---- procedures, between threads ---- */

static struct coll_world_config threads(uint32_t members)
{
    return (struct coll_world_config){ .local = true,
                                       .members = members,
                                       .timeout_us = 60000000 };
}

/* 0 sends to 1, 1 to 3 and 2, 2 to 4 */
static void plant(struct probe *probe)
{
    static const uint32_t children[5][2] = { { 1 }, { 3, 2 }, { 4 } };
    static const uint32_t count[5] = { 1, 2, 1, 0, 0 };

    for (uint32_t i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(probe_plant(probe, i, children[i], count[i]), NF_OK);
}

static void time_procedure(struct probe *probe, enum probe_kind kind,
                           uint32_t bytes)
{
    static struct probe_result result;
    const struct probe_act act = { .kind = kind,
                                   .partner = 4,
                                   .bytes = bytes,
                                   .count = 7,
                                   .warm = 2,
                                   .delay_us = 300,
                                   .run = 5 };

    CU_ASSERT_EQUAL_FATAL(probe_start(probe, 1, &act), NF_OK);
    CU_ASSERT_EQUAL_FATAL(probe_collect(probe, 1, &result), NF_OK);
    CU_ASSERT_EQUAL(result.count, 7);
    for (uint32_t i = 0; i < result.count; i++) {
        CU_ASSERT(result.us[i] > 0);
        CU_ASSERT(result.send_us[i] <= result.us[i]);
    }
}

static void time_tree(struct probe *probe, uint32_t bytes, uint32_t parts)
{
    static const uint32_t leaves[2] = { 3, 4 };
    const struct probe_cast cast = {
        .bytes = bytes, .parts = parts, .leaves = leaves, .nleaves = 2
    };
    double us[2] = { 0, 0 };

    CU_ASSERT_EQUAL(probe_cast(probe, &cast, us), NF_OK);
    CU_ASSERT(us[0] > 0 && us[1] > 0);
}

static void test_procedures(void)
{
    const struct coll_world_config config = threads(5);
    struct nf_error err = { NF_OK, "" };
    struct coll_world world;
    struct probe probe;

    CU_ASSERT_EQUAL_FATAL(coll_world_open(&config, &world, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(probe_open(&world.team, &probe), NF_OK);
    plant(&probe);
    for (uint32_t bytes = 0; bytes <= 300000; bytes += 100000) {
        for (int kind = PROBE_PING; kind < PROBE_KINDS; kind++)
            time_procedure(&probe, (enum probe_kind)kind, bytes);
        for (uint32_t parts = 1; parts <= 40; parts += 13)
            time_tree(&probe, bytes, parts);
    }
    CU_ASSERT_STRING_EQUAL(err.text, "");
    probe_close(&probe, true);
    coll_world_close(&world, true);
}

/* Several at the same time, and one probe after the other. */
static void test_at_once(void)
{
    const struct coll_world_config config = threads(4);
    const struct probe_act act[2] = {
        { .kind = PROBE_PING, .partner = 3, .bytes = 5000, .count = 50 },
        { .kind = PROBE_PING, .partner = 2, .bytes = 70000, .count = 50 },
    };
    static struct probe_result result;
    struct nf_error err = { NF_OK, "" };
    struct coll_world world;
    struct probe probe;

    CU_ASSERT_EQUAL_FATAL(coll_world_open(&config, &world, &err), NF_OK);
    for (int again = 0; again < 2; again++) {
        CU_ASSERT_EQUAL_FATAL(probe_open(&world.team, &probe), NF_OK);
        CU_ASSERT_EQUAL_FATAL(probe_start(&probe, 1, &act[0]), NF_OK);
        CU_ASSERT_EQUAL_FATAL(probe_start(&probe, 0, &act[1]), NF_OK);
        for (uint32_t member = 0; member < 2; member++) {
            CU_ASSERT_EQUAL_FATAL(probe_collect(&probe, member, &result),
                                  NF_OK);
            CU_ASSERT_EQUAL(result.count, 50);
        }
        probe_close(&probe, true);
    }
    coll_world_close(&world, true);
}

/* What no member may be asked for it refuses, and rank 0 is told. */
static void refuse(const struct probe_act *act)
{
    const struct coll_world_config config = threads(3);
    static struct probe_result result;
    struct nf_error err = { NF_OK, "" };
    struct coll_world world;
    struct probe probe;

    CU_ASSERT_EQUAL_FATAL(coll_world_open(&config, &world, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(probe_open(&world.team, &probe), NF_OK);
    CU_ASSERT_EQUAL(probe_start(&probe, 2, act), NF_OK);
    CU_ASSERT(probe_collect(&probe, 2, &result) < NF_OK);
    CU_ASSERT_EQUAL(probe.guilty, 2);
    probe_close(&probe, false);
    coll_world_close(&world, false);
}

static void test_refused(void)
{
    static const struct probe_act acts[] = {
        { .kind = PROBE_SEQ, .partner = 1, .count = 1, .run = 2 }, /* no children */
        { .kind = PROBE_FLOOD, .partner = 1, .count = 1, .run = 1 },
        { .kind = PROBE_FLOOD, .partner = 1, .count = 1, .run = 129 },
    };

    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        refuse(&acts[i]);
}

/* ---- all of it ---- */

static void measure(uint32_t members, bool alone)
{
    const struct coll_world_config config = threads(members);
    const struct probe_options options = { .shared = alone,
                                           .budget_us = 100000,
                                           .quiet = true,
                                           .validate = true,
                                           .sizes = { 20000 },
                                           .nsizes = 1 };
    static const char names[6][NF_NETWORK_NAME_BYTES] = { "a", "b", "c",
                                                          "d", "e", "f" };
    struct probe_checks checks;
    struct nf_error err = { NF_OK, "" };
    struct probe_outcome outcome;
    struct nf_hetero hetero;
    struct coll_world world;
    struct probe probe;

    CU_ASSERT_EQUAL_FATAL(coll_world_open(&config, &world, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(probe_open(&world.team, &probe), NF_OK);
    CU_ASSERT_EQUAL_FATAL(probe_measure(&probe, &options, names, &outcome),
                          NF_OK);
    CU_ASSERT_EQUAL(outcome.network.nhosts, members);
    CU_ASSERT_EQUAL(outcome.network.shared, alone);
    /* pairs both ways, R of six sizes, and two rows, of seven */
    CU_ASSERT_EQUAL(outcome.points,
                    7 * members * (members - 1) + (6 + 14) * members);
    hetero = nf_network_hetero(&outcome.network, true);
    CU_ASSERT_EQUAL(nf_hetero_check(&hetero, 0, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(
        probe_validate(&probe, &outcome, &options, &checks), NF_OK);
    CU_ASSERT(checks.count > 6 + 15);
    for (uint32_t i = 0; i < checks.count; i++)
        CU_ASSERT(checks.list[i].plan.time_us > 0 && checks.list[i].measured_us > 0);
    CU_ASSERT_EQUAL_FATAL(checks.nfloods, 2 * members);
    for (uint32_t i = 0; i < checks.nfloods; i++) {
        const struct probe_flood *flood = &checks.floods[i];

        CU_ASSERT(flood->bytes == (i < members ? 1024 : 65536) &&
                  flood->from != flood->to);
        CU_ASSERT(flood->predicted_us > 0 && flood->measured_us > 0);
    }
    probe_checks_fini(&checks);
    nf_network_fini(&outcome.network);
    probe_close(&probe, true);
    coll_world_close(&world, true);
}

static void test_measure(void)
{
    for (uint32_t members = 2; members <= 6; members++)
        measure(members, false);
    measure(3, true);
}

int main(void)
{
    CU_TestInfo plan[] = {
        { "everybody measures with everybody once, disjointly", test_steps },
        { "everybody measures once", test_host_steps },
        { "as often as the budget allows", test_budget },
        { "a minute for 8 hosts", a_minute_for_8_hosts },
        { "retries are of the budget", retries_are_of_the_budget },
        { "what is late is made up for", what_is_late_is_made_up_for },
        { "what comes after is in the plan",
          what_comes_after_is_in_the_plan },
        CU_TEST_INFO_NULL
    };
    CU_TestInfo trees[] = {
        { "predictions are those of the papers", test_trees },
        { "every tree there is", test_listed },
        { "what is beyond messages is found again", test_call },
        { "messages in a row go at the pace of the slowest part", test_floods },
        CU_TEST_INFO_NULL
    };
    CU_TestInfo procedures[] = {
        { "each procedure between threads", test_procedures },
        { "several at the same time", test_at_once },
        { "an act that cannot be", test_refused },
        { "from 2 to 6 members, and all of it", test_measure },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = { { .pName = "plan", .pTests = plan },
                              { .pName = "trees", .pTests = trees },
                              { .pName = "procedures", .pTests = procedures },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
