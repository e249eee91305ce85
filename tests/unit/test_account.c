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

static CU_TestInfo tests[] = {
    { "times of a slot are added up", test_sums },
    { "nobody computes longer than he had the lease", test_lies },
    { "an answer to no lease counts for nothing", test_unknown },
    { "a cancelled lease is forgotten, and no other one", test_cancelled },
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
