/* Is it the transform? */
#include "config.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "apps/fft/fft.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/rng.h"

enum { PLACES = 4 };

/* Sums of many squares, two and two, so that rounding does not add up.
 * @param exponent  2^exponent counts as 1: squares of very large and of very small
 *                  numbers are infinite and 0 */
static double energy(const double *x, const double *y, uint64_t doubles,
                     int exponent)
{
    double sum = 0;

    if (doubles > 1024)
        return energy(x, y, doubles / 2, exponent) +
               energy(x + doubles / 2, y == NULL ? NULL : y + doubles / 2,
                      doubles - doubles / 2, exponent);
    for (uint64_t i = 0; i < doubles; i++) {
        double d = y == NULL ? x[i] : x[i] - y[i];

        if (exponent != 0)
            d = ldexp(d, -exponent);
        sum += d * d;
    }
    return sum;
}

/* X[k] by the definition, again two and two. */
static void by_definition(const double *x, uint64_t begin, uint64_t end,
                          uint64_t k, uint64_t count, bool inverse, double sum[2])
{
    double more[2];

    sum[0] = sum[1] = 0;
    if (end - begin > 256) {
        uint64_t middle = begin + (end - begin) / 2;

        by_definition(x, begin, middle, k, count, inverse, sum);
        by_definition(x, middle, end, k, count, inverse, more);
        sum[0] += more[0];
        sum[1] += more[1];
        return;
    }
    for (uint64_t j = begin; j < end; j++) {
        double w[2];

        nf_fft_root(j * k % count, count, inverse, w);
        sum[0] += x[2 * j] * w[0] - x[2 * j + 1] * w[1];
        sum[1] += x[2 * j] * w[1] + x[2 * j + 1] * w[0];
    }
}

/* @return the largest error at some places; NaN stays NaN */
static double errors_by_definition(const double *x, const double *y,
                                   uint64_t count, bool inverse, uint64_t seed)
{
    struct nf_rng rng = { .state = seed };
    double scale = inverse ? 1 / (double)count : 1, worst = 0;

    for (int i = 0; i < PLACES; i++) {
        uint64_t k = i == 0 ? count - 1 : nf_rng_below(&rng, count);
        double want[2], error;

        by_definition(x, 0, count, k, count, inverse, want);
        error = hypot(want[0] * scale - y[2 * k], want[1] * scale - y[2 * k + 1]);
        if (!(error <= worst))
            worst = error;
    }
    return worst;
}

/* |X - FFTW's X| / |X| */
static enum nf_status error_to_whole(const double *x, const double *y,
                                     uint64_t count, bool inverse,
                                     int exponent, double *error_p,
                                     struct nf_error *err)
{
    size_t bytes = (size_t)count * NF_FFT_COMPLEX_BYTES;
    double *whole = nf_malloc(bytes);
    double norm;

    if (whole == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "fft: no memory to verify");
    if (!nf_fft_line(x, count, inverse, whole)) {
        nf_free(whole);
        return nf_fail(err, NF_ERR_NOMEM, "fft: no memory to verify");
    }
    for (uint64_t i = 0; inverse && i < 2 * count; i++)
        whole[i] /= (double)count;
    norm = sqrt(energy(whole, NULL, 2 * count, exponent));
    *error_p = sqrt(energy(y, whole, 2 * count, exponent));
    if (norm > 0)
        *error_p /= norm;
    nf_free(whole);
    return NF_OK;
}

/* Of numbers of that energy, relative to them.
 * @param least  the smallest number that there is, to which small ones are
 *               rounded */
static double rounding(double energy, uint64_t count, double least)
{
    return energy > 0 ? least / sqrt(energy / (double)count) : 0;
}

/* Numbers of 2^256 or 2^-256 are near: squares of N of them are doubles, also of
 * what rounding leaves of those. */
enum { NEAR = 256 };

/* The exponent of the largest part that is a number, if that is not near. */
static int far_exponent(const double *x, uint64_t doubles)
{
    double largest = 0;
    int exponent;

    for (uint64_t i = 0; i < doubles; i++)
        if (isfinite(x[i]) && fabs(x[i]) > largest)
            largest = fabs(x[i]);
    (void)frexp(largest, &exponent);
    return abs(exponent) <= NEAR ? 0 : exponent;
}

/* Rounding adds up to some eps log2 N of the norm of X, as in each FFT; and
 * that bounds all three comparisons. */
enum nf_status nf_fft_verify(const double *x, const double *y, uint64_t count,
                             bool inverse, uint64_t seed, char *note_p,
                             size_t note_bytes, struct nf_error *err)
{
    int exponent = far_exponent(x, 2 * count);
    double least = ldexp(DBL_TRUE_MIN, -exponent);
    double in = energy(x, NULL, 2 * count, exponent);
    double out = energy(y, NULL, 2 * count, exponent);
    double want = inverse ? in / (double)count : in * (double)count;
    double eps =
        DBL_EPSILON + rounding(in, count, least) + rounding(want, count, least);
    double most = 8 * eps * (1 + log2((double)count));
    double parseval = want > 0 ? fabs(out / want - 1) : out;
    double places, whole = 0;
    enum nf_status status =
        error_to_whole(x, y, count, inverse, exponent, &whole, err);

    if (status != NF_OK)
        return status;
    places = ldexp(errors_by_definition(x, y, count, inverse, seed), -exponent) /
             (want > 0 ? sqrt(want) : 1);
    /* a NaN is right in no comparison */
    if (!(whole <= most) || !(places <= most) || !(parseval <= 2 * most))
        return nf_fail(err, NF_ERR_VERIFY,
                       "the transform is wrong: relative error %.2g to FFTW of "
                       "the whole, %.2g to the definition, %.2g in Parseval's "
                       "theorem; want at most %.2g",
                       whole, places, parseval, most);
    snprintf(note_p, note_bytes,
             "%llu numbers: relative error %.1e to FFTW of the whole, %.1e to "
             "the definition at %d places, %.1e in Parseval's theorem (at most "
             "%.1e)",
             (unsigned long long)count, whole, places, PLACES, parseval, most);
    return NF_OK;
}
