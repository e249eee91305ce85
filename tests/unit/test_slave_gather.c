/* GATHER: a slave says what it holds of what counts. */
#include "config.h"
#include "tests/unit/fake_master.h"
#include "tests/unit/nf_unit.h"

static int number(const struct nf_work *work)
{
    return nf_buf_append(work->result, &work->first, sizeof(work->first));
}

static const struct nf_app app = { .name = "numbers", .compute = number };

static void start(struct fake_master *fm)
{
    struct nf_job_msg job = fake_job(&app, 1);

    job.hold = true;
    fake_start(fm, &app, &job);
}

static void compute(struct fake_master *fm, uint64_t lease, uint64_t first,
                    uint64_t count)
{
    fake_send_lease(fm, 0, lease, first, count);
    fake_expect(fm, NF_MSG_RESULT);
    CU_ASSERT_EQUAL(fm->reply.result.lease, lease);
}

static void gather(struct fake_master *fm, uint64_t round, uint64_t first,
                   uint64_t count)
{
    const uint64_t range[] = { first, count };
    struct nf_gather_msg m = { .round = round, .nranges = 1 };

    CU_ASSERT_EQUAL(nf_put_gather(&fm->body, &m, range), NF_OK);
    fake_send(fm, NF_MSG_GATHER, &fm->body, NULL);
}

static void test_held(void)
{
    struct fake_master fm;

    start(&fm);
    compute(&fm, 1, 0, 4);
    compute(&fm, 2, 7, 2);
    gather(&fm, 1, 7, 2);
    fake_expect(&fm, NF_MSG_HOLDING);
    fake_stop(&fm);
}

static void test_missing(void)
{
    struct fake_master fm;

    start(&fm);
    compute(&fm, 1, 0, 4);
    gather(&fm, 1, 3, 2);
    fake_expect(&fm, NF_MSG_REFUSE);
    CU_ASSERT_STRING_EQUAL(fm.reply.refuse.text,
                           "a result that is to be gathered is not here");
    fake_close(&fm);
}

/* REVOKE overtakes the rest of a GATHER of which a part has come. */
static void test_overtaken(void)
{
    struct fake_master fm;

    start(&fm);
    compute(&fm, 1, 0, 4);
    fake_send(&fm, NF_MSG_REVOKE, NULL, NULL);
    fake_expect(&fm, NF_MSG_READY);
    gather(&fm, 1, 0, 4);
    compute(&fm, 2, 4, 2);
    gather(&fm, 2, 4, 2);
    fake_expect(&fm, NF_MSG_HOLDING);
    fake_stop(&fm);
}

/* That is so of the next message only. */
static void test_missing_after_that(void)
{
    struct fake_master fm;

    start(&fm);
    fake_send(&fm, NF_MSG_REVOKE, NULL, NULL);
    fake_expect(&fm, NF_MSG_READY);
    compute(&fm, 1, 0, 4);
    gather(&fm, 1, 4, 2);
    fake_expect(&fm, NF_MSG_REFUSE);
    fake_close(&fm);
}

static CU_TestInfo tests[] = {
    { "what is held is told", test_held },
    { "who is asked for what it has not refuses", test_missing },
    { "a question that was overtaken by a revocation is left aside",
      test_overtaken },
    { "... and no later one", test_missing_after_that },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "gather, a slave", NULL, NULL, NULL, NULL, tests },
    CU_SUITE_INFO_NULL,
};

int main(void)
{
    return nf_unit_main(suites);
}
