/* sort: keys, merging, the network, its kernel, and what it says to bad
 * options. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/app.h"
#include "apps/matmul/matrix.h"
#include "apps/sort/sort.h"
#include "common/base/blob.h"
#include "common/base/rng.h"
#include "tests/unit/nf_unit.h"

enum { KEYS_MOST = 400 };

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void keys_are_in_the_order_of_numbers(void)
{
    static const double numbers[] = { -INFINITY, -1e300, -2,  -1,
                                      -1e-310,   -0.0,   0.0, 5e-324,
                                      1e-310,    0.5,    1,   1e300,
                                      INFINITY };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        double back = nf_sort_number(nf_sort_key(numbers[i]));

        CU_ASSERT_EQUAL(memcmp(&back, &numbers[i], sizeof(back)), 0);
        if (i > 0)
            CU_ASSERT(nf_sort_key(numbers[i - 1]) < nf_sort_key(numbers[i]));
    }
}

/* Few different ones, or many. */
static void draw(struct nf_rng *rng, uint64_t *keys, uint64_t count)
{
    uint64_t bound = nf_rng_below(rng, 2) ? UINT64_MAX : 5;

    for (uint64_t i = 0; i < count; i++)
        keys[i] = nf_rng_below(rng, bound) << nf_rng_below(rng, 9);
}

static void keys_are_sorted_and_merged(void)
{
    struct nf_rng rng = { .state = 3 };
    uint64_t keys[KEYS_MOST], spare[KEYS_MOST], want[KEYS_MOST], at[12];

    for (int round = 0; round < 500; round++) {
        uint64_t count = nf_rng_below(&rng, KEYS_MOST + 1);
        uint64_t runs = 1 + nf_rng_below(&rng, 11);
        const uint64_t *merged;

        draw(&rng, keys, count);
        memcpy(want, keys, sizeof(want));
        for (uint64_t i = 0; i <= runs; i++)
            at[i] = i == 0      ? 0
                    : i == runs ? count
                                : nf_rng_below(&rng, count + 1);
        qsort(at, runs + 1, sizeof(*at), compare_keys);
        for (uint64_t i = 0; i < runs; i++)
            nf_sort_keys(keys + at[i], spare, at[i + 1] - at[i]);
        for (uint64_t i = 0; i < runs; i++)
            for (uint64_t k = at[i] + 1; k < at[i + 1]; k++)
                CU_ASSERT(keys[k - 1] <= keys[k]);
        merged = nf_sort_merge(keys, spare, at, runs);
        qsort(want, count, sizeof(*want), compare_keys);
        CU_ASSERT_EQUAL(memcmp(merged, want, count * sizeof(*want)), 0);
    }
}

/* By zeros and ones: a network that sorts all of these sorts everything (Knuth,
 * The Art of Computer Programming 3, 5.3.4, theorem Z). */
static void the_network_sorts(void)
{
    for (uint64_t units = 1; units <= 16; units *= 2) {
        struct nf_sort_plan plan = { NF_SORT_BITONIC, units, units, NULL };
        uint32_t last = nf_sort_exchanges(&plan), wrong = 0;

        for (uint32_t bits = 0; bits < 1u << units; bits++) {
            uint32_t now = bits;

            for (uint32_t i = 0; i < last; i++) {
                uint32_t then = 0;

                for (uint64_t u = 0; u < units; u++) {
                    bool low, other_low;
                    uint64_t v = nf_sort_partner(i, u, &low);
                    bool a = now >> u & 1, b = now >> v & 1;

                    wrong += nf_sort_partner(i, v, &other_low) != u ||
                             low == other_low || v >= units;
                    then |= (uint32_t)(low ? a && b : a || b) << u;
                }
                now = then;
            }
            for (uint64_t u = 1; u < units; u++)
                wrong += (now >> (u - 1) & 1) > (now >> u & 1);
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

static void blocks_are_all_of_it(void)
{
    for (int way = NF_SORT_SAMPLE; way <= NF_SORT_BITONIC; way++)
        for (uint64_t count = 1; count < 40; count++)
            for (uint64_t units = 1; units < 20; units++) {
                struct nf_sort_plan plan = { (enum nf_sort_way)way, count,
                                             units, NULL };

                CU_ASSERT_EQUAL(nf_sort_begin(&plan, 0), 0);
                CU_ASSERT_EQUAL(nf_sort_begin(&plan, units), count);
                for (uint64_t u = 0; u < units; u++) {
                    uint64_t size =
                        nf_sort_begin(&plan, u + 1) - nf_sort_begin(&plan, u);

                    CU_ASSERT(size <= nf_sort_block(&plan));
                }
            }
}

/* ---------------------------------------------------------------- the kernel
 */

static const int64_t two_units[] = { NF_SORT_SAMPLE, 6, 2, 0, 1 };

static void refuse(struct nf_work *work, const char *why)
{
    CU_ASSERT_EQUAL(nf_sort_compute(work), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(work->error, why));
}

static void the_kernel_refuses_what_does_not_fit(void)
{
    int64_t plan[5];
    double block[3] = { 3, 1, 2 };
    uint64_t out[2] = { 0, 0 }, in_at[3] = { 0, 8, 24 };
    const void *const pieces[2] = { block, block + 1 };
    char error[120] = "";
    struct nf_buf result;
    struct nf_work work = { .count = 1,
                            .input = block,
                            .input_bytes = sizeof(block),
                            .shared = plan,
                            .shared_bytes = sizeof(plan),
                            .result = &result,
                            .error = error,
                            .error_bytes = sizeof(error),
                            .units = 2,
                            .out_bytes = out };

    nf_buf_init(&result);
    memcpy(plan, two_units, sizeof(plan));
    plan[3] = (int64_t)nf_sort_key(2.0);
    CU_ASSERT_EQUAL(nf_sort_compute(&work), 0);
    CU_ASSERT_EQUAL(out[0], 2 * sizeof(double)); /* unit 0 is before 1 */
    CU_ASSERT_EQUAL(out[1], sizeof(double));
    work.input_bytes = 16;
    refuse(&work, "not a block of numbers");
    work.input_bytes = 24;
    work.phase = 2;
    refuse(&work, "no plan");
    work.phase = 0;
    plan[0] = 2;
    refuse(&work, "no plan");
    plan[0] = NF_SORT_BITONIC;
    refuse(&work, "no plan"); /* it has no splitters */
    work.shared_bytes = 3 * sizeof(*plan);
    CU_ASSERT_EQUAL(nf_sort_compute(&work), 0);
    work.phase = 1;
    work.in_at = in_at;
    work.in_pieces = pieces;
    work.out_bytes = NULL;
    refuse(&work, "not two blocks");
    plan[2] = work.units = 3; /* no power of two */
    refuse(&work, "no plan");
    plan[2] = 0;
    refuse(&work, "no plan");
    work.shared = NULL;
    refuse(&work, "no plan");
    nf_buf_fini(&result);
}

/* ------------------------------------------------------------------ whole jobs
 */

/* @return the status of the first that failed */
static enum nf_status run(const char *const settings[][2], const char *out,
                          bool sorts, struct nf_error *err)
{
    struct nf_app_request request = { .out = out, .verify = sorts, .threads = true };
    struct nf_options o = { .transport = "local", .slaves = 3, .slots = 1 };
    struct nf_app app;
    void *state = NULL;
    char note[120];
    enum nf_status status = nf_app_sort.create(&state, err);

    for (size_t i = 0; status == NF_OK && settings[i][0] != NULL; i++)
        status = nf_app_sort.set(state, settings[i][0], settings[i][1], err);
    if (status == NF_OK)
        status = nf_app_sort.open(state, &request, &app, err);
    if (status == NF_OK && sorts)
        status = nf_run(&app, &o, NULL, err);
    if (status == NF_OK && sorts)
        status = nf_app_sort.verify(state, note, sizeof(note), err);
    nf_app_sort.destroy(state);
    return status;
}

static void any_size_is_sorted(void)
{
    static const char *const counts[] = {
        "1", "2", "7", "100", "1001", "4096"
    };
    static const char *const units[] = { "1", "2", "4", "8", "16", "3", "11" };

    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
        for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
            for (int way = 0; way < (u < 5 ? 2 : 1); way++) {
                const char *const settings[][2] = {
                    { "count", counts[c] },
                    { "units", units[u] },
                    { "way", way == 0 ? "sample" : "bitonic" },
                    { NULL, NULL }
                };
                struct nf_error err = { NF_OK, "" };

                CU_ASSERT_EQUAL(run(settings, NULL, true, &err), NF_OK);
                if (err.status != NF_OK)
                    fprintf(stderr, "%s numbers, %s units, way %d: %s\n",
                            counts[c], units[u], way, err.text);
            }
}

/* Slaves that are threads keep two blocks of each of 4096 units after each of 78
 * exchanges: 159 times a 150th part of the memory is too much, as is 4 times a third. */
static void what_slaves_keep_must_fit(void)
{
    uint64_t fit = nf_memory_bytes() / sizeof(double);
    char few[24], many[24];
    const char *const bitonic[][2] = {
        { "count", few }, { "units", "4096" }, { "way", "bitonic" }, { NULL, NULL }
    };
    const char *const sample[][2] = { { "count", many }, { NULL, NULL } };
    struct nf_error err = { NF_OK, "" };

    snprintf(few, sizeof(few), "%" PRIu64, fit / 150);
    snprintf(many, sizeof(many), "%" PRIu64, fit / 3);
    CU_ASSERT_EQUAL(run(bitonic, NULL, false, &err), NF_ERR_RANGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "159 times"));
    if (fit / 3 > NF_MATRIX_MAX_SIDE)
        return; /* more than 48 GiB: as many numbers as there may be are not too many */
    CU_ASSERT_EQUAL(run(sample, NULL, false, &err), NF_ERR_RANGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "4 times"));
}

static void bad_options_are_told(void)
{
    static const struct {
        const char *settings[4][2];
        const char *out, *why;
    } bad[] = {
        { { { "count", "0" } }, NULL, "--count 0: out of range" },
        { { { "count", "x" } }, NULL, "--count x: not a number" },
        { { { "units", "4097" } }, NULL, "--units 4097" },
        { { { "seed", "-1" } }, NULL, "--seed" },
        { { { "way", "bubble" } }, NULL, "--way bubble" },
        { { { "file", "" } }, NULL, "--file: empty" },
        { { { "file", "none.npy" } }, NULL, "none.npy" },
        { { { "file", "none.txt" } }, NULL, "none.txt" },
        { { { "file", "x.npy" }, { "count", "3" } }, NULL, "--count" },
        { { { "file", "x.npy" }, { "seed", "3" }, { "way", "bitonic" } },
          NULL,
          "--seed" },
        { { { "way", "bitonic" }, { "units", "6" } }, NULL, "power of two" },
        { { { "count", "2" } }, "B.txt", "--out" },
        { { { "pivot", "2" } }, NULL, "no option --pivot" },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nf_error err = { NF_OK, "" };
        enum nf_status status = run(bad[i].settings, bad[i].out, false, &err);

        CU_ASSERT(status == NF_ERR_INVAL || status == NF_ERR_RANGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].why));
        if (status == NF_OK || strstr(err.text, bad[i].why) == NULL)
            fprintf(stderr, "%zu: %d, %s\n", i, (int)status, err.text);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "keys are in the order of numbers",
          keys_are_in_the_order_of_numbers },
        { "keys are sorted and merged", keys_are_sorted_and_merged },
        { "the network sorts", the_network_sorts },
        { "blocks are all of it", blocks_are_all_of_it },
        { "the kernel refuses what does not fit",
          the_kernel_refuses_what_does_not_fit },
        { "any size is sorted", any_size_is_sorted },
        { "what slaves keep must fit", what_slaves_keep_must_fit },
        { "bad options are told", bad_options_are_told },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "sort", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
