/* Statistics against values worked out by hand. */
#include "config.h"
#include "apps/nowfarm/stats.h"
#include <math.h>
#include "common/base/rng.h"
#include "tests/unit/nf_unit.h"

#define NEAR 1e-12

static void quantiles_lie_between_neighbours(void)
{
    const double four[] = { 1, 2, 3, 4 }, two[] = { 10, 20 }, one[] = { 7 };

    CU_ASSERT_DOUBLE_EQUAL(stats_quantile(four, 4, 0.25), 1.75, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(stats_quantile(four, 4, 0.5), 2.5, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(stats_quantile(four, 4, 0.75), 3.25, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(stats_quantile(two, 2, 0.25), 12.5, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(stats_quantile(four, 4, 0), 1, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(stats_quantile(four, 4, 1), 4, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(stats_quantile(one, 1, 0.25), 7, NEAR);
    CU_ASSERT(isnan(stats_quantile(one, 0, 0.5)));
}

static void missing_values_do_not_count(void)
{
    double values[] = { NAN, 9, 1, NAN, 5, 3 };
    struct stats_summary s;

    stats_summarize(values, 6, &s);
    CU_ASSERT_EQUAL(s.n, 4);
    CU_ASSERT_DOUBLE_EQUAL(s.min, 1, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(s.q1, 2.5, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(s.median, 4, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(s.q3, 6, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(s.max, 9, NEAR);
}

static void nothing_has_no_median(void)
{
    double values[] = { NAN, NAN };
    struct stats_summary s;
    struct stats_interval i;

    stats_summarize(values, 2, &s);
    CU_ASSERT_EQUAL(s.n, 0);
    CU_ASSERT(isnan(s.median) && isnan(s.min) && isnan(s.max));
    CU_ASSERT(isnan(stats_median(values, 0)));
    stats_median_interval(values, 2, 0.95, &i);
    CU_ASSERT_EQUAL(i.n, 0);
    CU_ASSERT(isnan(i.median) && isnan(i.low) && isnan(i.high));
    CU_ASSERT_FALSE(stats_differs(&i));
}

/* n values 1..n: the interval is k .. n + 1 - k. */
static void expect_interval(size_t n, double k, double confidence)
{
    double values[64];
    struct stats_interval i;

    for (size_t j = 0; j < n; j++)
        values[j] = (double)(n - j);
    stats_median_interval(values, n, 0.95, &i);
    CU_ASSERT_EQUAL(i.n, n);
    CU_ASSERT_DOUBLE_EQUAL(i.median, ((double)n + 1) / 2, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(i.low, k, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(i.high, (double)n + 1 - k, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(i.confidence, confidence, 1e-9);
}

/* 1 - 2 (C(n,0) + ... + C(n,k-1)) / 2^n */
static void the_sign_test_gives_the_interval(void)
{
    expect_interval(1, 1, 0);
    expect_interval(2, 1, 0.5);
    expect_interval(5, 1, 1 - 2 * 1.0 / 32);
    expect_interval(6, 1, 1 - 2 * 1.0 / 64);
    expect_interval(8, 1, 1 - 2 * 1.0 / 256);
    expect_interval(9, 2, 1 - 2 * 10.0 / 512);
    expect_interval(10, 2, 1 - 2 * 11.0 / 1024);
    expect_interval(12, 3, 1 - 2 * 79.0 / 4096);
    expect_interval(20, 6, 1 - 2 * 21700.0 / 1048576);
}

static void many_values_are_no_trouble(void)
{
    double values[STATS_MOST_VALUES];
    struct stats_interval i;

    for (size_t j = 0; j < STATS_MOST_VALUES; j++)
        values[j] = (double)(j + 1);
    stats_median_interval(values, STATS_MOST_VALUES, 0.95, &i);
    /* 500.5 +- 1.96 sqrt(1000) / 2 */
    CU_ASSERT_DOUBLE_EQUAL(i.low, 469.5, 1);
    CU_ASSERT_DOUBLE_EQUAL(i.high, 531.5, 1);
    CU_ASSERT(i.confidence >= 0.95 && i.confidence < 0.96);
}

static double uniform(struct nf_rng *rng)
{
    return (double)(nf_rng_next(rng) >> 11) * 0x1p-53;
}

/* The promise itself: of 20000 intervals of a lopsided sample the right share
 * holds the true median, ln 2 of an exponential distribution. */
static void intervals_hold_the_median_as_often_as_they_say(void)
{
    static const size_t sizes[] = { 5, 6, 9, 20 };
    struct nf_rng rng = { .state = 42 };

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct stats_interval i = { .n = 0 };
        int hits = 0, tries = 20000;

        for (int t = 0; t < tries; t++) {
            double values[20];

            for (size_t j = 0; j < sizes[s]; j++)
                values[j] = -log(1 - uniform(&rng));
            stats_median_interval(values, sizes[s], 0.95, &i);
            hits += i.low <= log(2) && log(2) <= i.high;
        }
        CU_ASSERT_DOUBLE_EQUAL((double)hits / tries, i.confidence, 0.006);
    }
}

static void ratios_are_of_pairs(void)
{
    const double value[] = { 2, 3, NAN, 8, 1 }, base[] = { 4, NAN, 5, 2, 0 };
    double ratio[5];

    stats_paired_ratios(value, base, 5, ratio);
    CU_ASSERT_DOUBLE_EQUAL(ratio[0], 0.5, NEAR);
    CU_ASSERT(isnan(ratio[1]) && isnan(ratio[2]) && isnan(ratio[4]));
    CU_ASSERT_DOUBLE_EQUAL(ratio[3], 4, NEAR);
}

static void a_difference_needs_confidence_and_an_interval_without_one(void)
{
    struct stats_interval i = { 6, 0.9, 0.8, 0.99, 0.97 };

    CU_ASSERT_TRUE(stats_differs(&i));
    i.high = 1;
    CU_ASSERT_FALSE(stats_differs(&i));
    i = (struct stats_interval){ 6, 1.1, 1.01, 1.2, 0.97 };
    CU_ASSERT_TRUE(stats_differs(&i));
    i.low = 0.99;
    CU_ASSERT_FALSE(stats_differs(&i));
    i = (struct stats_interval){ 4, 2, 1.9, 2.1, 0.875 };
    CU_ASSERT_FALSE(stats_differs(&i));
}

int main(void)
{
    CU_TestInfo stats[] = {
        { "quantiles lie between neighbours",
          quantiles_lie_between_neighbours },
        { "missing values do not count", missing_values_do_not_count },
        { "nothing has no median", nothing_has_no_median },
        { "the sign test gives the interval",
          the_sign_test_gives_the_interval },
        { "many values are no trouble", many_values_are_no_trouble },
        { "intervals hold the median as often as they say",
          intervals_hold_the_median_as_often_as_they_say },
        { "ratios are of pairs", ratios_are_of_pairs },
        { "a difference needs confidence and an interval without one",
          a_difference_needs_confidence_and_an_interval_without_one },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "stats", NULL, NULL, NULL, NULL, stats },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
