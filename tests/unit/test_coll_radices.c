/* The best radices of mixed-radix exchanges: goldens, and against all others.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/coll/radix.h"
#include "tests/unit/coll_exchange.h"
#include "tests/unit/nf_unit.h"

/* ---- goldens ---- */

static bool costs(uint32_t ranks, const json_t *row)
{
    const struct nf_coll_sides radices =
        sides_of(json_object_get(row, "radices"));
    struct nf_radix_cost cost = nf_radix_cost(ranks, &radices);

    return nf_radix_fits(ranks, &radices) &
           is("S", "radices", cost.rounds, number(row, "S")) &
           is("V", "radices", cost.blocks, number(row, "V"));
}

enum { PARETO_RANKS = 128 };
#define NO_VECTOR UINT64_MAX

/* A digit of this weight and radix, before those of higher weights.
 * @param least  [w][s] fewest blocks in s rounds, of digits from weight w on */
static void add_digit(uint32_t ranks, uint32_t weight, uint32_t radix,
                      uint64_t (*least)[PARETO_RANKS])
{
    uint32_t cycle = weight * radix, values = (ranks + weight - 1) / weight;
    uint32_t part = ranks % cycle;
    uint32_t stay = ranks / cycle * weight + (part < weight ? part : weight);
    uint32_t more = (values < radix ? values : radix) - 1;

    for (uint32_t s = more; s < ranks; s++) {
        uint64_t rest = s == more ? 0 : NO_VECTOR;

        if (cycle < ranks)
            rest = least[cycle][s - more];
        if (rest != NO_VECTOR && rest + ranks - stay < least[weight][s])
            least[weight][s] = rest + ranks - stay;
    }
}

/* Of all vectors the goldens have those that no other one beats, and no others. */
static bool is_complete(uint32_t ranks, const json_t *list)
{
    static uint64_t least[PARETO_RANKS][PARETO_RANKS];
    uint64_t below = NO_VECTOR;
    size_t at = 0;
    bool same = true;

    for (uint32_t w = ranks - 1; w >= 1; w--) {
        for (uint32_t s = 0; s < ranks; s++)
            least[w][s] = NO_VECTOR;
        for (uint32_t radix = 2; radix <= (ranks + w - 1) / w; radix++)
            add_digit(ranks, w, radix, least);
    }
    for (uint32_t s = 0; s < ranks; s++) {
        const json_t *row = json_array_get(list, at);

        if (least[1][s] >= below)
            continue;
        below = least[1][s];
        at++;
        same &= row != NULL && number(row, "S") == s &&
                number(row, "V") == (json_int_t)below;
    }
    return same && at == json_array_size(list);
}

/* Each point of the goldens costs what it says, none is missing, and each of the hull is
 * one of them. */
static void pareto_vectors_are_the_goldens(void)
{
    const json_t *all = json_object_get(golden, "mixed_radix_pareto");
    const json_t *list;
    const char *key;
    size_t rows = 0;

    json_object_foreach((json_t *)all, key, list)
    {
        uint32_t ranks = (uint32_t)strtoul(key, NULL, 10);
        struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
        uint32_t count = nf_radix_hull(ranks, hull);

        CU_ASSERT_FATAL(ranks <= PARETO_RANKS);
        CU_ASSERT(is_complete(ranks, list));
        for (size_t i = 0; i < json_array_size(list); i++, rows++)
            CU_ASSERT(costs(ranks, json_array_get(list, i)));
        for (uint32_t i = 0; i < count; i++) {
            bool found = false;

            for (size_t j = 0; j < json_array_size(list); j++) {
                const json_t *row = json_array_get(list, j);

                found |= number(row, "S") == hull[i].cost.rounds &&
                         number(row, "V") == (json_int_t)hull[i].cost.blocks;
            }
            CU_ASSERT(found);
        }
    }
    CU_ASSERT(rows > 300);
}

/* Of equals the goldens have those of the fewest digits, then the
 * lexicographically least. */
static bool same_radices(const struct nf_coll_sides *got, const json_t *row)
{
    const struct nf_coll_sides want = sides_of(json_object_get(row, "radices"));
    bool same = got->count == want.count;

    for (uint32_t i = 0; i < want.count && same; i++)
        same = got->of[i] == want.of[i];
    return same;
}

static void thresholds_are_the_goldens(void)
{
    const json_t *all = json_object_get(golden, "selection_hull");
    const json_t *list;
    const char *key;

    CU_ASSERT_EQUAL(json_object_size(all), 32);
    json_object_foreach((json_t *)all, key, list)
    {
        uint32_t ranks = (uint32_t)strtoul(key, NULL, 10);
        struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
        uint32_t count = nf_radix_hull(ranks, hull);

        CU_ASSERT_EQUAL(count, json_array_size(list));
        for (uint32_t i = 0; i < count; i++) {
            const json_t *row = json_array_get(list, i);
            const json_t *bound = json_object_get(row, "use_below_rho");

            CU_ASSERT(costs(ranks, row));
            CU_ASSERT(is("S", key, hull[i].cost.rounds, number(row, "S")));
            CU_ASSERT(is("V", key, hull[i].cost.blocks, number(row, "V")));
            CU_ASSERT(same_radices(&hull[i].radices, row));
            if (i + 1 == count) {
                CU_ASSERT_EQUAL(hull[i].below_den, 0);
                continue;
            }
            CU_ASSERT(is("bound", key, hull[i].below_num,
                         json_integer_value(json_array_get(bound, 0))));
            CU_ASSERT(is("bound", key, hull[i].below_den,
                         json_integer_value(json_array_get(bound, 1))));
        }
    }
}

static void choices_are_the_goldens(void)
{
    const json_t *list = json_object_get(golden, "selection");

    CU_ASSERT_EQUAL(json_array_size(list), 28);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        double rho = json_number_value(json_object_get(row, "rho"));
        uint32_t ranks = (uint32_t)number(row, "P");
        struct nf_coll_sides best;
        struct nf_radix_cost cost;

        if (rho == 0.0333)
            rho = 1.0 / 30; /* what it is rounded from */
        nf_radix_best(ranks, 30000, (uint64_t)lround(rho * 30000), &best);
        cost = nf_radix_cost(ranks, &best);
        CU_ASSERT(costs(ranks, row));
        /* equal costs may have other radices */
        CU_ASSERT_DOUBLE_EQUAL(
            cost.rounds + rho * (double)cost.blocks,
            json_number_value(json_object_get(row, "T_over_ts")), 5e-4);
        CU_ASSERT_DOUBLE_EQUAL(
            (1 + rho) * (ranks - 1),
            json_number_value(json_object_get(row, "pairwise")), 5e-4);
    }
}

/* [S, V, sides] of the paper's kernels on a grid, or of radices. */
static bool triple_is(const json_t *triple, const char *name, uint32_t ranks)
{
    const struct nf_coll_sides ring = { 1, { ranks } };
    const struct nf_coll_sides sides = sides_of(json_array_get(triple, 2));
    bool mixed = strcmp(name, "alltoall.mixed") == 0;
    struct nf_torus_load load;
    struct nf_schedule s;
    bool right = false;

    if (!make_exchange(name, mixed ? &ring : &sides, mixed ? &sides : NULL, &s))
        return false;
    if (nf_torus_measure(NULL, ranks, &s, 0, &load, NULL) == NF_OK ||
        nf_torus_measure(&sides, ranks, &s, 0, &load, NULL) == NF_OK) {
        right = is("S", name, load.rounds,
                   json_integer_value(json_array_get(triple, 0))) &
                is("V", name, load.volume,
                   json_integer_value(json_array_get(triple, 1)));
        nf_torus_load_fini(&load);
    }
    nf_schedule_fini(&s);
    return right;
}

static void any_number_of_ranks_as_the_goldens(void)
{
    const json_t *list = json_object_get(golden, "arbitrary_P");

    CU_ASSERT_EQUAL(json_array_size(list), 10);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *radix = json_object_get(row, "mixed_radix_min_S");
        uint32_t ranks = (uint32_t)number(row, "P");
        struct nf_coll_sides fewest;
        struct nf_radix_cost cost;

        nf_radix_fewest_rounds(ranks, &fewest);
        cost = nf_radix_cost(ranks, &fewest);
        CU_ASSERT(is("S", "fewest", cost.rounds,
                     json_integer_value(json_array_get(radix, 0))));
        CU_ASSERT(is("V", "fewest", cost.blocks,
                     json_integer_value(json_array_get(radix, 1))));
        CU_ASSERT(triple_is(radix, "alltoall.mixed", ranks));
        CU_ASSERT(triple_is(json_object_get(row, "paper_best_2d"),
                            "alltoall.mdh", ranks));
        CU_ASSERT(triple_is(json_object_get(row, "paper_best_grid"),
                            "alltoall.mdh", ranks));
    }
}

static struct nf_coll_sides square(json_int_t n)
{
    return (struct nf_coll_sides){ 2, { (uint32_t)n, (uint32_t)n } };
}

/* What the exchange on that shape is when it is carried out. */
static struct nf_radix_cost carried_out(const char *name,
                                        const struct nf_coll_sides *shape)
{
    uint32_t ranks = (uint32_t)nf_coll_sides_product(shape);
    struct nf_radix_cost cost = { 0, 0 };
    struct nf_torus_load load;
    struct nf_schedule s;

    if (!make_exchange(name, shape, NULL, &s))
        return cost;
    if (nf_torus_measure(shape, ranks, &s, 0, &load, NULL) == NF_OK) {
        cost = (struct nf_radix_cost){ load.rounds, load.volume };
        nf_torus_load_fini(&load);
    }
    nf_schedule_fini(&s);
    return cost;
}

/* Of which there are no schedules: nothing is written where there is no room.
 */
static void too_many_ranks_go_by_pairs(void)
{
    static const uint32_t many[] = { NF_COLL_RANKS_MAX + 1, 65536, UINT32_MAX };

    for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++) {
        struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
        struct nf_coll_sides radices;

        nf_radix_best(many[i], 1, 1, &radices);
        CU_ASSERT(radices.count == 1 && radices.of[0] == many[i]);
        CU_ASSERT_EQUAL(nf_radix_hull(many[i], hull), 1);
        CU_ASSERT_EQUAL(hull[0].cost.rounds, many[i] - 1);
    }
}

/* Are there radices that take no more of either, and less of one? */
static bool is_dominated(const struct nf_radix_cost *cost, uint32_t ranks)
{
    struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
    uint32_t count = nf_radix_hull(ranks, hull);

    for (uint32_t i = 0; i < count; i++)
        if (hull[i].cost.rounds <= cost->rounds &&
            hull[i].cost.blocks <= cost->blocks &&
            (hull[i].cost.rounds < cost->rounds ||
             hull[i].cost.blocks < cost->blocks))
            return true;
    return false;
}

/* [S, V] of radix 2. */
static bool bruck_2_is(const json_t *pair, uint32_t ranks)
{
    const struct nf_coll_sides ring = { 1, { ranks } };
    struct nf_radix_cost cost = carried_out("alltoall.bruck", &ring);

    return is("S", "bruck2", cost.rounds,
              json_integer_value(json_array_get(pair, 0))) &
           is("V", "bruck2", cost.blocks,
              json_integer_value(json_array_get(pair, 1)));
}

static void on_a_switch_double_hop_is_dominated(void)
{
    const json_t *list = json_object_get(golden, "switch_dominance");

    CU_ASSERT_EQUAL(json_array_size(list), 3);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *by = json_object_get(row, "by");
        uint32_t ranks = (uint32_t)number(row, "P");
        const struct nf_coll_sides shape = square(number(row, "N"));
        struct nf_radix_cost paper = carried_out("alltoall.mdh", &shape);

        CU_ASSERT(is("S", "mdh", paper.rounds, number(row, "paper_S")));
        CU_ASSERT(is("V", "mdh", paper.blocks, number(row, "paper_V")));
        CU_ASSERT(bruck_2_is(json_object_get(row, "bruck2"), ranks));
        CU_ASSERT_EQUAL(json_is_true(json_object_get(row, "dominated")),
                        is_dominated(&paper, ranks));
        for (size_t j = 0; j < json_array_size(by); j++) {
            const json_t *other = json_array_get(by, j);

            CU_ASSERT(costs(ranks, other));
            CU_ASSERT(number(other, "S") <= paper.rounds);
            CU_ASSERT(number(other, "V") <= (json_int_t)paper.blocks);
        }
    }
}

static bool is_cost(const json_t *row, const char *key,
                    struct nf_radix_cost cost)
{
    return is("S", key, cost.rounds, number(json_object_get(row, "S"), key)) &
           is("V", key, cost.blocks, number(json_object_get(row, "V"), key));
}

/* m* / (t_s B) of an algorithm with fewer start-ups against pairwise. */
static bool crosses(const json_t *row, const char *key, const char *bound,
                    struct nf_radix_cost cost)
{
    json_int_t p = number(row, "P") - 1;
    double want = json_number_value(json_object_get(row, bound));
    double got =
        (double)(p - cost.rounds) / (double)((json_int_t)cost.blocks - p);

    return is_cost(row, key, cost) & (fabs(got - want) < 5.1e-5);
}

static void crossovers_are_the_goldens(void)
{
    const json_t *list = json_object_get(golden, "crossover_over_tsB");

    CU_ASSERT_EQUAL(json_array_size(list), 4);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        uint32_t n = (uint32_t)number(row, "N");
        const struct nf_coll_sides radices = radices_2((uint64_t)n * n);
        const struct nf_coll_sides shape = square(n), ring = { 1, { n * n } };
        struct nf_radix_cost bruck = nf_radix_cost(n * n, &radices);

        CU_ASSERT(is_cost(row, "pairwise",
                          carried_out("alltoall.pairwise_shift", &ring)));
        CU_ASSERT(crosses(row, "bruck2", "bruck2_vs_pairwise", bruck));
        CU_ASSERT(crosses(row, "grid", "grid_pairwise_vs_pairwise",
                          carried_out("alltoall.pairwise_grid", &shape)));
        CU_ASSERT(crosses(row, "paper", "paper_vs_pairwise",
                          carried_out("alltoall.mdh", &shape)));
    }
}

/* ---- laws ---- */

static bool radices_cost_what_they_say(uint32_t ranks,
                                       const struct nf_coll_sides *radices)
{
    const struct nf_coll_args args = { .ranks = ranks,
                                       .segments = 1,
                                       .radices = radices };
    struct nf_radix_cost cost = nf_radix_cost(ranks, radices);
    struct nf_torus_load load;

    if (!is_right("alltoall.mixed", &args, &load))
        return false;
    nf_torus_load_fini(&load);
    return load.rounds == cost.rounds && load.volume == cost.blocks &&
           load.held == ranks;
}

/* Of all vectors that follow radices: do they cost what they say, and what is
 * the least start S + block V? */
static void try_all(uint32_t ranks, struct nf_coll_sides *radices,
                    uint32_t weight, bool run, uint64_t start, uint64_t block,
                    uint64_t *least_p)
{
    if (weight >= ranks) {
        struct nf_radix_cost cost = nf_radix_cost(ranks, radices);
        uint64_t sum = start * cost.rounds + block * cost.blocks;

        if (sum < *least_p)
            *least_p = sum;
        if (run)
            CU_ASSERT(radices_cost_what_they_say(ranks, radices));
        return;
    }
    for (uint32_t r = 2; r <= (ranks + weight - 1) / weight; r++) {
        radices->of[radices->count++] = r;
        try_all(ranks, radices, weight * r, run, start, block, least_p);
        radices->count--;
    }
}

static void test_radices(void)
{
    for (uint32_t ranks = 2; ranks <= 24; ranks++)
        for (uint32_t start = 1; start < 300; start *= 3) {
            struct nf_coll_sides radices = { .count = 0 }, best;
            uint64_t least = UINT64_MAX;
            struct nf_radix_cost cost;

            try_all(ranks, &radices, 1, start == 1 && ranks <= 16, start, 5,
                    &least);
            nf_radix_best(ranks, start, 5, &best);
            cost = nf_radix_cost(ranks, &best);
            CU_ASSERT(nf_radix_fits(ranks, &best));
            CU_ASSERT_EQUAL(start * cost.rounds + 5 * cost.blocks, least);
        }
}

/* Bounds ascend, and from m = t_s B on nothing is better than pairwise. */
static void test_hull(void)
{
    for (uint32_t ranks = 2; ranks <= 256; ranks++) {
        struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
        uint32_t count = nf_radix_hull(ranks, hull);
        const struct nf_radix_choice *last = &hull[count - 1];

        CU_ASSERT(count < NF_RADIX_CHOICES_MAX);
        CU_ASSERT_EQUAL(last->cost.rounds, ranks - 1);
        CU_ASSERT_EQUAL(last->cost.blocks, ranks - 1);
        CU_ASSERT_EQUAL(last->below_den, 0);
        if (ranks >= 4) {
            CU_ASSERT(count >= 2);
            CU_ASSERT_EQUAL(hull[count - 2].below_num, 1);
            CU_ASSERT_EQUAL(hull[count - 2].below_den, 1);
        }
        CU_ASSERT_EQUAL(hull[0].cost.rounds, nf_coll_ceil_log2(ranks));
        for (uint32_t i = 0; i + 2 < count; i++)
            CU_ASSERT(hull[i].below_num * hull[i + 1].below_den <
                      hull[i + 1].below_num * hull[i].below_den);
    }
}

static void test_bruck(void)
{
    struct nf_torus_load load;

    for (uint32_t ranks = 2; ranks <= 40; ranks++)
        for (uint32_t r = 2; r <= ranks; r++) {
            const struct nf_coll_args args = { .ranks = ranks,
                                               .segments = 1,
                                               .radix = r };

            CU_ASSERT(is_right("alltoall.bruck", &args, &load));
            CU_ASSERT_EQUAL(load.held, ranks);
            nf_torus_load_fini(&load);
        }
}

int main(void)
{
    CU_TestInfo goldens[] = {
        { "Pareto vectors are the goldens", pareto_vectors_are_the_goldens },
        { "thresholds are the goldens", thresholds_are_the_goldens },
        { "choices are the goldens", choices_are_the_goldens },
        { "any number of ranks", any_number_of_ranks_as_the_goldens },
        { "on a switch Double-Hop is dominated",
          on_a_switch_double_hop_is_dominated },
        { "cross-overs are the goldens", crossovers_are_the_goldens },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo laws[] = {
        { "every vector, and the best of them", test_radices },
        { "the hull", test_hull },
        { "too many ranks go by pairs", too_many_ranks_go_by_pairs },
        { "Bruck of any radix", test_bruck },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "goldens", load_golden, unload_golden, NULL, NULL, goldens },
        { "laws", NULL, NULL, NULL, NULL, laws },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
