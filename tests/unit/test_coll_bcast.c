/* Broadcasts: the goldens, laws that hold for all, and circulant graphs. */
#include "config.h"
#include "common/coll/circulant.h"
#include "tests/unit/coll_golden.h"
#include "tests/unit/coll_laws.h"
#include "tests/unit/coll_symbolic.h"
#include "tests/unit/nf_unit.h"

static void schedules_are_those_of_the_reference(void)
{
    struct coll_golden_count count = coll_golden_schedules(NF_COLL_BCAST);

    CU_ASSERT_EQUAL(count.compared, 132);
    CU_ASSERT_EQUAL(count.wrong, 0);
}

static void step_counts_are_those_of_the_reference(void)
{
    static const struct {
        const char *key, *algorithm;
        uint32_t segments;
    } rows[] = {
        { "bcast.flat", "bcast.flat", 0 },
        { "bcast.binomial", "bcast.binomial", 0 },
        { "bcast.circulant(k=8)", "bcast.circulant", 8 },
        { "bcast.kseg(k=P/2)", "bcast.kseg", 0 },
        { "bcast.nesbt(k=floor(log2 P))", "bcast.nesbt", 0 },
        { "bcast.pipeline.fd(k=8)", "bcast.pipeline.fd", 8 },
        { "bcast.pipeline.hd(k=8)", "bcast.pipeline.hd", 8 },
        { "bcast.twopath.hd(k=8)", "bcast.twopath.hd", 8 },
        { "bcast.vdg_circ", "bcast.vdg_circ", 0 },
        { "bcast.vdg_ring", "bcast.vdg_ring", 0 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct coll_golden_count count =
            coll_golden_steps(rows[i].key, rows[i].algorithm, rows[i].segments);

        CU_ASSERT_EQUAL(count.compared, 24);
        CU_ASSERT_EQUAL(count.wrong, 0);
    }
}

static void costs_and_k_are_those_of_the_reference(void)
{
    static const struct coll_golden_cost rows[] = {
        { "flat", "bcast.flat", NF_PORTS_MANY },
        { "binomial", "bcast.binomial", NF_PORTS_MANY },
        { "nesbt.hd", "bcast.nesbt", NF_PORTS_HALF },
        { "nesbt.fd", "bcast.nesbt", NF_PORTS_FULL },
        { "kseg.hd", "bcast.kseg", NF_PORTS_HALF },
        { "kseg.fd", "bcast.kseg", NF_PORTS_FULL },
        { "pipeline.hd", "bcast.pipeline.hd", NF_PORTS_HALF },
        { "pipeline.fd", "bcast.pipeline.fd", NF_PORTS_FULL },
        { "twopath.hd", "bcast.twopath.hd", NF_PORTS_HALF },
        { "vdg_ring.hd", "bcast.vdg_ring", NF_PORTS_HALF },
        { "vdg_ring.fd", "bcast.vdg_ring", NF_PORTS_FULL },
        { "vdg_circ.hd", "bcast.vdg_circ", NF_PORTS_HALF },
        { "vdg_circ.fd", "bcast.vdg_circ", NF_PORTS_FULL },
        { "circulant.hd", "bcast.circulant", NF_PORTS_HALF },
        { "circulant.fd", "bcast.circulant", NF_PORTS_FULL },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct coll_golden_count count = coll_golden_costs("bcast", &rows[i]);

        CU_ASSERT(count.compared > 40);
        CU_ASSERT_EQUAL(count.wrong, 0);
    }
}

static void everyone_gets_everything_once(void)
{
    coll_law_right(NF_COLL_BCAST);
}

static void a_rank_can_have_its_part_alone(void)
{
    coll_law_parts(NF_COLL_BCAST);
}

static void no_message_may_be_left_out(void)
{
    coll_law_minimal(NF_COLL_BCAST);
}

/* Odd cycles take three passes, and two ranks one: the formulas of kseg and
 * vdg count two, that of circulant is the worst case. */
static bool is_exact_hd(const struct nf_coll_algorithm *algorithm,
                        uint32_t ranks, uint32_t segments)
{
    if (algorithm == &nf_coll_bcast_kseg)
        return segments == 1 ||
               (segments > 2 && (segments % 2 == 0 || segments == ranks));
    if (algorithm == &nf_coll_bcast_vdg_ring)
        return ranks > 2;
    if (algorithm == &nf_coll_bcast_vdg_circ ||
        algorithm == &nf_coll_bcast_circulant)
        return ranks > 2 && (ranks & (ranks - 1)) == 0;
    return true;
}

static void costs_are_what_the_rounds_take(void)
{
    coll_law_costs(NF_COLL_BCAST, is_exact_hd);
}

static void running_out_of_memory_is_an_error(void)
{
    coll_law_nomem(NF_COLL_BCAST);
}

static void every_line_of_the_table_is_whole(void)
{
    coll_law_table(NF_COLL_BCAST);
}

/* ---- circulant graphs ---- */

static void circulant_is_right_for_large_groups(void)
{
    static const uint32_t ranks[] = { 100, 127, 255, 1000 };
    const struct nf_coll_algorithm *algorithm = nf_coll_find("bcast.circulant");

    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        struct nf_coll_args args = { .ranks = ranks[i], .root = 77 };
        const uint32_t segments[] = { 1, 8, 23 };

        for (size_t j = 0; j < 3; j++) {
            struct nf_schedule schedule;
            struct nf_error err;

            args.segments = segments[j];
            CU_ASSERT_EQUAL(
                nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, &err),
                NF_OK);
            CU_ASSERT(coll_run(algorithm, &args, &schedule, false));
            CU_ASSERT_EQUAL(nf_schedule_rounds(&schedule),
                            args.segments + nf_coll_ceil_log2(ranks[i]) - 1);
            nf_schedule_fini(&schedule);
        }
    }
}

static void circulant_price_is_a_bound(void)
{
    const struct nf_coll_price price = { .npieces = 1,
                                         .pieces = { { 0, 46, 0.035 } },
                                         .ports = NF_PORTS_HALF };

    for (uint32_t ranks = 2; ranks <= 64; ranks++) {
        for (uint32_t segments = 1; segments <= 20; segments++) {
            struct nf_coll_args args = { .ranks = ranks, .segments = segments };
            double us = nf_coll_bcast_circulant.cost_us(
                &nf_coll_bcast_circulant, &price, ranks, 1e5, segments);

            CU_ASSERT(coll_step_us(&nf_coll_bcast_circulant, &args, &price,
                                   1e5) <= us * (1 + 1e-9));
        }
    }
}

/* What makes the rows right for every k: v gets the last q
 * blocks but the one of its base, which it gets first of a turn; it has what it
 * sends on; the root's neighbours get the block of the round. */
static bool rows_are_right(uint32_t ranks)
{
    static struct nf_circulant circulant;
    static int32_t rows[NF_COLL_RANKS_MAX][NF_CIRCULANT_ROUNDS_MAX];
    uint32_t q;

    nf_circulant_init(&circulant, ranks);
    q = circulant.rounds;
    for (uint32_t v = 1; v < ranks; v++)
        nf_circulant_row(&circulant, v, rows[v]);
    for (uint32_t v = 1; v < ranks; v++) {
        int32_t base = circulant.base[v], least = (int32_t)q;
        uint32_t got = 0;

        for (uint32_t i = 0; i < q; i++) {
            uint32_t to = (v + circulant.skip[i]) % ranks;
            int32_t sent = to == 0 ? 0 : rows[to][i];
            bool has = to == 0 || sent == base - least;

            for (uint32_t j = 0; j < i; j++)
                has = has || rows[v][j] == sent;
            got |= UINT32_C(1) << (rows[v][i] + least);
            if (!has || rows[v][i] < -least)
                return false;
        }
        if (got != ((UINT32_C(1) << q) - 1 - (UINT32_C(1) << base) +
                    (UINT32_C(1) << (base + least))))
            return false;
    }
    for (uint32_t i = 0; i < q; i++)
        if (rows[circulant.skip[i]][i] != (int32_t)i)
            return false;
    return true;
}

static void circulant_rows_hold_the_conditions(void)
{
    static const uint32_t large[] = { 511,
                                      512,
                                      513,
                                      1000,
                                      1023,
                                      1024,
                                      1025,
                                      NF_COLL_RANKS_MAX - 1,
                                      NF_COLL_RANKS_MAX };

    for (uint32_t ranks = 2; ranks <= 259; ranks++)
        CU_ASSERT(rows_are_right(ranks));
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
        CU_ASSERT(rows_are_right(large[i]));
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
        { "everyone gets everything, once", everyone_gets_everything_once },
        { "a rank can have its part alone", a_rank_can_have_its_part_alone },
        { "no message may be left out", no_message_may_be_left_out },
        { "costs are what the rounds take", costs_are_what_the_rounds_take },
        { "running out of memory is an error",
          running_out_of_memory_is_an_error },
        { "every line of the table is whole",
          every_line_of_the_table_is_whole },
        CU_TEST_INFO_NULL,
    };
    static CU_TestInfo circulants[] = {
        { "right for large groups", circulant_is_right_for_large_groups },
        { "its half-duplex price is a bound", circulant_price_is_a_bound },
        { "rows hold the conditions", circulant_rows_hold_the_conditions },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "goldens", NULL, NULL, NULL, NULL, goldens },
        { "laws", NULL, NULL, NULL, NULL, laws },
        { "circulant", NULL, NULL, NULL, NULL, circulants },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
