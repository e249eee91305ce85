/* Algorithms of two levels: right for any hosts, and each item crosses to each
 * host once. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/coll/check.h"
#include "common/coll/select.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MAX = 64 };

static const char *const names[] = { "bcast.two_level",
                                     "reduce.two_level",
                                     "reduce.two_level_ordered",
                                     "allreduce.two_level",
                                     "allreduce.two_level_ordered",
                                     "barrier.two_level" };
enum { NAMES = sizeof(names) / sizeof(*names) };

/* Neighbours, going round, by chance, all on one, each on its own. */
enum { WAYS = 5 };
static uint32_t draw_hosts(struct nf_rng *rng, int way, uint32_t ranks,
                           uint32_t hosts[RANKS_MAX])
{
    uint32_t wanted = 1 + (uint32_t)nf_rng_below(rng, ranks), count = 0;
    bool seen[RANKS_MAX] = { false };

    for (uint32_t r = 0; r < ranks; r++) {
        hosts[r] = way == 0   ? r * wanted / ranks
                   : way == 1 ? r % wanted
                   : way == 2 ? (uint32_t)nf_rng_below(rng, wanted)
                   : way == 3 ? 7 % ranks
                              : ranks - 1 - r;
        count += !seen[hosts[r]];
        seen[hosts[r]] = true;
    }
    return count;
}

/* Is it right, and does each item cross as often as it must? */
static bool is_right(const struct nf_coll_algorithm *algorithm,
                     const struct nf_coll_args *args, uint32_t hosts)
{
    struct nf_coll_claim claim = nf_coll_claim_of(algorithm, args);
    struct nf_coll_faults faults;
    struct nf_schedule s;
    struct nf_error err = { .text = "crosses too often" };
    uint64_t crossings = 0, want = (uint64_t)args->segments * (hosts - 1);
    enum nf_status status =
        nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, &err);

    if (algorithm->op == NF_COLL_ALLREDUCE)
        want *= 2;
    /* by way of rank 0 */
    if (algorithm == &nf_coll_reduce_two_level_ordered &&
        args->hosts[args->root] != args->hosts[0])
        want += args->segments;
    claim.orders = 1;
    if (status == NF_OK)
        status = nf_coll_check(&claim, &s, &faults, &err);
    for (size_t m = 0; m < s.count; m++)
        for (uint32_t i = 0; i < s.messages[m].nspans; i++)
            if (args->hosts[s.messages[m].src] !=
                args->hosts[s.messages[m].dst])
                crossings += s.spans[s.messages[m].first_span + i].count;
    if (status == NF_OK && algorithm->op != NF_COLL_BARRIER &&
        crossings != want)
        status = NF_ERR_FAILED;
    nf_schedule_fini(&s);
    if (status != NF_OK)
        printf("\n    %s P %u root %u k %u hosts %u: %s", algorithm->name,
               args->ranks, args->root, args->segments, hosts, err.text);
    return status == NF_OK;
}

static void any_hosts_are_right(void)
{
    static const uint32_t ks[] = { 1, 2, 5 };
    struct nf_rng rng = { 1 };
    unsigned wrong = 0;

    for (int n = 0; n < NAMES; n++)
        for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++)
            for (int way = 0; way < WAYS; way++)
                for (int k = 0; k < 3; k++) {
                    uint32_t hosts[RANKS_MAX];
                    uint32_t count = draw_hosts(&rng, way, ranks, hosts);
                    struct nf_coll_args args = {
                        .ranks = ranks,
                        .root = (uint32_t)nf_rng_below(&rng, ranks),
                        .segments = ks[k],
                        .hosts = hosts,
                    };
                    const struct nf_coll_algorithm *a = nf_coll_find(names[n]);

                    if (a->op == NF_COLL_ALLREDUCE || a->op == NF_COLL_BARRIER)
                        args.root = 0;
                    wrong += wrong < 10 && !is_right(a, &args, count);
                }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* ------------------------------------------------------------- the order */

/* By the definition: between two ranks of a host there is none of another. */
static bool are_in_order(const uint32_t *hosts, uint32_t ranks)
{
    for (uint32_t a = 0; a < ranks; a++)
        for (uint32_t b = a + 1; b < ranks; b++)
            for (uint32_t c = b + 1; c < ranks; c++)
                if (hosts[a] == hosts[c] && hosts[b] != hosts[a])
                    return false;
    return true;
}

/* Are the operands combined in the order of ranks, with symbols that tell? */
static bool keeps_order(const struct nf_coll_algorithm *algorithm,
                        const struct nf_coll_args *args)
{
    struct nf_coll_claim claim = nf_coll_claim_of(algorithm, args);
    struct nf_coll_faults faults;
    struct nf_schedule s;
    struct nf_error err;
    bool kept = nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, &err) == NF_OK;

    claim.order = NF_ORDER_RANKS;
    claim.orders = 1;
    kept = kept && nf_coll_check(&claim, &s, &faults, &err) == NF_OK;
    nf_schedule_fini(&s);
    return kept;
}

static bool serves_ordered(const struct nf_coll_algorithm *algorithm,
                           const struct nf_coll_args *args)
{
    const struct nf_coll_query query = { .op = algorithm->op,
                                         .ranks = args->ranks,
                                         .root = args->root,
                                         .bytes = 800,
                                         .elements = 100,
                                         .hosts = args->hosts };

    return nf_coll_serves(algorithm, &query);
}

/* Where the filter lets an operator pass that does not commute the order is
 * kept, whatever the root and k; where it does not, it is broken. */
static void the_filter_is_exact(void)
{
    static const struct nf_coll_algorithm *const ordered[] = {
        &nf_coll_reduce_two_level_ordered, &nf_coll_allreduce_two_level_ordered
    };
    struct nf_rng rng = { 2 };
    unsigned wrong = 0, served = 0, refused = 0;

    for (int n = 0; n < 2; n++)
        for (uint32_t ranks = 2; ranks <= 24; ranks++)
            for (int way = 0; way < WAYS; way++)
                for (uint32_t k = 1; k <= 4; k += 3) {
                    uint32_t hosts[RANKS_MAX];
                    const struct nf_coll_args args = {
                        .ranks = ranks,
                        .root =
                            n == 0 ? (uint32_t)nf_rng_below(&rng, ranks) : 0,
                        .segments = k,
                        .hosts = hosts,
                    };
                    bool serves, keeps;

                    (void)draw_hosts(&rng, way, ranks, hosts);
                    serves = serves_ordered(ordered[n], &args);
                    keeps = keeps_order(ordered[n], &args);
                    wrong += serves != are_in_order(hosts, ranks);
                    wrong += serves != keeps;
                    served += serves;
                    refused += !serves;
                }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(served > 200);
    CU_ASSERT(refused > 100);
}

/* All maps of few ranks, hosts being numbered as they come. */
static void hosts_in_order_are_found(void)
{
    uint32_t hosts[7] = { 0 };
    unsigned tried = 0, in_order = 0;

    for (uint32_t code = 0; code < 7 * 7 * 7 * 7 * 7 * 7; code++) {
        uint32_t rest = code;

        for (int r = 1; r < 7; r++, rest /= 7)
            hosts[r] = rest % 7;
        tried++;
        in_order += nf_coll_hosts_in_order(hosts, 7);
        CU_ASSERT_EQUAL(nf_coll_hosts_in_order(hosts, 7),
                        are_in_order(hosts, 7));
    }
    CU_ASSERT(in_order > 1000 && in_order < tried / 2);
    CU_ASSERT_TRUE(nf_coll_hosts_in_order(NULL, 7));
    CU_ASSERT_TRUE(nf_coll_hosts_in_order(hosts, 1));
}

/* Those without "ordered" are refused: they break the order even of neighbours,
 * once there are three hosts. */
static void the_others_keep_no_order(void)
{
    uint32_t hosts[9];
    const struct nf_coll_args args = { .ranks = 9,
                                       .segments = 2,
                                       .hosts = hosts };

    for (uint32_t r = 0; r < 9; r++)
        hosts[r] = r / 3;
    CU_ASSERT_FALSE(keeps_order(&nf_coll_reduce_two_level, &args));
    CU_ASSERT_FALSE(keeps_order(&nf_coll_allreduce_two_level, &args));
    CU_ASSERT_FALSE(serves_ordered(&nf_coll_reduce_two_level, &args));
    CU_ASSERT_FALSE(serves_ordered(&nf_coll_allreduce_two_level, &args));
    CU_ASSERT_TRUE(keeps_order(&nf_coll_reduce_two_level_ordered, &args));
    CU_ASSERT_TRUE(keeps_order(&nf_coll_allreduce_two_level_ordered, &args));
}

/* As many rounds as one level has, where every rank has a host of its own. */
static void one_rank_a_host_is_one_level(void)
{
    const struct nf_coll_args args = { .ranks = 13, .root = 4, .segments = 6 };
    struct nf_schedule two, one;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_coll_make(nf_coll_find("bcast.two_level"), &args,
                                 NF_ALL_RANKS, &two, &err),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_coll_make(nf_coll_find("bcast.circulant"), &args,
                                 NF_ALL_RANKS, &one, &err),
                    NF_OK);
    CU_ASSERT_EQUAL(two.count, one.count);
    CU_ASSERT_EQUAL(nf_schedule_rounds(&two), nf_schedule_rounds(&one));
    nf_schedule_fini(&two);
    nf_schedule_fini(&one);
}

/* -------------------------------------------------------------- the price */

enum { SHARING = 16 };

/* Every other rank on the same host; what is combined takes 0.0005 us a byte. */
static struct nf_coll_network two_links(uint32_t hosts, double near_start_us,
                                        double near_byte_us)
{
    struct nf_model model = { .npieces = 1,
                              .pieces = { { 0, 90, 0.085 } },
                              .nnear = near_start_us > 0,
                              .near = { { 0, near_start_us, near_byte_us } },
                              .delta = 1 };
    struct nf_coll_network network;
    uint32_t host_of[SHARING];

    CU_ASSERT_EQUAL(nf_model_set_combine(&model, "double", "sum", 0.0005),
                    NF_OK);
    for (uint32_t r = 0; r < SHARING; r++)
        host_of[r] = r % hosts;
    network = nf_coll_network_of(&model, "double", "sum");
    nf_coll_network_spread(&network, host_of, SHARING);
    CU_ASSERT_EQUAL(network.hosts, hosts);
    CU_ASSERT_EQUAL(network.fullest, (SHARING + hosts - 1) / hosts);
    return network;
}

static void expect_us(const struct nf_coll_network *network, const char *name,
                      double bytes, uint32_t segments, double want_us)
{
    double got_us = nf_coll_cost_us(nf_coll_find(name), network, SHARING, bytes,
                                    segments);

    CU_ASSERT_DOUBLE_EQUAL(got_us, want_us, 1e-9 * want_us);
    if (!(fabs(got_us - want_us) <= 1e-9 * want_us))
        printf("\n    %s: %g, want %g", name, got_us, want_us);
}

/* By hand: two hosts with 8 ranks each, whose trees are 3 deep. */
static void both_kinds_of_links_make_a_price(void)
{
    struct nf_coll_network network = two_links(2, 15, 0.0007);

    expect_us(&network, "barrier.two_level", 0, 1, 2 * 3 * 15 + 90);
    expect_us(&network, "bcast.two_level", 1000, 1, 3 * 15.7 + 175);
    expect_us(&network, "reduce.two_level", 1000, 1, 3 * 16.2 + 175.5);
    /* four messages of a segment between, 12 within, which overlap */
    expect_us(&network, "reduce.two_level", 4000, 4,
              4 * 175.5 + 12 * 16.2 / 4);
    expect_us(&network, "reduce.two_level_ordered", 1000, 1,
              2 * 175.5 + 3 * 16.2);
    expect_us(&network, "allreduce.two_level", 1000, 1,
              3 * 16.2 + 175.5 + 3 * 15.7 + 175);
    expect_us(&network, "allreduce.two_level_ordered", 1000, 1,
              3 * 16.2 + 175.5 + 3 * 15.7 + 175);
    network.delta = 1.5; /* of two leaders one sends and one takes */
    expect_us(&network, "bcast.two_level", 4000, 4, 4 * 175 + 12 * 15.7 / 4);
    /* 15 messages of each segment go by the same processors */
    network.share_us = 100;
    expect_us(&network, "bcast.two_level", 4000, 4, 4 * 15 * 100);
    expect_us(&network, "barrier.two_level", 0, 1, (2 * 14 + 2) * 100);
    network = two_links(4, 15, 0.0007);
    network.delta = 1.5; /* of four some do both */
    expect_us(&network, "bcast.two_level", 4000, 4,
              5 * 1.5 * 175 + 8 * 15.7 / 4);
}

static void one_kind_makes_none(void)
{
    struct nf_coll_network network = two_links(2, 0, 0);

    for (int n = 0; n < NAMES; n++)
        CU_ASSERT_FALSE(isfinite(nf_coll_cost_us(nf_coll_find(names[n]),
                                                 &network, SHARING, 8, 1)));
    network = two_links(2, 15, 0.0007);
    nf_coll_network_spread(&network, NULL, SHARING);
    for (int n = 0; n < NAMES; n++)
        CU_ASSERT_FALSE(isfinite(nf_coll_cost_us(nf_coll_find(names[n]),
                                                 &network, SHARING, 8, 1)));
    network = two_links(1, 15, 0.0007); /* there is nothing between */
    for (int n = 0; n < NAMES; n++)
        CU_ASSERT_FALSE(isfinite(nf_coll_cost_us(nf_coll_find(names[n]),
                                                 &network, SHARING, 8, 1)));
}

/* As many as along a circulant graph, as rounds are about as many. */
static void what_has_no_price_has_segments_too(void)
{
    static const enum nf_coll_op ops[] = { NF_COLL_BCAST, NF_COLL_REDUCE,
                                           NF_COLL_ALLREDUCE };
    const struct nf_coll_network network = two_links(2, 0, 0);

    for (int i = 0; i < 3; i++) {
        struct nf_coll_query query = { .op = ops[i],
                                       .ranks = SHARING,
                                       .bytes = 8 << 20,
                                       .elements = 1 << 20,
                                       .commutative = true };
        char name[40];
        double us;

        snprintf(name, sizeof(name), "%s.two_level", nf_coll_op_names[ops[i]]);
        CU_ASSERT(nf_coll_usual_segments(nf_coll_find(name), &network, &query,
                                         &us) > 4);
        CU_ASSERT_FALSE(isfinite(us));
        query.bytes = query.elements = 8; /* not worth it */
        CU_ASSERT_EQUAL(nf_coll_usual_segments(nf_coll_find(name), &network,
                                               &query, NULL),
                        1);
    }
}

static const char *taken(const struct nf_coll_network *network,
                         enum nf_coll_op op, uint64_t bytes, bool commutative,
                         const uint32_t *hosts)
{
    const struct nf_coll_query query = { .op = op,
                                         .ranks = SHARING,
                                         .bytes = bytes,
                                         .elements = (bytes + 7) / 8,
                                         .commutative = commutative,
                                         .hosts = hosts };
    struct nf_coll_choice choice = { .algorithm = NULL };

    CU_ASSERT_TRUE(nf_coll_select_by_model(&query, network, &choice));
    return choice.algorithm->name;
}

/* Where messages within a host are cheap, and not where they are as dear. */
static void auto_takes_two_levels_where_they_pay(void)
{
    static const enum nf_coll_op ops[] = { NF_COLL_REDUCE, NF_COLL_ALLREDUCE,
                                           NF_COLL_BARRIER, NF_COLL_BCAST };
    const struct nf_coll_network cheap = two_links(2, 15, 0.0007);
    const struct nf_coll_network dear = two_links(2, 90, 0.085);
    uint32_t mixed[SHARING], in_order[SHARING];

    for (uint32_t r = 0; r < SHARING; r++) {
        mixed[r] = r % 2;
        in_order[r] = r / 8;
    }
    for (int i = 0; i < 4; i++) {
        char name[40];

        snprintf(name, sizeof(name), "%s.two_level", nf_coll_op_names[ops[i]]);
        CU_ASSERT_STRING_EQUAL(taken(&cheap, ops[i], 8, true, mixed), name);
        CU_ASSERT_STRING_NOT_EQUAL(taken(&dear, ops[i], 8, true, mixed), name);
    }
    /* others keep the order where ranks of a host are not neighbours */
    CU_ASSERT_STRING_EQUAL(taken(&cheap, NF_COLL_REDUCE, 8, false, in_order),
                           "reduce.two_level_ordered");
    CU_ASSERT_STRING_NOT_EQUAL(taken(&cheap, NF_COLL_REDUCE, 8, false, mixed),
                               "reduce.two_level_ordered");
    /* the model says how many segments, too */
    for (uint64_t bytes = 1 << 16; bytes <= 1 << 24; bytes *= 4) {
        const struct nf_coll_query query = { .op = NF_COLL_REDUCE,
                                             .ranks = SHARING,
                                             .bytes = bytes,
                                             .elements = bytes / 8,
                                             .commutative = true,
                                             .hosts = mixed };
        const struct nf_coll_algorithm *a = &nf_coll_reduce_two_level;
        double us;
        uint32_t k = nf_coll_usual_segments(a, &cheap, &query, &us);

        CU_ASSERT(us <= nf_coll_cost_us(a, &cheap, SHARING, (double)bytes, 1));
        CU_ASSERT_DOUBLE_EQUAL(
            us, nf_coll_cost_us(a, &cheap, SHARING, (double)bytes, k),
            1e-9 * us);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "any hosts are right, and items cross once", any_hosts_are_right },
        { "one rank a host is one level", one_rank_a_host_is_one_level },
        { "hosts whose ranks are neighbours are found",
          hosts_in_order_are_found },
        { "where the order is not kept, operators must commute",
          the_filter_is_exact },
        { "circulant graphs keep no order", the_others_keep_no_order },
        { "both kinds of links make a price",
          both_kinds_of_links_make_a_price },
        { "one kind makes none", one_kind_makes_none },
        { "what has no price has segments too",
          what_has_no_price_has_segments_too },
        { "auto takes two levels where they pay",
          auto_takes_two_levels_where_they_pay },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "two levels", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
