#include "config.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/exact/moments.h"
#include "apps/exact/natural.h"
#include "common/base/rng.h"
#include "tests/unit/nf_unit.h"

/* Exact sums are judged by what cannot be argued with: orders, groupings,
 * terms that cancel, and 128-bit integers. */

static double sum_of(const double *x, size_t n)
{
    struct nf_exact sum = { 0 };

    for (size_t i = 0; i < n; i++)
        nf_exact_add(&sum, x[i]);
    nf_exact_normalize(&sum);
    return nf_exact_round(&sum);
}

/* Any finite double, all exponents alike. */
static double any_double(struct nf_rng *rng)
{
    uint64_t bits;
    double value;

    do {
        bits = nf_rng_next(rng);
        memcpy(&value, &bits, sizeof(value));
    } while (!isfinite(value));
    return value;
}

static void one_value_comes_back(void)
{
    static const double some[] = {
        0,        1,       -1,        0.1,        DBL_MAX,
        -DBL_MAX, DBL_MIN, 0x1p-1074, -0x1p-1074, 0x1.fffffffffffffp-1023,
        1e300
    };
    struct nf_rng rng = { 1 };

    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        CU_ASSERT_EQUAL(sum_of(&some[i], 1), some[i]);
    for (int i = 0; i < 100000; i++) {
        double value = any_double(&rng);

        CU_ASSERT_EQUAL(sum_of(&value, 1), value);
    }
}

static void sums_are_rounded_once(void)
{
    const double cancel[] = { 1e308, 1,       -1e308,    0x1p-1074,
                              -1,    DBL_MAX, 0x1p-1074, -DBL_MAX };
    const double half_even[] = { 1, 0x1p-53 };
    const double half_odd[] = { 1 + 0x1p-52, 0x1p-53 };
    const double above_half[] = { 1, 0x1p-53, 0x1p-1074 };
    const double below_half[] = { 1, 0x1p-53, -0x1p-1074 };
    const double beyond[] = { DBL_MAX, DBL_MAX };
    const double back[] = { DBL_MAX, DBL_MAX, -DBL_MAX };
    const double nearly[] = { DBL_MAX, 0x1p969 };
    const double rounds_up[] = { DBL_MAX, 0x1p970 };

    CU_ASSERT_EQUAL(sum_of(cancel, 8), 2 * 0x1p-1074);
    CU_ASSERT_EQUAL(sum_of(half_even, 2), 1);
    CU_ASSERT_EQUAL(sum_of(half_odd, 2), 1 + 0x1p-51);
    CU_ASSERT_EQUAL(sum_of(above_half, 3), 1 + 0x1p-52);
    CU_ASSERT_EQUAL(sum_of(below_half, 3), 1);
    CU_ASSERT_TRUE(isinf(sum_of(beyond, 2)));
    CU_ASSERT_EQUAL(sum_of(back, 3), DBL_MAX);
    CU_ASSERT_EQUAL(sum_of(nearly, 2), DBL_MAX);
    CU_ASSERT_TRUE(isinf(sum_of(rounds_up, 2)));
}

enum { TERMS = 300 };

/* Add terms in random order to random partial sums, merge these in random
 * order, some of them normalized and encoded on the way. */
static void add_in_pieces(const double *x, struct nf_rng *rng,
                          struct nf_moments *m_p)
{
    struct nf_moments part[7];
    int64_t words[NF_MOMENTS_WORDS];
    double left[TERMS];
    size_t n = TERMS;

    memset(part, 0, sizeof(part));
    memcpy(left, x, sizeof(left));
    while (n > 0) {
        size_t at = nf_rng_below(rng, n);

        nf_moments_add(&part[nf_rng_below(rng, 7)], left[at]);
        left[at] = left[--n];
        if (nf_rng_below(rng, 50) == 0)
            nf_moments_normalize(&part[nf_rng_below(rng, 7)]);
    }
    for (size_t k = 7; k > 1; k--) {
        size_t from = nf_rng_below(rng, k - 1);

        nf_moments_normalize(&part[from]);
        nf_moments_encode(&part[from], words);
        CU_ASSERT_EQUAL(nf_moments_decode(words, &part[from]), NF_OK);
        nf_moments_merge(&part[k - 1], &part[from]);
        part[from] = part[k - 1];
    }
    *m_p = part[0];
    nf_moments_normalize(m_p);
}

static void no_order_or_grouping_matters(void)
{
    struct nf_rng rng = { 2 };
    struct nf_moments first, again;
    int64_t a[NF_MOMENTS_WORDS], b[NF_MOMENTS_WORDS];
    double x[TERMS];

    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < TERMS; i++) {
            x[i] = any_double(&rng);
            if (round % 2 == 0) /* nearly all cancels */
                x[i] = i % 2 == 0 ? x[i] : -x[i - 1];
        }
        add_in_pieces(x, &rng, &first);
        add_in_pieces(x, &rng, &again);
        nf_moments_encode(&first, a);
        nf_moments_encode(&again, b);
        CU_ASSERT_EQUAL(memcmp(a, b, sizeof(a)), 0);
        CU_ASSERT_EQUAL(memcmp(&first.sum, &again.sum, sizeof(first.sum)), 0);
        if (round % 2 == 0)
            CU_ASSERT_EQUAL(nf_exact_sign(&first.sum), 0);
        CU_ASSERT_EQUAL(first.count, TERMS);
    }
}

__extension__ typedef __int128 int128;

static void integers_agree_with_128_bits(void)
{
    struct nf_rng rng = { 3 };
    char text[NF_EXACT_INT_BYTES], want[NF_EXACT_INT_BYTES + 1];

    for (int round = 0; round < 2000; round++) {
        struct nf_exact sum = { 0 };
        int128 plain = 0;
        unsigned shift = (unsigned)nf_rng_below(&rng, 64);
        size_t at = sizeof(want) - 1;
        nf_exact_uint128 size;

        for (int i = 0; i < 50; i++) {
            int64_t value = (int64_t)nf_rng_next(&rng) >> shift;

            nf_exact_add_int(&sum, value);
            plain += value;
        }
        nf_exact_normalize(&sum);
        size =
            plain < 0 ? 0 - (nf_exact_uint128)plain : (nf_exact_uint128)plain;
        want[at] = '\0';
        do
            want[--at] = (char)('0' + (int)(size % 10));
        while ((size /= 10) > 0);
        if (plain < 0)
            want[--at] = '-';
        CU_ASSERT_TRUE(nf_exact_print_int(&sum, text) > 0);
        CU_ASSERT_STRING_EQUAL(text, want + at);
        CU_ASSERT_EQUAL(nf_exact_round(&sum), (double)plain);
    }
}

static void the_ends_of_integers_fit(void)
{
    struct nf_moments m = { 0 };
    char text[NF_EXACT_INT_BYTES];

    for (int i = 0; i < 3; i++)
        nf_moments_add_int(&m, INT64_MIN);
    nf_moments_normalize(&m);
    nf_exact_print_int(&m.sum, text);
    CU_ASSERT_STRING_EQUAL(text, "-27670116110564327424");
    nf_exact_print_int(&m.squares, text);
    CU_ASSERT_STRING_EQUAL(text, "255211775190703847597530955573826158592");
    CU_ASSERT_EQUAL(nf_moments_variance(&m), 0);
    CU_ASSERT_EQUAL(nf_moments_mean(&m), (double)INT64_MIN);
    nf_exact_add(&m.sum, 0.5);
    nf_exact_normalize(&m.sum);
    CU_ASSERT_EQUAL(nf_exact_print_int(&m.sum, text), 0);
}

/* Carries wait for up to 2^29 terms: do as if they had. */
static void late_carries_lose_nothing(void)
{
    struct nf_exact sum = { 0 }, twice;

    nf_exact_add(&sum, DBL_MAX);
    for (int i = 0; i < 62; i++) { /* times 2^62 */
        twice = sum;
        nf_exact_merge(&sum, &twice);
    }
    nf_exact_normalize(&sum);
    for (int i = 0; i < 10; i++) {
        twice = sum;
        nf_exact_add(&sum, -DBL_MAX);
        nf_exact_add(&sum, DBL_MAX);
        nf_exact_normalize(&sum);
        CU_ASSERT_EQUAL(memcmp(&sum, &twice, sizeof(sum)), 0);
    }
    CU_ASSERT_TRUE(sum.high <= NF_EXACT_CHUNKS - NF_EXACT_SPARE);
    CU_ASSERT_TRUE(isinf(nf_exact_round(&sum)));
}

static void variances_do_not_cancel(void)
{
    struct nf_moments m = { 0 };

    /* by hand: 10^9 + {4, 7, 13, 16}: mean 10^9 + 10, variance 30 */
    nf_moments_add(&m, 1e9 + 4);
    nf_moments_add(&m, 1e9 + 7);
    nf_moments_add(&m, 1e9 + 13);
    nf_moments_add(&m, 1e9 + 16);
    nf_moments_normalize(&m);
    CU_ASSERT_EQUAL(nf_moments_mean(&m), 1e9 + 10);
    CU_ASSERT_EQUAL(nf_moments_variance(&m), 30);
    memset(&m, 0, sizeof(m));
    nf_moments_add(&m, 1);
    nf_moments_add(&m, 1 + 0x1p-52);
    nf_moments_normalize(&m);
    CU_ASSERT_EQUAL(nf_moments_variance(&m), 0x1p-105); /* (2^-52)^2 / 2 */
    memset(&m, 0, sizeof(m));
    for (int i = 0; i < 1000; i++)
        nf_moments_add(&m, 0.1);
    nf_moments_normalize(&m);
    CU_ASSERT_EQUAL(nf_moments_mean(&m), 0.1);
    CU_ASSERT_EQUAL(nf_moments_variance(&m), 0);
    memset(&m, 0, sizeof(m));
    nf_moments_add(&m, DBL_MAX);
    nf_moments_add(&m, -DBL_MAX);
    nf_moments_normalize(&m);
    CU_ASSERT_EQUAL(nf_moments_mean(&m), 0);
    CU_ASSERT_TRUE(isinf(nf_moments_variance(&m)));
    memset(&m, 0, sizeof(m));
    CU_ASSERT_TRUE(isnan(nf_moments_mean(&m)));
    nf_moments_add(&m, -0x1p-1074);
    CU_ASSERT_TRUE(isnan(nf_moments_variance(&m)));
    nf_moments_add(&m, DBL_MAX);
    nf_moments_add(&m, -DBL_MAX);
    nf_moments_normalize(&m);
    CU_ASSERT_TRUE(nf_moments_mean(&m) == 0 && signbit(nf_moments_mean(&m)));
}

/* Thirds: the true quotient is known to 80 bits. */
static void means_are_nearest(void)
{
    struct nf_rng rng = { 4 };

    for (int round = 0; round < 20000; round++) {
        struct nf_moments m = { 0 };
        int64_t a = (int64_t)(nf_rng_next(&rng) >> 12);
        int64_t b = (int64_t)(nf_rng_next(&rng) >> 40);
        uint64_t n = 3 + nf_rng_below(&rng, 1000);
        long double mean = ((long double)a + (long double)b) / (long double)n;

        nf_moments_add_int(&m, a);
        nf_moments_add_int(&m, b);
        m.count = n;
        nf_moments_normalize(&m);
        /* rounding twice could differ only in a tie of 11 bits: left out */
        if (fabsl((long double)(double)mean - mean) <
            fabsl(mean) * 0x0.fff8p-53L)
            CU_ASSERT_EQUAL(nf_moments_mean(&m), (double)mean);
    }
}

static void what_is_no_sum_is_refused(void)
{
    struct nf_moments m = { 0 }, back;
    int64_t words[NF_MOMENTS_WORDS];
    static const struct {
        size_t at;
        int64_t value;
    } lies[] = {
        { 0, -1 },
        { 1 + 60, INT64_C(1) << 32 },
        { 1 + 60, -(INT64_C(1) << 32) },
        { 1 + 60, -1 },                   /* beside positive ones */
        { 1, 1 },                         /* below 2^-1074 */
        { 1 + NF_EXACT_CHUNKS - 1, 1 },   /* too big */
        { 1 + 110, 1 },                   /* likewise */
        { NF_MOMENTS_WORDS - 1, 1 },      /* likewise */
        { 1 + NF_EXACT_CHUNKS + 60, -1 }, /* a negative square */
    };

    nf_moments_add(&m, 1.5);
    nf_moments_normalize(&m);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        nf_moments_encode(&m, words);
        CU_ASSERT_EQUAL(nf_moments_decode(words, &back), NF_OK);
        CU_ASSERT_EQUAL(back.count, 1);
        words[lies[i].at] = lies[i].value;
        CU_ASSERT_EQUAL(nf_moments_decode(words, &back), NF_ERR_PROTOCOL);
    }
}

int main(void)
{
    CU_TestInfo sums[] = {
        { "one value comes back as it is", one_value_comes_back },
        { "a sum is rounded once, to the nearest", sums_are_rounded_once },
        { "no order and no grouping changes a bit",
          no_order_or_grouping_matters },
        { "integers agree with 128-bit arithmetic",
          integers_agree_with_128_bits },
        { "the ends of int64 and of 128 bits fit", the_ends_of_integers_fit },
        { "late carries lose nothing", late_carries_lose_nothing },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo moments[] = {
        { "variances do not cancel", variances_do_not_cancel },
        { "means are the nearest double", means_are_nearest },
        { "words that are no sum are refused", what_is_no_sum_is_refused },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "exact sums", NULL, NULL, NULL, NULL, sums },
        { "moments", NULL, NULL, NULL, NULL, moments },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
