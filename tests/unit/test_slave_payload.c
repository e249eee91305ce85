/* What the slave makes of the bytes: inputs, results, shared data. */
#include "config.h"
#include <string.h>
#include "tests/unit/fake_master.h"
#include "tests/unit/nf_unit.h"

static int echo_twice(const struct nf_work *work)
{
    nf_buf_append(work->result, work->input, work->input_bytes);
    return nf_buf_append(work->result, work->input, work->input_bytes);
}

static void test_ragged_sizes(void)
{
    static const struct nf_app app = { .name = "echo", .compute = echo_twice };
    static const uint64_t sizes[4] = { 3, 0, 5, 1 };
    struct nf_job_msg job = fake_job(&app, 1);
    struct nf_lease_msg m = { 1, 50, 4, 0, 0, { NF_LAYOUT_TABLE, NULL } };
    struct fake_master fm;

    fake_start(&fm, &app, &job);
    for (int round = 0; round < 3; round++) {
        struct nf_blob *input = nf_blob_create(9, NF_BYTES);

        memcpy(input->data, "abcdefghi", 9);
        CU_ASSERT_EQUAL(nf_put_lease(&fm.body, &m, sizes), NF_OK);
        fake_send(&fm, NF_MSG_LEASE, &fm.body, input);
        fake_expect(&fm, NF_MSG_RESULT);
        for (uint64_t i = 0; i < 4; i++)
            CU_ASSERT_EQUAL(nf_layout_unit_bytes(&fm.reply.result.layout, i),
                            2 * sizes[i]);
        CU_ASSERT_EQUAL(fm.reply.payload->bytes, 18);
        CU_ASSERT_EQUAL(
            memcmp(fm.reply.payload->data, "abcabcdefghdefghii", 18), 0);
    }
    fake_stop(&fm);
}

static int nothing(const struct nf_work *work)
{
    (void)work;
    return 0;
}

static void test_empty_results(void)
{
    static const struct nf_app app = { .name = "nothing", .compute = nothing };
    struct nf_job_msg job = fake_job(&app, 1);
    struct fake_master fm;

    fake_start(&fm, &app, &job);
    fake_send_lease(&fm, 0, 5, 6, 7);
    fake_expect(&fm, NF_MSG_RESULT);
    CU_ASSERT_EQUAL(fm.reply.result.count, 7);
    CU_ASSERT_EQUAL(fm.reply.result.layout.unit_bytes, 0);
    CU_ASSERT_TRUE(fm.reply.result.last);
    fake_stop(&fm);
}

static int lend(const struct nf_work *work)
{
    return nf_buf_borrow(work->result, work->input, work->input_bytes);
}

/* The input is gone when the result is read: it must have been copied. */
static void test_borrowed_results(void)
{
    static const struct nf_app app = { .name = "lend", .compute = lend };
    struct nf_job_msg job = fake_job(&app, 1);
    struct fake_master fm;

    fake_start(&fm, &app, &job);
    fake_send_lease(&fm, 0, 1, 7, 3000);
    fake_expect(&fm, NF_MSG_RESULT);
    for (uint64_t i = 0; i < 3000; i++)
        CU_ASSERT_EQUAL(fake_number(&fm, i), 7 + i);
    fake_stop(&fm);
}

static const void *shared_seen;

static int look_at_shared(const struct nf_work *work)
{
    shared_seen = work->shared;
    return work->shared_bytes == 1000 ? 0 : 1;
}

static void test_shared_data_by_reference(void)
{
    static const struct nf_app app = { .name = "look",
                                       .compute = look_at_shared };
    struct nf_job_msg job = fake_job(&app, 1);
    struct nf_blob *shared = nf_blob_create(1000, NF_BYTES);
    struct fake_master fm;

    job.has_shared = true;
    fake_open(&fm, &app, true);
    fake_expect(&fm, NF_MSG_HELLO);
    fake_send_job(&fm, &job);
    fake_send(&fm, NF_MSG_SHARED, NULL, nf_blob_ref(shared));
    fake_expect(&fm, NF_MSG_READY);
    fake_send_lease(&fm, 0, 1, 0, 1);
    fake_expect(&fm, NF_MSG_RESULT);
    fake_stop(&fm);
    CU_ASSERT_PTR_EQUAL(shared_seen, shared->data);
    CU_ASSERT_EQUAL(atomic_load(&shared->refs), 1);
    nf_blob_unref(shared);
}

static int seven_bytes(const struct nf_work *work)
{
    return nf_buf_append(work->result, "1234567", 7);
}

static void test_results_that_do_not_divide(void)
{
    static const struct nf_app app = { .name = "seven",
                                       .compute = seven_bytes,
                                       .batch_units = 3 };
    struct nf_job_msg job = fake_job(&app, 1);
    struct fake_master fm;

    fake_start(&fm, &app, &job);
    fake_send_lease(&fm, 0, 1, 0, 4);
    for (uint64_t unit = 0; unit < 3; unit++) {
        fake_expect(&fm, NF_MSG_UNIT_FAILED);
        CU_ASSERT_EQUAL(fm.reply.failed.unit, unit);
        CU_ASSERT_STRING_EQUAL(fm.reply.failed.reason,
                               "kernel appended 7 bytes for 3 units");
    }
    fake_expect(&fm, NF_MSG_RESULT);
    CU_ASSERT_EQUAL(fm.reply.result.first, 3);
    CU_ASSERT_EQUAL(fm.reply.result.layout.unit_bytes, 7);
    CU_ASSERT_TRUE(fm.reply.result.last);
    fake_stop(&fm);
}

static CU_TestInfo tests[] = {
    { "cuts ragged inputs and frames ragged results", test_ragged_sizes },
    { "results may be empty", test_empty_results },
    { "results that the kernel lent are copied", test_borrowed_results },
    { "shared data are not copied", test_shared_data_by_reference },
    { "results that do not divide by the units fail them",
      test_results_that_do_not_divide },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "slave payloads", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
