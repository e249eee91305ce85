/* The accounts of a job: what slaves claim is not taken at its word. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "master/engine_internal.h"
#include "tests/unit/nf_unit.h"

static struct slot slot;
static struct slave slave = { .nslots = 1, .slots = &slot };

static void begin(void)
{
    memset(&slot, 0, sizeof(slot));
}

static void end(void)
{
    nf_free(slot.flights);
}

static int64_t lease(uint64_t lease, int64_t sent_us, int64_t answered_us,
                     int64_t compute_us, int64_t idle_us)
{
    const struct nf_action send = { .lease = lease, .count = 1 };
    const struct nf_result_msg result = { .compute_us = compute_us,
                                          .idle_us = idle_us };

    nf_account_sent(NULL, &slave, 0, &send, sent_us);
    return nf_account_answered(&slave, lease, &result, answered_us);
}

static void test_sums(void)
{
    begin();
    CU_ASSERT_EQUAL(lease(1, 100, 400, 250, 100), 300);
    CU_ASSERT_EQUAL(lease(2, 450, 500, 40, 70), 50);
    CU_ASSERT_EQUAL(slot.compute_us, 290);
    CU_ASSERT_EQUAL(slot.policy_us, 100);
    CU_ASSERT_EQUAL(slot.master_us, 50); /* free from 400 to 450 */
    end();
}

static void test_lies(void)
{
    begin();
    lease(1, 0, 300, INT64_MAX, INT64_MAX);
    nf_account_settle(&slave);
    lease(2, 500, 800, INT64_MAX, INT64_MAX);
    CU_ASSERT_EQUAL(slot.compute_us, 600);
    CU_ASSERT_EQUAL(slot.policy_us, 200);
    end();
}

static void test_unknown(void)
{
    begin();
    CU_ASSERT_EQUAL(
        nf_account_answered(&slave, 7,
                            &(struct nf_result_msg){ .compute_us = 5 }, 100),
        0);
    CU_ASSERT_EQUAL(slot.compute_us, 0);
    end();
}

static void test_cancelled(void)
{
    begin();
    for (uint64_t id = 1; id <= 12; id++)
        nf_account_sent(NULL, &slave, 0,
                        &(struct nf_action){ .lease = id, .count = 1 },
                        (int64_t)id);
    nf_account_cancelled(&slave, 0, 5);
    nf_account_cancelled(&slave, 0, 12);
    nf_account_cancelled(&slave, 0, 12); /* it is not there */
    CU_ASSERT_EQUAL(slot.count, 10);
    for (uint64_t id = 1; id <= 12; id++)
        CU_ASSERT_EQUAL(
            nf_account_answered(&slave, id, &(struct nf_result_msg){ 0 }, 100),
            id == 5 || id == 12 ? 0 : 100 - (int64_t)id);
    CU_ASSERT_EQUAL(slot.count, 0);
    end();
}

/* One lease of a phase, computed by a slot for so long; others on the way. */
static void compute(struct slave *of, uint32_t in, uint64_t phase,
                    int64_t begin_us, int64_t compute_us)
{
    static uint64_t number = 100;
    const struct nf_action send = {
        .lease = (phase > 0) * (UINT64_C(1) << 63 | phase << 48) | ++number,
        .phase = (uint32_t)phase,
        .count = 1
    };
    const struct nf_result_msg result = { .compute_us = compute_us };

    nf_account_sent(NULL, of, in, &send, begin_us);
    (void)nf_account_answered(of, send.lease, &result, begin_us + compute_us);
}

static void exchange(struct engine *e, int64_t from_us, int64_t to_us)
{
    e->gather.state = GATHER_EXCHANGING;
    e->gather.began_us = from_us;
    nf_account_moved(e, to_us);
    e->gather.state = GATHER_NONE;
}

/* No farm is asked what it has learnt: there is no room in the report.
 * Three phases, of two slots: the time of data on their way is what is neither
 * between the exchanges nor computing before and behind them. */
static void test_phases(void)
{
    static struct slot slots[2];
    static struct slave two = { .nslots = 2, .slots = slots, .joined = true };
    static const struct nf_engine_config config = { .emulate = NULL };
    struct engine e = {
        .slaves = &two,
        .nslaves = 1,
        .phases = 3,
        .config = &config,
        .done_us = 2000000,
        .report = { .slots = 2, .makespan_s = 2, .nlearnt = NF_REPORT_SLOTS }
    };
    struct nf_report *r = &e.report;

    compute(&two, 0, 0, 100000, 100000);
    compute(&two, 0, 0, 200000, 100000);
    compute(&two, 1, 0, 100000, 100000);
    exchange(&e, 300000, 500000);
    compute(&two, 0, 1, 500000, 50000);
    compute(&two, 1, 1, 500000, 150000);
    exchange(&e, 700000, 750000); /* is off, and tried again */
    exchange(&e, 750000, 1000000);
    compute(&two, 1, 2, 1000000, 300000);
    compute(&two, 0, 2, 1000000, 200000);
    nf_account_report(&e);
    /* 0.7 between begin and end of exchanges, 0.2 before, 0.3 behind */
    CU_ASSERT_DOUBLE_EQUAL(r->on_slaves_s, 1.2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r->data_s, 0.8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r->exchange_s, 0.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r->part_compute_s, 0.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r->wait_s, 0.2, 1e-9);
    for (int i = 0; i < 2; i++)
        nf_free(slots[i].flights);
}

/* Two phases, of two slots that are there at the end: the one that was done
 * first waits for the last unit of the last phase, which is tail, as if all had
 * been one. A gather's time is none. */
static void test_tail(void)
{
    static struct slot slots[2];
    static struct slave two = {
        .nslots = 2, .slots = slots, .joined = true, .state = SLAVE_READY
    };
    static const struct nf_engine_config config = { .emulate = NULL };
    struct engine e = {
        .slaves = &two,
        .nslaves = 1,
        .phases = 2,
        .config = &config,
        .done_us = 1000000,
        .report = { .slots = 2, .makespan_s = 1, .nlearnt = NF_REPORT_SLOTS }
    };

    compute(&two, 0, 0, 100000, 100000);
    compute(&two, 1, 0, 100000, 100000);
    exchange(&e, 200000, 300000);
    compute(&two, 0, 1, 300000, 100000);
    compute(&two, 1, 1, 300000, 700000);
    nf_account_report(&e);
    CU_ASSERT_DOUBLE_EQUAL(e.report.part_tail_s, 0.3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(e.report.part_compute_s, 0.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(e.report.part_transfer_s, 0.2, 1e-9);
    /* who has no unit of it waits for it from its begin on, and no longer */
    slots[0].free_since_us = 100000;
    e.report.part_compute_s = e.report.part_tail_s = 0;
    nf_account_report(&e);
    CU_ASSERT_DOUBLE_EQUAL(e.report.part_tail_s, 0.35, 1e-9);
    slots[0].free_since_us = 400000;
    e.report.part_compute_s = e.report.part_tail_s = 0;
    e.gathered_from_us = 900000;
    nf_account_report(&e);
    CU_ASSERT_DOUBLE_EQUAL(e.report.part_tail_s, 0.25, 1e-9);
    for (int i = 0; i < 2; i++)
        nf_free(slots[i].flights);
}

/* Who claims to have computed all the time does not make it longer than it was,
 * and a job that never exchanged has no such times. */
static void test_phase_lies(void)
{
    static struct slot one;
    static struct slave liar = { .nslots = 1, .slots = &one, .joined = true };
    static const struct nf_engine_config config = { .emulate = NULL };
    struct engine e = {
        .slaves = &liar,
        .nslaves = 1,
        .phases = 2,
        .config = &config,
        .report = { .slots = 1, .makespan_s = 1, .nlearnt = NF_REPORT_SLOTS }
    };

    compute(&liar, 0, 0, 0, 900000);
    nf_account_report(&e);
    CU_ASSERT_EQUAL(e.report.on_slaves_s, 0);
    CU_ASSERT_EQUAL(e.report.data_s, 0);
    exchange(&e, 100000, 950000);
    nf_account_report(&e);
    CU_ASSERT_EQUAL(e.report.on_slaves_s, 1);
    CU_ASSERT_EQUAL(e.report.data_s, 0);
    CU_ASSERT(e.report.wait_s >= 0);
    nf_free(one.flights);
}

static CU_TestInfo tests[] = {
    { "times of a slot are added up", test_sums },
    { "nobody computes longer than he had the lease", test_lies },
    { "an answer to no lease counts for nothing", test_unknown },
    { "a cancelled lease is forgotten, and no other one", test_cancelled },
    { "a job of phases is split in what slaves do and the way of the data",
      test_phases },
    { "and in no more than there was", test_phase_lies },
    { "who waits for the last units of the last phase is in the tail",
      test_tail },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "accounts", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
