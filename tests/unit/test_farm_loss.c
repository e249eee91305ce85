/* The rules of the farm, one by one: what happens when slaves are lost, units
 * fail and answers come late. */
#include "config.h"
#include "tests/unit/test_farm_rig.h"

/* ---- losing slaves ---- */

static void test_returned_first(void)
{
    struct rig rig = { 0 };

    open_rig(&rig, "gss", 100);
    join(&rig, 0, 1);
    join(&rig, 1, 1);
    CHECK_SEND(rig.said[0], 0, 0, 50, 0);
    CHECK_SEND(rig.said[1], 1, 50, 25, 0);
    lost(&rig, 1, NF_LOSS_SILENT);
    forget(&rig);
    join(&rig, 2, 1);
    /* 25 came back, 2 slots live: 13 each; gss would have said 13 of 25 */
    CHECK_SEND(rig.said[0], 2, 50, 13, 0);
    answer(&rig, &rig.said[0]);
    CHECK_SEND(rig.said[2], 2, 63, 6, 0);
    CU_ASSERT_EQUAL(stats(&rig).fresh, 25);
    CU_ASSERT_EQUAL(stats(&rig).returned, 6);
    CU_ASSERT_EQUAL(stats(&rig).retries, 19);
    nf_farm_destroy(rig.farm);
}

static void test_returned_grain(void)
{
    struct rig rig = { 0 };

    open_rig(&rig, "send:g=4", 100);
    join(&rig, 0, 1);
    lost(&rig, 0, NF_LOSS_LEFT);
    forget(&rig);
    join(&rig, 0, 1);
    CHECK_SEND(rig.said[0], 0, 0, 4, 0);
    CU_ASSERT_EQUAL(stats(&rig).lost_slaves, 0);
    nf_farm_destroy(rig.farm);
}

static void test_oldest_suspect(void)
{
    struct rig rig = { 0 };

    open_rig(&rig, "fixed:g=3+window:w=3", 18);
    join(&rig, 0, 2); /* 0: 0-2, 6-8, 12-14; 1: 3-5, 9-11, 15-17 */
    CU_ASSERT_EQUAL(rig.nsaid, 6);
    result(&rig, &rig.said[0], 0, 1);
    lost(&rig, 0, NF_LOSS_EXITED);
    forget(&rig);
    join(&rig, 1, 8);
    /* in the order in which they came back: slot 0, then slot 1 */
    CHECK_SEND(rig.said[0], 1, 1, 1, 1);
    CHECK_SEND(rig.said[1], 1, 2, 1, 1);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_SEND(rig.said[2 + i], 1, 6 + i, 1, 1);
    CHECK_SEND(rig.said[5], 1, 12, 2, 0); /* 12 units on 8 slots */
    CHECK_SEND(rig.said[6], 1, 14, 1, 0);
    CHECK_SEND(rig.said[7], 1, 3, 1, 1);
    nf_farm_destroy(rig.farm);
}

static void test_not_suspect(void)
{
    static const enum nf_loss losses[] = { NF_LOSS_LEFT, NF_LOSS_TIMEOUT };

    for (size_t i = 0; i < 2; i++) {
        struct rig rig = { 0 };

        open_rig(&rig, "send:g=3", 3);
        for (uint32_t k = 0; k < 10; k++) {
            forget(&rig);
            join(&rig, 0, 1);
            CHECK_SEND(rig.said[0], 0, 0, 3, 0);
            lost(&rig, 0, losses[i]);
        }
        CU_ASSERT_EQUAL(stats(&rig).lost_slaves,
                        losses[i] == NF_LOSS_LEFT ? 0 : 10);
        nf_farm_destroy(rig.farm);
    }
}

/* Two slaves may fall silent over it; then it counts, and in the end it is
 * certain that it was this unit. */
static void test_silencer(void)
{
    struct rig rig = { 0 };

    open_rig(&rig, "send:g=2", 2);
    for (uint32_t k = 0; k < 3; k++) {
        forget(&rig);
        join(&rig, 0, 1);
        CHECK_SEND(rig.said[0], 0, 0, 2, 0);
        lost(&rig, 0, NF_LOSS_SILENT);
    }
    for (uint32_t k = 1; k < 3; k++) { /* one at a time, then alone */
        forget(&rig);
        join(&rig, 0, 1);
        CHECK_SEND(rig.said[0], 0, 0, 1, k);
        lost(&rig, 0, NF_LOSS_SILENT);
    }
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_GIVE_UP), 1);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).first, 0);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).attempts, 3);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).loss, NF_LOSS_SILENT);
    CU_ASSERT_EQUAL(stats(&rig).lost_slaves, 5);
    forget(&rig);
    join(&rig, 0, 1);
    CHECK_SEND(rig.said[0], 0, 1, 1, 1);
    nf_farm_destroy(rig.farm);
}

static void test_poison(void)
{
    struct rig rig = { 0 };

    open_rig(&rig, "send", 3);
    for (uint32_t k = 0; k < 3; k++) {
        forget(&rig);
        join(&rig, 0, 1);
        CHECK_SEND(rig.said[0], 0, 0, 1, k);
        CU_ASSERT_EQUAL(count(&rig, NF_ACT_GIVE_UP), 0);
        lost(&rig, 0, NF_LOSS_EXITED);
    }
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).first, 0);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).attempts, 3);
    CU_ASSERT_TRUE(find(&rig, NF_ACT_GIVE_UP).after_loss);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).loss, NF_LOSS_EXITED);
    forget(&rig);
    join(&rig, 0, 1);
    CHECK_SEND(rig.said[0], 0, 1, 1, 0);
    CU_ASSERT_EQUAL(stats(&rig).given_up, 1);
    nf_farm_destroy(rig.farm);
}

/* With one attempt, guilt must still be certain. */
static void test_one_attempt(void)
{
    struct rig rig = { .config.max_attempts = 1 };

    open_rig(&rig, "send", 4);
    join(&rig, 0, 2);
    lost(&rig, 0, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_GIVE_UP), 0);
    forget(&rig);
    join(&rig, 1, 2);
    CHECK_SEND(rig.said[0], 1, 0, 1, 1);
    CU_ASSERT_EQUAL(rig.nsaid, 1); /* alone: the other slot gets nothing */
    lost(&rig, 1, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).first, 0);
    forget(&rig);
    join(&rig, 1, 2);
    CHECK_SEND(rig.said[0], 1, 1, 1, 1);
    answer(&rig, &rig.said[0]);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 3); /* both slots again */
    nf_farm_destroy(rig.farm);
}

/* ---- alone ---- */

/* Slave 0 leaves units 0 and 1, of its two oldest leases, each to be tried for
 * the last time; unit 2 of its third one is not suspect. */
static void open_two_alone(struct rig *rig, uint64_t units)
{
    rig->config.max_attempts = 2;
    open_rig(rig, "fixed+window:w=3", units);
    join(rig, 0, 1);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_SEND(rig->said[i], 0, i, 1, 0);
    join(rig, 1, 1); /* gets 3, 4, 5 */
    join(rig, 2, 1); /* gets 6, 7, 8 */
    lost(rig, 0, NF_LOSS_EXITED);
}

/* The same, but the answer for unit 1 comes late: unit 0 alone is left. */
static void open_alone(struct rig *rig, uint64_t units)
{
    struct nf_action unit1;

    open_two_alone(rig, units);
    unit1 = rig->said[1];
    answer(rig, &unit1);
    CU_ASSERT_EQUAL(stats(rig).done, 1);
    CU_ASSERT_EQUAL(stats(rig).returned, 2);
}

/* Answer @p count leases of the three that the slave got when it joined. */
static void answer_first(struct rig *rig, uint32_t slave, uint32_t count)
{
    struct nf_action leases[3];

    for (uint32_t i = 0; i < 3; i++)
        leases[i] = rig->said[3 * slave + i];
    forget(rig);
    for (uint32_t i = 0; i < count; i++)
        answer(rig, &leases[i]);
}

static void test_drain(void)
{
    struct rig rig = { 0 };
    struct nf_action one[3], two, alone;

    open_alone(&rig, 40);
    for (uint32_t i = 0; i < 3; i++)
        one[i] = rig.said[3 + i];
    two = rig.said[6];
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 9);
    forget(&rig);
    answer(&rig, &one[0]); /* 1 is being emptied */
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 0);
    answer(&rig, &two);
    CHECK_SEND(rig.said[rig.nsaid - 1], 2, 2, 1, 0); /* the other goes on */
    forget(&rig);
    answer(&rig, &one[1]);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 0); /* not empty yet */
    answer(&rig, &one[2]);
    alone = find(&rig, NF_ACT_SEND);
    CHECK_SEND(alone, 1, 0, 1, 1);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 1);
    forget(&rig);
    answer(&rig, &alone);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 3); /* its window is open */
    nf_farm_destroy(rig.farm);
}

/* Both suspects run alone, one behind the other if one slave is emptied, and
 * either is given up only for a death of its own. */
static void test_drain_two(void)
{
    struct rig rig = { 0 };
    struct nf_action alone;

    open_two_alone(&rig, 40);
    CU_ASSERT_EQUAL(stats(&rig).returned, 3);
    answer_first(&rig, 1, 3);
    alone = find(&rig, NF_ACT_SEND);
    CHECK_SEND(alone, 1, 0, 1, 1);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 1);
    forget(&rig);
    answer(&rig, &alone); /* innocent; the other one is next */
    CHECK_SEND(find(&rig, NF_ACT_SEND), 1, 1, 1, 1);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 1);
    lost(&rig, 1, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).first, 1);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).attempts, 2);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_GIVE_UP), 1);
    forget(&rig);
    join(&rig, 1, 1);
    CHECK_SEND(rig.said[0], 1, 2, 1, 0); /* the third lease: not suspect */
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 3);
    nf_farm_destroy(rig.farm);
}

static void test_drain_lost(void)
{
    struct rig rig = { 0 };
    struct nf_action two;

    open_alone(&rig, 40);
    two = rig.said[6];
    answer(&rig, &rig.said[3]); /* 1 is being emptied, and is lost */
    lost(&rig, 1, NF_LOSS_SILENT);
    forget(&rig);
    answer(&rig, &two); /* now 2 is */
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 0);
    join(&rig, 1, 1); /* back and idle: it gets the unit; 2 may go on */
    CHECK_SEND(rig.said[1], 1, 0, 1, 1);
    CHECK_SEND(rig.said[2], 2, 2, 1, 0);
    nf_farm_destroy(rig.farm);
}

static void test_alone_lost(void)
{
    struct rig rig = { 0 };

    open_alone(&rig, 40);
    join(&rig, 3, 1);
    CHECK_SEND(rig.said[rig.nsaid - 1], 3, 0, 1, 1);
    lost(&rig, 3, NF_LOSS_SILENT); /* not its fault: once more alone */
    forget(&rig);
    join(&rig, 3, 1);
    CHECK_SEND(rig.said[0], 3, 0, 1, 1);
    CU_ASSERT_EQUAL(rig.nsaid, 1);
    lost(&rig, 3, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_GIVE_UP).attempts, 2);
    forget(&rig);
    join(&rig, 3, 1); /* not closed any more */
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 3);
    lost(&rig, 1, NF_LOSS_EXITED); /* and may be emptied again */
    answer(&rig, &(struct nf_action){ .slave = 3,
                                      .lease = rig.said[0].lease,
                                      .first = rig.said[0].first,
                                      .count = 1 });
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 3);
    nf_farm_destroy(rig.farm);
}

static void test_alone_at_once(void)
{
    struct rig rig = { .config.max_attempts = 2 };

    open_rig(&rig, "send:g=2", 2);
    join(&rig, 0, 1);
    join(&rig, 1, 1);
    join(&rig, 2, 1);
    forget(&rig);
    lost(&rig, 0, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 2);
    CU_ASSERT_NOT_EQUAL(rig.said[0].slave, rig.said[1].slave);
    nf_farm_destroy(rig.farm);
}

static void test_alone_settled_late(void)
{
    struct rig rig = { 0 };
    struct nf_action unit0, unit3;

    open_alone(&rig, 40);
    unit0 = rig.said[0];
    unit3 = rig.said[3];
    answer(&rig, &unit3); /* 1 is being emptied for unit 0 */
    forget(&rig);
    answer(&rig, &unit0); /* which turns out to be done */
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_ACCEPT).first, 0);
    CHECK_SEND(find(&rig, NF_ACT_SEND), 1, 2, 1, 0); /* 1 goes on */
    nf_farm_destroy(rig.farm);
}

/* ---- failing units ---- */

static void test_failed(void)
{
    struct rig rig = { 0 };
    struct nf_action lease;

    open_rig(&rig, "send:g=3", 3);
    join(&rig, 0, 1);
    lease = rig.said[0];
    forget(&rig);
    result(&rig, &lease, 0, 1);
    failed(&rig, &lease, 2); /* not the next one */
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    failed(&rig, &lease, 1);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 0);
    CU_ASSERT_EQUAL(stats(&rig).returned, 1);
    result(&rig, &lease, 2, 1); /* the lease went on behind it */
    CHECK_SEND(find(&rig, NF_ACT_SEND), 0, 1, 1, 1);
    for (uint32_t k = 1; k < 3; k++) {
        lease = find(&rig, NF_ACT_SEND);
        forget(&rig);
        failed(&rig, &lease, 1);
    }
    CU_ASSERT_EQUAL(rig.said[0].kind, NF_ACT_GIVE_UP);
    CU_ASSERT_EQUAL(rig.said[0].first, 1);
    CU_ASSERT_EQUAL(rig.said[0].attempts, 3);
    CU_ASSERT_FALSE(rig.said[0].after_loss);
    CU_ASSERT_EQUAL(rig.said[1].kind, NF_ACT_DONE);
    nf_farm_destroy(rig.farm);
}

/* The slave names the unit that overran, then is ended. */
static void test_timeout(void)
{
    struct rig rig = { 0 };

    open_rig(&rig, "send:g=3", 3);
    join(&rig, 0, 1);
    failed(&rig, &rig.said[0], 0);
    lost(&rig, 0, NF_LOSS_TIMEOUT);
    forget(&rig);
    join(&rig, 1, 3);
    CHECK_SEND(rig.said[0], 1, 0, 1, 1);
    CHECK_SEND(rig.said[1], 1, 1, 1, 0);
    CHECK_SEND(rig.said[2], 1, 2, 1, 0);
    nf_farm_destroy(rig.farm);
}

/* ---- late answers ---- */

static void test_late(void)
{
    struct rig rig = { 0 };
    struct nf_action old, again;

    open_rig(&rig, "fixed:g=6+window:w=1", 12);
    join(&rig, 0, 1);
    old = rig.said[0];
    lost(&rig, 0, NF_LOSS_SILENT);
    forget(&rig);
    join(&rig, 1, 1);
    again = rig.said[0];
    CHECK_SEND(again, 1, 0, 6, 0);
    result(&rig, &again, 0, 2);
    result(&rig, &old, 4, 1); /* while 1 still has it */
    CU_ASSERT_EQUAL(stats(&rig).leased, 3);
    forget(&rig);
    result(&rig, &old, 0, 6);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_ACCEPT), 2);
    CU_ASSERT_EQUAL(rig.said[0].first, 2);
    CU_ASSERT_EQUAL(rig.said[0].count, 2);
    CU_ASSERT_EQUAL(rig.said[1].first, 5);
    CU_ASSERT_EQUAL(rig.said[1].count, 1);
    CU_ASSERT_EQUAL(stats(&rig).duplicates, 3);
    CU_ASSERT_EQUAL(stats(&rig).leased, 0);
    forget(&rig);
    result(&rig, &again, 2, 4); /* all of it in vain */
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_ACCEPT), 0);
    CU_ASSERT_EQUAL(stats(&rig).duplicates, 7);
    CHECK_SEND(find(&rig, NF_ACT_SEND), 1, 6, 6, 0);
    result(&rig, &old, 6, 1);             /* it never had that */
    CU_ASSERT_EQUAL(stats(&rig).done, 7); /* but somebody did */
    nf_farm_destroy(rig.farm);
}

static void test_late_returned(void)
{
    struct rig rig = { 0 };
    struct nf_action old;

    open_rig(&rig, "send:g=6", 6);
    join(&rig, 0, 1);
    old = rig.said[0];
    lost(&rig, 0, NF_LOSS_SILENT);
    result(&rig, &old, 0, 1);
    result(&rig, &old, 3, 1);
    CU_ASSERT_EQUAL(stats(&rig).returned, 4);
    forget(&rig);
    join(&rig, 1, 2); /* 4 left: 2 a slot, but never over a hole */
    CHECK_SEND(rig.said[0], 1, 1, 2, 0);
    CHECK_SEND(rig.said[1], 1, 4, 1, 0);
    nf_farm_destroy(rig.farm);
}

static void test_late_given_up(void)
{
    struct rig rig = { .config.max_attempts = 1 };
    struct nf_action old;

    open_rig(&rig, "send", 2);
    join(&rig, 0, 1);
    old = rig.said[0];
    lost(&rig, 0, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_GIVE_UP), 1);
    answer(&rig, &old);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_ACCEPT), 0);
    CU_ASSERT_EQUAL(stats(&rig).duplicates, 1);
    nf_farm_destroy(rig.farm);
}

static void test_wrong_leases(void)
{
    struct rig rig = { 0 };
    struct nf_action lease, wrong;

    open_rig(&rig, "send:g=2", 8);
    join(&rig, 0, 1);
    join(&rig, 1, 1);
    lease = rig.said[0];
    forget(&rig);
    wrong = lease;
    wrong.slave = 1; /* somebody else's */
    answer(&rig, &wrong);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    wrong.slave = 7; /* who never joined */
    answer(&rig, &wrong);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    wrong.slave = UINT32_MAX;
    answer(&rig, &wrong);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    wrong = lease;
    wrong.lease = 0;
    answer(&rig, &wrong);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    wrong.lease = UINT64_MAX;
    answer(&rig, &wrong);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    result(&rig, &lease, 0, 0);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    result(&rig, &lease, 7, 2); /* beyond the end */
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    result(&rig, &lease, 1, UINT64_MAX);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    lost(&rig, 0, NF_LOSS_SILENT);
    result(&rig, &lease, 6, 1); /* late, and nobody ever had unit 6 */
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    lost(&rig, 5, NF_LOSS_EXITED);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(rig.nsaid, 0);
    CU_ASSERT_EQUAL(stats(&rig).done, 0);
    nf_farm_destroy(rig.farm);
}

static CU_TestInfo loss_tests[] = {
    { "returned units go first, in equal shares", test_returned_first },
    { "returned units go in grains of a fixed sizer", test_returned_grain },
    { "the two oldest leases of each slot are suspect, one unit at a time",
      test_oldest_suspect },
    { "nobody is blamed for a slave that was told", test_not_suspect },
    { "a unit that silences its slaves is given up in the end", test_silencer },
    { "a unit that kills its slaves is given up after its attempts",
      test_poison },
    { "with one attempt guilt must still be certain", test_one_attempt },
    { "a unit that runs alone waits for one slave; the others go on",
      test_drain },
    { "both suspects of a slot run alone, the later leases do not",
      test_drain_two },
    { "if the slave being emptied is lost another one is", test_drain_lost },
    { "a unit lost alone without fault runs alone again", test_alone_lost },
    { "units that run alone go to all slaves that are idle",
      test_alone_at_once },
    { "a slave is not emptied for a unit that is settled late",
      test_alone_settled_late },
    CU_TEST_INFO_NULL,
};

static CU_TestInfo answer_tests[] = {
    { "a failed unit is retried, the lease goes on behind it", test_failed },
    { "a unit that overran is the only one blamed", test_timeout },
    { "late results are accepted unit by unit", test_late },
    { "units settled late are skipped when they were returned",
      test_late_returned },
    { "the late result of a unit given up is a duplicate", test_late_given_up },
    { "answers to what was not leased are refused", test_wrong_leases },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "losses", NULL, NULL, NULL, NULL, loss_tests },
    { "answers", NULL, NULL, NULL, NULL, answer_tests },
    CU_SUITE_INFO_NULL,
};

int main(void)
{
    return nf_unit_main(suites);
}
