/* The rules of the farm where slaves die at once: what is known of one may be so of
 * the others, too. */
#include "config.h"
#include "tests/unit/test_farm_rig.h"

static void heard(struct rig *rig, uint32_t slave)
{
    struct nf_actions acts;

    nf_farm_heard(rig->farm, slave, rig->now_us);
    take(rig, nf_farm_timer(rig->farm, rig->now_us, &acts), &acts);
}

/* Four die, and that is known of one after the other.  The unit that went from
 * each to the next has killed none of them. */
static void test_all_at_once(void)
{
    struct rig rig = { .config.silence_limit_us = 1000000 };

    open_rig(&rig, "send", 1);
    for (uint32_t k = 0; k < 4; k++)
        join(&rig, k, 1);
    CHECK_SEND(rig.said[0], 0, 0, 1, 0);
    rig.now_us = 1000;
    lost(&rig, 0, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL_FATAL(rig.nsaid, 2);
    CU_ASSERT_EQUAL(rig.said[1].attempts, 1);
    lost(&rig, rig.said[1].slave, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL(rig.nsaid, 2); /* the last attempt waits for a live one */
    CU_ASSERT_TRUE(rig.wake_us < INT64_MAX);
    lost(&rig, 1, NF_LOSS_EXITED);
    lost(&rig, 2, NF_LOSS_EXITED);
    lost(&rig, 3, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL(rig.nsaid, 2);
    CU_ASSERT_EQUAL(stats(&rig).given_up, 0);
    join(&rig, 4, 1);
    CHECK_SEND(rig.said[2], 4, 0, 1, 2);
    answer(&rig, &rig.said[2]);
    CU_ASSERT_EQUAL(stats(&rig).done, 1);
    nf_farm_destroy(rig.farm);
}

/* A sign of life from before a loss is worth nothing, one after it is; and who
 * was told to go tells nothing of the others. */
static void test_sign_of_life(void)
{
    struct rig rig = { .config = { .max_attempts = 2,
                                   .silence_limit_us = 1000000 } };

    open_rig(&rig, "send", 1);
    for (uint32_t k = 0; k < 4; k++)
        join(&rig, k, 1);
    forget(&rig);
    rig.now_us = 1000;
    heard(&rig, 1);
    heard(&rig, 2);
    lost(&rig, 0, NF_LOSS_EXITED);
    lost(&rig, 3, NF_LOSS_SILENT);
    CU_ASSERT_EQUAL(rig.nsaid, 0);
    heard(&rig, 1);
    CU_ASSERT_EQUAL(rig.nsaid, 1);
    CHECK_SEND(rig.said[0], 1, 0, 1, 1);
    lost(&rig, 1, NF_LOSS_SILENT); /* once more, with nothing held against it */
    join(&rig, 3, 1);
    join(&rig, 0, 1);
    forget(&rig);
    heard(&rig, 2);
    lost(&rig, 3, NF_LOSS_LEFT);
    CHECK_SEND(rig.said[0], 0, 0, 1, 1);
    CU_ASSERT_EQUAL(stats(&rig).given_up, 0);
    nf_farm_destroy(rig.farm);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "no unit is given up as several slaves die at once",
          test_all_at_once },
        { "last attempts are made by who is known to be there",
          test_sign_of_life },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "who is there", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
