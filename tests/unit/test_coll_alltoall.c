/* All-to-all: every schedule, count and choice of the goldens. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/error.h"
#include "tests/unit/coll_exchange.h"
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

        if (!make_exchange(our_name(name), &shape, &radices, &s)) {
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

/* S and Vc, by which algorithms are compared on a torus. */
struct on_torus {
    uint64_t rounds, contended;
};

static bool load_is(const json_t *row, const char *key, const char *name,
                    const struct nf_coll_sides *shape, struct on_torus *torus_p)
{
    const json_t *want = json_object_get(row, key);
    uint32_t ranks = (uint32_t)nf_coll_sides_product(shape);
    const struct nf_coll_sides radices = radices_2(ranks);
    struct nf_torus_load got;
    struct nf_schedule s;
    bool right = false;

    if (!make_exchange(name, shape, &radices, &s))
        return false;
    if (nf_torus_measure(shape, ranks, &s, 0, &got, NULL) == NF_OK) {
        right = is("S", name, got.rounds, number(want, "S")) &
                is("V", name, got.volume, number(want, "V")) &
                is("Vc", name, got.contended, number(want, "Vc")) &
                is("chan", name, got.channel_messages, number(want, "chan")) &
                is("peers", name, got.peers, number(want, "peers")) &
                is("total", name, got.blocks, number(want, "total"));
        *torus_p = (struct on_torus){ got.rounds, got.contended };
        nf_torus_load_fini(&got);
    }
    nf_schedule_fini(&s);
    return right;
}

/* One algorithm dominates another if it is nowhere worse, and somewhere better. */
static bool dominates(struct on_torus a, struct on_torus b)
{
    return a.rounds <= b.rounds && a.contended <= b.contended &&
           (a.rounds < b.rounds || a.contended < b.contended);
}

enum { NAMES = 7, PAPER = 6 };

/* Those that dominate the paper's, which is the last one. */
static bool dominate_as_said(const json_t *row,
                             const char *const (*names)[2],
                             const struct on_torus *loads)
{
    const json_t *want = json_object_get(row, "dominates_paper_on_torus");
    size_t count = 0;
    bool right = true;

    for (size_t j = 0; j < PAPER; j++) {
        const char *said = json_string_value(json_array_get(want, count));

        if (!dominates(loads[j], loads[PAPER]))
            continue;
        right = right && said != NULL && strcmp(said, names[j][0]) == 0;
        count++;
    }
    return right && count == json_array_size(want);
}

static void loads_of_a_torus_are_the_goldens(void)
{
    static const char *const names[NAMES][2] = {
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
        struct on_torus loads[NAMES] = { { 0, 0 } };

        for (size_t j = 0; j < NAMES; j++)
            CU_ASSERT(
                load_is(row, names[j][0], names[j][1], &shape, &loads[j]));
        CU_ASSERT(dominate_as_said(row, names, loads));
    }
}

/* ---- the example of the paper: which block lies where after each step ---- */

/* M[slot[0]][slot[1]] of a node. */
struct place {
    uint32_t node, slot[2];
};

static bool holds_what(const json_t *table, const struct place *places,
                       uint32_t rank)
{
    bool right = true;
    uint32_t count = 0;

    for (uint32_t item = 0; item < 36 * 36; item++)
        count += places[item].node == rank;
    for (uint32_t a = 0; a < 6; a++)
        for (uint32_t b = 0; b < 6; b++) {
            const struct nf_coll_sides block =
                sides_of(json_array_get(json_array_get(table, a), b));
            uint32_t src = 6 * block.of[0] + block.of[1];
            uint32_t dst = 6 * block.of[2] + block.of[3];
            const struct place *place = &places[36 * src + dst];

            right &= place->node == rank && place->slot[0] == a &&
                     place->slot[1] == b;
        }
    return right && count == 36;
}

static void place_all(struct place *places)
{
    for (uint32_t item = 0; item < 36 * 36; item++) {
        places[item].node = item / 36;
        places[item].slot[0] = item % 36 / 6;
        places[item].slot[1] = item % 6;
    }
}

/* By the paper's array: along a side, a block from s to q that a double hop
 * brings to t, where it stays until the single hop as q is t or t + 1, gets
 * slot s + q - t; others keep theirs.  The single hop is one slot back. */
static void move_block(const struct nf_coll_message *m, uint32_t item,
                       struct place *place)
{
    const uint32_t stride = m->side == 0 ? 6 : 1;
    uint32_t s = item / 36 / stride % 6, q = item % 36 / stride % 6;
    uint32_t from = m->src / stride % 6, to = m->dst / stride % 6;
    uint32_t *slot = &place->slot[m->side & 1];

    CU_ASSERT_EQUAL(place->node, m->src);
    place->node = m->dst;
    if (m->hops == 1) {
        CU_ASSERT_EQUAL(q, to);
        *slot = (*slot + 5) % 6;
        return;
    }
    CU_ASSERT(q != from && q != (from + 1) % 6);
    if (q == to || q == (to + 1) % 6)
        *slot = (s + q + 6 - to) % 6;
}

/* When a state is: "initial", or after which step along which side, of which the last
 * one of 3 along a side of 6 is stage 2.
 * @param m  the first message that is yet to go */
static bool is_after(const json_t *after, const struct nf_schedule *s, size_t m)
{
    const char *text = json_string_value(after);
    uint32_t side, round, first;
    char want[32] = "initial";

    if (m > 0) {
        side = s->messages[m - 1].side;
        round = s->messages[m - 1].round;
        for (first = round; m > 0 && s->messages[m - 1].side == side; m--)
            first = s->messages[m - 1].round;
        snprintf(want, sizeof(want), "%c stage1 step%" PRIu32, "YX"[side & 1],
                 round - first + 1);
        if (round - first == 2)
            snprintf(want, sizeof(want), "%c stage2", "YX"[side & 1]);
    }
    if (text == NULL || strcmp(text, want) != 0)
        fprintf(stderr, "%s, want after %s\n", want,
                text != NULL ? text : "nothing");
    return text != NULL && strcmp(text, want) == 0;
}

static void follow_example(const char *section, uint32_t rank, size_t states)
{
    const struct nf_coll_sides shape = { 2, { 6, 6 } };
    const json_t *list = json_object_get(golden, section);
    struct place places[36 * 36];
    struct nf_schedule s;
    size_t m = 0;

    CU_ASSERT_EQUAL(json_array_size(list), states);
    if (!make_exchange("alltoall.dh", &shape, NULL, &s)) {
        CU_FAIL("not made");
        return;
    }
    place_all(places);
    for (uint32_t step = 0; step < states; step++) {
        CU_ASSERT(holds_what(json_object_get(json_array_get(list, step), "M"),
                             places, rank));
        CU_ASSERT(
            is_after(json_object_get(json_array_get(list, step), "after"), &s, m));
        for (; m < s.count && s.messages[m].round == step; m++)
            for (uint32_t i = 0; i < s.messages[m].nspans; i++) {
                struct nf_coll_span span =
                    s.spans[s.messages[m].first_span + i];

                for (uint32_t j = 0; j < span.count; j++)
                    move_block(&s.messages[m], span.first + j,
                               &places[span.first + j]);
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

static uint32_t steps_of_merge(const char *name, uint32_t rows, uint32_t columns)
{
    const struct nf_coll_sides shape = { 2, { rows, columns } };
    struct nf_schedule s;
    uint32_t steps = 0;

    if (make_exchange(name, &shape, NULL, &s))
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
        CU_ASSERT(is("split and merge", "table 1, of lines",
                     steps_of_merge("alltoall.split_merge", 1, n) +
                         steps_of_merge("alltoall.split_merge0", n, 1),
                     number(printed, "split_merge")));
        if (n > 15)
            continue;
        CU_ASSERT(is("split and merge", "table 1",
                     steps_of_merge("alltoall.split_merge0", n, n),
                     number(printed, "split_merge")));
        CU_ASSERT(is("without merge 0", "table 1",
                     steps_of_merge("alltoall.split_merge", n, n),
                     number(computed, "split_merge_without_m0")));
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
    CU_SuiteInfo suites[] = {
        { "all collectives", NULL, NULL, NULL, NULL, all },
        { "exchange", load_golden, unload_golden, NULL, NULL, exchange },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
