/* CANCEL: a lease that is not begun is dropped, and everything else goes on. */
#include "config.h"
#include <semaphore.h>
#include <unistd.h>
#include "tests/unit/fake_master.h"
#include "tests/unit/nf_unit.h"

static sem_t gate;
static atomic_int inside;
static _Atomic uint64_t computed; /* bit u: unit u was */

/* Unit 0 waits at the gate. */
static int gated(const struct nf_work *work)
{
    uint64_t number = work->first;

    if (work->first == 0) {
        atomic_fetch_add(&inside, 1);
        sem_wait(&gate);
        atomic_fetch_sub(&inside, 1);
    }
    atomic_fetch_or(&computed, UINT64_C(1) << work->first);
    return nf_buf_append(work->result, &number, sizeof(number));
}

static const struct nf_app app = { .name = "gated", .compute = gated };

static int set_up(void)
{
    return sem_init(&gate, 0, 0);
}

/* A slave whose slot 0 is busy with lease 100, unit 0. */
static void start_busy(struct fake_master *fm, uint32_t slots)
{
    struct nf_job_msg job = fake_job(&app, slots);

    atomic_store(&computed, 0);
    fake_start(fm, &app, &job);
    fake_send_lease(fm, 0, 100, 0, 1);
    for (int i = 0; atomic_load(&inside) != 1 && i < 60000; i++)
        usleep(1000);
    CU_ASSERT_EQUAL(atomic_load(&inside), 1);
}

static void cancel(struct fake_master *fm, uint64_t lease)
{
    struct nf_cancel_msg m = { .lease = lease };

    CU_ASSERT_EQUAL(nf_put_cancel(&fm->body, &m), NF_OK);
    fake_send(fm, NF_MSG_CANCEL, &fm->body, NULL);
}

/* The next answer is to this lease. */
static void expect_answer(struct fake_master *fm, uint64_t lease)
{
    fake_expect(fm, NF_MSG_RESULT);
    CU_ASSERT_EQUAL(fm->reply.result.lease, lease);
}

static void test_queued(void)
{
    struct fake_master fm;

    /* first, middle and last of what waits; all at once, so that some may
     * still be in the hands of the communicator */
    start_busy(&fm, 1);
    for (uint64_t u = 1; u <= 5; u++)
        fake_send_lease(&fm, 0, 100 + u, u, 1);
    cancel(&fm, 101);
    cancel(&fm, 103);
    cancel(&fm, 105);
    fake_send_lease(&fm, 0, 106, 6, 1);
    fake_drain(&fm);
    sem_post(&gate);
    expect_answer(&fm, 100);
    expect_answer(&fm, 102);
    expect_answer(&fm, 104);
    expect_answer(&fm, 106);
    fake_stop(&fm);
    CU_ASSERT_EQUAL(atomic_load(&computed), 1 << 0 | 1 << 2 | 1 << 4 | 1 << 6);
}

static void test_all_queued(void)
{
    struct fake_master fm;

    /* the queue becomes empty, and takes leases again */
    start_busy(&fm, 1);
    fake_send_lease(&fm, 0, 101, 1, 1);
    fake_drain(&fm);
    cancel(&fm, 101);
    fake_drain(&fm);
    fake_send_lease(&fm, 0, 102, 2, 1);
    fake_send_lease(&fm, 0, 103, 3, 1);
    sem_post(&gate);
    expect_answer(&fm, 100);
    expect_answer(&fm, 102);
    expect_answer(&fm, 103);
    /* and when nothing waits, a cancelled lease leaves an idle slot */
    fake_send_lease(&fm, 0, 104, 4, 1);
    expect_answer(&fm, 104);
    cancel(&fm, 104);
    fake_send_lease(&fm, 0, 105, 5, 1);
    expect_answer(&fm, 105);
    fake_stop(&fm);
}

static void test_begun(void)
{
    struct fake_master fm;

    start_busy(&fm, 1);
    cancel(&fm, 100);
    fake_drain(&fm);
    sem_post(&gate);
    expect_answer(&fm, 100);
    fake_stop(&fm);
}

static void test_unknown(void)
{
    struct fake_master fm;

    start_busy(&fm, 2);
    fake_send_lease(&fm, 1, 101, 1, 1);
    expect_answer(&fm, 101);
    cancel(&fm, 101); /* answered already */
    cancel(&fm, 999); /* never heard of */
    fake_send_lease(&fm, 0, 102, 2, 1);
    cancel(&fm, 102); /* of another slot than the last one */
    fake_send_lease(&fm, 1, 103, 3, 1);
    expect_answer(&fm, 103);
    sem_post(&gate);
    expect_answer(&fm, 100);
    fake_stop(&fm);
    CU_ASSERT_EQUAL(atomic_load(&computed), 1 << 0 | 1 << 1 | 1 << 3);
}

static void test_malformed(void)
{
    struct nf_job_msg job = fake_job(&app, 1);
    struct fake_master fm;

    fake_start(&fm, &app, &job);
    fm.body.bytes = 0;
    fake_send(&fm, NF_MSG_CANCEL, &fm.body, NULL);
    fake_expect(&fm, NF_MSG_REFUSE);
    CU_ASSERT_STRING_EQUAL(fm.reply.refuse.text, "malformed message: cancel");
    fake_close(&fm);
}

static CU_TestInfo tests[] = {
    { "leases that wait are dropped, wherever they are", test_queued },
    { "a queue that a cancellation empties goes on", test_all_queued },
    { "a lease that was begun is answered", test_begun },
    { "what is not there is not cancelled", test_unknown },
    { "a malformed cancellation is refused", test_malformed },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "cancel", set_up, NULL, NULL, NULL, tests },
    CU_SUITE_INFO_NULL,
};

int main(void)
{
    return nf_unit_main(suites);
}
