/* Whole jobs whose results stay with slaves, on the local transport: every type
 * of element, results that can't be combined, functions that are slow. */
#include "config.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "nowfarm.h"
#include "tests/unit/nf_unit.h"

/* What slaves do, and what came home. */
static struct {
    enum nf_type type;
    enum nf_combine by;
    uint64_t bad_unit;              /* fails; UINT64_MAX: none */
    size_t (*count)(uint64_t unit); /* elements of its result */
    useconds_t combine_us;          /* how long combine() takes */
    atomic_int combining, combining_most;
    uint64_t collected, combined, wrong;
    uint64_t stop_at; /* collected; 0: never */
    volatile int stop;
} job;

static size_t three(uint64_t unit)
{
    (void)unit;
    return 3;
}

static size_t none(uint64_t unit)
{
    (void)unit;
    return 0;
}

static size_t unit_mod_2(uint64_t unit)
{
    return 1 + unit % 2;
}

static size_t element_bytes(void)
{
    return nf_type_bytes(job.type);
}

/* Small numbers of either sign, so that sums of 16 bits do not wrap. */
static int value_of(uint64_t unit, size_t i)
{
    return (int)((unit * 37 + i) % 100) - 40;
}

static void put_number(void *to, int value)
{
    int8_t i8 = (int8_t)value;
    int16_t i16 = (int16_t)value;
    int32_t i32 = value;
    int64_t i64 = value;
    float f32 = (float)value;
    double f64 = value;
    const void *const from[] = {
        [NF_BYTES] = &i8,    [NF_INT32] = &i32,   [NF_INT64] = &i64,
        [NF_FLOAT32] = &f32, [NF_FLOAT64] = &f64, [NF_INT16] = &i16
    };

    memcpy(to, from[job.type], element_bytes());
}

static bool is_number(const void *at, int value)
{
    uint8_t want[8];

    put_number(want, value);
    return memcmp(at, want, element_bytes()) == 0;
}

static int compute(const struct nf_work *work)
{
    size_t count = job.count(work->first);
    uint8_t *to = nf_buf_reserve(work->result, count * element_bytes());

    if (work->first == job.bad_unit)
        return 1;
    for (size_t i = 0; i < count; i++)
        put_number(to + i * element_bytes(), value_of(work->first, i));
    return 0;
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    (void)user;
    job.collected++;
    if (job.collected == job.stop_at)
        job.stop = 1;
    job.wrong += bytes != job.count(unit) * element_bytes();
    for (size_t i = 0; i < bytes / element_bytes(); i++)
        job.wrong += !is_number((const uint8_t *)result + i * element_bytes(),
                                value_of(unit, i));
    return NF_OK;
}

/* What element @p i of the units' results comes to. */
static int all_of(uint64_t units, size_t i)
{
    int all = value_of(0, i);

    for (uint64_t unit = 1; unit < units; unit++) {
        int value = value_of(unit, i);

        if (job.by == NF_COMBINE_MIN)
            all = value < all ? value : all;
        else if (job.by == NF_COMBINE_MAX)
            all = value > all ? value : all;
        else
            all += value;
    }
    return all;
}

static enum nf_status collect_combined(void *user, const void *result,
                                       size_t bytes, uint64_t units)
{
    (void)user;
    job.combined += units;
    job.wrong += bytes != 3 * element_bytes();
    for (size_t i = 0; i < bytes / element_bytes(); i++) {
        job.wrong += !is_number((const uint8_t *)result + i * element_bytes(),
                                all_of(units, i));
    }
    return NF_OK;
}

/* Sums of int64, slowly. */
static void combine(void *inout, const void *in, size_t bytes)
{
    int inside = atomic_fetch_add(&job.combining, 1) + 1;

    if (inside > atomic_load(&job.combining_most))
        atomic_store(&job.combining_most, inside);
    if (job.combine_us > 0)
        usleep(job.combine_us);
    for (size_t i = 0; i < bytes / 8; i++)
        ((int64_t *)inout)[i] += ((const int64_t *)in)[i];
    atomic_fetch_sub(&job.combining, 1);
}

static void hush(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static void prepare(enum nf_type type, size_t (*count)(uint64_t unit))
{
    memset(&job, 0, sizeof(job));
    job.type = type;
    job.count = count;
    job.bad_unit = UINT64_MAX;
}

static enum nf_status run(uint64_t units, enum nf_combine by,
                          const struct nf_options *more,
                          struct nf_report *report_p, struct nf_error *err)
{
    struct nf_app app = {
        .name = "jobs",
        .units = units,
        .compute = compute,
        .collect = collect,
        .collect_combined = collect_combined,
        .combine = combine,
        .combine_by = by,
        .result_type = job.type,
    };
    struct nf_options options = *more;

    job.by = by;
    options.transport = "local";
    options.policy = "send";
    options.slots = 1;
    options.notice = hush;
    options.stop = &job.stop;
    options.gather = by == NF_COMBINE_NONE ? "tree" : "reduce";
    err->text[0] = '\0';
    return nf_run(&app, &options, report_p, err);
}

/* -------------------------------------------------------------------------- */

static void test_all_types(void)
{
    static const struct nf_options options = { .slaves = 3 };
    struct nf_report report;
    struct nf_error err;

    for (int type = 0; nf_type_bytes((enum nf_type)type) > 0; type++) {
        prepare((enum nf_type)type, three);
        CU_ASSERT_EQUAL(run(50, NF_COMBINE_NONE, &options, &report, &err),
                        NF_OK);
        CU_ASSERT_EQUAL(job.collected, 50);
        CU_ASSERT_EQUAL(report.gathers, 1);
        CU_ASSERT_EQUAL(job.wrong, 0);
        if (type == NF_BYTES)
            continue; /* there is no sum of bytes */
        for (int by = NF_COMBINE_SUM; by <= NF_COMBINE_MAX; by++) {
            job.combined = 0;
            CU_ASSERT_EQUAL(
                run(50, (enum nf_combine)by, &options, &report, &err), NF_OK);
            CU_ASSERT_EQUAL(job.combined, 50);
            CU_ASSERT_EQUAL(report.gathers, 1);
            CU_ASSERT_EQUAL(job.wrong, 0);
        }
    }
}

/* Such jobs once went on for ever: the slave refused, and was replaced. */
static void test_what_cannot_be_combined(void)
{
    struct nf_options options = { .slaves = 1 };
    struct nf_report report;
    struct nf_error err;

    for (options.slaves = 1; options.slaves <= 3; options.slaves++) {
        prepare(NF_INT64, unit_mod_2);
        CU_ASSERT_EQUAL(run(20, NF_COMBINE_SUM, &options, &report, &err),
                        NF_ERR_FAILED);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not of one size"));
        CU_ASSERT_EQUAL(report.gathers, 1);
        CU_ASSERT_EQUAL(report.lost_slaves, 0);
        CU_ASSERT_EQUAL(report.done_units, 0); /* none of it is at home */
        prepare(NF_INT64, none);
        CU_ASSERT_EQUAL(run(20, NF_COMBINE_SUM, &options, &report, &err),
                        NF_ERR_FAILED);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "nothing to combine"));
        CU_ASSERT_EQUAL(report.gathers, 1);
    }
}

/* A unit that failed must not make results that never came home look done. */
static void test_failed_gather_and_failed_unit(void)
{
    static const struct nf_options options = { .slaves = 2, .max_attempts = 1 };
    struct nf_report report;
    struct nf_error err;

    prepare(NF_INT64, unit_mod_2);
    job.bad_unit = 7;
    CU_ASSERT_EQUAL(run(20, NF_COMBINE_SUM, &options, &report, &err),
                    NF_ERR_FAILED);
    CU_ASSERT_EQUAL(report.failed_units, 1);
    CU_ASSERT_EQUAL(report.done_units, 0);
    CU_ASSERT_EQUAL(report.units, 20);
    prepare(NF_INT64, three);
    job.bad_unit = 7;
    CU_ASSERT_EQUAL(run(20, NF_COMBINE_NONE, &options, &report, &err),
                    NF_ERR_FAILED);
    CU_ASSERT_EQUAL(report.failed_units, 1);
    CU_ASSERT_EQUAL(report.done_units, 19);
    CU_ASSERT_EQUAL(job.collected, 19);
}

/* All of it takes much longer than the time-out; one call, not. */
static void test_slow_to_combine(void)
{
    static const struct nf_options options = { .slaves = 2,
                                               .max_attempts = 1,
                                               .heartbeat_timeout_us = 400000 };
    struct nf_report report;
    struct nf_error err;

    prepare(NF_INT64, three);
    job.combine_us = 5000;
    CU_ASSERT_EQUAL(run(400, NF_COMBINE_OWN, &options, &report, &err), NF_OK);
    CU_ASSERT_EQUAL(job.combined, 400);
    CU_ASSERT_EQUAL(job.wrong, 0);
    CU_ASSERT_EQUAL(report.gathers, 1);
    CU_ASSERT_EQUAL(report.lost_slaves, 0);
}

/* One call that takes longer than the time-out: there is no gather in which
 * nobody is lost, and the job must not try for ever. */
static void test_too_slow_to_combine(void)
{
    static const struct nf_options options = { .slaves = 2,
                                               .max_attempts = 1,
                                               .heartbeat_timeout_us = 200000 };
    struct nf_report report;
    struct nf_error err;

    prepare(NF_INT64, three);
    job.combine_us = 450000;
    CU_ASSERT_EQUAL(run(6, NF_COMBINE_OWN, &options, &report, &err),
                    NF_ERR_FAILED);
    CU_ASSERT_EQUAL(job.combined, 0);
    CU_ASSERT_EQUAL(report.done_units, 0);
}

/* All that has come is handed over in one go, and that may take long. */
static void test_stop_while_collecting(void)
{
    static const struct nf_options options = { .slaves = 3 };
    struct nf_report report;
    struct nf_error err;

    prepare(NF_INT64, three);
    job.stop_at = 5;
    CU_ASSERT_EQUAL(run(50, NF_COMBINE_NONE, &options, &report, &err),
                    NF_ERR_INTERRUPTED);
    CU_ASSERT_EQUAL(job.collected, 5);
}

static void test_one_thread_combines(void)
{
    static const struct nf_options options = { .slaves = 5 };
    struct nf_report report;
    struct nf_error err;

    prepare(NF_INT64, three);
    job.combine_us = 300;
    CU_ASSERT_EQUAL(run(200, NF_COMBINE_OWN, &options, &report, &err), NF_OK);
    CU_ASSERT_EQUAL(atomic_load(&job.combining_most), 1);
    CU_ASSERT_EQUAL(job.combined, 200);
    CU_ASSERT_EQUAL(job.wrong, 0);
}

static CU_TestInfo tests[] = {
    { "elements of every type come home, by every operator", test_all_types },
    { "results that can't be combined end the job",
      test_what_cannot_be_combined },
    { "what has not come home is not done",
      test_failed_gather_and_failed_unit },
    { "slaves that combine for long are not lost", test_slow_to_combine },
    { "one thread at a time combines", test_one_thread_combines },
    { "who collects can be stopped", test_stop_while_collecting },
    /* the last one: threads of slaves that were given up still combine */
    { "a call that is too long ends the job", test_too_slow_to_combine },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "jobs whose results stay with slaves", NULL, NULL, NULL, NULL,
          tests },
        CU_SUITE_INFO_NULL,
    };

    alarm(120); /* a hang is a failure */
    return nf_unit_main(suites);
}
