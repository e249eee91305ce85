/* Small jobs by which the time of an operation is found. */
#include "config.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "apps/rehearse.h"
#include "tests/unit/app_operations.h"
#include "tests/unit/nf_unit.h"

static atomic_uint calls, under_way, together;
static atomic_ullong sum;
static uint32_t bad_call, want_together;

/* Wait a little for as many as are to compute at once. */
static void meet(void)
{
    const struct timespec ms = { 0, 1000000 };

    atomic_fetch_add(&under_way, 1);
    for (int i = 0; i < 2000 && atomic_load(&together) < want_together; i++) {
        if (atomic_load(&under_way) > atomic_load(&together))
            atomic_store(&together, atomic_load(&under_way));
        nanosleep(&ms, NULL);
    }
    atomic_fetch_sub(&under_way, 1);
}

/* A unit gives number 10 u + v to unit v, and adds up what comes. */
static int fake_compute(const struct nf_work *work)
{
    if (atomic_fetch_add(&calls, 1) + 1 == bad_call)
        return 1;
    meet();
    for (uint64_t v = 0; v < work->units; v++) {
        uint64_t number = 10 * work->first + v;

        if (work->phase == 0) {
            nf_buf_append(work->result, &number, sizeof(number));
            work->out_bytes[v] = sizeof(number);
            continue;
        }
        memcpy(&number, (const char *)work->input + work->in_at[v],
               sizeof(number));
        if (work->in_at[v + 1] - work->in_at[v] != sizeof(number) ||
            number != 10 * v + work->first)
            return 2;
        atomic_fetch_add(&sum, number);
    }
    return 0;
}

static enum nf_status fake_split(void *user, uint64_t unit,
                                 struct nf_buf *input)
{
    (void)user;
    return nf_buf_append(input, &unit, sizeof(unit));
}

static enum nf_status fake_create(void **state_p, struct nf_error *err)
{
    static int state;

    (void)err;
    *state_p = &state;
    return NF_OK;
}

/* Which job was asked for. */
static char asked[16];
static enum nf_status fake_set(void *state, const char *option,
                               const char *value, struct nf_error *err)
{
    (void)state;
    (void)option;
    (void)err;
    snprintf(asked, sizeof(asked), "%s", value);
    return NF_OK;
}

static void fake_destroy(void *state)
{
    (void)state;
}

static enum nf_status fake_open(void *state,
                                const struct nf_app_request *request,
                                struct nf_app *app_p, struct nf_error *err)
{
    (void)state;
    (void)request;
    (void)err;
    *app_p = (struct nf_app){ .name = "fake",
                              .units = 3,
                              .split = fake_split,
                              .compute = fake_compute,
                              .phases = 2 };
    return NF_OK;
}

static double fake_operations(void *state)
{
    (void)state;
    return strcmp(asked, "large") == 0 ? 20 : 2;
}

static const char *const small[] = { "job", "small", NULL };
static const char *const large[] = { "job", "large", NULL };
static const struct nf_app_kind fake = { .name = "fake",
                                         .create = fake_create,
                                         .destroy = fake_destroy,
                                         .set = fake_set,
                                         .open = fake_open,
                                         .operations = fake_operations,
                                         .small_job = small,
                                         .large_job = large };
enum { CALLS = 2 * 2 * 3 }; /* two rounds, two phases, three units */

static void pieces_go_where_they_belong(void)
{
    const struct nf_rehearsal one = { NULL, 10, 1 };
    double op_s = -1;

    calls = 0;
    sum = 0;
    CU_ASSERT(nf_rehearse(&fake, &one, &op_s));
    CU_ASSERT_EQUAL(calls, CALLS);
    CU_ASSERT_EQUAL(sum, 2 * 99);
    CU_ASSERT(op_s >= 0 && op_s < 1);
}

/* As many at once as it is told: they meet. */
static void threads_compute_at_once(void)
{
    const struct nf_rehearsal three = { NULL, 10, 3 };
    double op_s = -1;

    calls = 0;
    sum = 0;
    together = 0;
    want_together = 3;
    CU_ASSERT(nf_rehearse(&fake, &three, &op_s));
    CU_ASSERT_EQUAL(together, 3);
    CU_ASSERT_EQUAL(calls, 3 * CALLS);
    CU_ASSERT_EQUAL(sum, 3 * 2 * 99);
    want_together = 0;
}

/* The large one only for a job that is as large. */
static void jobs_are_rehearsed_by_their_size(void)
{
    double op_s = -1;

    CU_ASSERT(nf_rehearse(&fake, &(struct nf_rehearsal){ NULL, 20, 1 }, &op_s));
    CU_ASSERT_STRING_EQUAL(asked, "large");
    CU_ASSERT(nf_rehearse(&fake, &(struct nf_rehearsal){ NULL, 19, 1 }, &op_s));
    CU_ASSERT_STRING_EQUAL(asked, "small");
    CU_ASSERT(nf_rehearse(&fake, &(struct nf_rehearsal){ NULL, 1, 1 }, &op_s));
    CU_ASSERT_STRING_EQUAL(asked, "small");
}

static void kernels_may_fail(void)
{
    double op_s = -1;

    for (uint32_t threads = 1; threads <= 2; threads++)
        for (bad_call = 1; bad_call <= CALLS * threads; bad_call++) {
            calls = 0;
            CU_ASSERT(!nf_rehearse(
                &fake, &(struct nf_rehearsal){ NULL, 30, threads }, &op_s));
            CU_ASSERT(op_s == -1);
        }
    bad_call = 0;
}

static void transposing_moves_each_entry_twice(void)
{
    static const char *const once[][2] = { { "rows", "30" },
                                           { "cols", "50" },
                                           { NULL, NULL } };
    static const char *const doubled[][2] = { { "rows", "60" },
                                              { "cols", "100" },
                                              { NULL, NULL } };
    const struct nf_app_kind *kind = nf_app_find("transpose");

    CU_ASSERT_EQUAL(operations_of(kind, once), 2 * 30 * 50);
    CU_ASSERT_EQUAL(operations_of(kind, doubled), 4 * 2 * 30 * 50);
}

/* 10 for a number to keys, by eight bytes, and back; then of the samples' way 2 and one
 * for each doubling, of the network 6 an exchange: 3 of 4 units, 10 of 16. */
static void sorting_goes_by_its_way(void)
{
    static const struct {
        const char *settings[4][2];
        double want;
    } rows[] = {
        { { { "count", "1000" }, { "units", "8" } }, 1000 * (10 + 2 + 3) },
        { { { "count", "2000" }, { "units", "8" } }, 2000 * (10 + 2 + 3) },
        { { { "count", "1000" }, { "units", "20" } }, 1000 * (10 + 2 + 5) },
        { { { "count", "1000" }, { "units", "4" }, { "way", "bitonic" } },
          1000 * (10 + 6 * 3) },
        { { { "count", "1000" }, { "units", "16" }, { "way", "bitonic" } },
          1000 * (10 + 6 * 10) },
        { { { "count", "2000" }, { "units", "16" }, { "way", "bitonic" } },
          2000 * (10 + 6 * 10) },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_EQUAL(operations_of(nf_app_find("sort"), rows[i].settings),
                        rows[i].want);
}

/* The job of sort that was opened last. */
static struct nf_app rehearsed;
static enum nf_status watch_open(void *state,
                                 const struct nf_app_request *request,
                                 struct nf_app *app_p, struct nf_error *err)
{
    enum nf_status status =
        nf_app_find("sort")->open(state, request, app_p, err);

    rehearsed = *app_p;
    return status;
}

/* Samples take two phases, a network one for each exchange and one more: 6 of 8
 * units and 15 of 32. */
static void the_way_of_the_job_is_rehearsed(void)
{
    static const char *const ways[] = { "sample", "bitonic" };
    static const uint32_t phases[][2] = { { 2, 2 }, { 7, 16 } };
    struct nf_app_kind sort = *nf_app_find("sort");

    sort.open = watch_open;
    for (int way = 0; way < 2; way++)
        for (int large_one = 0; large_one < 2; large_one++) {
            struct nf_rehearsal r = { NULL, large_one ? 1e12 : 1, 1 };
            void *state = NULL;
            double op_s = -1;

            CU_ASSERT_EQUAL_FATAL(sort.create(&state, NULL), NF_OK);
            CU_ASSERT_EQUAL(sort.set(state, "way", ways[way], NULL), NF_OK);
            CU_ASSERT_EQUAL(sort.set(state, "units", "4", NULL), NF_OK);
            r.state = state;
            CU_ASSERT(nf_rehearse(&sort, &r, &op_s));
            CU_ASSERT_EQUAL(rehearsed.phases, phases[way][large_one]);
            CU_ASSERT_EQUAL(rehearsed.units, large_one ? 32 : 8);
            CU_ASSERT(op_s > 1e-11 && op_s < 1e-5);
            sort.destroy(state);
        }
}

static void applications_have_small_jobs(void)
{
    for (size_t i = 0; nf_app_table[i] != NULL; i++) {
        const struct nf_app_kind *kind = nf_app_table[i];
        double op_s = -1;
        bool phased = kind->kernel->phases > 1;

        for (int large_one = 0; large_one < 2; large_one++) {
            const struct nf_rehearsal r = { NULL, large_one ? 1e12 : 1, 2 };

            CU_ASSERT_EQUAL(nf_rehearse(kind, &r, &op_s), phased);
            CU_ASSERT(!phased || (op_s > 1e-11 && op_s < 1e-5));
            CU_ASSERT_EQUAL(phased, kind->large_job != NULL);
        }
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "pieces go where they belong", pieces_go_where_they_belong },
        { "threads compute at once", threads_compute_at_once },
        { "jobs are rehearsed by their size",
          jobs_are_rehearsed_by_their_size },
        { "kernels may fail", kernels_may_fail },
        { "applications have small jobs", applications_have_small_jobs },
        { "transposing moves each entry twice",
          transposing_moves_each_entry_twice },
        { "sorting goes by its way", sorting_goes_by_its_way },
        { "the way of the job is rehearsed", the_way_of_the_job_is_rehearsed },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "rehearsal", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
