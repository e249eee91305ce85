/* All-to-all: every schedule, count and choice of the goldens. */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/error.h"
#include "common/coll/check.h"
#include "common/coll/radix.h"
#include "common/coll/torus.h"
#include "tests/unit/coll_golden.h"
#include "tests/unit/nf_unit.h"

static void expect(struct coll_golden_count count, size_t compared)
{
    CU_ASSERT_EQUAL(count.compared, compared);
    CU_ASSERT_EQUAL(count.wrong, 0);
}

/* ---- those of all collectives ---- */

static void schedules_are_the_goldens(void)
{
    expect(coll_golden_schedules(NF_COLL_ALLTOALL), 18);
}

static void as_many_steps_as_the_goldens(void)
{
    expect(coll_golden_steps("alltoall.bruck", "alltoall.bruck", 0), 24);
    expect(coll_golden_steps("alltoall.pairwise_shift",
                             "alltoall.pairwise_shift", 0),
           24);
    expect(coll_golden_steps("alltoall.tournament_hd", "alltoall.tournament_hd",
                             0),
           24);
}

static void costs_are_the_goldens(void)
{
    static const struct coll_golden_cost rows[] = {
        { "alltoall.pairwise.fd", "alltoall.pairwise_shift", NF_PORTS_FULL },
        { "alltoall.pairwise.hd", "alltoall.pairwise_shift", NF_PORTS_HALF },
        { "alltoall.tournament.hd", "alltoall.tournament_hd", NF_PORTS_HALF },
        { "alltoall.bruck.fd", "alltoall.bruck", NF_PORTS_FULL },
        { "alltoall.bruck.hd", "alltoall.bruck", NF_PORTS_HALF },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect(coll_golden_costs("per-block m", &rows[i]), 60);
}

/* ---- alltoall.json ---- */

static json_t *golden;

static int load(void)
{
    json_error_t err;

    golden = json_load_file(NF_SRCDIR "/tests/golden/alltoall.json", 0, &err);
    if (golden == NULL)
        printf("\n    %s", err.text);
    return golden != NULL ? 0 : 1;
}

static int unload(void)
{
    json_decref(golden);
    return 0;
}

static json_int_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_integer(value))
        return json_integer_value(value);
    printf("\n    no number %s", key);
    return -1;
}

static struct nf_coll_sides sides_of(const json_t *array)
{
    struct nf_coll_sides sides = { .count = (uint32_t)json_array_size(array) };

    for (uint32_t i = 0; i < sides.count && i < NF_COLL_SIDES_MAX; i++)
        sides.of[i] = (uint32_t)json_integer_value(json_array_get(array, i));
    return sides;
}

static const struct nf_coll_sides twos = {
    12, { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 }
};

/* Fewest digits of 2, on a grid of that shape or on none. */
static bool make(const char *name, const struct nf_coll_sides *shape,
                 const struct nf_coll_sides *radices, struct nf_schedule *s)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);
    const struct nf_coll_args args = {
        .ranks = (uint32_t)nf_coll_sides_product(shape),
        .segments = 1,
        .shape = shape,
        .radices = radices,
    };
    struct nf_error err = { .text = "no such algorithm" };

    if (algorithm != NULL &&
        nf_coll_make(algorithm, &args, NF_ALL_RANKS, s, &err) == NF_OK)
        return true;
    printf("\n    %s: %s", name, err.text);
    return false;
}

/* When the last rank is done if a rank waits for its messages only, a message
 * taking 1, or the number of its blocks. */
static uint64_t chain(const struct nf_schedule *s, uint32_t ranks, bool blocks)
{
    uint64_t *now = calloc(ranks, sizeof(*now));
    uint64_t *next = calloc(ranks, sizeof(*next));
    uint64_t last = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct nf_coll_message *m = &s->messages[i];
        uint64_t took = blocks ? 0 : 1, end;

        for (uint32_t j = 0; blocks && j < m->nspans; j++)
            took += s->spans[m->first_span + j].count;
        end = (now[m->src] > now[m->dst] ? now[m->src] : now[m->dst]) + took;
        next[m->src] = end > next[m->src] ? end : next[m->src];
        next[m->dst] = end > next[m->dst] ? end : next[m->dst];
        last = end > last ? end : last;
        if (i + 1 == s->count || m[1].round != m->round)
            memcpy(now, next, ranks * sizeof(*now));
    }
    free(now);
    free(next);
    return last;
}

static bool is(const char *what, const char *name, uint64_t got,
               json_int_t want)
{
    if ((json_int_t)got == want)
        return true;
    printf("\n    %s: %s is %llu, want %lld", name, what,
           (unsigned long long)got, (long long)want);
    return false;
}

static bool row_is_right(const json_t *row, const char *name,
                         const struct nf_coll_sides *shape,
                         const struct nf_schedule *s)
{
    uint32_t ranks = (uint32_t)nf_coll_sides_product(shape);
    const json_t *largest = json_object_get(row, "max_blocks");
    struct nf_torus_load load;
    bool right;

    if (nf_torus_measure(shape, ranks, s, 0, &load, NULL) != NF_OK)
        return false;
    right =
        is("P", name, ranks, number(row, "P")) &
        is("steps", name, load.rounds, number(row, "steps")) &
        is("V", name, load.volume, number(row, "V")) &
        is("V_contended", name, load.contended, number(row, "V_contended")) &
        is("S_async", name, chain(s, ranks, false), number(row, "S_async")) &
        is("V_async", name, chain(s, ranks, true), number(row, "V_async")) &
        is("on a channel", name, load.channel_messages,
           number(row, "max_chan_msgs")) &
        is("peers", name, load.peers, number(row, "max_peers")) &
        is("start-ups", name, load.sends, number(row, "startups_max_node")) &
        is("blocks", name, load.blocks, number(row, "total_blocks")) &
        is("messages", name, load.messages, number(row, "total_msgs")) &
        is("steps listed", name, load.rounds,
           (json_int_t)json_array_size(largest));
    for (uint32_t i = 0; right && i < load.rounds; i++)
        right = is("a step", name, load.each[i].largest,
                   json_integer_value(json_array_get(largest, i)));
    nf_torus_load_fini(&load);
    return right;
}

/* The reference's names. */
static const char *our_name(const char *name)
{
    static const char *const names[][2] = {
        { "naive", "alltoall.naive" },
        { "double-hop", "alltoall.dh" },
        { "double-hop-2d", "alltoall.dh" },
        { "modified-double-hop", "alltoall.mdh" },
        { "modified-double-hop-2d", "alltoall.mdh" },
        { "paper-kernel-per-dimension", "alltoall.mdh" },
        { "cyclic-double-hop", "alltoall.cdh" },
        { "cyclic-double-hop-2d", "alltoall.cdh" },
        { "split-and-merge", "alltoall.split_merge" },
        { "split-and-merge-paper", "alltoall.split_merge0" },
        { "pairwise-shift", "alltoall.pairwise_shift" },
        { "pairwise-xor", "alltoall.pairwise_xor" },
        { "bruck-2", "alltoall.mixed" },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return name;
}

static struct nf_coll_sides radices_2(uint64_t ranks)
{
    struct nf_coll_sides sides = twos;

    sides.count = nf_coll_ceil_log2((uint32_t)ranks);
    return sides;
}

static void counts_are_the_goldens_of(const char *section, size_t rows)
{
    const json_t *list = json_object_get(golden, section);

    CU_ASSERT_EQUAL(json_array_size(list), rows);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(row, "algorithm"));
        const struct nf_coll_sides shape =
            sides_of(json_object_get(row, "dims"));
        const struct nf_coll_sides radices =
            radices_2(nf_coll_sides_product(&shape));
        struct nf_schedule s;

        if (!make(our_name(name), &shape, &radices, &s)) {
            CU_FAIL("not made");
            continue;
        }
        CU_ASSERT(row_is_right(row, name, &shape, &s));
        nf_schedule_fini(&s);
    }
}

static void counts_are_the_goldens(void)
{
    counts_are_the_goldens_of("ring", 44);
    counts_are_the_goldens_of("torus2d", 16);
    counts_are_the_goldens_of("rectangular", 19);
    counts_are_the_goldens_of("split_and_merge", 12);
    counts_are_the_goldens_of("flat", 31);
}

static bool load_is(const json_t *row, const char *key, const char *name,
                    const struct nf_coll_sides *shape)
{
    const json_t *want = json_object_get(row, key);
    uint32_t ranks = (uint32_t)nf_coll_sides_product(shape);
    const struct nf_coll_sides radices = radices_2(ranks);
    struct nf_torus_load got;
    struct nf_schedule s;
    bool right = false;

    if (!make(name, shape, &radices, &s))
        return false;
    if (nf_torus_measure(shape, ranks, &s, 0, &got, NULL) == NF_OK) {
        right = is("S", name, got.rounds, number(want, "S")) &
                is("V", name, got.volume, number(want, "V")) &
                is("Vc", name, got.contended, number(want, "Vc")) &
                is("chan", name, got.channel_messages, number(want, "chan")) &
                is("peers", name, got.peers, number(want, "peers")) &
                is("total", name, got.blocks, number(want, "total"));
        nf_torus_load_fini(&got);
    }
    nf_schedule_fini(&s);
    return right;
}

static void loads_of_a_torus_are_the_goldens(void)
{
    static const char *const names[][2] = {
        { "bruck2_flat", "alltoall.mixed" },
        { "bruck2_per_dim", "alltoall.bruck_grid" },
        { "cyclic", "alltoall.cdh" },
        { "grid_pairwise", "alltoall.pairwise_grid" },
        { "naive", "alltoall.naive" },
        { "pairwise_flat", "alltoall.pairwise_shift" },
        { "paper", "alltoall.mdh" },
    };
    const json_t *list = json_object_get(golden, "torus_contended");

    CU_ASSERT_EQUAL(json_array_size(list), 6);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        uint32_t n = (uint32_t)number(row, "N");
        const struct nf_coll_sides shape = { 2, { n, n } };

        for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
            CU_ASSERT(load_is(row, names[j][0], names[j][1], &shape));
    }
}

/* ---- the example of the paper: which blocks a node has after each step ----
 */

static bool holds_what(const json_t *table, const uint8_t *holder,
                       uint32_t rank)
{
    bool right = true;
    uint32_t count = 0;

    for (uint32_t item = 0; item < 36 * 36; item++)
        count += holder[item] == rank;
    for (size_t a = 0; a < 6; a++)
        for (size_t b = 0; b < 6; b++) {
            const struct nf_coll_sides block =
                sides_of(json_array_get(json_array_get(table, a), b));
            uint32_t src = 6 * block.of[0] + block.of[1];
            uint32_t dst = 6 * block.of[2] + block.of[3];

            right &= holder[36 * src + dst] == rank;
        }
    return right && count == 36;
}

static void follow_example(const char *section, uint32_t rank, size_t states)
{
    const struct nf_coll_sides shape = { 2, { 6, 6 } };
    const json_t *list = json_object_get(golden, section);
    uint8_t holder[36 * 36];
    struct nf_schedule s;
    size_t m = 0;

    CU_ASSERT_EQUAL(json_array_size(list), states);
    if (!make("alltoall.dh", &shape, NULL, &s)) {
        CU_FAIL("not made");
        return;
    }
    for (uint32_t item = 0; item < 36 * 36; item++)
        holder[item] = (uint8_t)(item / 36);
    for (uint32_t step = 0; step < states; step++) {
        CU_ASSERT(holds_what(json_object_get(json_array_get(list, step), "M"),
                             holder, rank));
        for (; m < s.count && s.messages[m].round == step; m++)
            for (uint32_t i = 0; i < s.messages[m].nspans; i++) {
                struct nf_coll_span span =
                    s.spans[s.messages[m].first_span + i];

                for (uint32_t j = 0; j < span.count; j++)
                    holder[span.first + j] = (uint8_t)s.messages[m].dst;
            }
    }
    nf_schedule_fini(&s);
}

static void the_example_is_the_papers(void)
{
    follow_example("example_6x6_P00", 0, 7);
    follow_example("example_6x6_P13", 9, 6);
}

/* ---- Table 1 ---- */

static uint32_t steps_on_ring(const char *name, uint32_t n)
{
    const struct nf_coll_args args = { .ranks = n, .segments = 1 };
    struct nf_schedule s;
    uint32_t steps = 0;

    if (nf_coll_make(nf_coll_find(name), &args, 0, &s, NULL) == NF_OK)
        steps = nf_schedule_rounds(&s);
    nf_schedule_fini(&s);
    return steps;
}

static uint32_t steps_of_merge(const char *name, uint32_t n)
{
    const struct nf_coll_sides shape = { 2, { n, n } };
    struct nf_schedule s;
    uint32_t steps = 0;

    if (make(name, &shape, NULL, &s))
        steps = nf_schedule_rounds(&s);
    nf_schedule_fini(&s);
    return steps;
}

static void table_1_is_the_papers(void)
{
    const json_t *list = json_object_get(golden, "table1");

    CU_ASSERT_EQUAL(json_array_size(list), 7);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *printed = json_object_get(row, "printed");
        const json_t *computed = json_object_get(row, "computed");
        uint32_t n = (uint32_t)number(row, "N");

        CU_ASSERT(is("naive", "table 1", 2 * steps_on_ring("alltoall.naive", n),
                     number(printed, "naive")));
        CU_ASSERT(is("mdh", "table 1", 2 * steps_on_ring("alltoall.mdh", n),
                     number(printed, "modified_double_hop")));
        CU_ASSERT(is("cyclic", "table 1", 2 * steps_on_ring("alltoall.cdh", n),
                     number(computed, "cyclic")));
        CU_ASSERT(is("bruck", "table 1", 2 * steps_on_ring("alltoall.bruck", n),
                     number(computed, "grid_bruck")));
        if (n > 15)
            continue;
        CU_ASSERT(is("split and merge", "table 1",
                     steps_of_merge("alltoall.split_merge0", n),
                     number(printed, "split_merge")));
        CU_ASSERT(is("without merge 0", "table 1",
                     steps_of_merge("alltoall.split_merge", n),
                     number(computed, "split_merge_without_m0")));
    }
}

/* ---- radices ---- */

static bool costs(uint32_t ranks, const json_t *row)
{
    const struct nf_coll_sides radices =
        sides_of(json_object_get(row, "radices"));
    struct nf_radix_cost cost = nf_radix_cost(ranks, &radices);

    return nf_radix_fits(ranks, &radices) &
           is("S", "radices", cost.rounds, number(row, "S")) &
           is("V", "radices", cost.blocks, number(row, "V"));
}

/* No vector of the best for some slope is below the points of the goldens, and
 * each of those costs what it says. */
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

    if (!make(name, mixed ? &ring : &sides, mixed ? &sides : NULL, &s))
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

static void on_a_switch_double_hop_is_dominated(void)
{
    const json_t *list = json_object_get(golden, "switch_dominance");

    CU_ASSERT_EQUAL(json_array_size(list), 3);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *by = json_object_get(row, "by");
        uint32_t ranks = (uint32_t)number(row, "P");

        CU_ASSERT_EQUAL(json_is_true(json_object_get(row, "dominated")),
                        json_array_size(by) > 0);
        for (size_t j = 0; j < json_array_size(by); j++) {
            const json_t *other = json_array_get(by, j);

            CU_ASSERT(costs(ranks, other));
            CU_ASSERT(number(other, "S") <= number(row, "paper_S"));
            CU_ASSERT(number(other, "V") <= number(row, "paper_V"));
        }
    }
}

/* m* / (t_s B) of an algorithm with fewer start-ups against pairwise. */
static bool crosses(const json_t *row, const char *key, const char *bound)
{
    json_int_t s = number(json_object_get(row, "S"), key);
    json_int_t v = number(json_object_get(row, "V"), key);
    json_int_t p = number(row, "P") - 1;
    double want = json_number_value(json_object_get(row, bound));

    return fabs((double)(p - s) / (double)(v - p) - want) < 5.1e-5;
}

static void crossovers_are_the_goldens(void)
{
    const json_t *list = json_object_get(golden, "crossover_over_tsB");

    CU_ASSERT_EQUAL(json_array_size(list), 4);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        uint32_t n = (uint32_t)number(row, "N");
        const struct nf_coll_sides radices = radices_2((uint64_t)n * n);
        struct nf_radix_cost bruck = nf_radix_cost(n * n, &radices);
        const json_t *v = json_object_get(row, "V");

        CU_ASSERT(is("S of bruck", "crossover", bruck.rounds,
                     number(json_object_get(row, "S"), "bruck2")));
        CU_ASSERT(
            is("V of bruck", "crossover", bruck.blocks, number(v, "bruck2")));
        CU_ASSERT(crosses(row, "bruck2", "bruck2_vs_pairwise"));
        CU_ASSERT(crosses(row, "grid", "grid_pairwise_vs_pairwise"));
        CU_ASSERT(crosses(row, "paper", "paper_vs_pairwise"));
    }
}

int main(void)
{
    CU_TestInfo all[] = {
        { "schedules are the goldens", schedules_are_the_goldens },
        { "as many steps as the goldens", as_many_steps_as_the_goldens },
        { "costs are the goldens", costs_are_the_goldens },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo exchange[] = {
        { "counts are the goldens", counts_are_the_goldens },
        { "loads of a torus are the goldens",
          loads_of_a_torus_are_the_goldens },
        { "the 6 x 6 example is the paper's", the_example_is_the_papers },
        { "Table 1 is the paper's", table_1_is_the_papers },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo radices[] = {
        { "Pareto vectors are the goldens", pareto_vectors_are_the_goldens },
        { "thresholds are the goldens", thresholds_are_the_goldens },
        { "choices are the goldens", choices_are_the_goldens },
        { "any number of ranks", any_number_of_ranks_as_the_goldens },
        { "on a switch Double-Hop is dominated",
          on_a_switch_double_hop_is_dominated },
        { "cross-overs are the goldens", crossovers_are_the_goldens },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "all collectives", NULL, NULL, NULL, NULL, all },
        { "exchange", load, unload, NULL, NULL, exchange },
        { "radices", load, unload, NULL, NULL, radices },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
