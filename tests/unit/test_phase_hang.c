/* Slaves of the local transport that hang in the middle of an exchange: the others end
 * it and name them, and the job ends well within seconds. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/clock.h"
#include "nowfarm.h"
#include "tests/unit/nf_unit.h"

/* A slave makes room when it knows what goes, and before pieces are packed: there it
 * hangs.  This is in place of the library's. */
#define nf_exchange_make_out make_out
#include "slave/exchange_pieces.c"
#undef nf_exchange_make_out
bool nf_exchange_make_out(struct nf_exchange *x, const struct nf_group *group);

static struct {
    pthread_mutex_t lock;
    pthread_cond_t never;
    uint32_t asked, hangs_at; /* the n-th that asks, 0: nobody */
} stall = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

bool nf_exchange_make_out(struct nf_exchange *x, const struct nf_group *group)
{
    pthread_mutex_lock(&stall.lock);
    if (++stall.asked == stall.hangs_at)
        for (;;)
            pthread_cond_wait(&stall.never, &stall.lock);
    pthread_mutex_unlock(&stall.lock);
    return make_out(x, group);
}

enum { UNITS = 12, PHASES = 3, SLAVES = 3, ASKED = SLAVES };
/* Numbers in a piece: so many that it is not copied, but read where it was made, also if
 * that was by a slave that is lost. */
enum { LENGTH = 100 };

static int64_t value(uint32_t phase, uint64_t from, uint64_t to, uint64_t i)
{
    return (int64_t)(((phase * 100 + from) * 100 + to) * LENGTH + i);
}

/* Did the units of the phase before send what they have for this one? */
static bool is_right(const struct nf_work *work)
{
    const int64_t *in;

    if (work->input_bytes != UNITS * LENGTH * sizeof(*in))
        return false;
    for (uint64_t u = 0; u < UNITS; u++) {
        in = work->in_pieces[u];
        for (uint64_t i = 0; i < LENGTH; i++)
            if (in[i] != value(work->phase - 1, u, work->first, i))
                return false;
    }
    return true;
}

static int compute(const struct nf_work *work)
{
    int64_t number = 1;

    if (work->phase > 0 && !is_right(work))
        return 1;
    if (work->phase + 1 == PHASES)
        return nf_buf_append(work->result, &number, sizeof(number));
    for (uint64_t v = 0; v < UNITS; v++) {
        work->out_bytes[v] = LENGTH * sizeof(number);
        for (uint64_t i = 0; i < LENGTH; i++) {
            number = value(work->phase, work->first, v, i);
            if (nf_buf_append(work->result, &number, sizeof(number)) != NF_OK)
                return 2;
        }
    }
    return 0;
}

static enum nf_status split(void *user, uint64_t unit, struct nf_buf *input)
{
    (void)user;
    return nf_buf_append(input, &unit, sizeof(unit));
}

static uint32_t collected[UNITS];
static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    (void)user;
    (void)result;
    collected[unit] += bytes == sizeof(int64_t);
    return NF_OK;
}

static const struct nf_app app = { .name = "hang",
                                   .units = UNITS,
                                   .split = split,
                                   .compute = compute,
                                   .collect = collect,
                                   .input_type = NF_INT64,
                                   .result_type = NF_INT64,
                                   .phases = PHASES,
                                   .takes_pieces = 1 };

/* What is promised of an exchange that a slave is lost in; sanitizers take longer. */
#if defined(__SANITIZE_ADDRESS__)
enum { MOST_US = 20000000 };
#else
enum { MOST_US = 5000000 };
#endif

static void job_with_one_that_hangs(uint32_t at)
{
    const struct nf_options o = { .transport = "local",
                                  .slaves = SLAVES,
                                  .slots = 1,
                                  .policy = "static",
                                  .heartbeat_timeout_us =
                                      at == 0 ? 10000000 : 1000000 };
    const int64_t most_us = getenv("NF_VALGRIND") != NULL ? 60000000 : MOST_US;
    struct nf_report r;
    struct nf_error err = { NF_OK, "" };
    int64_t began_us = nf_now_us();

    memset(collected, 0, sizeof(collected));
    pthread_mutex_lock(&stall.lock);
    stall.asked = 0;
    stall.hangs_at = at;
    pthread_mutex_unlock(&stall.lock);
    CU_ASSERT_EQUAL(nf_run(&app, &o, &r, &err), NF_OK);
    CU_ASSERT(nf_now_us() - began_us < most_us);
    if (err.status != NF_OK)
        fprintf(stderr, "%s\n", err.text);
    for (uint32_t u = 0; u < UNITS; u++)
        CU_ASSERT_EQUAL(collected[u], 1);
    CU_ASSERT_EQUAL(r.done_units, UNITS);
    /* on a busy machine one that is slow may be lost with the one that hangs */
    CU_ASSERT(r.lost_slaves >= (at > 0));
    CU_ASSERT(r.nlost >= (at > 0));
    if (at == 0) {
        CU_ASSERT_EQUAL(r.lost_slaves, 0);
        CU_ASSERT_EQUAL(r.exchanges, PHASES - 1);
        CU_ASSERT_EQUAL(r.recomputed, 0);
    } else {
        CU_ASSERT(r.exchanges > PHASES - 1);
        CU_ASSERT(r.recomputed >= UNITS / SLAVES);
    }
}

/* By itself this is a job like others, in which each slave asks once an exchange. */
static void nobody_hangs(void)
{
    job_with_one_that_hangs(0);
    CU_ASSERT_EQUAL(stall.asked, (PHASES - 1) * ASKED);
}

static void one_hangs_in_the_first_exchange(void)
{
    job_with_one_that_hangs(1);
}

static void one_hangs_in_the_last_exchange(void)
{
    job_with_one_that_hangs(ASKED + 1);
}

/* Where blocks are passed on by others. */
static void one_hangs_that_has_to_pass_on(void)
{
    setenv("NOWFARM_COLL", "alltoall.bruck:radix=2", 1);
    job_with_one_that_hangs(ASKED);
    unsetenv("NOWFARM_COLL");
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "nobody hangs", nobody_hangs },
        { "one hangs in the first exchange", one_hangs_in_the_first_exchange },
        { "one hangs in the last exchange", one_hangs_in_the_last_exchange },
        { "one hangs that has to pass on", one_hangs_that_has_to_pass_on },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "hanging in an exchange", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
