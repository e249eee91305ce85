#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/app.h"
#include "apps/montecarlo/estimate.h"
#include "apps/montecarlo/philox.h"
#include "common/base/alloc.h"
#include "common/base/blob.h"
#include "common/base/rng.h"
#include "tests/unit/nf_unit.h"

/* ------------------------------------------------------------------ generator
 */

/* The known answers of the authors' library, Random123, for philox4x32 with 10
 * rounds: all zeros, all ones, the digits of pi. */
static void philox_has_its_known_answers(void)
{
    static const uint32_t vectors[3][10] = {
        { 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
        { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
          0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
        { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822,
          0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 },
    };
    uint32_t block[4];

    for (int i = 0; i < 3; i++) {
        nf_philox(vectors[i], vectors[i] + 4, block);
        CU_ASSERT_EQUAL(memcmp(block, vectors[i] + 6, sizeof(block)), 0);
    }
}

static void points_are_uniform_and_their_own(void)
{
    enum { POINTS = 20000, BINS = 16, DIMS = 5 };
    unsigned bins[DIMS][BINS] = { { 0 } };
    double point[DIMS], fewer[3], other[DIMS];

    for (uint64_t i = 0; i < POINTS; i++) {
        nf_philox_point(7, i, DIMS, point);
        nf_philox_point(7, i, 3, fewer);
        CU_ASSERT_EQUAL(memcmp(point, fewer, sizeof(fewer)), 0);
        for (int d = 0; d < DIMS; d++) {
            CU_ASSERT_TRUE(point[d] > 0 && point[d] < 1);
            bins[d][(int)(point[d] * BINS)]++;
        }
    }
    for (int d = 0; d < DIMS; d++) {
        double chi2 = 0;

        for (int b = 0; b < BINS; b++) {
            double off = bins[d][b] - (double)POINTS / BINS;

            chi2 += off * off / ((double)POINTS / BINS);
        }
        /* 15 degrees of freedom: 37.7 is the 99.9 % quantile */
        CU_ASSERT_TRUE(chi2 < 37.7);
    }
    nf_philox_point(7, 0, DIMS, point);
    nf_philox_point(7, UINT64_C(1) << 32, DIMS, other);
    CU_ASSERT_NOT_EQUAL(memcmp(point, other, sizeof(point)), 0);
    nf_philox_point(7 + (UINT64_C(1) << 32), 0, DIMS, other);
    CU_ASSERT_NOT_EQUAL(memcmp(point, other, sizeof(point)), 0);
}

/* ----------------------------------------------------------------- integrands
 */

/* Midpoints on a grid of n points a side, or n^2 in one dimension. */
static double by_grid(const struct nf_integrand *f, uint32_t dims, uint32_t n)
{
    double x[2], sum = 0;
    uint32_t m = dims == 1 ? n * n : n;

    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < (dims == 1 ? 1 : n); j++) {
            x[0] = (i + 0.5) / m;
            x[1] = (j + 0.5) / n;
            sum += f->function(x, dims);
        }
    return sum / ((double)n * n);
}

static void known_values_agree_with_a_grid(void)
{
    for (const struct nf_integrand *f = nf_integrands; f->name != NULL; f++)
        for (uint32_t dims = f->dims_low; dims <= 2; dims++) {
            double known = f->integral(dims);
            /* jumps cost a grid of 900 points a side some 1/900 of the value
             * there; smooth functions need no more than 10^-4 */
            double off = fabs(by_grid(f, dims, 900) - known);

            CU_ASSERT_TRUE(off < 2e-3 * (1 + fabs(known)));
            if (strcmp(f->name, "discontinuous") != 0 &&
                f->function != nf_integrands[0].function)
                CU_ASSERT_TRUE(off < 1e-4 * fabs(known));
        }
}

static void every_integrand_is_estimated(void)
{
    for (int k = 0; nf_integrands[k].name != NULL; k++) {
        const struct nf_integrand *f = &nf_integrands[k];
        const uint32_t dims[] = { f->dims_low, f->dims_default, f->dims_high };

        for (int j = 0; j < 3; j++) {
            struct nf_montecarlo_params params = { .integrand = (uint32_t)k,
                                                   .dims = dims[j],
                                                   .seed = 1,
                                                   .samples = 40000,
                                                   .chunk = 40000 };
            struct nf_montecarlo_estimate e;
            struct nf_moments moments;

            nf_montecarlo_unit(&params, 0, &moments);
            nf_montecarlo_estimate(&moments, &e);
            CU_ASSERT_EQUAL(e.samples, 40000);
            CU_ASSERT_TRUE(e.standard_error >= 0);
            CU_ASSERT_TRUE(fabs(e.value - f->integral(dims[j])) <=
                           5 * e.standard_error);
            CU_ASSERT_TRUE(e.low <= e.value && e.value <= e.high);
        }
    }
}

/* ------------------------------------------------------------ reproducibility
 */

static void results_of(const struct nf_montecarlo_params *params,
                       struct nf_rng *rng, int64_t *total)
{
    uint64_t n = nf_montecarlo_units(params);
    int64_t(*part)[NF_MOMENTS_WORDS] = calloc(n, sizeof(*part));
    struct nf_moments moments;

    for (uint64_t i = 0; i < n; i++) {
        nf_montecarlo_unit(params, i, &moments);
        nf_moments_encode(&moments, part[i]);
    }
    while (n > 1) { /* a random tree */
        uint64_t a = nf_rng_below(rng, n), b = nf_rng_below(rng, n - 1);

        b += b >= a;
        CU_ASSERT_EQUAL(nf_montecarlo_combine(part[a], part[b]), NF_OK);
        memcpy(part[a], part[n - 1], sizeof(*part));
        n--;
    }
    memcpy(total, part[0], sizeof(*part));
    free(part);
}

static void no_chunk_or_tree_changes_a_bit(void)
{
    struct nf_montecarlo_params params = { .dims = 3, .seed = 9 };
    int64_t whole[NF_MOMENTS_WORDS], pieces[NF_MOMENTS_WORDS];
    struct nf_rng rng = { 5 };

    params.integrand = (uint32_t)nf_integrand_find("gaussian");
    params.samples = params.chunk = 10007;
    results_of(&params, &rng, whole);
    for (params.chunk = 3; params.chunk < 10007; params.chunk *= 5) {
        results_of(&params, &rng, pieces);
        CU_ASSERT_EQUAL(memcmp(whole, pieces, sizeof(whole)), 0);
    }
    pieces[0] = -1;
    CU_ASSERT_EQUAL(nf_montecarlo_combine(pieces, whole), NF_ERR_PROTOCOL);
}

/* ------------------------------------------------------------ the application
 */

static const char *const good[] = { "integrand", "continuous", "samples",
                                    "1000",      "chunk",      "300",
                                    "dims",      "4",          NULL };

static void *open_app(const char *const *settings, const char *out,
                      struct nf_app *app, enum nf_status want)
{
    struct nf_app_request request = { .out = out, .verify = true };
    struct nf_error err = { NF_OK, "" };
    enum nf_status status = NF_OK;
    void *state = NULL;

    CU_ASSERT_EQUAL(nf_app_montecarlo.create(&state, &err), NF_OK);
    for (; *settings != NULL && status == NF_OK; settings += 2)
        status = nf_app_montecarlo.set(state, settings[0], settings[1], &err);
    if (status == NF_OK)
        status = nf_app_montecarlo.open(state, &request, app, &err);
    CU_ASSERT_EQUAL(status, want);
    CU_ASSERT_EQUAL(err.text[0] != '\0', want != NF_OK);
    CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
    return state;
}

static void compute_all(const struct nf_app *app, int64_t damage)
{
    struct nf_buf shared, result;
    char error[120];

    nf_buf_init(&shared);
    CU_ASSERT_EQUAL(app->share(app->user, &shared), NF_OK);
    for (uint64_t i = app->units; i-- > 0;) {
        struct nf_work work = { .first = i,
                                .count = 1,
                                .shared = shared.data,
                                .shared_bytes = shared.bytes,
                                .result = &result,
                                .error = error,
                                .error_bytes = sizeof(error) };

        nf_buf_init(&result);
        CU_ASSERT_EQUAL(app->compute(&work), 0);
        if (i == 0) /* the least of what there is in the sum */
            ((int64_t *)(void *)result.data)[1 + 65] += damage;
        CU_ASSERT_EQUAL(app->collect(app->user, i, result.data, result.bytes),
                        NF_OK);
        CU_ASSERT_EQUAL(
            app->collect(app->user, app->units, result.data, result.bytes),
            NF_ERR_PROTOCOL);
        CU_ASSERT_EQUAL(
            app->collect(app->user, i, result.data, result.bytes - 8),
            NF_ERR_PROTOCOL);
        nf_buf_fini(&result);
    }
    nf_buf_fini(&shared);
}

static void a_job_is_verified(void)
{
    struct nf_app_figure figures[NF_APP_FIGURES];
    struct nf_error err = { NF_OK, "" };
    struct nf_app app;
    char note[200];
    void *state = open_app(good, NULL, &app, NF_OK);

    CU_ASSERT_EQUAL(app.units, 4);
    CU_ASSERT_EQUAL(nf_app_montecarlo.figures(state, figures), 0);
    CU_ASSERT_EQUAL(nf_app_montecarlo.verify(state, note, sizeof(note), &err),
                    NF_ERR_VERIFY); /* nothing came yet */
    compute_all(&app, 0);
    CU_ASSERT_EQUAL(nf_app_montecarlo.verify(state, note, sizeof(note), &err),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_app_montecarlo.figures(state, figures), 9);
    nf_app_montecarlo.destroy(state);
}

static void one_wrong_bit_is_seen(void)
{
    struct nf_error err = { NF_OK, "" };
    struct nf_app app;
    char note[200];
    void *state = open_app(good, NULL, &app, NF_OK);

    compute_all(&app, 1);
    CU_ASSERT_EQUAL(nf_app_montecarlo.verify(state, note, sizeof(note), &err),
                    NF_ERR_VERIFY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "unit 0"));
    nf_app_montecarlo.destroy(state);
}

/* All units in one result, as a gather brings it. */
static void collect_combined(const struct nf_app *app, int64_t damage)
{
    struct nf_montecarlo_params params;
    int64_t all[NF_MOMENTS_WORDS], words[NF_MOMENTS_WORDS];
    int64_t shared_words[NF_MONTECARLO_PARAM_WORDS];
    struct nf_moments moments;
    struct nf_buf shared;

    nf_buf_init(&shared);
    CU_ASSERT_EQUAL(app->share(app->user, &shared), NF_OK);
    memcpy(shared_words, shared.data, sizeof(shared_words));
    nf_buf_fini(&shared);
    CU_ASSERT_EQUAL(nf_montecarlo_decode(shared_words, &params), NF_OK);
    for (uint64_t i = app->units; i-- > 0;) {
        nf_montecarlo_unit(&params, i, &moments);
        nf_moments_encode(&moments, words);
        if (i + 1 == app->units)
            memcpy(all, words, sizeof(all));
        else
            app->combine(all, words, sizeof(all));
    }
    all[1 + 65] += damage;
    CU_ASSERT_EQUAL(
        app->collect_combined(app->user, all, sizeof(all), app->units), NF_OK);
}

static void combined_sums_are_verified_to_the_bit(void)
{
    for (int64_t damage = 0; damage < 2; damage++) {
        struct nf_error err = { NF_OK, "" };
        struct nf_app app;
        char note[200] = "";
        void *state = open_app(good, NULL, &app, NF_OK);

        collect_combined(&app, damage);
        CU_ASSERT_EQUAL(
            nf_app_montecarlo.verify(state, note, sizeof(note), &err),
            damage ? NF_ERR_VERIFY : NF_OK);
        CU_ASSERT_PTR_NOT_NULL(strstr(damage ? err.text : note,
                                      damage ? "combined sums differ"
                                             : "all sums computed again"));
        nf_app_montecarlo.destroy(state);
    }
}

static void bad_input_is_refused(void)
{
    static const char *const bad[][5] = {
        { "dims", "-1" },
        { "dims", "0" },
        { "dims", "65" },
        { "dims", "3", NULL }, /* of pi */
        { "samples", "0" },
        { "samples", "1" },
        { "samples", "-5" },
        { "samples", "1e6" },
        { "samples", "99999999999999999999" },
        { "chunk", "0" },
        { "chunk", "4294967297" },
        { "seed", "x" },
        { "seed", "18446744073709551616" },
        { "integrand", "sin" },
        { "integrand", "" },
        { "integrand", "ball", "dims", "13" },
        { "samples", "1125899906842624", "chunk", "65536" },
        { "nosuch", "1" },
    };
    struct nf_app app;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        nf_app_montecarlo.destroy(open_app(bad[i], NULL, &app, NF_ERR_INVAL));
    nf_app_montecarlo.destroy(
        open_app(good, "/no/such/place/x.json", &app, NF_ERR_INVAL));
}

static void slaves_refuse_what_they_do_not_know(void)
{
    struct nf_montecarlo_params params = { .dims = 2,
                                           .samples = 10,
                                           .chunk = 5 };
    int64_t words[NF_MONTECARLO_PARAM_WORDS];
    static const struct {
        int at;
        int64_t value;
    } lies[] = { { 0, 0 },  { 1, -1 }, { 1, 1000 }, { 2, 0 },
                 { 2, 65 }, { 4, 1 },  { 4, -1 },   { 5, 0 } };

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        nf_montecarlo_encode(&params, words);
        CU_ASSERT_EQUAL(nf_montecarlo_decode(words, &params), NF_OK);
        words[lies[i].at] = lies[i].value;
        CU_ASSERT_EQUAL(nf_montecarlo_decode(words, &params), NF_ERR_PROTOCOL);
    }
}

static void what_is_saved_can_be_read(void)
{
    char path[64], text[1000] = "";
    struct nf_error err;
    struct nf_app app;
    void *state;
    FILE *file;

    for (int json = 0; json < 2; json++) {
        snprintf(path, sizeof(path), "montecarlo-%ld%s", (long)getpid(),
                 json ? ".json" : ".txt");
        state = open_app(good, path, &app, NF_OK);
        compute_all(&app, 0);
        CU_ASSERT_EQUAL(nf_app_montecarlo.save(state, &err), NF_OK);
        nf_app_montecarlo.destroy(state);
        file = fopen(path, "r");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        fclose(file);
        unlink(path);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(text, json ? "\"integrand\": \"continuous\",\n  \"dims\": 4,"
                              : "integrand continuous\ndims 4\n"));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "estimate"));
    }
}

static void no_memory_is_told(void)
{
    struct nf_error err;
    void *state = NULL;

    nf_alloc_fail_after(0);
    CU_ASSERT_EQUAL(nf_app_montecarlo.create(&state, &err), NF_ERR_NOMEM);
    nf_alloc_fail_after(-1);
}

int main(void)
{
    CU_TestInfo numbers[] = {
        { "philox has its known answers", philox_has_its_known_answers },
        { "points are uniform, and each index has its own",
          points_are_uniform_and_their_own },
        { "known values agree with a grid", known_values_agree_with_a_grid },
        { "every integrand is estimated within 5 standard errors",
          every_integrand_is_estimated },
        { "no chunk and no tree of combining changes a bit",
          no_chunk_or_tree_changes_a_bit },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo application[] = {
        { "a job is verified", a_job_is_verified },
        { "one wrong bit is seen", one_wrong_bit_is_seen },
        { "combined sums are verified to the bit",
          combined_sums_are_verified_to_the_bit },
        { "bad input is refused", bad_input_is_refused },
        { "slaves refuse what they do not know",
          slaves_refuse_what_they_do_not_know },
        { "what is saved can be read", what_is_saved_can_be_read },
        { "no memory is told", no_memory_is_told },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "numbers", NULL, NULL, NULL, NULL, numbers },
        { "application", NULL, NULL, NULL, NULL, application },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
