/* fft: six steps against the definition, with transforms of lines that are the
 * definition, too, in long double: so FFTW has no part in this.  Roots, files,
 * and bad options. */
#include "config.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/app.h"
#include "apps/fft/fft.h"
#include "apps/matmul/matrix.h"
#include "common/base/alloc.h"
#include "common/base/blob.h"
#include "common/base/rng.h"
#include "tests/unit/app_operations.h"
#include "tests/unit/nf_unit.h"

static const long double two_pi = 6.283185307179586476925286766559L;

static void one_by_definition(const double *x, uint64_t k, uint64_t n,
                              bool inverse, double *y)
{
    long double re = 0, im = 0;

    for (uint64_t j = 0; j < n; j++) {
        long double angle = two_pi * (long double)(j * k % n) / (long double)n;
        long double c = cosl(angle), s = inverse ? sinl(angle) : -sinl(angle);

        re += x[2 * j] * c - x[2 * j + 1] * s;
        im += x[2 * j] * s + x[2 * j + 1] * c;
    }
    y[0] = (double)re;
    y[1] = (double)im;
}

static void by_definition(const double *x, double *y, uint64_t n, bool inverse)
{
    for (uint64_t k = 0; k < n; k++)
        one_by_definition(x, k, n, inverse, y + 2 * k);
}

/* In the place of fftw.c. */
bool nf_fft_line(const double *from, uint64_t length, bool inverse, double *to)
{
    by_definition(from, to, length, inverse);
    return true;
}

double nf_fft_line_operations(uint64_t length)
{
    return 5 * (double)length * log2((double)length);
}

enum { UNITS = 11, NUMBERS = 256 };

/* What units have, and what they have for each other. */
struct world {
    struct nf_fft_shape shape;
    int64_t shared[NF_FFT_SHAPE_NUMBERS];
    char error[160];
    struct nf_buf input[UNITS], result[UNITS];
    uint64_t out[UNITS][UNITS], in_at[UNITS][UNITS + 1];
};

static int compute(struct world *w, uint32_t phase, uint64_t unit)
{
    const void *pieces[UNITS];
    struct nf_work work = {
        .first = unit,
        .count = 1,
        .input = phase > 0 ? NULL : w->input[unit].data,
        .input_bytes = w->input[unit].bytes,
        .shared = w->shared,
        .shared_bytes = sizeof(w->shared),
        .result = &w->result[unit],
        .error = w->error,
        .error_bytes = sizeof(w->error),
        .phase = phase,
        .units = w->shape.units,
        .in_at = phase > 0 ? w->in_at[unit] : NULL,
        .in_pieces = phase > 0 ? pieces : NULL,
        .out_bytes = phase + 1 < nf_fft_phases(&w->shape) ? w->out[unit] : NULL,
    };

    for (uint64_t u = 0; phase > 0 && u < w->shape.units; u++)
        pieces[u] = w->input[unit].data == NULL
                        ? (const uint8_t *)""
                        : w->input[unit].data + w->in_at[unit][u];
    return nf_fft_compute(&work);
}

/* Pieces of results become inputs, in the order of units. */
static void exchange(struct world *w)
{
    uint64_t units = w->shape.units, at[UNITS] = { 0 };

    for (uint64_t v = 0; v < units; v++) {
        nf_buf_reset(&w->input[v]);
        for (uint64_t u = 0; u < units; u++) {
            w->in_at[v][u] = w->input[v].bytes;
            if (w->out[u][v] > 0)
                nf_buf_append(&w->input[v], w->result[u].data + at[u],
                              (size_t)w->out[u][v]);
            at[u] += w->out[u][v];
        }
        w->in_at[v][units] = w->input[v].bytes;
    }
    for (uint64_t u = 0; u < units; u++) {
        CU_ASSERT_EQUAL(at[u], w->result[u].bytes);
        nf_buf_reset(&w->result[u]);
    }
}

/* The next worlds' layout. */
static bool columns;

static void begin(struct world *w, uint64_t count, uint64_t units, bool inverse)
{
    memset(w, 0, sizeof(*w));
    w->shape = (struct nf_fft_shape){ nf_fft_rows(count),
                                      count / nf_fft_rows(count), units,
                                      inverse, columns };
    w->shared[0] = (int64_t)w->shape.rows;
    w->shared[1] = (int64_t)w->shape.cols;
    w->shared[2] = (int64_t)units;
    w->shared[3] = inverse;
    w->shared[4] = columns;
    for (uint64_t u = 0; u < UNITS; u++) {
        nf_buf_init(&w->input[u]);
        nf_buf_init(&w->result[u]);
    }
}

static void end(struct world *w)
{
    for (uint64_t u = 0; u < UNITS; u++) {
        nf_buf_fini(&w->input[u]);
        nf_buf_fini(&w->result[u]);
    }
}

static void fill(double *x, uint64_t count, uint64_t seed)
{
    struct nf_rng rng = { .state = seed };

    for (uint64_t i = 0; i < 2 * count; i++)
        x[i] = (double)nf_rng_below(&rng, 2001) / 1000 - 1;
}

/* Blocks of x are cut as the bands of R lines are. */
static void give_rows(struct world *w, const double *x, uint64_t count)
{
    uint64_t units = w->shape.units, at = 0;

    for (uint64_t u = 0; u < units; u++) {
        uint64_t lines = w->shape.rows / units + (u < w->shape.rows % units);
        size_t bytes = (size_t)(lines * w->shape.cols) * NF_FFT_COMPLEX_BYTES;

        nf_buf_append(&w->input[u], x + 2 * at, bytes);
        at += lines * w->shape.cols;
    }
    CU_ASSERT_EQUAL(at, count);
}

static void take_rows(const struct world *w, double *y, uint64_t count)
{
    uint64_t at = 0;

    for (uint64_t u = 0; u < w->shape.units; u++) {
        if (w->result[u].bytes > 0)
            memcpy((char *)y + at, w->result[u].data, w->result[u].bytes);
        at += w->result[u].bytes;
    }
    CU_ASSERT_EQUAL(at, count * NF_FFT_COMPLEX_BYTES);
}

/* Unit u has some of the numbers that are alike modulo C, and of the result of those
 * that are modulo R. */
static void give_columns(struct world *w, const double *x)
{
    for (uint64_t u = 0; u < w->shape.units; u++) {
        struct nf_fft_band b = nf_fft_band_of(&w->shape, 0, u);
        size_t bytes = (size_t)(b.lines * b.length) * NF_FFT_COMPLEX_BYTES;
        double *to = nf_buf_reserve(&w->input[u], bytes);

        nf_fft_take_columns(&b, x, w->shape.cols, to);
    }
}

static void take_columns(const struct world *w, double *y)
{
    for (uint64_t u = 0; u < w->shape.units; u++) {
        struct nf_fft_band b = nf_fft_band_of(&w->shape, 1, u);

        CU_ASSERT_EQUAL(w->result[u].bytes,
                        b.lines * b.length * NF_FFT_COMPLEX_BYTES);
        nf_fft_put_columns(&b, (const double *)(const void *)w->result[u].data,
                           w->shape.rows, y);
    }
}

/* A whole job by the application's own split() and collect() would need its files. */
static void six_steps(const double *x, double *y, uint64_t count,
                      uint64_t units, bool inverse)
{
    struct world w;

    begin(&w, count, units, inverse);
    if (columns)
        give_columns(&w, x);
    else
        give_rows(&w, x, count);
    for (uint32_t phase = 0; phase < nf_fft_phases(&w.shape); phase++) {
        for (uint64_t u = 0; u < units; u++)
            CU_ASSERT_EQUAL(compute(&w, phase, u), 0);
        if (phase + 1 < nf_fft_phases(&w.shape))
            exchange(&w);
    }
    if (columns)
        take_columns(&w, y);
    else
        take_rows(&w, y, count);
    end(&w);
}

static void six_steps_are_the_definition(void)
{
    /* one, primes, squares, oblong, powers of two; more units than lines */
    static const uint64_t counts[] = { 1,  2,  3,  4,  7,  9,   12,  15,
                                       16, 30, 49, 64, 97, 120, 210, 256 };
    static const uint64_t units[] = { 1, 2, 3, 5, 8, 11 };
    double x[2 * NUMBERS], y[2 * NUMBERS], want[2 * NUMBERS];

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); k++)
            for (int inverse = 0; inverse < 2; inverse++) {
                uint64_t n = counts[i];
                double worst = 0;

                fill(x, n, n + k);
                six_steps(x, y, n, units[k], inverse);
                by_definition(x, want, n, inverse);
                for (uint64_t j = 0; j < 2 * n; j++) {
                    double right = inverse ? want[j] / (double)n : want[j];

                    worst = fmax(worst, fabs(y[j] - right));
                }
                CU_ASSERT(worst <= 16 * DBL_EPSILON *
                                       (inverse ? 1 : sqrt((double)n) * 2));
            }
}

/* Longer than roots that are made at once, more than are dealt with together. */
static void long_lines_are_the_definition(void)
{
    enum { COUNT = 5040 }; /* 70 x 72 */
    static double x[2 * COUNT], y[2 * COUNT];
    double most = 16 * DBL_EPSILON * sqrt((double)COUNT) * 2;

    fill(x, COUNT, 5);
    for (int inverse = 0; inverse < 2; inverse++) {
        double by = inverse ? COUNT : 1;

        six_steps(x, y, COUNT, 3, inverse);
        for (uint64_t k = 1; k < COUNT; k += 131) {
            double want[2];

            one_by_definition(x, k, COUNT, inverse, want);
            CU_ASSERT(fabs(y[2 * k] - want[0] / by) <= most / by);
            CU_ASSERT(fabs(y[2 * k + 1] - want[1] / by) <= most / by);
        }
    }
}

static void columns_are_the_definition(void)
{
    columns = true;
    six_steps_are_the_definition();
    long_lines_are_the_definition();
    columns = false;
}

/* Who has what: columns of three lines of four. */
static void columns_lie_between_others(void)
{
    const struct nf_fft_shape s = { 3, 4, 3, false, true };
    double x[2 * 12], to[2 * 6] = { 0 }, back[2 * 12] = { 0 };
    struct nf_fft_band b = nf_fft_band_of(&s, 0, 0);

    for (int i = 0; i < 2 * 12; i++)
        x[i] = i;
    CU_ASSERT_EQUAL(nf_fft_phases(&s), 2);
    CU_ASSERT_EQUAL(b.first, 0);
    CU_ASSERT_EQUAL(b.lines, 2); /* 2 + 1 + 1 */
    CU_ASSERT_EQUAL(b.length, 3);
    nf_fft_take_columns(&b, x, 4, to);
    for (int l = 0; l < 2; l++)
        for (int j = 0; j < 3; j++)
            CU_ASSERT_EQUAL(to[2 * (3 * l + j) + 1], 2 * (4 * j + l) + 1);
    nf_fft_put_columns(&b, to, 4, back);
    for (int i = 0; i < 2 * 12; i++)
        CU_ASSERT_EQUAL(back[i], i / 2 % 4 < 2 ? x[i] : 0);
    b = nf_fft_band_of(&s, 1, 2);
    CU_ASSERT_EQUAL(b.first, 2);
    CU_ASSERT_EQUAL(b.lines, 1);
    CU_ASSERT_EQUAL(b.length, 4);
}

static void there_and_back_is_the_same(void)
{
    double x[2 * NUMBERS], y[2 * NUMBERS], z[2 * NUMBERS];

    fill(x, NUMBERS, 3);
    six_steps(x, y, NUMBERS, 5, false);
    six_steps(y, z, NUMBERS, 7, true);
    for (uint64_t j = 0; j < 2 * NUMBERS; j++)
        CU_ASSERT(fabs(z[j] - x[j]) <= 32 * DBL_EPSILON);
}

static void rows_are_the_nearest_divisor(void)
{
    static const uint64_t want[][2] = { { 1, 1 },          { 2, 1 },
                                        { 97, 1 },         { 12, 3 },
                                        { 100, 10 },       { 1 << 20, 1024 },
                                        { 1 << 21, 1024 }, { 2147483647, 1 } };

    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        CU_ASSERT_EQUAL(nf_fft_rows(want[i][0]), want[i][1]);
}

/* How far cosl() and sinl() of an angle up to 2 pi may be off themselves: valgrind
 * calculates them, and the angle, in 64 bits. */
static double off_by(void)
{
    volatile long double one = 1;

    return one + LDBL_EPSILON > one ? 0 : 8 * DBL_EPSILON;
}

static void roots_are_exact(void)
{
    static const uint64_t counts[] = { 1, 2, 3, 8, 1000, 4097, 1 << 20 };
    const double off = off_by();

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        uint64_t n = counts[i];
        const struct nf_fft_roots *roots = nf_fft_roots(n, false);

        CU_ASSERT_PTR_NOT_NULL_FATAL(roots);
        for (uint64_t e = 0; e < n; e += 1 + n / 5000) {
            long double angle = two_pi * (long double)e / (long double)n;
            double root[2], line[4] = { 1, 0, 1, 0 };

            nf_fft_root(e, n, false, root);
            CU_ASSERT(fabsl(root[0] - cosl(angle)) <= DBL_EPSILON + off);
            CU_ASSERT(fabsl(root[1] + sinl(angle)) <= DBL_EPSILON + off);
            if (e == 0)
                continue;
            nf_fft_twiddle(roots, e, line, 2); /* w^0, w^e */
            CU_ASSERT(line[0] == 1 && line[1] == 0);
            CU_ASSERT(fabsl(line[2] - cosl(angle)) <= 3 * DBL_EPSILON + off);
            CU_ASSERT(fabsl(line[3] + sinl(angle)) <= 3 * DBL_EPSILON + off);
        }
    }
}

/* Each root is of four in the tables, none of which is off by more than half an eps
 * in either part, and three products of two, which add at most sqrt(5)/2 eps. */
static void lines_are_multiplied_by_powers(void)
{
    static const struct {
        uint64_t count, j, length;
    } lines[] = { { 1, 0, 1 },          { 6, 1, 3 },
                  { 4097, 20, 200 },    { 1 << 20, 1023, 1024 },
                  { 1 << 20, 1, 1024 }, { 1000003, 999, 1001 } };
    static double line[2 * 1024];
    const double most = (4 * sqrt(0.5) + 3 * sqrt(5) / 2) * DBL_EPSILON;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        for (int inverse = 0; inverse < 2; inverse++) {
            uint64_t n = lines[i].count;
            double by = inverse ? (double)n : 1, worst = 0;

            for (uint64_t k = 0; k < lines[i].length; k++) {
                line[2 * k] = 1;
                line[2 * k + 1] = 0;
            }
            nf_fft_twiddle(nf_fft_roots(n, inverse), lines[i].j, line,
                           lines[i].length);
            for (uint64_t k = 0; k < lines[i].length; k++) {
                long double angle =
                    two_pi * (long double)(lines[i].j * k) / (long double)n;
                long double s = inverse ? sinl(angle) : -sinl(angle);

                worst = fmax(worst, fabs((double)(line[2 * k] * by -
                                                  cosl(angle))));
                worst = fmax(worst,
                             fabs((double)(line[2 * k + 1] * by - s)));
            }
            CU_ASSERT(worst <= most + off_by() + inverse * DBL_EPSILON);
        }
}

/* Sines are calculated once: two tables, and no more. */
static void roots_are_kept(void)
{
    const struct nf_fft_roots *there = nf_fft_roots(12, false);
    const struct nf_fft_roots *back = nf_fft_roots(12, true);

    CU_ASSERT_PTR_NOT_NULL(there);
    CU_ASSERT_PTR_NOT_NULL(back);
    CU_ASSERT_PTR_NOT_EQUAL(there, back);
    CU_ASSERT_PTR_EQUAL(nf_fft_roots(12, false), there);
    CU_ASSERT_PTR_EQUAL(nf_fft_roots(12, true), back);
    CU_ASSERT_PTR_NOT_EQUAL(nf_fft_roots(13, false), there);
}

static void the_kernel_refuses_what_does_not_fit(void)
{
    struct world w;
    double x[2 * 12] = { 0 };

    begin(&w, 12, 2, false); /* 3 x 4: two lines, and one */
    nf_buf_append(&w.input[0], x, 8 * NF_FFT_COMPLEX_BYTES);
    CU_ASSERT_EQUAL(compute(&w, 0, 0), 0);
    nf_buf_append(&w.input[0], x, 8);
    CU_ASSERT_EQUAL(compute(&w, 0, 0), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(w.error, "not a band of lines"));
    CU_ASSERT_EQUAL(compute(&w, 4, 0), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(w.error, "no shape"));
    nf_buf_append(&w.input[1], x, 6 * NF_FFT_COMPLEX_BYTES);
    w.in_at[1][1] = 3 * NF_FFT_COMPLEX_BYTES; /* want 4 */
    w.in_at[1][2] = 6 * NF_FFT_COMPLEX_BYTES;
    for (uint32_t phase = 1; phase < NF_FFT_PHASES; phase += 2) {
        CU_ASSERT_EQUAL(compute(&w, phase, 1), 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(w.error, "not a piece"));
    }
    w.shared[0] = 1 << 30; /* more numbers than anybody counts */
    CU_ASSERT_EQUAL(compute(&w, 0, 0), 1);
    w.shared[0] = 0;
    CU_ASSERT_EQUAL(compute(&w, 0, 0), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(w.error, "no shape"));
    end(&w);
}

/* @return the status of the first that failed */
static enum nf_status try(const char *const settings[][2], const char *out,
                          bool threads, struct nf_error *err)
{
    struct nf_app_request request = { .out = out, .threads = threads };
    struct nf_app app;
    void *state = NULL;
    enum nf_status status = nf_app_fft.create(&state, err);

    for (size_t i = 0; status == NF_OK && settings[i][0] != NULL; i++)
        status = nf_app_fft.set(state, settings[i][0], settings[i][1], err);
    if (status == NF_OK)
        status = nf_app_fft.open(state, &request, &app, err);
    nf_app_fft.destroy(state);
    return status;
}

/* Those of lines, here 5 N log2 N together, and 10 N for each phase: four, by columns two. */
static void operations_are_of_lines_and_phases(void)
{
    static const struct {
        const char *settings[3][2];
        double want;
    } rows[] = {
        { { { "count", "1024" } }, 1024 * (5 * 10 + 10 * 4) },
        { { { "count", "4096" } }, 4096 * (5 * 12 + 10 * 4) },
        { { { "count", "1024" }, { "layout", "columns" } },
          1024 * (5 * 10 + 10 * 2) },
        { { { "count", "4096" }, { "layout", "columns" } },
          4096 * (5 * 12 + 10 * 2) },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_DOUBLE_EQUAL(
            operations_of(&nf_app_fft, rows[i].settings), rows[i].want, 1e-6);
}

/* Four variants: what is shared with slaves says which. */
static void another_job_takes_the_variant(void)
{
    for (int variant = 0; variant < 4; variant++) {
        bool inverse = variant % 2 != 0, by_columns = variant >= 2;
        struct nf_app_request request = { .out = NULL };
        int64_t shape[NF_FFT_SHAPE_NUMBERS];
        void *job = NULL, *other = NULL;
        struct nf_buf shared;
        struct nf_app app;

        CU_ASSERT_FATAL(nf_app_fft.create(&job, NULL) == NF_OK &&
                        nf_app_fft.create(&other, NULL) == NF_OK);
        if (inverse)
            nf_app_fft.set(job, "inverse", "1", NULL);
        if (by_columns)
            nf_app_fft.set(job, "layout", "columns", NULL);
        nf_app_fft.set(other, "count", "60", NULL);
        nf_app_fft.take_variant(other, job);
        CU_ASSERT_EQUAL(nf_app_fft.open(other, &request, &app, NULL), NF_OK);
        CU_ASSERT_EQUAL(app.phases, by_columns ? 2 : 4);
        nf_buf_init(&shared);
        CU_ASSERT_EQUAL(app.share(app.user, &shared), NF_OK);
        CU_ASSERT_EQUAL_FATAL(shared.bytes, sizeof(shape));
        memcpy(shape, shared.data, sizeof(shape));
        CU_ASSERT_EQUAL(shape[0] * shape[1], 60);
        CU_ASSERT_EQUAL(shape[3], inverse);
        nf_buf_fini(&shared);
        nf_app_fft.destroy(job);
        nf_app_fft.destroy(other);
    }
}

/* Threads keep what each phase but the last gives in the master's memory: three times
 * the numbers, in columns once. */
static void what_slaves_keep_must_fit(void)
{
    char count[24];
    const char *const rows[][2] = { { "count", count }, { NULL, NULL } };
    const char *const by_columns[][2] = { { "count", count },
                                          { "layout", "columns" },
                                          { NULL, NULL } };
    uint64_t fit = nf_memory_bytes() / NF_FFT_COMPLEX_BYTES;
    struct nf_error err = { NF_OK, "" };

    snprintf(count, sizeof(count), "%" PRIu64, fit / 5);
    if (fit / 5 > NF_MATRIX_MAX_SIDE)
        return; /* more than 160 GiB: there may not be as many numbers */
    CU_ASSERT_EQUAL(try(rows, NULL, true, &err), NF_ERR_RANGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "kept 6 times"));
    snprintf(count, sizeof(count), "%" PRIu64, fit * 2 / 7);
    if (fit * 2 / 7 > NF_MATRIX_MAX_SIDE)
        return;
    CU_ASSERT_EQUAL(try(by_columns, NULL, true, &err), NF_ERR_RANGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "kept 4 times"));
}

static void bad_options_are_told(void)
{
    static const struct {
        const char *settings[3][2];
        const char *out, *why;
    } bad[] = {
        { { { "count", "0" } }, NULL, "--count 0" },
        { { { "count", "x" } }, NULL, "--count x" },
        { { { "count", "2147483648" } }, NULL, "--count" },
        { { { "units", "4097" } }, NULL, "--units" },
        { { { "seed", "-1" } }, NULL, "--seed" },
        { { { "layout", "diagonals" } }, NULL, "--layout diagonals" },
        { { { "file", "" } }, NULL, "--file: empty" },
        { { { "file", "none.npy" } }, NULL, "none.npy" },
        { { { "file", "x.npy" }, { "count", "3" } }, NULL, "--count" },
        { { { "file", "x.npy" }, { "seed", "3" } }, NULL, "--seed" },
        { { { "count", "2" } }, "B.txt", "--out" },
        { { { "phases", "2" } }, NULL, "no option --phases" },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nf_error err = { NF_OK, "" };
        enum nf_status status = try(bad[i].settings, bad[i].out, false, &err);

        CU_ASSERT(status == NF_ERR_INVAL || status == NF_ERR_RANGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].why));
        if (status == NF_OK || strstr(err.text, bad[i].why) == NULL)
            fprintf(stderr, "%zu: %d, %s\n", i, (int)status, err.text);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "six steps are the definition", six_steps_are_the_definition },
        { "long lines are the definition", long_lines_are_the_definition },
        { "columns are the definition", columns_are_the_definition },
        { "columns lie between others", columns_lie_between_others },
        { "there and back is the same", there_and_back_is_the_same },
        { "rows are the nearest divisor", rows_are_the_nearest_divisor },
        { "roots are exact", roots_are_exact },
        { "lines are multiplied by powers", lines_are_multiplied_by_powers },
        { "roots are kept", roots_are_kept },
        { "the kernel refuses what does not fit",
          the_kernel_refuses_what_does_not_fit },
        { "operations are of lines and phases",
          operations_are_of_lines_and_phases },
        { "another job takes the variant", another_job_takes_the_variant },
        { "what slaves keep must fit", what_slaves_keep_must_fit },
        { "bad options are told", bad_options_are_told },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "fft", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
