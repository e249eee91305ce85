/* Members that run ahead of one that waits: what that one keeps is bounded, and
 * nobody waits for ever. */
#include "config.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { BYTES = 64 * 1024, AHEAD = 10000 };

/* ------------------------------------------------- members without time */

static bool is_later(struct nf_group *group, uint32_t epoch, uint32_t segment)
{
    const struct nf_head head = { .op = NF_COLL_BCAST,
                                  .epoch = epoch,
                                  .segment = segment };
    uint8_t bytes[NF_HEAD_BYTES];

    return nf_group_is_later(group, bytes, nf_head_encode(&head, bytes));
}

/* Of calls that have not begun while another one is under way, but no sizes. */
static void what_is_put_off(void)
{
    struct group_sim sim;
    uint8_t byte = 0;
    const struct nf_call call = { .kind = NF_CALL_BCAST,
                                  .recv = &byte,
                                  .count = 1,
                                  .type = NF_ELEM_BYTE };

    CU_ASSERT_FATAL(sim_open(&sim, 2, 1, NULL));
    CU_ASSERT_FALSE(is_later(sim.groups[1], sim.groups[1]->epoch, 0));
    sim_start(&sim, 1, &call);
    CU_ASSERT_FALSE(is_later(sim.groups[1], sim.groups[1]->epoch - 1, 0));
    CU_ASSERT(is_later(sim.groups[1], sim.groups[1]->epoch, 0));
    CU_ASSERT(is_later(sim.groups[1], sim.groups[1]->epoch + 1, 3));
    CU_ASSERT_FALSE(
        is_later(sim.groups[1], sim.groups[1]->epoch, NF_HEAD_SIZES));
    nf_request_free(sim.requests[1]);
    sim.requests[1] = NULL;
    CU_ASSERT_FALSE(is_later(sim.groups[1], sim.groups[1]->epoch, 0));
    sim_close(&sim);
}

/* A root whose message has not left, but nobody who has to receive. */
static void who_settles(void)
{
    struct group_sim sim;
    uint8_t byte[2] = { 1, 0 };
    struct nf_call call = { .kind = NF_CALL_BCAST,
                            .count = 1,
                            .type = NF_ELEM_BYTE };

    CU_ASSERT_FATAL(sim_open(&sim, 2, 1, NULL));
    CU_ASSERT_FALSE(nf_group_settles(sim.groups[0]));
    for (uint32_t r = 0; r < 2; r++) {
        call.recv = &byte[r];
        sim_start(&sim, r, &call);
        nf_group_sleep(sim.groups[r], 0);
        CU_ASSERT_EQUAL(sim.world.settled, 1);
        CU_ASSERT_EQUAL(sim.world.slept, r + 1);
        CU_ASSERT_FALSE(sim.groups[r]->mesh->settles);
        CU_ASSERT_FALSE(sim.groups[r]->mesh->sleeps);
    }
    CU_ASSERT(nf_group_settles(sim.groups[0]));
    CU_ASSERT_FALSE(nf_group_settles(sim.groups[1]));
    CU_ASSERT(sim_run(&sim));
    CU_ASSERT_FALSE(nf_group_settles(sim.groups[0]));
    CU_ASSERT_EQUAL(byte[1], 1);
    sim_close(&sim);
}

/* Members that keep next to nothing, each at its own pace; for each second seed
 * they read from each other's memory.
 * @return whether all rounds were right */
static bool go_through(uint32_t ranks, uint64_t seed, uint64_t rounds,
                       uint32_t *pauses, uint64_t *kept)
{
    struct group_sim sim;
    struct round round[FAKE_MEMBERS_MAX];
    uint64_t number[FAKE_MEMBERS_MAX] = { 0 }, steps = 0;
    struct nf_rng rng = { seed };
    uint32_t left = ranks;
    bool right = sim_open(&sim, ranks, seed, NULL);

    for (uint32_t r = 0; r < ranks; r++)
        sim.groups[r]->early_most_bytes = seed % 3 * 400;
    sim.world.lends = seed % 2 == 1;
    while (left > 0 && right && steps++ < rounds * 5000) {
        /* the first ones run more often than the last ones */
        uint32_t r =
            (uint32_t)nf_rng_below(&rng, 1 + nf_rng_below(&rng, ranks));

        if (nf_rng_below(&rng, 2) == 0 && fake_next_us(&sim.world) != INT64_MAX)
            sim.world.now_us = fake_next_us(&sim.world);
        if (number[r] == rounds)
            continue;
        if (sim.requests[r] == NULL) {
            round_make(&round[r], r, ranks, seed * 100000 + number[r]);
            sim_start(&sim, r, &round[r].call);
        }
        if (sim.requests[r] != NULL)
            sim.statuses[r] = nf_request_test(sim.requests[r]);
        *pauses += sim.groups[r]->npaused;
        if (sim.statuses[r] == NF_WAIT)
            continue;
        right = sim.statuses[r] == NF_OK && round_is_right(&round[r]);
        nf_request_free(sim.requests[r]);
        sim.requests[r] = NULL;
        round_fini(&round[r]);
        left -= ++number[r] == rounds;
    }
    for (uint32_t r = 0; r < ranks; r++)
        if (sim.requests[r] != NULL) {
            nf_request_free(sim.requests[r]);
            round_fini(&round[r]);
        }
    if (left > 0)
        printf("P %u seed %llu: %s\n", ranks, (unsigned long long)seed,
               right ? "does not end" : "wrong");
    *kept += sim.world.kept;
    sim_close(&sim);
    return left == 0;
}

static void who_keeps_nothing_gets_right_results(void)
{
    uint32_t pauses = 0;
    uint64_t kept = 0;

    for (uint64_t seed = 0; seed < 60; seed++)
        CU_ASSERT(go_through((uint32_t)(2 + seed / 2 % 8), seed, 60, &pauses,
                             &kept));
    CU_ASSERT(pauses > 1000);
    CU_ASSERT(kept > 1000);
}

/* Rank 2 gathers, which rank 1 does not come to; rank 0 goes on. */
static const struct nf_call gather = {
    .kind = NF_CALL_GATHER, .count = 1, .type = NF_ELEM_BYTE, .root = 2
};

static struct nf_call gather_of(uint32_t rank, uint8_t *bytes)
{
    struct nf_call call = gather;

    call.send = bytes + rank;
    call.recv = rank == 2 ? bytes + 3 : NULL;
    return call;
}

static struct nf_call bcast_of(uint8_t *buffer)
{
    return (struct nf_call){ .kind = NF_CALL_BCAST,
                             .recv = buffer,
                             .count = BYTES,
                             .type = NF_ELEM_BYTE };
}

static const struct nf_group_options flat = {
    .algorithms = "bcast.flat,gather.linear_nb"
};

/* @param dies  rank 0 dies in the end; else rank 1 comes */
static void run_ahead(bool dies)
{
    static uint8_t buffers[3][BYTES];
    uint8_t bytes[6] = { 1, 2, 3 };
    enum nf_status results[3];
    struct group_sim sim;
    uint32_t done = 0;

    CU_ASSERT_FATAL(sim_open(&sim, 3, 1, &flat));
    for (uint32_t r = 0; r < 3; r += 2) {
        struct nf_call call = gather_of(r, bytes);

        sim_start(&sim, r, &call);
    }
    for (int i = 0; i < 20000; i++) {
        const struct nf_call call = bcast_of(buffers[0]);

        sim.world.now_us += 20;
        if (sim.statuses[0] == NF_OK)
            sim_start(&sim, 0, &call);
        for (uint32_t r = 0; r < 3; r++)
            if (sim.requests[r] != NULL)
                sim.statuses[r] = nf_request_test(sim.requests[r]);
        if (sim.statuses[0] != NF_OK)
            continue;
        done++;
        nf_request_free(sim.requests[0]);
        sim.requests[0] = NULL;
    }
    CU_ASSERT(done > 10 && done < 40);
    CU_ASSERT_EQUAL(sim.groups[2]->npaused, 1);
    CU_ASSERT(sim.groups[2]->early_bytes[0] <= NF_EARLY_BYTES + 2 * BYTES);
    if (dies) {
        fake_kill(&sim.world, 0);
        nf_request_free(sim.requests[2]); /* revokes */
        sim.requests[2] = NULL;
        CU_ASSERT_EQUAL(sim.groups[2]->npaused, 0);
        CU_ASSERT_EQUAL(sim.groups[2]->early_bytes[0], 0);
        CU_ASSERT(sim_shrink(&sim, results));
        CU_ASSERT_EQUAL(results[1], NF_OK);
        CU_ASSERT_EQUAL(results[2], NF_OK);
    } else {
        struct nf_call call = gather_of(1, bytes);

        sim_start(&sim, 1, &call);
        for (int i = 0; i < 1000 && sim.statuses[2] == NF_WAIT; i++) {
            sim.world.now_us += 20;
            for (uint32_t r = 0; r < 3; r++)
                if (sim.requests[r] != NULL && sim.statuses[r] == NF_WAIT)
                    sim.statuses[r] = nf_request_test(sim.requests[r]);
        }
        CU_ASSERT_EQUAL(sim.statuses[2], NF_OK);
        CU_ASSERT_EQUAL(memcmp(bytes, bytes + 3, 3), 0);
    }
    sim_close(&sim);
}

static void what_is_kept_is_bounded(void)
{
    run_ahead(false);
}

static void a_group_with_a_paused_member_can_shrink(void)
{
    run_ahead(true);
}

/* N = 0 here, and not there. */
static void data_for_a_call_without_data_is_an_error(void)
{
    static uint8_t buffer[BYTES];
    struct nf_call call = bcast_of(buffer), none = call;
    struct group_sim sim;

    none.count = 0;
    CU_ASSERT_FATAL(sim_open(&sim, 2, 1, &flat));
    sim_start(&sim, 0, &call);
    sim.world.now_us += 100000;
    CU_ASSERT_EQUAL(nf_request_test(sim.requests[0]), NF_OK);
    CU_ASSERT_EQUAL(nf_group_progress(sim.groups[1]), NF_OK);
    CU_ASSERT(sim.groups[1]->early_bytes[0] > BYTES);
    sim_start(&sim, 1, &none);
    CU_ASSERT_EQUAL(sim.statuses[1], NF_ERR_MISMATCH);
    CU_ASSERT_EQUAL(nf_barrier(sim.groups[1]), NF_ERR_REVOKED);
    sim_close(&sim);
}

/* --------------------------------------------------------------- threads */

static struct nf_group *groups[3];
static atomic_uint root_done;

/* Rank 1 comes when rank 0 is stuck: when it has not got on for long. */
static void wait_until_stuck(void)
{
    unsigned before;

    do {
        struct timespec some = { .tv_nsec = 300000000 };

        before = atomic_load(&root_done);
        nanosleep(&some, NULL);
    } while (before == 0 || before != atomic_load(&root_done));
}

static void *run_member(void *user)
{
    uint32_t rank = *(const uint32_t *)user;
    struct nf_group *group = groups[rank];
    uint8_t *buffer = calloc(4, BYTES), *all = buffer + BYTES;
    unsigned bad = 0;

    for (int i = 0; i < AHEAD && bad == 0; i++) {
        if (rank == 1 && i == 0)
            wait_until_stuck();
        memset(buffer, i + (int)rank, BYTES);
        bad += nf_gather(group, buffer, all, BYTES, NF_ELEM_BYTE, 2) != NF_OK;
        if (rank == 0)
            atomic_fetch_add(&root_done, 1);
        if (rank != 2)
            continue;
        bad += group->early_bytes[0] > NF_EARLY_BYTES + 2 * BYTES;
        if (i == 0)
            bad += atomic_load(&root_done) < NF_EARLY_BYTES / BYTES / 2 ||
                   atomic_load(&root_done) > NF_EARLY_BYTES / BYTES + 8;
        for (int r = 0; r < 3; r++)
            bad += all[r * BYTES] != (uint8_t)(i + r) ||
                   all[(r + 1) * BYTES - 1] != (uint8_t)(i + r);
    }
    bad += nf_barrier(group) != NF_OK;
    nf_group_close(group);
    free(buffer);
    return bad == 0 ? NULL : &root_done;
}

static void threads_too(void)
{
    static uint32_t ranks[3] = { 0, 1, 2 };
    pthread_t threads[3];
    struct nf_error err;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(3, &flat, groups, &err), NF_OK);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run_member, &ranks[i]);
    for (int i = 0; i < 3; i++) {
        void *bad;

        pthread_join(threads[i], &bad);
        CU_ASSERT_PTR_NULL(bad);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "who keeps nothing gets right results",
          who_keeps_nothing_gets_right_results },
        { "what is put off", what_is_put_off },
        { "who waits for nothing but that its messages leave", who_settles },
        { "what is kept is bounded", what_is_kept_is_bounded },
        { "a group with a paused member can shrink",
          a_group_with_a_paused_member_can_shrink },
        { "data for a call without data is an error",
          data_for_a_call_without_data_is_an_error },
        { "threads too", threads_too },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "members that run ahead", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
