/* Where the paper of Double-Hop misprints its rules: as printed they fail, and
 * as they were meant they do what the schedules here do.
 *
 * A node has an array of slots, at first one for each destination; a step moves
 * what is in them.  Only the coordinate along the ring is kept: the other one
 * never changes in a phase. */
#include "config.h"
#include <string.h>
#include "tests/unit/coll_exchange.h"
#include "tests/unit/nf_unit.h"

enum { N_MAX = 16 };

struct slot {
    bool full;
    uint32_t src, dst;
};

/* slot[node][place] */
struct ring {
    uint32_t n;
    bool collided; /* something came to a place that was not empty */
    struct slot slot[N_MAX][N_MAX];
};

static uint32_t mod(int64_t x, uint32_t n)
{
    return (uint32_t)((x % n + n) % n);
}

static struct ring begin(uint32_t n)
{
    struct ring ring = { .n = n };

    for (uint32_t j = 0; j < n; j++)
        for (uint32_t b = 0; b < n; b++)
            ring.slot[j][b] = (struct slot){ true, j, b };
    return ring;
}

/* A step: takes from the state before it, and fills the state after it. */
struct step {
    struct ring *ring;
    struct ring before;
};

static struct step begin_step(struct ring *ring)
{
    return (struct step){ ring, *ring };
}

static void take(struct step *step, uint32_t j, uint32_t b)
{
    step->ring->slot[j][b].full = false;
}

static void put(struct step *step, const struct slot *slot, uint32_t j,
                uint32_t b)
{
    struct slot *to = &step->ring->slot[j][b];

    if (to->full)
        step->ring->collided = true;
    if (slot->full)
        *to = *slot;
}

/* As after all double hops: at j what is for j and j+1, ordered by source. */
static bool is_sorted(const struct ring *ring, uint32_t parity)
{
    uint32_t n = ring->n;

    for (uint32_t j = parity; j < n; j += 2)
        for (uint32_t b = 0; b < n; b++) {
            const struct slot *slot = &ring->slot[j][b];

            if (!slot->full ||
                (slot->dst != j && slot->dst != mod((int64_t)j + 1, n)) ||
                b != mod((int64_t)slot->src + slot->dst - j, n))
                return false;
        }
    return !ring->collided;
}

/* ---- lemma 1: even nodes, double hops forward ---- */

/* Where the block in slot b of node j goes.  @param case2  the first of two b,
 * relative to j, that find their place  @return false: it stays */
static bool lemma_moves(const struct ring *ring, uint32_t j, uint32_t b,
                        bool first_step, uint32_t case2, uint32_t *place_p)
{
    const struct slot *slot = &ring->slot[j][b];
    uint32_t n = ring->n, ahead = mod((int64_t)b - j, n);
    uint32_t sum = mod((int64_t)slot->src + slot->dst, n);

    if (first_step ? ahead < 2 : sum == (b + j) % n)
        return false;
    *place_p =
        ahead == case2 || ahead == case2 + 1 ? mod((int64_t)sum - j - 2, n) : b;
    return true;
}

static void lemma_step(struct ring *ring, bool first_step, uint32_t case2)
{
    struct step step = begin_step(ring);
    uint32_t n = ring->n, place;

    for (uint32_t j = 0; j < n; j += 2)
        for (uint32_t b = 0; b < n; b++)
            if (step.before.slot[j][b].full &&
                lemma_moves(&step.before, j, b, first_step, case2, &place))
                take(&step, j, b);
    for (uint32_t j = 0; j < n; j += 2)
        for (uint32_t b = 0; b < n; b++)
            if (step.before.slot[j][b].full &&
                lemma_moves(&step.before, j, b, first_step, case2, &place))
                put(&step, &step.before.slot[j][b], (j + 2) % n, place);
}

static bool lemma_sorts(uint32_t n, uint32_t case2, bool separate_first_step)
{
    struct ring ring = begin(n);

    for (uint32_t t = 1; t < n / 2; t++)
        lemma_step(&ring, separate_first_step && t == 1, case2);
    return is_sorted(&ring, 0);
}

/* ---- figures 4 and 5: pairs of slots ---- */

/* Pair c of a node: slots 2c and 2c+1 of even nodes, the next ones of odd. */
static void move_pair(struct step *step, uint32_t from, int64_t c, uint32_t to,
                      int64_t into, bool taking)
{
    uint32_t n = step->ring->n, odd = from % 2;

    for (uint32_t i = 0; i < 2; i++) {
        uint32_t b = mod(2 * c + odd + i, n);

        if (taking)
            take(step, from, b);
        else
            put(step, &step->before.slot[from][b], to,
                mod(2 * into + odd + i, n));
    }
}

/* A rule for the pair that finds its place: from first to place_of(k, t), and
 * the others pass through, up or down from k + 1. */
struct pair_rule {
    uint32_t parity;
    int first;  /* pair k + first */
    int at, by; /* goes to pair k + at + by * t */
    int pass;   /* pairs k + 2, k + 3, ..: +1, or k - 1, k - 2, ..: -1 */
};

static bool pairs_sort(uint32_t n, const struct pair_rule *rule)
{
    struct ring ring = begin(n);

    for (uint32_t t = 1; t < n / 2; t++) {
        struct step step = begin_step(&ring);

        for (int taking = 1; taking >= 0; taking--)
            for (uint32_t k = 0; k < n / 2; k++) {
                bool odd = rule->parity == 1;
                uint32_t from = odd ? (2 * k + 3) % n : 2 * k;
                uint32_t to = odd ? (2 * k + 1) % n : (2 * k + 2) % n;
                int64_t at = k;

                move_pair(&step, from, at + rule->first, to,
                          at + rule->at + rule->by * (int64_t)t, taking);
                for (int64_t j = 2; j <= n / 2 - t; j++) {
                    int64_t c = rule->pass > 0 ? at + j : at + 1 - j;

                    move_pair(&step, from, c, to, c, taking);
                }
            }
    }
    return is_sorted(&ring, rule->parity);
}

/* ---- what the goldens say of the misprints ---- */

static const char *note(const char *key)
{
    const char *text = json_string_value(
        json_object_get(json_object_get(golden, "misprint_tests"), key));

    return text != NULL ? text : "";
}

static void before_the_first_step_all_seem_to_be_there(void)
{
    CU_ASSERT_PTR_NOT_NULL(
        strstr(note("lemma_first_step"), "for every block before step 1"));
    for (uint32_t n = 4; n <= N_MAX; n += 2) {
        struct ring ring = begin(n);
        uint32_t place;

        for (uint32_t j = 0; j < n; j += 2)
            for (uint32_t b = 0; b < n; b++)
                CU_ASSERT_FALSE(lemma_moves(&ring, j, b, false, 2, &place));
        CU_ASSERT_FALSE(lemma_sorts(n, 2, false));
    }
}

static void lemma_1_case_2(void)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(note("lemma1_case2"), "fails for N=4..16"));
    for (uint32_t n = 4; n <= N_MAX; n += 2) {
        CU_ASSERT_FALSE(lemma_sorts(n, 1, true)); /* b = j+1 or j+2 */
        CU_ASSERT(lemma_sorts(n, 2, true));       /* b = j+2 or j+3 */
    }
}

static void rules_of_the_figures(void)
{
    static const struct pair_rule forward = { 0, 1, 1, -1, 1 },
                                  backward = { 1, 0, 0, 1, -1 },
                                  printed = { 1, 1, 0, -1, 1 },
                                  half = { 1, 1, 0, -1, -1 };

    CU_ASSERT_PTR_NOT_NULL(
        strstr(note("figure5_rule"), "printed C_{k+1}->C_{k-t} fails"));
    CU_ASSERT_PTR_NOT_NULL(strstr(note("figure5_rule"), "works, N=4..16"));
    for (uint32_t n = 4; n <= N_MAX; n += 2) {
        CU_ASSERT(pairs_sort(n, &forward));
        CU_ASSERT(pairs_sort(n, &backward));
        CU_ASSERT_FALSE(pairs_sort(n, &printed));
        CU_ASSERT_FALSE(pairs_sort(n, &half));
    }
}

/* ---- the same blocks at the same nodes as in the schedule ---- */

static bool schedule_agrees(const struct ring *ring, const uint8_t *holder,
                            uint32_t parity)
{
    for (uint32_t j = parity; j < ring->n; j += 2)
        for (uint32_t b = 0; b < ring->n; b++) {
            const struct slot *slot = &ring->slot[j][b];

            if (!slot->full || holder[slot->src * ring->n + slot->dst] != j)
                return false;
        }
    return true;
}

static void schedules_are_the_lemmas(void)
{
    for (uint32_t n = 4; n <= N_MAX; n += 2) {
        const struct nf_coll_sides shape = { 1, { n } };
        struct ring ring = begin(n);
        uint8_t holder[N_MAX * N_MAX];
        struct nf_schedule s;
        size_t m = 0;

        if (!make_exchange("alltoall.dh", &shape, NULL, &s)) {
            CU_FAIL("not made");
            return;
        }
        for (uint32_t item = 0; item < n * n; item++)
            holder[item] = (uint8_t)(item / n);
        for (uint32_t t = 1; t < n / 2; t++) {
            lemma_step(&ring, t == 1, 2);
            for (; m < s.count && s.messages[m].round == t - 1; m++)
                for (uint32_t i = 0; i < s.messages[m].nspans; i++) {
                    struct nf_coll_span span =
                        s.spans[s.messages[m].first_span + i];

                    memset(holder + span.first, (int)s.messages[m].dst,
                           span.count);
                }
            CU_ASSERT(schedule_agrees(&ring, holder, 0));
        }
        nf_schedule_fini(&s);
    }
}

/* ---- figure 3 ---- */

/* The step of a node: j along the line, k the line's own number.  As printed,
 * even lines do the forward hop, which is one of their even nodes, and odd
 * lines the backward hop of their odd nodes. */
static uint32_t hop_of(uint32_t n, uint32_t j, uint32_t k, bool as_printed)
{
    if (as_printed && j % 2 != k % 2)
        return j;
    return j % 2 == 0 ? (j + 2) % n : (j + n - 2) % n;
}

/* Blocks of n x n nodes that are not where they should be in the end. */
static uint32_t undelivered(uint32_t n, bool as_printed)
{
    static uint8_t at[64 * 64][2];
    uint32_t nodes = n * n, count = 0;

    for (uint32_t item = 0; item < nodes * nodes; item++) {
        at[item][0] = (uint8_t)(item / nodes / n);
        at[item][1] = (uint8_t)(item / nodes % n);
    }
    for (uint32_t phase = 0; phase < 2; phase++)
        for (uint32_t t = 1; t <= n / 2; t++)
            for (uint32_t item = 0; item < nodes * nodes; item++) {
                uint8_t *j = &at[item][1 - phase], k = at[item][phase];
                uint32_t dst = item % nodes;
                uint32_t q = phase == 0 ? dst % n : dst / n;

                if (q == *j)
                    continue;
                if (q == (*j + 1U) % n)
                    *j = (uint8_t)(t == n / 2 ? q : *j);
                else if (t < n / 2)
                    *j = (uint8_t)hop_of(n, *j, k, as_printed);
            }
    for (uint32_t item = 0; item < nodes * nodes; item++)
        count += at[item][0] * n + at[item][1] != item % nodes;
    return count;
}

static void figure_3(void)
{
    const json_t *want =
        json_object_get(json_object_get(golden, "misprint_tests"),
                        "literal_figure3_undelivered");

    CU_ASSERT_EQUAL(json_object_size(want), 3);
    CU_ASSERT(is("4", "figure 3", undelivered(4, true), number(want, "4")));
    CU_ASSERT(is("6", "figure 3", undelivered(6, true), number(want, "6")));
    CU_ASSERT(is("8", "figure 3", undelivered(8, true), number(want, "8")));
    for (uint32_t n = 2; n <= 8; n += 2)
        CU_ASSERT_EQUAL(undelivered(n, false), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "figure 3", figure_3 },
        { "before the first step all seem to be there",
          before_the_first_step_all_seem_to_be_there },
        { "lemma 1, case 2", lemma_1_case_2 },
        { "the rules of figures 4 and 5", rules_of_the_figures },
        { "schedules are the lemmas", schedules_are_the_lemmas },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "misprints", load_golden, unload_golden, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
