/* An application that takes its time to make inputs or to take results, over
 * PVM: no slave ends for want of a word from the master, none is taken for
 * dead, and a stop is heeded. */
#include "config.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/net/net.h"
#include "nowfarm.h"
#include "tests/unit/own_pvm.h"

enum { SLAVES = 2, TIMEOUT_US = 2000000, CALL_US = 250000 };

static volatile int stop;

/* The unit that stops its slave for good, by its input; others are the unit. */
#define STOPPER UINT64_MAX

/* What the application does in the master. */
struct tally {
    useconds_t split_us, collect_us; /* that a call takes */
    unsigned stops_at;               /* call of collect(); 0: none */
    unsigned splits, collects, more_slaves;
    uint64_t sum;
    bool one_stops;    /* the first that is handed out with 10 at home */
    unsigned lost_at;  /* call of collect() before a slave was lost */
    unsigned told_at;  /* ... before progress was last told */
    unsigned most_untold;
    uint64_t told_done; /* the last progress */
};

static struct tally *noticing;

static void notice(void *user, const char *line)
{
    (void)user;
    if (strstr(line, "lost slave") != NULL && noticing->lost_at == 0)
        noticing->lost_at = noticing->collects;
    fprintf(stderr, "nowfarm: %s\n", line);
}

static void progress(void *user, const struct nf_progress *p)
{
    (void)user;
    noticing->told_done = p->done;
    if (noticing->collects - noticing->told_at > noticing->most_untold)
        noticing->most_untold = noticing->collects - noticing->told_at;
    noticing->told_at = noticing->collects;
}

static enum nf_status split(void *user, uint64_t unit, struct nf_buf *input)
{
    struct tally *tally = user;
    uint64_t *to = nf_buf_reserve(input, sizeof(*to));

    usleep(tally->split_us);
    tally->splits++;
    if (to == NULL)
        return NF_ERR_NOMEM;
    *to = tally->one_stops && tally->collects > 10 ? STOPPER : unit;
    tally->one_stops &= *to != STOPPER;
    return NF_OK;
}

static int compute(const struct nf_work *work)
{
    const uint64_t *units = work->input;
    uint64_t *to = nf_buf_reserve(work->result, work->count * sizeof(*to));

    for (uint64_t i = 0; to != NULL && i < work->count; i++) {
        if (units[i] == STOPPER)
            raise(SIGSTOP);
        to[i] = units[i];
    }
    return to == NULL;
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    struct tally *tally = user;

    usleep(tally->collect_us);
    tally->collects++;
    if (bytes == sizeof(uint64_t) && *(const uint64_t *)result == unit)
        tally->sum += unit + 1;
    if (tally->collects == tally->stops_at)
        stop = 1;
    return NF_OK;
}

static const struct nf_app app = {
    .name = "slow-calls",
    .split = split,
    .compute = compute,
    .collect = collect,
    .batch_units = 16,
};

static enum nf_status run(const char *policy, uint64_t units,
                          struct tally *tally, struct nf_report *report_p)
{
    const struct nf_options options = {
        .slaves = SLAVES + tally->more_slaves,
        .slots = 1,
        .policy = policy,
        .heartbeat_timeout_us = TIMEOUT_US,
        .slave_program = NF_BUILDDIR "/tests/unit/test_slow_calls",
        .stop = &stop,
        .notice = notice,
        .progress = progress,
        .progress_every_us = 100000,
    };
    struct nf_app job = app;
    struct nf_error err = { .text = "" };
    enum nf_status status;

    job.user = noticing = tally;
    job.units = units;
    stop = 0;
    status = nf_run(&job, &options, report_p, &err);
    if (status != NF_OK && status != NF_ERR_INTERRUPTED)
        fprintf(stderr, "%s\n", err.text);
    return status;
}

static void run_to_the_end(const char *policy, uint64_t units,
                           struct tally *tally)
{
    struct nf_report report = { .units = 0 };

    CU_ASSERT_EQUAL(run(policy, units, tally, &report), NF_OK);
    CU_ASSERT_EQUAL(report.lost_slaves, 0);
    CU_ASSERT_EQUAL(tally->splits, units);
    CU_ASSERT_EQUAL(tally->collects, units);
    CU_ASSERT_EQUAL(tally->sum, units * (units + 1) / 2);
}

/* Ten seconds, in which each slave falls silent for the master, and he for it:
 * a slave ends after 7. */
static void test_collect(void)
{
    struct tally tally = { .collect_us = CALL_US };

    run_to_the_end("send", 40, &tally);
}

/* The results of a chunk come in a few messages. */
static void test_collect_chunks(void)
{
    struct tally tally = { .collect_us = CALL_US };

    run_to_the_end("gss", 40, &tally);
}

/* The first chunk alone takes 12 s to make. */
static void test_split(void)
{
    struct tally tally = { .split_us = CALL_US };

    run_to_the_end("gss", 96, &tally);
}

/* All are handed out at once, one by one, in 12 s. */
static void test_split_singly(void)
{
    struct tally tally = { .split_us = CALL_US };

    run_to_the_end("cyclic", 48, &tally);
}

static void test_stop(void)
{
    struct nf_report report = { .units = 0 };
    struct tally tally = { .collect_us = 1000, .stops_at = 3 };

    CU_ASSERT_EQUAL(run("gss", 64, &tally, &report), NF_ERR_INTERRUPTED);
    CU_ASSERT_EQUAL(tally.collects, 3);
    CU_ASSERT_EQUAL(report.done_units, 3);
    CU_ASSERT_EQUAL(tally.told_done, 3);
}

/* The master has little time to listen, but has: the dead are noticed.  While he
 * takes the result of one of the others, that of the other one comes. */
static void test_silence(void)
{
    enum { UNITS = 600 };
    struct nf_report report = { .units = 0 };
    struct tally tally = {
        .collect_us = 15000, .one_stops = true, .more_slaves = 1
    };

    CU_ASSERT_EQUAL(run("send", UNITS, &tally, &report), NF_OK);
    CU_ASSERT_EQUAL(report.lost_slaves, 1);
    CU_ASSERT_EQUAL(tally.sum, UNITS * (UNITS + 1) / 2);
    CU_ASSERT(tally.lost_at > 0 && tally.lost_at < UNITS - 100);
}

/* All results lie there at once, 16 s of work: what else the master
 * has to do is done in between. */
static void test_backlog(void)
{
    struct tally tally = { .collect_us = CALL_US };

    run_to_the_end("cyclic", 64, &tally);
    CU_ASSERT(tally.most_untold > 0 && tally.most_untold < 32);
}

static CU_TestInfo tests[] = {
    { "nobody is lost while results are taken slowly", test_collect },
    { "nor while those of whole chunks are", test_collect_chunks },
    { "nor while inputs are made slowly", test_split },
    { "nor while those of many chunks are", test_split_singly },
    { "and the timers have their turn", test_backlog },
    { "a slave that really is silent is lost", test_silence },
    { "a stop is heeded between two calls", test_stop },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "slow calls over PVM", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (getenv(NF_SLAVE_VARIABLE) != NULL) {
        nf_run(&app, NULL, NULL, NULL); /* a slave: does not return */
        return 1;
    }
    alarm(240); /* a hang is a failure */
    return own_pvm_run(suites);
}
