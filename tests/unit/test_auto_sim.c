/* The adaptive pacer in virtual time: against runs of an independent simulator,
 * against the numbers that it is to reach, and its invariants in random worlds.
 *
 *     test_auto_sim
 *     test_auto_sim --seed S        the invariants in this world only */
#include "config.h"
#include "tests/unit/auto_worlds.h"
#include "common/base/rng.h"
#include "tests/unit/nf_unit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- goldens ---- */

static void expect(const char *name, const char *what, int64_t found,
                   int64_t expected)
{
    if (found == expected)
        return;
    fprintf(stderr, "%s: %s is %lld, expected %lld\n", name, what,
            (long long)found, (long long)expected);
    CU_FAIL("a golden value was missed");
}

static void expect_list(const char *name, const char *what, size_t i,
                        int64_t found, const json_t *lists)
{
    expect(name, what, found,
           json_integer_value(json_array_get(json_object_get(lists, what), i)));
}

static void check_golden(const json_t *golden)
{
    const char *name = json_string_value(json_object_get(golden, "name"));
    const json_t *e = json_object_get(golden, "expect"), *timeline;
    struct nf_farm_sim_result r;

    CU_ASSERT_FATAL(
        auto_run_spec(json_string_value(json_object_get(golden, "policy")),
                      json_object_get(golden, "platform"), &r));
    expect(name, "makespan", r.makespan_us,
           json_integer_value(json_object_get(e, "makespan")));
    expect(name, "data_msgs", (int64_t)r.data_messages,
           json_integer_value(json_object_get(e, "data_msgs")));
    expect(name, "result_msgs", (int64_t)r.result_messages,
           json_integer_value(json_object_get(e, "result_msgs")));
    expect(name, "duplicates", (int64_t)r.duplicates,
           json_integer_value(json_object_get(e, "duplicates")));
    for (uint32_t i = 0; i < r.slaves; i++) {
        expect_list(name, "busy", i, r.slave[i].busy_us, e);
        expect_list(name, "idle", i, r.slave[i].idle_us, e);
        expect_list(name, "starve", i, r.slave[i].starve_us, e);
        expect_list(name, "units", i, (int64_t)r.slave[i].units, e);
        expect_list(name, "max_queue", i, (int64_t)r.slave[i].max_queue, e);
    }
    timeline = json_object_get(golden, "timeline");
    for (size_t i = 0; i < json_array_size(timeline) && i < r.nchunks; i++) {
        const json_t *send = json_array_get(timeline, i);

        expect(name, "t", r.chunks[i].sent_us,
               json_integer_value(json_object_get(send, "t")));
        expect(name, "slave", r.chunks[i].slave,
               json_integer_value(json_object_get(send, "slave")));
        expect(name, "unit", (int64_t)r.chunks[i].first,
               json_integer_value(json_object_get(send, "first_unit")));
    }
    nf_farm_sim_fini(&r);
}

static void test_goldens(void)
{
    json_t *file = auto_golden("makespans_auto.json"), *golden;
    json_t *list = json_object_get(file, "makespans");
    size_t i;

    CU_ASSERT_EQUAL(json_array_size(list), 3);
    json_array_foreach(list, i, golden) check_golden(golden);
    json_decref(file);
}

/* ---- numbers to reach ---- */

struct means {
    double plain, copies; /* geometric, of makespan / bound */
};

static void add_world(const json_t *platform, struct means *logs)
{
    double bound_us = auto_bound_us(platform);

    logs->plain += log((double)auto_makespan_us("auto", platform) / bound_us);
    logs->copies +=
        log((double)auto_makespan_us("auto:replicate=1", platform) / bound_us);
}

static struct means close_means(struct means logs, size_t count, const char *of)
{
    struct means means = { exp(logs.plain / (double)count),
                           exp(logs.copies / (double)count) };

    printf("    %s: makespan / bound %.3f, with replication %.3f\n", of,
           means.plain, means.copies);
    return means;
}

static void test_golden_platforms(void)
{
    json_t *worlds = auto_golden("makespans_platforms.json");
    json_t *file = auto_golden("makespans_auto.json"), *golden;
    json_t *list = json_object_get(file, "platforms");
    struct means means = { 0, 0 };
    size_t i;

    CU_ASSERT_EQUAL(json_array_size(list), 200);
    json_array_foreach(list, i, golden)
    {
        json_t *platform = json_object_get(
            json_array_get(json_object_get(worlds, "platforms"), i),
            "platform");
        char name[40];

        snprintf(name, sizeof(name), "platform %zu", i);
        expect(name, "makespan", auto_makespan_us("auto:replicate=1", platform),
               json_integer_value(json_object_get(golden, "makespan_us")));
        CU_ASSERT_DOUBLE_EQUAL(
            auto_bound_us(platform),
            json_number_value(json_object_get(golden, "bound_us")), 1);
        add_world(platform, &means);
    }
    means = close_means(means, 200, "the 200 golden worlds");
    CU_ASSERT_TRUE(means.plain <= 1.89);
    CU_ASSERT_TRUE(means.copies <= 1.59);
    json_decref(file);
    json_decref(worlds);
}

static void test_other_platforms(void)
{
    struct means means = { 0, 0 };

    for (uint64_t seed = 1; seed <= 1000; seed++) {
        json_t *platform = auto_world(seed);

        add_world(platform, &means);
        json_decref(platform);
    }
    means = close_means(means, 1000, "1000 others");
    CU_ASSERT_TRUE(means.plain <= 1.89);
    CU_ASSERT_TRUE(means.copies <= 1.59);
}

static void test_different_speeds(void)
{
    static const int64_t interval_us[] = { 100000, 100000, 200000, 400000 };
    struct nf_farm_sim_result result;
    json_t *platform =
        json_pack("{s:i, s:i, s:[s,s,s,s], s:[i,i], s:[i,i]}", "units", 320,
                  "cost", 100000, "speed", "1", "1", "1/2", "1/4", "ts", 5000,
                  1000, "tr", 5000, 1000);

    CU_ASSERT_TRUE(auto_makespan_us("auto", platform) <= 11750000);
    CU_ASSERT_TRUE(auto_makespan_us("presend:td=auto", platform) <= 11750000);
    CU_ASSERT_FATAL(auto_run_spec("auto", platform, &result));
    for (uint32_t i = 0; i < 4; i++) {
        /* the interval that the paper has one choose: t_D = t_P, of each */
        CU_ASSERT_EQUAL(result.learnt[i].interval_us, interval_us[i]);
        CU_ASSERT_EQUAL(result.learnt[i].window, 2);
        CU_ASSERT_EQUAL(result.learnt[i].results, result.slave[i].units);
    }
    nf_farm_sim_fini(&result);
    json_decref(platform);
}

/* 320 units of 0.1 s; at 2 s one of four slaves becomes 1000 times slower. */
static void test_slave_that_slows_down(void)
{
    json_t *platform =
        json_pack("{s:i, s:i, s:i, s:[i,i], s:[i,i], s:{s:[[i,s]]}}", "units",
                  320, "slaves", 4, "cost", 100000, "ts", 5000, 1000, "tr",
                  5000, 1000, "slow", "3", 2000000, "1/1000");
    struct nf_farm_sim_result result;

    CU_ASSERT_FATAL(auto_run_spec("auto:replicate=1", platform, &result));
    CU_ASSERT_TRUE(result.makespan_us <= 10100000);
    CU_ASSERT_TRUE(result.copies >= 1);
    CU_ASSERT_TRUE(result.copies <= 16);
    CU_ASSERT_TRUE(auto_makespan_us("auto", platform) > 100000000);
    nf_farm_sim_fini(&result);
    json_decref(platform);
}

/* From some time on one slave is as good as dead, but nobody is told.
 * @param alone_us_p  set to what the slowest of speeds would need alone */
static int64_t stalled_us(uint64_t seed, int64_t *alone_us_p)
{
    struct nf_rng rng = { seed };
    json_t *platform = auto_world(seed), *cost;
    uint64_t p = json_array_size(json_object_get(platform, "speed"));
    uint64_t bound_us = (uint64_t)auto_bound_us(platform);
    int64_t makespan_us;
    char slave[24];
    size_t i;

    /* a way there and back for each of the WMAX chunks that it has */
    *alone_us_p =
        32 * (json_integer_value(json_object_get(platform, "prop")) + 1000);
    json_array_foreach(json_object_get(platform, "cost"), i,
                       cost) *alone_us_p += 4 * json_integer_value(cost);
    snprintf(slave, sizeof(slave), "%u", (unsigned)nf_rng_below(&rng, p));
    json_object_set_new(platform, "slow",
                        json_pack("{s:[[I,s]]}", slave,
                                  (json_int_t)nf_rng_below(&rng, 1 + bound_us),
                                  "1/1000000"));
    makespan_us = auto_makespan_us("auto:replicate=1", platform);
    json_decref(platform);
    return makespan_us;
}

static void test_stalled_slaves(void)
{
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        int64_t alone_us = 0, makespan_us = stalled_us(seed, &alone_us);
        bool good = makespan_us > 0 && makespan_us <= 2 * alone_us;

        if (!good)
            fprintf(stderr, "seed %llu: %lld us, alone %lld us\n",
                    (unsigned long long)seed, (long long)makespan_us,
                    (long long)alone_us);
        CU_ASSERT_TRUE(good);
    }
}

/* ---- invariants ---- */

/* A pacer that watches the adaptive one. */
struct watch {
    uint64_t units, max_window;
    uint64_t handed_out, settled, copies;
    char broken[120];
};
static struct watch watch;

static void require(bool holds, const char *what, uint32_t slot, int64_t now_us)
{
    if (!holds && watch.broken[0] == '\0')
        snprintf(watch.broken, sizeof(watch.broken), "%s (slot %u, %lld us)",
                 what, slot, (long long)now_us);
}

static uint64_t window_of(const void *st, uint32_t slot)
{
    struct nf_slot_estimate estimate;

    if (nf_pacer_auto.estimate(st, slot, &estimate))
        return estimate.window;
    return watch.max_window < 2 ? watch.max_window : 2;
}

static enum nf_status watched_pick(void *st, const struct nf_pool_view *pool,
                                   int64_t now_us, uint32_t *slot_p,
                                   int64_t *wake_us_p)
{
    enum nf_status status =
        nf_pacer_auto.pick(st, pool, now_us, slot_p, wake_us_p);
    bool outstanding = false;

    for (uint32_t i = 0; i < pool->nslots; i++)
        outstanding |= pool->slots[i].outstanding > 0;
    require(status == NF_OK || outstanding || *wake_us_p != INT64_MAX,
            "4: nothing is outstanding, and nothing is sent", 0, now_us);
    require(status == NF_WAIT ||
                pool->slots[*slot_p].outstanding < window_of(st, *slot_p),
            "2: more than its window is sent to a slot", *slot_p, now_us);
    return status;
}

static enum nf_status watched_replicate(void *st,
                                        const struct nf_pool_view *pool,
                                        int64_t now_us, struct nf_copy *copy_p,
                                        int64_t *wake_us_p)
{
    enum nf_status status =
        nf_pacer_auto.replicate(st, pool, now_us, copy_p, wake_us_p);

    require(pool->left_units == 0, "5.5: copies are made early", 0, now_us);
    if (status != NF_OK)
        return status;
    require(pool->slots[copy_p->to].outstanding == 0,
            "5.5: a slot that has something copies", copy_p->to, now_us);
    require(pool->slots[copy_p->from].behind != NF_NO_COPY,
            "5.5: what may not be copied is", copy_p->from, now_us);
    watch.copies++;
    return status;
}

static void watched_sent(void *st, const struct nf_pool_view *pool,
                         uint32_t slot, uint64_t units, int64_t now_us)
{
    require(pool->slots[slot].outstanding <= watch.max_window,
            "2: more than WMAX are outstanding", slot, now_us);
    watch.handed_out = pool->units - pool->left_units;
    nf_pacer_auto.sent(st, pool, slot, units, now_us);
}

static struct nf_pacer_ops watching(void)
{
    struct nf_pacer_ops ops = nf_pacer_auto;

    ops.pick = watched_pick;
    ops.replicate = watched_replicate;
    ops.sent = watched_sent;
    return ops;
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0])
                        : (x[1] > y[1]) - (x[1] < y[1]);
}

/* 1 and 3: at every event each unit is in the pool, outstanding or merged, and
 * it is merged once.  Events: {time, +unit: merged, -1 - unit: sent}. */
static void check_conservation(const struct nf_farm_sim_result *r)
{
    uint64_t nevents = 0, pool = watch.units, outstanding = 0, merged = 0;
    uint8_t *state = calloc(watch.units, 1);
    int64_t(*events)[2];

    for (uint64_t i = 0; i < r->nchunks; i++)
        nevents += 2 * r->chunks[i].count;
    events = calloc(nevents + 1, sizeof(*events));
    nevents = 0;
    for (uint64_t i = 0; i < r->nchunks; i++) {
        const struct nf_sim_chunk *c = &r->chunks[i];

        for (uint64_t u = c->first; u < c->first + c->count; u++) {
            events[nevents][0] = c->sent_us;
            events[nevents++][1] = -1 - (int64_t)u;
            if (c->merged_us < 0)
                continue;
            events[nevents][0] = c->merged_us;
            events[nevents++][1] = (int64_t)u;
        }
    }
    qsort(events, nevents, sizeof(*events), by_time);
    for (uint64_t i = 0; i < nevents; i++) {
        bool sent = events[i][1] < 0;
        uint8_t *s = &state[sent ? -1 - events[i][1] : events[i][1]];

        require(sent || *s > 0, "1: a unit is merged before it is sent", 0,
                events[i][0]);
        if (sent && *s == 0) {
            *s = 1;
            pool--;
            outstanding++;
        } else if (!sent && *s == 1) {
            *s = 2;
            outstanding--;
            merged++;
        }
        require(pool + outstanding + merged == watch.units, "1: a unit is lost",
                0, events[i][0]);
    }
    require(merged == watch.units, "3: a unit is not merged", 0, 0);
    free(state);
    free(events);
}

static void check_messages(const struct nf_farm_sim_result *r, uint64_t grains,
                           bool replicate)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < r->slaves; i++)
        if (r->slave[i].max_queue > most)
            most = r->slave[i].max_queue;
    require(r->data_messages == grains + r->copies,
            "3: more messages than grains and copies", 0, 0);
    require(r->copies == watch.copies, "5.5: copies are counted", 0, 0);
    require(replicate || (r->copies == 0 && r->duplicates == 0 &&
                          r->result_messages == grains),
            "3: duplicates without replication", 0, 0);
    /* those that were forgotten may lie there for a moment */
    require(most <= watch.max_window - 1 + r->cancelled,
            "2: a mailbox holds more than WMAX - 1 grains", 0, 0);
}

/* 6, where the estimates are right: constant costs and speeds, no bus, and so
 * many units that the first ones of each slave do not matter. */
static void check_end(const struct nf_farm_sim_result *r,
                      const json_t *platform)
{
    int64_t last_us = 0, first_idle_us = INT64_MAX, most_us = 0, way_us;

    for (uint32_t i = 0; i < r->slaves; i++) {
        int64_t end_us = 0;

        for (uint64_t k = 0; k < r->nchunks; k++) {
            const struct nf_sim_chunk *c = &r->chunks[k];

            if (c->slave != i)
                continue;
            if (c->computed_us > end_us)
                end_us = c->computed_us;
            if (c->computed_us - c->started_us > most_us)
                most_us = c->computed_us - c->started_us;
        }
        if (end_us > last_us)
            last_us = end_us;
        if (end_us < first_idle_us)
            first_idle_us = end_us;
    }
    way_us = 2 * (json_integer_value(json_object_get(platform, "prop")) +
                  json_integer_value(
                      json_array_get(json_object_get(platform, "ts"), 0)) +
                  json_integer_value(
                      json_array_get(json_object_get(platform, "ts"), 1)));
    require(last_us - first_idle_us <= most_us + way_us,
            "6: units wait behind a slow slave at the end", 0, last_us);
}

static bool is_plain(const json_t *platform, uint64_t units)
{
    const json_t *costs = json_object_get(platform, "cost");
    const json_t *slaves = json_object_get(platform, "speed");
    json_int_t first = json_integer_value(json_array_get(costs, 0));
    json_t *cost;
    size_t i;

    json_array_foreach(costs, i, cost) if (json_integer_value(cost) !=
                                           first) return false;
    return json_object_get(platform, "slow") == NULL &&
           strcmp(json_string_value(json_object_get(platform, "net")),
                  "links") == 0 &&
           units >= 40 * json_array_size(slaves);
}

/* @return what is broken in the world of this seed, or NULL */
static const char *check_world(uint64_t seed)
{
    struct nf_pacer_ops ops = watching();
    struct nf_rng rng = { seed * 31 };
    struct nf_farm_sim_result result;
    struct nf_policy policy;
    json_t *platform = auto_world(seed);
    uint64_t grain = nf_rng_below(&rng, 3) ? 1 : 1 + nf_rng_below(&rng, 5);
    bool replicate = nf_rng_below(&rng, 2) == 1;
    char spec[80];

    memset(&watch, 0, sizeof(watch));
    watch.units = json_array_size(json_object_get(platform, "cost"));
    watch.max_window = nf_rng_below(&rng, 3) ? 16 : 1 + nf_rng_below(&rng, 20);
    snprintf(spec, sizeof(spec), "auto:g=%d,wmax=%d,replicate=%d", (int)grain,
             (int)watch.max_window, (int)replicate);
    if (nf_policy_parse(spec, &policy, NULL) != NF_OK)
        return "the specification";
    policy.pacer = &ops;
    if (!auto_run(&policy, platform, &result)) {
        json_decref(platform);
        return "the job comes to its end";
    }
    check_conservation(&result);
    check_messages(&result, (watch.units + grain - 1) / grain, replicate);
    if (is_plain(platform, watch.units / grain) && watch.max_window >= 2 &&
        !replicate)
        check_end(&result, platform);
    if (watch.broken[0] != '\0')
        fprintf(stderr, "seed %llu, %s: broken: %s\n", (unsigned long long)seed,
                spec, watch.broken);
    nf_farm_sim_fini(&result);
    json_decref(platform);
    return watch.broken[0] != '\0' ? watch.broken : NULL;
}

static void test_invariants(void)
{
    unsigned broken = 0;

    for (uint64_t seed = 1; seed <= 3000 && broken < 5; seed++)
        broken += check_world(seed) != NULL;
    CU_ASSERT_EQUAL(broken, 0);
}

/* 5: do two policies send the same at the same time? */
static bool same_trace(const char *a, const char *b, const json_t *platform)
{
    struct nf_farm_sim_result ra, rb;
    bool same;

    if (!auto_run_spec(a, platform, &ra))
        return false;
    if (!auto_run_spec(b, platform, &rb)) {
        nf_farm_sim_fini(&ra);
        return false;
    }
    same = ra.nchunks == rb.nchunks && ra.makespan_us == rb.makespan_us;
    for (uint64_t i = 0; same && i < ra.nchunks; i++)
        same = ra.chunks[i].sent_us == rb.chunks[i].sent_us &&
               ra.chunks[i].slave == rb.chunks[i].slave &&
               ra.chunks[i].first == rb.chunks[i].first;
    nf_farm_sim_fini(&ra);
    nf_farm_sim_fini(&rb);
    return same;
}

static void test_without_gate(void)
{
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        json_t *platform = auto_world(seed);
        bool plenty = json_array_size(json_object_get(platform, "cost")) >=
                      4 * json_array_size(json_object_get(platform, "speed"));
        bool same = same_trace("auto:gate=0,wmax=1", "send", platform) &&
                    (!plenty || same_trace("auto:gate=0,wmax=2",
                                           "fixed+window:w=2", platform));

        if (!same)
            fprintf(stderr, "seed %llu: the traces differ\n",
                    (unsigned long long)seed);
        CU_ASSERT_TRUE(same);
        json_decref(platform);
    }
}

static CU_TestInfo goldens[] = {
    { "replication equals the golden runs exactly", test_goldens },
    { "auto reaches its means on the golden platforms, exactly as they say",
      test_golden_platforms },
    CU_TEST_INFO_NULL,
};

static CU_TestInfo numbers[] = {
    { "auto reaches its means on other platforms too", test_other_platforms },
    { "slaves of different speeds end together", test_different_speeds },
    { "a slave that becomes slow costs little with replication",
      test_slave_that_slows_down },
    { "a slave that stalls never stalls the job, in 1000 worlds",
      test_stalled_slaves },
    CU_TEST_INFO_NULL,
};

static CU_TestInfo invariants[] = {
    { "invariants 1 to 4 and 6 hold in 3000 random worlds", test_invariants },
    { "without gate, a window of 1 is send and one of 2 is window:w=2",
      test_without_gate },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "goldens", NULL, NULL, NULL, NULL, goldens },
    { "numbers", NULL, NULL, NULL, NULL, numbers },
    { "invariants", NULL, NULL, NULL, NULL, invariants },
    CU_SUITE_INFO_NULL,
};

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--seed") == 0)
        return check_world(strtoull(argv[2], NULL, 10)) != NULL;
    return nf_unit_main(suites);
}
