/* Emulated worlds: what is asked for, and jobs that run in one. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "master/emulate.h"
#include "slave/kernel.h"
#include "tests/unit/nf_unit.h"

/* ---------------------------------------------------------------- parsing */

static void test_defaults(void)
{
    struct nf_emulate e;

    CU_ASSERT_EQUAL(nf_emulate_parse("unit=33ms", &e, NULL), NF_OK);
    CU_ASSERT_EQUAL(e.unit_us, 33000);
    CU_ASSERT_EQUAL(e.send.fixed_us + e.send.per_unit_us, 0);
    CU_ASSERT_EQUAL(e.recv.fixed_us + e.recv.per_unit_us, 0);
    CU_ASSERT_EQUAL(e.wire.fixed_us + e.wire.per_unit_us, 0);
    CU_ASSERT_EQUAL(e.wires, NF_EMULATE_BUS);
    CU_ASSERT_FALSE(e.blocking);
    CU_ASSERT_EQUAL(nf_emulate_speed(&e, 0), NF_EMULATE_SPEED_ONE);
}

static void test_everything(void)
{
    struct nf_emulate e;

    CU_ASSERT_EQUAL(
        nf_emulate_parse("speeds=1/0.25/1.5,unit=1s,send=0.9ms,wire=1ms+2us,"
                         "recv=0+3us,net=links,blocking=yes",
                         &e, NULL),
        NF_OK);
    CU_ASSERT_EQUAL(e.unit_us, 1000000);
    CU_ASSERT_EQUAL(e.send.fixed_us, 900);
    CU_ASSERT_EQUAL(e.send.per_unit_us, 0);
    CU_ASSERT_EQUAL(nf_emulate_time_us(&e.wire, 10), 1020);
    CU_ASSERT_EQUAL(nf_emulate_time_us(&e.recv, 7), 21);
    CU_ASSERT_EQUAL(e.wires, NF_EMULATE_LINKS);
    CU_ASSERT_TRUE(e.blocking);
    CU_ASSERT_EQUAL(nf_emulate_speed(&e, 1), 250000);
    CU_ASSERT_EQUAL(nf_emulate_speed(&e, 2), 1500000);
    CU_ASSERT_EQUAL(nf_emulate_speed(&e, 3), NF_EMULATE_SPEED_ONE);
    CU_ASSERT_EQUAL(nf_emulate_parse("unit=1ms,send=2ms", &e, NULL), NF_OK);
    CU_ASSERT_EQUAL(e.recv.fixed_us, 2000); /* as send, if not given */
    CU_ASSERT(nf_emulate_time_us(&e.send, UINT64_MAX) > 0);
}

static void test_refused(void)
{
    /* what, and a word of the reason */
    static const char *const bad[][2] = {
        { "", "key=value" },
        { "unit", "key=value" },
        { "unit=", "want a time" },
        { "unit=33", "needs its unit, as 33ms" },
        { "unit=-1ms", "want a time" },
        { "unit=0ms", "at least 1us" },
        { "unit=2h", "want a time" },
        { "unit=nanms", "want a time" },
        { "send=1ms", "how long is a unit" },
        { "unit=1ms,unit=1ms", "twice" },
        { "unit=1ms,colour=red", "no key \"colour\"" },
        { "unit=1ms,", "key=value" },
        { "unit=1ms,send=1", "needs its unit" },
        { "unit=1ms,wire=1ms+", "want a time" },
        { "unit=1ms,wire=1ms+1ms+1ms", "want a time" },
        { "unit=1ms,net=hub", "bus or links" },
        { "unit=1ms,blocking=1", "no or yes" },
        { "unit=1ms,speeds=", "joined by" },
        { "unit=1ms,speeds=1/", "joined by" },
        { "unit=1ms,speeds=1/0", "\"0\"" },
        { "unit=1ms,speeds=-1", "\"-1\"" },
        { "unit=1ms,speeds=1/inf", "\"inf\"" },
        { "unit=1ms,speeds=1;2", "\"1;2\"" },
    };
    char long_spec[2 * NF_EMULATE_SPEC_BYTES];
    struct nf_emulate e = { .unit_us = 77 };
    struct nf_error err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CU_ASSERT_EQUAL(nf_emulate_parse(bad[i][0], &e, &err), NF_ERR_INVAL);
        CU_ASSERT(strstr(err.text, bad[i][1]) != NULL);
        if (strstr(err.text, bad[i][1]) == NULL)
            printf("\n  %s: %s", bad[i][0], err.text);
    }
    memset(long_spec, '1', sizeof(long_spec) - 1);
    long_spec[sizeof(long_spec) - 1] = '\0';
    CU_ASSERT_EQUAL(nf_emulate_parse(long_spec, &e, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(e.unit_us, 77);
}

/* ---------------------------------------------------------------- kernels */

static int nothing(const struct nf_work *work)
{
    return work->first == 3; /* unit 3 fails */
}

/* As a slave runs a lease of `count` units.  @return compute_us */
static int64_t run_lease(struct nf_kernel *kernel, uint64_t first,
                         uint64_t count, atomic_bool *ending)
{
    struct nf_kernel_state state = { .end_us = nf_now_us() };
    struct nf_slave_lease *lease = nf_calloc(1, sizeof(*lease));
    struct nf_lease_pool pool = { NULL, 0 };
    int64_t compute_us;

    if (lease == NULL)
        return 0;
    lease->m.lease = 1;
    lease->m.first = first;
    lease->m.count = count;
    lease->arrival_us = nf_now_us();
    kernel->ending = ending;
    nf_kernel_run(kernel, &state, lease, nf_now_us());
    /* its time ends when the emulated units do: no lateness adds up */
    CU_ASSERT(state.end_us >= lease->arrival_us + lease->compute_us);
    compute_us = lease->compute_us;
    nf_lease_release(&pool, lease);
    nf_lease_pool_fini(&pool);
    nf_kernel_state_fini(&state);
    return compute_us;
}

static void test_compute_time(void)
{
    static const struct nf_app app = { .name = "nothing", .compute = nothing };
    struct nf_kernel kernel = { .app = &app,
                                .emulated_unit_us = 10000,
                                .emulated_speed = 3000000 };
    atomic_bool ending = false;
    int64_t before_us = nf_now_us(), compute_us;

    /* 2 * 10000 / 3 = 6666.67; more only if computing nothing took so long */
    compute_us = run_lease(&kernel, 0, 2, &ending);
    CU_ASSERT(compute_us >= 6667);
    CU_ASSERT(nf_now_us() - before_us >= 6667);
    kernel.emulated_speed = 500000;
    compute_us = run_lease(&kernel, 0, 2, &ending);
    CU_ASSERT(compute_us >= 40000);
    /* the unit that fails takes no emulated time, the others do */
    kernel.emulated_speed = NF_EMULATE_SPEED_ONE;
    compute_us = run_lease(&kernel, 3, 2, &ending);
    CU_ASSERT(compute_us >= 10000);
}

static atomic_bool slave_ends;
static unsigned calls;

static int end_slave(const struct nf_work *work)
{
    (void)work;
    calls++;
    atomic_store(&slave_ends, true);
    return 0;
}

/* An hour of sleep ends with the slave; the other units are left alone, for
 * what they need may be gone. */
static void test_ending(void)
{
    static const struct nf_app app = { .name = "end", .compute = end_slave };
    struct nf_kernel kernel = { .app = &app,
                                .emulated_unit_us = 3600 * 1000000LL,
                                .emulated_speed = NF_EMULATE_SPEED_ONE };

    run_lease(&kernel, 0, 4, &slave_ends);
    CU_ASSERT_EQUAL(calls, 1);
}

/* ------------------------------------------------------------- whole jobs */

static int square(const struct nf_work *work)
{
    uint64_t n = work->first * work->first;

    return nf_buf_append(work->result, &n, sizeof(n));
}

static enum nf_status count(void *user, uint64_t unit, const void *result,
                            size_t bytes)
{
    uint64_t n = 0;

    if (bytes != sizeof(n))
        return NF_ERR_INVAL;
    memcpy(&n, result, sizeof(n));
    *(unsigned *)user += n == unit * unit;
    return NF_OK;
}

static void test_job(void)
{
    static const struct {
        const char *policy, *emulate;
        double least_s; /* total work / sum of speeds, or what must be */
    } runs[] = {
        { "send", "unit=4ms,send=1ms,wire=1ms", 0.040 },
        { "presend:td=0ms", "unit=4ms,send=100us,wire=1ms,blocking=yes",
          0.080 },
        { "presend-round:td=10ms", "unit=2ms,wire=100us,net=links", 0.040 },
        { "gss", "unit=4ms,wire=0+1ms,speeds=1/0.5", 160.0 / 3.5 * 1e-3 },
        { "auto", "unit=4ms,send=0.2ms,wire=0.1ms,blocking=yes", 0.040 },
        { "fixed:g=8+window:w=2", "unit=2ms,wire=0.1ms", 0.020 },
    };

    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        unsigned right = 0;
        struct nf_app app = { .name = "square",
                              .units = 40,
                              .user = &right,
                              .compute = square,
                              .collect = count,
                              .result_type = NF_INT64 };
        struct nf_options options = { .transport = "local",
                                      .slaves = 4,
                                      .policy = runs[i].policy,
                                      .emulate = runs[i].emulate };
        struct nf_report report;
        struct nf_error err = { NF_OK, "" };

        CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_OK);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_EQUAL(right, 40);
        CU_ASSERT_EQUAL(report.slots, 4); /* one each, whatever cores are */
        CU_ASSERT_EQUAL(report.slaves, 4);
        CU_ASSERT_EQUAL(report.retries, 0);
        CU_ASSERT_STRING_EQUAL(report.emulate, runs[i].emulate);
        CU_ASSERT(report.makespan_s >= runs[i].least_s);
        CU_ASSERT(report.makespan_s >= report.lower_bound_s);
    }
}

static void test_lower_bound(void)
{
    unsigned right = 0;
    struct nf_app app = { .name = "square",
                          .units = 30,
                          .user = &right,
                          .compute = square,
                          .collect = count,
                          .result_type = NF_INT64 };
    struct nf_options options = { .transport = "local",
                                  .slaves = 3,
                                  .emulate = "unit=3ms,speeds=1/0.5" };
    struct nf_report report;

    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, NULL), NF_OK);
    CU_ASSERT(fabs(report.lower_bound_s - 0.090 / 2.5) < 1e-9);
    options.emulate = NULL;
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, NULL), NF_OK);
    CU_ASSERT_STRING_EQUAL(report.emulate, "");
    CU_ASSERT(fabs(report.lower_bound_s - report.compute_s / report.slots) <
              1e-9);
}

static void test_too_many_speeds(void)
{
    struct nf_app app = { .name = "square", .units = 3, .compute = square };
    struct nf_options options = { .transport = "local",
                                  .slaves = 2,
                                  .emulate = "unit=3ms,speeds=1/1/1" };
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, &err), NF_ERR_INVAL);
    CU_ASSERT(strstr(err.text, "3 speeds for 2 slaves") != NULL);
    options.slaves = 0; /* one: that host's */
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, &err), NF_ERR_INVAL);
    CU_ASSERT(strstr(err.text, "3 speeds for 1 slaves") != NULL);
    options.emulate = "unit=3";
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, &err), NF_ERR_INVAL);
}

int main(void)
{
    CU_TestInfo parsing[] = {
        { "only the unit is required", test_defaults },
        { "every key is read", test_everything },
        { "what makes no sense is refused with a reason", test_refused },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo kernels[] = {
        { "a chunk takes its units by its speed", test_compute_time },
        { "a long sleep ends with its slave", test_ending },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo jobs[] = {
        { "results are right and times not too short", test_job },
        { "the lower bound is work by speeds", test_lower_bound },
        { "speeds of slaves that do not exist are refused",
          test_too_many_speeds },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "what is asked for", NULL, NULL, NULL, NULL, parsing },
        { "emulated kernels", NULL, NULL, NULL, NULL, kernels },
        { "emulated jobs", NULL, NULL, NULL, NULL, jobs },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
