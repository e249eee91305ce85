/* What the Fourier transform has of FFTW. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include "apps/fft/fft.h"
#include "tests/unit/nf_unit.h"

enum { MOST = 97 };

/* By definition. */
static void lines_are_transformed(void)
{
    double x[2 * MOST], y[2 * MOST];

    for (int n = 1; n <= MOST; n++)
        for (int inverse = 0; inverse < 2; inverse++) {
            double turn = (inverse ? 2 : -2) * acos(-1) / n;

            for (int j = 0; j < 2 * n; j++)
                x[j] = (j * 7919 % 101) / 101.0;
            CU_ASSERT_FATAL(nf_fft_line(x, (uint64_t)n, inverse, y));
            for (int k = 0; k < n; k++) {
                double re = 0, im = 0;

                for (int j = 0; j < n; j++) {
                    double c = cos(turn * (j * k % n)), s = sin(turn * (j * k % n));

                    re += x[2 * j] * c - x[2 * j + 1] * s;
                    im += x[2 * j] * s + x[2 * j + 1] * c;
                }
                CU_ASSERT_DOUBLE_EQUAL(y[2 * k], re, 1e-11);
                CU_ASSERT_DOUBLE_EQUAL(y[2 * k + 1], im, 1e-11);
            }
        }
}

static double more_than_usual(uint64_t n)
{
    return nf_fft_line_operations(n) / (5 * (double)n * log2((double)n));
}

static void operations_of_small_factors(void)
{
    static const uint64_t some[] = { 2, 64, 1 << 20, 3, 1000, 720720 };

    CU_ASSERT_EQUAL(nf_fft_line_operations(1), 0);
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        CU_ASSERT_DOUBLE_EQUAL(more_than_usual(some[i]), 1, 1e-9);
}

/* A prime length is done by transforms of a longer one, there and back. */
static void operations_of_others(void)
{
    static const uint64_t primes[] = { 1009, 10007, 131071, 524287, 1048573,
                                       2147483647 };

    for (size_t i = 0; i < sizeof(primes) / sizeof(primes[0]); i++) {
        CU_ASSERT(more_than_usual(primes[i]) >= 3);
        CU_ASSERT(more_than_usual(primes[i]) <= 30);
    }
    /* half of the length's digits are 1009's, so half of what is more, too */
    CU_ASSERT_DOUBLE_EQUAL(more_than_usual(1009 * 1024) - 1,
                           (more_than_usual(1009) - 1) / 2, 0.02);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "lines are transformed, both ways", lines_are_transformed },
        { "operations of small factors", operations_of_small_factors },
        { "operations of other lengths", operations_of_others },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = { { .pName = "fftw", .pTests = tests },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
