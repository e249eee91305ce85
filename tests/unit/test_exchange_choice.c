/* Which radices, or a burst: by prices in whole numbers. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "common/coll/exchange_choice.h"
#include "common/coll/radix.h"
#include "common/coll/rules.h"
#include "tests/unit/exchange_prices.h"
#include "tests/unit/nf_unit.h"

/* 90 us and 1 ns a byte: t_s B is 90000 bytes, and nothing is rounded. */
static const struct nf_exchange_price straight = { .npieces = 1,
                                                   .start_ns = { 90000 },
                                                   .byte_ps = { 1000 } };

static bool same_radices(const struct nf_coll_sides *a,
                         const struct nf_coll_sides *b)
{
    return a->count == b->count &&
           memcmp(a->of, b->of, a->count * sizeof(a->of[0])) == 0;
}

/* Around each bound of the hull, whose goldens are above. */
static void choices_change_at_the_thresholds(void)
{
    for (uint32_t ranks = 4; ranks <= 64; ranks++) {
        struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
        uint32_t count = nf_radix_hull(ranks, hull);

        for (uint32_t i = 0; i + 1 < count; i++) {
            uint64_t bound = UINT64_C(90000) * hull[i].below_num;
            uint64_t below = (bound - 1) / hull[i].below_den;
            uint64_t above = bound / hull[i].below_den + 1;
            struct nf_coll_choice choice;

            nf_exchange_choose(&straight, ranks, below, &choice);
            CU_ASSERT_PTR_EQUAL(choice.algorithm, &nf_coll_alltoall_mixed);
            CU_ASSERT(same_radices(&choice.params.radices, &hull[i].radices));
            CU_ASSERT_EQUAL(
                nf_exchange_ns(&straight, ranks, below, &choice.params),
                90000 * (uint64_t)hull[i].cost.rounds +
                    below * hull[i].cost.blocks);
            nf_exchange_choose(&straight, ranks, above, &choice);
            CU_ASSERT(i + 2 == count
                          ? choice.algorithm == &nf_coll_alltoall_pairwise_shift
                          : same_radices(&choice.params.radices,
                                         &hull[i + 1].radices));
        }
    }
}

/* As select.c has it of mixed.c, in other numbers; and of burst.c a burst. */
static void compare_with_model(const struct nf_coll_network *network)
{
    const struct nf_exchange_price price = nf_exchange_price_of(network);

    CU_ASSERT(nf_exchange_price_is_sane(&price));
    for (uint32_t ranks = 2; ranks <= 100; ranks += ranks < 20 ? 1 : 13)
        for (uint64_t bytes = 1; bytes < 10000000; bytes *= 7) {
            struct nf_coll_params params = { .radix = 0 };
            double want = nf_coll_cost_us(&nf_coll_alltoall_burst, network,
                                          ranks, (double)bytes, 1);
            double got =
                (double)nf_exchange_ns(&price, ranks, bytes, &params) / 1e3;

            CU_ASSERT_DOUBLE_EQUAL(got, want, 1e-6 * want + 0.001 * ranks);
            nf_radix_fewest_rounds(ranks, &params.radices);
            want = nf_coll_cost_us(&nf_coll_alltoall_mixed, network, ranks,
                                   (double)bytes, 1);
            got = (double)nf_exchange_ns(&price, ranks, bytes, &params) / 1e3;
            CU_ASSERT_DOUBLE_EQUAL(got, want, 1e-6 * want + 0.001 * ranks);
        }
}

static void whole_prices_are_those_of_the_model(void)
{
    struct nf_coll_network network = {
        .price = { .npieces = 2,
                   .pieces = { { 0, 90, 0.085 }, { 4096, 240, 0.048 } },
                   .occupancy_us = 20 },
    };

    for (network.delta = 1; network.delta <= 2; network.delta += 0.125)
        compare_with_model(&network);
    network.price.pieces[0].start_us = 150;
    network.price.pieces[0].byte_us = 0.01;
    network.price.pieces[1].from_bytes = 16384;
    network.price.pieces[1].start_us = -1161;
    network.price.pieces[1].byte_us = 0.09;
    for (network.delta = 1; network.delta <= 2; network.delta += 0.5)
        compare_with_model(&network);
}

/* Where the time of a byte has grown; and they are sent as words. */
static void starts_of_later_pieces_may_be_negative(void)
{
    const struct nf_coll_network network = {
        .price = { .npieces = 2,
                   .pieces = { { 0, 150, 0.01 }, { 16384, -1161, 0.09 } } },
        .delta = 1
    };
    const struct nf_coll_params burst = { .radix = 0 };
    const struct nf_exchange_price price = nf_exchange_price_of(&network);
    uint64_t words[NF_EXCHANGE_PRICE_WORDS];
    struct nf_exchange_price sent, bad = price;

    CU_ASSERT_EQUAL(price.start_ns[1], -1161000);
    memcpy(words, &price, sizeof(words));
    memcpy(&sent, words, sizeof(sent));
    CU_ASSERT(nf_exchange_price_is_sane(&sent));
    CU_ASSERT_EQUAL(nf_exchange_ns(&sent, 2, 16383, &burst), 313830);
    CU_ASSERT_EQUAL(nf_exchange_ns(&sent, 2, 20000, &burst), 639000);
    bad.start_ns[1] = -2000000000; /* no message takes less than no time */
    CU_ASSERT(nf_exchange_price_is_sane(&bad));
    CU_ASSERT_EQUAL(nf_exchange_ns(&bad, 2, 20000, &burst), 0);
    bad.start_ns[1] = INT64_MIN;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
    bad.start_ns[1] = INT64_MAX;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
}

/* Nor do the largest ones overflow: more bytes never take less. */
static void prices_of_the_worst_networks(void)
{
    struct nf_coll_network network = {
        .price = { .npieces = 1, .pieces = { { 0, 1e30, 1e30 } } }, .delta = 2
    };
    struct nf_exchange_price price = nf_exchange_price_of(&network), bad;
    struct nf_coll_params params = { .radix = 0 };
    uint64_t before = 0;

    CU_ASSERT(nf_exchange_price_is_sane(&price));
    nf_radix_fewest_rounds(NF_COLL_RANKS_MAX, &params.radices);
    for (uint64_t bytes = 1; bytes != 0; bytes <<= 1) {
        uint64_t ns = nf_exchange_ns(&price, NF_COLL_RANKS_MAX, bytes, &params);

        CU_ASSERT(ns >= before);
        before = ns;
    }
    network.price.pieces[0].start_us = -1e30;
    price = nf_exchange_price_of(&network);
    CU_ASSERT(nf_exchange_price_is_sane(&price));
    CU_ASSERT(price.start_ns[0] < 0);
    network.price.pieces[0].start_us = NAN;
    network.price.pieces[0].byte_us = -1;
    price = nf_exchange_price_of(&network);
    CU_ASSERT(price.start_ns[0] == 0 && price.byte_ps[0] == 0);
    bad = price;
    bad.npieces = 0;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
    bad.npieces = NF_PRICE_PIECES_MAX + 1;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
    bad = price;
    bad.byte_ps[0] = UINT64_MAX;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
}

static size_t messages_of(const struct nf_coll_choice *choice, uint32_t ranks)
{
    struct nf_coll_args args = { .ranks = ranks, .segments = 1 };
    struct nf_schedule schedule;
    size_t count;

    nf_coll_use_params(&choice->params, &args);
    CU_ASSERT_EQUAL(
        nf_coll_make(choice->algorithm, &args, NF_ALL_RANKS, &schedule, NULL),
        NF_OK);
    count = schedule.count;
    nf_schedule_fini(&schedule);
    return count;
}

/* Members that share processors: what is sent at once is passed one by one. */
static void shared_processors_take_each_message(void)
{
    struct nf_coll_network network = {
        .price = { .npieces = 1,
                   .pieces = { { 0, 90, 0.085 } },
                   .occupancy_us = 5,
                   .ports = NF_PORTS_FULL },
        .delta = 1
    };
    struct nf_exchange_price price = nf_exchange_price_of(&network);
    struct nf_coll_choice choice;

    nf_exchange_choose(&price, 16, 64, &choice);
    CU_ASSERT_PTR_EQUAL(choice.algorithm, &nf_coll_alltoall_burst);
    network.share_us = 12;
    price = nf_exchange_price_of(&network);
    CU_ASSERT_EQUAL(price.share_ns, 12000);
    CU_ASSERT(nf_exchange_price_is_sane(&price));
    nf_exchange_choose(&price, 16, 64, &choice);
    CU_ASSERT_PTR_EQUAL(choice.algorithm, &nf_coll_alltoall_mixed);
    price.share_ns = UINT64_C(1) << 40; /* more than all else, and the most */
    for (uint32_t ranks = 2; ranks <= 64; ranks++) {
        const struct nf_coll_choice burst = { .algorithm =
                                                  &nf_coll_alltoall_burst };

        CU_ASSERT_EQUAL(nf_exchange_ns(&price, ranks, 64, &burst.params),
                        messages_of(&burst, ranks) * price.share_ns);
        nf_exchange_choose(&price, ranks, 64, &choice);
        CU_ASSERT_EQUAL(nf_exchange_ns(&price, ranks, 64, &choice.params),
                        messages_of(&choice, ranks) * price.share_ns);
        CU_ASSERT(ranks < 4 || choice.algorithm == &nf_coll_alltoall_mixed);
    }
    /* nor does it overflow */
    CU_ASSERT_EQUAL(nf_exchange_ns(&price, NF_COLL_RANKS_MAX, 64,
                                   &(struct nf_coll_params){ .radix = 0 }) /
                        price.share_ns,
                    (uint64_t)NF_COLL_RANKS_MAX * (NF_COLL_RANKS_MAX - 1));
    price.share_ns++;
    CU_ASSERT(!nf_exchange_price_is_sane(&price));
}

/* By hand, of four ranks and 1000 bytes: o_s is a fifth of T(0) on both links. */
static void messages_within_a_host_have_their_price(void)
{
    struct nf_coll_network network = two_links();
    const uint32_t spread[] = { 7, 7, 3, 3 }, together[] = { 5, 5, 5, 5 };
    struct nf_coll_network within;

    price_is(&network, 4, 190000 + 2 * 100000, 2 * 290000);
    nf_coll_network_spread(&network, spread, 4);
    CU_ASSERT_EQUAL(network.least, 2);
    price_is(&network, 4, 190000 + 100000 + 3000, 2 * 290000);
    nf_coll_network_spread(&network, together, 4);
    CU_ASSERT_EQUAL(network.least, 4);
    price_is(&network, 4, 16000 + 2 * 3000, 2 * 17000);
    within = network; /* and that is the network which there is on the host */
    nf_coll_network_within(&within);
    within.least = 0;
    price_is(&within, 4, 16000 + 2 * 3000, 2 * 17000);
    network.near.npieces = 0; /* nothing is known of it */
    price_is(&network, 4, 190000 + 2 * 100000, 2 * 290000);
    nf_coll_network_within(&network);
    price_is(&network, 4, 190000 + 2 * 100000, 2 * 290000);
}

/* Four ranks, 2 x 2: in both rounds two blocks are put together, in a burst and
 * in the rounds of one digit none are. */
static void what_is_put_together_is_copied(void)
{
    struct nf_coll_network network = {
        .price = { .npieces = 1,
                   .pieces = { { 0, 10, 0.001 } },
                   .occupancy_us = 8 },
        .copy_byte_us = 0.002,
        .delta = 1
    };
    const struct nf_coll_params one = { .radices = { 1, { 4 } } };
    struct nf_exchange_price price = nf_exchange_price_of(&network);
    struct nf_coll_choice choice;

    price_is(&network, 4, 11000 + 2 * 8000, 2 * (12000 + 4000));
    CU_ASSERT_EQUAL(nf_exchange_ns(&price, 4, 1000, &one), 3 * 11000);
    nf_exchange_choose(&price, 4, 1000, &choice);
    CU_ASSERT_PTR_EQUAL(choice.algorithm, &nf_coll_alltoall_burst);
    price.copy_ps = 0;
    nf_exchange_choose(&price, 4, 1000, &choice);
    CU_ASSERT_PTR_EQUAL(choice.algorithm, &nf_coll_alltoall_mixed);
    price.copy_ps = UINT64_C(1) << 26;
    CU_ASSERT(!nf_exchange_price_is_sane(&price));
}

static const struct nf_coll_algorithm *
chosen_with(struct nf_coll_network *network, uint32_t least, uint64_t bytes)
{
    struct nf_exchange_price price;
    struct nf_coll_choice choice;

    network->least = least;
    price = nf_exchange_price_of(network);
    nf_exchange_choose(&price, 32, bytes, &choice);
    return choice.algorithm;
}

/* Between hosts the bytes of combined blocks count sooner. */
static void one_host_is_chosen_for_as_its_own_link(void)
{
    struct nf_coll_network network = two_links();
    struct nf_exchange_price bad;

    CU_ASSERT_PTR_EQUAL(chosen_with(&network, 1, 20), &nf_coll_alltoall_mixed);
    CU_ASSERT_PTR_EQUAL(chosen_with(&network, 1, 100), &nf_coll_alltoall_burst);
    CU_ASSERT_PTR_EQUAL(chosen_with(&network, 32, 100), &nf_coll_alltoall_mixed);
    CU_ASSERT_PTR_EQUAL(chosen_with(&network, 32, 9000),
                        &nf_coll_alltoall_burst);
    /* half of a burst's messages are near, none of a mixed one's rounds */
    CU_ASSERT_PTR_EQUAL(chosen_with(&network, 16, 20), &nf_coll_alltoall_burst);
    bad = nf_exchange_price_of(&network);
    bad.nnear = NF_PRICE_PIECES_MAX + 1;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
    bad = nf_exchange_price_of(&network);
    bad.near_start_ns[0] = INT64_MIN;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
    bad = nf_exchange_price_of(&network);
    bad.least = NF_COLL_RANKS_MAX + 1;
    CU_ASSERT(!nf_exchange_price_is_sane(&bad));
}

/* As the model would have it for the other members, and none too many bits. */
static void shares_move_to_other_members(void)
{
    static const uint32_t places[][2] = {
        { 1, 2 },    { 2, 2 },       { 1, 3 }, { 3, 8 },      { 3, 6 },
        { 1, 4096 }, { 4096, 4096 }, { 1, 1 }, { 4095, 4096 }
    };
    static const double shares_us[] = { 0, 0.001, 31.5, 12345.678, 1e9 };
    enum { PLACES = sizeof(places) / sizeof(*places) };

    for (int a = 0; a < PLACES; a++)
        for (int b = 0; b < PLACES; b++)
            for (int s = 0; s < 5; s++) {
                const struct nf_model model = {
                    .share_us = shares_us[s],
                    .share_part = (double)places[a][0] / places[a][1]
                };
                struct nf_exchange_price price = {
                    .npieces = 1,
                    .share_ns = (uint64_t)(shares_us[s] * 1e3 + 0.5)
                };
                double want_ns =
                    1e3 * nf_model_share_on(&model, (double)places[b][0] /
                                                        places[b][1]);

                want_ns = want_ns < 0x1p40 ? want_ns : 0x1p40;
                nf_exchange_price_move(&price, places[a][0], places[a][1],
                                       places[b][0], places[b][1]);
                CU_ASSERT_DOUBLE_EQUAL((double)price.share_ns, want_ns,
                                       0.51 + 1e-9 * want_ns);
                CU_ASSERT(nf_exchange_price_is_sane(&price));
            }
}

/* By the model and by a rule as well, which names no radices. */
static void radices_are_those_of_the_size(void)
{
    const struct nf_coll_network network = {
        .price = { .npieces = 1, .pieces = { { 0, 90, 0.1 } } }, .delta = 1
    };
    const struct nf_exchange_price price = nf_exchange_price_of(&network);
    const struct nf_coll_rule rule = { .op = NF_COLL_ALLTOALL,
                                       .ranks = 20,
                                       .max_bytes = UINT64_MAX,
                                       .algorithm = &nf_coll_alltoall_mixed,
                                       .k_rule = NF_K_FIXED,
                                       .value = 1 };
    struct nf_coll_rules rules;
    unsigned mixed = 0;

    nf_coll_rules_init(&rules);
    CU_ASSERT(nf_coll_rules_add(&rules, &rule) == NF_OK);
    for (uint64_t bytes = 1; bytes < 100000; bytes *= 3) {
        struct nf_coll_query query = { .op = NF_COLL_ALLTOALL,
                                       .ranks = 20,
                                       .bytes = bytes,
                                       .elements = bytes,
                                       .commutative = true };
        struct nf_coll_choice want, got;

        nf_exchange_choose(&price, 20, bytes, &want);
        CU_ASSERT(nf_coll_select(&query, &network, NULL, NULL, &got, NULL) ==
                  NF_OK);
        CU_ASSERT_PTR_EQUAL(got.algorithm, want.algorithm);
        CU_ASSERT(nf_coll_same_params(&got.params, &want.params));
        CU_ASSERT(nf_coll_select(&query, &network, &rules, NULL, &got, NULL) ==
                  NF_OK);
        CU_ASSERT_PTR_EQUAL(got.algorithm, &nf_coll_alltoall_mixed);
        CU_ASSERT(got.params.radices.count > 0 && isfinite(got.cost_us));
        if (want.algorithm != &nf_coll_alltoall_mixed)
            continue;
        mixed++;
        CU_ASSERT(nf_coll_same_params(&got.params, &want.params));
    }
    CU_ASSERT(mixed >= 5);
    nf_coll_rules_fini(&rules);
}

static void wishes_have_their_price(void)
{
    const struct nf_coll_network network = {
        .price = { .npieces = 1, .pieces = { { 0, 100, 0.1 } } }, .delta = 1
    };
    struct nf_coll_query query = { .op = NF_COLL_ALLTOALL,
                                   .ranks = 8,
                                   .bytes = 10,
                                   .elements = 10,
                                   .commutative = true };
    struct nf_coll_choice got;

    CU_ASSERT(nf_coll_select(&query, &network, NULL,
                             "alltoall.mixed:radices=3x3", &got,
                             NULL) == NF_OK);
    /* by 1, 2, 3 and 6: 3, 2, 3 and 2 blocks */
    CU_ASSERT_DOUBLE_EQUAL(got.cost_us, 410, 1e-9);
    CU_ASSERT(nf_coll_select(&query, &network, NULL, "alltoall.bruck:radix=4",
                             &got, NULL) == NF_OK);
    CU_ASSERT(isinf(got.cost_us));
}

/* Hosts that round in other ways have the same prices. */
static void rounding_does_not_matter(void)
{
    struct nf_coll_network network = {
        .price = { .npieces = 1, .pieces = { { 0, 90.1, 0.085123 } } }
    };
    const struct nf_exchange_price price = nf_exchange_price_of(&network);
    struct nf_exchange_price other;

    network.price.pieces[0].start_us *= 1 + 1e-14;
    network.price.pieces[0].byte_us *= 1 - 1e-14;
    other = nf_exchange_price_of(&network);
    CU_ASSERT(memcmp(&price, &other, sizeof(price)) == 0);
}

/* How many times the time of the cheapest one it may take. */
static double worst_of(const struct nf_exchange_price *price, uint32_t ranks,
                       const struct nf_coll_params *params)
{
    double worst = 1;

    for (uint64_t bytes = 1; bytes <= 1 << 26; bytes *= 2) {
        const struct nf_coll_params burst = { .radix = 0 };
        struct nf_coll_params mixed;
        uint64_t best = nf_exchange_radices(price, ranks, bytes, &mixed);
        uint64_t other = nf_exchange_ns(price, ranks, bytes, &burst);
        double ns = (double)nf_exchange_ns(price, ranks, bytes, params);

        best = best < other ? best : other;
        if (best > 0)
            worst = fmax(worst, ns / (double)best);
    }
    return worst;
}

/* In 1/1024, as it is judged by. */
static uint64_t worst_in_whole_numbers(const struct nf_exchange_price *price,
                                       uint32_t ranks,
                                       const struct nf_coll_params *params)
{
    uint64_t worst = 0;

    for (uint64_t bytes = 1; bytes <= NF_EXCHANGE_LARGE_BYTES; bytes *= 2) {
        struct nf_coll_choice best;
        uint64_t ns = nf_exchange_ns(price, ranks, bytes, params), least, here;

        nf_exchange_choose(price, ranks, bytes, &best);
        least = nf_exchange_ns(price, ranks, bytes, &best.params);
        while (ns >> 53 != 0) {
            ns /= 2;
            least /= 2;
        }
        here = ns * 1024 / (least > 0 ? least : 1);
        worst = here > worst ? here : worst;
    }
    return worst;
}

/* Each of the hull by itself beside the cheapest for each size: the same, to
 * the last vector, as when all are timed together. */
static void judge_one_by_one(const struct nf_exchange_price *price,
                             uint32_t ranks)
{
    struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
    uint32_t count = ranks > 3 ? nf_radix_hull(ranks, hull) : 0;
    struct nf_coll_params want = { .radix = 0 };
    uint64_t least = worst_in_whole_numbers(price, ranks, &want) / 2;
    struct nf_coll_choice choice;

    for (uint32_t i = 0; i < count; i++) {
        const struct nf_coll_params params = { .radices = hull[i].radices };
        uint64_t worst = worst_in_whole_numbers(price, ranks, &params);

        if (worst >= least)
            continue;
        least = worst;
        want = params;
    }
    nf_exchange_choose_blindly(price, ranks, &choice);
    CU_ASSERT(nf_coll_same_params(&choice.params, &want));
    CU_ASSERT_PTR_EQUAL(choice.algorithm, want.radices.count > 0
                                              ? &nf_coll_alltoall_mixed
                                              : &nf_coll_alltoall_burst);
}

/* A burst, or what has the least worst if a burst's is more than twice that. */
static void judge_blind_choice(const struct nf_exchange_price *price,
                               uint32_t ranks)
{
    const struct nf_coll_params burst = { .radix = 0 };
    struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
    uint32_t count = ranks > 3 ? nf_radix_hull(ranks, hull) : 0;
    double least = worst_of(price, ranks, &burst) / 2;
    struct nf_coll_choice choice;

    nf_exchange_choose_blindly(price, ranks, &choice);
    for (uint32_t i = 0; i < count; i++) {
        const struct nf_coll_params params = { .radices = hull[i].radices };

        least = fmin(least, worst_of(price, ranks, &params));
    }
    if (choice.algorithm == &nf_coll_alltoall_mixed)
        CU_ASSERT_DOUBLE_EQUAL(worst_of(price, ranks, &choice.params), least,
                               0.002 * least)
    else
        CU_ASSERT(choice.algorithm == &nf_coll_alltoall_burst &&
                  worst_of(price, ranks, &burst) / 2 <= least * 1.002);
}

/* By P and the price only: a switched network of hosts, and a host whose two
 * processors have 5 us to do for each message. */
static void unknown_sizes_have_the_least_worst(void)
{
    struct nf_exchange_price apart = { .npieces = 1,
                                       .start_ns = { 90000 },
                                       .byte_ps = { 85000 },
                                       .occupancy_ns = 20000 };
    struct nf_exchange_price huge = { .npieces = 1,
                                      .start_ns = { INT64_C(1) << 40 },
                                      .byte_ps = { 1 << 25 } };
    struct nf_coll_choice choice;

    for (uint32_t ranks = 2; ranks <= 128; ranks += ranks < 20 ? 1 : 12) {
        struct nf_exchange_price together = {
            .npieces = 1,
            .start_ns = { 90000 },
            .byte_ps = { 85000 },
            .occupancy_ns = 20000,
            .share_ns = 5000,
            .nnear = 1,
            .near_start_ns = { 15000 },
            .near_byte_ps = { 700 },
            .near_occupancy_ns = 3333,
            .least = ranks,
        };

        judge_blind_choice(&apart, ranks);
        judge_blind_choice(&together, ranks);
        judge_blind_choice(&straight, ranks);
        judge_one_by_one(&apart, ranks);
        judge_one_by_one(&together, ranks);
        judge_one_by_one(&straight, ranks);
        nf_exchange_choose_blindly(&apart, ranks, &choice);
        CU_ASSERT_PTR_EQUAL(choice.algorithm, &nf_coll_alltoall_burst);
        nf_exchange_choose_blindly(&together, ranks, &choice);
        if (ranks < 14) /* up to 3.0 times the best, others more than half */
            CU_ASSERT_PTR_EQUAL(choice.algorithm, &nf_coll_alltoall_burst);
        if (ranks >= 18) /* from 3.4 times the best */
            CU_ASSERT_PTR_EQUAL(choice.algorithm, &nf_coll_alltoall_mixed);
    }
    nf_exchange_choose_blindly(&huge, NF_COLL_RANKS_MAX, &choice);
    CU_ASSERT(choice.algorithm != NULL); /* and nothing has overflown */
}

int main(void)
{
    CU_TestInfo choice[] = {
        { "choices change at the thresholds",
          choices_change_at_the_thresholds },
        { "whole prices are those of the model",
          whole_prices_are_those_of_the_model },
        { "starts of later pieces may be negative",
          starts_of_later_pieces_may_be_negative },
        { "unknown sizes have the least worst",
          unknown_sizes_have_the_least_worst },
        { "shares move to other members", shares_move_to_other_members },
        { "messages within a host have their price",
          messages_within_a_host_have_their_price },
        { "what is put together is copied", what_is_put_together_is_copied },
        { "one host is chosen for as its own link",
          one_host_is_chosen_for_as_its_own_link },
        { "radices are those of the size", radices_are_those_of_the_size },
        { "wishes have their price", wishes_have_their_price },
        { "shared processors take each message",
          shared_processors_take_each_message },
        { "the worst networks", prices_of_the_worst_networks },
        { "rounding does not matter", rounding_does_not_matter },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the choice", NULL, NULL, NULL, NULL, choice },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
