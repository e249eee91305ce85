/* What coll-bench is made of: the values it checks, and the sizes and machines
 * that it reads.  Tuning: test_coll_tune.c. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/collbench/team.h"
#include "apps/nowfarm/coll_bench.h"
#include "common/base/alloc.h"
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
                      uint64_t bytes, uint32_t seed, bool ordered)
{
    h->ranks = ranks;
    for (uint32_t r = 0; r < ranks; r++) {
        h->calls[r] = (struct bench_call){ op, ranks, r, bytes, seed, ordered };
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

/* out[i] = send_0 (+) ... (+) send_last at place from + i */
static void add_up(struct hand *h, uint32_t last, uint64_t from, uint64_t count,
                   void *out)
{
    for (uint64_t i = 0; i < count; i++) {
        double sum = 0, value;
        uint64_t maps[2] = { 0 };

        for (uint32_t r = 0; r <= last; r++) {
            memcpy(&value, h->send[r] + 8 * (from + i), 8);
            sum += value;
            memcpy(&maps[r > 0], h->send[r] + 8 * (from + i), 8);
            if (r == 0)
                continue;
            bench_compose(&maps[0], &maps[1], 1, NF_ELEM_UINT64, NULL);
            maps[0] = maps[1];
        }
        if (h->calls[0].ordered)
            memcpy((uint8_t *)out + 8 * i, &maps[0], 8);
        else
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

static void right_is_right_and_wrong_is_wrong(bool ordered)
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

            if (ordered && !bench_combines(ops[o]))
                continue;
            hand_init(&h, ops[o], MEMBERS_MAX, sizes[s], 3 + (uint32_t)s,
                      ordered);
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

static void right_results_are_right_and_others_wrong(void)
{
    right_is_right_and_wrong_is_wrong(false);
    right_is_right_and_wrong_is_wrong(true);
}

/* Operands of two members in the other's place; sums do not see that. */
static void operands_in_another_order_are_wrong(void)
{
    for (uint32_t a = 0; a < MEMBERS_MAX; a++)
        for (uint32_t b = 0; b < a; b++)
            for (int ordered = 0; ordered < 2; ordered++) {
                struct hand h;
                uint8_t *swap;

                hand_init(&h, NF_COLL_ALLREDUCE, MEMBERS_MAX, 800, a,
                          ordered != 0);
                swap = h.send[a];
                h.send[a] = h.send[b];
                h.send[b] = swap;
                combine_by_hand(&h);
                CU_ASSERT_EQUAL(all_right(&h), !ordered);
                hand_fini(&h);
            }
}

static void maps_are_composed_in_any_groups(void)
{
    uint64_t x = UINT64_C(0x700000005), y = UINT64_C(0xfffffffb00000009),
             z = UINT64_C(0xb8000001d), left = y, right = z, other = x;

    bench_compose(&x, &left, 1, NF_ELEM_UINT64, NULL); /* (x y) z */
    {
        uint64_t whole = z;

        bench_compose(&left, &whole, 1, NF_ELEM_UINT64, NULL);
        left = whole;
    }
    bench_compose(&y, &right, 1, NF_ELEM_UINT64, NULL); /* x (y z) */
    bench_compose(&x, &right, 1, NF_ELEM_UINT64, NULL);
    CU_ASSERT_EQUAL(left, right);
    bench_compose(&y, &other, 1, NF_ELEM_UINT64, NULL);
    left = y;
    bench_compose(&x, &left, 1, NF_ELEM_UINT64, NULL);
    CU_ASSERT_NOT_EQUAL(left, other);
}

static void blocks_that_change_places_are_wrong(void)
{
    struct hand h;
    uint8_t block[512];

    hand_init(&h, NF_COLL_GATHER, 4, sizeof(block), 1, false);
    move_by_hand(&h);
    memcpy(block, h.recv[0], sizeof(block));
    memcpy(h.recv[0], h.recv[0] + sizeof(block), sizeof(block));
    memcpy(h.recv[0] + sizeof(block), block, sizeof(block));
    CU_ASSERT_FALSE(bench_is_right(&h.calls[0], h.recv[0]));
    hand_fini(&h);
    hand_init(&h, NF_COLL_BCAST, 2, sizeof(block), 1, false);
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
    const struct nf_coll_query bcast =
        bench_query(NF_COLL_BCAST, 16, 1000, false);
    const struct nf_coll_query reduce =
        bench_query(NF_COLL_REDUCE, 16, 1000, false);
    const struct nf_coll_query ordered =
        bench_query(NF_COLL_REDUCE, 16, 1000, true);
    struct nf_model model;
    struct nf_error err;

    CU_ASSERT_EQUAL(coll_parse_model("sp2,g=0.01", &model, &err), NF_OK);
    /* 4 T(m), P = 16 */
    CU_ASSERT_DOUBLE_EQUAL(
        coll_predict(&model, &bcast, nf_coll_find("bcast.binomial"), 1),
        4 * (46 + 35), 1e-9);
    /* (3 n - 1) T(m / n) on half duplex, n = k = 4 */
    CU_ASSERT_DOUBLE_EQUAL(
        coll_predict(&model, &bcast, nf_coll_find("bcast.nesbt"), 4),
        11 * (46 + 8.75), 1e-9);
    /* 4 (T(m) + g m) */
    CU_ASSERT_DOUBLE_EQUAL(
        coll_predict(&model, &reduce, nf_coll_find("reduce.binomial"), 1),
        4 * (46 + 35 + 10), 1e-9);
    CU_ASSERT_TRUE(isnan(
        coll_predict(&model, &bcast, nf_coll_find("bcast.pipeline.fd"), 4)));
    /* an operator that was not measured: the slowest of its type */
    CU_ASSERT_EQUAL(nf_model_set_combine(&model, "uint64", "prod", 0.02),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_model_set_combine(&model, "uint64", "sum", 0.005),
                    NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(
        coll_predict(&model, &ordered, nf_coll_find("reduce.binomial_ordered"),
                     1) -
            coll_predict(&model, &reduce,
                         nf_coll_find("reduce.binomial_ordered"), 1),
        4 * 10, 1e-9);
}

static void shared_processors_are_shown(void)
{
    struct coll_results results = { .model = { .npieces = 1,
                                               .pieces = { { 0, 90, 0.25 } },
                                               .delta = 1 },
                                    .model_source = "measured" };

    for (int shared = 0; shared < 2; shared++) {
        char *text = NULL;
        size_t bytes;
        FILE *to = open_memstream(&text, &bytes);

        results.model.share_us = shared * 31.5;
        coll_report_print(&results, to);
        fclose(to);
        CU_ASSERT(strncmp(text, "# T(m) = 90 + 0.25 m us; delta 1", 32) == 0);
        CU_ASSERT_EQUAL(
            strstr(text, "; shared processors 31.5 us a message\n") != NULL,
            shared == 1);
        free(text);
    }
}

int main(void)
{
    CU_TestInfo values[] = {
        { "right results are right, and others wrong",
          right_results_are_right_and_others_wrong },
        { "operands in another order are wrong",
          operands_in_another_order_are_wrong },
        { "maps are composed in any groups", maps_are_composed_in_any_groups },
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
        { "shared processors are shown", shared_processors_are_shown },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "values", NULL, NULL, NULL, NULL, values },
        { "reading", NULL, NULL, NULL, NULL, reading },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
