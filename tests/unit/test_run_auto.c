/* The tail of a live job is copied: a unit hangs in one slave until it has been
 * computed in the other one. */
#include "config.h"
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
#include "nowfarm.h"
#include "tests/unit/nf_unit.h"

enum { UNITS = 60, LATE = 40 };

static atomic_uint begun;     /* of unit LATE */
static atomic_bool collected; /* ... is, so its first slave may go on */
static unsigned collects[UNITS];

/* All units take 2 ms; only unit LATE, the first time, as long as it takes. */
static int compute(const struct nf_work *work)
{
    usleep(2000);
    if (work->first == LATE && atomic_fetch_add(&begun, 1) == 0)
        for (int i = 0; !atomic_load(&collected) && i < 60000; i++)
            usleep(1000);
    return nf_buf_append(work->result, &work->first, sizeof(work->first));
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    (void)user;
    (void)result;
    CU_ASSERT_EQUAL(bytes, sizeof(uint64_t));
    collects[unit]++;
    if (unit == LATE)
        atomic_store(&collected, true);
    return NF_OK;
}

static const struct nf_app app = {
    .name = "late", .units = UNITS, .compute = compute, .collect = collect
};

static void check_parts(const struct nf_report *r)
{
    double sum = r->part_compute_s + r->part_transfer_s + r->part_master_s +
                 r->part_idle_s + r->part_tail_s;

    CU_ASSERT(fabs(sum - r->makespan_s) <= 1e-3);
    CU_ASSERT(r->part_compute_s >= 0 && r->part_transfer_s >= 0 &&
              r->part_idle_s >= 0 && r->part_tail_s >= 0);
}

static void test_copies(void)
{
    const struct nf_options options = { .transport = "local",
                                        .policy = "auto:replicate=1",
                                        .slaves = 3,
                                        .slots = 1 };
    struct nf_report report;
    struct nf_error err = { NF_OK, "" };

    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    for (int i = 0; i < UNITS; i++)
        CU_ASSERT_EQUAL(collects[i], 1);
    CU_ASSERT_EQUAL(atomic_load(&begun), 2);
    CU_ASSERT_TRUE(report.copies >= 1);
    CU_ASSERT_EQUAL(report.lost_slaves, 0);
    CU_ASSERT_EQUAL(report.retries, 0);
    check_parts(&report);
}

static void test_report(void)
{
    const struct nf_options options = {
        .transport = "local", .policy = "auto", .slaves = 2, .slots = 2
    };
    struct nf_app quick = app;
    struct nf_report report;

    atomic_store(&begun, 1); /* nothing hangs */
    quick.collect = NULL;
    CU_ASSERT_EQUAL(nf_run(&quick, &options, &report, NULL), NF_OK);
    CU_ASSERT_EQUAL(report.copies, 0);
    CU_ASSERT_TRUE(report.nlearnt >= 1 && report.nlearnt <= 4);
    for (uint32_t i = 0; i < report.nlearnt && i < 4; i++) {
        const struct nf_report_slot *slot = &report.learnt[i];

        CU_ASSERT_TRUE(slot->slave < 2 && slot->slot < 2);
        CU_ASSERT_TRUE(slot->host[0] != '\0');
        CU_ASSERT_TRUE(slot->chunks >= 1 && slot->chunks <= UNITS);
        CU_ASSERT_TRUE(slot->window >= 2 && slot->window <= 16);
        CU_ASSERT_TRUE(slot->service_s >= 0.002);
        CU_ASSERT_TRUE(slot->td_s >= slot->service_s);
    }
}

static CU_TestInfo tests[] = {
    { "a unit that hangs is computed by another slave", test_copies },
    { "the report has what auto learnt of every slot", test_report },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "run auto", NULL, NULL, NULL, NULL, tests },
    CU_SUITE_INFO_NULL,
};

int main(void)
{
    return nf_unit_main(suites);
}
