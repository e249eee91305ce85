/* Sizers one by one: sequences worked by hand, what they make of reports, and
 * jobs at the limits of their arithmetic. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/policy/arith.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/sizer_job.h"

/* ---- sequences ---- */

struct row {
    const char *spec;
    uint64_t units;
    uint32_t slots;
    const char *sizes;
};

/* Published tables, and corners worked by hand. */
static const struct row rows[] = {
    { "static", 10, 4, "3 3 2 2" },
    { "static", 2, 4, "1 1" },
    { "static", 7, 1, "7" },
    { "cyclic:g=3", 10, 4, "3 3 3 1" },
    { "cyclic:g=3", 17, 2, "3 3 3 3 3 2" },
    { "cyclic:g=100", 10, 4, "10" },
    { "gss", 320, 4, "80 60 45 34 26 19 14 11 8 6 5 3 3 2 1 1 1 1" },
    { "gss:kmin=80", 320, 4, "80 80 80 80" },
    { "gss:kmin=500", 320, 4, "320" },
    { "tss", 1000, 4, "125 117 109 101 93 85 77 69 61 53 45 37 28" },
    { "tss:decrement=exact", 100, 4, "13 13 12 11 10 9 8 7 7 6 4" },
    { "tss", 100, 4, "13 13 13 13 13 13 13 9" },
    { "tss", 1, 1, "1" },
    { "tss", 1, 4, "1" },
    { "tss:first=3,last=9", 10, 4, "3 3 3 1" },
    { "tss:first=10,last=2", 18, 4, "10 6 2" },
    { "tss:kmin=100", 1000, 4, "125 117 109 101 100 100 100 100 100 48" },
    { "tfss", 1000, 4, "113 113 113 113 81 81 81 81 49 49 49 49 17 11" },
    { "tfss", 3, 4, "1 1 1" },
    { "fiss:stages=3", 1000, 4, "50 50 50 50 83 83 83 83 116 116 116 116 4" },
    { "fiss", 1000, 4, "50 50 50 50 83 83 83 83 116 116 116 116 4" },
    { "fiss", 7, 8, "1 1 1 1 1 1 1" },
    { "viss:X=4", 1000, 4, "62 62 62 62 93 93 93 93 108 108 108 56" },
    { "viss", 1000, 4, "62 62 62 62 93 93 93 93 108 108 108 56" },
    { "viss", 5, 4, "1 1 1 1 1" },
    { "fac2", 10, 4, "2 2 2 2 1 1" },
    { "fac2:form=floor", 10, 4, "1 1 1 1 1 1 1 1 1 1" },
    { "fac2:form=closed", 10, 4, "2 2 2 2 1 1" },
    { "fac2:form=halving", 10, 4, "2 2 2 2 1 1" },
    /* F = 5, so B = 20; then R = 20, F = max(3, 5): the last batch */
    { "fac2:kmin=5", 40, 4, "5 5 5 5 5 5 5 5" },
    /* F = 7, B = 21 of R = 23: 2 of the last batch, the last of the run */
    { "fac2:kmin=7", 23, 3, "7 7 7 2" },
    { "fac:mu=1,sigma=0", 10, 4, "3 3 3 1" },
    { "fac:mu=1,sigma=1000", 10, 4, "1 1 1 1 1 1 1 1 1 1" },
    /* F = 4, B = 8: ceil(8 10/11) = 8 leaves nothing; then F = 2, B = 4 */
    { "wf:speeds=10/1", 16, 2, "8 1 3 1 1 1 1" },
    /* F = 4, B = 8: 1 becomes 3 and 8 becomes 5; then F = 3, B = 6 */
    { "wf:speeds=1/10,kmin=3", 16, 2, "3 5 3 3 2" },
    { "fsc:h=0.1,sigma=0.5", 320, 4,
      "8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 "
      "8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8" },
    { "fsc:h=0", 3, 2, "1 1 1" },
    { "fsc:h=0,sigma=0", 3, 2, "2 1" },
    { "fsc", 7, 1, "7" },
    { "mfsc", 320, 4,
      "13 13 13 13 13 13 13 13 13 13 13 13 "
      "13 13 13 13 13 13 13 13 13 13 13 13 8" },
    { "mfsc", 4, 4, "1 1 1 1" },
    { "mfsc:kmin=200", 320, 4, "200 120" },
    { "rand:seed=1", 320, 4, "26 40 31 36 2 9 6 14 1 31 18 31 25 3 17 20 10" },
    { "rand", 4, 4, "1 1 1 1" },
    { "awf", 10, 4, "2 2 2 2 1 1" },
    { "awf:weights=2/1/1/1", 20, 4, "5 3 3 1 2 1 1 1 2 1" },
    /* two steps of 10, each by itself */
    { "awf:steps=2", 20, 4, "2 2 2 2 1 1 2 2 2 2 1 1" },
    { "awf:steps=100", 5, 4, "1 1 1 1 1" },
    { "af", 12, 2, "1 1 1 1 1 1 1 1 1 1 1 1" },
    { "rta:g=4,tail=0", 10, 2, "4 4 2" },
    { "rta:g=4", 10, 2, "3 2 2 1 1 1" },
    { "rta:g=4,kmin=3", 10, 2, "3 3 3 1" },
};

static void worked_sequences_come_out(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char sizes[400];
        struct job job;

        CU_ASSERT(job_start(&job, rows[i].spec, rows[i].units, rows[i].slots,
                            rows[i].slots));
        job_print_sizes(&job, sizes, sizeof(sizes));
        CU_ASSERT_STRING_EQUAL(sizes, rows[i].sizes);
        if (strcmp(sizes, rows[i].sizes) != 0)
            printf("\n    %s, %" PRIu64 ", %" PRIu32 ": got %s", rows[i].spec,
                   rows[i].units, rows[i].slots, sizes);
        job_end(&job);
    }
}

/* ---- sizers that learn ---- */

static void awf_weighs_later_chunks_more(void)
{
    struct job job;

    /* F = ceil(900/4) = 225; no data: warm-up, ceil(900/20) */
    CU_ASSERT(job_start(&job, "awf-c", 900, 2, 2));
    CU_ASSERT_EQUAL(job_next(&job, 0), 45);
    CU_ASSERT_EQUAL(job_next(&job, 1), 45);
    /* pi_0 = (1 20 + 2 40) / (1 2 + 2 1) = 25, pi_1 = 75: w = 3/2 and 1/2 */
    job_report(&job, 0, 2, 20, 999, -1);
    job_report(&job, 0, 1, 40, 999, -1);
    job_report(&job, 1, 10, 750, 999, -1);
    CU_ASSERT_EQUAL(job.left, 810);
    CU_ASSERT_EQUAL(job_next(&job, 0), 305); /* 203 1.5 = 304.5 */
    CU_ASSERT_EQUAL(job_next(&job, 1), 64);  /* F = ceil(505/4) = 127: 63.5 */
    job_end(&job);
}

static void awf_takes_unknown_slots_for_average_ones(void)
{
    struct job job;

    CU_ASSERT(job_start(&job, "awf-c:warm=0", 1200, 3, 3));
    job_report(&job, 0, 1, 10, 10, -1);
    job_report(&job, 1, 1, 30, 30, -1);
    /* pi = 10, 30, 20: sum of 1/pi = 11/60, w_2 = 3 (1/20) / (11/60) = 9/11 */
    CU_ASSERT_EQUAL(job_next(&job, 2), 164); /* 200 9/11 = 163.6 */
    job_end(&job);
}

static void awf_b_keeps_the_weights_of_its_batch(void)
{
    struct job job;

    CU_ASSERT(job_start(&job, "awf-b:warm=0", 800, 2, 2));
    CU_ASSERT_EQUAL(job_next(&job, 0), 200); /* B = 400 */
    job_report(&job, 0, 200, 200, 200, -1);
    job_report(&job, 1, 1, 3, 3, -1);
    CU_ASSERT_EQUAL(job_next(&job, 0), 200); /* still w = 1 */
    CU_ASSERT_EQUAL(job_next(&job, 0), 150); /* F = 100, w = 3/2 */
    CU_ASSERT_EQUAL(job_next(&job, 1), 50);
    job_end(&job);
}

static void awf_d_and_e_count_latency_but_not_the_wait_in_a_queue(void)
{
    struct job job;

    CU_ASSERT(job_start(&job, "awf-e:warm=0", 800, 2, 2));
    job_report(&job, 0, 1, 10, 100, 70);     /* 30 */
    job_report(&job, 1, 1, 10, 10, -1);      /* 10 */
    CU_ASSERT_EQUAL(job_next(&job, 1), 300); /* w = 3/2 */
    job_end(&job);
    CU_ASSERT(job_start(&job, "awf-c:warm=0", 800, 2, 2));
    job_report(&job, 0, 1, 10, 100, 70);
    job_report(&job, 1, 1, 10, 10, -1);
    CU_ASSERT_EQUAL(job_next(&job, 1), 200);
    job_end(&job);
    /* clocks that disagree: no negative latency */
    CU_ASSERT(job_start(&job, "awf-d:warm=0", 800, 2, 2));
    job_report(&job, 0, 1, 10, 5, 0);
    job_report(&job, 1, 1, 10, 10, 0);
    CU_ASSERT_EQUAL(job_next(&job, 0), 200);
    job_end(&job);
}

static void warm_up_lasts_until_a_slot_has_reported(void)
{
    static const char *const specs[] = { "awf-b", "awf-c", "awf-d", "awf-e" };

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct job job;

        CU_ASSERT(job_start(&job, specs[i], 1000, 2, 2));
        CU_ASSERT_EQUAL(job_next(&job, 0), 50);
        CU_ASSERT_EQUAL(job_next(&job, 0), 50);
        job_report(&job, 0, 50, 5000, 5000, -1);
        CU_ASSERT(job_next(&job, 0) > 200);
        CU_ASSERT_EQUAL(job_next(&job, 1), 50);
        job_end(&job);
    }
}

static void awf_itself_changes_its_weights_between_steps_only(void)
{
    struct job job;

    CU_ASSERT(job_start(&job, "awf:steps=2,weights=3/1", 160, 2, 2));
    CU_ASSERT_EQUAL(job_next(&job, 0), 30); /* of 80: F = 20, B = 40 */
    job_report(&job, 0, 30, 300, 300, -1);
    job_report(&job, 1, 10, 900, 900, -1); /* 9 times as slow */
    CU_ASSERT_EQUAL(job_next(&job, 1), 10);
    CU_ASSERT_EQUAL(job_next(&job, 0), 15); /* still 3 to 1 */
    while (job.left > 80)
        CU_ASSERT(job_next(&job, 0) > 0);
    CU_ASSERT_EQUAL(job.left, 80);          /* no chunk crosses over */
    CU_ASSERT_EQUAL(job_next(&job, 0), 36); /* w = 9/5 */
    CU_ASSERT_EQUAL(job_next(&job, 1), 4);
    job_end(&job);
}

static void af_follows_its_formula(void)
{
    struct job job;
    struct nf_chunk_times times = { .units = 3, .wait_us = -1 };

    CU_ASSERT(job_start(&job, "af", 1000, 2, 2));
    CU_ASSERT_EQUAL(job_next(&job, 0), 50);
    CU_ASSERT_EQUAL(job_next(&job, 1), 50);
    /* three units and one: mean 3, M2 8988 + 4^2 3/4 = 9000, variance 3000 */
    times.mean_unit_us = 2;
    times.m2_unit_us2 = 8988;
    job.policy.sizer->report(job.state, 0, &times);
    times.units = 1;
    times.mean_unit_us = 6;
    times.m2_unit_us2 = 0;
    job.policy.sizer->report(job.state, 0, &times);
    /* the other slot is taken for the same: D = 2000, T = 3/2, R = 900,
     * K = (2000 + 2700 - sqrt(2000^2 + 4 2000 1350)) / 6 = 142.2 */
    CU_ASSERT_EQUAL(job_next(&job, 1), 50); /* it has not reported */
    job.left = 900;
    CU_ASSERT_EQUAL(job_next(&job, 0), 143);
    /* the other one: mean 6, no variance; D = 1000, T = 2, R = 757 */
    job.policy.sizer->report(job.state, 1, &times);
    CU_ASSERT_EQUAL(job_next(&job, 0), 229);
    job_end(&job);
    CU_ASSERT(job_start(&job, "af", 1000, 2, 2));
    job.policy.sizer->report(job.state, 0, &times);
    CU_ASSERT_EQUAL(job_next(&job, 0), 250); /* no variance: the cap */
    job_end(&job);
}

static void rta_averages_response_times(void)
{
    struct job job;

    CU_ASSERT(job_start(&job, "rta:g=8,tail=0", 100000, 2, 2));
    job_report(&job, 0, 10, 1, 1000, 990); /* 100 us a unit, wherever it went */
    job_report(&job, 1, 1, 1, 300, 0);
    CU_ASSERT_EQUAL(job_next(&job, 0), 12); /* w = 3/2 */
    CU_ASSERT_EQUAL(job_next(&job, 1), 4);
    job_report(&job, 1, 2, 1, 200, 0);      /* rho = (300 + 100) / 2 */
    CU_ASSERT_EQUAL(job_next(&job, 0), 11); /* 8 4/3 = 10.7 */
    CU_ASSERT_EQUAL(job_next(&job, 1), 5);
    job_end(&job);
}

static void a_slot_that_came_later_gets_an_average_share(void)
{
    struct job job;

    CU_ASSERT(job_start(&job, "wf:speeds=3/1", 800, 2, 5));
    CU_ASSERT_EQUAL(job_next(&job, 4), 200);
    job_end(&job);
    CU_ASSERT(job_start(&job, "awf-c:warm=0", 800, 2, 5));
    job_report(&job, 0, 1, 10, 10, -1);
    job_report(&job, 1, 1, 10, 10, -1);
    CU_ASSERT_EQUAL(job_next(&job, 4), 200);
    job_report(&job, 4, 1, 20, 20, -1);
    CU_ASSERT_EQUAL(job_next(&job, 4), 75); /* F = 150 */
    CU_ASSERT_EQUAL(job_next(&job, 0),
                    132); /* F = ceil(525/4): the sums stay */
    job_end(&job);
    CU_ASSERT(job_start(&job, "static", 800, 2, 5));
    CU_ASSERT_EQUAL(job_next(&job, 2), 0);
    job_end(&job);
    CU_ASSERT(job_start(&job, "cyclic", 800, 2, 5));
    CU_ASSERT_EQUAL(job_next(&job, 4), 0);
    job_end(&job);
}

static void cyclic_deals_the_same_to_a_slot_in_any_order(void)
{
    struct nf_rng rng = { .state = 5 };

    for (int round = 0; round < 300; round++) {
        uint64_t units = nf_rng_below(&rng, 60), got[5] = { 0 };
        uint64_t want[5] = { 0 };
        uint64_t grain = 1 + nf_rng_below(&rng, 9);
        uint32_t slots = 1 + (uint32_t)nf_rng_below(&rng, 5);
        char spec[40];
        struct job job;

        for (uint64_t u = 0; u < units; u++)
            want[u / grain % slots]++;
        snprintf(spec, sizeof(spec), "cyclic:g=%" PRIu64, grain);
        CU_ASSERT(job_start(&job, spec, units, slots, slots));
        for (int i = 0; i < 3000 && job.left > 0; i++) {
            uint32_t slot = (uint32_t)nf_rng_below(&rng, slots);

            got[slot] += job_next(&job, slot);
        }
        CU_ASSERT_EQUAL(memcmp(got, want, sizeof(got)), 0);
        job_end(&job);
    }
}

/* ---- limits ---- */

/* A p-th of 2^40 and more: nothing wraps around. */
/* The farm cuts a chunk that no lease can hold; nothing may be left over. */
static void a_block_that_was_cut_is_handed_out_to_its_end(void)
{
    static const char *const specs[] = { "static", "cyclic:g=9000000000" };

    for (size_t i = 0; i < 2; i++) {
        uint64_t taken[2] = { 0, 0 };
        struct job job;
        int asked = 0;

        CU_ASSERT_FATAL(job_start(&job, specs[i], UINT64_C(18000000000), 2, 2));
        for (; job.left > 0 && asked < 12; asked++) {
            uint64_t units = job_next(&job, (uint32_t)asked % 2);
            uint64_t cut = units > UINT32_MAX ? UINT32_MAX : units;

            job.left += units - cut;
            taken[asked % 2] += cut;
        }
        CU_ASSERT_EQUAL(job.left, 0);
        CU_ASSERT_EQUAL(taken[0], UINT64_C(9000000000));
        CU_ASSERT_EQUAL(taken[1], UINT64_C(9000000000));
        CU_ASSERT_EQUAL(asked, 6);
        job_end(&job);
    }
}

static void huge_jobs_get_chunks_of_the_right_size(void)
{
    static const struct {
        const char *spec;
        uint64_t first;
    } huge[] = {
        { "static", UINT64_C(1) << 40 },
        { "gss", UINT64_C(1) << 40 },
        { "fac2", UINT64_C(1) << 39 },
        { "fac2:form=halving", UINT64_C(1) << 39 },
        { "fac2:form=closed", UINT64_C(1) << 39 },
        { "wf:speeds=1000000000000/1000000000000/1000000000000/1000000000000",
          UINT64_C(1) << 39 },
        { "wf:speeds=3/1/1/1", UINT64_C(1) << 40 },
        { "tss", UINT64_C(1) << 39 },
        { "tss:decrement=exact", UINT64_C(1) << 39 },
        { "fiss:stages=2", UINT64_C(1) << 38 },
        { "viss:X=2", UINT64_C(1) << 39 },
        { "awf-c:warm=0", UINT64_C(1) << 39 },
        { "fac:sigma=0", UINT64_C(1) << 40 },
        { "fixed:g=1000000000000", 1000000000000 },
    };

    for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
        struct job job;

        CU_ASSERT(job_start(&job, huge[i].spec, UINT64_C(1) << 42, 4, 4));
        CU_ASSERT_EQUAL(job_next(&job, 0), huge[i].first);
        job_end(&job);
    }
}

static void arithmetic_keeps_its_word_at_the_limits(void)
{
    CU_ASSERT_EQUAL(nf_ceil_div(0, 3), 0);
    CU_ASSERT_EQUAL(nf_ceil_div(7, 3), 3);
    CU_ASSERT_EQUAL(nf_ceil_div(UINT64_MAX, 2), UINT64_C(1) << 63);
    CU_ASSERT_EQUAL(nf_mul(UINT64_C(1) << 32, UINT64_C(1) << 32), UINT64_MAX);
    CU_ASSERT_EQUAL(nf_mul_div(UINT64_MAX, 6, 9), UINT64_MAX / 3 * 2);
    CU_ASSERT_EQUAL(nf_mul_div(UINT64_MAX, 3, 2), UINT64_MAX);
    CU_ASSERT_EQUAL(nf_mul_ceil_div(10, 1, 3), 4);
    CU_ASSERT_EQUAL(nf_mul_ceil_div(9, 1, 3), 3);
    CU_ASSERT_EQUAL(nf_ceil_real(3.0000005), 3);
    CU_ASSERT_EQUAL(nf_ceil_real(3.000002), 4);
    CU_ASSERT_EQUAL(nf_ceil_real(-5), 0);
    CU_ASSERT_EQUAL(nf_ceil_real(NAN), 0);
    CU_ASSERT_EQUAL(nf_ceil_real(INFINITY), UINT64_MAX);
    CU_ASSERT_EQUAL(nf_round_real(2.4999995), 3);
    CU_ASSERT_EQUAL(nf_round_real(2.4), 2);
    CU_ASSERT_EQUAL(nf_clamp_chunk(0, 0, 5), 1);
    CU_ASSERT_EQUAL(nf_clamp_chunk(9, 3, 5), 5);
    CU_ASSERT_EQUAL(nf_clamp_chunk(1, 3, 2), 2);
}

int main(void)
{
    CU_TestInfo sequences[] = {
        { "worked sequences come out", worked_sequences_come_out },
        { "a block that was cut is handed out to its end",
          a_block_that_was_cut_is_handed_out_to_its_end },
        { "cyclic deals the same to a slot in any order",
          cyclic_deals_the_same_to_a_slot_in_any_order },
        { "a slot that came later gets an average share",
          a_slot_that_came_later_gets_an_average_share },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo learning[] = {
        { "awf weighs later chunks more", awf_weighs_later_chunks_more },
        { "awf takes unknown slots for average ones",
          awf_takes_unknown_slots_for_average_ones },
        { "awf-b keeps the weights of its batch",
          awf_b_keeps_the_weights_of_its_batch },
        { "awf-d and e count latency, but not the wait in a queue",
          awf_d_and_e_count_latency_but_not_the_wait_in_a_queue },
        { "warm-up lasts until a slot has reported",
          warm_up_lasts_until_a_slot_has_reported },
        { "awf itself changes its weights between steps only",
          awf_itself_changes_its_weights_between_steps_only },
        { "af follows its formula", af_follows_its_formula },
        { "rta averages response times", rta_averages_response_times },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo limits[] = {
        { "huge jobs get chunks of the right size",
          huge_jobs_get_chunks_of_the_right_size },
        { "arithmetic keeps its word at the limits",
          arithmetic_keeps_its_word_at_the_limits },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "sequences", NULL, NULL, NULL, NULL, sequences },
        { "learning", NULL, NULL, NULL, NULL, learning },
        { "limits", NULL, NULL, NULL, NULL, limits },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
