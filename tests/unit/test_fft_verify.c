/* Which transforms of fft are called right: the definition, in long double, in
 * the place of FFTW, too. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/fft/fft.h"
#include "common/base/rng.h"
#include "tests/unit/nf_unit.h"

enum { NUMBERS = 256 };

static void by_definition(const double *x, double *y, uint64_t n, bool inverse)
{
    const long double two_pi = 6.283185307179586476925286766559L;

    for (uint64_t k = 0; k < n; k++) {
        long double re = 0, im = 0;

        for (uint64_t j = 0; j < n; j++) {
            long double angle =
                two_pi * (long double)(j * k % n) / (long double)n;
            long double c = cosl(angle),
                        s = inverse ? sinl(angle) : -sinl(angle);

            re += x[2 * j] * c - x[2 * j + 1] * s;
            im += x[2 * j] * s + x[2 * j + 1] * c;
        }
        y[2 * k] = (double)re;
        y[2 * k + 1] = (double)im;
    }
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

static void fill(double *x, uint64_t count, uint64_t seed)
{
    struct nf_rng rng = { .state = seed };

    for (uint64_t i = 0; i < 2 * count; i++)
        x[i] = (double)nf_rng_below(&rng, 2001) / 1000 - 1;
}

static void what_is_wrong_is_not_verified(void)
{
    double x[2 * NUMBERS], y[2 * NUMBERS], z[2 * NUMBERS];
    struct nf_error err;
    char note[256];

    fill(x, NUMBERS, 1);
    by_definition(x, y, NUMBERS, false);
    CU_ASSERT_EQUAL(
        nf_fft_verify(x, y, NUMBERS, false, 1, note, sizeof(note), &err),
        NF_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(note, "256 numbers"));
    CU_ASSERT_EQUAL(
        nf_fft_verify(x, y, NUMBERS, true, 1, note, sizeof(note), &err),
        NF_ERR_VERIFY);
    for (uint64_t j = 0; j < 2 * NUMBERS; j += 37) {
        memcpy(z, y, sizeof(z));
        z[j] += 1e-9;
        CU_ASSERT_EQUAL(
            nf_fft_verify(x, z, NUMBERS, false, 1, note, sizeof(note), &err),
            NF_ERR_VERIFY);
        z[j] = (double)NAN;
        CU_ASSERT_EQUAL(
            nf_fft_verify(x, z, NUMBERS, false, 1, note, sizeof(note), &err),
            NF_ERR_VERIFY);
    }
    /* all in one place, and nothing at all */
    for (uint64_t j = 0; j < NUMBERS; j++) {
        x[2 * j] = 1;
        x[2 * j + 1] = 0;
    }
    memset(y, 0, sizeof(y));
    y[0] = NUMBERS;
    CU_ASSERT_EQUAL(
        nf_fft_verify(x, y, NUMBERS, false, 1, note, sizeof(note), &err),
        NF_OK);
    memset(x, 0, sizeof(x));
    CU_ASSERT_EQUAL(
        nf_fft_verify(x, y, NUMBERS, false, 1, note, sizeof(note), &err),
        NF_ERR_VERIFY);
    y[0] = 0;
    CU_ASSERT_EQUAL(
        nf_fft_verify(x, y, NUMBERS, false, 1, note, sizeof(note), &err),
        NF_OK);
}

/* As the master gets it. */
static void transform(const double *x, double *y, bool inverse)
{
    by_definition(x, y, NUMBERS, inverse);
    for (int i = 0; inverse && i < 2 * NUMBERS; i++)
        y[i] /= NUMBERS;
}

/* Numbers whose squares are no doubles are compared as others: from the largest
 * that there are to such as are not rounded as others any more. */
static void any_magnitude_is_verified(void)
{
    static const int exponents[] = { 1000, 600,  520,   300,
                                     -300, -530, -1000, -1050 };
    double x[2 * NUMBERS], y[2 * NUMBERS];
    struct nf_error err;
    char note[256];

    for (size_t e = 0; e < sizeof(exponents) / sizeof(*exponents); e++)
        for (int inverse = 0; inverse < 2; inverse++) {
            fill(x, NUMBERS, 1);
            for (int i = 0; i < 2 * NUMBERS; i++)
                x[i] = ldexp(x[i], exponents[e]);
            transform(x, y, inverse != 0);
            CU_ASSERT_EQUAL(nf_fft_verify(x, y, NUMBERS, inverse != 0, 1, note,
                                          sizeof(note), &err),
                            NF_OK);
            y[77] *= exponents[e] < -1000 ? -1 : 1 + 1e-9;
            CU_ASSERT_EQUAL(nf_fft_verify(x, y, NUMBERS, inverse != 0, 1, note,
                                          sizeof(note), &err),
                            NF_ERR_VERIFY);
            memset(y, 0, sizeof(y));
            CU_ASSERT_EQUAL(nf_fft_verify(x, y, NUMBERS, inverse != 0, 1, note,
                                          sizeof(note), &err),
                            NF_ERR_VERIFY);
        }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "what is wrong is not verified", what_is_wrong_is_not_verified },
        { "any magnitude is verified", any_magnitude_is_verified },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "fft, verified", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
