/* The rules of the farm where slaves die at once: what is known of one may be so of
 * the others, too. */
#include "config.h"
#include "tests/unit/test_farm_rig.h"

enum { SILENCE_US = 1600000, TICK_US = SILENCE_US / 16 };

static void heard(struct rig *rig, uint32_t slave, int64_t later_us)
{
    struct nf_actions acts;

    rig->now_us += later_us;
    nf_farm_heard(rig->farm, slave, rig->now_us);
    take(rig, nf_farm_timer(rig->farm, rig->now_us, &acts), &acts);
}

/* Four die, and that is known of one after the other.  The unit that went from
 * each to the next has killed none of them. */
static void test_all_at_once(void)
{
    struct rig rig = { .config.silence_limit_us = SILENCE_US };

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

/* A sign of life from before a loss is worth nothing, nor one right after it, which
 * may have been on its way; and who was told to go tells nothing of the others. */
static void test_sign_of_life(void)
{
    struct rig rig = { .config = { .max_attempts = 2,
                                   .silence_limit_us = SILENCE_US } };

    open_rig(&rig, "send", 1);
    for (uint32_t k = 0; k < 4; k++)
        join(&rig, k, 1);
    forget(&rig);
    heard(&rig, 1, TICK_US);
    heard(&rig, 2, 0);
    lost(&rig, 0, NF_LOSS_EXITED);
    heard(&rig, 1, TICK_US - 1);
    CU_ASSERT_EQUAL(rig.nsaid, 0);
    lost(&rig, 3, NF_LOSS_SILENT);
    heard(&rig, 1, TICK_US - 1);
    CU_ASSERT_EQUAL(rig.nsaid, 0);
    nf_farm_set_unread(rig.farm, 100); /* read now, but may have come then */
    heard(&rig, 1, 100);
    CU_ASSERT_EQUAL(rig.nsaid, 0);
    nf_farm_set_unread(rig.farm, 0);
    heard(&rig, 1, 0);
    CU_ASSERT_EQUAL(rig.nsaid, 1);
    CHECK_SEND(rig.said[0], 1, 0, 1, 1);
    lost(&rig, 1, NF_LOSS_SILENT); /* once more, with nothing held against it */
    CU_ASSERT_EQUAL(rig.nsaid, 1);
    heard(&rig, 2, TICK_US);
    CHECK_SEND(rig.said[1], 2, 0, 1, 1);
    lost(&rig, 2, NF_LOSS_LEFT);
    join(&rig, 0, 1);
    CHECK_SEND(rig.said[2], 0, 0, 1, 1);
    CU_ASSERT_EQUAL(stats(&rig).given_up, 0);
    nf_farm_destroy(rig.farm);
}

/* Nobody is emptied for a last attempt who may be dead himself. */
static void test_who_is_emptied(void)
{
    struct rig rig = { .config = { .max_attempts = 2,
                                   .silence_limit_us = SILENCE_US } };
    struct nf_action first, second;

    open_rig(&rig, "send", 40);
    for (uint32_t k = 0; k < 3; k++)
        join(&rig, k, 1);
    rig.now_us = 1000;
    lost(&rig, 0, NF_LOSS_EXITED);
    first = rig.said[1];
    second = rig.said[2];
    forget(&rig);
    answer(&rig, &first);
    CHECK_SEND(find(&rig, NF_ACT_SEND), 1, 3, 1, 0); /* it goes on */
    rig.now_us += TICK_US;
    forget(&rig);
    answer(&rig, &second);
    CHECK_SEND(find(&rig, NF_ACT_SEND), 2, 0, 1, 1);
    nf_farm_destroy(rig.farm);
}

/* Who made the last attempt of a unit, and then nothing was left but a gather, is
 * given what is lost in that. */
static void test_lost_in_the_gather(void)
{
    struct rig rig = { .config = { .max_attempts = 2, .hold = true } };

    open_rig(&rig, "send", 2);
    join(&rig, 0, 1);
    lost(&rig, 0, NF_LOSS_EXITED);
    forget(&rig);
    join(&rig, 1, 1);
    CHECK_SEND(rig.said[0], 1, 0, 1, 1); /* alone */
    join(&rig, 2, 1);
    CHECK_SEND(rig.said[1], 2, 1, 1, 0);
    answer(&rig, &rig.said[1]);
    answer(&rig, &rig.said[0]);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_GATHER), 1);
    forget(&rig);
    lost(&rig, 2, NF_LOSS_SILENT);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_ABANDON), 1);
    CHECK_SEND(find(&rig, NF_ACT_SEND), 1, 1, 1, 0);
    nf_farm_destroy(rig.farm);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "no unit is given up as several slaves die at once",
          test_all_at_once },
        { "last attempts are made by who is known to be there",
          test_sign_of_life },
        { "nobody is emptied who may be dead", test_who_is_emptied },
        { "the slave of a last attempt gets what a gather lost",
          test_lost_in_the_gather },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "who is there", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
