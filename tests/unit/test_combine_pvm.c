/* Results that take long to combine or to collect, over PVM: each call of a
 * function of the application keeps within the limit, so nobody is taken for
 * dead. */
#include "config.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/net/net.h"
#include "nowfarm.h"
#include "tests/unit/own_pvm.h"

enum { SLAVES = 8, TIMEOUT_US = 2000000, COMBINE_US = 1300000 };

/* The result of the one slave that combines slowly: rank 4 of a tree, so that
 * others have combined before it does. */
enum { SLOW = 1 << 3 };

static bool in_slave;
static useconds_t master_us; /* that a call takes there */
static unsigned master_calls;
static bool stops; /* in the first of them */
static volatile int stop;

/* What the slave that computed @p unit says of itself: its process id. */
static FILE *open_note(uint64_t unit, const char *mode)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/unit-%u", getenv("PVM_TMP"),
             (unsigned)unit);
    return fopen(path, mode);
}

static int compute(const struct nf_work *work)
{
    int64_t *to = nf_buf_reserve(work->result, sizeof(*to));
    FILE *note = open_note(work->first, "w");

    usleep(300000); /* so that each slave gets one */
    if (note != NULL) {
        fprintf(note, "%d", (int)getpid());
        fclose(note);
    }
    if (to != NULL)
        *to = INT64_C(1) << work->first;
    return to == NULL;
}

static void combine(void *inout, const void *in, size_t bytes)
{
    int64_t sum = *(int64_t *)inout + *(const int64_t *)in;

    (void)bytes;
    if (!in_slave) {
        usleep(master_us);
        master_calls++;
        stop = stops;
    } else if ((sum & SLOW) != 0) {
        usleep(COMBINE_US);
    }
    *(int64_t *)inout = sum;
}

struct home {
    int64_t sum;
    unsigned alive; /* slaves, then */
};

static unsigned count_alive(void)
{
    unsigned alive = 0;

    for (uint64_t unit = 0; unit < SLAVES; unit++) {
        FILE *note = open_note(unit, "r");
        int pid;

        if (note != NULL && fscanf(note, "%d", &pid) == 1)
            alive += kill(pid, 0) == 0;
        if (note != NULL)
            fclose(note);
    }
    return alive;
}

static enum nf_status collect_combined(void *user, const void *result,
                                       size_t bytes, uint64_t units)
{
    struct home *home = user;

    if (bytes == sizeof(int64_t) && units == SLAVES)
        home->sum = *(const int64_t *)result;
    home->alive = count_alive();
    return NF_OK;
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    struct home *home = user;

    (void)unit;
    usleep(master_us);
    if (bytes == sizeof(int64_t))
        home->sum += *(const int64_t *)result;
    home->alive = count_alive();
    return NF_OK;
}

static const struct nf_app app = {
    .name = "slow",
    .units = SLAVES,
    .compute = compute,
    .combine = combine,
    .combine_by = NF_COMBINE_OWN,
    .collect = collect,
    .collect_combined = collect_combined,
    .result_type = NF_INT64,
};

/* @param algorithm  of the reduction; NULL: results are not combined */
static enum nf_status run(const char *algorithm, struct home *home_p,
                          struct nf_report *report_p)
{
    const struct nf_options options = {
        .slaves = SLAVES,
        .slots = 1,
        .policy = "send",
        .gather = algorithm != NULL ? "reduce" : "tree",
        .heartbeat_timeout_us = TIMEOUT_US,
        .slave_program = NF_BUILDDIR "/tests/unit/test_combine_pvm",
        .stop = &stop,
    };
    struct nf_app job = app;
    struct nf_error err = { .text = "" };
    enum nf_status status;

    job.user = home_p;
    stop = 0;
    master_calls = 0;
    setenv("NOWFARM_COLL", algorithm != NULL ? algorithm : "", 1);
    status = nf_run(&job, &options, report_p, &err);
    unsetenv("NOWFARM_COLL");
    if (status != NF_OK && !stops)
        fprintf(stderr, "%s\n", err.text);
    return status;
}

static void run_to_the_end(const char *algorithm)
{
    struct nf_report report = { .units = 0 };
    struct home home = { .sum = 0 };

    CU_ASSERT_EQUAL(run(algorithm, &home, &report), NF_OK);
    CU_ASSERT_EQUAL(home.sum, (1 << SLAVES) - 1);
    CU_ASSERT_EQUAL(home.alive, SLAVES);
    CU_ASSERT_EQUAL(report.lost_slaves, 0);
    CU_ASSERT_EQUAL(report.gathers, 1);
}

/* Two children of a slave are ready at once. */
static void test_tree(void)
{
    master_us = 0;
    run_to_the_end("reduce.binomial");
}

/* The master combines for longer than it may be silent: 7 s. */
static void test_linear(void)
{
    master_us = 9 * 1000000 / SLAVES;
    run_to_the_end("reduce.linear");
}

static void test_collect(void)
{
    master_us = 9 * 1000000 / SLAVES;
    run_to_the_end(NULL);
}

static void test_stop(void)
{
    struct nf_report report = { .units = 0 };
    struct home home = { .sum = 0 };

    master_us = 100000;
    stops = true;
    CU_ASSERT_EQUAL(run("reduce.linear", &home, &report), NF_ERR_INTERRUPTED);
    CU_ASSERT_EQUAL(home.sum, 0);
    CU_ASSERT(master_calls <= 2);
    stops = false;
}

static CU_TestInfo tests[] = {
    { "slaves that combine one after the other are not lost", test_tree },
    { "nor is the master", test_linear },
    { "nor is one that collects", test_collect },
    { "a master that combines can be stopped", test_stop },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "slow combining over PVM", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (getenv(NF_SLAVE_VARIABLE) != NULL) {
        in_slave = true;
        nf_run(&app, NULL, NULL, NULL); /* a slave: does not return */
        return 1;
    }
    alarm(120); /* a hang is a failure */
    return own_pvm_run(suites);
}
