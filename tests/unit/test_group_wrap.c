/* Calls are numbered by 32 bits.  A program that makes 10,000 calls a second
 * has made them all after five days: groups go on over that, with calls of
 * their own, messages of later ones, ends and smaller groups. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 5, TIMEOUT_US = 1000000, BYTES = 1000 };

static const struct nf_group_options flat = {
    .timeout_us = TIMEOUT_US, .algorithms = "bcast.flat,gather.linear_nb"
};

static const struct nf_call barrier = { .kind = NF_CALL_BARRIER };

/* Groups that have made all calls but @p left. */
static bool open_late(struct group_sim *sim, uint32_t ranks, uint64_t seed,
                      uint32_t left)
{
    bool ok = sim_open(sim, ranks, seed, &flat);

    for (uint32_t r = 0; r < ranks && ok; r++)
        sim->groups[r]->epoch = UINT32_MAX - left + 1;
    return ok;
}

static struct nf_call bcast_of(void *buffer, size_t bytes, uint32_t root)
{
    return (struct nf_call){ .kind = NF_CALL_BCAST,
                             .recv = buffer,
                             .count = bytes,
                             .type = NF_ELEM_BYTE,
                             .root = root };
}

/* Look at what has come, if the member is in a call. */
static void look(struct group_sim *sim, uint32_t rank)
{
    sim->world.now_us += 100000;
    if (sim->requests[rank] != NULL)
        sim->statuses[rank] = nf_request_test(sim->requests[rank]);
    else
        (void)nf_group_progress(sim->groups[rank]);
}

static void forget(struct group_sim *sim, uint32_t rank)
{
    nf_request_free(sim->requests[rank]);
    sim->requests[rank] = NULL;
}

/* ------------------------------------------------------------ what goes well
 */

/* The next of @p rounds calls of member @p r, or on with the one it is in.
 * @return false: it failed, or its result is wrong */
static bool get_on(struct group_sim *sim, struct round *round, uint32_t r,
                   uint64_t number)
{
    bool right;

    if (sim->requests[r] == NULL) {
        round_make(round, r, sim->ranks, number);
        sim_start(sim, r, &round->call);
    }
    if (sim->requests[r] != NULL)
        sim->statuses[r] = nf_request_test(sim->requests[r]);
    if (sim->statuses[r] == NF_WAIT)
        return true;
    right = sim->statuses[r] == NF_OK && round_is_right(round);
    forget(sim, r);
    round_fini(round);
    return right;
}

/* Each at its own pace, so that calls of both sides of the end are under way at
 * one time.  @return whether all were right */
static bool go_over(uint32_t ranks, uint64_t seed, uint64_t rounds,
                    uint64_t *apart)
{
    struct group_sim sim;
    struct round round[FAKE_MEMBERS_MAX];
    uint64_t number[FAKE_MEMBERS_MAX] = { 0 }, steps = 0;
    struct nf_rng rng = { seed };
    uint32_t left = ranks;
    bool right = open_late(&sim, ranks, seed, (uint32_t)rounds / 2);

    while (left > 0 && right && steps++ < rounds * 5000) {
        uint32_t r =
            (uint32_t)nf_rng_below(&rng, 1 + nf_rng_below(&rng, ranks));

        if (nf_rng_below(&rng, 2) == 0 && fake_next_us(&sim.world) != INT64_MAX)
            sim.world.now_us = fake_next_us(&sim.world);
        if (number[r] == rounds)
            continue;
        right = get_on(&sim, &round[r], r, seed * 100000 + number[r]);
        for (uint32_t i = 0; i < ranks; i++)
            *apart +=
                sim.groups[r]->epoch < rounds && sim.groups[i]->epoch > rounds;
        if (sim.requests[r] == NULL)
            left -= ++number[r] == rounds;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        right = right && sim.groups[r]->epoch == rounds - rounds / 2;
        if (sim.requests[r] != NULL)
            round_fini(&round[r]);
        forget(&sim, r);
    }
    sim_close(&sim);
    return right && left == 0;
}

static void calls_go_on(void)
{
    uint64_t apart = 0;

    for (uint64_t seed = 0; seed < 40; seed++) {
        bool right = go_over((uint32_t)(2 + seed % 8), seed, 30, &apart);

        if (!right)
            printf("seed %llu is wrong\n", (unsigned long long)seed);
        CU_ASSERT(right);
    }
    CU_ASSERT(apart > 100);
}

/* Of three calls, the last one with number 0 or 1, before the first one. */
static void early_messages_are_kept(void)
{
    for (uint32_t left = 1; left <= 3; left++) {
        static uint8_t sent[3][BYTES], got[3][BYTES];
        struct group_sim sim;

        CU_ASSERT_FATAL(open_late(&sim, 2, left, left));
        for (int i = 0; i < 3; i++) {
            struct nf_call call = bcast_of(sent[i], BYTES, 0);

            memset(sent[i], i + 1, BYTES);
            memset(got[i], 0, BYTES);
            sim_start(&sim, 0, &call);
            look(&sim, 0);
            CU_ASSERT_EQUAL(sim.statuses[0], NF_OK);
            forget(&sim, 0);
        }
        look(&sim, 1);
        CU_ASSERT(sim.groups[1]->early_bytes[0] > 3 * BYTES);
        for (int i = 0; i < 3; i++) {
            struct nf_call call = bcast_of(got[i], BYTES, 0);

            sim_start(&sim, 1, &call);
            look(&sim, 1);
            CU_ASSERT_EQUAL(sim.statuses[1], NF_OK);
            forget(&sim, 1);
        }
        CU_ASSERT_EQUAL(memcmp(sent, got, sizeof(sent)), 0);
        CU_ASSERT_EQUAL(sim.groups[1]->early_bytes[0], 0);
        CU_ASSERT_EQUAL(sim.groups[1]->epoch, 3 - left);
        sim_close(&sim);
    }
}

/* -------------------------------------------------------------- what does not
 */

/* Number 2^32 - 1 is before 0: what comes for it then is of another call. */
static void data_of_a_call_that_is_over_are_an_error(void)
{
    static uint8_t buffer[BYTES];
    const struct nf_call call = bcast_of(buffer, BYTES, 0);
    const struct nf_call none = bcast_of(buffer, 0, 0);
    struct group_sim sim;

    CU_ASSERT_FATAL(open_late(&sim, 2, 1, 1));
    sim_start(&sim, 1, &none);
    forget(&sim, 1);
    CU_ASSERT_EQUAL(sim.groups[1]->epoch, 0);
    sim_start(&sim, 0, &call);
    sim_start(&sim, 1, &barrier);
    CU_ASSERT(sim_run(&sim));
    CU_ASSERT_EQUAL(sim.statuses[1], NF_ERR_MISMATCH);
    CU_ASSERT(strstr(nf_group_error(sim.groups[1])->text,
                     "call 4294967295 is over here") != NULL);
    sim_close(&sim);
}

/* Who waits in 2^32 - 1 for one that is in 0 hears that from it. */
static void who_waits_for_one_that_is_ahead_finds_out(void)
{
    static uint8_t buffer[BYTES];
    const struct nf_call call = bcast_of(buffer, BYTES, 1);
    const struct nf_call none = bcast_of(buffer, 0, 1);
    struct group_sim sim;

    CU_ASSERT_FATAL(open_late(&sim, 2, 1, 1));
    sim_start(&sim, 1, &none);
    forget(&sim, 1);
    sim_start(&sim, 0, &call);
    for (int i = 0; i < 5; i++) /* so that it is the first one to ask */
        look(&sim, 0);
    sim_start(&sim, 1, &barrier);
    CU_ASSERT(sim_run(&sim));
    CU_ASSERT_EQUAL(sim.statuses[0], NF_ERR_MISMATCH);
    CU_ASSERT(strstr(nf_group_error(sim.groups[0])->text, "it is over there") !=
              NULL);
    CU_ASSERT(sim.statuses[1] != NF_OK);
    sim_close(&sim);
}

/* Everybody that runs is in one group of @p ranks, and it works. */
static bool is_good(struct group_sim *sim, const enum nf_status *results,
                    uint32_t ranks)
{
    bool good = true;

    for (uint32_t r = 0; r < sim->ranks && good; r++) {
        if (!sim_runs(sim, r))
            continue;
        good = results[r] == NF_OK && sim->groups[r]->ranks == ranks;
        if (good)
            sim_start(sim, r, &barrier);
    }
    good = good && sim_run(sim);
    for (uint32_t r = 0; r < sim->ranks; r++)
        good = good && (!sim_runs(sim, r) || sim->statuses[r] == NF_OK);
    return good;
}

static struct nf_call gather_of(uint32_t rank, uint8_t *bytes)
{
    return (struct nf_call){ .kind = NF_CALL_GATHER,
                             .send = bytes + rank,
                             .recv = rank == 2 ? bytes + 3 : NULL,
                             .count = 1,
                             .type = NF_ELEM_BYTE,
                             .root = 2 };
}

/* Rank 1 gives up call 0 while rank 2 is in it and, still, in 2^32 - 1, for
 * which rank 0 is late: that one is to end well, and the other one not. */
static void giving_up_a_call_leaves_those_before_it(void)
{
    uint8_t bytes[6] = { 1, 2, 3 };
    enum nf_status results[3];
    struct nf_request *later = NULL;
    struct group_sim sim;
    struct nf_call call;

    CU_ASSERT_FATAL(open_late(&sim, 3, 1, 1));
    for (uint32_t r = 1; r < 3; r++) {
        call = gather_of(r, bytes);
        sim_start(&sim, r, &call);
        look(&sim, r);
    }
    CU_ASSERT_EQUAL(sim.statuses[1], NF_OK);
    CU_ASSERT_EQUAL(sim.statuses[2], NF_WAIT);
    forget(&sim, 1);
    CU_ASSERT_EQUAL_FATAL(nf_group_start(sim.groups[2], &barrier, &later),
                          NF_OK);
    sim_start(&sim, 1, &barrier);
    look(&sim, 1);
    look(&sim, 2);
    CU_ASSERT_EQUAL(sim.statuses[1], NF_WAIT);
    forget(&sim, 1); /* revokes */
    look(&sim, 2);
    look(&sim, 2);
    CU_ASSERT_EQUAL(sim.statuses[2], NF_WAIT);
    CU_ASSERT_EQUAL(nf_request_test(later), NF_ERR_FAILED);
    nf_request_free(later);
    call = gather_of(0, bytes);
    sim_start(&sim, 0, &call);
    CU_ASSERT(sim_run(&sim));
    CU_ASSERT_EQUAL(sim.statuses[0], NF_OK);
    CU_ASSERT_EQUAL(sim.statuses[2], NF_OK);
    CU_ASSERT_EQUAL(memcmp(bytes, bytes + 3, 3), 0);
    for (uint32_t r = 0; r < 3; r++) {
        sim_start(&sim, r, &barrier);
        CU_ASSERT_EQUAL(sim.statuses[r], NF_ERR_REVOKED);
    }
    CU_ASSERT(sim_shrink(&sim, results));
    CU_ASSERT(is_good(&sim, results, 3));
    sim_close(&sim);
}

/* Rank 1 gives up call 0 as soon as it has its data of 2^32 - 1, while those
 * for the others wait at the root for the wire: they are to come all the same.
 */
static void giving_up_a_call_leaves_data_of_those_before_it(void)
{
    static uint8_t buffers[4][BYTES];
    struct group_sim sim;

    CU_ASSERT_FATAL(open_late(&sim, 4, 1, 1));
    sim.world.byte_ns = 300000;
    memset(buffers, 0, sizeof(buffers));
    memset(buffers[0], 7, BYTES);
    for (uint32_t r = 0; r < 4; r++) {
        struct nf_call call = bcast_of(buffers[r], BYTES, 0);

        sim_start(&sim, r, &call);
    }
    for (int i = 0; i < 20 && sim.statuses[1] == NF_WAIT; i++) {
        look(&sim, 0);
        sim.statuses[1] = nf_request_test(sim.requests[1]);
    }
    CU_ASSERT_EQUAL(sim.statuses[1], NF_OK);
    CU_ASSERT_EQUAL(sim.statuses[0], NF_WAIT);
    forget(&sim, 1);
    sim_start(&sim, 1, &barrier);
    forget(&sim, 1); /* revokes */
    CU_ASSERT(sim_run(&sim));
    for (uint32_t r = 0; r < 4; r++) {
        CU_ASSERT(r == 1 || sim.statuses[r] == NF_OK);
        CU_ASSERT_EQUAL(memcmp(buffers[0], buffers[r], BYTES), 0);
        sim_start(&sim, r, &barrier);
        CU_ASSERT_EQUAL(sim.statuses[r], NF_ERR_REVOKED);
    }
    sim_close(&sim);
}

/* Mixed calls until one fails at all that are left.
 * @return whether it does so at last, and others had right results */
static bool run_until_it_fails(struct group_sim *sim, uint64_t seed,
                               uint32_t calls)
{
    uint32_t failed = 0;
    bool right = true;

    for (uint32_t i = 0; i < calls && right && failed + 1 < sim->ranks; i++) {
        struct round round[RANKS];

        for (uint32_t r = 0; r < sim->ranks; r++) {
            round_make(&round[r], r, sim->ranks, seed * 1000 + i);
            sim_start(sim, r, &round[r].call);
        }
        right = sim_run(sim);
        failed = 0;
        for (uint32_t r = 0; r < sim->ranks; r++) {
            if (!sim_runs(sim, r)) /* it may have died in a call */
                forget(sim, r);
            else if (sim->statuses[r] != NF_OK)
                failed++;
            else
                right = right && round_is_right(&round[r]);
        }
        for (uint32_t r = 0; r < sim->ranks; r++)
            round_fini(&round[r]);
    }
    return right && failed + 1 == sim->ranks;
}

static void deaths_leave_a_group_of_the_others(void)
{
    uint32_t after = 0, before = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        struct group_sim sim;
        enum nf_status results[RANKS];
        bool good;

        CU_ASSERT_FATAL(open_late(&sim, RANKS, seed, 3));
        sim.world.kill_member = (uint32_t)(seed % RANKS);
        sim.world.kill_at = 1 + seed / 3;
        good = run_until_it_fails(&sim, seed, 60);
        for (uint32_t r = 0; r < RANKS; r++)
            if (sim_runs(&sim, r)) {
                bool wrapped = sim.groups[r]->end_epoch < 1000;

                after += wrapped;
                before += !wrapped;
                good = good && sim.groups[r]->revoked &&
                       nf_group_is_lost(sim.groups[r], sim.world.kill_member);
            }
        good = sim_shrink(&sim, results) && is_good(&sim, results, RANKS - 1) &&
               good;
        if (!good)
            printf("seed %llu is wrong\n", (unsigned long long)seed);
        CU_ASSERT(good);
        sim_close(&sim);
    }
    CU_ASSERT(after > 20 && before > 20);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "calls go on", calls_go_on },
        { "early messages are kept", early_messages_are_kept },
        { "data of a call that is over are an error",
          data_of_a_call_that_is_over_are_an_error },
        { "who waits for one that is ahead finds out",
          who_waits_for_one_that_is_ahead_finds_out },
        { "giving up a call leaves those before it",
          giving_up_a_call_leaves_those_before_it },
        { "giving up a call leaves data of those before it",
          giving_up_a_call_leaves_data_of_those_before_it },
        { "deaths leave a group of the others",
          deaths_leave_a_group_of_the_others },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the end of the numbers of calls", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
