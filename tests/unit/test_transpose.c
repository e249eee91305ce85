/* transpose: its kernel, and what it says to bad options. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "apps/app.h"
#include "apps/bands.h"
#include "apps/matmul/matrix.h"
#include "apps/transpose/transpose.h"
#include "common/base/blob.h"
#include "tests/unit/nf_unit.h"

static void bands_are_all_of_it(void)
{
    for (uint64_t count = 1; count < 20; count++)
        for (uint64_t bands = 1; bands < 25; bands++) {
            CU_ASSERT_EQUAL(nf_band_begin(count, bands, 0), 0);
            CU_ASSERT_EQUAL(nf_band_begin(count, bands, bands), count);
            for (uint64_t b = 0; b < bands; b++) {
                uint64_t size = nf_band_begin(count, bands, b + 1) -
                                nf_band_begin(count, bands, b);

                CU_ASSERT(size == count / bands || size == count / bands + 1);
            }
        }
}

static void the_kernel_refuses_what_does_not_fit(void)
{
    const int64_t shape[3] = { 3, 4, 2 }, bad[3] = { 3, 0, 2 };
    double column[6] = { 1, 2, 3, 4, 5, 6 };
    uint64_t out[2] = { 0, 0 }, in_at[3] = { 0, 8, 48 };
    const void *const pieces[2] = { column, column + 1 };
    char error[120];
    struct nf_buf result;
    struct nf_work work = { .count = 1,
                            .input = column,
                            .input_bytes = sizeof(column),
                            .shared = shape,
                            .shared_bytes = sizeof(shape),
                            .result = &result,
                            .error = error,
                            .error_bytes = sizeof(error),
                            .units = 2,
                            .out_bytes = out };

    nf_buf_init(&result);
    CU_ASSERT_EQUAL(nf_transpose_compute(&work), 0);
    CU_ASSERT_EQUAL(out[0], 4 * sizeof(double));
    CU_ASSERT_EQUAL(out[1], 2 * sizeof(double));
    work.input_bytes = 40;
    CU_ASSERT_EQUAL(nf_transpose_compute(&work), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error, "not a band of columns"));
    work.input_bytes = sizeof(column);
    work.phase = 1;
    work.first = 1;
    work.in_at = in_at;
    work.in_pieces = pieces;
    CU_ASSERT_EQUAL(nf_transpose_compute(&work), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error, "not a band of rows"));
    work.input_bytes = 32;
    CU_ASSERT_EQUAL(nf_transpose_compute(&work), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error, "not a piece"));
    work.shared = bad;
    CU_ASSERT_EQUAL(nf_transpose_compute(&work), 1);
    work.shared = shape;
    work.units = 3;
    CU_ASSERT_EQUAL(nf_transpose_compute(&work), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error, "no shape"));
    nf_buf_fini(&result);
}

/* @return the status of the first that failed */
static enum nf_status try(const char *const settings[][2], const char *out,
                          bool threads, struct nf_error *err)
{
    struct nf_app_request request = { .out = out, .threads = threads };
    struct nf_app app;
    void *state = NULL;
    enum nf_status status = nf_app_transpose.create(&state, err);

    for (size_t i = 0; status == NF_OK && settings[i][0] != NULL; i++)
        status =
            nf_app_transpose.set(state, settings[i][0], settings[i][1], err);
    if (status == NF_OK)
        status = nf_app_transpose.open(state, &request, &app, err);
    nf_app_transpose.destroy(state);
    return status;
}

/* Threads keep bands in the memory that the master's matrices are in. */
static void what_slaves_keep_must_fit(void)
{
    /* a matrix that is there three times, but not four */
    uint64_t rows = nf_memory_bytes() / sizeof(double) * 2 / 7 / 1000;
    char many[24];
    const char *const settings[][2] = { { "rows", many },
                                        { "cols", "1000" },
                                        { NULL, NULL } };
    struct nf_error err = { NF_OK, "" };

    snprintf(many, sizeof(many), "%" PRIu64, rows);
    CU_ASSERT_EQUAL(try(settings, NULL, true, &err), NF_ERR_RANGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "kept 4 times"));
    snprintf(many, sizeof(many), "%" PRIu64, 2 * rows);
    CU_ASSERT_EQUAL(try(settings, NULL, false, &err), NF_ERR_RANGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "kept 2 times"));
}

static void bad_options_are_told(void)
{
    static const struct {
        const char *settings[3][2];
        const char *out, *why;
        enum nf_status status;
    } bad[] = {
        { { { "rows", "0" } }, NULL, "--rows 0", NF_ERR_RANGE },
        { { { "cols", "x" } }, NULL, "--cols x", NF_ERR_INVAL },
        { { { "bands", "4097" } }, NULL, "--bands", NF_ERR_RANGE },
        { { { "seed", "-1" } }, NULL, "--seed", NF_ERR_INVAL },
        { { { "a", "" } }, NULL, "--a: empty", NF_ERR_INVAL },
        { { { "a", "none.npy" } }, NULL, "none.npy", NF_ERR_INVAL },
        { { { "a", "x.npy" }, { "rows", "3" } }, NULL, "--rows", NF_ERR_INVAL },
        { { { "a", "x.npy" }, { "seed", "3" } }, NULL, "--seed", NF_ERR_INVAL },
        { { { "rows", "2" } }, "B.txt", "--out", NF_ERR_INVAL },
        { { { "rows", "2000000000" }, { "cols", "2000000000" } },
          NULL,
          "need",
          NF_ERR_RANGE },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nf_error err = { NF_OK, "" };
        enum nf_status status = try(bad[i].settings, bad[i].out, false, &err);

        CU_ASSERT(status == bad[i].status || status == NF_ERR_INVAL ||
                  status == NF_ERR_RANGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].why));
        if (status == NF_OK || strstr(err.text, bad[i].why) == NULL)
            fprintf(stderr, "%zu: %d, %s\n", i, (int)status, err.text);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "bands are all of it", bands_are_all_of_it },
        { "the kernel refuses what does not fit",
          the_kernel_refuses_what_does_not_fit },
        { "what slaves keep must fit", what_slaves_keep_must_fit },
        { "bad options are told", bad_options_are_told },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "transpose", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
