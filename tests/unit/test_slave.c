/* The slave, driven by a scripted master. */
#include "config.h"
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "tests/unit/fake_master.h"
#include "tests/unit/nf_unit.h"

/* What kernels wait for, and what they have seen. */
static sem_t gate;
static atomic_int inside, calls, misfit;
static _Atomic uint64_t hang_unit, fail_unit;

static uint64_t input_number(const struct nf_work *work, uint64_t i)
{
    uint64_t number;

    memcpy(&number, (const uint8_t *)work->input + 8 * i, 8);
    return number;
}

/* Three times the number; the input must be that of the unit. */
static int triple(const struct nf_work *work)
{
    uint64_t *out = nf_buf_reserve(work->result, 8 * (size_t)work->count);

    if (out == NULL)
        return NF_ERR_NOMEM;
    atomic_fetch_add(&calls, 1);
    if (work->input_bytes != 8 * work->count)
        atomic_fetch_add(&misfit, 1);
    for (uint64_t i = 0; i < work->count; i++) {
        if (input_number(work, i) != work->first + i)
            atomic_fetch_add(&misfit, 1);
        if (work->first + i == atomic_load(&fail_unit)) {
            snprintf(work->error, work->error_bytes, "unit %llu is bad\nline 2",
                     (unsigned long long)(work->first + i));
            return 13;
        }
        out[i] = 3 * (work->first + i);
    }
    return 0;
}

/* The same, but hang_unit waits at the gate. */
static int gated(const struct nf_work *work)
{
    if (work->first == atomic_load(&hang_unit)) {
        atomic_fetch_add(&inside, 1);
        sem_wait(&gate);
        atomic_fetch_sub(&inside, 1);
    }
    return triple(work);
}

static const struct nf_app app_triple = { .name = "triple", .compute = triple };
static const struct nf_app app_batch = { .name = "batch",
                                         .compute = triple,
                                         .batch_units = 4 };
static const struct nf_app app_gated = { .name = "gated", .compute = gated };

static int set_up(void)
{
    atomic_store(&hang_unit, UINT64_MAX);
    atomic_store(&fail_unit, UINT64_MAX);
    return sem_init(&gate, 0, 0);
}

static void wait_inside(int count)
{
    for (int i = 0; atomic_load(&inside) != count && i < 60000; i++)
        usleep(1000);
    CU_ASSERT_EQUAL(atomic_load(&inside), count);
}

/* The last reply is this part of a lease, tripled. */
static void check_result(const struct fake_master *fm, uint64_t lease,
                         uint64_t first, uint64_t count, bool last)
{
    const struct nf_result_msg *m = &fm->reply.result;

    CU_ASSERT_EQUAL(fm->reply.kind, NF_MSG_RESULT);
    CU_ASSERT_EQUAL(m->lease, lease);
    CU_ASSERT_EQUAL(m->first, first);
    CU_ASSERT_EQUAL(m->count, count);
    CU_ASSERT_EQUAL(m->last, last);
    for (uint64_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL(fake_number(fm, i), 3 * (first + i));
}

static void test_hello_and_ready(void)
{
    struct nf_job_msg job = fake_job(&app_triple, 3);
    struct fake_master fm;

    fake_open(&fm, &app_triple, true);
    fake_expect(&fm, NF_MSG_HELLO);
    CU_ASSERT_EQUAL(fm.reply.hello.wire_version, NF_WIRE_VERSION);
    CU_ASSERT_STRING_EQUAL(fm.reply.hello.version, nf_version());
    CU_ASSERT_EQUAL(fm.reply.hello.spawn_id, 77);
    CU_ASSERT_EQUAL(fm.reply.hello.pid, (uint32_t)getpid());
    CU_ASSERT_TRUE(fm.reply.hello.cores >= 1);
    CU_ASSERT_TRUE(fm.reply.hello.host[0] != '\0');
    fake_send_job(&fm, &job);
    fake_expect(&fm, NF_MSG_READY);
    CU_ASSERT_EQUAL(fm.reply.ready.slots, 3);
    fake_stop(&fm);
}

static void test_default_slots(void)
{
    struct nf_job_msg job = fake_job(&app_triple, 0);
    struct fake_master fm;
    uint32_t cores;

    fake_open(&fm, &app_triple, true);
    cores = fake_expect(&fm, NF_MSG_HELLO)->hello.cores;
    fake_send_job(&fm, &job);
    CU_ASSERT_EQUAL(fake_expect(&fm, NF_MSG_READY)->ready.slots, cores);
    fake_stop(&fm);
    job.host_slaves = 10000;
    fake_start(&fm, &app_triple, &job);
    CU_ASSERT_EQUAL(fm.reply.ready.slots, 1);
    fake_stop(&fm);
}

static void test_leases_in_order(void)
{
    struct nf_job_msg job = fake_job(&app_triple, 1);
    struct fake_master fm;

    fake_start(&fm, &app_triple, &job);
    for (uint64_t i = 0; i < 20; i++)
        fake_send_lease(&fm, 0, 100 + i, 1000 * i, i + 1);
    for (uint64_t i = 0; i < 20; i++) {
        fake_expect(&fm, NF_MSG_RESULT);
        check_result(&fm, 100 + i, 1000 * i, i + 1, true);
        CU_ASSERT_TRUE(fm.reply.result.compute_us >= 0);
        CU_ASSERT_TRUE(fm.reply.result.wait_us >= 0);
    }
    CU_ASSERT_EQUAL(atomic_load(&misfit), 0);
    fake_stop(&fm);
}

/* All slots must be in the kernel at the same time to get past this. */
static int meet(const struct nf_work *work)
{
    uint64_t *out = nf_buf_reserve(work->result, 8);
    int patience = 60000;

    atomic_fetch_add(&inside, 1);
    while (atomic_load(&inside) < 4 && patience-- > 0)
        usleep(1000);
    *out = work->slot;
    return patience > 0 ? 0 : 1;
}

static void test_slots_compute_in_parallel(void)
{
    static const struct nf_app app = { .name = "meet", .compute = meet };
    struct nf_job_msg job = fake_job(&app, 4);
    struct fake_master fm;

    atomic_store(&inside, 0);
    fake_start(&fm, &app, &job);
    for (uint32_t slot = 0; slot < 4; slot++)
        fake_send_lease(&fm, slot, slot, slot, 1);
    for (int i = 0; i < 4; i++) {
        fake_expect(&fm, NF_MSG_RESULT);
        CU_ASSERT_EQUAL(fake_number(&fm, 0), fm.reply.result.lease);
    }
    fake_stop(&fm);
    atomic_store(&inside, 0);
}

static void test_failing_unit_of_a_batch(void)
{
    struct nf_job_msg job = fake_job(&app_batch, 1);
    struct fake_master fm;

    fake_start(&fm, &app_batch, &job);
    atomic_store(&fail_unit, 105);
    atomic_store(&calls, 0);
    fake_send_lease(&fm, 0, 9, 100, 10);
    fake_expect(&fm, NF_MSG_RESULT);
    check_result(&fm, 9, 100, 5, false);
    fake_expect(&fm, NF_MSG_UNIT_FAILED);
    CU_ASSERT_EQUAL(fm.reply.failed.lease, 9);
    CU_ASSERT_EQUAL(fm.reply.failed.unit, 105);
    CU_ASSERT_EQUAL(fm.reply.failed.code, 13);
    CU_ASSERT_FALSE(fm.reply.failed.last);
    CU_ASSERT_FALSE(fm.reply.failed.timeout);
    CU_ASSERT_STRING_EQUAL(fm.reply.failed.reason, "unit 105 is bad");
    fake_expect(&fm, NF_MSG_RESULT);
    check_result(&fm, 9, 106, 4, true);
    /* 4, the bad 4, these one by one, 2 */
    CU_ASSERT_EQUAL(atomic_load(&calls), 1 + 1 + 4 + 1);
    /* the last unit of a lease, and the only one */
    atomic_store(&fail_unit, 203);
    fake_send_lease(&fm, 0, 10, 200, 4);
    fake_expect(&fm, NF_MSG_RESULT);
    check_result(&fm, 10, 200, 3, false);
    CU_ASSERT_TRUE(fake_expect(&fm, NF_MSG_UNIT_FAILED)->failed.last);
    fake_send_lease(&fm, 0, 11, 203, 1);
    CU_ASSERT_TRUE(fake_expect(&fm, NF_MSG_UNIT_FAILED)->failed.last);
    atomic_store(&fail_unit, UINT64_MAX);
    fake_stop(&fm);
}

/* Short units are computed by the communicator.  One that is not must not
 * silence the slave: only with a take-over do heartbeats go on. */
static void test_long_unit_among_short_ones(void)
{
    for (uint32_t slots = 1; slots <= 2; slots++) {
        struct nf_job_msg job = fake_job(&app_gated, slots);
        struct fake_master fm;

        job.heartbeat_us = 10000;
        job.unit_timeout_us = slots == 1 ? 0 : 50000000;
        fake_start(&fm, &app_gated, &job);
        for (int round = 0; round < 3; round++) {
            uint64_t base = 10000 * (uint64_t)(round + 1);

            for (uint64_t i = 0; i < 1000; i++) {
                fake_send_lease(&fm, slots - 1, i, base + i, 1);
                fake_expect(&fm, NF_MSG_RESULT);
                check_result(&fm, i, base + i, 1, true);
            }
            atomic_store(&hang_unit, base + 1000);
            fake_send_lease(&fm, slots - 1, 1000, base + 1000, 1);
            fake_send_lease(&fm, slots - 1, 1001, base + 1001, 1);
            wait_inside(1);
            fake_expect_heartbeats(&fm, 10);
            if (slots == 2) { /* the other slot works on */
                fake_send_lease(&fm, 0, 2000, 5, 1);
                fake_expect(&fm, NF_MSG_RESULT);
                check_result(&fm, 2000, 5, 1, true);
            }
            sem_post(&gate);
            fake_expect(&fm, NF_MSG_RESULT);
            check_result(&fm, 1000, base + 1000, 1, true);
            fake_expect(&fm, NF_MSG_RESULT);
            check_result(&fm, 1001, base + 1001, 1, true);
        }
        fake_stop(&fm);
    }
}

static void test_heartbeats_while_computing(void)
{
    struct nf_job_msg job = fake_job(&app_gated, 1);
    struct fake_master fm;

    job.heartbeat_us = 5000;
    fake_start(&fm, &app_gated, &job);
    fake_expect_heartbeats(&fm, 3);
    atomic_store(&hang_unit, 8);
    fake_send_lease(&fm, 0, 1, 8, 2);
    wait_inside(1);
    fake_expect_heartbeats(&fm, 5);
    sem_post(&gate);
    fake_expect(&fm, NF_MSG_RESULT);
    check_result(&fm, 1, 8, 2, true);
    fake_stop(&fm);
}

static void test_unit_over_its_limit(void)
{
    struct nf_job_msg job = fake_job(&app_gated, 2);
    struct fake_master fm;

    job.unit_timeout_us = 200000;
    fake_start(&fm, &app_gated, &job);
    atomic_store(&hang_unit, 42);
    fake_send_lease(&fm, 1, 6, 40, 5);
    fake_send_lease(&fm, 1, 7, 50, 5);
    fake_expect(&fm, NF_MSG_UNIT_FAILED);
    CU_ASSERT_EQUAL(fm.reply.failed.lease, 6);
    CU_ASSERT_EQUAL(fm.reply.failed.unit, 42);
    CU_ASSERT_TRUE(fm.reply.failed.timeout);
    CU_ASSERT_STRING_EQUAL(fm.reply.failed.reason,
                           "over its time limit of 0.2 s");
    fake_expect(&fm, NF_MSG_NONE);
    CU_ASSERT_EQUAL(atomic_load(&fm.status), NF_ERR_FAILED);
    CU_ASSERT_EQUAL(atomic_load(&inside), 1);
    fake_close(&fm);
    sem_post(&gate); /* the kernel comes back to memory that is still there */
    wait_inside(0);
}

static void test_revoke(void)
{
    struct nf_job_msg job = fake_job(&app_gated, 2);
    struct fake_master fm;

    fake_start(&fm, &app_gated, &job);
    atomic_store(&hang_unit, 0);
    for (uint64_t i = 0; i < 5; i++)
        fake_send_lease(&fm, 0, i, 10 * i, 2);
    wait_inside(1);
    fake_drain(&fm);
    fake_send(&fm, NF_MSG_REVOKE, NULL, NULL);
    fake_expect(&fm, NF_MSG_READY); /* while the kernel still runs */
    CU_ASSERT_EQUAL(fm.reply.ready.slots, 2);
    /* what comes after it is computed */
    fake_send_lease(&fm, 1, 98, 980, 1);
    fake_expect(&fm, NF_MSG_RESULT);
    check_result(&fm, 98, 980, 1, true);
    fake_send_lease(&fm, 0, 99, 990, 1);
    sem_post(&gate);
    fake_expect(&fm, NF_MSG_RESULT); /* was being computed */
    check_result(&fm, 0, 0, 2, true);
    fake_expect(&fm, NF_MSG_RESULT);
    check_result(&fm, 99, 990, 1, true);
    fake_stop(&fm);
}

/* READY answers each REVOKE, but says that the slave is ready only if it is. */
static void test_revoke_of_nothing(void)
{
    struct nf_job_msg job = fake_job(&app_triple, 3);
    struct fake_master fm;

    fake_open(&fm, &app_triple, true);
    fake_expect(&fm, NF_MSG_HELLO);
    fake_send(&fm, NF_MSG_REVOKE, NULL, NULL);
    fake_drain(&fm);
    fake_send_job(&fm, &job);
    for (int i = 0; i < 3; i++) { /* one of the job, and one for each */
        fake_expect(&fm, NF_MSG_READY);
        CU_ASSERT_EQUAL(fm.reply.ready.slots, 3);
        if (i < 2)
            fake_send(&fm, NF_MSG_REVOKE, NULL, NULL);
    }
    fake_send_lease(&fm, 2, 1, 10, 1);
    fake_expect(&fm, NF_MSG_RESULT);
    check_result(&fm, 1, 10, 1, true);
    fake_stop(&fm);
}

static void wait_calls(int count)
{
    for (int i = 0; atomic_load(&calls) < count && i < 60000; i++)
        usleep(1000);
    CU_ASSERT_EQUAL(atomic_load(&calls), count);
}

/* If it died then, the master would suspect the two oldest leases of the slot;
 * so no third one may have been begun. */
static void test_held_up_sends(void)
{
    struct nf_job_msg job = fake_job(&app_gated, 2);
    struct fake_master fm;

    fake_start(&fm, &app_gated, &job);
    atomic_store(&hang_unit, 10);
    for (uint64_t i = 1; i <= 5; i++)
        fake_send_lease(&fm, 0, i, 10 * i, 1);
    fake_send_lease(&fm, 1, 9, 90, 1);
    fake_expect(&fm, NF_MSG_RESULT); /* the five are with their slot, too */
    check_result(&fm, 9, 90, 1, true);
    wait_inside(1);
    atomic_store(&calls, 0);
    atomic_store(&fm.hold_sends, true);
    sem_post(&gate);
    wait_calls(2);
    usleep(100000); /* there would be time for more */
    CU_ASSERT_TRUE(atomic_load(&fm.holding));
    CU_ASSERT_EQUAL(atomic_load(&calls), 2);
    atomic_store(&fm.hold_sends, false);
    for (uint64_t i = 1; i <= 5; i++) {
        fake_expect(&fm, NF_MSG_RESULT);
        check_result(&fm, i, 10 * i, 1, true);
    }
    CU_ASSERT_EQUAL(atomic_load(&calls), 5);
    fake_stop(&fm);
    atomic_store(&hang_unit, UINT64_MAX);
}

static void test_stop_while_computing(void)
{
    struct nf_job_msg job = fake_job(&app_gated, 1);
    struct fake_master fm;

    fake_start(&fm, &app_gated, &job);
    atomic_store(&hang_unit, 0);
    fake_send_lease(&fm, 0, 1, 0, 1);
    fake_send_lease(&fm, 0, 2, 1, 1);
    wait_inside(1);
    fake_send(&fm, NF_MSG_STOP, NULL, NULL);
    for (int i = 0; !atomic_load(&fm.closed) && i < 60000; i++)
        usleep(1000);
    CU_ASSERT_TRUE(atomic_load(&fm.closed));
    CU_ASSERT_EQUAL(atomic_load(&fm.status), 99); /* the kernel still runs */
    atomic_store(&calls, 0);
    sem_post(&gate);
    fake_expect(&fm, NF_MSG_NONE);
    CU_ASSERT_EQUAL(atomic_load(&fm.status), NF_OK);
    CU_ASSERT_EQUAL(atomic_load(&calls), 1); /* lease 2 was not begun */
    fake_close(&fm);
}

static void test_unknown_application(void)
{
    struct nf_job_msg job = fake_job(&app_batch, 1);
    struct fake_master fm;

    fake_open(&fm, &app_triple, true);
    fake_expect(&fm, NF_MSG_HELLO);
    fake_send_job(&fm, &job);
    fake_expect(&fm, NF_MSG_REFUSE);
    CU_ASSERT_STRING_EQUAL(fm.reply.refuse.text,
                           "no application 'batch' here; there is: triple");
    fake_send(&fm, NF_MSG_STOP, NULL, NULL);
    fake_expect(&fm, NF_MSG_NONE);
    CU_ASSERT_EQUAL(atomic_load(&fm.status), NF_ERR_INVAL);
    fake_close(&fm);
}

static void expect_refusal(struct fake_master *fm, const char *text)
{
    fake_expect(fm, NF_MSG_REFUSE);
    CU_ASSERT_STRING_EQUAL(fm->reply.refuse.text, text);
    fake_send(fm, NF_MSG_STOP, NULL, NULL);
    fake_expect(fm, NF_MSG_NONE);
    CU_ASSERT_EQUAL(atomic_load(&fm->status), NF_ERR_PROTOCOL);
    fake_close(fm);
}

static void test_malformed_messages(void)
{
    struct nf_job_msg job = fake_job(&app_triple, 2);
    struct nf_lease_msg bad[3] = {
        { 1, 0, 0, 0, 0, { 8, NULL } }, /* no unit */
        { 1, 0, 1, 0, 0, { 9, NULL } }, /* not the size of the payload */
        { 1, 0, 1, 2, 0, { 8, NULL } }, /* no such slot */
    };
    struct fake_master fm;

    for (int i = 0; i < 3; i++) {
        fake_start(&fm, &app_triple, &job);
        CU_ASSERT_EQUAL(nf_put_lease(&fm.body, &bad[i], NULL), NF_OK);
        fake_send(&fm, NF_MSG_LEASE, &fm.body, nf_blob_create(8, NF_BYTES));
        expect_refusal(&fm, "malformed message: lease");
    }
    fake_start(&fm, &app_triple, &job);
    fake_send_job(&fm, &job);
    expect_refusal(&fm, "malformed message: job");
    fake_start(&fm, &app_triple, &job);
    fake_send(&fm, NF_MSG_SHARED, NULL, nf_blob_create(8, NF_BYTES));
    expect_refusal(&fm, "malformed message: shared data");
    fake_start(&fm, &app_triple, &job);
    fake_send(&fm, NF_MSG_RESULT, NULL, nf_blob_create(8, NF_BYTES));
    expect_refusal(&fm, "malformed message: unexpected kind");
    fake_open(&fm, &app_triple, true);
    fake_expect(&fm, NF_MSG_HELLO);
    fake_send_lease(&fm, 0, 1, 0, 1);
    expect_refusal(&fm, "malformed message: lease before ready");
}

static void test_silent_master(void)
{
    struct nf_job_msg job = fake_job(&app_triple, 1);
    struct fake_master fm;

    job.master_silence_us = 300000;
    fake_start(&fm, &app_triple, &job);
    for (int i = 0; i < 10; i++) {
        usleep(50000);
        fake_send(&fm, NF_MSG_PING, NULL, NULL);
    }
    CU_ASSERT_EQUAL(atomic_load(&fm.status), 99);
    fake_expect(&fm, NF_MSG_NONE);
    CU_ASSERT_EQUAL(atomic_load(&fm.status), NF_ERR_UNREACHABLE);
    fake_close(&fm);
}

/* 10^5 units in leases of 1 to 4 units, always eight on the way. */
static void test_many_tiny_units(void)
{
    enum { UNITS = 100000, SLOTS = 4, WINDOW = 8 };
    struct nf_job_msg job = fake_job(&app_triple, SLOTS);
    uint8_t *seen = nf_calloc(UNITS, 1);
    uint64_t unit = 0, lease = 0, answered = 0, wrong = 0;
    uint64_t first[WINDOW * SLOTS];
    struct fake_master fm;

    fake_start(&fm, &app_triple, &job);
    while (answered < lease || unit < UNITS) {
        while (unit < UNITS && lease - answered < WINDOW) {
            uint64_t count = 1 + lease % 4;

            if (count > UNITS - unit)
                count = UNITS - unit;
            fake_send_lease(&fm, (uint32_t)(lease % SLOTS), lease, unit, count);
            first[lease % (WINDOW * SLOTS)] = unit;
            unit += count;
            lease++;
        }
        if (fake_next(&fm)->kind != NF_MSG_RESULT)
            break;
        answered++;
        wrong += !fm.reply.result.last ||
                 fm.reply.result.first !=
                     first[fm.reply.result.lease % (WINDOW * SLOTS)];
        for (uint64_t i = 0; i < fm.reply.result.count; i++) {
            seen[fm.reply.result.first + i]++;
            wrong += fake_number(&fm, i) != 3 * (fm.reply.result.first + i);
        }
    }
    for (uint64_t i = 0; i < UNITS; i++)
        wrong += seen[i] != 1;
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(answered, lease);
    CU_ASSERT_EQUAL(atomic_load(&misfit), 0);
    fake_stop(&fm);
    nf_free(seen);
}

static int exhaust(const struct nf_work *work)
{
    int code = triple(work);

    nf_alloc_fail_after(0);
    return code;
}

static void test_out_of_memory(void)
{
    static const struct nf_app app = { .name = "exhaust", .compute = exhaust };
    struct nf_job_msg job = fake_job(&app, 1);
    struct fake_master fm;

    fake_start(&fm, &app, &job);
    fake_send_lease(&fm, 0, 1, 0, 1);
    fake_next(&fm);
    nf_alloc_fail_after(-1);
    CU_ASSERT_NOT_EQUAL(fm.reply.kind, NF_MSG_RESULT);
    if (fm.reply.kind == NF_MSG_REFUSE) {
        CU_ASSERT_STRING_EQUAL(fm.reply.refuse.text, "out of memory");
        fake_send(&fm, NF_MSG_STOP, NULL, NULL);
        fake_expect(&fm, NF_MSG_NONE);
    }
    CU_ASSERT_EQUAL(atomic_load(&fm.status), NF_ERR_NOMEM);
    fake_close(&fm);
}

static CU_TestInfo tests[] = {
    { "says hello, and is ready with the slots asked for",
      test_hello_and_ready },
    { "by default has as many slots as cores for it", test_default_slots },
    { "answers the leases of a slot in order", test_leases_in_order },
    { "computes in all slots at the same time",
      test_slots_compute_in_parallel },
    { "a failing unit of a batch fails alone", test_failing_unit_of_a_batch },
    { "a long unit among short ones does not silence it",
      test_long_unit_among_short_ones },
    { "heartbeats go on while it computes", test_heartbeats_while_computing },
    { "a unit over its limit is named and ends the slave",
      test_unit_over_its_limit },
    { "revoke drops what is not being computed, and is answered", test_revoke },
    { "revoke is answered by READY once the slave is ready",
      test_revoke_of_nothing },
    { "while answers are held up no third lease is begun", test_held_up_sends },
    { "stop lets running kernels finish and begins no other",
      test_stop_while_computing },
    { "an unknown application is refused by name", test_unknown_application },
    { "malformed messages are refused", test_malformed_messages },
    { "a silent master ends it, a PING does not", test_silent_master },
    { "10^5 tiny units through four slots come back once",
      test_many_tiny_units },
    { "running out of memory is said, not swallowed", test_out_of_memory },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "slave", set_up, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
