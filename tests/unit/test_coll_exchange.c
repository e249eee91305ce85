/* All-to-all: laws of its schedules for shapes, radices and numbers of ranks
 * beyond the goldens, and what is done to them to be found out. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/coll/check.h"
#include "common/coll/prune.h"
#include "tests/unit/coll_exchange.h"
#include "tests/unit/coll_symbolic.h"
#include "tests/unit/nf_unit.h"

static struct nf_coll_faults faults;

/* The next algorithm of all-to-all from *i_p on, or NULL. */
static const struct nf_coll_algorithm *next_of(size_t *i_p)
{
    while (nf_coll_table[*i_p] != NULL)
        if (nf_coll_table[(*i_p)++]->op == NF_COLL_ALLTOALL)
            return nf_coll_table[*i_p - 1];
    return NULL;
}

static struct nf_coll_args args_of(const struct nf_coll_sides *shape)
{
    return (struct nf_coll_args){
        .ranks = (uint32_t)nf_coll_sides_product(shape),
        .segments = 1,
        .shape = shape,
    };
}

/* ---- right, with as many rounds and blocks as said ---- */

/* S1 and V1 of a ring. */
static void of_ring(const char *name, uint32_t n, uint32_t *s_p, uint64_t *v_p)
{
    bool odd = n % 2 != 0;

    *s_p = 0;
    *v_p = 0;
    if (n == 1)
        return;
    if (strcmp(name, "alltoall.naive") == 0) {
        *s_p = n - 1;
        *v_p = n * (n - 1) / 2;
    } else if (strcmp(name, "alltoall.cdh") == 0 || !odd) {
        *s_p = (n + 1) / 2;
        *v_p = n * n / 4;
    } else {
        *s_p = (n + 3) / 2;
        *v_p = (n * n - 1) / 4 + n;
    }
}

static bool is_as_said(const char *name, const struct nf_coll_sides *shape)
{
    const struct nf_coll_args args = args_of(shape);
    bool fits = nf_coll_fits(nf_coll_find(name), &args, NULL) == NF_OK;
    bool odd = false;
    struct nf_torus_load load;
    uint32_t rounds = 0;
    uint64_t volume = 0;

    for (uint32_t i = 0; i < shape->count; i++)
        odd = odd || (shape->of[i] > 1 && shape->of[i] % 2 == 1);
    if (fits != (!odd || strcmp(name, "alltoall.dh") != 0))
        return false;
    if (!fits)
        return true;
    if (!is_right(name, &args, &load))
        return false;
    nf_torus_load_fini(&load);
    for (uint32_t i = 0; i < shape->count; i++) {
        uint32_t s;
        uint64_t v;

        of_ring(name, shape->of[i], &s, &v);
        rounds += s;
        volume += args.ranks / shape->of[i] * v;
    }
    /* a ring of two has channels for all */
    return load.rounds == rounds && load.volume == volume &&
           load.channel_messages <=
               (strcmp(name, "alltoall.cdh") == 0 ? 2 : 1) &&
           2 * load.held <= 3 * (uint64_t)args.ranks &&
           load.peers <= 4 * shape->count;
}

static const struct nf_coll_sides shapes[] = {
    { 2, { 1, 8 } },          { 2, { 8, 1 } },       { 2, { 5, 7 } },
    { 3, { 2, 3, 4 } },       { 3, { 3, 3, 3 } },    { 3, { 4, 1, 5 } },
    { 4, { 2, 2, 2, 2 } },    { 4, { 3, 2, 3, 2 } }, { 3, { 5, 4, 3 } },
    { 2, { 9, 9 } },          { 2, { 13, 7 } },      { 3, { 4, 4, 4 } },
    { 5, { 2, 2, 2, 2, 3 } }, { 1, { 97 } },         { 1, { 100 } },
};

static const char *const hopping[] = { "alltoall.naive", "alltoall.dh",
                                       "alltoall.mdh", "alltoall.cdh" };

static void test_rings_and_grids(void)
{
    for (size_t a = 0; a < 4; a++) {
        for (uint32_t n = 1; n <= 64; n++)
            CU_ASSERT(
                is_as_said(hopping[a], &(struct nf_coll_sides){ 1, { n } }));
        for (uint32_t p = 1; p <= 64; p++)
            for (uint32_t r = 2; r < p; r++)
                if (p % r == 0)
                    CU_ASSERT(is_as_said(hopping[a], &(struct nf_coll_sides){
                                                         2, { r, p / r } }));
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
            CU_ASSERT(is_as_said(hopping[a], &shapes[i]));
    }
}

/* Whatever goes along sides or not, on whatever shape. */
static void test_other_grids(void)
{
    const struct nf_coll_algorithm *algorithm;
    struct nf_torus_load load;

    for (size_t i = 0; (algorithm = next_of(&i)) != NULL;)
        for (size_t j = 0; j < sizeof(shapes) / sizeof(shapes[0]); j++) {
            const struct nf_coll_args args = args_of(&shapes[j]);

            if (nf_coll_fits(algorithm, &args, NULL) != NF_OK)
                continue;
            CU_ASSERT(is_right(algorithm->name, &args, &load));
            CU_ASSERT(2 * load.held <= 3 * (uint64_t)args.ranks ||
                      strstr(algorithm->name, "split") != NULL);
            nf_torus_load_fini(&load);
        }
}

static bool hops_are_as_said(uint32_t n, uint32_t k)
{
    const struct nf_coll_args args = { .ranks = n, .segments = 1, .radix = k };
    uint32_t far = (n + k - 1) / k - 1, most = n - 1;
    struct nf_torus_load load;

    if (!is_right("alltoall.khop", &args, &load))
        return false;
    nf_torus_load_fini(&load);
    return load.rounds == far + (k - 1 < most ? k - 1 : most) &&
           load.channel_messages <= k;
}

static void test_hops(void)
{
    for (uint32_t n = 2; n <= 24; n++)
        for (uint32_t k = 1; k <= n + 1; k++)
            CU_ASSERT(hops_are_as_said(n, k));
}

/* Split-and-Merge without and with merge 0; of their loads the numbers hold. */
static bool both_are_right(const struct nf_coll_args *args,
                           struct nf_torus_load *bare, struct nf_torus_load *load)
{
    if (!is_right("alltoall.split_merge", args, bare))
        return false;
    nf_torus_load_fini(bare);
    if (!is_right("alltoall.split_merge0", args, load))
        return false;
    nf_torus_load_fini(load);
    return true;
}

static bool merges(uint32_t rows, uint32_t columns)
{
    const struct nf_coll_sides shape = { 2, { rows, columns } };
    const struct nf_coll_args args = args_of(&shape);
    uint64_t k = rows - 1, q = k * k / 4 + k - 1, n = rows;
    uint32_t rounds = (rows + columns) / 2 - 1 + nf_coll_ceil_log2(rows) +
                      nf_coll_ceil_log2(columns);
    struct nf_torus_load bare, load;

    if (!both_are_right(&args, &bare, &load) || bare.rounds != rounds ||
        load.rounds != rounds + 1 ||
        bare.channel_messages != 1 || load.channel_messages != 1 ||
        bare.held != 4 * (uint64_t)(rows - 1) * (columns - 1))
        return false;
    return rows != columns ||
           (bare.volume == (n + 2 * k) * q + 3 * k * k + 3 * n * k / 2 &&
            load.volume == bare.volume + k);
}

/* Along one side only. */
static bool merges_along(uint32_t rows, uint32_t columns)
{
    const struct nf_coll_sides shape = { 2, { rows, columns } };
    const struct nf_coll_args args = args_of(&shape);
    uint32_t n = rows * columns;
    uint32_t rounds = (n - 1) / 2 + nf_coll_ceil_log2(n);
    struct nf_torus_load bare, load;

    return both_are_right(&args, &bare, &load) && bare.rounds == rounds &&
           load.rounds == rounds + (rows > 1) &&
           bare.channel_messages == 1 && load.channel_messages == 1;
}

static void test_split_and_merge(void)
{
    for (uint32_t n = 3; n <= 65; n += n < 33 ? 2 : 16)
        CU_ASSERT(merges_along(1, n) && merges_along(n, 1));
    for (uint32_t rows = 3; rows <= 11; rows += 2)
        for (uint32_t columns = 3; columns <= 11; columns += 2)
            CU_ASSERT(merges(rows, columns));
    CU_ASSERT(merges(15, 15));
}

/* ---- blocks of different sizes, parts, memory ---- */

static bool is_right_with_sizes(const struct nf_coll_algorithm *algorithm,
                                const struct nf_coll_args *args,
                                const uint64_t *sizes)
{
    struct nf_coll_claim claim = nf_coll_claim_of(algorithm, args);
    struct nf_schedule s;
    struct nf_error err = { .text = "" };
    bool right = nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, &err) == NF_OK;

    claim.sizes = sizes;
    nf_coll_prune_sizes(&s, sizes);
    right = right && nf_coll_check(&claim, &s, &faults, &err) == NF_OK;
    if (!right)
        printf("\n    %s, P=%u: %s", algorithm->name, args->ranks, err.text);
    nf_schedule_fini(&s);
    return right;
}

static void test_unequal(void)
{
    static const struct nf_coll_sides some[] = {
        { 1, { 1 } },    { 1, { 2 } },    { 1, { 7 } },
        { 2, { 3, 5 } }, { 2, { 4, 4 } }, { 3, { 2, 3, 2 } },
    };
    const struct nf_coll_algorithm *algorithm;
    struct nf_rng rng = { .state = 11 };
    uint64_t sizes[256];

    for (size_t i = 0; (algorithm = next_of(&i)) != NULL;)
        for (size_t j = 0; j < sizeof(some) / sizeof(some[0]); j++)
            for (uint32_t zeros = 0; zeros <= 4; zeros++) {
                const struct nf_coll_args args = args_of(&some[j]);

                if (nf_coll_fits(algorithm, &args, NULL) != NF_OK)
                    continue;
                for (uint32_t b = 0; b < args.ranks * args.ranks; b++)
                    sizes[b] = nf_rng_below(&rng, 4) < zeros
                                   ? 0
                                   : 1 + nf_rng_below(&rng, 100);
                CU_ASSERT(is_right_with_sizes(algorithm, &args, sizes));
            }
}

static void test_parts(void)
{
    const struct nf_coll_algorithm *algorithm;

    for (size_t i = 0; (algorithm = next_of(&i)) != NULL;) {
        for (uint32_t n = 1; n <= 13; n++) {
            const struct nf_coll_args ring = { .ranks = n, .segments = 1 };

            if (nf_coll_fits(algorithm, &ring, NULL) == NF_OK)
                CU_ASSERT(coll_check_parts(algorithm, &ring));
        }
        for (size_t j = 0; j < 9; j++) {
            const struct nf_coll_args args = args_of(&shapes[j]);

            if (nf_coll_fits(algorithm, &args, NULL) == NF_OK)
                CU_ASSERT(coll_check_parts(algorithm, &args));
        }
    }
}

static void test_no_memory(void)
{
    static const struct nf_coll_sides grid = { 2, { 3, 3 } },
                                      even = { 2, { 2, 4 } };
    const struct nf_coll_algorithm *algorithm;

    for (size_t i = 0; (algorithm = next_of(&i)) != NULL;) {
        struct nf_coll_args args = args_of(&grid);
        enum nf_status status = NF_ERR_NOMEM;
        struct nf_torus_load load;
        struct nf_schedule s;

        if (nf_coll_fits(algorithm, &args, NULL) != NF_OK)
            args = args_of(&even);
        for (long n = 0; n < 200 && status == NF_ERR_NOMEM; n++) {
            nf_alloc_fail_after(n);
            status = nf_coll_make(algorithm, &args, NF_ALL_RANKS, &s, NULL);
            if (status == NF_OK)
                status = nf_torus_measure(args.shape, args.ranks, &s, 0, &load,
                                          NULL);
            nf_alloc_fail_after(-1);
            nf_schedule_fini(&s);
        }
        CU_ASSERT_EQUAL(status, NF_OK);
        if (status == NF_OK)
            nf_torus_load_fini(&load);
    }
}

/* ---- in place ---- */

/* The node of p's class that is o hops ahead in its direction. */
static uint32_t ahead(uint32_t n, uint32_t p, uint32_t o)
{
    uint32_t c = p % 2 == 0 ? (n + 1) / 2 : n / 2;

    return 2 * ((p % 2 == 0 ? p / 2 + o : p / 2 + c - o) % c) + p % 2;
}

/* The group of a block from a node for q: which node's keep it is for. */
static uint32_t group_of(uint32_t n, uint32_t p, uint32_t q)
{
    uint32_t c = p % 2 == 0 ? (n + 1) / 2 : n / 2;

    for (uint32_t o = 0; o < c; o++) {
        uint32_t node = ahead(n, p, o);

        if (q == node ||
            (q == (node + 1) % n && (n % 2 == 0 || node != n - 1)) ||
            (n % 2 != 0 && node == 1 && q == 0))
            return o;
    }
    return UINT32_MAX;
}

/* Groups travel as G[2], .., G[c-t], G[1], so that those that come in can be
 * stored as they are where these were, G[1..c-t]. */
static bool travels_in_place(const struct nf_schedule *s,
                             const struct nf_coll_message *m, uint32_t n)
{
    uint32_t c = m->src % 2 == 0 ? (n + 1) / 2 : n / 2, t = m->round + 1;
    uint32_t want = t + 1 == c ? 1 : 2, source = UINT32_MAX;

    for (uint32_t i = 0; i < m->nspans; i++) {
        struct nf_coll_span span = s->spans[m->first_span + i];

        for (uint32_t j = span.first; j < span.first + span.count; j++) {
            uint32_t group = group_of(n, m->src, j % n);

            if (source == UINT32_MAX)
                source = j / n;
            if (j / n != source)
                return false;
            if (group != want)
                want = want == c - t ? 1 : want + 1;
            if (group != want)
                return false;
        }
    }
    return want == 1 && source == ahead(n, m->src, c - (t - 1));
}

static void test_in_place_double_hop(void)
{
    for (uint32_t n = 2; n <= 33; n++) {
        const struct nf_coll_args args = { .ranks = n, .segments = 1 };
        uint32_t single = (n + 1) / 2 - 1;
        struct nf_schedule s;

        CU_ASSERT_EQUAL(
            nf_coll_make(&nf_coll_alltoall_mdh, &args, NF_ALL_RANKS, &s, NULL),
            NF_OK);
        for (size_t i = 0; i < s.count; i++)
            if (s.messages[i].round < single)
                CU_ASSERT(travels_in_place(&s, &s.messages[i], n));
        nf_schedule_fini(&s);
    }
}

/* By distance, all ranks send and receive the same slots, in their order. */
static bool same_slots(const struct nf_schedule *s, uint32_t p)
{
    const struct nf_coll_message *first = s->messages;

    for (size_t i = 0; i < s->count; i++) {
        const struct nf_coll_message *m = &s->messages[i];
        uint32_t at[2] = { 0, 0 }, in[2] = { 0, 0 };

        if (m->round != first->round)
            first = m;
        for (;;) {
            uint32_t d[2];

            for (int k = 0; k < 2; k++) {
                const struct nf_coll_message *it = k == 0 ? first : m;
                uint32_t item;

                if (at[k] == it->nspans) {
                    d[k] = 0;
                    continue;
                }
                item = s->spans[it->first_span + at[k]].first + in[k];
                d[k] = (item % p + p - item / p) % p;
                if (++in[k] == s->spans[it->first_span + at[k]].count) {
                    at[k]++;
                    in[k] = 0;
                }
            }
            if (d[0] != d[1])
                return false;
            if (d[0] == 0)
                break;
        }
    }
    return true;
}

static void test_in_place_jumps(void)
{
    static const char *const names[] = { "alltoall.naive", "alltoall.cdh",
                                         "alltoall.khop", "alltoall.bruck",
                                         "alltoall.mixed" };

    for (size_t i = 0; i < 5; i++)
        for (uint32_t n = 2; n <= 33; n++) {
            const struct nf_coll_args args = { .ranks = n, .segments = 1 };
            struct nf_schedule s;

            CU_ASSERT_EQUAL(nf_coll_make(nf_coll_find(names[i]), &args,
                                         NF_ALL_RANKS, &s, NULL),
                            NF_OK);
            CU_ASSERT(same_slots(&s, n));
            nf_schedule_fini(&s);
        }
}

/* ---- damage ---- */

/* Is the first fault this one?  Takes the schedule. */
static void expect_fault(struct nf_schedule *s, const char *line)
{
    static const struct nf_coll_sides grid = { 2, { 2, 3 } };
    const struct nf_coll_claim claim = { .op = NF_COLL_ALLTOALL,
                                         .ranks = 6,
                                         .items = 36,
                                         .ports = NF_PORTS_FULL,
                                         .shape = &grid,
                                         .channel_messages = 1 };

    CU_ASSERT_EQUAL(nf_coll_check(&claim, s, &faults, NULL), NF_ERR_VERIFY);
    CU_ASSERT_STRING_EQUAL(faults.list[0].text, line);
    nf_schedule_fini(s);
}

/* Messages that meet on a channel, and some that go elsewhere. */
static void test_channels(void)
{
    struct nf_schedule s;

    nf_schedule_init(&s, NF_ALL_RANKS);
    nf_schedule_send(&s, 0, 0, 2, 2, 1, NF_COLL_COPY);
    nf_schedule_route(&s, 1, 2);
    nf_schedule_send(&s, 0, 1, 5, 11, 1, NF_COLL_COPY);
    expect_fault(&s, "round 0, 1 -> 5: more than 1 on the channel from rank 1 "
                     "forward along side 1");
    nf_schedule_send(&s, 0, 3, 0, 18, 1, NF_COLL_COPY);
    nf_schedule_send(&s, 2, 3, 0, 18, 1, NF_COLL_COPY);
    nf_schedule_route(&s, 1, -2);
    expect_fault(&s, "round 2, 3 -> 0: its route ends at rank 4");
    nf_schedule_send(&s, 0, 3, 0, 18, 1, NF_COLL_COPY);
    nf_schedule_route(&s, 2, 1);
    expect_fault(&s, "round 0, 3 -> 0: its route ends at rank 3");
}

enum { BACKWARDS, FURTHER, OTHER_WAY_ROUND, OTHER_SIDE, LAST, CHANGES };

/* Of all that promise channels for themselves.  Those that end elsewhere are
 * wrong; those that do not may be right, if no one is in the way. */
static void change_routes(const struct nf_coll_algorithm *algorithm,
                          const struct nf_coll_args *args,
                          unsigned found[CHANGES])
{
    struct nf_coll_claim claim = nf_coll_claim_of(algorithm, args);
    struct nf_schedule s;

    if (nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, NULL) != NF_OK)
        return;
    for (size_t i = 0; i < s.count; i++)
        for (int change = 0; change < CHANGES; change++) {
            struct nf_coll_message was = s.messages[i], *m = &s.messages[i];
            int32_t n = (int32_t)args->shape->of[was.side];
            bool elsewhere = change == FURTHER || change == OTHER_SIDE ||
                             (change == BACKWARDS && 2 * was.hops % n != 0);
            bool right;

            if (change == BACKWARDS)
                m->hops = -was.hops;
            else if (change == FURTHER)
                m->hops += was.hops > 0 ? 1 : -1;
            else if (change == OTHER_WAY_ROUND)
                m->hops += was.hops > 0 ? -n : n;
            else if (change == OTHER_SIDE)
                m->side = (was.side + 1) % args->shape->count;
            else
                m->round = nf_schedule_rounds(&s);
            right = nf_coll_check(&claim, &s, &faults, NULL) == NF_OK;
            CU_ASSERT(!right || !elsewhere);
            found[change] += !right;
            s.messages[i] = was;
        }
    nf_schedule_fini(&s);
}

static void test_routes(void)
{
    static const struct nf_coll_sides some[] = { { 2, { 5, 5 } },
                                                 { 2, { 7, 3 } },
                                                 { 2, { 4, 6 } } };
    const struct nf_coll_algorithm *algorithm;
    unsigned found[CHANGES] = { 0 };

    for (size_t i = 0; (algorithm = next_of(&i)) != NULL;)
        for (size_t j = 0; algorithm->one_each && j < 3; j++) {
            const struct nf_coll_args args = args_of(&some[j]);

            change_routes(algorithm, &args, found);
        }
    for (int change = 0; change < CHANGES; change++)
        CU_ASSERT(found[change] > 300);
    printf("found: %u %u %u %u %u ", found[0], found[1], found[2], found[3],
           found[4]);
}

/* ---- prices ---- */

static bool has_no_formula(const char *name, enum nf_coll_ports ports)
{
    return strncmp(name, "alltoall.split_merge", 20) == 0 ||
           (ports == NF_PORTS_HALF && (strcmp(name, "alltoall.dh") == 0 ||
                                       strcmp(name, "alltoall.mdh") == 0));
}

static void test_costs(void)
{
    struct nf_coll_price price = {
        .npieces = 2,
        .pieces = { { 0, 50, 0.02 }, { 4096, 70, 0.03 } },
    };
    const struct nf_coll_algorithm *algorithm;

    for (size_t i = 0; (algorithm = next_of(&i)) != NULL;)
        for (uint32_t n = 2; n <= 33; n++)
            for (int ports = NF_PORTS_HALF; ports <= NF_PORTS_FULL; ports++) {
                const struct nf_coll_args args = { .ranks = n, .segments = 1 };
                double us, steps_us;

                price.ports = (enum nf_coll_ports)ports;
                us = algorithm->cost_us(algorithm, &price, n, 500, 1);
                if (nf_coll_fits(algorithm, &args, NULL) != NF_OK)
                    continue;
                if (has_no_formula(algorithm->name, price.ports)) {
                    CU_ASSERT_EQUAL(us, INFINITY);
                    continue;
                }
                CU_ASSERT(isfinite(us));
                if (algorithm->ports == NF_PORTS_MANY)
                    continue; /* not round by round */
                steps_us =
                    coll_step_us(algorithm, &args, &price, 500.0 * n * n);
                CU_ASSERT_DOUBLE_EQUAL(us, steps_us, 1e-9 * steps_us);
            }
}

int main(void)
{
    CU_TestInfo right[] = {
        { "rings and grids, P = 1..64 and beyond", test_rings_and_grids },
        { "other algorithms on grids", test_other_grids },
        { "k hops at a time", test_hops },
        { "Split-and-Merge", test_split_and_merge },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo data[] = {
        { "blocks of different sizes, and empty ones", test_unequal },
        { "the part of a rank is a part", test_parts },
        { "out of memory", test_no_memory },
        { "Double-Hop is in place", test_in_place_double_hop },
        { "distances are in place", test_in_place_jumps },
        { "channels of a torus", test_channels },
        { "routes that are changed", test_routes },
        { "costs are what the rounds take", test_costs },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "right", NULL, NULL, NULL, NULL, right },
        { "data", NULL, NULL, NULL, NULL, data },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
