#include "config.h"
#include "apps/synth/synth_params.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apps/app.h"
#include "common/base/alloc.h"
#include "common/base/blob.h"
#include "common/base/error.h"
#include "tests/unit/nf_unit.h"

/* The synthetic application judges every other test, so it must be able to
 * say no: each kind of damage is done to it here. */

#define UNITS 20

static void *open_synth(const char *const *settings, struct nf_app *app)
{
    struct nf_app_request request = { .out = NULL, .verify = true };
    struct nf_error err = { NF_OK, "" };
    void *state = NULL;

    CU_ASSERT_EQUAL_FATAL(nf_app_synth.create(&state, &err), NF_OK);
    for (; *settings != NULL; settings += 2)
        CU_ASSERT_EQUAL(nf_app_synth.set(state, settings[0], settings[1], &err),
                        NF_OK);
    CU_ASSERT_EQUAL(nf_app_synth.open(state, &request, app, &err), NF_OK);
    return state;
}

/* Share, split and compute units [first, first + count) as a slave would. */
static int compute(const struct nf_app *app, uint64_t first, uint64_t count,
                   struct nf_buf *result, char *error)
{
    struct nf_buf shared, input;
    struct nf_work work = { .first = first,
                            .count = count,
                            .result = result,
                            .error = error,
                            .error_bytes = 120 };
    int status;

    nf_buf_init(&shared);
    nf_buf_init(&input);
    CU_ASSERT_EQUAL(app->share(app->user, &shared), NF_OK);
    for (uint64_t i = 0; i < count && app->split != NULL; i++)
        CU_ASSERT_EQUAL(app->split(app->user, first + i, &input), NF_OK);
    work.input = input.data;
    work.input_bytes = input.bytes;
    work.shared = shared.data;
    work.shared_bytes = shared.bytes;
    status = app->compute(&work);
    nf_buf_fini(&input);
    nf_buf_fini(&shared);
    return status;
}

static enum nf_status verify(void *state)
{
    struct nf_error err = { NF_OK, "" };
    char note[200] = "";
    enum nf_status status = nf_app_synth.verify(state, note, sizeof note, &err);

    CU_ASSERT((status == NF_OK) == (note[0] != '\0'));
    CU_ASSERT((status == NF_OK) == (err.text[0] == '\0'));
    return status;
}

static void run_all(const struct nf_app *app, uint64_t units)
{
    struct nf_buf result;
    char error[120];

    for (uint64_t unit = 0; unit < units; unit++) {
        nf_buf_init(&result);
        CU_ASSERT_EQUAL(compute(app, unit, 1, &result, error), 0);
        CU_ASSERT_EQUAL(
            app->collect(app->user, unit, result.data, result.bytes), NF_OK);
        nf_buf_fini(&result);
    }
}

static void each_size_goes_through_and_verifies(void)
{
    static const char *const sizes[] = { "0B", "1B", "7B", "8B", "9B", "1kB" };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *settings[] = { "units",  "20",     "in",
                                   sizes[i], "result", sizes[i],
                                   "shared", sizes[i], NULL };
        struct nf_app app;
        void *state = open_synth(settings, &app);

        run_all(&app, UNITS - 1);
        CU_ASSERT_EQUAL(verify(state), NF_ERR_VERIFY); /* one is missing */
        nf_app_synth.destroy(state);
        state = open_synth(settings, &app);
        run_all(&app, UNITS);
        CU_ASSERT_EQUAL(verify(state), NF_OK);
        nf_app_synth.destroy(state);
    }
}

static void a_result_collected_twice_is_noticed(void)
{
    const char *settings[] = { "units", "20", NULL };
    struct nf_app app;
    void *state = open_synth(settings, &app);

    run_all(&app, UNITS);
    run_all(&app, 1);
    CU_ASSERT_EQUAL(verify(state), NF_ERR_VERIFY);
    nf_app_synth.destroy(state);
}

static void any_wrong_byte_of_a_result_is_noticed(void)
{
    const char *settings[] = { "units", "1", "result", "19B", NULL };

    for (size_t at = 0; at <= 19; at++) {
        struct nf_app app;
        void *state = open_synth(settings, &app);
        struct nf_buf result;
        char error[120];

        nf_buf_init(&result);
        CU_ASSERT_EQUAL(compute(&app, 0, 1, &result, error), 0);
        if (at < 19)
            result.data[at] ^= 0x40;
        app.collect(app.user, 0, result.data, at < 19 ? 19 : 18);
        CU_ASSERT_EQUAL(verify(state), NF_ERR_VERIFY);
        nf_buf_fini(&result);
        nf_app_synth.destroy(state);
    }
}

static void the_result_of_another_unit_is_noticed(void)
{
    const char *settings[] = { "units", "2", NULL };
    struct nf_app app;
    void *state = open_synth(settings, &app);
    struct nf_buf result;
    char error[120];

    nf_buf_init(&result);
    CU_ASSERT_EQUAL(compute(&app, 0, 2, &result, error), 0);
    CU_ASSERT_EQUAL(result.bytes, 16);
    app.collect(app.user, 0, result.data + 8, 8);
    app.collect(app.user, 1, result.data, 8);
    CU_ASSERT_EQUAL(verify(state), NF_ERR_VERIFY);
    nf_buf_fini(&result);
    nf_app_synth.destroy(state);
}

/* Bytes 0..10 of the input, then 0..20 of the shared pattern are damaged in
 * turn; at last the input is too short. */
static void a_kernel_refuses_damaged_input_and_shared_data(void)
{
    /* Shared data is checked once an address, so each copy needs its own. */
    static uint8_t copies[33][128];
    struct nf_synth_params params = {
        .seed = 3, .in_bytes = 11, .shared_bytes = 21, .result_bytes = 8
    };
    struct nf_buf shared, result;
    uint8_t input[11];
    char error[120];
    struct nf_work work = { .first = 5,
                            .count = 1,
                            .input = input,
                            .result = &result,
                            .error = error,
                            .error_bytes = sizeof error };

    nf_buf_init(&shared);
    nf_buf_init(&result);
    CU_ASSERT_EQUAL(nf_synth_encode(&params, &shared), NF_OK);
    CU_ASSERT_FATAL(shared.bytes <= sizeof copies[0]);
    for (size_t at = 0; at < 33; at++) {
        memcpy(copies[at], shared.data, shared.bytes);
        nf_synth_fill(3, NF_SYNTH_IN, 5, input, sizeof input);
        if (at < 11)
            input[at] ^= 1;
        else if (at < 32)
            copies[at][shared.bytes - 32 + at] ^= 1;
        work.input_bytes = at == 32 ? 10 : 11;
        work.shared = copies[at];
        work.shared_bytes = shared.bytes;
        error[0] = '\0';
        CU_ASSERT_NOT_EQUAL(nf_synth_compute(&work), 0);
        CU_ASSERT_NOT_EQUAL(error[0], '\0');
    }
    work.shared = shared.data;
    work.input_bytes = 11;
    CU_ASSERT_EQUAL(nf_synth_compute(&work), 0);
    nf_buf_fini(&result);
    nf_buf_fini(&shared);
}

static void parameters_survive_the_journey(void)
{
    struct nf_synth_params in = { .seed = UINT64_MAX,
                                  .cost_us = 12345,
                                  .spread = 0.25,
                                  .in_bytes = 1,
                                  .result_bytes = 2,
                                  .shared_bytes = 3,
                                  .chatty = true,
                                  .fault_dir = "/some/dir" };
    struct nf_synth_params out;
    struct nf_buf buf;
    size_t header;

    nf_buf_init(&buf);
    CU_ASSERT_EQUAL(nf_synth_parse_faults("7:kill,9:hang-once", &in, NULL),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_synth_encode(&in, &buf), NF_OK);
    for (size_t bytes = 0; bytes < buf.bytes; bytes++)
        CU_ASSERT_EQUAL(nf_synth_decode(buf.data, bytes, &out, &header),
                        NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(nf_synth_decode(buf.data, buf.bytes, &out, &header), NF_OK);
    CU_ASSERT_EQUAL(buf.bytes - header, 3);
    CU_ASSERT(out.seed == in.seed && out.cost_us == in.cost_us);
    CU_ASSERT(out.spread == in.spread && out.chatty && !out.spin);
    CU_ASSERT_EQUAL(out.nfaults, 2);
    CU_ASSERT(out.faults[1].unit == 9 && out.faults[1].once &&
              out.faults[1].kind == NF_SYNTH_HANG);
    CU_ASSERT_STRING_EQUAL(out.fault_dir, "/some/dir");
    nf_buf_fini(&buf);
}

static void damaged_parameters_are_refused_or_harmless(void)
{
    struct nf_synth_params in = { .seed = 1, .in_bytes = 8 }, out;
    struct nf_buf buf;
    size_t header;

    nf_buf_init(&buf);
    CU_ASSERT_EQUAL(nf_synth_parse_faults("7:kill", &in, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_synth_encode(&in, &buf), NF_OK);
    for (size_t at = 0; at < buf.bytes; at++) {
        for (unsigned value = 1; value < 256; value++) {
            buf.data[at] ^= (uint8_t)value;
            if (nf_synth_decode(buf.data, buf.bytes, &out, &header) == NF_OK)
                CU_ASSERT(header <= buf.bytes &&
                          out.nfaults <= NF_SYNTH_MAX_FAULTS);
            buf.data[at] ^= (uint8_t)value;
        }
    }
    nf_buf_fini(&buf);
}

static void costs_depend_on_seed_and_unit_only_and_stay_in_their_range(void)
{
    struct nf_synth_params params = { .seed = 4,
                                      .cost_us = 1000,
                                      .spread = 0.5 };
    double sum = 0;

    for (uint64_t unit = 0; unit < 10000; unit++) {
        int64_t cost_us = nf_synth_cost_us(&params, unit);

        CU_ASSERT(cost_us >= 500 && cost_us <= 1500);
        CU_ASSERT_EQUAL(cost_us, nf_synth_cost_us(&params, unit));
        sum += (double)cost_us;
    }
    /* 10^4 draws with a deviation of 289: six deviations of their mean */
    CU_ASSERT_DOUBLE_EQUAL(sum / 10000, 1000, 6 * 2.89);
    params.spread = 0;
    CU_ASSERT_EQUAL(nf_synth_cost_us(&params, 17), 1000);
}

static void bad_options_are_refused_with_a_reason(void)
{
    static const char *const bad[][2] = {
        { "units", "-1" },
        { "units", "1e3" },
        { "units", "" },
        { "cost", "5" },
        { "cost", "-5ms" },
        { "cost", "fast" },
        { "spread", "1.5" },
        { "spread", "nan" },
        { "in", "64" },
        { "in", "5GiB" },
        { "result", "-1B" },
        { "fault", "" },
        { "fault", "1" },
        { "fault", "1:" },
        { "fault", "x:kill" },
        { "fault", "1:sneeze" },
        { "fault", "1:kill," },
        { "fault", "1:-once" },
        { "fault-dir", "/nonexistent/dir" },
        { "colour", "blue" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct nf_error err = { NF_OK, "" };
        void *state;

        CU_ASSERT_EQUAL(nf_app_synth.create(&state, &err), NF_OK);
        CU_ASSERT_EQUAL(nf_app_synth.set(state, bad[i][0], bad[i][1], &err),
                        NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i][0]));
        nf_app_synth.destroy(state);
    }
}

static void faults_must_fit_the_job(void)
{
    static const char *const bad[] = { "20:kill", "3:kill-once", "3:kill", "3:exit",
                                       "3:stop", "3:error,4:stop", "3:hang" };

    for (size_t i = 0; i < 7; i++) { /* of the last all is well */
        struct nf_app_request request = { .threads = i >= 2 };
        struct nf_error err = { NF_OK, "" };
        struct nf_app app;
        void *state;

        CU_ASSERT_EQUAL(nf_app_synth.create(&state, &err), NF_OK);
        CU_ASSERT_EQUAL(nf_app_synth.set(state, "units", "20", &err), NF_OK);
        CU_ASSERT_EQUAL(nf_app_synth.set(state, "fault", bad[i], &err), NF_OK);
        CU_ASSERT_EQUAL(nf_app_synth.open(state, &request, &app, &err),
                        i < 6 ? NF_ERR_INVAL : NF_OK);
        nf_app_synth.destroy(state);
    }
}

static void an_error_fault_fails_its_unit_only_and_once_means_once(void)
{
    char dir[] = "/tmp/nf-synth.XXXXXX", error[120], mark[64];
    struct nf_app app;
    struct nf_buf result;
    void *state;

    CU_ASSERT_PTR_NOT_NULL(mkdtemp(dir));
    {
        const char *settings[] = { "units",     "20",    "fault",
                                   "3:error",   "fault", "4:error-once,5:wrong",
                                   "fault-dir", dir,     NULL };
        state = open_synth(settings, &app);
    }
    nf_buf_init(&result);
    for (int again = 0; again < 2; again++) {
        CU_ASSERT_EQUAL(compute(&app, 2, 1, &result, error), 0);
        CU_ASSERT_NOT_EQUAL(compute(&app, 3, 1, &result, error), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(error, "unit 3"));
        CU_ASSERT_EQUAL(compute(&app, 4, 1, &result, error) != 0, again == 0);
    }
    nf_buf_reset(&result);
    CU_ASSERT_EQUAL(compute(&app, 5, 1, &result, error), 0);
    app.collect(app.user, 5, result.data, result.bytes);
    CU_ASSERT_EQUAL(verify(state), NF_ERR_VERIFY);
    nf_buf_fini(&result);
    nf_app_synth.destroy(state);
    snprintf(mark, sizeof mark, "%s/fault-4", dir);
    CU_ASSERT_EQUAL(unlink(mark), 0);
    CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static void out_gets_eight_bytes_a_unit(void)
{
    char dir[] = "/tmp/nf-synth.XXXXXX", path[64];
    struct nf_app_request request = { .out = path };
    struct nf_error err = { NF_OK, "" };
    struct nf_app app;
    uint8_t got[8 * UNITS + 1], want[8];
    FILE *file;
    void *state;

    CU_ASSERT_PTR_NOT_NULL(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/out.bin", dir);
    CU_ASSERT_EQUAL(nf_app_synth.create(&state, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_app_synth.set(state, "units", "20", &err), NF_OK);
    CU_ASSERT_EQUAL(nf_app_synth.open(state, &request, &app, &err), NF_OK);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0); /* not before it is complete */
    run_all(&app, UNITS);
    CU_ASSERT_EQUAL(nf_app_synth.save(state, &err), NF_OK);
    nf_app_synth.destroy(state);
    file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fread(got, 1, sizeof got, file), 8 * UNITS);
    fclose(file);
    for (uint64_t unit = 0; unit < UNITS; unit++) {
        nf_synth_fill(1, NF_SYNTH_RESULT, unit, want, 8);
        CU_ASSERT_EQUAL(memcmp(got + 8 * unit, want, 8), 0);
    }
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(rmdir(dir), 0); /* and nothing else was left there */
}

/* The minimum of [3, -2] and [1, 5], and so on. */
static void numbers_are_folded_by_their_operator(void)
{
    static const struct {
        enum nf_synth_combine combine;
        int64_t want[2];
    } rows[] = {
        { NF_SYNTH_SUM, { 4, 3 } },
        { NF_SYNTH_MIN, { 1, -2 } },
        { NF_SYNTH_MAX, { 3, 5 } },
        { NF_SYNTH_HISTOGRAM, { 4, 3 } },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nf_synth_params params = { .combine = rows[i].combine,
                                          .result_bytes = 16 };
        int64_t inout[2] = { 3, -2 };
        const int64_t in[2] = { 1, 5 };

        nf_synth_fold(&params, inout, in);
        CU_ASSERT_EQUAL(memcmp(inout, rows[i].want, sizeof inout), 0);
        CU_ASSERT_PTR_NOT_NULL(nf_synth_kernel(rows[i].combine));
    }
}

/* Each operator, without a unit, with one wrong number, and as it must be. */
static void combined_numbers_are_verified(void)
{
    static const char *const operators[] = { "sum", "min", "max", "histogram" };

    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        const char *settings[] = { "units",  "20",  "combine", operators[i],
                                   "result", "72B", NULL };
        int64_t all[9], one[9];
        struct nf_synth_params params = { .seed = 1, .result_bytes = 72 };
        struct nf_app app;
        void *state = open_synth(settings, &app);

        run_all(&app, UNITS);
        CU_ASSERT_EQUAL(verify(state), NF_OK);
        run_all(&app, 1);
        CU_ASSERT_EQUAL(verify(state), NF_ERR_VERIFY);
        nf_app_synth.destroy(state);
        CU_ASSERT_EQUAL(
            nf_synth_parse_combine(operators[i], &params.combine, NULL), NF_OK);
        nf_synth_numbers(&params, 0, all);
        for (uint64_t unit = 1; unit < UNITS; unit++) {
            nf_synth_numbers(&params, unit, one);
            nf_synth_fold(&params, all, one);
        }
        for (uint64_t units = UNITS - 1; units <= UNITS + 1; units++) {
            state = open_synth(settings, &app);
            CU_ASSERT_EQUAL(
                app.collect_combined(app.user, all, sizeof all, units), NF_OK);
            CU_ASSERT_EQUAL(verify(state),
                            units == UNITS ? NF_OK : NF_ERR_VERIFY);
            nf_app_synth.destroy(state);
        }
        all[8] ^= 1;
        state = open_synth(settings, &app);
        app.collect_combined(app.user, all, sizeof all, UNITS);
        CU_ASSERT_EQUAL(verify(state), NF_ERR_VERIFY);
        nf_app_synth.destroy(state);
    }
}

int main(void)
{
    CU_TestInfo damage[] = {
        { "each size goes through and verifies",
          each_size_goes_through_and_verifies },
        { "a result collected twice is noticed",
          a_result_collected_twice_is_noticed },
        { "numbers are folded by their operator",
          numbers_are_folded_by_their_operator },
        { "combined numbers are verified", combined_numbers_are_verified },
        { "any wrong byte of a result is noticed",
          any_wrong_byte_of_a_result_is_noticed },
        { "the result of another unit is noticed",
          the_result_of_another_unit_is_noticed },
        { "a kernel refuses damaged input and shared data",
          a_kernel_refuses_damaged_input_and_shared_data },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo options[] = {
        { "parameters survive the journey", parameters_survive_the_journey },
        { "damaged parameters are refused or harmless",
          damaged_parameters_are_refused_or_harmless },
        { "costs depend on seed and unit only and stay in their range",
          costs_depend_on_seed_and_unit_only_and_stay_in_their_range },
        { "bad options are refused with a reason",
          bad_options_are_refused_with_a_reason },
        { "faults must fit the job", faults_must_fit_the_job },
        { "an error fault fails its unit only, and once means once",
          an_error_fault_fails_its_unit_only_and_once_means_once },
        { "--out gets eight bytes a unit", out_gets_eight_bytes_a_unit },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "damage is noticed", NULL, NULL, NULL, NULL, damage },
        { "options and parameters", NULL, NULL, NULL, NULL, options },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
