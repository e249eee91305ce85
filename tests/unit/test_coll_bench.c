/* What coll-bench is made of: the values it checks, the sizes and machines that
 * it reads, and what tuning concludes. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/collbench/team.h"
#include "apps/nowfarm/coll_bench.h"
#include "apps/nowfarm/coll_tune.h"
#include "common/base/alloc.h"
#include "common/group/group.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

enum { MEMBERS_MAX = 5 };

/* ---- values ---- */

/* All members of a call, and the operation itself, done by hand. */
struct hand {
    struct bench_call calls[MEMBERS_MAX];
    uint8_t *send[MEMBERS_MAX], *recv[MEMBERS_MAX];
    uint32_t ranks;
};

static void hand_init(struct hand *h, enum nf_coll_op op, uint32_t ranks,
                      uint64_t bytes, uint32_t seed)
{
    h->ranks = ranks;
    for (uint32_t r = 0; r < ranks; r++) {
        h->calls[r] = (struct bench_call){ op, ranks, r, bytes, seed };
        h->send[r] = nf_calloc(1, bench_send_bytes(&h->calls[r]) + 8);
        h->recv[r] = nf_calloc(1, bench_recv_bytes(&h->calls[r]) + 8);
        bench_fill(&h->calls[r], h->send[r], h->recv[r]);
    }
}

static void hand_fini(struct hand *h)
{
    for (uint32_t r = 0; r < h->ranks; r++) {
        nf_free(h->send[r]);
        nf_free(h->recv[r]);
    }
}

/* out[i] = sum of member first..last's send[from + i] */
static void add_up(struct hand *h, uint32_t last, uint64_t from, uint64_t count,
                   void *out)
{
    for (uint64_t i = 0; i < count; i++) {
        double sum = 0, value;

        for (uint32_t r = 0; r <= last; r++) {
            memcpy(&value, h->send[r] + 8 * (from + i), 8);
            sum += value;
        }
        memcpy((uint8_t *)out + 8 * i, &sum, 8);
    }
}

static void combine_by_hand(struct hand *h)
{
    uint64_t items = h->calls[0].bytes / 8, first, count;
    enum nf_coll_op op = h->calls[0].op;

    for (uint32_t r = 0; r < h->ranks; r++) {
        if (op == NF_COLL_ALLREDUCE || (op == NF_COLL_REDUCE && r == 0))
            add_up(h, h->ranks - 1, 0, items, h->recv[r]);
        else if (op == NF_COLL_SCAN)
            add_up(h, r, 0, items, h->recv[r]);
        else if (op == NF_COLL_EXSCAN && r > 0)
            add_up(h, r - 1, 0, items, h->recv[r]);
        else if (op == NF_COLL_REDUCE_SCATTER) {
            nf_coll_segment(items, h->ranks, r, &first, &count);
            add_up(h, h->ranks - 1, first, count, h->recv[r]);
        }
    }
}

static void move_by_hand(struct hand *h)
{
    uint64_t bytes = h->calls[0].bytes, first, count;
    enum nf_coll_op op = h->calls[0].op;

    for (uint32_t r = 0; r < h->ranks; r++)
        for (uint32_t from = 0; from < h->ranks; from++) {
            if (op == NF_COLL_BCAST && from == 0)
                memcpy(h->recv[r], h->recv[0], bytes);
            else if (op == NF_COLL_SCATTER && from == 0)
                memcpy(h->recv[r], h->send[0] + r * bytes, bytes);
            else if (op == NF_COLL_GATHER && r == 0)
                memcpy(h->recv[0] + from * bytes, h->send[from], bytes);
            else if (op == NF_COLL_ALLTOALL)
                memcpy(h->recv[r] + from * bytes, h->send[from] + r * bytes,
                       bytes);
            else if (op == NF_COLL_ALLGATHER) {
                nf_coll_segment(bytes, h->ranks, from, &first, &count);
                memcpy(h->recv[r] + first, h->send[from], count);
            }
        }
}

static bool all_right(struct hand *h)
{
    bool right = true;

    for (uint32_t r = 0; r < h->ranks; r++)
        right &= bench_is_right(&h->calls[r], h->recv[r]);
    return right;
}

static void right_results_are_right_and_others_wrong(void)
{
    static const enum nf_coll_op ops[] = {
        NF_COLL_BCAST,          NF_COLL_REDUCE,    NF_COLL_ALLREDUCE,
        NF_COLL_REDUCE_SCATTER, NF_COLL_ALLGATHER, NF_COLL_SCAN,
        NF_COLL_EXSCAN,         NF_COLL_GATHER,    NF_COLL_SCATTER,
        NF_COLL_ALLTOALL,
    };
    static const uint64_t sizes[] = { 8, 24, 800, 4096 };

    for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++)
        for (size_t s = 0; s < 4; s++) {
            struct hand h;
            uint64_t wrong = 0, bytes = 0;

            hand_init(&h, ops[o], MEMBERS_MAX, sizes[s], 3 + (uint32_t)s);
            CU_ASSERT_FALSE(all_right(&h)); /* nothing has come */
            combine_by_hand(&h);
            move_by_hand(&h);
            CU_ASSERT_TRUE(all_right(&h));
            for (uint32_t r = 0; r < MEMBERS_MAX; r++)
                for (uint64_t i = 0; i < bench_recv_bytes(&h.calls[r]); i++) {
                    h.recv[r][i] ^= 1; /* any byte of any member */
                    wrong += !bench_is_right(&h.calls[r], h.recv[r]);
                    h.recv[r][i] ^= 1;
                    bytes++;
                }
            CU_ASSERT_EQUAL(wrong, bytes);
            CU_ASSERT_TRUE(bytes > 0);
            for (uint32_t r = 0; r < MEMBERS_MAX; r++)
                h.calls[r].seed++; /* what an earlier repeat left */
            CU_ASSERT_FALSE(all_right(&h));
            hand_fini(&h);
        }
}

static void blocks_that_change_places_are_wrong(void)
{
    struct hand h;
    uint8_t block[512];

    hand_init(&h, NF_COLL_GATHER, 4, sizeof(block), 1);
    move_by_hand(&h);
    memcpy(block, h.recv[0], sizeof(block));
    memcpy(h.recv[0], h.recv[0] + sizeof(block), sizeof(block));
    memcpy(h.recv[0] + sizeof(block), block, sizeof(block));
    CU_ASSERT_FALSE(bench_is_right(&h.calls[0], h.recv[0]));
    hand_fini(&h);
    hand_init(&h, NF_COLL_BCAST, 2, sizeof(block), 1);
    move_by_hand(&h);
    memmove(h.recv[1] + 256, h.recv[1], 256); /* shifted by a period of i */
    CU_ASSERT_FALSE(bench_is_right(&h.calls[1], h.recv[1]));
    hand_fini(&h);
}

static void sizes_fit_operations(void)
{
    CU_ASSERT_TRUE(bench_size_fits(NF_COLL_BCAST, 1));
    CU_ASSERT_FALSE(bench_size_fits(NF_COLL_BCAST, 0));
    CU_ASSERT_TRUE(bench_size_fits(NF_COLL_SCAN, 16));
    CU_ASSERT_FALSE(bench_size_fits(NF_COLL_SCAN, 12));
    CU_ASSERT_TRUE(bench_size_fits(NF_COLL_BARRIER, 0));
    CU_ASSERT_FALSE(bench_size_fits(NF_COLL_BARRIER, 8));
}

static void repeats_fill_the_budget(void)
{
    struct bench_request request = { .least = 5,
                                     .most = 200,
                                     .budget_us = 300000 };

    CU_ASSERT_EQUAL(bench_repeats(&request, 10), 200);
    CU_ASSERT_EQUAL(bench_repeats(&request, 3000), 100);
    CU_ASSERT_EQUAL(bench_repeats(&request, 1e6), 5);
    CU_ASSERT_EQUAL(bench_repeats(&request, 0), 200);
}

/* ---- what is read ---- */

static void lists_of_sizes_are_read(void)
{
    static const char *const wrong[] = { "",    "0B",   "8B,,9B", "8B,x",
                                         "-1B", "1.5",  "512MiB", "8B 9B",
                                         "8",   "4096", "1KiB,8" };
    uint64_t sizes[COLL_SIZES_MAX];
    unsigned count;
    struct nf_error err;

    CU_ASSERT_EQUAL(coll_parse_sizes("8B,64KiB,1MB", sizes, &count, &err),
                    NF_OK);
    CU_ASSERT_EQUAL(count, 3);
    CU_ASSERT_EQUAL(sizes[0], 8);
    CU_ASSERT_EQUAL(sizes[1], 65536);
    CU_ASSERT_EQUAL(sizes[2], 1000000);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CU_ASSERT_EQUAL(coll_parse_sizes(wrong[i], sizes, &count, &err),
                        NF_ERR_INVAL);
}

static void machines_are_read(void)
{
    static const char *const wrong[] = { "",        "cray",       "a=3",
                                         "b=1",     "a=1,b=2,c",  "a=0,b=1",
                                         "a=x,b=1", "sp2,delta=3" };
    struct nf_model model;
    struct nf_error err;

    CU_ASSERT_EQUAL(coll_parse_model("t3e", &model, &err), NF_OK);
    CU_ASSERT_EQUAL(model.pieces[0].start_us, 18);
    CU_ASSERT_EQUAL(model.pieces[0].byte_us, 0.006);
    CU_ASSERT_EQUAL(model.delta, 2);
    CU_ASSERT_EQUAL(
        coll_parse_model("a=5,b=0.5,delta=1.5,g=0.25", &model, &err), NF_OK);
    CU_ASSERT_EQUAL(model.delta, 1.5);
    CU_ASSERT_EQUAL(nf_model_combine_byte_us(&model, "double", "sum"), 0.25);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CU_ASSERT_EQUAL(coll_parse_model(wrong[i], &model, &err), NF_ERR_INVAL);
}

static void predictions_are_the_formulas(void)
{
    struct nf_model model;
    struct nf_error err;

    CU_ASSERT_EQUAL(coll_parse_model("sp2,g=0.01", &model, &err), NF_OK);
    /* 4 T(m), P = 16 */
    CU_ASSERT_DOUBLE_EQUAL(
        coll_predict(&model, nf_coll_find("bcast.binomial"), 16, 1000, 1),
        4 * (46 + 35), 1e-9);
    /* (3 n - 1) T(m / n) on half duplex, n = k = 4 */
    CU_ASSERT_DOUBLE_EQUAL(
        coll_predict(&model, nf_coll_find("bcast.nesbt"), 16, 1000, 4),
        11 * (46 + 8.75), 1e-9);
    /* 4 (T(m) + g m) */
    CU_ASSERT_DOUBLE_EQUAL(
        coll_predict(&model, nf_coll_find("reduce.binomial"), 16, 1000, 1),
        4 * (46 + 35 + 10), 1e-9);
    CU_ASSERT_TRUE(isnan(
        coll_predict(&model, nf_coll_find("bcast.pipeline.fd"), 16, 1000, 4)));
}

/* ---- tuning ---- */

static struct nf_coll_network sp2(void)
{
    struct nf_model model;
    struct nf_error err;

    CU_ASSERT_EQUAL(coll_parse_model("sp2", &model, &err), NF_OK);
    return nf_coll_network_of(&model, NULL, NULL);
}

static void candidates_are_the_best_and_the_usual(void)
{
    struct nf_coll_network network = sp2();
    struct nf_coll_query query = bench_query(NF_COLL_BCAST, 16, 65536);
    struct nf_coll_choice usual = { nf_coll_find("bcast.flat"), 1, 0 }, best;
    struct coll_candidate list[COLL_CANDIDATES_MAX] = { { .segments = 0 } };
    unsigned count = coll_candidates(&query, &network, &usual, 16, list);

    CU_ASSERT_EQUAL(count, COLL_BEST + 1);
    CU_ASSERT_TRUE(nf_coll_select_by_model(&query, &network, &best));
    CU_ASSERT_PTR_EQUAL(list[0].algorithm, best.algorithm);
    CU_ASSERT_EQUAL(list[0].segments, best.segments);
    CU_ASSERT_TRUE(list[0].predicted_us <= list[1].predicted_us);
    CU_ASSERT_TRUE(list[1].predicted_us <= list[2].predicted_us);
    CU_ASSERT_PTR_EQUAL(list[3].algorithm, usual.algorithm);
    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        struct nf_coll_choice other = { nf_coll_table[i], 1, INFINITY };
        bool listed = false;

        if (!nf_coll_serves(other.algorithm, &query))
            continue;
        nf_coll_best_segments(other.algorithm, &network, 16, 65536, 1024,
                              &other.cost_us);
        for (unsigned c = 0; c < COLL_BEST; c++)
            listed |= list[c].algorithm == other.algorithm;
        CU_ASSERT_TRUE(listed || other.cost_us >= list[2].predicted_us);
    }
    usual = best; /* nothing to add */
    CU_ASSERT_EQUAL(coll_candidates(&query, &network, &usual, 16, list),
                    COLL_BEST);
}

static void where_hosts_are_shared_two_levels_are_tried(void)
{
    struct nf_coll_network network = sp2();
    struct nf_coll_query query = bench_query(NF_COLL_BCAST, 16, 1 << 20);
    struct nf_coll_choice usual = { nf_coll_find("bcast.flat"), 1, 0 };
    struct coll_candidate list[COLL_CANDIDATES_MAX] = { { .segments = 0 } };
    const unsigned others = COLL_BEST + 1;

    for (uint32_t hosts = 1; hosts <= 16; hosts++) {
        unsigned count = coll_candidates(&query, &network, &usual, hosts, list);

        if (hosts == 1 || hosts == 16) {
            CU_ASSERT_EQUAL(count, others);
            continue;
        }
        CU_ASSERT_EQUAL(count, others + 1);
        CU_ASSERT_STRING_EQUAL(list[others].algorithm->name, "bcast.two_level");
        CU_ASSERT(list[others].segments > 1);
        CU_ASSERT_EQUAL(list[others].segments,
                        nf_coll_best_segments(nf_coll_find("bcast.circulant"),
                                              &network, 16, 1 << 20,
                                              NF_COLL_SEGMENTS_MAX, NULL));
        CU_ASSERT(coll_refine(&query, &network, list, count, others) <=
                  COLL_CANDIDATES_MAX);
    }
    query = bench_query(NF_COLL_SCAN, 16, 1 << 20); /* which has none */
    CU_ASSERT_EQUAL(coll_candidates(&query, &network, NULL, 4, list),
                    COLL_BEST);
}

static void refining_halves_and_doubles(void)
{
    struct nf_coll_network network = sp2();
    struct nf_coll_query query = bench_query(NF_COLL_BCAST, 16, 65536);
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
    query = bench_query(NF_COLL_BCAST, 16, 1); /* no more segments than bytes */
    CU_ASSERT_EQUAL(coll_refine(&query, &network, list, 2, 0), 2);
}

static struct coll_candidate timed(double q1, double median, double q3)
{
    return (struct coll_candidate){ .us = { .n = 10,
                                            .min = q1,
                                            .q1 = q1,
                                            .median = median,
                                            .q3 = q3,
                                            .max = q3 } };
}

static void the_model_is_believed_unless_it_is_clearly_wrong(void)
{
    struct coll_candidate list[4] = { timed(98, 100, 102),
                                      timed(95, 98, 101),
                                      timed(90, 96, 99),
                                      { .segments = 1 } };

    /* 2 %: too little; 4 %, but the middle halves overlap; not measured */
    CU_ASSERT_EQUAL(coll_winner(list, 4, 0), 0);
    list[1] = timed(94, 97, 97.9); /* 3 %, apart */
    CU_ASSERT_EQUAL(coll_winner(list, 4, 0), 1);
    list[2] = timed(70, 75, 80);
    CU_ASSERT_EQUAL(coll_winner(list, 4, 0), 2);
    CU_ASSERT_EQUAL(coll_winner(list, 4, 2), 2);
}

static void rules_say_what_was_found(void)
{
    struct nf_coll_query query = bench_query(NF_COLL_REDUCE, 6, 1000);
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
    coll_drop_rules(&rules, NF_COLL_SCAN);
    CU_ASSERT_EQUAL(rules.count, 3);
    coll_drop_rules(&rules, NF_COLL_BCAST);
    CU_ASSERT_EQUAL(rules.count, 0);
    coll_merge_rules(&rules);
    CU_ASSERT_EQUAL(rules.count, 0);
    nf_coll_rules_fini(&rules);
}

/* ---- a table as tuning makes it, in a group ---- */

/* What a group of 3 with this table takes for 1 MiB; "" if it did not open. */
static const char *chosen_with(const char *path)
{
    const struct nf_group_options options = { .table_file = path };
    const struct nf_choice_query query = { .coll = bench_query(NF_COLL_BCAST, 3,
                                                               1 << 20) };
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
    struct nf_coll_query query = bench_query(NF_COLL_BCAST, 3, 1 << 20);
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
    CU_TestInfo values[] = {
        { "right results are right, and others wrong",
          right_results_are_right_and_others_wrong },
        { "blocks that change places are wrong",
          blocks_that_change_places_are_wrong },
        { "sizes fit operations", sizes_fit_operations },
        { "repeats fill the budget", repeats_fill_the_budget },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo reading[] = {
        { "lists of sizes are read", lists_of_sizes_are_read },
        { "machines are read", machines_are_read },
        { "predictions are the formulas", predictions_are_the_formulas },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo tuning[] = {
        { "candidates are the best and the usual",
          candidates_are_the_best_and_the_usual },
        { "where hosts are shared two levels are tried",
          where_hosts_are_shared_two_levels_are_tried },
        { "refining halves and doubles", refining_halves_and_doubles },
        { "the model is believed unless it is clearly wrong",
          the_model_is_believed_unless_it_is_clearly_wrong },
        { "rules say what was found", rules_say_what_was_found },
        { "rules reach half way to the next size",
          rules_reach_half_way_to_the_next_size },
        { "equal neighbours become one rule",
          equal_neighbours_become_one_rule },
        { "groups go by the table", groups_go_by_the_table },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "values", NULL, NULL, NULL, NULL, values },
        { "reading", NULL, NULL, NULL, NULL, reading },
        { "tuning", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, tuning },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
