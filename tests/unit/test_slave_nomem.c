/* The slave without memory: the n-th allocation fails, for every n.  Either
 * every unit is answered, or the slave says how it ended; nothing is lost in
 * silence and nothing leaks.  The master is a canned port that allocates
 * nothing itself. */
#include "config.h"
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/base/alloc.h"
#include "slave/slave.h"
#include "tests/unit/nf_unit.h"

enum { LEASES = 6, UNITS_OF_LEASE = 5 };

struct canned {
    struct nf_port port;
    struct nf_body job, lease[LEASES];
    struct nf_blob *shared, *input;
    sem_t woken;
    int next;     /* message to be received */
    int answered; /* units */
    int refused;
};

static int fail_third(const struct nf_work *work)
{
    if (work->first % UNITS_OF_LEASE == 3)
        return 1;
    return nf_buf_append(work->result, work->shared,
                         1 + (size_t)work->first % 3);
}

static const struct nf_app app = { .name = "third", .compute = fail_third };
static const struct nf_app *const apps[] = { &app, NULL };

static enum nf_status canned_send(struct nf_port *port,
                                  const struct nf_msg *msg)
{
    struct canned *canned = (struct canned *)port;
    struct nf_result_msg result;

    if (msg->kind == NF_MSG_UNIT_FAILED) {
        canned->answered++;
    } else if (msg->kind == NF_MSG_RESULT) {
        CU_ASSERT_EQUAL(nf_get_result(msg->body, msg->body_bytes, &result),
                        NF_OK);
        canned->answered += (int)result.count;
    } else if (msg->kind == NF_MSG_REFUSE) {
        canned->refused++;
    }
    return NF_OK;
}

static bool is_answered(const struct canned *canned)
{
    return canned->answered == LEASES * UNITS_OF_LEASE || canned->refused > 0;
}

static enum nf_status canned_receive(struct nf_port *port, struct nf_msg *msg_p)
{
    struct canned *canned = (struct canned *)port;
    const struct nf_body *body = NULL;
    int i = canned->next++;

    memset(msg_p, 0, sizeof(*msg_p));
    if (i == 0) {
        msg_p->kind = NF_MSG_JOB;
        body = &canned->job;
    } else if (i == 1) {
        msg_p->kind = NF_MSG_SHARED;
        msg_p->payload = nf_blob_ref(canned->shared);
    } else if (i < 2 + LEASES) {
        msg_p->kind = NF_MSG_LEASE;
        msg_p->payload = nf_blob_ref(canned->input);
        body = &canned->lease[i - 2];
    } else {
        canned->next--;
        msg_p->kind = NF_MSG_STOP;
        return is_answered(canned) ? NF_OK : NF_WAIT;
    }
    if (body != NULL) {
        msg_p->body = body->data;
        msg_p->body_bytes = body->bytes;
    }
    return NF_OK;
}

/* Sleeps until there is a message or it is woken, and no shorter. */
static enum nf_status canned_wait(struct nf_port *port, int64_t timeout_us)
{
    struct timespec at;

    (void)timeout_us;
    if (is_answered((struct canned *)port))
        return NF_OK;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += 30;
    while (sem_timedwait(&((struct canned *)port)->woken, &at) != 0) {
        if (errno == EINTR)
            continue;
        fprintf(stderr, "results are there and nobody wakes the port\n");
        abort();
    }
    return NF_OK;
}

static void canned_wake(struct nf_port *port)
{
    sem_post(&((struct canned *)port)->woken);
}

static void canned_close(struct nf_port *port)
{
    (void)port;
}

static const struct nf_port_ops canned_ops = {
    .send = canned_send,
    .receive = canned_receive,
    .wait = canned_wait,
    .wake = canned_wake,
    .close = canned_close,
};

static void canned_init(struct canned *canned)
{
    static const uint64_t sizes[UNITS_OF_LEASE] = { 1, 2, 0, 4, 3 };
    struct nf_job_msg job = { .app = "third",
                              .slots = 2,
                              .master_silence_us = 60000000,
                              .has_shared = true };

    memset(canned, 0, sizeof(*canned));
    canned->port.ops = &canned_ops;
    sem_init(&canned->woken, 0, 0);
    CU_ASSERT_EQUAL(nf_put_job(&canned->job, &job), NF_OK);
    for (uint32_t i = 0; i < LEASES; i++) {
        struct nf_lease_msg m = { .lease = i,
                                  .first = i * UNITS_OF_LEASE,
                                  .count = UNITS_OF_LEASE,
                                  .slot = i % 2,
                                  .layout = { NF_LAYOUT_TABLE, NULL } };

        CU_ASSERT_EQUAL(nf_put_lease(&canned->lease[i], &m, sizes), NF_OK);
    }
    canned->shared = nf_blob_create(100, NF_BYTES);
    canned->input = nf_blob_create(10, NF_BYTES);
    memset(canned->shared->data, 1, 100);
    memset(canned->input->data, 2, 10);
}

static void canned_fini(struct canned *canned)
{
    nf_body_fini(&canned->job);
    for (int i = 0; i < LEASES; i++)
        nf_body_fini(&canned->lease[i]);
    CU_ASSERT_EQUAL(atomic_load(&canned->shared->refs), 1);
    CU_ASSERT_EQUAL(atomic_load(&canned->input->refs), 1);
    nf_blob_unref(canned->shared);
    nf_blob_unref(canned->input);
}

static void test_every_allocation_fails(void)
{
    struct nf_slave_config config = { .apps = apps, .in_process = true };
    enum nf_status status = NF_ERR_NOMEM;
    long n;

    for (n = 0; status != NF_OK && n < 1000; n++) {
        struct canned canned;

        canned_init(&canned);
        nf_alloc_fail_after(n);
        status = nf_slave_serve(&canned.port, &config);
        nf_alloc_fail_after(-1);
        if (status == NF_OK)
            CU_ASSERT_EQUAL(canned.answered, LEASES * UNITS_OF_LEASE);
        if (status != NF_OK)
            CU_ASSERT_EQUAL(status, NF_ERR_NOMEM);
        canned_fini(&canned);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT_TRUE(n > 10); /* it did fail often */
}

static CU_TestInfo tests[] = {
    { "whichever allocation fails, no unit is lost in silence",
      test_every_allocation_fails },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "slave without memory", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
