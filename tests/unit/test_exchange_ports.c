/* All-to-alls where ports send or receive, where hosts share a medium, and
 * where the numbers are the largest. */
#include "config.h"
#include "common/coll/exchange_bounds.h"
#include "common/coll/exchange_choice.h"
#include "common/coll/torus_choice.h"
#include "tests/unit/exchange_prices.h"
#include "tests/unit/nf_unit.h"

/* By hand, of 1000 bytes that take 100 us, and 90 more at the start.  Four
 * ranks: by 2 and by 1, cycles of two and of four, two turns each.  Five: by 2,
 * by 1 and by 4, of 2, 2 and 1 blocks, all of them cycles of five, three turns
 * each. */
static void ports_that_send_or_receive_take_turns(void)
{
    static const struct {
        double delta;
        uint32_t ranks;
        uint64_t burst_ns, mixed_ns;
    } cases[] = {
        { 1, 4, 190000 + 2 * 100000, 2 * 290000 },
        { 1.5, 4, 190000 + 3 * 100000 + 50000, 3 * 290000 },
        { 2, 4, 190000 + 5 * 100000, 4 * 290000 },
        { 1, 5, 190000 + 3 * 100000, 2 * 290000 + 190000 },
        { 1.5, 5, 190000 + 5 * 100000, 4 * 290000 + 2 * 190000 },
        { 2, 5, 190000 + 7 * 100000, 6 * 290000 + 3 * 190000 },
    };
    struct nf_coll_network network = {
        .price = { .npieces = 1,
                   .pieces = { { 0, 90, 0.1 } },
                   .occupancy_us = 18 },
    };
    struct nf_exchange_price bad;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct nf_coll_params radices = {
            .radices = { 3, { 2, 2, 2 } },
        };
        struct nf_exchange_price price;

        network.delta = cases[i].delta;
        price = nf_exchange_price_of(&network);
        CU_ASSERT(nf_exchange_price_is_sane(&price));
        CU_ASSERT_EQUAL(nf_exchange_ns(&price, cases[i].ranks, 1000,
                                       &(struct nf_coll_params){ .radix = 0 }),
                        cases[i].burst_ns);
        CU_ASSERT_EQUAL(nf_exchange_ns(&price, cases[i].ranks, 1000, &radices),
                        cases[i].mixed_ns);
    }
    /* what is copied takes no turns */
    network.copy_byte_us = 0.002;
    price_is(&network, 4, 190000 + 5 * 100000, 2 * (2 * 290000 + 4000));
    bad = nf_exchange_price_of(&network);
    bad.half_ppm = 1000001;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
}

/* Three turns against twice the blocks: a burst is taken sooner on half-duplex
 * ports if P is odd; else, as o_s is not known, pairwise rounds are as cheap.
 */
static void turns_count_in_the_choice(void)
{
    struct nf_coll_network network = {
        .price = { .npieces = 1, .pieces = { { 0, 90, 0.1 } } }, .delta = 1
    };

    for (uint32_t ranks = 15; ranks <= 16; ranks++) {
        const struct nf_coll_algorithm *last[2];
        uint64_t first[2] = { 0, 0 };

        for (int half = 0; half < 2; half++) {
            struct nf_coll_choice choice = { .algorithm = NULL };
            struct nf_exchange_price price;

            network.delta = 1 + half;
            price = nf_exchange_price_of(&network);
            while (choice.algorithm == NULL ||
                   choice.algorithm == &nf_coll_alltoall_mixed)
                nf_exchange_choose(&price, ranks, first[half]++, &choice);
            last[half] = choice.algorithm;
        }
        CU_ASSERT_EQUAL(first[0], 901); /* t_s B, and one more */
        CU_ASSERT_PTR_EQUAL(last[0], &nf_coll_alltoall_pairwise_shift);
        CU_ASSERT_PTR_EQUAL(last[1], ranks == 15
                                         ? &nf_coll_alltoall_burst
                                         : &nf_coll_alltoall_pairwise_shift);
        if (ranks == 15)
            CU_ASSERT(first[1] < first[0])
        else
            CU_ASSERT_EQUAL(first[1], first[0]);
    }
}

/* By hand: two rounds of two blocks, of 290 us each, and 18 for the sizes ahead of each;
 * of 16 bytes these take less than o_s. */
static void sizes_go_ahead_of_several_blocks(void)
{
    struct nf_coll_network network = two_links();
    struct nf_exchange_price bad;

    network.near.npieces = 0;
    price_is(&network, 4, 190000 + 2 * 100000, 2 * 290000);
    network.lists = true;
    price_is(&network, 4, 190000 + 2 * 100000, 2 * (290000 + 18000));
    network.price.occupancy_us = 1; /* 16 bytes take 1.6 */
    price_is(&network, 4, 190000 + 2 * 100000, 2 * (290000 + 1600));
    network.delta = 2; /* two turns a round */
    price_is(&network, 4, 190000 + 5 * 100000, 2 * 2 * (290000 + 1600));
    network.delta = 1;
    network.is_shared = true; /* four of either one after the other */
    price_is(&network, 4, 90000 + 12 * 100000,
             2 * (90000 + 4 * 200000 + 4 * 1600));
    network.is_shared = false;
    network.share_us = 100; /* 12 messages of a burst, 16 of 2 rounds */
    price_is(&network, 4, 1200000, 1600000);
    bad = nf_exchange_price_of(&network);
    CU_ASSERT(bad.lists == 1 && nf_exchange_price_is_sane(&bad));
    bad.lists = 2;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
}

/* A hub, by hand: the bytes of all messages go one after the other, 4 in a
 * round, 12 of a burst, or 8 where two ranks share each host. */
static void a_shared_medium_takes_all_bytes(void)
{
    struct nf_coll_network network = two_links();
    const uint32_t spread[] = { 7, 7, 3, 3 }, together[] = { 5, 5, 5, 5 };
    const struct nf_coll_params burst = { .radix = 0 };
    struct nf_exchange_price price;

    network.delta = 2;
    network.is_shared = true;
    price_is(&network, 4, 90000 + 12 * 100000, 2 * (90000 + 4 * 200000));
    nf_coll_network_spread(&network, spread, 4);
    price_is(&network, 4, 90000 + 8 * 100000, 2 * (90000 + 4 * 200000));
    nf_coll_network_spread(&network, together, 4);
    price_is(&network, 4, 16000 + 5 * 3000, 4 * 17000);
    nf_coll_network_within(&network);
    CU_ASSERT(!network.is_shared);
    network = (struct nf_coll_network){
        .price = { .npieces = 1, .pieces = { { 0, 90, 0.1 } } },
        .delta = 1,
        .is_shared = true,
    };
    /* combining is worth it for small blocks only: 36 ranks, 1260 blocks or
     * more */
    price = nf_exchange_price_of(&network);
    for (uint64_t bytes = 1; bytes <= 1000; bytes++) {
        struct nf_coll_choice choice;

        nf_exchange_choose(&price, 36, bytes, &choice);
        CU_ASSERT_EQUAL(choice.algorithm != &nf_coll_alltoall_burst,
                        bytes < 11);
    }
    CU_ASSERT_EQUAL(nf_exchange_ns(&price, 36, 1000, &burst),
                    90000 + 1260 * 100000);
    price.is_shared = 2;
    CU_ASSERT(!nf_exchange_price_is_sane(&price));
}

/* Way 0 of the torus: Double-Hop on 6 x 6 has rings of three, three turns, of
 * 24 and 12 blocks, and then one of six, two turns of 18, along each side.
 * Modified on 3 x 3 has pairs, then lines, and in the end a message whose ends
 * do nothing else. */
static void rings_of_a_torus_take_turns(void)
{
    static const struct {
        struct nf_coll_sides shape;
        uint64_t half_ppm, starts, blocks;
    } cases[] = {
        { { 2, { 6, 6 } }, 0, 6, 108 },
        { { 2, { 6, 6 } }, 500000, 11, 198 },
        { { 2, { 6, 6 } }, 1000000, 16, 288 },
        { { 2, { 3, 3 } }, 0, 6, 30 },
        { { 2, { 3, 3 } }, 500000, 8, 42 },
        { { 2, { 3, 3 } }, 1000000, 10, 54 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct nf_exchange_price price = {
            .npieces = 1,
            .start_ns = { 90000 },
            .byte_ps = { 1000 },
            .half_ppm = cases[i].half_ppm,
        };
        struct nf_torus_choices *choices = NULL;

        CU_ASSERT_EQUAL_FATAL(
            nf_torus_choices_create(
                &cases[i].shape,
                (uint32_t)nf_coll_sides_product(&cases[i].shape), &choices,
                NULL),
            NF_OK);
        CU_ASSERT_EQUAL(nf_torus_ns(choices, &price, 1000, 0),
                        90000 * cases[i].starts + 1000 * cases[i].blocks);
        nf_torus_choices_destroy(choices);
    }
}

/* 2^41 bytes at 2^25 ps.  On a ring of 256 a channel has 8192 blocks of a
 * burst, and of a half-duplex one the time of twice as many. */
static void the_largest_numbers_are_right(void)
{
    const struct nf_coll_sides ring = { 1, { 256 } };
    struct nf_exchange_price price = { .npieces = 1,
                                       .start_ns = { INT64_C(1) << 40 },
                                       .byte_ps = { 1 << 25 } };
    const uint64_t most_ns = UINT64_C(73786976294838206);
    struct nf_torus_choices *choices = NULL;

    CU_ASSERT(nf_exchange_price_is_sane(&price));
    CU_ASSERT_EQUAL(nf_exchange_round_ns(&price, UINT64_C(1) << 41, 3),
                    (UINT64_C(1) << 40) + most_ns);
    price.half_ppm = 1000000;
    CU_ASSERT_EQUAL(nf_exchange_round_ns(&price, UINT64_C(1) << 41, 3),
                    3 * ((UINT64_C(1) << 40) + most_ns));
    price.start_ns[0] = 0;
    CU_ASSERT_EQUAL_FATAL(nf_torus_choices_create(&ring, 256, &choices, NULL),
                          NF_OK);
    CU_ASSERT_EQUAL(nf_torus_ns(choices, &price, UINT64_MAX, 3),
                    2 * UINT64_C(18446744073709551));
    for (uint32_t way = 0; way < NF_TORUS_WAYS; way++) {
        uint64_t before = 0;

        for (uint64_t bytes = 1; bytes <= NF_TORUS_LARGE_BYTES; bytes *= 2) {
            uint64_t ns = nf_torus_ns(choices, &price, bytes, way);

            CU_ASSERT(ns > before);
            before = ns;
        }
    }
    nf_torus_choices_destroy(choices);
    price.is_shared = 1; /* for 2^50 ns at most, in all or in each round */
    CU_ASSERT_EQUAL(nf_exchange_ns(&price, NF_COLL_RANKS_MAX, 4000,
                                   &(struct nf_coll_params){ .radix = 0 }),
                    UINT64_C(1) << 50);
    CU_ASSERT_EQUAL(
        nf_exchange_ns(&price, NF_COLL_RANKS_MAX, UINT64_MAX,
                       &(struct nf_coll_params){ .radices = { 1, { 4096 } } }),
        UINT64_C(4095) << 50);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "ports that send or receive take turns",
          ports_that_send_or_receive_take_turns },
        { "turns count in the choice", turns_count_in_the_choice },
        { "sizes go ahead of several blocks", sizes_go_ahead_of_several_blocks },
        { "a shared medium takes all bytes", a_shared_medium_takes_all_bytes },
        { "rings of a torus take turns", rings_of_a_torus_take_turns },
        { "the largest numbers are right", the_largest_numbers_are_right },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "ports and media", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
