/* In how many segments a message takes the least. */
#include "config.h"
#include <math.h>
#include "common/base/rng.h"
#include "common/tree/least_count.h"
#include "tests/unit/nf_unit.h"

struct curve {
    double a, b, c;
    uint64_t steps; /* 0: smooth */
    uint32_t asked;
    uint32_t fails_at; /* 0: never */
};

static double time_of(const struct curve *curve, uint64_t segments)
{
    double k = (double)segments;

    if (curve->steps > 0)
        k = (double)(segments / curve->steps * curve->steps + 1);
    return curve->a + curve->b * k + curve->c / k;
}

static enum nf_status time_in(void *context, uint64_t segments,
                              double *time_us_p)
{
    struct curve *curve = context;

    if (++curve->asked == curve->fails_at)
        return NF_ERR_NOMEM;
    *time_us_p = time_of(curve, segments);
    return NF_OK;
}

static double draw(struct nf_rng *rng, double most)
{
    return most * (double)nf_rng_below(rng, 1 << 20) / (double)(1 << 20);
}

static struct nf_count_range range_of(const struct curve *curve, uint64_t least,
                                      uint64_t most, uint64_t known,
                                      uint32_t asks)
{
    return (struct nf_count_range){ .least = least,
                                    .most = most,
                                    .known = known,
                                    .known_us = time_of(curve, known),
                                    .asks = asks };
}

static double best_of(const struct curve *curve, uint64_t least, uint64_t most)
{
    double best_us = INFINITY;

    for (uint64_t k = least; k <= most; k++)
        best_us = fmin(best_us, time_of(curve, k));
    return best_us;
}

/* Whatever the formula says is found by three times and one look. */
static void the_formula_is_found_at_once(void)
{
    struct nf_rng rng = { 3 };

    for (int i = 0; i < 2000; i++) {
        struct curve curve = {
            draw(&rng, 1e4), draw(&rng, 10), draw(&rng, 1e6), 0, 0, 0
        };
        uint64_t known = 8 + nf_rng_below(&rng, 500), count = 0;
        struct nf_count_range range =
            range_of(&curve, known / 2 + 1, 2 * known - 1, known, 4);
        double us = 0, best_us = best_of(&curve, range.least, range.most);

        CU_ASSERT_EQUAL(nf_least_count(&range, time_in, &curve, &count, &us),
                        NF_OK);
        CU_ASSERT(curve.asked <= 4);
        CU_ASSERT(us <= time_of(&curve, known));
        CU_ASSERT(us == time_of(&curve, count));
        /* rounding the root may miss it by one */
        CU_ASSERT(us <= best_us * (1 + 1e-4));
    }
}

static void few_numbers_are_all_tried(void)
{
    struct nf_rng rng = { 4 };

    for (uint64_t known = 1; known <= 8; known++)
        for (int i = 0; i < 100; i++) {
            struct curve curve = {
                10, draw(&rng, 10), draw(&rng, 100), nf_rng_below(&rng, 4), 0, 0
            };
            struct nf_count_range range =
                range_of(&curve, known / 2 + 1, 2 * known - 1, known, 12);
            uint64_t count = 0;
            double us = 0;

            CU_ASSERT_EQUAL(
                nf_least_count(&range, time_in, &curve, &count, &us), NF_OK);
            CU_ASSERT_EQUAL(curve.asked, range.most - range.least);
            CU_ASSERT(us == best_of(&curve, range.least, range.most));
            CU_ASSERT(count >= range.least && count <= range.most);
            /* the fewest segments of equals */
            for (uint64_t k = range.least; k < count; k++)
                CU_ASSERT(time_of(&curve, k) > us);
        }
}

/* With steps it may miss the best, but is never worse than what was known, and
 * asks no more than it may, never twice. */
static void rough_ones_do_no_harm(void)
{
    struct nf_rng rng = { 5 };

    for (int i = 0; i < 3000; i++) {
        struct curve curve = { draw(&rng, 10),
                               draw(&rng, 1),
                               draw(&rng, 1e5),
                               nf_rng_below(&rng, 9),
                               0,
                               0 };
        uint64_t least = 1 + nf_rng_below(&rng, 100), count = 0;
        uint64_t most = least + nf_rng_below(&rng, 900);
        uint64_t known = least + nf_rng_below(&rng, most - least + 1);
        uint32_t asks = 3 + (uint32_t)nf_rng_below(&rng, NF_COUNT_ASKS_MAX - 2);
        struct nf_count_range range =
            range_of(&curve, least, most, known, asks);
        double us = 0;

        CU_ASSERT_EQUAL(nf_least_count(&range, time_in, &curve, &count, &us),
                        NF_OK);
        CU_ASSERT(curve.asked <= asks);
        CU_ASSERT(count >= least && count <= most);
        CU_ASSERT(us == time_of(&curve, count));
        CU_ASSERT(us <= range.known_us);
        if (asks >= 12 && curve.steps == 0)
            CU_ASSERT(us <= best_of(&curve, least, most) * (1 + 1e-3));
    }
}

static void errors_are_passed_on(void)
{
    for (uint32_t n = 1; n <= 8; n++)
        for (int few = 0; few < 2; few++) {
            struct curve curve = { 1, 1, 10000, 0, 0, n };
            struct nf_count_range range =
                range_of(&curve, few ? 5 : 50, few ? 13 : 400, few ? 7 : 70, 8);
            uint64_t count = 77;
            double us = 88;
            enum nf_status status =
                nf_least_count(&range, time_in, &curve, &count, &us);

            CU_ASSERT(status == (curve.asked < n ? NF_OK : NF_ERR_NOMEM));
            CU_ASSERT(status == NF_OK || (count == 77 && us == 88));
        }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "the formula is found at once", the_formula_is_found_at_once },
        { "few numbers are all tried", few_numbers_are_all_tried },
        { "rough ones do no harm", rough_ones_do_no_harm },
        { "errors are passed on", errors_are_passed_on },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "numbers of segments", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
