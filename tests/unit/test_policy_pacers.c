/* Pacers send by send: who gets a chunk at what time. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/policy_world.h"

struct send {
    int64_t at_us;
    uint32_t slot;
};

/* A world of equal slots: compute, then the wire each way. */
static void make_world(struct world *world, uint64_t units, uint32_t slots,
                       int64_t compute_us, int64_t wire_us)
{
    memset(world, 0, sizeof(*world));
    world->units = units;
    world->slots = slots;
    for (uint64_t u = 0; u < units; u++)
        world->cost_us[u] = compute_us;
    for (uint32_t i = 0; i < slots; i++)
        world->numerator[i] = world->denominator[i] = 1;
    world->data_us[0] = world->result_us[0] = wire_us;
}

static void check_sends(const struct world *world, const char *spec,
                        const struct send *want, uint64_t nwant,
                        int64_t makespan_us)
{
    static struct nf_policy policy;
    static struct world_trace trace;
    const char *why = NULL;
    bool ok;

    CU_ASSERT_EQUAL_FATAL(nf_policy_parse(spec, &policy, NULL), NF_OK);
    ok = world_run(world, &policy, &trace, &why) && trace.nsends == nwant &&
         trace.makespan_us == makespan_us;
    for (uint64_t i = 0; i < nwant && i < trace.nsends; i++)
        ok = ok && trace.sends[i].at_us == want[i].at_us &&
             trace.sends[i].slot == want[i].slot;
    CU_ASSERT(ok);
    if (ok)
        return;
    printf("\n    %s: %s, makespan %" PRId64 ", sends:", spec,
           why != NULL ? why : "other sends than wanted", trace.makespan_us);
    for (uint64_t i = 0; i < trace.nsends; i++)
        printf(" (%" PRId64 ",%" PRIu32 ")", trace.sends[i].at_us,
               trace.sends[i].slot);
}

#define CHECK_SENDS(world, spec, makespan_us, ...)                             \
    do {                                                                       \
        static const struct send want[] = { __VA_ARGS__ };                     \
        check_sends(world, spec, want, sizeof(want) / sizeof(want[0]),         \
                    makespan_us);                                              \
    } while (0)

/* clang-format off */
static void presend_sends_by_the_clock_of_each_slot(void)
{
    static struct world world;

    make_world(&world, 6, 2, 90, 5);
    CHECK_SENDS(&world, "presend:td=100us/150us", 400,
                { 0, 0 }, { 0, 1 }, { 100, 0 }, { 150, 1 }, { 200, 0 },
                { 300, 1 });
}

static void presend_without_interval_goes_round(void)
{
    static struct world world;

    make_world(&world, 7, 3, 90, 5);
    CHECK_SENDS(&world, "presend:td=0", 280,
                { 0, 0 }, { 0, 1 }, { 0, 2 }, { 0, 0 }, { 0, 1 }, { 0, 2 },
                { 0, 0 });
}

static void presend_staggers_the_first_sends(void)
{
    static struct world world;

    make_world(&world, 5, 3, 90, 5);
    CHECK_SENDS(&world, "presend:td=100us,stagger=30us", 230,
                { 0, 0 }, { 30, 1 }, { 60, 2 }, { 100, 0 }, { 130, 1 });
}

static void send_waits_for_each_result(void)
{
    static struct world world;

    make_world(&world, 5, 2, 90, 5);
    CHECK_SENDS(&world, "send", 300,
                { 0, 0 }, { 0, 1 }, { 100, 0 }, { 100, 1 }, { 200, 0 });
}

static void a_window_fills_breadth_first(void)
{
    static struct world world;

    make_world(&world, 7, 2, 90, 5);
    CHECK_SENDS(&world, "window:w=2", 370,
                { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 1 }, { 100, 0 }, { 100, 1 },
                { 190, 0 });
    CHECK_SENDS(&world, "window:w=0", 370,
                { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 1 },
                { 0, 0 });
}


/* The master needs 3 to send and 2 to take.  Both results of the first round
 * come while it sleeps from 6 to 26; it takes them at 32, after the second
 * sends, and meanwhile those of the second round come: it sleeps from 40. */
static void a_round_sleeps_and_is_deaf_meanwhile(void)
{
    static struct world world;

    make_world(&world, 6, 2, 3, 1);
    world.send_us[0] = 3;
    world.take_us[0] = 2;
    CHECK_SENDS(&world, "presend-round:td=20us", 73,
                { 0, 0 }, { 3, 1 }, { 26, 0 }, { 29, 1 }, { 60, 0 },
                { 63, 1 });
}

static void auto_opens_with_one_each_and_a_second_if_there_are_plenty(void)
{
    static struct world world;

    make_world(&world, 7, 2, 90, 5);
    CHECK_SENDS(&world, "auto", 380,
                { 0, 0 }, { 0, 1 }, { 100, 0 }, { 100, 1 }, { 100, 0 },
                { 100, 1 }, { 200, 0 });
    make_world(&world, 8, 2, 90, 5);
    CHECK_SENDS(&world, "auto", 370,
                { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 1 }, { 100, 0 },
                { 100, 1 }, { 190, 0 }, { 190, 1 });
}
/* clang-format on */

/* With N = 20 on speeds 1, 1, 1/2, 1/4 the gate keeps the last units from the
 * slow slots: 0.81 s instead of 1.21 s. */
static void the_gate_spares_slow_slots_the_last_units(void)
{
    static struct world world;
    static struct nf_policy policy;
    static struct world_trace gated, open;
    const char *why;

    make_world(&world, 20, 4, 100000, 6000);
    world.denominator[2] = 2;
    world.denominator[3] = 4;
    CU_ASSERT_EQUAL_FATAL(nf_policy_parse("auto", &policy, NULL), NF_OK);
    CU_ASSERT(world_run(&world, &policy, &gated, &why));
    CU_ASSERT_EQUAL(gated.makespan_us, 812000);
    CU_ASSERT_EQUAL_FATAL(nf_policy_parse("auto:gate=0", &policy, NULL), NF_OK);
    CU_ASSERT(world_run(&world, &policy, &open, &why));
    CU_ASSERT(open.makespan_us > 1200000);
}

static bool same_sends(const struct world *world, const char *a, const char *b)
{
    static struct nf_policy policy;
    static struct world_trace traces[2];
    const char *why;

    if (nf_policy_parse(a, &policy, NULL) != NF_OK ||
        !world_run(world, &policy, &traces[0], &why) ||
        nf_policy_parse(b, &policy, NULL) != NF_OK ||
        !world_run(world, &policy, &traces[1], &why))
        return false;
    return memcmp(&traces[0], &traces[1], sizeof(traces[0])) == 0;
}

static void auto_without_gate_and_window_one_is_send(void)
{
    static struct world world;

    make_world(&world, 61, 4, 100, 7);
    for (uint64_t u = 0; u < world.units; u++)
        world.cost_us[u] += (int64_t)(u * 37 % 91);
    CU_ASSERT(same_sends(&world, "auto:gate=0,wmax=1", "send"));
    CU_ASSERT(same_sends(&world, "window:w=1", "send"));
    CU_ASSERT_FALSE(same_sends(&world, "window:w=2", "send"));
}

/* Without the slaves' own word, the time in the queue is inferred well enough
 * to keep the window from growing. */
static void auto_guesses_the_time_in_the_queue(void)
{
    static struct world world;
    static struct nf_policy policy;
    static struct world_trace told, guessed;
    const char *why;

    make_world(&world, 320, 4, 100000, 6000);
    world.denominator[2] = 2;
    world.denominator[3] = 4;
    CU_ASSERT_EQUAL_FATAL(nf_policy_parse("auto", &policy, NULL), NF_OK);
    CU_ASSERT(world_run(&world, &policy, &told, &why));
    world.hide_wait = true;
    CU_ASSERT(world_run(&world, &policy, &guessed, &why));
    CU_ASSERT(guessed.makespan_us <= told.makespan_us * 201 / 200);
    for (uint32_t i = 0; i < 4; i++)
        CU_ASSERT(guessed.max_queue[i] <= 2);
}

/* Two worlds whose latency exceeds the compute time, and their makespans by the
 * reference implementation: slots that have not reported yet count. */
static void auto_copes_with_high_latency_like_the_reference(void)
{
    static const int64_t costs_us[2][12] = {
        { 77104, 57927, 101417, 111764, 82505, 70360, 113476, 113871, 117024,
          126877, 84858, 101895 },
        { 36868, 11284, 111793, 137237, 102594, 125447, 91180, 3012, 158569 },
    };
    static struct world world;
    static struct nf_policy policy;
    static struct world_trace trace;
    const char *why;

    CU_ASSERT_EQUAL_FATAL(nf_policy_parse("auto", &policy, NULL), NF_OK);
    make_world(&world, 12, 4, 0, 500);
    memcpy(world.cost_us, costs_us[0], sizeof(costs_us[0]));
    world.data_us[1] = world.result_us[1] = 500;
    world.latency_us = 100000;
    CU_ASSERT(world_run(&world, &policy, &trace, &why));
    CU_ASSERT_EQUAL(trace.makespan_us, 1170898);
    make_world(&world, 9, 3, 0, 500);
    memcpy(world.cost_us, costs_us[1], sizeof(costs_us[1]));
    world.denominator[2] = 4;
    world.data_us[1] = world.result_us[1] = 500;
    world.latency_us = 10000;
    CU_ASSERT(world_run(&world, &policy, &trace, &why));
    CU_ASSERT_EQUAL(trace.makespan_us, 1103448);
}

/* ---- one pacer by hand ---- */

struct hand {
    struct nf_policy policy;
    struct nf_slot_view slots[4];
    struct nf_pool_view pool;
    void *pacer;
};

static void take_hand(struct hand *hand, const char *spec)
{
    struct nf_policy_env env = { .units = 100, .slots = 2, .max_slots = 4 };

    memset(hand, 0, sizeof(*hand));
    CU_ASSERT_EQUAL_FATAL(nf_policy_parse(spec, &hand->policy, NULL), NF_OK);
    hand->pool = (struct nf_pool_view){
        .units = 100, .left_units = 100, .grain_units = 1, .slots = hand->slots
    };
    hand->pacer = nf_calloc(1, hand->policy.pacer->state_size(&env));
    CU_ASSERT_EQUAL(hand->policy.pacer->init(hand->pacer, &env,
                                             hand->policy.pacer_values, NULL),
                    NF_OK);
}

static void hand_join(struct hand *hand, uint32_t slot, int64_t now_us)
{
    hand->slots[slot] = (struct nf_slot_view){ .live = true };
    if (slot >= hand->pool.nslots)
        hand->pool.nslots = slot + 1;
    hand->policy.pacer->join(hand->pacer, &hand->pool, slot, now_us);
}

/* @return the slot that got a chunk, or -1 - and when to ask again */
static int hand_pick(struct hand *hand, int64_t now_us, int64_t *wake_us_p)
{
    uint32_t slot;

    *wake_us_p = -1;
    if (hand->policy.pacer->pick(hand->pacer, &hand->pool, now_us, &slot,
                                 wake_us_p) != NF_OK)
        return -1;
    hand->slots[slot].outstanding++;
    hand->pool.left_units--;
    hand->policy.pacer->sent(hand->pacer, &hand->pool, slot, 1, now_us);
    return (int)slot;
}

static void a_late_wake_up_makes_no_burst(void)
{
    static struct hand hand;
    int64_t wake_us;

    take_hand(&hand, "timer:td=100us");
    hand_join(&hand, 0, 1000);
    CU_ASSERT_EQUAL(hand_pick(&hand, 1000, &wake_us), -1);
    CU_ASSERT_EQUAL(wake_us, 1000); /* first all that join at this time */
    CU_ASSERT_EQUAL(hand_pick(&hand, 1000, &wake_us), 0);
    CU_ASSERT_EQUAL(hand_pick(&hand, 1000, &wake_us), -1);
    CU_ASSERT_EQUAL(wake_us, 1100);
    CU_ASSERT_EQUAL(hand_pick(&hand, 1950, &wake_us), 0); /* eight missed */
    CU_ASSERT_EQUAL(hand_pick(&hand, 1950, &wake_us), -1);
    CU_ASSERT_EQUAL(wake_us, 2050);
    nf_free(hand.pacer);
}

static void a_timer_takes_slots_that_join_late_and_come_back(void)
{
    static struct hand hand;
    int64_t wake_us;

    take_hand(&hand, "timer:td=100us");
    hand_join(&hand, 0, 0);
    CU_ASSERT_EQUAL(hand_pick(&hand, 0, &wake_us), -1);
    CU_ASSERT_EQUAL(hand_pick(&hand, 0, &wake_us), 0);
    hand_join(&hand, 3, 50);
    CU_ASSERT_EQUAL(hand_pick(&hand, 50, &wake_us), -1);
    CU_ASSERT_EQUAL(wake_us, 50);
    CU_ASSERT_EQUAL(hand_pick(&hand, 50, &wake_us), 3);
    hand.slots[0] = (struct nf_slot_view){ .live = false };
    CU_ASSERT_EQUAL(hand_pick(&hand, 120, &wake_us), -1);
    CU_ASSERT_EQUAL(wake_us, 150);
    hand_join(&hand, 0, 130);
    CU_ASSERT_EQUAL(hand_pick(&hand, 130, &wake_us), -1);
    CU_ASSERT_EQUAL(wake_us, 130);
    CU_ASSERT_EQUAL(hand_pick(&hand, 130, &wake_us), 0);
    CU_ASSERT_EQUAL(hand_pick(&hand, 130, &wake_us), -1);
    CU_ASSERT_EQUAL(wake_us, 150);
    nf_free(hand.pacer);
}

/* Lost and back before anything was picked: still one place in the queue. */
static void a_slot_that_comes_back_at_once_is_not_counted_twice(void)
{
    static const char *const specs[] = { "window:w=2", "timer:td=0" };

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        static struct hand hand;
        int64_t wake_us;
        int sends = 0;

        take_hand(&hand, specs[i]);
        hand_join(&hand, 0, 0);
        hand.slots[0].live = false;
        hand_join(&hand, 0, 0);
        hand_join(&hand, 1, 0);
        for (int ask = 0; ask < 10 && sends < 4; ask++) {
            int slot = hand_pick(&hand, 0, &wake_us);

            if (slot < 0)
                continue; /* it gathers what has arrived */
            CU_ASSERT_EQUAL(slot, sends % 2);
            sends++;
        }
        CU_ASSERT_EQUAL(sends, 4);
        nf_free(hand.pacer);
    }
}

static void hand_refuse(struct hand *hand, uint32_t slot, bool refused)
{
    hand->slots[slot].refused = refused;
    if (hand->policy.pacer->refused != NULL)
        hand->policy.pacer->refused(hand->pacer, &hand->pool, slot, 0);
}

static void refused_slots_are_asked_again_when_units_come_back(void)
{
    for (size_t i = 0; nf_pacer_table[i] != NULL; i++) {
        static struct hand hand;
        int64_t wake_us;
        uint32_t slot;

        take_hand(&hand, nf_pacer_table[i]->name);
        hand_join(&hand, 0, 0);
        hand_refuse(&hand, 0, true);
        CU_ASSERT_EQUAL(hand_pick(&hand, 0, &wake_us), -1);
        CU_ASSERT_EQUAL(hand_pick(&hand, 0, &wake_us), -1);
        CU_ASSERT_EQUAL(hand_pick(&hand, 0, &wake_us), -1);
        CU_ASSERT_EQUAL(wake_us, INT64_MAX);
        hand_refuse(&hand, 0, false);
        if (nf_pacer_table[i]->returned != NULL)
            nf_pacer_table[i]->returned(hand.pacer, &hand.pool, 5);
        for (slot = 0; slot < 3; slot++) /* it may want to wait a moment */
            if (hand_pick(&hand, 5 + 1000000 * slot, &wake_us) == 0)
                break;
        CU_ASSERT(slot < 3);
        nf_free(hand.pacer);
    }
}

/* Measurements come from other machines. */
static void auto_survives_absurd_measurements(void)
{
    static const int64_t times_us[] = { INT64_MIN, -1, 0, 1, INT64_MAX };
    static struct hand hand;
    int64_t wake_us;

    take_hand(&hand, "auto");
    hand_join(&hand, 0, 0);
    hand_join(&hand, 1, 0);
    CU_ASSERT_EQUAL(hand_pick(&hand, 0, &wake_us), -1);
    CU_ASSERT_EQUAL(hand_pick(&hand, 0, &wake_us), 0);
    for (size_t i = 0; i < 5 * 5 * 5; i++) {
        struct nf_chunk_times times = { .units = i % 2 == 0 ? 1 : UINT64_MAX,
                                        .compute_us = times_us[i % 5],
                                        .wait_us = times_us[i / 5 % 5],
                                        .elapsed_us = times_us[i / 25] };
        uint32_t slot = hand.slots[0].outstanding > 0 ? 0 : 1;

        hand.pool.left_units = 100;
        hand.slots[slot].outstanding--;
        hand.policy.pacer->result(hand.pacer, &hand.pool, slot, &times, 5);
        while (hand_pick(&hand, 5, &wake_us) >= 0)
            ;
        CU_ASSERT(hand.slots[0].outstanding + hand.slots[1].outstanding > 0);
        CU_ASSERT(hand.slots[0].outstanding <= 16);
        CU_ASSERT(hand.slots[1].outstanding <= 16);
    }
    nf_free(hand.pacer);
}

int main(void)
{
    CU_TestInfo timelines[] = {
        { "presend sends by the clock of each slot",
          presend_sends_by_the_clock_of_each_slot },
        { "presend without interval goes round",
          presend_without_interval_goes_round },
        { "presend staggers the first sends",
          presend_staggers_the_first_sends },
        { "send waits for each result", send_waits_for_each_result },
        { "a window fills breadth first", a_window_fills_breadth_first },
        { "a round sleeps and is deaf meanwhile",
          a_round_sleeps_and_is_deaf_meanwhile },
        { "auto opens with one each, and a second if there are plenty",
          auto_opens_with_one_each_and_a_second_if_there_are_plenty },
        { "the gate spares slow slots the last units",
          the_gate_spares_slow_slots_the_last_units },
        { "auto without gate and window one is send",
          auto_without_gate_and_window_one_is_send },
        { "auto copes with high latency like the reference",
          auto_copes_with_high_latency_like_the_reference },
        { "auto guesses the time in the queue",
          auto_guesses_the_time_in_the_queue },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo by_hand[] = {
        { "a late wake-up makes no burst", a_late_wake_up_makes_no_burst },
        { "a timer takes slots that join late and come back",
          a_timer_takes_slots_that_join_late_and_come_back },
        { "a slot that comes back at once is not counted twice",
          a_slot_that_comes_back_at_once_is_not_counted_twice },
        { "refused slots are asked again when units come back",
          refused_slots_are_asked_again_when_units_come_back },
        { "auto survives absurd measurements",
          auto_survives_absurd_measurements },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "timelines", NULL, NULL, NULL, NULL, timelines },
        { "by hand", NULL, NULL, NULL, NULL, by_hand },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
