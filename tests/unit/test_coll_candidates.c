/* Which algorithms coll-bench --tune tries. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include "apps/collbench/team.h"
#include "apps/nowfarm/coll_search.h"
#include "common/group/plan.h"
#include "tests/unit/nf_unit.h"

/* The report's IBM SP2. */
static struct nf_coll_network sp2(void)
{
    const struct nf_model model = { .npieces = 1,
                                    .pieces = { { 0, 46, 0.035 } },
                                    .delta = 2 };

    return nf_coll_network_of(&model, NULL, NULL);
}

/* Which candidate has this algorithm; count: none. */
static unsigned place_of(const struct nf_coll_algorithm *algorithm,
                         const struct coll_candidate *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i].algorithm == algorithm)
            return i;
    return count;
}

static bool has_twin_in(const struct coll_candidate *list, unsigned count,
                        const struct nf_coll_algorithm *algorithm)
{
    for (unsigned i = 0; i < count; i++)
        if (nf_coll_are_twins(list[i].algorithm, algorithm))
            return true;
    return false;
}

/* The best ones, in order, and all that take less than @p close times as long as
 * the first. @return how many */
static unsigned expect_best(const struct nf_coll_query *query, double close,
                            struct coll_candidate *list)
{
    struct nf_coll_network network = sp2();
    unsigned count = coll_candidates(query, &network, NULL, query->ranks, list);
    uint32_t most =
        nf_coll_clamp_segments(query->elements, NF_COLL_SEGMENTS_MAX);
    struct nf_coll_choice best;

    CU_ASSERT(count >= COLL_BEST && count <= COLL_BEST_MOST);
    CU_ASSERT_TRUE(nf_coll_select_by_model(query, &network, &best));
    CU_ASSERT_PTR_EQUAL(list[0].algorithm, best.algorithm);
    CU_ASSERT_EQUAL(list[0].segments, best.segments);
    for (unsigned i = 1; i < count; i++) {
        CU_ASSERT_FALSE(has_twin_in(list, count, list[i].algorithm));
        /* the model's choice of equals is the first */
        CU_ASSERT(list[i - 1].predicted_us <=
                  (1 + 1e-9) * list[i].predicted_us);
        CU_ASSERT(i < COLL_BEST ||
                  list[i].predicted_us <= close * list[0].predicted_us);
    }
    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *other = nf_coll_table[i];
        double cost_us;

        if (!nf_coll_serves(other, query) ||
            place_of(other, list, count) < count ||
            has_twin_in(list, count, other))
            continue;
        nf_coll_best_segments(other, &network, query->ranks,
                              (double)query->bytes, most, &cost_us);
        CU_ASSERT(!(cost_us < list[count - 1].predicted_us));
        CU_ASSERT(count == COLL_BEST_MOST ||
                  !(cost_us <= close * list[0].predicted_us));
    }
    return count;
}

static void candidates_are_the_best_and_the_usual(void)
{
    struct nf_coll_network network = sp2();
    struct nf_coll_query query = bench_query(NF_COLL_BCAST, 16, 65536, false);
    struct nf_coll_choice usual = { .algorithm = nf_coll_find("bcast.flat"),
                                    .segments = 1 };
    struct coll_candidate list[COLL_CANDIDATES_MAX] = { { .segments = 0 } };
    unsigned best = expect_best(&query, COLL_CLOSE, list);

    CU_ASSERT_EQUAL(coll_candidates(&query, &network, &usual, 16, list),
                    best + 1);
    CU_ASSERT_PTR_EQUAL(list[best].algorithm, usual.algorithm);
    usual = (struct nf_coll_choice){ .algorithm = list[0].algorithm,
                                     .segments = list[0].segments };
    CU_ASSERT_EQUAL(coll_candidates(&query, &network, &usual, 16, list), best);
    /* as many segments as its rule gives back, and so not another one of them */
    query = bench_query(NF_COLL_BCAST, 16, 512, false);
    usual.algorithm = nf_coll_find("bcast.pipeline.hd");
    usual.segments = 47;
    best = coll_candidates(&query, &network, &usual, 16, list);
    CU_ASSERT_PTR_EQUAL(list[best - 1].algorithm, usual.algorithm);
    CU_ASSERT_EQUAL(list[best - 1].segments, 47);
    usual.segments = 48;
    CU_ASSERT_EQUAL(coll_candidates(&query, &network, &usual, 16, list), best);
    CU_ASSERT_EQUAL(list[best - 1].segments, 47);
}

static void all_that_are_close_are_tried(void)
{
    static const struct {
        enum nf_coll_op op;
        uint32_t ranks;
        uint64_t bytes;
        double close;
    } calls[] = {
        { NF_COLL_SCAN, 5, 8, COLL_CLOSE_SHORT },
        { NF_COLL_BCAST, 8, 8, COLL_CLOSE_SHORT },
        { NF_COLL_REDUCE, 8, 8, COLL_CLOSE_SHORT },
        { NF_COLL_SCAN, 5, 1 << 20, COLL_CLOSE },
        { NF_COLL_BCAST, 8, 1 << 20, COLL_CLOSE },
        { NF_COLL_ALLREDUCE, 8, 1 << 20, COLL_CLOSE },
        { NF_COLL_ALLREDUCE, 5, 1 << 20, COLL_CLOSE },
    };
    struct coll_candidate list[COLL_CANDIDATES_MAX] = { { .segments = 0 } };
    unsigned more = 0;

    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        struct nf_coll_query query = bench_query(calls[i].op, calls[i].ranks,
                                                 calls[i].bytes, false);
        unsigned count = expect_best(&query, calls[i].close, list);

        more += count > COLL_BEST;
        /* between real hosts it was an eighth faster than what was tried before */
        if (calls[i].op == NF_COLL_ALLREDUCE)
            CU_ASSERT(place_of(nf_coll_find("allreduce.ring"), list, count) <
                      count);
        /* where members share processors, the steps do not count */
        if (calls[i].op == NF_COLL_REDUCE)
            CU_ASSERT(place_of(nf_coll_find("reduce.linear"), list, count) <
                      count);
    }
    CU_ASSERT(more >= 4);
}

/* Of longer calls than between hosts of their own. */
static void where_processors_are_shared_more_are_tried(void)
{
    const struct nf_model model = { .npieces = 1,
                                    .pieces = { { 0, 30, 5e-4 } },
                                    .delta = 2 };
    struct nf_coll_network network = nf_coll_network_of(&model, NULL, NULL);
    struct nf_coll_query query = bench_query(NF_COLL_REDUCE, 5, 1 << 20, false);
    struct coll_candidate list[COLL_CANDIDATES_MAX] = { { .segments = 0 } };
    unsigned count;

    count = coll_candidates(&query, &network, NULL, 5, list);
    CU_ASSERT(place_of(nf_coll_find("reduce.linear"), list, count) == count);
    network.share_us = 10;
    count = coll_candidates(&query, &network, NULL, 5, list);
    CU_ASSERT(place_of(nf_coll_find("reduce.linear"), list, count) < count);
}

static void where_hosts_are_shared_two_levels_are_tried(void)
{
    struct nf_coll_network network = sp2();
    struct nf_coll_query query = bench_query(NF_COLL_BCAST, 16, 1 << 20, false);
    struct nf_coll_choice usual = { .algorithm = nf_coll_find("bcast.flat"),
                                    .segments = 1 };
    struct coll_candidate list[COLL_CANDIDATES_MAX] = { { .segments = 0 } };
    const unsigned others =
        coll_candidates(&query, &network, &usual, 16, list);
    unsigned count;

    for (uint32_t hosts = 1; hosts <= 16; hosts++) {
        count = coll_candidates(&query, &network, &usual, hosts, list);
        if (hosts == 16) {
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
        /* it is refined as others are */
        CU_ASSERT_EQUAL(coll_refine(&query, &network, list, count, others),
                        count + 2);
    }
    query = bench_query(NF_COLL_ALLREDUCE, 8, 1 << 20, true); /* all on one */
    count = coll_candidates(&query, &network, NULL, 1, list);
    CU_ASSERT(place_of(nf_coll_find("allreduce.two_level_ordered"), list,
                       count) < count);
    query = bench_query(NF_COLL_REDUCE, 8, 1 << 20, false); /* either kind */
    count = coll_candidates(&query, &network, NULL, 1, list);
    CU_ASSERT(place_of(nf_coll_find("reduce.two_level_ordered"), list, count) <
              count);
    CU_ASSERT(place_of(nf_coll_find("reduce.two_level"), list, count) < count);
    CU_ASSERT(count <= COLL_CANDIDATES_MAX);
    query = bench_query(NF_COLL_SCAN, 16, 1 << 20, false); /* which has none */
    CU_ASSERT_EQUAL(coll_candidates(&query, &network, NULL, 4, list),
                    COLL_BEST);
}

/* @return whether two plans send and take the same in the same order */
static bool are_alike(const struct nf_plan *a, const struct nf_plan *b)
{
    bool alike = a->nsteps == b->nsteps;

    for (uint32_t i = 0; i < a->nsteps && alike; i++) {
        const struct nf_plan_step *s = &a->steps[i], *t = &b->steps[i];

        alike = s->peer == t->peer && s->sends == t->sends &&
                s->first_item == t->first_item && s->action == t->action &&
                s->waits == t->waits && s->nspans == t->nspans;
    }
    return alike;
}

static bool twins_are_alike(const struct nf_coll_algorithm *a,
                            const struct nf_coll_algorithm *b,
                            const struct nf_coll_args *args)
{
    bool alike = true;

    for (uint32_t rank = 0; rank < args->ranks && alike; rank++) {
        struct nf_plan *p = NULL, *q = NULL;

        alike = nf_plan_create(a, args, rank, &p, NULL) == NF_OK &&
                nf_plan_create(b, args, rank, &q, NULL) == NF_OK &&
                are_alike(p, q);
        nf_plan_destroy(p);
        nf_plan_destroy(q);
    }
    return alike;
}

/* So one of them is enough. */
static void twins_are_the_same_messages(void)
{
    unsigned pairs = 0;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (size_t j = i + 1; nf_coll_table[j] != NULL; j++) {
            const struct nf_coll_algorithm *a = nf_coll_table[i];
            const struct nf_coll_algorithm *b = nf_coll_table[j];

            if (!nf_coll_are_twins(a, b))
                continue;
            pairs++;
            for (uint32_t ranks = 2; ranks <= 9; ranks++)
                for (uint32_t k = 1; k <= 5; k++)
                    if (!twins_are_alike(a, b,
                                         &(struct nf_coll_args){
                                             .ranks = ranks, .segments = k })) {
                        printf("%s: %u ranks, %u segments\n", a->name,
                                     ranks, k);
                        CU_FAIL("twins differ");
                    }
        }
    CU_ASSERT_EQUAL(pairs, 4); /* bcast, reduce, scan, exscan */
}

int main(void)
{
    CU_TestInfo tried[] = {
        { "twins are the same messages", twins_are_the_same_messages },
        { "candidates are the best and the usual",
          candidates_are_the_best_and_the_usual },
        { "all that are close are tried", all_that_are_close_are_tried },
        { "where hosts are shared two levels are tried",
          where_hosts_are_shared_two_levels_are_tried },
        { "where processors are shared more are tried",
          where_processors_are_shared_more_are_tried },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "candidates", NULL, NULL, NULL, NULL, tried },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
