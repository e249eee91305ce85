/* nf_run() from end to end over the local transport: what applications see. */
#include "config.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "nowfarm.h"
#include "tests/unit/nf_unit.h"

enum { UNITS_MOST = 5000 };

/* A job whose inputs and results are of varying sizes, some of them empty. */
struct job {
    unsigned splits, collects, shares, wrong;
    uint8_t collected[UNITS_MOST];
    uint64_t split_fails_at, collect_fails_at; /* unit; UINT64_MAX: never */
    unsigned split_after_error, collect_after_error;
    size_t extra_bytes; /* appended to each input */
    volatile int stop;
    uint64_t stop_at_done;
    /* progress */
    unsigned calls;
    struct nf_progress last;
    /* notices */
    unsigned notices;
    char notice[300];
};

static atomic_uint computed, tries_of_7;

static size_t input_words(uint64_t unit)
{
    return unit % 5 == 0 ? 0 : unit * 7919 % 300;
}

static size_t result_words(uint64_t unit)
{
    return unit % 3 == 0 ? 0 : unit * 104729 % 200;
}

static enum nf_status split(void *user, uint64_t unit, struct nf_buf *input)
{
    struct job *job = user;
    size_t words = input_words(unit);
    uint64_t *to;

    job->splits++;
    if (job->split_after_error > 0 || unit == job->split_fails_at) {
        job->split_after_error++;
        return NF_ERR_IO;
    }
    to = nf_buf_reserve(input, words * 8 + job->extra_bytes);
    if (to == NULL)
        return NF_ERR_NOMEM;
    memset(to, 0, words * 8 + job->extra_bytes);
    for (size_t i = 0; i < words; i++)
        to[i] = unit * 1000 + i;
    return NF_OK;
}

static int compute(const struct nf_work *work)
{
    size_t words = result_words(work->first);
    uint64_t *to = nf_buf_reserve(work->result, words * 8);

    atomic_fetch_add(&computed, 1);
    if (to == NULL || work->count != 1)
        return 1;
    if (work->input_bytes != input_words(work->first) * 8 ||
        work->shared_bytes != 16 ||
        memcmp(work->shared, "0123456789abcdef", 16) != 0)
        return 2;
    for (size_t i = 0; i < input_words(work->first); i++)
        if (((const uint64_t *)work->input)[i] != work->first * 1000 + i)
            return 3;
    for (size_t i = 0; i < words; i++)
        to[i] = work->first ^ i << 32;
    return 0;
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    struct job *job = user;

    if (job->collect_after_error > 0 || unit == job->collect_fails_at) {
        job->collect_after_error++;
        return NF_ERR_IO;
    }
    job->collects++;
    if (unit >= UNITS_MOST) {
        job->wrong++;
        return NF_OK;
    }
    job->wrong += job->collected[unit]++ != 0;
    job->wrong += bytes != result_words(unit) * 8;
    for (size_t i = 0; i < bytes / 8; i++)
        job->wrong += ((const uint64_t *)result)[i] != (unit ^ i << 32);
    return NF_OK;
}

static enum nf_status share(void *user, struct nf_buf *shared)
{
    ((struct job *)user)->shares++;
    return nf_buf_append(shared, "0123456789abcdef", 16);
}

static void notice(void *user, const char *line)
{
    struct job *job = user;

    job->notices++;
    snprintf(job->notice, sizeof(job->notice), "%s", line);
}

static void init(struct job *job, struct nf_app *app,
                 struct nf_options *options)
{
    memset(job, 0, sizeof(*job));
    job->split_fails_at = job->collect_fails_at = UINT64_MAX;
    *app = (struct nf_app){
        .name = "varying",
        .units = 500,
        .user = job,
        .split = split,
        .compute = compute,
        .collect = collect,
        .share = share,
        .input_type = NF_INT64,
        .result_type = NF_INT64,
        .shared_type = NF_INT32,
    };
    *options = (struct nf_options){
        .transport = "local",
        .slaves = 3,
        .slots = 1,
        .policy = "send",
        .heartbeat_timeout_us = 100 * 1000000LL,
        .notice = notice,
        .user = job,
    };
    atomic_store(&computed, 0);
    atomic_store(&tries_of_7, 0);
}

static void check_parts(const struct nf_report *r)
{
    double sum = r->part_compute_s + r->part_transfer_s + r->part_master_s +
                 r->part_idle_s + r->part_tail_s;

    CU_ASSERT(r->part_compute_s >= 0 && r->part_transfer_s >= 0 &&
              r->part_master_s >= 0 && r->part_idle_s >= 0 &&
              r->part_tail_s >= 0);
    CU_ASSERT(r->makespan_s >= 0 && r->startup_s >= 0);
    /* each part is a sum of durations cut to whole microseconds */
    CU_ASSERT(fabs(sum - r->makespan_s) <=
              1e-5 + 2e-6 * (double)(r->units + r->retries + 1));
    CU_ASSERT(fabs(r->lower_bound_s * r->slots - r->compute_s) < 1e-9);
}

static void test_varying_sizes(void)
{
    static const char *const policies[] = {
        "send",
        "send:g=7",
        "presend:g=3,td=1ms",
        "presend:td=auto",
        "gss:kmin=1",
        "fixed:g=16+window:w=3",
        "presend-round:td=1ms",
    };

    for (size_t p = 0; p < sizeof(policies) / sizeof(*policies); p++) {
        static struct job job;
        struct nf_app app;
        struct nf_options options;
        struct nf_report report;
        struct nf_error err = { NF_OK, "" };

        init(&job, &app, &options);
        options.policy = policies[p];
        CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_OK);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_EQUAL(job.wrong, 0);
        CU_ASSERT_EQUAL(job.collects, app.units);
        CU_ASSERT_EQUAL(job.shares, 1);
        CU_ASSERT_EQUAL(job.notices, 0);
        CU_ASSERT_EQUAL(report.units, app.units);
        CU_ASSERT_EQUAL(report.failed_units, 0);
        CU_ASSERT_EQUAL(report.retries, 0);
        CU_ASSERT_EQUAL(report.duplicates, 0);
        CU_ASSERT_EQUAL(report.lost_slaves, 0);
        CU_ASSERT(report.slaves >= 1 && report.slaves <= 3);
        CU_ASSERT_EQUAL(report.slots, report.slaves);
        CU_ASSERT_STRING_EQUAL(report.transport, "local");
        CU_ASSERT(report.messages >= 2);
        check_parts(&report);
    }
}

/* Nothing but compute: no input, no result, nobody to take it. */
static int compute_nothing(const struct nf_work *work)
{
    atomic_fetch_add(&computed, (unsigned)work->count);
    return work->input_bytes + work->shared_bytes != 0;
}

static void test_bare_app(void)
{
    struct nf_app app = { .name = "bare",
                          .units = 1000,
                          .compute = compute_nothing };
    struct nf_options options = { .transport = "local" };

    atomic_store(&computed, 0);
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, NULL), NF_OK);
    CU_ASSERT_EQUAL(atomic_load(&computed), 1000);
    app.batch_units = 64;
    options.policy = "send:g=100";
    atomic_store(&computed, 0);
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, NULL), NF_OK);
    CU_ASSERT_EQUAL(atomic_load(&computed), 1000);
}

static void test_no_units(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;
    struct nf_report report;
    struct nf_error err;
    static const char *const transports[] = { "local", "pvm" };

    for (int i = 0; i < 2; i++) {
        init(&job, &app, &options);
        app.units = 0;
        options.transport = transports[i];
        memset(&report, 1, sizeof(report));
        CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_OK);
        CU_ASSERT_EQUAL(job.shares + job.splits + job.collects, 0);
        CU_ASSERT_EQUAL(atomic_load(&computed), 0);
        CU_ASSERT_EQUAL(report.units, 0);
        CU_ASSERT_EQUAL(report.slaves, 0);
        CU_ASSERT_EQUAL(report.makespan_s, 0);
        CU_ASSERT_EQUAL(report.nfailures, 0);
        CU_ASSERT_STRING_EQUAL(report.policy, "send");
        CU_ASSERT_STRING_EQUAL(report.transport, transports[i]);
    }
    options.policy = "no such policy";
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_ERR_INVAL);
}

static void test_split_fails(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;
    struct nf_report report;
    struct nf_error err = { NF_OK, "" };

    init(&job, &app, &options);
    job.split_fails_at = 2; /* while the first leases go to three slaves */
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_ERR_FAILED);
    CU_ASSERT_EQUAL(err.status, NF_ERR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "input of unit 2: "));
    CU_ASSERT_EQUAL(job.split_after_error, 1); /* not asked again */
    init(&job, &app, &options);
    options.policy = "fixed:g=1+window:w=9";
    options.slaves = 1;
    job.split_fails_at = 4; /* one event sends several leases */
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_ERR_FAILED);
    CU_ASSERT_EQUAL(job.split_after_error, 1);
}

static void test_collect_fails(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;
    struct nf_report report;
    struct nf_error err = { NF_OK, "" };

    init(&job, &app, &options);
    options.policy = "send:g=50";
    job.collect_fails_at = 130;
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_ERR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "result of unit 130: "));
    CU_ASSERT_EQUAL(job.collect_after_error, 1);
    init(&job, &app, &options);
    app.units = 1; /* the last one: the job is done and has failed */
    job.collect_fails_at = 0;
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_ERR_FAILED);
}

static enum nf_status share_fails(void *user, struct nf_buf *shared)
{
    (void)user;
    CU_ASSERT_EQUAL(nf_buf_append(shared, "xxx", 3), NF_OK);
    return NF_ERR_IO;
}

static enum nf_status share_three_bytes(void *user, struct nf_buf *shared)
{
    (void)user;
    return nf_buf_append(shared, "xxx", 3);
}

static void test_share_fails(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;
    struct nf_error err = { NF_OK, "" };

    init(&job, &app, &options);
    app.share = share_fails;
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, &err), NF_ERR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "shared data: "));
    app.share = share_three_bytes;
    CU_ASSERT(nf_run(&app, &options, NULL, &err) < 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "elements"));
    CU_ASSERT_EQUAL(atomic_load(&computed), 0);
}

static void test_broken_elements(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;
    struct nf_error err = { NF_OK, "" };

    init(&job, &app, &options);
    job.extra_bytes = 4;
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, &err), NF_ERR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "input of unit 0: 4 bytes"));
}

/* ---------------------------------------------------------------- stop */

static void watch_progress(void *user, const struct nf_progress *p)
{
    struct job *job = user;

    job->wrong += p->units != 500 || p->elapsed_us < 0 || p->elapsed_us > 1e9 ||
                  p->slots > 3 || p->done + p->failed > p->units;
    if (job->calls > 0)
        job->wrong += p->done < job->last.done ||
                      p->failed < job->last.failed ||
                      p->elapsed_us < job->last.elapsed_us;
    job->calls++;
    job->last = *p;
    if (p->done >= job->stop_at_done)
        job->stop = 1;
}

static int compute_slowly(const struct nf_work *work)
{
    usleep(2000);
    return compute(work);
}

static void test_progress(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;

    init(&job, &app, &options);
    app.compute = compute_slowly;
    options.progress = watch_progress;
    options.progress_every_us = 1;
    job.stop_at_done = UINT64_MAX;
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, NULL), NF_OK);
    CU_ASSERT_EQUAL(job.wrong, 0);
    CU_ASSERT(job.calls >= 2);
    CU_ASSERT_EQUAL(job.last.done, 500);
}

static void test_stop(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;
    struct nf_report report;
    struct nf_error err = { NF_OK, "" };

    init(&job, &app, &options);
    app.compute = compute_slowly;
    options.progress = watch_progress;
    options.progress_every_us = 1;
    options.stop = &job.stop;
    job.stop_at_done = 20;
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_ERR_INTERRUPTED);
    CU_ASSERT_EQUAL(nf_exit_status(err.status), 130);
    CU_ASSERT(job.collects >= 20 && job.collects < 500);
    CU_ASSERT_EQUAL(job.wrong, 0);
    CU_ASSERT_EQUAL(report.units, 500);
    check_parts(&report);
    init(&job, &app, &options); /* stopped before it begins */
    job.stop = 1;
    options.stop = &job.stop;
    memset(&report, 1, sizeof(report));
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_ERR_INTERRUPTED);
    CU_ASSERT_EQUAL(report.units, 500);
    CU_ASSERT_EQUAL(report.nfailures, 0);
}

/* --------------------------------------------------------------- kernels */

/* Calls of several units at a time; results of equal size. */
static atomic_uint most_at_once;

static int compute_batch(const struct nf_work *work)
{
    uint64_t *to = nf_buf_reserve(work->result, work->count * 8);

    if (work->count > atomic_load(&most_at_once))
        atomic_store(&most_at_once, (unsigned)work->count);
    if (to == NULL || work->input_bytes != 0)
        return 1;
    for (uint64_t i = 0; i < work->count; i++) {
        if (work->first + i == 7 && atomic_fetch_add(&tries_of_7, 1) < 3)
            return 5; /* alone with its fault when called alone */
        to[i] = work->first + i;
    }
    return 0;
}

static enum nf_status collect_number(void *user, uint64_t unit,
                                     const void *result, size_t bytes)
{
    struct job *job = user;
    uint64_t number;

    job->wrong += bytes != 8 || job->collected[unit]++ != 0;
    memcpy(&number, result, 8);
    job->wrong += number != unit;
    job->collects++;
    return NF_OK;
}

static void test_batches(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;
    struct nf_report report;

    init(&job, &app, &options);
    app.split = NULL;
    app.share = NULL;
    app.compute = compute_batch;
    app.collect = collect_number;
    app.batch_units = 10;
    options.policy = "send:g=25";
    atomic_store(&most_at_once, 0);
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, NULL), NF_OK);
    CU_ASSERT_EQUAL(job.wrong, 0);
    CU_ASSERT_EQUAL(job.collects, 500);
    CU_ASSERT_EQUAL(atomic_load(&most_at_once), 10);
    CU_ASSERT(report.retries >= 1);
    check_parts(&report);
}

static int compute_7_fails(const struct nf_work *work)
{
    if (work->first % 100 == 7) {
        atomic_fetch_add(&tries_of_7, work->first == 7);
        snprintf(work->error, work->error_bytes, "unit %d is cursed\nbadly",
                 (int)work->first);
        return 42;
    }
    return compute(work);
}

static void test_units_given_up(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;
    struct nf_report report;
    struct nf_error err = { NF_OK, "" };

    for (uint32_t attempts = 0; attempts <= 5; attempts += 5) {
        init(&job, &app, &options);
        app.compute = compute_7_fails;
        options.policy = "send:g=9";
        options.max_attempts = attempts; /* 0: three */
        CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_ERR_FAILED);
        CU_ASSERT_EQUAL(job.wrong, 0);
        CU_ASSERT_EQUAL(job.collects, 495);
        CU_ASSERT_EQUAL(atomic_load(&tries_of_7), attempts == 0 ? 3 : 5);
        CU_ASSERT_EQUAL(report.failed_units, 5);
        CU_ASSERT_EQUAL(report.nfailures, 5);
        CU_ASSERT_EQUAL(report.lost_slaves, 0);
        CU_ASSERT_EQUAL(job.notices, 5);
        for (uint32_t i = 0; i < report.nfailures; i++) {
            char reason[64];

            CU_ASSERT_EQUAL(report.failures[i].unit % 100, 7);
            CU_ASSERT_EQUAL(report.failures[i].attempts, attempts == 0 ? 3 : 5);
            snprintf(reason, sizeof(reason), "unit %d is cursed",
                     (int)report.failures[i].unit);
            CU_ASSERT_STRING_EQUAL(report.failures[i].reason, reason);
        }
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "5 of 500 units given up"));
        check_parts(&report);
    }
}

/* ---------------------------------------------------------------- memory */

/* With no memory left at any point: a status, no hang, no leak. */
static void test_without_memory(void)
{
    static struct job job;
    struct nf_app app;
    struct nf_options options;
    unsigned failed = 0;

    for (long n = 0; n < 400; n += n < 120 ? 1 : 7) {
        struct nf_error err = { NF_OK, "" };
        enum nf_status status;

        init(&job, &app, &options);
        app.units = 20;
        nf_alloc_fail_after(n);
        status = nf_run(&app, &options, NULL, &err);
        nf_alloc_fail_after(-1);
        failed += status != NF_OK;
        CU_ASSERT(status <= NF_OK);
        CU_ASSERT(status == NF_OK || err.text[0] != '\0');
        CU_ASSERT_EQUAL(job.wrong, 0);
    }
    CU_ASSERT(failed > 10);
}

static CU_TestInfo tests[] = {
    { "inputs and results may be of any size", test_varying_sizes },
    { "an application may be compute() and no more", test_bare_app },
    { "a job without units starts nothing", test_no_units },
    { "an error of split() ends the job", test_split_fails },
    { "an error of collect() ends the job", test_collect_fails },
    { "an error of share() ends the job", test_share_fails },
    { "inputs are whole elements", test_broken_elements },
    { "progress only goes up", test_progress },
    { "a stop flag stops", test_stop },
    { "kernels may take several units at a time", test_batches },
    { "a unit that always fails is given up by name", test_units_given_up },
    { "without memory the job ends", test_without_memory },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "engine", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    /* a job that wrongly reaches for PVM must not find any */
    setenv("PVM_TMP", "/nonexistent", 1);
    unsetenv("PVM_VMID");
    alarm(300); /* a hang is a failure */
    return nf_unit_main(suites);
}
