/* Simulated slaves that end, fall silent and come back; slots; and what a
 * simulation tells about itself. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "sim/farm_sim.h"
#include "tests/unit/nf_unit.h"
#include <stdio.h>
#include <string.h>

enum { UNITS_MAX = 400 };

/* What was seen of a run. */
struct log {
    const struct nf_world *world;
    uint64_t moments[NF_SIM_LOST + 1];
    uint64_t merged[UNITS_MAX]; /* times that each unit's result was taken */
    int64_t now_us;
};

static void see(void *user, enum nf_sim_moment moment,
                const struct nf_sim_chunk *chunk, int64_t now_us)
{
    struct log *log = user;
    const int64_t at_us[] = {
        chunk->sent_us,     chunk->arrived_us, chunk->started_us,
        chunk->computed_us, chunk->merged_us,
    };

    CU_ASSERT(now_us >= log->now_us);
    log->now_us = now_us;
    log->moments[moment]++;
    if (moment == NF_SIM_LOST)
        return;
    CU_ASSERT_EQUAL(at_us[moment], now_us);
    for (int i = 0; i < (int)moment; i++)
        CU_ASSERT(at_us[i] >= 0 && at_us[i] <= at_us[i + 1]);
    for (uint64_t i = 0; moment == NF_SIM_MERGED && i < chunk->count; i++)
        log->merged[chunk->first + i]++;
}

static enum nf_status simulate(const char *spec, const char *platform,
                               bool keep, struct log *log,
                               struct nf_farm_sim_result *result_p,
                               struct nf_error *err)
{
    struct nf_farm_sim_options options = {
        .seed = 1,
        .keep_chunks = keep,
        .watch = log ? see : NULL,
        .user = log,
    };
    struct nf_policy policy;
    struct nf_world world;
    char text[2048];
    enum nf_status status = nf_policy_parse(spec, &policy, err);

    snprintf(text, sizeof(text), "%s", platform);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    if (!status)
        status = nf_world_parse_text(text, strlen(text), "p", NULL, NULL,
                                     &world, err);
    if (status)
        return status;
    status = nf_farm_sim(&world, &policy, &options, result_p, err);
    nf_world_fini(&world);
    return status;
}

static bool run(const char *spec, const char *platform, struct log *log,
                struct nf_farm_sim_result *result_p)
{
    struct nf_error err;

    if (log)
        memset(log, 0, sizeof(*log));
    if (simulate(spec, platform, false, log, result_p, &err) == NF_OK)
        return true;
    fprintf(stderr, "%s: %s\n", spec, err.text);
    CU_FAIL("the simulation failed");
    return false;
}

static void check(const char *platform, int64_t makespan_us,
                  uint32_t lost_slaves, uint64_t retries)
{
    struct nf_farm_sim_result result;
    struct log log;

    if (!run("send", platform, &log, &result))
        return;
    if (result.makespan_us != makespan_us)
        fprintf(stderr, "%s: %lld\n", platform, (long long)result.makespan_us);
    CU_ASSERT_EQUAL(result.makespan_us, makespan_us);
    CU_ASSERT_EQUAL(result.lost_slaves, lost_slaves);
    CU_ASSERT_EQUAL(result.retries, retries);
    CU_ASSERT_EQUAL(result.failed_units, 0);
    nf_farm_sim_fini(&result);
}

/* Two slaves, four units of 100 us, Send, no network. */
static void test_dies(void)
{
    /* 0, then what came back, and the rest: one after the other */
    check("{'units':4,'slaves':2,'cost':100,'failures':"
          "[{'slave':1,'at':50,'notice':30}]}",
          400, 1, 1);
    /* the same, if the master hears of it when all else is done */
    check("{'units':4,'slaves':2,'cost':100,'failures':"
          "[{'slave':1,'at':50,'notice':930}]}",
          1080, 1, 1);
    /* a new one comes at 150 and gets the next unit */
    check("{'units':4,'slaves':2,'cost':100,'failures':"
          "[{'slave':1,'at':50,'notice':30,'until':150}]}",
          300, 1, 1);
    /* a chunk that is on its way to the one that ends is not for the new one,
     * whose first then comes behind it */
    check("{'units':2,'slaves':2,'cost':100,'ts':100,'failures':"
          "[{'slave':1,'at':50,'until':60}]}",
          300, 1, 1);
}

/* What the master sends before it hears of the end is for the dead slave, also
 * if it arrives when there is a new one: at 240, that came at 200. */
static void test_between_lives(void)
{
    struct nf_farm_sim_result result;
    struct log log;

    if (run("presend:td=100us",
            "{'units':4,'slaves':2,'cost':10,'ts':120,'failures':"
            "[{'slave':1,'at':50,'notice':100,'until':200}]}",
            &log, &result)) {
        CU_ASSERT_EQUAL(log.moments[NF_SIM_LOST], 2);
        CU_ASSERT_EQUAL(result.retries, 2);
        CU_ASSERT_EQUAL(result.duplicates, 0);
        nf_farm_sim_fini(&result);
    }
}

/* A result of 50 us on the wire when its slave ends, at 120. */
static void test_host(void)
{
    check("{'units':2,'slaves':2,'cost':100,'tr':50,'failures':"
          "[{'slave':1,'at':120,'notice':100}]}",
          150, 0, 0);
    check("{'units':2,'slaves':2,'cost':100,'tr':50,'failures':"
          "[{'slave':1,'at':120,'notice':100,'kind':'host'}]}",
          370, 1, 1);
}

static void test_silent(void)
{
    struct nf_farm_sim_result result;
    struct log log;

    /* nobody minds, and the result comes when the cable is mended */
    check("{'units':2,'slaves':2,'cost':100,'failures':"
          "[{'slave':1,'at':50,'kind':'silent','until':400}]}",
          400, 0, 0);
    /* the master does mind: 20 ms of silence, looked for 16 times in that */
    if (run("send",
            "{'units':60,'slaves':2,'cost':10000,'silence':20000,'failures':"
            "[{'slave':1,'at':5000,'kind':'silent','until':200000}]}",
            &log, &result)) {
        CU_ASSERT_EQUAL(result.lost_slaves, 1);
        CU_ASSERT_EQUAL(result.retries, 1);
        CU_ASSERT_EQUAL(result.duplicates, 1); /* its late result */
        CU_ASSERT_EQUAL(log.merged[1], 2);
        CU_ASSERT_EQUAL(result.makespan_us, 400000);
        CU_ASSERT(result.slave[1].units > 10); /* it came back */
        nf_farm_sim_fini(&result);
    }
    /* late, but before anybody else has done it: it counts */
    if (run("send",
            "{'units':4,'slaves':2,'cost':[100000,1000,9,9],'silence':20000,"
            "'failures':"
            "[{'slave':1,'at':500,'kind':'silent','until':60000}]}",
            &log, &result)) {
        CU_ASSERT_EQUAL(result.lost_slaves, 1);
        CU_ASSERT_EQUAL(result.duplicates, 0);
        CU_ASSERT_EQUAL(log.merged[1], 1);
        nf_farm_sim_fini(&result);
    }
}

static void test_nobody_left(void)
{
    struct nf_farm_sim_result result;
    struct nf_error err;

    CU_ASSERT_EQUAL(simulate("send",
                             "{'units':9,'slaves':2,'cost':100,'failures':"
                             "[{'slave':1,'at':150},{'slave':0,'at':250}]}",
                             false, NULL, &result, &err),
                    NF_ERR_FAILED);
    CU_ASSERT_STRING_EQUAL(
        err.text, "no slave is left after 0.000250 s: 3 of 9 units are done");
}

/* A unit at whose every start a slave ends is given up, the others not. */
static void test_poison(void)
{
    struct nf_farm_sim_result result;
    struct nf_error err;
    enum nf_status status = simulate(
        "send",
        "{'units':1,'slaves':1,'cost':100,'failures':["
        "{'slave':0,'at':50,'until':60},{'slave':0,'at':80,'until':90},"
        "{'slave':0,'at':99,'until':110}]}",
        false, NULL, &result, &err);

    CU_ASSERT_EQUAL_FATAL(status, NF_OK);
    CU_ASSERT_EQUAL(result.failed_units, 1);
    CU_ASSERT_EQUAL(result.lost_slaves, 3);
    nf_farm_sim_fini(&result);
}

static void test_slots(void)
{
    struct nf_farm_sim_result result;

    if (run("send", "{'units':4,'slaves':1,'slots':2,'cost':100}", NULL,
            &result)) {
        CU_ASSERT_EQUAL(result.makespan_us, 200);
        CU_ASSERT_EQUAL(result.slots, 2);
        CU_ASSERT_EQUAL(result.slave[0].units, 4);
        CU_ASSERT_EQUAL(result.slave[0].busy_us, 400);
        CU_ASSERT_EQUAL(result.slave[0].idle_us, 0);
        nf_farm_sim_fini(&result);
    }
    /* three slots of two slaves; they share the slave's wire */
    if (run("send", "{'units':3,'slaves':2,'slots':[2,1],'ts':10,'cost':100}",
            NULL, &result)) {
        CU_ASSERT_EQUAL(result.makespan_us, 120);
        CU_ASSERT_EQUAL(result.slave[0].units, 2);
        CU_ASSERT_EQUAL(result.slave[0].idle_us, 2 * 120 - 200);
        nf_farm_sim_fini(&result);
    }
    /* both chunks of the slave that ends come back */
    check("{'units':3,'slaves':2,'slots':[2,1],'cost':100,'failures':"
          "[{'slave':0,'at':50}]}",
          300, 1, 2);
}

static void test_load(void)
{
    /* 50 us at speed 1, the other half at 1/2 */
    check("{'units':1,'slaves':1,'cost':100,'load':{'0':[[50,'1/2']]}}", 150, 0,
          0);
    check("{'units':1,'slaves':1,'cost':100,'slow':{'0':[[50,'1/2']]}}", 100, 0,
          0);
}

/* One slave, 2 units: 5 us there, 90 of computing, 5 back, and the master
 * takes 3 to send and 4 to take: idle is 0 under Send, and the slot is free
 * for 3 and then 3 us while the master works. */
static void test_parts(void)
{
    static const char platform[] = "{'units':2,'slaves':1,'cost':90,'ts':5,"
                                   "'tr':5,'o_send':3,'o_recv':4}";
    struct nf_farm_sim_result result;

    if (run("send", platform, NULL, &result)) {
        CU_ASSERT_EQUAL(result.makespan_us, 2 * 107);
        CU_ASSERT_EQUAL(result.parts.compute_us, 180);
        CU_ASSERT_EQUAL(result.parts.master_us, 6);
        CU_ASSERT_EQUAL(result.parts.idle_us, 0);
        CU_ASSERT_EQUAL(result.parts.tail_us, 0);
        CU_ASSERT_EQUAL(result.parts.transfer_us, 2 * 14);
        nf_farm_sim_fini(&result);
    }
    /* a timer that waits 200 us between sends holds back */
    if (run("presend:td=200us", platform, NULL, &result)) {
        CU_ASSERT_EQUAL(result.makespan_us, 200 + 107);
        CU_ASSERT_EQUAL(result.parts.idle_us, 200 - 107);
        nf_farm_sim_fini(&result);
    }
    /* the second slave has nothing after its unit */
    if (run("send", "{'units':3,'slaves':2,'cost':100}", NULL, &result)) {
        CU_ASSERT_EQUAL(result.parts.tail_us, 100);
        CU_ASSERT_EQUAL(result.parts.compute_us, 300);
        nf_farm_sim_fini(&result);
    }
}

/* ---- random worlds ---- */

static uint64_t below(struct nf_rng *rng, uint64_t bound)
{
    return nf_rng_below(rng, bound);
}

static void append(char *text, size_t bytes, const char *more)
{
    size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s", more);
}

/* Slave 0 never fails, so that the job always ends. */
static void add_failures(struct nf_rng *rng, unsigned slaves, char *text,
                         size_t bytes)
{
    static const char *const kinds[] = { "dies", "host", "silent" };
    char more[160];
    bool first = true;

    append(text, bytes, ",'silence':3000,'failures':[");
    for (unsigned s = 1; s < slaves; s++) {
        uint64_t at_us = 0;

        for (uint64_t i = below(rng, 3); i > 0; i--) {
            uint64_t kind = below(rng, 3), long_us = 1 + below(rng, 9000);

            at_us += below(rng, 4000);
            snprintf(more, sizeof(more),
                     "%s{'slave':%u,'at':%u,'kind':'%s','until':%u%s",
                     first ? "" : ",", s, (unsigned)at_us, kinds[kind],
                     (unsigned)(at_us + long_us), kind == 2 ? "}" : "");
            append(text, bytes, more);
            if (kind < 2) {
                snprintf(more, sizeof(more), ",'notice':%u}",
                         (unsigned)below(rng, long_us));
                append(text, bytes, more);
            }
            at_us += long_us;
            first = false;
        }
    }
    append(text, bytes, "]}");
}

static unsigned make_world(struct nf_rng *rng, char *text, size_t bytes)
{
    static const char *const nets[] = { "links", "bus", "hub" };
    unsigned units = 1 + (unsigned)below(rng, 60);
    unsigned slaves = 1 + (unsigned)below(rng, 5);

    snprintf(text, bytes,
             "{'units':%u,'slaves':%u,'cost':{'distribution':'uniform',"
             "'low':%u,'high':1000,'seed':%u},'slots':%u,'ts':[%u,%u],"
             "'tr':%u,'o_send':%u,'o_recv':%u,'prop':%u,'net':'%s',"
             "'blocking':%s,'load':{'0':[[%u,'1/2'],[5000,2]]}",
             units, slaves, (unsigned)below(rng, 1000),
             (unsigned)below(rng, 99), 1 + (unsigned)below(rng, 3),
             (unsigned)below(rng, 50), (unsigned)below(rng, 9),
             (unsigned)below(rng, 50), (unsigned)below(rng, 9),
             (unsigned)below(rng, 9), (unsigned)below(rng, 2) * 700,
             nets[below(rng, 3)], below(rng, 2) ? "true" : "false",
             (unsigned)below(rng, 4000));
    add_failures(rng, slaves, text, bytes);
    return units;
}

static void check_laws(const char *text, unsigned units,
                       const struct nf_farm_sim_result *result,
                       const struct log *log)
{
    const struct nf_sim_parts *parts = &result->parts;
    uint64_t merged = 0;
    double all_us = (double)result->makespan_us * result->slots;

    for (unsigned i = 0; i < units; i++) {
        if (log->merged[i] == 0 && result->failed_units == 0)
            fprintf(stderr, "unit %u is missing: %s\n", i, text);
        CU_ASSERT(log->merged[i] > 0 || result->failed_units > 0);
        merged += log->merged[i];
    }
    CU_ASSERT_EQUAL(merged - result->duplicates, units - result->failed_units);
    CU_ASSERT_EQUAL(log->moments[NF_SIM_SENT], result->data_messages);
    CU_ASSERT_EQUAL(log->moments[NF_SIM_MERGED], result->result_messages);
    CU_ASSERT(log->moments[NF_SIM_MERGED] + log->moments[NF_SIM_LOST] <=
              log->moments[NF_SIM_SENT]);
    CU_ASSERT(parts->compute_us >= 0 && parts->master_us >= 0 &&
              parts->idle_us >= 0 && parts->tail_us >= 0);
    CU_ASSERT_DOUBLE_EQUAL(parts->compute_us + parts->transfer_us +
                               parts->master_us + parts->idle_us +
                               parts->tail_us,
                           all_us, 1e-6 * all_us + 1e-6);
}

static void compare(const struct nf_farm_sim_result *a,
                    const struct nf_farm_sim_result *b)
{
    CU_ASSERT_EQUAL(a->makespan_us, b->makespan_us);
    CU_ASSERT_EQUAL(a->result_messages, b->result_messages);
    CU_ASSERT_EQUAL(a->parts.transfer_us, b->parts.transfer_us);
    CU_ASSERT_EQUAL(a->nchunks, 0);
    CU_ASSERT_EQUAL(b->nchunks, b->data_messages);
}

static void test_random(void)
{
    static const char *const specs[] = {
        "send", "presend:td=700us", "gss",
        "auto", "window:w=3",       "presend-round:td=500us",
    };
    struct nf_rng rng = { 7 };
    char text[2048];

    for (unsigned i = 0; i < 1200; i++) {
        const char *spec = specs[i % 6];
        unsigned units = make_world(&rng, text, sizeof(text));
        struct nf_farm_sim_result result, again;
        struct nf_error err;
        struct log log;

        if (!run(spec, text, &log, &result)) {
            fprintf(stderr, "%s\n", text);
            continue;
        }
        check_laws(text, units, &result, &log);
        if (simulate(spec, text, true, NULL, &again, &err) == NF_OK) {
            compare(&result, &again);
            nf_farm_sim_fini(&again);
        } else {
            CU_FAIL("the same simulation fails when chunks are kept");
        }
        nf_farm_sim_fini(&result);
    }
}

static void test_out_of_memory(void)
{
    struct nf_farm_sim_result result;
    struct nf_error err;
    enum nf_status status = NF_ERR_NOMEM;
    long n;

    for (n = 0; status == NF_ERR_NOMEM && n < 10000; n++) {
        nf_alloc_fail_after(n);
        status = simulate("send",
                          "{'units':9,'slaves':3,'cost':1000,'silence':2000,"
                          "'net':'hub','ts':5,'failures':["
                          "{'slave':1,'at':500,'until':1500},"
                          "{'slave':2,'at':500,'kind':'silent','until':9000}]}",
                          false, NULL, &result, &err);
        nf_alloc_fail_after(-1);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(n > 10);
    if (status == NF_OK)
        nf_farm_sim_fini(&result);
}

static CU_TestInfo tests[] = {
    { "units of slaves that end go to others", test_dies },
    { "what is sent to a dead slave is not for its successor",
      test_between_lives },
    { "a host takes what is on the wire with it", test_host },
    { "silence ends, or the master loses patience", test_silent },
    { "nobody left is an error that says when", test_nobody_left },
    { "a unit that ends three slaves is given up", test_poison },
    { "slots compute side by side and share a wire", test_slots },
    { "load changes chunks that run, slow does not", test_load },
    { "the time of the slots is split as in a real run", test_parts },
    { "over random worlds nothing is lost and all adds up", test_random },
    { "running out of memory anywhere is reported", test_out_of_memory },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "failures", NULL, NULL, NULL, NULL, tests },
    CU_SUITE_INFO_NULL,
};

int main(void)
{
    return nf_unit_main(suites);
}
