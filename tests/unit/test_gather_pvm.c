/* Groups of the farm over PVM: 16-bit shared data and results, which come to a
 * slave that joined late too, whatever NOWFARM_COLL asks for. */
#include "config.h"
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/net/net.h"
#include "nowfarm.h"
#include "tests/unit/own_pvm.h"

enum { SHARED = 100000, UNITS = 60, RESULT = 700, KILLER = 11 };

static int16_t shared_number(size_t i)
{
    return (int16_t)(i * 7919);
}

static int16_t result_number(uint64_t unit, size_t i)
{
    return (int16_t)(unit * 101 + i * 3);
}

static enum nf_status share(void *user, struct nf_buf *shared)
{
    int16_t *to = nf_buf_reserve(shared, SHARED * sizeof(*to));

    (void)user;
    for (size_t i = 0; to != NULL && i < SHARED; i++)
        to[i] = shared_number(i);
    return to == NULL ? NF_ERR_NOMEM : NF_OK;
}

/* A file in the machine's folder says to all processes that something was.
 * @return false: it had been said before */
static bool note(const char *name)
{
    char path[300];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", getenv("PVM_TMP"), name);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void forget(const char *name)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", getenv("PVM_TMP"), name);
    unlink(path);
}

static int compute(const struct nf_work *work)
{
    const int16_t *shared = work->shared;
    int16_t *to = nf_buf_reserve(work->result, RESULT * sizeof(*to));

    if (to == NULL || work->shared_bytes != SHARED * sizeof(*shared))
        return 1;
    for (size_t i = 0; i < SHARED; i++)
        if (shared[i] != shared_number(i)) {
            note("wrong");
            return 2;
        }
    if (work->first == KILLER && note("killed"))
        raise(SIGKILL);
    usleep(10000);
    for (size_t i = 0; i < RESULT; i++)
        to[i] = result_number(work->first, i);
    return 0;
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    unsigned *right = user;
    bool all = bytes == RESULT * sizeof(int16_t);

    for (size_t i = 0; all && i < RESULT; i++)
        all = ((const int16_t *)result)[i] == result_number(unit, i);
    *right += all;
    return NF_OK;
}

static const struct nf_app app = {
    .name = "int16",
    .units = UNITS,
    .compute = compute,
    .collect = collect,
    .share = share,
    .result_type = NF_INT16,
    .shared_type = NF_INT16,
};

static void run(unsigned lost)
{
    static const struct nf_options options = {
        .slaves = 3,
        .slots = 1,
        .gather = "tree",
        .slave_program = NF_BUILDDIR "/tests/unit/test_gather_pvm",
    };
    struct nf_app job = app;
    struct nf_report report = { .units = 0 };
    struct nf_error err = { .text = "" };
    unsigned right = 0;

    job.user = &right;
    CU_ASSERT_EQUAL(nf_run(&job, &options, &report, &err), NF_OK);
    if (err.text[0] != '\0')
        fprintf(stderr, "%s\n", err.text);
    CU_ASSERT_EQUAL(right, UNITS);
    CU_ASSERT_EQUAL(report.lost_slaves, lost);
    CU_ASSERT_EQUAL(report.gathers, 1);
    CU_ASSERT_TRUE(note("wrong")); /* no unit saw other shared data */
    forget("wrong");
}

static void test_int16(void)
{
    note("killed"); /* nobody is to die */
    run(0);
    forget("killed");
}

/* The slave that is killed is replaced by one that gets the data of another. */
static void test_late_joiner(void)
{
    run(1);
}

/* There is no gatherv by that one, and slaves do not know the variable. */
static void test_chosen_algorithms(void)
{
    setenv("NOWFARM_COLL", "gather.binomial,bcast.flat", 1);
    run(0);
    unsetenv("NOWFARM_COLL");
}

static CU_TestInfo tests[] = {
    { "16-bit numbers go and come", test_int16 },
    { "... to a slave that came late too", test_late_joiner },
    { "NOWFARM_COLL asks for other algorithms", test_chosen_algorithms },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "gather over PVM", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (getenv(NF_SLAVE_VARIABLE) != NULL) {
        nf_run(&app, NULL, NULL, NULL); /* a slave: does not return */
        return 1;
    }
    alarm(120); /* a hang is a failure */
    return own_pvm_run(suites);
}
