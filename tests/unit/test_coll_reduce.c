/* Reductions: the goldens, laws that hold for all, and folding. */
#include "config.h"
#include "common/coll/halving.h"
#include "tests/unit/coll_golden.h"
#include "tests/unit/coll_laws.h"
#include "tests/unit/coll_symbolic.h"
#include "tests/unit/nf_unit.h"

static void schedules_are_those_of_the_reference(void)
{
    struct coll_golden_count count = coll_golden_schedules(NF_COLL_REDUCE);

    CU_ASSERT_EQUAL(count.compared, 48);
    CU_ASSERT_EQUAL(count.wrong, 0);
}

static void step_counts_are_those_of_the_reference(void)
{
    static const char *const names[] = { "reduce.linear", "reduce.binomial",
                                         "reduce.seg" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct coll_golden_count count =
            coll_golden_steps(names[i], names[i], 0);

        CU_ASSERT_EQUAL(count.compared, 24);
        CU_ASSERT_EQUAL(count.wrong, 0);
    }
}

static void costs_and_k_are_those_of_the_reference(void)
{
    static const struct coll_golden_cost rows[] = {
        { "reduce.linear", "reduce.linear", NF_PORTS_MANY },
        { "reduce.binomial", "reduce.binomial", NF_PORTS_MANY },
        { "reduce.chain.hd", "reduce.chain.hd", NF_PORTS_HALF },
        { "reduce.chain.fd", "reduce.chain.fd", NF_PORTS_FULL },
        { "reduce.seg.hd", "reduce.seg", NF_PORTS_HALF },
        { "reduce.seg.fd", "reduce.seg", NF_PORTS_FULL },
        { "reduce.seg.hd", "reduce.rabenseifner", NF_PORTS_HALF },
        { "reduce.seg.fd", "reduce.rabenseifner", NF_PORTS_FULL },
        { "reduce.circulant.hd", "reduce.circulant", NF_PORTS_HALF },
        { "reduce.circulant.fd", "reduce.circulant", NF_PORTS_FULL },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct coll_golden_count count = coll_golden_costs("reduce", &rows[i]);

        CU_ASSERT(count.compared > 40);
        CU_ASSERT_EQUAL(count.wrong, 0);
    }
}

static void the_root_gets_every_operand_once_in_order(void)
{
    coll_law_right(NF_COLL_REDUCE);
}

static void a_rank_can_have_its_part_alone(void)
{
    coll_law_parts(NF_COLL_REDUCE);
}

static void no_message_may_be_left_out(void)
{
    coll_law_minimal(NF_COLL_REDUCE);
}

/* Half-duplex ranks combine while others send, so pipelines are faster than
 * their rounds. */
static bool is_exact_hd(const struct nf_coll_algorithm *algorithm,
                        uint32_t ranks, uint32_t segments)
{
    (void)ranks;
    return segments == 1 || (algorithm != &nf_coll_reduce_chain_hd &&
                             algorithm != &nf_coll_reduce_circulant);
}

static void costs_are_what_the_rounds_take(void)
{
    coll_law_costs(NF_COLL_REDUCE, is_exact_hd);
}

static void running_out_of_memory_is_an_error(void)
{
    coll_law_nomem(NF_COLL_REDUCE);
}

static void every_line_of_the_table_is_whole(void)
{
    coll_law_table(NF_COLL_REDUCE);
}

static void circulant_is_right_for_large_groups(void)
{
    static const uint32_t ranks[] = { 100, 127, 255, 1000 };
    const struct nf_coll_algorithm *algorithm =
        nf_coll_find("reduce.circulant");

    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        struct nf_coll_args args = { .ranks = ranks[i], .root = 77 };
        const uint32_t segments[] = { 1, 8, 23 };

        for (size_t j = 0; j < 3; j++) {
            args.segments = segments[j];
            CU_ASSERT(coll_check(algorithm, &args));
        }
    }
}

/* ---- folding and halving ---- */

static void survivors_are_numbered_in_the_order_of_ranks(void)
{
    for (uint32_t ranks = 1; ranks <= 70; ranks++) {
        for (uint32_t keep = 0; keep < ranks; keep++) {
            struct nf_fold fold = nf_fold_plan(ranks, keep);

            CU_ASSERT_EQUAL(fold.survivors + fold.pairs, ranks);
            CU_ASSERT(fold.pairs < fold.survivors);
            CU_ASSERT_EQUAL(nf_fold_rank(&fold, nf_fold_number(&fold, keep)),
                            keep);
            for (uint32_t x = 0; x < fold.survivors; x++) {
                uint32_t rank = nf_fold_rank(&fold, x);

                CU_ASSERT(rank < ranks);
                CU_ASSERT(x == 0 || rank > nf_fold_rank(&fold, x - 1));
                CU_ASSERT_EQUAL(nf_fold_number(&fold, rank), x);
            }
        }
    }
}

static void folding_out_is_folding_in_backwards(void)
{
    for (uint32_t ranks = 1; ranks <= 33; ranks++) {
        struct nf_fold fold = nf_fold_plan(ranks, ranks - 1);
        struct nf_schedule in, out;

        nf_schedule_init(&in, NF_ALL_RANKS);
        nf_schedule_init(&out, NF_ALL_RANKS);
        CU_ASSERT_EQUAL(nf_fold_in(&fold, 5, &in), fold.pairs > 0);
        CU_ASSERT_EQUAL(nf_fold_out(&fold, 9, 5, &out), 9 + (fold.pairs > 0));
        CU_ASSERT_EQUAL(in.count, fold.pairs);
        CU_ASSERT_EQUAL(out.count, fold.pairs);
        for (size_t i = 0; i < in.count; i++) {
            CU_ASSERT_EQUAL(in.messages[i].src, out.messages[i].dst);
            CU_ASSERT_EQUAL(in.messages[i].dst, out.messages[i].src);
            CU_ASSERT_EQUAL(in.messages[i].action,
                            in.messages[i].src > in.messages[i].dst
                                ? NF_COLL_RIGHT
                                : NF_COLL_LEFT);
            CU_ASSERT_EQUAL(out.messages[i].action, NF_COLL_COPY);
            CU_ASSERT_EQUAL(out.messages[i].round, 9);
            CU_ASSERT_EQUAL(out.spans[i].count, 5);
        }
        nf_schedule_fini(&in);
        nf_schedule_fini(&out);
    }
}

static void halving_ends_with_the_segments_promised(void)
{
    for (uint32_t dims = 0; dims <= 6; dims++) {
        for (uint32_t x = 0; x < UINT32_C(1) << dims; x++) {
            struct nf_coll_span near =
                nf_halving_range(NF_HALVING_NEAR_FIRST, dims, x, dims);
            struct nf_coll_span far =
                nf_halving_range(NF_HALVING_FAR_FIRST, dims, x, dims);
            uint32_t reversed = 0;

            for (uint32_t i = 0; i < dims; i++)
                reversed |= (x >> i & 1) << (dims - 1 - i);
            CU_ASSERT_EQUAL(near.first, reversed);
            CU_ASSERT_EQUAL(near.count, 1);
            CU_ASSERT_EQUAL(far.first, x);
            CU_ASSERT_EQUAL(far.count, 1);
        }
    }
}

int main(void)
{
    static CU_TestInfo goldens[] = {
        { "schedules are those of the reference",
          schedules_are_those_of_the_reference },
        { "step counts are those of the reference",
          step_counts_are_those_of_the_reference },
        { "costs and k are those of the reference",
          costs_and_k_are_those_of_the_reference },
        CU_TEST_INFO_NULL,
    };
    static CU_TestInfo laws[] = {
        { "the root gets every operand once, in the order promised",
          the_root_gets_every_operand_once_in_order },
        { "a rank can have its part alone", a_rank_can_have_its_part_alone },
        { "no message may be left out", no_message_may_be_left_out },
        { "costs are what the rounds take", costs_are_what_the_rounds_take },
        { "running out of memory is an error",
          running_out_of_memory_is_an_error },
        { "every line of the table is whole",
          every_line_of_the_table_is_whole },
        { "circulant is right for large groups",
          circulant_is_right_for_large_groups },
        CU_TEST_INFO_NULL,
    };
    static CU_TestInfo folding[] = {
        { "survivors are numbered in the order of ranks",
          survivors_are_numbered_in_the_order_of_ranks },
        { "folding out is folding in backwards",
          folding_out_is_folding_in_backwards },
        { "halving ends with the segments promised",
          halving_ends_with_the_segments_promised },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "goldens", NULL, NULL, NULL, NULL, goldens },
        { "laws", NULL, NULL, NULL, NULL, laws },
        { "folding and halving", NULL, NULL, NULL, NULL, folding },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
