/* The search of coll-bench --tune, with made-up times: what it finds, and after
 * how many measurements. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include "apps/collbench/team.h"
#include "apps/nowfarm/coll_bench.h"
#include "apps/nowfarm/coll_search.h"
#include "common/base/rng.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 8 };

/* What a call takes, in a made-up world. */
struct world {
    double (*time_us)(const struct world *world,
                      const struct coll_candidate *c);
    const struct nf_coll_query *query;
    struct nf_coll_network truth;
    const struct nf_coll_algorithm *liked;
    double noise; /* so large a part of a time is random, to either side */
    struct nf_rng rng;
};

static struct nf_coll_network model_network(double start_us)
{
    return (struct nf_coll_network){
        .price = { .npieces = 1,
                   .pieces = { { 0, start_us, 0.085 } },
                   .ports = NF_PORTS_FULL },
        .delta = 1
    };
}

static double random_part(struct nf_rng *rng)
{
    return (double)nf_rng_below(rng, 1 << 20) / (1 << 19) - 1;
}

static void measure(struct world *world, struct coll_candidate *c,
                    unsigned repeats)
{
    double us[COLL_FINAL_MOST], true_us = world->time_us(world, c);

    for (unsigned i = 0; i < repeats; i++)
        us[i] = true_us * (1 + world->noise * random_part(&world->rng));
    stats_median_interval(us, repeats, STATS_CONFIDENCE, &c->us);
}

/* As bench_repeats() has it. */
static unsigned calls_of(const struct world *world,
                         const struct coll_search *search,
                         const struct coll_candidate *c)
{
    struct coll_effort effort = coll_search_effort(search);
    double fit = (double)effort.budget_us / world->time_us(world, c);

    CU_ASSERT(effort.least >= effort.turns && effort.least <= effort.most);
    CU_ASSERT(effort.most <= COLL_FINAL_MOST);
    return (unsigned)fmax((double)effort.least,
                          fmin(fit, (double)effort.most));
}

/* Nothing is timed twice in one list, and nothing that a rule would not give back. */
static void check_list(const struct coll_search *search)
{
    CU_ASSERT(search->count <= COLL_CANDIDATES_MAX);
    for (unsigned i = 0; i < search->count; i++) {
        const struct coll_candidate *c = &search->list[i];

        for (unsigned j = 0; j < i; j++)
            CU_ASSERT(search->list[j].algorithm != c->algorithm ||
                      search->list[j].segments != c->segments);
        if (c->algorithm == search->model.algorithm &&
            c->segments == search->model.segments)
            continue;
        CU_ASSERT_EQUAL(c->segments,
                        coll_told_segments(search->query, c->algorithm,
                                           c->segments));
    }
}

/* @return how many lists were measured */
static unsigned search_in(struct world *world, struct coll_search *search,
                          const struct nf_coll_query *query,
                          const struct nf_coll_network *network)
{
    unsigned lists = 0;

    world->query = query;
    coll_search_begin(search, query, network, NULL, query->ranks);
    CU_ASSERT(search->count > 0);
    while (search->count > 0 && lists < 100) {
        check_list(search);
        for (unsigned i = 0; i < search->count; i++)
            measure(world, &search->list[i],
                    calls_of(world, search, &search->list[i]));
        coll_search_go_on(search);
        lists++;
    }
    CU_ASSERT(lists <= COLL_LISTS_MAX);
    return lists;
}

/* ------------------------------------------------------------------ worlds */

/* As the model says, of another network: has one minimum in k. */
static double by_truth(const struct world *world,
                       const struct coll_candidate *c)
{
    return nf_coll_cost_us(c->algorithm, &world->truth, world->query->ranks,
                           (double)world->query->bytes, c->segments);
}

static double flat(const struct world *world, const struct coll_candidate *c)
{
    (void)world;
    (void)c;
    return 1000;
}

/* One algorithm is best by far, and always better with more segments. */
static double more_is_better(const struct world *world,
                             const struct coll_candidate *c)
{
    return c->algorithm == world->liked ? 1e6 / c->segments : 1e7;
}

static double less_is_better(const struct world *world,
                             const struct coll_candidate *c)
{
    return c->algorithm == world->liked ? 100.0 * c->segments : 1e7;
}

/* The least time of any number of segments that doubling and halving reach. */
static double least_us(const struct world *world, struct coll_candidate c)
{
    double least = INFINITY;

    for (uint32_t k = 1; k <= NF_COLL_SEGMENTS_MAX; k *= 2) {
        c.segments = k;
        least = fmin(least, world->time_us(world, &c));
    }
    return least;
}

/* ------------------------------------------------------------------- tests */

/* The network is faster or slower to start than the model has it, by up to 30
 * times: the best number of segments is up to 5.5 times what the model says. */
static void one_minimum_is_found(void)
{
    static const double factors[] = { 1.0 / 30, 0.1, 0.3, 1, 3, 10, 30 };

    for (int i = 0; i < 7; i++)
        for (uint64_t bytes = 4096; bytes <= 16 << 20; bytes *= 4) {
            const struct nf_coll_network network = model_network(90);
            const struct nf_coll_query query =
                bench_query(NF_COLL_BCAST, RANKS, bytes, false);
            struct world world = { .time_us = by_truth,
                                   .truth = model_network(90 * factors[i]) };
            struct coll_search search;
            unsigned lists = search_in(&world, &search, &query, &network);
            double got_us = by_truth(&world, &search.best);

            /* the last step that gains less than 3 % is not taken */
            CU_ASSERT(got_us <= 1.1 * least_us(&world, search.best));
            CU_ASSERT(got_us <= by_truth(&world, &search.model));
            if (factors[i] == 1) { /* the model is right */
                CU_ASSERT_TRUE(coll_search_is_model(&search));
                /* its neighbours, and short calls once more */
                CU_ASSERT_EQUAL(lists, 2 + (got_us <= COLL_FINAL_LONGEST_US));
            }
        }
}

/* Nothing is gained anywhere: the model's choice stays, and nothing is tried
 * after its neighbours but what came near. */
static void where_all_are_equal_the_model_stays(void)
{
    for (int op = 0; op < NF_COLL_OPS; op++)
        for (uint64_t bytes = 8; bytes <= 16 << 20; bytes *= 8) {
            const struct nf_coll_network network = model_network(90);
            const struct nf_coll_query query =
                bench_query((enum nf_coll_op)op, RANKS, bytes, false);
            struct world world = { .time_us = flat };
            struct coll_search search;

            CU_ASSERT(search_in(&world, &search, &query, &network) <= 3);
            CU_ASSERT_TRUE(coll_search_is_model(&search));
        }
}

/* Random times change the model's choice hardly ever if there is nothing to
 * gain, and never for what is much slower. */
static void noise_is_not_believed(void)
{
    enum { SEEDS = 300 };
    const struct nf_coll_network network = model_network(90);
    const struct nf_coll_query query =
        bench_query(NF_COLL_BCAST, RANKS, 1 << 20, false);
    unsigned changed = 0, bad = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world = { .time_us = flat, .noise = 0.2, .rng = { seed } };
        struct coll_search search;

        search_in(&world, &search, &query, &network);
        changed += !coll_search_is_model(&search);
        world.time_us = by_truth;
        world.truth = model_network(9);
        search_in(&world, &search, &query, &network);
        bad += by_truth(&world, &search.best) >
               1.2 * least_us(&world, search.best);
    }
    CU_ASSERT(changed <= SEEDS / 10);
    CU_ASSERT(bad <= SEEDS / 10);
    if (changed > SEEDS / 10 || bad > SEEDS / 10)
        printf("\n    of %d: changed %u, bad %u", SEEDS, changed, bad);
}

/* Many short segments, so that several numbers of them come to the same bytes each:
 * check_list() sees the lists. */
static void what_is_timed_can_be_told(void)
{
    static const uint64_t bytes[] = { 512, 4000, 8192, 65536 };
    unsigned many = 0;

    for (int op = 0; op < NF_COLL_OPS; op++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            const struct nf_coll_network network = model_network(0.05);
            const struct nf_coll_query query =
                bench_query((enum nf_coll_op)op, RANKS, bytes[seed % 4], false);
            struct world world = { .time_us = by_truth,
                                   .truth = model_network(0.02),
                                   .noise = 0.3,
                                   .rng = { seed } };
            struct coll_search search;

            search_in(&world, &search, &query, &network);
            many += search.best.segments > 16;
        }
    CU_ASSERT(many > 20);
}

static double gather_us(const struct world *world,
                        const struct coll_candidate *c)
{
    return c->algorithm == world->liked ? 300 : 345;
}

/* Short calls spread by much more than they differ: all the same the one that the
 * model does not think best is found, nearly each time.  By the first list alone it is
 * a matter of luck. */
static void short_calls_are_told_apart(void)
{
    enum { SEEDS = 200 };
    const struct nf_coll_network network = model_network(90);
    const struct nf_coll_query query =
        bench_query(NF_COLL_REDUCE, RANKS, 8, false);
    unsigned found = 0, at_first = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world = { .time_us = gather_us,
                               .query = &query,
                               .noise = 0.45,
                               .rng = { seed } };
        struct coll_search search;

        coll_search_begin(&search, &query, &network, NULL, RANKS);
        world.liked = search.list[1].algorithm;
        for (unsigned i = 0; i < search.count; i++)
            measure(&world, &search.list[i],
                    calls_of(&world, &search, &search.list[i]));
        at_first += coll_winner(search.list, search.count, 0) == 1;
        search_in(&world, &search, &query, &network);
        found += search.best.algorithm == world.liked;
    }
    CU_ASSERT(at_first < SEEDS * 3 / 4);
    CU_ASSERT(found >= SEEDS - SEEDS / 20);
    if (found < SEEDS - SEEDS / 20 || at_first >= SEEDS * 3 / 4)
        printf("\n    found %u of %d, %u by the first list", found, SEEDS,
               at_first);
}

static struct stats_interval exactly(double us)
{
    return (struct stats_interval){ .n = 20, .median = us, .low = us, .high = us };
}

/* Times that always fall: the search ends all the same, and takes what it last
 * found. */
static void the_search_ends(void)
{
    for (int down = 0; down < 2; down++) {
        const struct nf_coll_network network = model_network(90);
        const struct nf_coll_query query =
            bench_query(NF_COLL_BCAST, RANKS, 1 << 20, false);
        struct world world = { .time_us =
                                   down ? less_is_better : more_is_better };
        struct coll_search search;
        uint32_t first, want;

        coll_search_begin(&search, &query, &network, NULL, RANKS);
        world.liked = search.list[0].algorithm;
        first = search.list[0].segments;
        CU_ASSERT(first >= 8 && world.liked->items == NF_ITEMS_SEGMENTS);
        want = down ? first >> (1 + COLL_STEPS) : first << (1 + COLL_STEPS);
        if (want == 0)
            want = 1;
        if (want > NF_COLL_SEGMENTS_MAX)
            want = NF_COLL_SEGMENTS_MAX;
        CU_ASSERT(search_in(&world, &search, &query, &network) <=
                  COLL_LISTS_MAX);
        CU_ASSERT_PTR_EQUAL(search.best.algorithm, world.liked);
        CU_ASSERT_EQUAL(search.best.segments, want);
    }
}

/* The one that is far slower by the model, but not in truth, wins with segments
 * of its own. */
static void what_was_nearly_as_fast_may_win(void)
{
    const struct nf_coll_network network = model_network(90);
    const struct nf_coll_query query =
        bench_query(NF_COLL_BCAST, RANKS, 1 << 20, false);
    struct world world = { .time_us = flat };
    struct coll_search search, again;
    struct coll_candidate second;
    double median_us;
    unsigned at = 0;

    world.query = &query;
    coll_search_begin(&search, &query, &network, NULL, RANKS);
    second = search.list[1];
    CU_ASSERT(second.algorithm != search.list[0].algorithm &&
              second.algorithm->items == NF_ITEMS_SEGMENTS);
    for (unsigned i = 0; i < search.count; i++) {
        measure(&world, &search.list[i], 10); /* all equal */
        at += search.list[i].algorithm == second.algorithm;
    }
    CU_ASSERT_EQUAL(at, 1);
    CU_ASSERT_EQUAL(coll_search_effort(&search).least, 10);
    coll_search_go_on(&search);
    CU_ASSERT_EQUAL(coll_search_effort(&search).least, 20);
    median_us = search.best.us.median;
    search.best.us.median = 200001; /* longer calls are not made so often */
    CU_ASSERT_EQUAL(coll_search_effort(&search).least, 10);
    search.best.us.median = median_us;
    for (unsigned i = 0; i < search.count; i++) {
        struct coll_candidate *c = &search.list[i];

        measure(&world, c, 20);
        if (c->algorithm == second.algorithm &&
            c->segments == 2 * second.segments)
            c->us.low = c->us.median = c->us.high = 800;
    }
    coll_search_go_on(&search);
    /* it was a good step: one more is tried, against it */
    CU_ASSERT_EQUAL(search.count, 2);
    CU_ASSERT_PTR_EQUAL(search.list[0].algorithm, second.algorithm);
    CU_ASSERT_EQUAL(search.list[0].segments, 2 * second.segments);
    CU_ASSERT_EQUAL(search.list[1].segments, 4 * second.segments);
    /* were it found to be no better than that, others would be near it */
    again = search;
    again.list[0].us = exactly(950);
    measure(&world, &again.list[1], 20);
    coll_search_go_on(&again);
    CU_ASSERT_EQUAL(again.count, 3 + COLL_FINAL_OTHERS);
    measure(&world, &search.list[1], 20);
    coll_search_go_on(&search);
    /* nothing came near it; what lies between is tried, and is better */
    CU_ASSERT_EQUAL(search.count, 3);
    CU_ASSERT_EQUAL(search.list[0].segments, 2 * second.segments);
    CU_ASSERT_EQUAL(search.list[1].segments,
                    (3 * second.segments + 1) / 2);
    CU_ASSERT_EQUAL(search.list[2].segments, 3 * second.segments);
    CU_ASSERT_EQUAL(coll_search_effort(&search).turns, COLL_FINAL_TURNS);
    measure(&world, &search.list[0], 20);
    measure(&world, &search.list[1], 20);
    search.list[2].us = exactly(700);
    coll_search_go_on(&search);
    CU_ASSERT_EQUAL(search.count, 0);
    CU_ASSERT_PTR_EQUAL(search.best.algorithm, second.algorithm);
    CU_ASSERT_EQUAL(search.best.segments, 3 * second.segments);
    CU_ASSERT_FALSE(coll_search_is_model(&search));
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "one minimum is found", one_minimum_is_found },
        { "where all are equal the model stays",
          where_all_are_equal_the_model_stays },
        { "noise is not believed", noise_is_not_believed },
        { "what is timed can be told", what_is_timed_can_be_told },
        { "short calls are told apart", short_calls_are_told_apart },
        { "the search ends", the_search_ends },
        { "what was nearly as fast may win", what_was_nearly_as_fast_may_win },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the search for segments", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
