/* Which all-to-all for blocks of which size, as a list that is handed out. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/coll/exchange_bounds.h"
#include "common/coll/exchange_choice.h"
#include "common/coll/rules.h"
#include "tests/unit/exchange_prices.h"
#include "tests/unit/nf_unit.h"

/* A switch of 100 Mbit/s, with a start-up time that combining is worth. */
static const struct nf_coll_network network = {
    .price = { .npieces = 2,
               .pieces = { { 0, 90, 0.085 }, { 4096, 240, 0.048 } },
               .occupancy_us = 60,
               .ports = NF_PORTS_FULL },
    .delta = 1
};

static void chosen_directly(uint32_t ranks, uint64_t bytes, char name_p[64])
{
    const struct nf_exchange_price price = nf_exchange_price_of(&network);
    struct nf_coll_choice choice;

    nf_exchange_choose(&price, ranks, bytes, &choice);
    nf_coll_wish_write(&(struct nf_coll_wish){ .algorithm = choice.algorithm,
                                               .params = choice.params },
                       name_p, 64);
}

static void bounds_are_where_the_choice_changes(void)
{
    unsigned several = 0;

    for (uint32_t ranks = 2; ranks <= 64; ranks++) {
        struct nf_exchange_bounds b;
        char name[64];

        nf_exchange_bounds_find(&network, NULL, ranks, &b);
        CU_ASSERT(b.count >= 1 && b.count <= NF_EXCHANGE_BOUNDS_MAX);
        CU_ASSERT_EQUAL(b.of[b.count - 1].below_bytes, UINT64_MAX);
        CU_ASSERT_STRING_EQUAL(b.of[b.count - 1].algorithm, "alltoall.burst");
        for (uint32_t i = 0; i + 1 < b.count; i++) {
            uint64_t at = b.of[i].below_bytes;

            chosen_directly(ranks, at - 1, name);
            CU_ASSERT_STRING_EQUAL(nf_exchange_bounds_pick(&b, at - 1), name);
            CU_ASSERT_STRING_EQUAL(b.of[i].algorithm, name);
            chosen_directly(ranks, at, name);
            CU_ASSERT_STRING_EQUAL(nf_exchange_bounds_pick(&b, at), name);
            several++;
        }
        if (ranks <= 3)
            CU_ASSERT_EQUAL(b.count, 1); /* nothing to combine */
    }
    CU_ASSERT(several > 60);
}

/* What is picked is never much dearer than the best: changes that the list has no
 * room for, or does not see, are between neighbours. */
static void what_is_picked_is_about_the_best(void)
{
    const struct nf_exchange_price price = nf_exchange_price_of(&network);
    struct nf_rng rng = { .state = 5 };

    for (uint32_t ranks = 2; ranks <= 130; ranks += 4) {
        struct nf_exchange_bounds b;

        nf_exchange_bounds_find(&network, NULL, ranks, &b);
        for (int i = 0; i < 40; i++) {
            uint64_t bytes = 1 + (nf_rng_next(&rng) >> (40 + i % 24));
            struct nf_coll_choice best;
            struct nf_coll_wish wish;

            nf_exchange_choose(&price, ranks, bytes, &best);
            CU_ASSERT_EQUAL(nf_coll_wish_read(
                                nf_exchange_bounds_pick(&b, bytes), &wish, NULL),
                            NF_OK);
            CU_ASSERT((double)nf_exchange_ns(&price, ranks, bytes,
                                             &wish.params) <=
                      1.1e3 * best.cost_us);
        }
    }
}

static void rules_come_first(void)
{
    const struct nf_coll_rule rule = { .op = NF_COLL_ALLTOALL,
                                       .operators = NF_CLASS_ANY,
                                       .ranks = 6,
                                       .max_bytes = 1000,
                                       .algorithm =
                                           &nf_coll_alltoall_pairwise_shift,
                                       .k_rule = NF_K_FIXED,
                                       .value = 1 };
    struct nf_coll_rules rules;
    struct nf_exchange_bounds b, model;

    nf_coll_rules_init(&rules);
    CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &rule), NF_OK);
    nf_exchange_bounds_find(&network, &rules, 6, &b);
    nf_exchange_bounds_find(&network, NULL, 6, &model);
    CU_ASSERT_STRING_EQUAL(nf_exchange_bounds_pick(&b, 1),
                           "alltoall.pairwise_shift");
    CU_ASSERT_STRING_EQUAL(nf_exchange_bounds_pick(&b, 1000),
                           "alltoall.pairwise_shift");
    for (uint64_t bytes = 1001; bytes < 1 << 20; bytes += 997)
        CU_ASSERT_STRING_EQUAL(nf_exchange_bounds_pick(&b, bytes),
                               nf_exchange_bounds_pick(&model, bytes));
    /* of other numbers they say nothing */
    nf_exchange_bounds_find(&network, &rules, 5, &b);
    CU_ASSERT_STRING_NOT_EQUAL(nf_exchange_bounds_pick(&b, 1),
                               "alltoall.pairwise_shift");
    nf_coll_rules_fini(&rules);
}

static void as_text_and_back(void)
{
    for (uint32_t ranks = 2; ranks <= 300; ranks += 7) {
        struct nf_exchange_bounds b, again;
        char text[NF_EXCHANGE_TEXT_BYTES], twice[NF_EXCHANGE_TEXT_BYTES];

        nf_exchange_bounds_find(&network, NULL, ranks, &b);
        nf_exchange_bounds_write(&b, text);
        CU_ASSERT(nf_exchange_bounds_read(text, ranks, &again));
        nf_exchange_bounds_write(&again, twice);
        CU_ASSERT_STRING_EQUAL(text, twice);
        CU_ASSERT_EQUAL(b.count, again.count);
        for (uint32_t i = 0; i < b.count; i++)
            CU_ASSERT_EQUAL(b.of[i].below_bytes, again.of[i].below_bytes);
    }
}

/* It comes from the network. */
static void bad_text_is_refused(void)
{
    static const char *const bad[] = {
        "",
        ",",
        "alltoall.burst,",
        "alltoall.burst<5",
        "alltoall.burst<,alltoall.burst",
        "alltoall.burst<0,alltoall.burst",
        "alltoall.burst<5,alltoall.dh<5,alltoall.burst",
        "alltoall.burst<9,alltoall.dh<5,alltoall.burst",
        "alltoall.burst<99999999999999999,alltoall.burst",
        "alltoall.burst<-1,alltoall.burst",
        "alltoall.none",
        "bcast.binomial",
        "alltoall.dh:shape=2x4",
        "alltoall.mixed:radices=2x2",
        "alltoall.burst alltoall.burst",
        "alltoall.burstalltoall.burstalltoall.burstalltoall.burstalltoall.burst",
    };
    struct nf_exchange_bounds b;
    char text[NF_EXCHANGE_TEXT_BYTES] = "";
    size_t used = 0;

    for (int i = 1; i <= NF_EXCHANGE_BOUNDS_MAX; i++) /* and one more */
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "alltoall.burst<%d,", i);
    snprintf(text + used, sizeof(text) - used, "alltoall.burst");
    CU_ASSERT(!nf_exchange_bounds_read(text, 6, &b));

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CU_ASSERT(!nf_exchange_bounds_read(bad[i], 6, &b));
        if (nf_exchange_bounds_read(bad[i], 6, &b))
            fprintf(stderr, "%s\n", bad[i]);
    }
    CU_ASSERT(nf_exchange_bounds_read("alltoall.mixed:radices=2x3<77,"
                                      "alltoall.pairwise_grid:shape=2x3",
                                      6, &b));
    CU_ASSERT_STRING_EQUAL(nf_exchange_bounds_pick(&b, 76),
                           "alltoall.mixed:radices=2x3");
    CU_ASSERT_STRING_EQUAL(nf_exchange_bounds_pick(&b, 77),
                           "alltoall.pairwise_grid:shape=2x3");
}

static void wishes_must_fit(void)
{
    struct nf_exchange_bounds b;
    struct nf_error err = { NF_OK, "" };

    CU_ASSERT_EQUAL(nf_exchange_bounds_of("alltoall.pairwise_xor", 4, &b, &err),
                    NF_OK);
    CU_ASSERT_STRING_EQUAL(nf_exchange_bounds_pick(&b, 0),
                           "alltoall.pairwise_xor");
    CU_ASSERT_STRING_EQUAL(nf_exchange_bounds_pick(&b, UINT64_MAX),
                           "alltoall.pairwise_xor");
    CU_ASSERT_EQUAL(nf_exchange_bounds_of("alltoall.pairwise_xor", 3, &b, &err),
                    NF_ERR_INVAL);
    CU_ASSERT(err.text[0] != '\0');
    CU_ASSERT(nf_exchange_bounds_of("alltoall.dh:shape=2x4", 7, &b, &err) < 0);
    CU_ASSERT_EQUAL(nf_exchange_bounds_of("bcast.binomial", 4, &b, &err),
                    NF_ERR_INVAL);
}

static void algorithms_have_their_price(void)
{
    double burst =
        nf_exchange_bounds_cost_us("alltoall.burst", &network, 8, 100000);
    double bruck = nf_exchange_bounds_cost_us("alltoall.mixed:radices=2x2x2",
                                              &network, 8, 100000);

    CU_ASSERT(burst > 7 * 100000 * 0.048 && burst < bruck);
    CU_ASSERT(isinf(nf_exchange_bounds_cost_us("none", &network, 8, 1)));
}

/* Of 1000 bytes 190 us between hosts, and 100 for each more; within one 3. */
static void messages_that_stay_on_hosts_are_near(void)
{
    static const uint32_t hosts[] = { 7, 7, 3, 3 };
    struct nf_coll_network spread = two_links();
    double large_us;

    CU_ASSERT_DOUBLE_EQUAL(
        nf_exchange_bounds_cost_us("alltoall.burst", &spread, 4, 1000), 390,
        1e-9);
    nf_coll_network_spread(&spread, hosts, 4);
    CU_ASSERT_EQUAL(spread.least, 2);
    CU_ASSERT_DOUBLE_EQUAL(
        nf_exchange_bounds_cost_us("alltoall.burst", &spread, 4, 1000), 293,
        1e-9);
    CU_ASSERT_DOUBLE_EQUAL(
        nf_coll_cost_us(&nf_coll_alltoall_burst, &spread, 4, 1000, 1), 293,
        1e-9);
    spread.delta = 1.5; /* half of a burst more: 2 between hosts, 1 within */
    CU_ASSERT_DOUBLE_EQUAL(
        nf_exchange_bounds_cost_us("alltoall.burst", &spread, 4, 1000),
        293 + 101.5, 1e-9);
    large_us =
        nf_exchange_bounds_cost_us("alltoall.burst", &spread, 4, 1 << 26);
    CU_ASSERT_DOUBLE_EQUAL(nf_exchange_bounds_cost_us("alltoall.burst", &spread,
                                                      4, UINT64_C(1) << 36),
                           1024 * large_us, 1e-3 * large_us);
    spread.is_shared = true; /* 8 messages one after the other */
    CU_ASSERT_DOUBLE_EQUAL(
        nf_exchange_bounds_cost_us("alltoall.burst", &spread, 4, 1000), 890,
        1e-9);
}

/* What has a formula for a ring has the same price as a shape of one side. */
static void schedules_have_their_own_price(void)
{
    static const struct {
        const char *formula, *schedule;
        uint32_t ranks;
    } same[] = {
        { "alltoall.dh", "alltoall.dh:shape=8", 8 },
        { "alltoall.naive", "alltoall.naive:shape=7", 7 },
        { "alltoall.cdh", "alltoall.cdh:shape=9", 9 },
        { "alltoall.bruck", "alltoall.bruck:radix=2", 13 },
        { "alltoall.mdh", "alltoall.mdh:shape=7", 7 },
    };
    struct nf_coll_network crowded = network;
    double split_us, dh_us;

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        for (uint64_t bytes = 0; bytes <= 1 << 20; bytes = 4 * bytes + 1) {
            double formula_us = nf_exchange_bounds_cost_us(
                same[i].formula, &network, same[i].ranks, bytes);

            CU_ASSERT_DOUBLE_EQUAL(
                nf_exchange_bounds_cost_us(same[i].schedule, &network,
                                           same[i].ranks, bytes),
                formula_us, 1e-9 * formula_us);
        }
    /* by hand: 4 and 4 blocks in rows of four, 4 in columns of two; in six rounds 35 */
    dh_us = nf_exchange_bounds_cost_us("alltoall.dh:shape=2x4", &network, 8, 10);
    CU_ASSERT_DOUBLE_EQUAL(dh_us, 3 * 90 + 0.085 * (4 + 4 + 4) * 10, 1e-9);
    split_us = nf_exchange_bounds_cost_us("alltoall.split_merge:shape=3x3",
                                          &network, 9, 10);
    CU_ASSERT_DOUBLE_EQUAL(split_us, 6 * 90 + 0.085 * 35 * 10, 1e-9);
    /* a tenth of half duplex, in which each round takes three turns */
    crowded.delta = 1.1;
    CU_ASSERT_DOUBLE_EQUAL(nf_exchange_bounds_cost_us("alltoall.dh:shape=8",
                                                      &crowded, 8, 10),
                           nf_exchange_bounds_cost_us("alltoall.dh", &crowded,
                                                      8, 10),
                           1e-9);
    CU_ASSERT_DOUBLE_EQUAL(nf_exchange_bounds_cost_us("alltoall.dh:shape=2x4",
                                                      &crowded, 8, 10),
                           1.2 * dh_us, 1e-9);
    crowded.delta = 1;
    /* 8 ranks, a message each in each of three rounds */
    crowded.share_us = 1000;
    CU_ASSERT_DOUBLE_EQUAL(nf_exchange_bounds_cost_us("alltoall.dh:shape=2x4",
                                                      &crowded, 8, 10),
                           24000, 1e-9);
    /* and before each its sizes, 32 bytes of which take less than o_s */
    crowded.lists = true;
    CU_ASSERT_DOUBLE_EQUAL(nf_exchange_bounds_cost_us("alltoall.dh:shape=2x4",
                                                      &crowded, 8, 10),
                           48000, 1e-9);
    crowded.share_us = 0;
    CU_ASSERT_DOUBLE_EQUAL(nf_exchange_bounds_cost_us("alltoall.dh:shape=2x4",
                                                      &crowded, 8, 10),
                           dh_us + 3 * crowded.price.occupancy_us, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(
        nf_exchange_bounds_cost_us("alltoall.dh:shape=8", &crowded, 8, 10),
        nf_exchange_bounds_cost_us("alltoall.dh", &crowded, 8, 10), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(
        nf_exchange_bounds_cost_us("alltoall.pairwise_xor", &crowded, 8, 10),
        nf_exchange_bounds_cost_us("alltoall.pairwise_xor", &network, 8, 10),
        1e-9);
    CU_ASSERT(isinf(
        nf_exchange_bounds_cost_us("alltoall.dh:shape=2x4", &network, 9, 10)));
    CU_ASSERT(isinf(nf_exchange_bounds_cost_us("alltoall.dh:shape=2x65",
                                               &network, 130, 10)));
    CU_ASSERT(isfinite(nf_exchange_bounds_cost_us("alltoall.dh:shape=2x64",
                                                  &network, 128, 10)));
    CU_ASSERT(isinf(nf_exchange_bounds_cost_us("alltoall.dh:shape=10x20",
                                               &network, 200, 10)));
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "bounds are where the choice changes",
          bounds_are_where_the_choice_changes },
        { "what is picked is about the best",
          what_is_picked_is_about_the_best },
        { "rules come first", rules_come_first },
        { "as text and back", as_text_and_back },
        { "bad text is refused", bad_text_is_refused },
        { "wishes must fit", wishes_must_fit },
        { "algorithms have their price", algorithms_have_their_price },
        { "messages that stay on hosts are near",
          messages_that_stay_on_hosts_are_near },
        { "schedules have their own price", schedules_have_their_own_price },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "exchange bounds", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
