#ifndef NF_TESTS_UNIT_EXCHANGE_PRICES_H
#define NF_TESTS_UNIT_EXCHANGE_PRICES_H
/** @file exchange_prices.h  What tests of all-to-alls' prices have in common.
 */
#include "common/coll/exchange_choice.h"
#include "tests/unit/nf_unit.h"

/** Of blocks of 1000 bytes: by a burst, and mixed by the radices 2 and 2. */
static inline void price_is(const struct nf_coll_network *network,
                            uint32_t ranks, uint64_t burst_ns,
                            uint64_t mixed_ns)
{
    const struct nf_exchange_price price = nf_exchange_price_of(network);
    const struct nf_coll_params burst = { .radix = 0 };
    const struct nf_coll_params mixed = { .radices = { 2, { 2, 2 } } };

    CU_ASSERT(nf_exchange_price_is_sane(&price));
    CU_ASSERT_EQUAL(nf_exchange_ns(&price, ranks, 1000, &burst), burst_ns);
    CU_ASSERT_EQUAL(nf_exchange_ns(&price, ranks, 1000, &mixed), mixed_ns);
}

/** T is 90 us and 0.1 a byte between hosts, 15 and 0.001 within; o_s is a fifth
 *  of T(0) on both. */
static inline struct nf_coll_network two_links(void)
{
    return (struct nf_coll_network){ .price = { .npieces = 1,
                                                .pieces = { { 0, 90, 0.1 } },
                                                .occupancy_us = 18 },
                                     .near = { .npieces = 1,
                                               .pieces = { { 0, 15, 0.001 } } },
                                     .delta = 1 };
}
#endif
