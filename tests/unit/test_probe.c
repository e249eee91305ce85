/* `nowfarm probe` without a network: who measures when, how often, and what the
 * model says of trees; and its procedures between threads. */
#include "config.h"
#include <math.h>
#include <pthread.h>
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

/* ---- trees ---- */

static void equal_hosts(struct nf_network *network, uint32_t n)
{
    (void)nf_network_init(network, n);
    for (uint32_t i = 0; i < n; i++) {
        network->hosts[i].send = nf_curve_line((struct nf_cost){ 10, 0 });
        network->hosts[i].recv = nf_curve_line((struct nf_cost){ 15, 0 });
        network->hosts[i].hold = nf_curve_line((struct nf_cost){ 20, 0 });
        for (uint32_t j = 0; j < n; j++)
            *nf_network_wire(network, i, j) =
                nf_curve_line((struct nf_cost){ 30, 0 });
    }
}

/* Lee's example: t_hold 20, t_end 55 */
static void test_trees(void)
{
    static const double t[] = { 0, 0, 55, 75, 95, 110, 115, 130, 130, 135 };

    for (uint32_t n = 2; n <= 9; n++) {
        struct nf_network network;
        uint32_t parent[9], order[9];
        double ready[9], last = 0;
        struct probe_tree tree = { .parent = parent, .order = order };

        equal_hosts(&network, n);
        probe_make_tree(PROBE_OPT, &network, 1000, &tree);
        probe_predict(&tree, &network, 1000, ready);
        for (uint32_t i = 0; i < n; i++) {
            CU_ASSERT(i == 0 || ready[i] >= 55);
            last = fmax(last, ready[i]);
        }
        CU_ASSERT(fabs(last - t[n]) < 1e-9);
        probe_make_tree(PROBE_STAR, &network, 1000, &tree);
        probe_predict(&tree, &network, 1000, ready);
        for (last = 0; n >= 4 && last < 3; last++)
            CU_ASSERT(fabs(ready[3 - (int)last] - 95 + 20 * last) < 1e-9);
        probe_make_tree(PROBE_CHAIN, &network, 1000, &tree);
        probe_predict(&tree, &network, 1000, ready);
        CU_ASSERT(n < 4 || fabs(ready[3] - 165) < 1e-9);
        CU_ASSERT_EQUAL(tree.nodes, n < 4 ? n : 4);
        nf_network_fini(&network);
    }
}

/* ---- procedures ---- */

static struct coll_world_config threads(uint32_t members)
{
    return (struct coll_world_config){ .local = true,
                                       .members = members,
                                       .timeout_us = 20000000 };
}

static void test_procedures(void)
{
    const struct coll_world_config config = threads(5);
    const uint32_t parent[5] = { 0, 0, 1, 1, 2 }, order[5] = { 4, 3, 2, 1, 0 };
    static struct probe_result result;
    struct nf_error err = { NF_OK, "" };
    struct coll_world world;
    struct probe probe;

    CU_ASSERT_EQUAL_FATAL(coll_world_open(&config, &world, &err), NF_OK);
    CU_ASSERT_EQUAL(probe_open(&world.team, &probe), NF_OK);
    CU_ASSERT_EQUAL(probe_plant(&probe, parent, order), NF_OK);
    for (int kind = PROBE_PING; kind < PROBE_KINDS; kind++)
        for (uint32_t bytes = 0; bytes <= 300000; bytes += 100000) {
            const uint32_t member = kind >= PROBE_TREE ? 0 : 1;
            const struct probe_act act = { .kind = (enum probe_kind)kind,
                                           .partner = 4,
                                           .bytes = bytes,
                                           .count = 7,
                                           .warm = 2,
                                           .delay_us = 300,
                                           .run = 5 };

            CU_ASSERT_EQUAL(probe_start(&probe, member, &act), NF_OK);
            CU_ASSERT_EQUAL(probe_collect(&probe, member, &result), NF_OK);
            CU_ASSERT_EQUAL(result.count, 7);
            for (uint32_t i = 0; i < result.count; i++) {
                CU_ASSERT(result.us[i] > 0);
                CU_ASSERT(result.send_us[i] <= result.us[i]);
            }
        }
    CU_ASSERT_STRING_EQUAL(err.text, "");
    probe_close(&probe, true);
    coll_world_close(&world, true);
}

/* Several at the same time, and one after the other probe. */
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
        CU_ASSERT_EQUAL(probe_open(&world.team, &probe), NF_OK);
        CU_ASSERT_EQUAL(probe_start(&probe, 1, &act[0]), NF_OK);
        CU_ASSERT_EQUAL(probe_start(&probe, 0, &act[1]), NF_OK);
        for (uint32_t member = 0; member < 2; member++) {
            CU_ASSERT_EQUAL(probe_collect(&probe, member, &result), NF_OK);
            CU_ASSERT_EQUAL(result.count, 50);
        }
        probe_close(&probe, true);
    }
    coll_world_close(&world, true);
}

int main(void)
{
    CU_TestInfo plan[] = {
        { "everybody measures with everybody once, disjointly", test_steps },
        { "everybody measures once", test_host_steps },
        { "as often as the budget allows", test_budget },
        CU_TEST_INFO_NULL
    };
    CU_TestInfo trees[] = {
        { "predictions are those of the papers", test_trees }, CU_TEST_INFO_NULL
    };
    CU_TestInfo procedures[] = { { "each procedure between threads",
                                   test_procedures },
                                 { "several at the same time", test_at_once },
                                 CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { .pName = "plan", .pTests = plan },
                              { .pName = "trees", .pTests = trees },
                              { .pName = "procedures", .pTests = procedures },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
