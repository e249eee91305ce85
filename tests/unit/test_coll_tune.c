/* What coll-bench --tune tries, what it concludes, and the table that comes of
 * it. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "apps/collbench/team.h"
#include "apps/nowfarm/coll_bench.h"
#include "apps/nowfarm/coll_search.h"
#include "common/base/alloc.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

static struct nf_coll_network sp2(void)
{
    struct nf_model model;
    struct nf_error err;

    CU_ASSERT_EQUAL(coll_parse_model("sp2", &model, &err), NF_OK);
    return nf_coll_network_of(&model, NULL, NULL);
}

static void refining_halves_and_doubles(void)
{
    struct nf_coll_network network = sp2();
    struct nf_coll_query query = bench_query(NF_COLL_BCAST, 16, 65536, false);
    struct coll_candidate list[COLL_CANDIDATES_MAX] = {
        { .algorithm = nf_coll_find("bcast.circulant"), .segments = 8 },
        { .algorithm = nf_coll_find("bcast.binomial"), .segments = 1 },
    };

    CU_ASSERT_EQUAL(coll_refine(&query, &network, list, 2, 0), 4);
    CU_ASSERT_EQUAL(list[2].segments, 4);
    CU_ASSERT_EQUAL(list[3].segments, 16);
    CU_ASSERT_PTR_EQUAL(list[3].algorithm, list[0].algorithm);
    CU_ASSERT_EQUAL(coll_refine(&query, &network, list, 2, 1), 2);
    list[0].segments = 1; /* half of it is nothing else */
    CU_ASSERT_EQUAL(coll_refine(&query, &network, list, 2, 0), 3);
    CU_ASSERT_EQUAL(list[2].segments, 2);
    query = bench_query(NF_COLL_BCAST, 16, 1,
                        false); /* no more segments than bytes */
    CU_ASSERT_EQUAL(coll_refine(&query, &network, list, 2, 0), 2);
}

static struct coll_candidate timed(double low, double median, double high)
{
    return (struct coll_candidate){
        .us = { .n = 10, .median = median, .low = low, .high = high }
    };
}

static void the_model_is_believed_unless_it_is_clearly_wrong(void)
{
    struct coll_candidate list[4] = { timed(98, 100, 102),
                                      timed(95, 98, 101),
                                      timed(90, 96, 99),
                                      { .segments = 1 } };

    /* 2 %: too little; 4 %, but the intervals overlap; not measured */
    CU_ASSERT_EQUAL(coll_winner(list, 4, 0), 0);
    list[1] = timed(94, 97, 97.9); /* 3 %, apart */
    CU_ASSERT_EQUAL(coll_winner(list, 4, 0), 1);
    list[2] = timed(70, 75, 80);
    CU_ASSERT_EQUAL(coll_winner(list, 4, 0), 2);
    CU_ASSERT_EQUAL(coll_winner(list, 4, 2), 2);
}

static void what_is_nearly_as_fast_is_refined_too(void)
{
    struct coll_candidate near[COLL_NEAR];
    struct coll_candidate list[6] = {
        timed(98, 100, 102),  timed(118, 120, 122), timed(108, 110, 112),
        timed(128, 130, 132), timed(104, 105, 106), timed(112, 114, 116)
    };
    static const char *const names[] = { "circulant",   "pipeline.fd",
                                         "pipeline.fd", "nesbt",
                                         "binomial",    "twopath.hd" };
    char name[40];

    for (unsigned i = 0; i < 6; i++) {
        snprintf(name, sizeof(name), "bcast.%s", names[i]);
        list[i].algorithm = nf_coll_find(name);
        list[i].segments = 10 + i;
    }
    CU_ASSERT_EQUAL(coll_near(list, 6, 0, near), 3);
    CU_ASSERT_EQUAL(near[0].segments, 10);
    CU_ASSERT_EQUAL(near[1].segments, 12); /* the faster pipeline; no binomial */
    CU_ASSERT_EQUAL(near[2].segments, 15);
    for (unsigned i = 1; i < 4; i++)
        list[i].us.median = 140;
    list[5].us.n = 0; /* not measured */
    CU_ASSERT_EQUAL(coll_near(list, 6, 0, near), 1);
    CU_ASSERT_EQUAL(coll_near(list, 6, 4, near), 2); /* without segments */
    CU_ASSERT_EQUAL(near[0].segments, 14);
    CU_ASSERT_EQUAL(near[1].segments, 10);
}

static void what_helped_is_done_again(void)
{
    struct nf_coll_network network = sp2();
    struct nf_coll_query query = bench_query(NF_COLL_BCAST, 16, 65536, false);
    struct coll_candidate before = { .algorithm =
                                         nf_coll_find("bcast.circulant"),
                                     .segments = 8 };
    struct coll_candidate now = before, next = { .segments = 0 };

    CU_ASSERT_FALSE(coll_further(&query, &network, &before, &now, &next));
    now.segments = 16;
    CU_ASSERT_TRUE(coll_further(&query, &network, &before, &now, &next));
    CU_ASSERT_EQUAL(next.segments, 32);
    CU_ASSERT_PTR_EQUAL(next.algorithm, now.algorithm);
    CU_ASSERT_EQUAL(next.us.n, 0);
    now.segments = 4;
    CU_ASSERT_TRUE(coll_further(&query, &network, &before, &now, &next));
    CU_ASSERT_EQUAL(next.segments, 2);
    now.segments = 1; /* no less */
    CU_ASSERT_FALSE(coll_further(&query, &network, &before, &now, &next));
    now.segments = 1024; /* no more */
    CU_ASSERT_FALSE(coll_further(&query, &network, &before, &now, &next));
    now.algorithm = nf_coll_find("bcast.pipeline.fd");
    now.segments = 16;
    CU_ASSERT_FALSE(coll_further(&query, &network, &before, &now, &next));
}

static void rules_say_what_was_found(void)
{
    struct nf_coll_query query = bench_query(NF_COLL_REDUCE, 6, 1000, false);
    struct coll_candidate c = { .algorithm = nf_coll_find("reduce.circulant"),
                                .segments = 3 };
    struct nf_coll_rule rule = coll_rule(&query, &c, true, 2000);

    CU_ASSERT_EQUAL(rule.op, NF_COLL_REDUCE);
    CU_ASSERT_EQUAL(rule.operators, NF_CLASS_COMMUTATIVE);
    CU_ASSERT_EQUAL(rule.ranks, 6);
    CU_ASSERT_EQUAL(rule.max_bytes, 2000);
    CU_ASSERT_EQUAL(rule.k_rule, NF_K_MODEL);
    rule = coll_rule(&query, &c, false, 2000);
    CU_ASSERT_EQUAL(rule.k_rule, NF_K_SEGMENT);
    CU_ASSERT_EQUAL(rule.value, 334); /* gives 3 again */
    c.algorithm = nf_coll_find("reduce.linear");
    rule = coll_rule(&query, &c, true, 2000);
    CU_ASSERT_EQUAL(rule.k_rule, NF_K_FIXED);
    CU_ASSERT_EQUAL(rule.value, 1);
}

/* @return how many segments a call takes by the rule for so many */
static uint32_t told_by_rule(const struct nf_coll_query *query,
                             const struct nf_coll_network *network,
                             const struct nf_coll_algorithm *algorithm,
                             uint32_t k)
{
    struct coll_candidate c = { .algorithm = algorithm, .segments = k };
    struct nf_coll_rule rule = coll_rule(query, &c, false, UINT64_MAX);
    struct nf_coll_choice choice = { .segments = 0 };
    struct nf_coll_rules rules;

    nf_coll_rules_init(&rules);
    CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &rule), NF_OK);
    CU_ASSERT_EQUAL(nf_coll_select(query, network, &rules, NULL, &choice, NULL),
                    NF_OK);
    CU_ASSERT_PTR_EQUAL(choice.algorithm, algorithm);
    nf_coll_rules_fini(&rules);
    return choice.segments;
}

/* What is measured is what calls take by the table: segments have whole bytes, and
 * there are as many as elements, and no fewer than memory allows. */
static void rules_give_back_what_was_measured(void)
{
    const struct nf_coll_algorithm *circulant = nf_coll_find("bcast.circulant");
    struct nf_coll_network network = sp2();

    for (uint64_t bytes = 8; bytes <= 1 << 20; bytes *= 4)
        for (uint32_t k = 1; k <= NF_COLL_SEGMENTS_MAX; k += 1 + k / 7) {
            struct nf_coll_query query =
                bench_query(NF_COLL_BCAST, 8, bytes, false);
            uint32_t told = coll_told_segments(&query, circulant, k);

            CU_ASSERT_EQUAL(told_by_rule(&query, &network, circulant, told),
                            told);
            CU_ASSERT(told <= k);
            CU_ASSERT(k > query.elements || /* bytes of a segment, rounded */
                      (double)told > k / (1 + (double)k / (double)bytes) - 1);
        }
    for (uint32_t k = 1; k <= 64; k *= 2) { /* fewer than memory allows */
        const struct nf_coll_algorithm *reduce =
            nf_coll_find("reduce.circulant");
        struct nf_coll_query query =
            bench_query(NF_COLL_REDUCE, 16, 4 << 20, false);
        uint32_t told;

        query.memory_bytes = 6 << 20;
        CU_ASSERT(nf_coll_least_segments(reduce, &query) > 2);
        told = coll_told_segments(&query, reduce, k);
        CU_ASSERT(told >= nf_coll_least_segments(reduce, &query));
        CU_ASSERT_EQUAL(told_by_rule(&query, &network, reduce, told), told);
    }
}

static void rules_reach_half_way_to_the_next_size(void)
{
    static const uint64_t sizes[] = { 8, 32, 128 };

    CU_ASSERT_EQUAL(coll_reach(sizes, 3, 0), 16);
    CU_ASSERT_EQUAL(coll_reach(sizes, 3, 1), 64);
    CU_ASSERT_EQUAL(coll_reach(sizes, 3, 2), UINT64_MAX);
}

static void equal_neighbours_become_one_rule(void)
{
    static const char *const names[] = { "bcast.binomial", "bcast.binomial",
                                         "bcast.flat", "bcast.flat" };
    const struct nf_coll_query scan = bench_query(NF_COLL_SCAN, 8, 0, false);
    struct nf_coll_query bcast = bench_query(NF_COLL_BCAST, 8, 0, false);
    struct nf_coll_rules rules;

    nf_coll_rules_init(&rules);
    for (uint32_t i = 0; i < 4; i++) {
        struct nf_coll_rule rule = { .op = NF_COLL_BCAST,
                                     .ranks = i < 3 ? 8 : 9,
                                     .max_bytes = 10 + i,
                                     .algorithm = nf_coll_find(names[i]),
                                     .value = 1 };

        CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &rule), NF_OK);
    }
    coll_merge_rules(&rules);
    CU_ASSERT_EQUAL(rules.count, 3); /* another P is another rule */
    CU_ASSERT_EQUAL(rules.rules[0].max_bytes, 11);
    coll_drop_rules(&rules, &scan);
    CU_ASSERT_EQUAL(rules.count, 3);
    coll_drop_rules(&rules, &bcast);
    CU_ASSERT_EQUAL(rules.count, 1);
    bcast.ranks = 9;
    coll_drop_rules(&rules, &bcast);
    CU_ASSERT_EQUAL(rules.count, 0);
    coll_merge_rules(&rules);
    CU_ASSERT_EQUAL(rules.count, 0);
    nf_coll_rules_fini(&rules);
}

static struct nf_coll_rule rule_for(const char *name,
                                    enum nf_coll_class operators)
{
    return (struct nf_coll_rule){ .op = nf_coll_find(name)->op,
                                  .operators = operators,
                                  .ranks = 3,
                                  .max_bytes = UINT64_MAX,
                                  .algorithm = nf_coll_find(name),
                                  .value = 1 };
}

static void rules_for_other_operators_stay(void)
{
    static const char unknown[] = "rule scan ordered 3 max scan.later 1\n"
                                  "rule scan commutative 3 max scan.later 1\n";
    const struct nf_coll_rule all[] = {
        rule_for("allreduce.ring", NF_CLASS_COMMUTATIVE),
        rule_for("scan.linear", NF_CLASS_COMMUTATIVE),
        rule_for("scan.rec_doubling", NF_CLASS_ORDERED),
        rule_for("bcast.flat", NF_CLASS_ANY),
    };
    const struct nf_coll_query ordered = bench_query(NF_COLL_SCAN, 3, 0, true);
    const struct nf_coll_query usual = bench_query(NF_COLL_SCAN, 3, 0, false);
    struct nf_coll_rules rules;

    nf_coll_rules_init(&rules);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &all[i]), NF_OK);
    rules.unknown = nf_strdup(unknown);
    rules.unknown_bytes = sizeof(unknown) - 1;
    coll_drop_rules(&rules, &ordered);
    CU_ASSERT_EQUAL(rules.count, 3);
    CU_ASSERT_STRING_EQUAL(rules.unknown,
                           "rule scan commutative 3 max scan.later 1\n");
    coll_drop_rules(&rules, &usual);
    CU_ASSERT_EQUAL(rules.count, 2);
    CU_ASSERT_EQUAL(rules.unknown_bytes, 0);
    nf_coll_rules_fini(&rules);
}

static const char *taken_by(const struct nf_coll_rules *rules, uint32_t ranks)
{
    const struct nf_coll_query query =
        bench_query(NF_COLL_BCAST, ranks, 4096, false);
    const struct nf_coll_rule *rule = nf_coll_rules_find(rules, &query);

    return rule == NULL ? "" : rule->algorithm->name;
}

/* Tuned with 8 members, then with 6: what is found for 6 and 3 stands beside
 * what was found for 8, 4 and 2, and each group goes by the nearest of all. */
static void rules_for_other_numbers_of_members_stay(void)
{
    static const char unknown[] = "rule bcast any 8 max bcast.later 1\n"
                                  "rule bcast any 6 max bcast.later 1\n";
    struct nf_coll_rule rule = rule_for("bcast.binomial", NF_CLASS_ANY);
    struct nf_coll_rules rules;

    nf_coll_rules_init(&rules);
    for (rule.ranks = 8; rule.ranks >= 2; rule.ranks /= 2)
        CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &rule), NF_OK);
    rule.ranks = 6;
    rule.max_bytes = 100; /* of a run before this one */
    CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &rule), NF_OK);
    rules.unknown = nf_strdup(unknown);
    rules.unknown_bytes = sizeof(unknown) - 1;
    rule = rule_for("bcast.flat", NF_CLASS_ANY);
    for (rule.ranks = 6; rule.ranks >= 2; rule.ranks /= 2) {
        const struct nf_coll_query query =
            bench_query(NF_COLL_BCAST, rule.ranks, 0, false);

        coll_drop_rules(&rules, &query);
        CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &rule), NF_OK);
    }
    CU_ASSERT_EQUAL(rules.count, 5);
    CU_ASSERT_STRING_EQUAL(rules.unknown,
                           "rule bcast any 8 max bcast.later 1\n");
    CU_ASSERT_STRING_EQUAL(taken_by(&rules, 2), "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(taken_by(&rules, 3), "bcast.flat");
    CU_ASSERT_STRING_EQUAL(taken_by(&rules, 4), "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(taken_by(&rules, 5), "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(taken_by(&rules, 6), "bcast.flat");
    CU_ASSERT_STRING_EQUAL(taken_by(&rules, 7), "bcast.flat");
    CU_ASSERT_STRING_EQUAL(taken_by(&rules, 8), "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(taken_by(&rules, 16), "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(taken_by(&rules, 17), "");
    nf_coll_rules_fini(&rules);
}

/* @return why rules may not stay; "": they may */
static const char *why_not(const struct nf_coll_rules *rules,
                           const struct nf_coll_place *here)
{
    static char text[NF_ERROR_TEXT_BYTES];
    bool may = coll_rules_may_stay(rules, here, text, sizeof(text));

    CU_ASSERT_EQUAL(may, text[0] == '\0');
    return text;
}

static void rules_found_otherwise_do_not_stay(void)
{
    const struct nf_coll_place raw = nf_coll_place_of(5, true, false);
    const struct nf_coll_place xdr = nf_coll_place_of(5, true, true);
    const struct nf_coll_place daemon = nf_coll_place_of(5, false, false);
    const struct nf_coll_place hosts = nf_coll_place_of(6, true, false);
    struct nf_coll_rules rules;

    nf_coll_rules_init(&rules);
    rules.model.hosts_hash = 5;
    rules.model.route = NF_MODEL_ROUTE_DIRECT;
    rules.model.encoding = NF_MODEL_ENCODING_RAW;
    snprintf(rules.library, sizeof(rules.library), "%s", nf_version());
    CU_ASSERT_STRING_EQUAL(why_not(&rules, &raw), "");
    CU_ASSERT_STRING_EQUAL(why_not(&rules, &xdr),
                           "tuned for data sent as they are");
    CU_ASSERT_STRING_EQUAL(why_not(&rules, &daemon),
                           "tuned for messages by the direct route");
    CU_ASSERT_STRING_EQUAL(why_not(&rules, &hosts),
                           "tuned between other hosts");
    strcpy(rules.library, "0.0.1");
    CU_ASSERT_STRING_EQUAL(why_not(&rules, &raw), "tuned by version 0.0.1");
    rules.library[0] = '\0';
    CU_ASSERT_STRING_EQUAL(why_not(&rules, &raw),
                           "tuned by a version that it does not tell");
    rules.model.hosts_hash = 0;
    CU_ASSERT_STRING_EQUAL(why_not(&rules, &raw),
                           "tuned between hosts that it does not tell");
}

static void what_is_tried_keeps_the_order(void)
{
    struct nf_coll_network network = sp2();

    for (int op = 0; op < NF_COLL_OPS; op++)
        for (uint32_t ranks = 2; ranks < 18; ranks += 3) {
            struct nf_coll_query query =
                bench_query((enum nf_coll_op)op, ranks, 65536, true);
            struct coll_candidate list[COLL_CANDIDATES_MAX];
            unsigned count;

            CU_ASSERT_EQUAL(query.commutative,
                            !bench_combines((enum nf_coll_op)op));
            if (query.commutative)
                continue;
            count = coll_candidates(&query, &network, NULL, 2, list);
            CU_ASSERT(count > 0);
            for (unsigned i = 0; i < count; i++) {
                struct nf_coll_rule rule =
                    coll_rule(&query, &list[i], false, 9);

                CU_ASSERT(nf_coll_serves(list[i].algorithm, &query));
                CU_ASSERT(list[i].algorithm->order != NF_ORDER_COMMUTATIVE);
                CU_ASSERT_EQUAL(rule.operators, NF_CLASS_ORDERED);
            }
        }
}

/* ---- a table as tuning makes it, in a group ---- */

/* An allreduce of 1 MiB in a group of 3 with these rules. */
static const char *combined_with(const struct nf_coll_rule *all, size_t count,
                                 bool ordered)
{
    const struct nf_coll_query query =
        bench_query(NF_COLL_ALLREDUCE, 3, 1 << 20, ordered);
    const struct nf_choice_query asked = bench_choice(&query);
    struct nf_group_options options = { .algorithms = "" };
    struct nf_coll_choice choice = { .algorithm = NULL };
    struct nf_group *groups[3];
    struct nf_coll_rules rules;
    struct nf_error err;
    char *text = NULL;
    size_t bytes = 0;

    nf_coll_rules_init(&rules);
    CU_ASSERT_EQUAL(coll_parse_model("cluster,delta=1", &rules.model, &err),
                    NF_OK);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &all[i]), NF_OK);
    CU_ASSERT_EQUAL(nf_coll_rules_write(&rules, &text, &bytes, &err), NF_OK);
    options.table_file = nf_tmp_write("table", text);
    CU_ASSERT_EQUAL(nf_group_open_threads(3, &options, groups, &err), NF_OK);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(bench_define(groups[i]), NF_OK);
        CU_ASSERT_EQUAL(nf_group_choose(groups[i], &asked, &choice, &err),
                        NF_OK);
        nf_group_close(groups[i]);
    }
    nf_free(text);
    nf_coll_rules_fini(&rules);
    return choice.algorithm->name;
}

static void groups_go_by_rules_for_their_operator(void)
{
    const struct nf_coll_rule both[] = {
        rule_for("allreduce.ring", NF_CLASS_COMMUTATIVE),
        rule_for("allreduce.reduce_bcast", NF_CLASS_ORDERED),
    };
    const char *by_model = combined_with(NULL, 0, true);

    CU_ASSERT_STRING_NOT_EQUAL(by_model, both[1].algorithm->name);
    CU_ASSERT_STRING_EQUAL(combined_with(both, 2, false), "allreduce.ring");
    CU_ASSERT_STRING_EQUAL(combined_with(both, 2, true),
                           "allreduce.reduce_bcast");
    /* a table that was tuned before there were such rules */
    CU_ASSERT_STRING_EQUAL(combined_with(both, 1, true), by_model);
    CU_ASSERT_STRING_EQUAL(combined_with(both, 1, false), "allreduce.ring");
}

/* What a group of 3 with this table takes for 1 MiB; "" if it did not open. */
static const char *chosen_with(const char *path)
{
    const struct nf_group_options options = { .table_file = path };
    const struct nf_choice_query query = {
        .coll = bench_query(NF_COLL_BCAST, 3, 1 << 20, false)
    };
    struct nf_coll_choice choice = { .algorithm = NULL };
    struct nf_group *groups[3];
    struct nf_error err;

    if (nf_group_open_threads(3, &options, groups, &err) != NF_OK)
        return "";
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(nf_group_choose(groups[i], &query, &choice, &err),
                        NF_OK);
        nf_group_close(groups[i]);
    }
    return choice.algorithm != NULL ? choice.algorithm->name : "";
}

static void groups_go_by_the_table(void)
{
    struct nf_coll_query query = bench_query(NF_COLL_BCAST, 3, 1 << 20, false);
    struct coll_candidate flat = { .algorithm = nf_coll_find("bcast.flat"),
                                   .segments = 1 };
    struct nf_coll_rule rule = coll_rule(&query, &flat, false, UINT64_MAX);
    struct nf_coll_rules rules;
    const char *path;
    char *text = NULL;
    size_t bytes = 0;
    struct nf_error err;

    nf_coll_rules_init(&rules);
    CU_ASSERT_EQUAL(coll_parse_model("cluster,delta=1", &rules.model, &err),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &rule), NF_OK);
    CU_ASSERT_EQUAL(nf_coll_rules_write(&rules, &text, &bytes, &err), NF_OK);
    CU_ASSERT_STRING_NOT_EQUAL(chosen_with(NULL), "bcast.flat");
    path = nf_tmp_write("table", text);
    CU_ASSERT_STRING_EQUAL(chosen_with(path), "bcast.flat");
    text[bytes / 2] ^= 1;
    path = nf_tmp_write("table", text);
    CU_ASSERT_STRING_EQUAL(chosen_with(path), chosen_with(NULL));
    nf_free(text);
    nf_coll_rules_fini(&rules);
}

int main(void)
{
    CU_TestInfo tuning[] = {
        { "what is nearly as fast is refined too",
          what_is_nearly_as_fast_is_refined_too },
        { "what helped is done again", what_helped_is_done_again },
        { "refining halves and doubles", refining_halves_and_doubles },
        { "the model is believed unless it is clearly wrong",
          the_model_is_believed_unless_it_is_clearly_wrong },
        { "rules say what was found", rules_say_what_was_found },
        { "rules give back what was measured",
          rules_give_back_what_was_measured },
        { "rules reach half way to the next size",
          rules_reach_half_way_to_the_next_size },
        { "equal neighbours become one rule",
          equal_neighbours_become_one_rule },
        { "rules for other operators stay", rules_for_other_operators_stay },
        { "rules for other numbers of members stay",
          rules_for_other_numbers_of_members_stay },
        { "rules found otherwise do not stay",
          rules_found_otherwise_do_not_stay },
        { "what is tried keeps the order", what_is_tried_keeps_the_order },
        { "groups go by the table", groups_go_by_the_table },
        { "groups go by rules for their operator",
          groups_go_by_rules_for_their_operator },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "tuning", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, tuning },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
