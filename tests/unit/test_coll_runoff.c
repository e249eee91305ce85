/* The last list of coll-bench --tune: what is in it, and what is made of it. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "apps/collbench/team.h"
#include "apps/nowfarm/coll_search.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 8 };

static struct nf_coll_network a_network(void)
{
    return (struct nf_coll_network){
        .price = { .npieces = 1,
                   .pieces = { { 0, 90, 0.085 } },
                   .ports = NF_PORTS_FULL },
        .delta = 1
    };
}

static struct stats_interval exactly(double us)
{
    return (struct stats_interval){ .n = 20, .median = us, .low = us, .high = us };
}

static struct coll_candidate way(const char *name, uint32_t segments, double us)
{
    return (struct coll_candidate){ .algorithm = nf_coll_find(name),
                                    .segments = segments,
                                    .us = exactly(us) };
}

/* Long ones are not made a thousand times. */
static void only_short_calls_are_measured_again(void)
{
    const struct nf_coll_network network = a_network();
    const struct nf_coll_query query =
        bench_query(NF_COLL_REDUCE, RANKS, 8, false);

    for (int is_long = 0; is_long < 2; is_long++) {
        double us = is_long ? 11000 : 9000;
        struct coll_search search;

        coll_search_begin(&search, &query, &network, NULL, RANKS);
        CU_ASSERT(search.count >= 3);
        for (unsigned i = 0; i < search.count; i++) {
            struct stats_interval *of = &search.list[i].us;

            *of = (struct stats_interval){ .n = 200, .median = us };
            of->median *= i == 1 ? 0.9 : i == 2 ? 1.1 : 1.16;
            of->low = 0.8 * us; /* nobody clearly */
            of->high = 1.2 * us;
        }
        search.list[0].us.median = us;
        coll_search_go_on(&search);
        CU_ASSERT_EQUAL(search.count, is_long ? 0 : 3); /* 1.16: not near */
        CU_ASSERT(is_long || search.list[1].us.median < us);
        CU_ASSERT(is_long || coll_search_effort(&search).most == 1000);
    }
}

/* A way that lost by few calls, and came near the winner, is not lost. */
static void what_came_near_is_measured_again(void)
{
    const struct nf_coll_network network = a_network();
    const struct nf_coll_query query =
        bench_query(NF_COLL_REDUCE, RANKS, 8, false);
    struct coll_search search;
    struct coll_candidate lost;

    coll_search_begin(&search, &query, &network, NULL, RANKS);
    CU_ASSERT(search.count >= 3);
    for (unsigned i = 0; i < search.count; i++) {
        double us = i == 1 ? 90 : i == 2 ? 102 : 110 + i;

        search.list[i].us = exactly(us);
    }
    lost = search.list[2];
    coll_search_go_on(&search);
    CU_ASSERT_EQUAL(search.count, 2); /* the model's choice took 110: 1.22 */
    CU_ASSERT_PTR_EQUAL(search.list[1].algorithm, lost.algorithm);
    search.list[0].us = exactly(100);
    search.list[1].us = exactly(85);
    coll_search_go_on(&search);
    CU_ASSERT_EQUAL(search.count, 0);
    CU_ASSERT_PTR_EQUAL(search.best.algorithm, lost.algorithm);
}

static void segments_between_are_a_quarter_off(void)
{
    static const uint32_t want[][3] = {
        { 1, 2, 0 }, { 2, 3, 0 }, { 3, 2, 5 }, { 4, 3, 6 }, { 16, 12, 24 },
        { 1024, 768, 0 },
    };
    const struct nf_coll_network network = a_network();
    const struct nf_coll_query query =
        bench_query(NF_COLL_BCAST, RANKS, 1 << 20, false);

    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        const struct coll_candidate of = {
            .algorithm = nf_coll_find("bcast.circulant"),
            .segments = want[i][0],
        };
        struct coll_candidate next[2] = { { .segments = 0 } };
        unsigned n = coll_between(&query, &network, &of, next);

        CU_ASSERT_EQUAL(n, (want[i][1] != 0) + (want[i][2] != 0));
        CU_ASSERT_EQUAL(next[0].segments, want[i][1]);
        CU_ASSERT_EQUAL(next[1].segments, want[i][2]);
    }
}

/* A broadcast of 1 MiB, of which was seen what is here, and nothing else: the last
 * list. */
static struct coll_search last_of(const struct nf_coll_query *query,
                                  const struct nf_coll_network *network,
                                  const struct coll_candidate *seen,
                                  unsigned count)
{
    struct coll_search search;

    coll_search_begin(&search, query, network, NULL, RANKS);
    search.phase = COLL_SEARCH_FURTHER;
    search.best = seen[0];
    search.steps = COLL_STEPS;
    memcpy(search.list, seen, count * sizeof(*seen));
    search.count = count;
    coll_search_go_on(&search);
    for (unsigned i = 0; i < search.count; i++)
        for (unsigned j = 0; j < i; j++) /* nothing is timed twice */
            CU_ASSERT(search.list[j].algorithm != search.list[i].algorithm ||
                      search.list[j].segments != search.list[i].segments);
    return search;
}

/* Half and twice as many may be what a number between would be: at the ends of what
 * there is.  What was tried, and was not near, has lost. */
static void what_was_tried_is_not_tried_again(void)
{
    const struct nf_coll_network network = a_network();
    const struct coll_candidate large[] = { way("bcast.circulant", 700, 100),
                                            way("bcast.circulant", 1024, 150),
                                            way("bcast.circulant", 350, 150) };
    const struct coll_candidate small[] = { way("bcast.circulant", 3, 100),
                                            way("bcast.circulant", 4, 150),
                                            way("bcast.circulant", 1, 150) };
    const struct coll_candidate down[] = { way("bcast.circulant", 1, 100),
                                           way("bcast.circulant", 3, 150),
                                           way("bcast.circulant", 6, 200) };
    struct nf_coll_query query =
        bench_query(NF_COLL_BCAST, RANKS, 1 << 20, false);
    struct coll_search search = last_of(&query, &network, large, 3);

    CU_ASSERT_EQUAL(search.count, 2);
    CU_ASSERT_EQUAL(search.list[1].segments, 525);
    search = last_of(&query, &network, down, 3);
    CU_ASSERT_EQUAL(search.count, 2);
    CU_ASSERT_EQUAL(search.list[1].segments, 2); /* which was passed over */
    query.elements = 4;
    search = last_of(&query, &network, small, 3);
    CU_ASSERT_EQUAL(search.count, 2);
    CU_ASSERT_EQUAL(search.list[1].segments, 2);
}

/* One algorithm with many numbers of segments does not keep others out; then the
 * fastest come first, and no more than there are places. */
static void each_algorithm_has_a_place_first(void)
{
    const struct nf_coll_network network = a_network();
    const struct coll_candidate seen[] = {
        way("bcast.circulant", 64, 100),   way("bcast.circulant", 65, 101),
        way("bcast.circulant", 66, 102),   way("bcast.circulant", 67, 103),
        way("bcast.circulant", 68, 104),   way("bcast.circulant", 69, 105),
        way("bcast.pipeline.fd", 8, 110),  way("bcast.nesbt", 9, 112),
        way("bcast.pipeline.fd", 16, 113), way("bcast.binomial", 1, 116),
    };
    static const uint32_t want[] = { 64, 8, 9, 65, 66, 67, 48, 96 };
    const struct nf_coll_query query =
        bench_query(NF_COLL_BCAST, RANKS, 1 << 20, false);
    struct coll_search search = last_of(&query, &network, seen, 10);

    CU_ASSERT_EQUAL(search.count, COLL_FINAL_OTHERS + 3);
    for (unsigned i = 0; i < search.count; i++)
        CU_ASSERT_EQUAL(search.list[i].segments, want[i]);
}

/* The model's choice is the one to beat, so it is there whoever else came near. */
static void the_model_has_a_place(void)
{
    const struct nf_coll_network network = a_network();
    const struct nf_coll_query query =
        bench_query(NF_COLL_BCAST, RANKS, 1 << 20, false);
    struct coll_candidate seen[] = {
        way("bcast.circulant", 5, 100),  way("bcast.pipeline.fd", 8, 101),
        way("bcast.nesbt", 9, 102),      way("bcast.kseg.hd", 7, 103),
        way("bcast.binomial", 1, 104),   way("bcast.vdg_circ", 1, 105),
        way("bcast.circulant", 99, 114),
    };
    struct coll_search search;

    coll_search_begin(&search, &query, &network, NULL, RANKS);
    CU_ASSERT_STRING_EQUAL(search.model.algorithm->name, "bcast.circulant");
    seen[6].segments = search.model.segments;
    search = last_of(&query, &network, seen, 7);
    CU_ASSERT_EQUAL(search.count, COLL_FINAL_OTHERS + 3);
    CU_ASSERT_EQUAL(search.list[1].segments, search.model.segments);
    CU_ASSERT_PTR_EQUAL(search.list[5].algorithm, seen[4].algorithm);
    seen[6].us = exactly(116); /* not near */
    search = last_of(&query, &network, seen, 7);
    CU_ASSERT_EQUAL(search.list[1].segments, 8);
}

/* In order, by what was measured last of each. */
static void what_was_seen_is_remembered(void)
{
    const struct nf_coll_network network = a_network();
    const struct nf_coll_query query =
        bench_query(NF_COLL_BCAST, RANKS, 1 << 20, false);
    struct coll_candidate seen[COLL_CANDIDATES_MAX];
    struct coll_search search;

    for (unsigned i = 0; i < COLL_CANDIDATES_MAX; i++)
        seen[i] = way("bcast.circulant", 100 - i, 200 - i);
    search = last_of(&query, &network, seen, COLL_CANDIDATES_MAX);
    CU_ASSERT_EQUAL(search.nseen, COLL_CANDIDATES_MAX);
    search.list[0] = way("bcast.nesbt", 7, 50);
    search.list[1] = way("bcast.nesbt", 8, 300);
    search.list[2] = way("bcast.circulant", 100 - 5, 60);
    search.count = 3;
    coll_search_go_on(&search);
    CU_ASSERT_EQUAL(search.nseen, COLL_CANDIDATES_MAX + 2);
    CU_ASSERT_EQUAL(search.seen[0].segments, 7);
    CU_ASSERT_EQUAL(search.seen[1].segments, 100 - 5);
    CU_ASSERT_EQUAL(search.seen[2].segments, 100 - 15);
    CU_ASSERT_EQUAL(search.seen[search.nseen - 1].segments, 8);
    for (unsigned i = 1; i < search.nseen; i++)
        CU_ASSERT(search.seen[i - 1].us.median <= search.seen[i].us.median);
}

/* Wherever it stands in the last list. */
static void at_last_the_model_is_the_one_to_beat(void)
{
    const struct nf_coll_network network = a_network();
    const struct nf_coll_query query =
        bench_query(NF_COLL_REDUCE, RANKS, 8, false);

    for (int is_better = 0; is_better < 2; is_better++) {
        struct coll_search search;

        coll_search_begin(&search, &query, &network, NULL, RANKS);
        for (unsigned i = 0; i < search.count; i++)
            search.list[i].us = exactly(i == 0 ? 100 : i == 1 ? 90 : 200);
        coll_search_go_on(&search);
        CU_ASSERT_EQUAL(search.count, 2);
        CU_ASSERT_PTR_EQUAL(search.list[1].algorithm, search.model.algorithm);
        search.list[0].us = exactly(is_better ? 96 : 98);
        search.list[1].us = exactly(100);
        coll_search_go_on(&search);
        CU_ASSERT_EQUAL(coll_search_is_model(&search), !is_better);
    }
}

/* ---- and of what was found at several sizes ---- */

/* What is found at a size: in how many segments; 0: as the model has it. */
struct found {
    uint64_t bytes;
    const char *name;
    uint32_t segments;
};

/* The table of that as text, "MAX:ALGORITHM:K ...". */
static void table_of(const struct found *found, unsigned count, char *text_p)
{
    struct nf_coll_rules rules;
    uint64_t sizes[4];

    nf_coll_rules_init(&rules);
    for (unsigned i = 0; i < count; i++)
        sizes[i] = found[i].bytes;
    for (unsigned i = 0; i < count; i++) {
        const struct nf_coll_query query =
            bench_query(NF_COLL_BCAST, RANKS, sizes[i], false);
        const struct coll_candidate c = {
            .algorithm = nf_coll_find(found[i].name),
            .segments = found[i].segments > 0 ? found[i].segments : 1,
        };

        CU_ASSERT_EQUAL(coll_add_rules(&rules, &query, &c,
                                       found[i].segments == 0,
                                       coll_reach(sizes, count, i)),
                        NF_OK);
    }
    coll_merge_rules(&rules);
    text_p[0] = '\0';
    for (size_t i = 0; i < rules.count; i++) {
        const struct nf_coll_rule *rule = &rules.rules[i];
        char *end = text_p + strlen(text_p);

        end += rule->max_bytes == UINT64_MAX
                   ? sprintf(end, "max")
                   : sprintf(end, "%u", (unsigned)rule->max_bytes);
        sprintf(end, ":%s:%s%u ", rule->algorithm->name + strlen("bcast."),
                rule->k_rule == NF_K_MODEL     ? "model"
                : rule->k_rule == NF_K_SEGMENT ? "by"
                                               : "",
                (unsigned)rule->value);
    }
    nf_coll_rules_fini(&rules);
}

/* One piece is of the size at which it was found to be the best, and of those from
 * there to the next such; above the model says how many. */
static void one_piece_is_not_for_any_length(void)
{
    static const char chain[] = "bcast.pipeline.fd", flat[] = "bcast.flat";
    static const struct {
        struct found found[3];
        unsigned count;
        const char *want;
    } cases[] = {
        { { { 4096, chain, 1 }, { 65536, chain, 32 } },
          2,
          "4096:pipeline.fd:1 16384:pipeline.fd:model0 max:pipeline.fd:by2048 " },
        { { { 8, chain, 1 }, { 32, chain, 1 }, { 128, chain, 1 } },
          3,
          "128:pipeline.fd:1 max:pipeline.fd:model0 " },
        { { { 8, chain, 1 }, { 32, flat, 1 }, { 128, chain, 1 } },
          3,
          "8:pipeline.fd:1 16:pipeline.fd:model0 64:flat:1 128:pipeline.fd:1 "
          "max:pipeline.fd:model0 " },
        /* which is what was measured */
        { { { 8, chain, 1 }, { 32, chain, 0 }, { 128, chain, 1 } },
          3,
          "8:pipeline.fd:1 64:pipeline.fd:model0 128:pipeline.fd:1 "
          "max:pipeline.fd:model0 " },
        { { { 8, flat, 1 }, { 32, flat, 1 } }, 2, "max:flat:1 " },
        { { { 8, chain, 1 } }, 1, "8:pipeline.fd:1 max:pipeline.fd:model0 " },
    };
    char text[512];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        table_of(cases[i].found, cases[i].count, text);
        CU_ASSERT_STRING_EQUAL(text, cases[i].want);
    }
}

/* A winner in one piece at that size, which is known to hold up to @p reach. */
static void add_whole(struct nf_coll_rules *rules, struct nf_coll_query query,
                      uint64_t bytes, uint64_t reach)
{
    const struct coll_candidate c = {
        .algorithm = nf_coll_find("reduce.chain.fd"), .segments = 1
    };

    query.bytes = bytes;
    CU_ASSERT_EQUAL(coll_add_rules(rules, &query, &c, false, reach), NF_OK);
}

static bool goes_by_model(const struct nf_coll_rules *rules,
                          struct nf_coll_query query, uint64_t bytes)
{
    query.bytes = bytes;
    return nf_coll_rules_find(rules, &query)->k_rule == NF_K_MODEL;
}

/* Rules of other ranks and operators are no neighbours, nor are sizes that were not
 * measured one after the other. */
static void pieces_of_others_are_others(void)
{
    const struct nf_coll_query all[] = {
        bench_query(NF_COLL_REDUCE, 8, 0, false),
        bench_query(NF_COLL_REDUCE, 8, 0, true),
        bench_query(NF_COLL_REDUCE, 4, 0, false),
        bench_query(NF_COLL_REDUCE, 4, 0, true),
    };
    struct nf_coll_rules rules;

    nf_coll_rules_init(&rules);
    for (size_t i = 0; i < 4; i++) {
        add_whole(&rules, all[i], 1024, 2048);
        if (i % 2 == 0)
            add_whole(&rules, all[i], 4096, UINT64_MAX);
    }
    add_whole(&rules, all[1], 9000, UINT64_MAX); /* of 4096 nothing was found */
    add_whole(&rules, bench_query(NF_COLL_REDUCE, 16, 0, false), 4096,
              UINT64_MAX);
    add_whole(&rules, bench_query(NF_COLL_REDUCE, 16, 0, true), 4096,
              UINT64_MAX);
    coll_merge_rules(&rules);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_FALSE(goes_by_model(&rules, all[i], 1024));
        CU_ASSERT_EQUAL(goes_by_model(&rules, all[i], 2048), i % 2 == 1);
        if (i != 3) {
            CU_ASSERT_FALSE(goes_by_model(&rules, all[i], 4096));
            CU_ASSERT_TRUE(goes_by_model(&rules, all[i], 9001));
        }
    }
    nf_coll_rules_fini(&rules);
}

/* Sizes so near that there is nothing between. */
static void neighbours_are_told_apart(void)
{
    const struct nf_coll_query query =
        bench_query(NF_COLL_REDUCE, RANKS, 0, false);
    struct nf_coll_query next = query;
    const struct coll_candidate c = {
        .algorithm = nf_coll_find("reduce.chain.fd"), .segments = 4
    };
    struct nf_coll_rules rules;

    nf_coll_rules_init(&rules);
    next.bytes = 4097;
    add_whole(&rules, query, 4096, 4096);
    CU_ASSERT_EQUAL(coll_add_rules(&rules, &next, &c, true, 16386), NF_OK);
    add_whole(&rules, query, 65536, 65536);
    CU_ASSERT_TRUE(goes_by_model(&rules, query, 16386)); /* as was measured */
    CU_ASSERT_FALSE(goes_by_model(&rules, query, 16387));
    nf_coll_rules_fini(&rules);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "only short calls are measured again",
          only_short_calls_are_measured_again },
        { "what came near is measured again",
          what_came_near_is_measured_again },
        { "segments between are a quarter off or half",
          segments_between_are_a_quarter_off },
        { "what was tried is not tried again",
          what_was_tried_is_not_tried_again },
        { "each algorithm has a place first",
          each_algorithm_has_a_place_first },
        { "the model has a place", the_model_has_a_place },
        { "what was seen is remembered", what_was_seen_is_remembered },
        { "at last the model is the one to beat",
          at_last_the_model_is_the_one_to_beat },
        { "one piece is not for any length", one_piece_is_not_for_any_length },
        { "pieces of others are others", pieces_of_others_are_others },
        { "neighbours are told apart", neighbours_are_told_apart },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the last list", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
