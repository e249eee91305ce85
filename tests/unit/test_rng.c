/* The random generator. */
#include "config.h"
#include "common/base/rng.h"
#include "tests/unit/nf_unit.h"

static void the_generator_repeats_and_stays_below(void)
{
    struct nf_rng a = { 42 }, b = { 42 }, c = { 43 };
    unsigned seen = 0;

    CU_ASSERT_EQUAL(nf_rng_next(&a), nf_rng_next(&b));
    CU_ASSERT_NOT_EQUAL(nf_rng_next(&a), nf_rng_next(&c));
    for (int i = 0; i < 1000; i++) {
        uint64_t value = nf_rng_below(&a, 6);

        CU_ASSERT(value < 6);
        seen |= 1u << value;
    }
    CU_ASSERT_EQUAL(seen, 0x3f);
}

/* All 6 orders of three, about equally often. */
static void a_shuffle_gives_every_order(void)
{
    struct nf_rng rng = { 7 };
    unsigned seen[64] = { 0 }, orders = 0;

    for (int i = 0; i < 6000; i++) {
        uint32_t items[] = { 0, 1, 2 };

        nf_rng_shuffle(&rng, items, 3);
        CU_ASSERT_EQUAL_FATAL(1u << items[0] | 1u << items[1] | 1u << items[2],
                              7);
        seen[items[0] | items[1] << 2 | items[2] << 4]++;
    }
    for (int i = 0; i < 64; i++) {
        orders += seen[i] > 0;
        CU_ASSERT(seen[i] == 0 || (seen[i] > 850 && seen[i] < 1150));
    }
    CU_ASSERT_EQUAL(orders, 6);
    nf_rng_shuffle(&rng, NULL, 0);
}

int main(void)
{
    CU_TestInfo generator[] = {
        { "the generator repeats and stays below",
          the_generator_repeats_and_stays_below },
        { "a shuffle gives every order", a_shuffle_gives_every_order },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "generator", NULL, NULL, NULL, NULL, generator },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
