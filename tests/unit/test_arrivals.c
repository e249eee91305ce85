/* Who is waited for, by a virtual clock. */
#include "config.h"
#include <stdlib.h>
#include "master/arrivals.h"
#include "tests/unit/nf_unit.h"

enum { GRACE_US = 300000, MOST_US = 1000000 };

/* Slaves that come step_us after each other.
 * @return how many have come when the others have been waited for */
static unsigned come_by(int64_t step_us, unsigned slaves, int64_t *begun_us)
{
    struct nf_arrivals arrivals = { .any = false };
    unsigned come = 0;

    for (int64_t now_us = 7000000; now_us < 60000000; now_us += 1000) {
        if (come < slaves && now_us >= 7000000 + come * step_us) {
            nf_arrivals_note(&arrivals, now_us);
            come++;
        }
        if (nf_arrivals_waited(&arrivals, GRACE_US, MOST_US, now_us)) {
            *begun_us = now_us - 7000000;
            return come;
        }
    }
    *begun_us = -1;
    return 0;
}

static void nobody(void)
{
    struct nf_arrivals arrivals = { .any = false };

    CU_ASSERT_FALSE(nf_arrivals_waited(&arrivals, GRACE_US, MOST_US, 0));
    CU_ASSERT_FALSE(
        nf_arrivals_waited(&arrivals, GRACE_US, MOST_US, INT64_MAX));
    CU_ASSERT_FALSE(nf_arrivals_waited(&arrivals, 0, 0, 5));
}

/* 0 is a time like any other. */
static void first_at_0(void)
{
    struct nf_arrivals arrivals = { .any = false };

    nf_arrivals_note(&arrivals, 0);
    nf_arrivals_note(&arrivals, 200000);
    CU_ASSERT_EQUAL(arrivals.first_us, 0);
    CU_ASSERT_FALSE(nf_arrivals_waited(&arrivals, GRACE_US, MOST_US, 499999));
    CU_ASSERT(nf_arrivals_waited(&arrivals, GRACE_US, MOST_US, 500000));
}

static void alone(void)
{
    int64_t begun_us;

    CU_ASSERT_EQUAL(come_by(1, 1, &begun_us), 1);
    CU_ASSERT_EQUAL(begun_us, GRACE_US);
}

/* All of one start are in it, though it took longer than the grace. */
static void one_after_the_other(void)
{
    int64_t begun_us;

    CU_ASSERT_EQUAL(come_by(150000, 4, &begun_us), 4);
    CU_ASSERT_EQUAL(begun_us, 450000 + GRACE_US);
    CU_ASSERT_EQUAL(come_by(20000, 32, &begun_us), 32);
    CU_ASSERT_EQUAL(begun_us, 620000 + GRACE_US);
}

/* Who comes after a pause is not; nor does a procession hold up the job. */
static void too_late(void)
{
    int64_t begun_us;

    CU_ASSERT_EQUAL(come_by(301000, 4, &begun_us), 1);
    CU_ASSERT_EQUAL(begun_us, GRACE_US);
    CU_ASSERT_EQUAL(come_by(99000, 1000, &begun_us), 11);
    CU_ASSERT_EQUAL(begun_us, MOST_US);
}

static CU_TestInfo tests[] = {
    { "nobody has been waited for in vain", nobody },
    { "one came at 0", first_at_0 },
    { "one alone begins after the grace", alone },
    { "who come after each other begin together", one_after_the_other },
    { "who is too late is not waited for", too_late },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "arrivals", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
