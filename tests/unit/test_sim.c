/* The simulator and the policies against runs of an independent one, and
 * against the equations of the paper. */
#include "config.h"
#include "sim/farm_sim.h"
#include "common/base/alloc.h"
#include "sim/network.h"
#include "tests/unit/nf_unit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *load(const char *name)
{
    char path[4096];
    json_error_t err;
    json_t *json;

    snprintf(path, sizeof(path), "%s/tests/golden/%s", NF_SRCDIR, name);
    json = json_load_file(path, 0, &err);
    if (!json)
        fprintf(stderr, "%s:%d: %s\n", path, err.line, err.text);
    return json;
}

static enum nf_status simulate(const char *spec, const json_t *platform,
                               struct nf_farm_sim_result *result_p,
                               struct nf_error *err)
{
    struct nf_policy policy;
    struct nf_world world;
    enum nf_status status = nf_policy_parse(spec, &policy, err);

    if (!status)
        status = nf_world_parse(platform, &world, err);
    if (status)
        return status;
    status = nf_farm_sim_run(&world, &policy, 1, result_p, err);
    nf_world_fini(&world);
    return status;
}

/* Simulate, or say why not. */
static bool run(const char *spec, const json_t *platform,
                struct nf_farm_sim_result *result_p)
{
    struct nf_error err;

    if (simulate(spec, platform, result_p, &err) == NF_OK)
        return true;
    fprintf(stderr, "%s: %s\n", spec, err.text);
    CU_FAIL("the simulation failed");
    return false;
}

static void expect(const char *name, const char *what, int64_t found,
                   int64_t expected, int64_t tolerance)
{
    if (found >= expected - tolerance && found <= expected + tolerance)
        return;
    fprintf(stderr, "%s: %s is %lld, expected %lld\n", name, what,
            (long long)found, (long long)expected);
    CU_FAIL("a golden value was missed");
}

static void compare_slaves(const char *name,
                           const struct nf_farm_sim_result *result,
                           const json_t *expected, bool exact)
{
    for (uint32_t i = 0; i < result->slaves; i++) {
        const struct nf_sim_slave *slave = &result->slave[i];
        const struct {
            const char *key;
            int64_t found;
        } rows[] = {
            { "busy", slave->busy_us },
            { "blocked", slave->blocked_us },
            { "idle", slave->idle_us },
            { "starve", slave->starve_us },
            { "units", (int64_t)slave->units },
            { "max_queue", (int64_t)slave->max_queue },
        };

        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            int64_t golden = json_integer_value(
                json_array_get(json_object_get(expected, rows[k].key), i));

            /* idle is a small difference of big times */
            expect(name, rows[k].key, rows[k].found, golden,
                   exact ? 0 : golden / 100);
        }
    }
}

static void compare_timeline(const char *name,
                             const struct nf_farm_sim_result *result,
                             const json_t *timeline)
{
    if (!timeline)
        return;
    expect(name, "sends", (int64_t)result->nchunks,
           (int64_t)json_array_size(timeline), 0);
    for (size_t i = 0; i < result->nchunks && i < json_array_size(timeline);
         i++) {
        const struct nf_sim_chunk *chunk = &result->chunks[i];
        json_t *golden = json_array_get(timeline, i);
        json_int_t t, slave, first, size;

        json_unpack(golden, "{s:I,s:I,s:I,s:I}", "t", &t, "slave", &slave,
                    "first_unit", &first, "size", &size);
        expect(name, "timeline t", chunk->sent_us, t, 0);
        expect(name, "timeline slave", chunk->slave, slave, 0);
        expect(name, "timeline unit", (int64_t)chunk->first, first, 0);
        expect(name, "timeline size", (int64_t)chunk->count, size, 0);
    }
}

static void compare(const json_t *golden)
{
    const char *name = json_string_value(json_object_get(golden, "name"));
    const json_t *expected = json_object_get(golden, "expect");
    bool exact = json_is_true(json_object_get(golden, "exact"));
    int64_t makespan_us =
        json_integer_value(json_object_get(expected, "makespan"));
    const char *spec = json_string_value(json_object_get(golden, "policy"));
    struct nf_farm_sim_result result;

    if (!run(spec, json_object_get(golden, "platform"), &result))
        return;
    expect(name, "makespan", result.makespan_us, makespan_us,
           exact ? 0 : makespan_us / 1000);
    expect(name, "data_msgs", (int64_t)result.data_messages,
           json_integer_value(json_object_get(expected, "data_msgs")), 0);
    expect(name, "result_msgs", (int64_t)result.result_messages,
           json_integer_value(json_object_get(expected, "result_msgs")), 0);
    expect(name, "duplicates", (int64_t)result.duplicates,
           json_integer_value(json_object_get(expected, "duplicates")), 0);
    compare_slaves(name, &result, expected, exact);
    compare_timeline(name, &result, json_object_get(golden, "timeline"));
    nf_farm_sim_fini(&result);
}

static void test_makespans(void)
{
    json_t *file = load("makespans.json"), *golden;
    json_t *list = json_object_get(file, "makespans");
    size_t i;

    CU_ASSERT_EQUAL(json_array_size(list), 42);
    json_array_foreach(list, i, golden) compare(golden);
    json_decref(file);
}

static void test_platforms(void)
{
    json_t *file = load("makespans_platforms.json"), *golden, *makespan;
    json_t *list = json_object_get(file, "platforms");
    const char *spec;
    size_t i;

    CU_ASSERT_EQUAL(json_array_size(list), 200);
    json_array_foreach(list, i, golden)
    {
        json_object_foreach(json_object_get(golden, "makespan_us"), spec,
                            makespan)
        {
            struct nf_farm_sim_result result;
            char name[40];

            snprintf(name, sizeof(name), "platform %zu, %s", i, spec);
            if (!run(spec, json_object_get(golden, "platform"), &result))
                continue;
            expect(name, "makespan", result.makespan_us,
                   json_integer_value(makespan), 0);
            nf_farm_sim_fini(&result);
        }
    }
    json_decref(file);
}

static int64_t makespan_of(const char *spec, const json_t *platform)
{
    struct nf_farm_sim_result result;
    int64_t makespan_us;

    if (!run(spec, platform, &result))
        return -1;
    makespan_us = result.makespan_us;
    nf_farm_sim_fini(&result);
    return makespan_us;
}

static bool speeds_up(const struct nf_world *world)
{
    for (uint32_t i = 0; i < world->slaves; i++) {
        const struct nf_world_slave *s = &world->slave[i];

        for (size_t k = 0; k < s->nchanges; k++)
            if (s->changes[k].speed.num * s->speed.den >
                s->speed.num * s->changes[k].speed.den)
                return true;
    }
    return false;
}

/* The reference goes by the speeds at the start: of slaves that become faster
 * later that is no bound, and ours is lower. */
static void test_bounds(void)
{
    unsigned faster = 0;
    json_t *file = load("makespans_platforms.json"), *golden;
    json_t *list = json_object_get(file, "platforms");
    size_t i;

    json_array_foreach(list, i, golden)
    {
        json_t *platform = json_object_get(golden, "platform");
        double bound_us =
            json_number_value(json_object_get(golden, "bound_us"));
        struct nf_world world;
        struct nf_error err;

        if (nf_world_parse(platform, &world, &err) != NF_OK) {
            CU_FAIL("a golden platform is refused");
            continue;
        }
        if (speeds_up(&world)) {
            CU_ASSERT(nf_world_bound_us(&world) < bound_us);
            faster++;
        } else {
            CU_ASSERT_DOUBLE_EQUAL(nf_world_bound_us(&world), bound_us,
                                   1e-9 * bound_us);
        }
        nf_world_fini(&world);
    }
    CU_ASSERT_EQUAL(faster, 9);
    json_decref(file);
}

/* The geometric mean of makespan / bound over the 200 platforms, which the
 * reference gives with three digits. */
static void test_geometric_means(void)
{
    json_t *file = load("makespans_platforms.json"), *mean, *golden;
    json_t *list = json_object_get(file, "platforms");
    const char *spec;
    size_t i;

    json_object_foreach(
        json_object_get(file, "geometric_mean_of_makespan_over_bound"), spec,
        mean)
    {
        double logs = 0;

        json_array_foreach(list, i, golden)
        {
            double bound_us =
                json_number_value(json_object_get(golden, "bound_us"));

            logs += log(
                (double)makespan_of(spec, json_object_get(golden, "platform")) /
                bound_us);
        }
        CU_ASSERT_DOUBLE_EQUAL(exp(logs / (double)json_array_size(list)),
                               json_number_value(mean), 1e-3);
    }
    json_decref(file);
}
/* n grains a slave: (1) is n (t_S + t_P + t_R), and (3) to (5) in one are
 * t_S + t_P + t_R + (n - 1) max(t_P, t_D), called (U). */
static void check_forms(json_int_t N, json_int_t p, json_int_t tS,
                        json_int_t tP, json_int_t tR, json_int_t tD,
                        json_int_t *send_p, json_int_t *presend_p)
{
    json_int_t n = (N + p - 1) / p;
    json_t *world =
        json_pack("{s:I,s:I,s:I,s:[I,i],s:[I,i]}", "units", N, "slaves", p,
                  "cost", tP, "ts", tS, 0, "tr", tR, 0);
    char spec[64];

    *send_p = n * (tS + tP + tR);
    *presend_p = tS + tP + tR + (n - 1) * (tP > tD ? tP : tD);
    snprintf(spec, sizeof(spec), "presend:td=%lldus", (long long)tD);
    expect("equation (1)", "makespan", makespan_of("send", world), *send_p, 0);
    expect("equation (U)", spec, makespan_of(spec, world), *presend_p, 0);
    json_decref(world);
}

static void test_closed_forms(void)
{
    json_t *file = load("makespans.json"), *golden;
    json_t *list = json_object_get(file, "closed_forms");
    size_t i;

    CU_ASSERT_EQUAL(json_array_size(list), 14);
    json_array_foreach(list, i, golden)
    {
        json_int_t N, p, tS, tP, tR, tD, send, presend, send_us, presend_us;

        CU_ASSERT_EQUAL(json_unpack(golden, "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}",
                                    "N", &N, "p", &p, "tS", &tS, "tP", &tP,
                                    "tR", &tR, "tD", &tD, "t_send", &send,
                                    "t_presend", &presend),
                        0);
        check_forms(N, p, tS, tP, tR, tD, &send_us, &presend_us);
        CU_ASSERT_EQUAL(send_us, send);
        CU_ASSERT_EQUAL(presend_us, presend);
    }
    json_decref(file);
}

static void test_closed_forms_everywhere(void)
{
    static const json_int_t td_us[] = { 1, 50, 90, 91, 99, 100, 101, 400 };
    json_int_t send, presend;

    for (json_int_t p = 1; p <= 5; p++)
        for (json_int_t N = p; N <= 40; N += p)
            for (size_t i = 0; i < sizeof(td_us) / sizeof(td_us[0]); i++)
                check_forms(N, p, 5, 90, 5, td_us[i], &send, &presend);
}

static void test_window_one_is_send(void)
{
    json_t *file = load("makespans_platforms.json"), *golden;
    json_t *list = json_object_get(file, "platforms");
    size_t i;

    json_array_foreach(list, i, golden) CU_ASSERT_EQUAL(
        makespan_of("fixed+window:w=1", json_object_get(golden, "platform")),
        json_integer_value(
            json_object_get(json_object_get(golden, "makespan_us"), "send")));
    json_decref(file);
}

static void test_no_units(void)
{
    json_t *world =
        json_pack("{s:i,s:i,s:i}", "units", 0, "slaves", 3, "cost", 10);
    struct nf_farm_sim_result result;

    if (run("send", world, &result)) {
        CU_ASSERT_EQUAL(result.makespan_us, 0);
        CU_ASSERT_EQUAL(result.data_messages, 0);
        nf_farm_sim_fini(&result);
    }
    json_decref(world);
}

static void test_same_run_twice(void)
{
    json_t *file = load("makespans_platforms.json");
    json_t *world = json_object_get(
        json_array_get(json_object_get(file, "platforms"), 2), "platform");
    struct nf_farm_sim_result a, b;

    if (run("auto", world, &a)) {
        if (run("auto", world, &b)) {
            CU_ASSERT_EQUAL(a.nchunks, b.nchunks);
            for (uint64_t i = 0; i < a.nchunks && i < b.nchunks; i++) {
                CU_ASSERT_EQUAL(a.chunks[i].first, b.chunks[i].first);
                CU_ASSERT_EQUAL(a.chunks[i].slave, b.chunks[i].slave);
                CU_ASSERT_EQUAL(a.chunks[i].merged_us, b.chunks[i].merged_us);
            }
            nf_farm_sim_fini(&b);
        }
        nf_farm_sim_fini(&a);
    }
    json_decref(file);
}

/* A lone message on a hub is as fast as its wire; kappa and sharing only
 * matter when there are others. */
static void test_hub_alone(void)
{
    json_t *world = json_pack("{s:i,s:i,s:i,s:[i,i],s:[i,i],s:s,s:f}", "units",
                              7, "slaves", 1, "cost", 90, "ts", 5, 0, "tr", 5,
                              0, "net", "hub", "kappa", 0.5);

    CU_ASSERT_EQUAL(makespan_of("send", world), 700);
    json_decref(world);
}

static void test_out_of_memory(void)
{
    json_t *world = json_pack("{s:i,s:[i,i,i,i,i,i,i],s:i,s:[i,i],s:s}",
                              "slaves", 2, "cost", 9, 9, 9, 9, 9, 9, 9, "prop",
                              2, "ts", 5, 0, "net", "hub");
    struct nf_farm_sim_result result;
    struct nf_error err;
    enum nf_status status = NF_ERR_NOMEM;
    long n;

    for (n = 0; status == NF_ERR_NOMEM && n < 10000; n++) {
        nf_alloc_fail_after(n);
        status = simulate("send", world, &result, &err);
        nf_alloc_fail_after(-1);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(n > 10);
    if (status == NF_OK)
        nf_farm_sim_fini(&result);
    json_decref(world);
}

static CU_TestInfo golden_tests[] = {
    { "every golden run is met to the microsecond", test_makespans },
    { "200 random platforms give the makespans of the reference",
      test_platforms },
    { "the lower bound of each of them is the reference's", test_bounds },
    { "their means over the bound are the reference's", test_geometric_means },
    { "equations (1) and (3)-(5) give the golden closed forms",
      test_closed_forms },
    { "equations (1) and (3)-(5) hold for other N, p and td",
      test_closed_forms_everywhere },
    { "a window of one is Send", test_window_one_is_send },
    CU_TEST_INFO_NULL,
};

static CU_TestInfo world_tests[] = {
    { "no units take no time", test_no_units },
    { "the same run twice gives the same trace", test_same_run_twice },
    { "a lone message has the hub to itself", test_hub_alone },
    { "running out of memory anywhere is reported", test_out_of_memory },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "golden", NULL, NULL, NULL, NULL, golden_tests },
    { "world", NULL, NULL, NULL, NULL, world_tests },
    CU_SUITE_INFO_NULL,
};

int main(void)
{
    return nf_unit_main(suites);
}
