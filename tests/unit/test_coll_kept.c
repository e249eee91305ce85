/* What algorithms keep at a member, and the choice by how much there may be.
 * That nothing keeps more than it says is tested by carrying all out, in
 * test_coll_exec. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "common/coll/exchange_choice.h"
#include "common/coll/kept.h"
#include "common/coll/rules.h"
#include "common/coll/select.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MAX = 33, ITEM_BYTES = 1 << 17 };
#define MIB (UINT64_C(1) << 20)

/* A switched network, without o_s. */
static struct nf_coll_network network(void)
{
    return (struct nf_coll_network){
        .price = { .npieces = 1, .pieces = { { 0, 90, 0.085 } } }, .delta = 1
    };
}

/* ------------------------------------------------------------ the formulas */

/* All that comes to a rank or goes from it, of the rank with most. */
static uint64_t most_traffic(const struct nf_coll_algorithm *algorithm,
                             const struct nf_coll_args *args)
{
    uint64_t items[RANKS_MAX] = { 0 }, most = 0;
    struct nf_schedule s;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, &err),
                    NF_OK);
    for (size_t m = 0; m < s.count; m++)
        for (uint32_t i = 0; i < s.messages[m].nspans; i++) {
            uint32_t count = s.spans[s.messages[m].first_span + i].count;

            items[s.messages[m].src] += count;
            items[s.messages[m].dst] += count;
        }
    for (uint32_t r = 0; r < args->ranks; r++)
        most = items[r] > most ? items[r] : most;
    nf_schedule_fini(&s);
    return most * ITEM_BYTES;
}

static bool is_vector(enum nf_coll_op op)
{
    return op != NF_COLL_GATHER && op != NF_COLL_SCATTER;
}

/* No formula is out of the air: nobody keeps more than passes through it. */
static void nobody_keeps_more_than_passes(void)
{
    static const uint32_t ks[] = { 1, 3, 16 };
    unsigned tried = 0, wrong = 0;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks++)
            for (int k = 0; k < 3; k++) {
                const struct nf_coll_algorithm *a = nf_coll_table[i];
                const struct nf_coll_args args = { .ranks = ranks,
                                                   .segments = ks[k] };
                uint64_t bytes = ITEM_BYTES;

                if (a->kept == NULL || a->op == NF_COLL_ALLTOALL ||
                    nf_coll_fits(a, &args, NULL) != NF_OK)
                    continue;
                /* made for hosts with several members each */
                if (strstr(a->name, "two_level") != NULL &&
                    a->op != NF_COLL_BCAST)
                    continue;
                if (is_vector(a->op))
                    bytes *= nf_coll_item_count(a, &args);
                tried++;
                if (nf_coll_kept_bytes(a, ranks, bytes, args.segments) >
                        most_traffic(a, &args) &&
                    wrong++ < 10)
                    printf("\n    %s P %u k %u", a->name, ranks, ks[k]);
            }
    CU_ASSERT(tried > 3000);
    CU_ASSERT_EQUAL(wrong, 0);
}

static void all_but_barriers_keep_something(void)
{
    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *a = nf_coll_table[i];
        uint64_t before = UINT64_MAX;

        CU_ASSERT((a->kept == NULL) == (a->op == NF_COLL_BARRIER));
        CU_ASSERT_EQUAL(nf_coll_kept_bytes(a, 1, MIB, 1), 0);
        for (uint32_t k = 1; k <= 40 && a->kept != NULL; k++) {
            uint64_t now = nf_coll_kept_bytes(a, 13, MIB, k);

            CU_ASSERT(now > 0 && now <= before);
            before = now;
        }
    }
}

static void parts_are_rounded_up_and_do_not_wrap(void)
{
    CU_ASSERT_EQUAL(nf_kept_part(10, 2, 3), 7);
    CU_ASSERT_EQUAL(nf_kept_part(9, 2, 3), 6);
    CU_ASSERT_EQUAL(nf_kept_part(0, 5, 7), 0);
    CU_ASSERT_EQUAL(nf_kept_part(UINT64_MAX, 1, 1), UINT64_MAX);
    CU_ASSERT_EQUAL(nf_kept_part(UINT64_MAX, 4095, 4096),
                    UINT64_MAX - (UINT64_MAX / 4096));
    CU_ASSERT_EQUAL(nf_kept_part(UINT64_MAX / 2, 12, 1), UINT64_MAX);
}

/* By hand: 16 ranks, 1 MiB. */
static void some_formulas_by_hand(void)
{
    static const struct {
        const char *name;
        uint32_t k;
        uint64_t bytes;
    } rows[] = {
        { "bcast.pipeline.fd", 8, MIB },
        { "reduce.linear", 1, 15 * MIB },
        { "reduce.binomial", 1, 4 * MIB },
        { "reduce.chain.fd", 8, MIB },
        { "reduce.circulant", 1, 4 * MIB },
        { "reduce.circulant", 3, 2 * MIB },
        { "allreduce.ring", 1, 2 * MIB - MIB / 8 },
        { "allreduce.rec_doubling", 1, 4 * MIB },
        { "scan.brent_kung", 1, 4 * MIB },
        { "gather.linear", 1, MIB },
        { "gather.linear_nb", 1, 8 * MIB },
        { "gather.binomial", 1, 15 * MIB },
        { "scatter.binomial", 1, 8 * MIB },
        { "alltoall.burst", 1, 2 * MIB },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CU_ASSERT_EQUAL(
            nf_coll_kept_bytes(nf_coll_find(rows[i].name), 16, MIB, rows[i].k),
            rows[i].bytes);
    /* small blocks are not held back */
    CU_ASSERT_EQUAL(
        nf_coll_kept_bytes(nf_coll_find("gather.linear"), 16, 1024, 1),
        15 * 1024);
}

/* --------------------------------------------------------------- the filter */

static struct nf_coll_query query_of(enum nf_coll_op op, uint32_t ranks,
                                     uint64_t bytes, uint64_t memory_bytes)
{
    return (struct nf_coll_query){ .op = op,
                                   .ranks = ranks,
                                   .bytes = bytes,
                                   .elements = bytes / 8,
                                   .commutative = true,
                                   .memory_bytes = memory_bytes };
}

/* The least that it may keep in this call. */
static uint64_t least_of(const struct nf_coll_algorithm *a,
                         const struct nf_coll_query *query)
{
    uint32_t k = a->items == NF_ITEMS_SEGMENTS
                     ? nf_coll_clamp_segments(query->elements, UINT64_MAX)
                     : 1;

    return nf_coll_kept_bytes(a, query->ranks, query->bytes, k);
}

/* @return how many were taken out */
static unsigned check_filter(const struct nf_coll_query *query)
{
    struct nf_coll_query free_of = *query;
    uint64_t least = UINT64_MAX;
    unsigned left = 0, out = 0;

    free_of.memory_bytes = 0;
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        if (nf_coll_serves(nf_coll_table[i], &free_of) &&
            least_of(nf_coll_table[i], query) < least)
            least = least_of(nf_coll_table[i], query);
    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *a = nf_coll_table[i];
        uint64_t own = least_of(a, query);
        bool want = nf_coll_serves(a, &free_of) &&
                    (own <= query->memory_bytes || own == least);

        CU_ASSERT_EQUAL(nf_coll_serves(a, query), want);
        left += want;
        out += !want && nf_coll_serves(a, &free_of);
    }
    CU_ASSERT(left > 0);
    return out;
}

static void a_limit_takes_out_some_and_never_all(void)
{
    unsigned out = 0;

    for (int op = 0; op < NF_COLL_OPS; op++)
        for (uint32_t ranks = 2; ranks <= 70; ranks += ranks < 9 ? 1 : 13)
            for (uint64_t bytes = 8; bytes <= 8 * MIB; bytes *= 32)
                for (uint64_t limit = 1; limit <= 1024 * MIB; limit *= 16)
                    for (int ordered = 0; ordered < 2; ordered++) {
                        struct nf_coll_query query =
                            query_of((enum nf_coll_op)op, ranks, bytes, limit);

                        query.commutative = ordered == 0;
                        out += check_filter(&query);
                    }
    CU_ASSERT(out > 1000);
}

/* What is chosen keeps no more than it may, or the least that there is; and a
 * limit that all keep to changes nothing. */
static void the_choice_keeps_to_the_limit(void)
{
    const struct nf_coll_network net = network();
    unsigned changed = 0;

    for (int op = 0; op < NF_COLL_OPS; op++)
        for (uint32_t ranks = 2; ranks <= 70; ranks += ranks < 9 ? 1 : 13)
            for (uint64_t bytes = 64; bytes <= 8 * MIB; bytes *= 8) {
                struct nf_coll_query query =
                    query_of((enum nf_coll_op)op, ranks, bytes, 0);
                struct nf_coll_choice usual, choice;
                uint64_t kept, least = UINT64_MAX;

                CU_ASSERT(nf_coll_select(&query, &net, NULL, NULL, &usual,
                                         NULL) == NF_OK);
                query.memory_bytes = UINT64_MAX;
                CU_ASSERT(nf_coll_select(&query, &net, NULL, NULL, &choice,
                                         NULL) == NF_OK);
                CU_ASSERT(choice.algorithm == usual.algorithm &&
                          choice.segments == usual.segments);
                query.memory_bytes = bytes + bytes / 2;
                CU_ASSERT(nf_coll_select(&query, &net, NULL, NULL, &choice,
                                         NULL) == NF_OK);
                kept = nf_coll_kept_bytes(choice.algorithm, ranks, bytes,
                                          choice.segments);
                for (size_t i = 0; nf_coll_table[i] != NULL; i++)
                    if (nf_coll_serves(nf_coll_table[i], &query) &&
                        least_of(nf_coll_table[i], &query) < least)
                        least = least_of(nf_coll_table[i], &query);
                CU_ASSERT(kept <= query.memory_bytes || kept == least);
                CU_ASSERT(choice.cost_us >= usual.cost_us * (1 - 1e-9));
                changed += choice.algorithm != usual.algorithm ||
                           choice.segments != usual.segments;
            }
    CU_ASSERT(changed > 50);
}

/* With more segments a circulant graph keeps less: it gets as many as it takes
 * rather than being taken out. */
static void segments_make_room(void)
{
    const struct nf_coll_network net = network();
    const struct nf_coll_algorithm *a = nf_coll_find("reduce.circulant");
    struct nf_coll_query query = query_of(NF_COLL_REDUCE, 16, 4096, 6144);
    double usual_us, us;
    uint32_t usual, k;

    query.elements = 4096;
    CU_ASSERT_EQUAL(nf_coll_least_segments(a, &query), 6); /* 9/6 of it */
    k = nf_coll_usual_segments(a, &net, &query, &us);
    query.memory_bytes = 0;
    CU_ASSERT_EQUAL(nf_coll_least_segments(a, &query), 1);
    usual = nf_coll_usual_segments(a, &net, &query, &usual_us);
    CU_ASSERT(usual < 6);
    CU_ASSERT_EQUAL(k, 6);
    CU_ASSERT(us > usual_us);
    /* with all numbers of them these keep the vector */
    query = query_of(NF_COLL_REDUCE, 16, 65536, 65535);
    query.elements = 65536;
    a = nf_coll_find("reduce.chain.fd");
    CU_ASSERT_EQUAL(nf_coll_least_segments(a, &query), 1);
    k = nf_coll_usual_segments(a, &net, &query, &us);
    query.memory_bytes = 0;
    CU_ASSERT_EQUAL(nf_coll_usual_segments(a, &net, &query, &usual_us), k);
    CU_ASSERT(us <= usual_us);
}

/* Rules of a table go by the limit too; who asks by name gets it. */
static void rules_keep_to_it_and_names_do_not(void)
{
    const struct nf_coll_network net = network();
    struct nf_coll_query query = query_of(NF_COLL_REDUCE, 16, MIB, 2 * MIB);
    const struct nf_coll_rule linear = {
        .op = NF_COLL_REDUCE,
        .operators = NF_CLASS_COMMUTATIVE,
        .ranks = 16,
        .max_bytes = 4 * MIB,
        .algorithm = nf_coll_find("reduce.linear"),
    };
    struct nf_coll_rule circulant = linear;
    struct nf_coll_choice choice;
    struct nf_coll_rules rules;

    nf_coll_rules_init(&rules);
    CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &linear), NF_OK);
    CU_ASSERT(nf_coll_select(&query, &net, &rules, NULL, &choice, NULL) ==
              NF_OK);
    CU_ASSERT(choice.algorithm != linear.algorithm);
    query.memory_bytes = 15 * MIB;
    CU_ASSERT(nf_coll_select(&query, &net, &rules, NULL, &choice, NULL) ==
              NF_OK);
    CU_ASSERT(choice.algorithm == linear.algorithm);
    query.memory_bytes = 2 * MIB;
    CU_ASSERT(nf_coll_select(&query, &net, &rules, "reduce.linear", &choice,
                             NULL) == NF_OK);
    CU_ASSERT(choice.algorithm == linear.algorithm);
    circulant.algorithm = nf_coll_find("reduce.circulant");
    circulant.k_rule = NF_K_FIXED;
    circulant.value = 1;
    CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &circulant), NF_OK);
    CU_ASSERT(nf_coll_select(&query, &net, &rules, NULL, &choice, NULL) ==
              NF_OK);
    CU_ASSERT(choice.algorithm == circulant.algorithm);
    CU_ASSERT_EQUAL(choice.segments, 3);
    nf_coll_rules_fini(&rules);
}

/* Blocks that rest at others take room: a burst takes none. */
static void exchanges_keep_to_it(void)
{
    const struct nf_coll_network net = network();
    struct nf_coll_query query = query_of(NF_COLL_ALLTOALL, 64, 64, 0);
    struct nf_coll_choice choice;

    CU_ASSERT(nf_coll_select_by_model(&query, &net, &choice));
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "alltoall.mixed");
    query.memory_bytes = 3 * 64 * 64;
    CU_ASSERT(nf_coll_select_by_model(&query, &net, &choice));
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "alltoall.mixed");
    query.memory_bytes--;
    CU_ASSERT(nf_coll_select_by_model(&query, &net, &choice));
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "alltoall.burst");
    CU_ASSERT_EQUAL(choice.params.radices.count, 0);
    CU_ASSERT(choice.cost_us > 0);
}

int main(void)
{
    CU_TestInfo formulas[] = {
        { "nobody keeps more than passes through it",
          nobody_keeps_more_than_passes },
        { "all but barriers keep something, and no more with more segments",
          all_but_barriers_keep_something },
        { "parts are rounded up, and do not wrap around",
          parts_are_rounded_up_and_do_not_wrap },
        { "some formulas by hand", some_formulas_by_hand },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo filter[] = {
        { "a limit takes out some and never all",
          a_limit_takes_out_some_and_never_all },
        { "the choice keeps to the limit", the_choice_keeps_to_the_limit },
        { "segments make room", segments_make_room },
        { "rules keep to it, names do not", rules_keep_to_it_and_names_do_not },
        { "all-to-all keeps to it", exchanges_keep_to_it },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "what algorithms keep", NULL, NULL, NULL, NULL, formulas },
        { "the choice by memory", NULL, NULL, NULL, NULL, filter },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
