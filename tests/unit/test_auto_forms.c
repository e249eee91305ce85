/* The adaptive pacer keeps heaps and sums; auto_sweep.c looks at every slot.
 * Both must decide the same, always.
 *
 *     test_auto_forms
 *     test_auto_forms --seed S      the two farms of this seed only */
#include "config.h"
#include "common/base/rng.h"
#include "common/farm/farm.h"
#include "common/policy/auto_estimate.h"
#include "common/policy/slot_heap.h"
#include "tests/unit/auto_sweep.h"
#include "tests/unit/auto_worlds.h"
#include "tests/unit/nf_unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void draw_spec(struct nf_rng *rng, char *spec, size_t bytes)
{
    snprintf(spec, bytes, "%sauto:wmax=%d,gate=%d,replicate=%d",
             nf_rng_below(rng, 4) ? "" : "gss+",
             nf_rng_below(rng, 2) ? 16 : 1 + (int)nf_rng_below(rng, 40),
             nf_rng_below(rng, 5) != 0, (int)nf_rng_below(rng, 2));
}

/* ---- in the simulator ---- */

static bool same_runs(const struct nf_farm_sim_result *a,
                      const struct nf_farm_sim_result *b)
{
    if (a->nchunks != b->nchunks || a->makespan_us != b->makespan_us)
        return false;
    for (uint64_t i = 0; i < a->nchunks; i++)
        if (a->chunks[i].sent_us != b->chunks[i].sent_us ||
            a->chunks[i].slave != b->chunks[i].slave ||
            a->chunks[i].first != b->chunks[i].first ||
            a->chunks[i].cancel_us != b->chunks[i].cancel_us)
            return false;
    return true;
}

static bool check_world(uint64_t seed)
{
    struct nf_rng rng = { seed };
    struct nf_farm_sim_result a, b;
    struct nf_policy policy;
    json_t *platform = auto_world(seed);
    char spec[80];
    bool same = false;

    draw_spec(&rng, spec, sizeof(spec));
    if (nf_policy_parse(spec, &policy, NULL) == NF_OK &&
        auto_run(&policy, platform, &a)) {
        policy.pacer = &auto_sweep;
        if (auto_run(&policy, platform, &b)) {
            same = same_runs(&a, &b);
            nf_farm_sim_fini(&b);
        }
        nf_farm_sim_fini(&a);
    }
    if (!same)
        fprintf(stderr, "world %llu, %s: the traces differ\n",
                (unsigned long long)seed, spec);
    json_decref(platform);
    return same;
}

static void test_worlds(void)
{
    unsigned different = 0;

    for (uint64_t seed = 1; seed <= 4000 && different < 5; seed++)
        different += !check_world(seed);
    CU_ASSERT_EQUAL(different, 0);
}

/* ---- two farms that live through the same ---- */

enum { MAX_LEASES = 8192, MAX_SLAVES = 12, MAX_SLOTS = 24 };

struct lease {
    uint64_t id, first, count, answered;
    uint32_t slave, slot;
    int64_t sent_us;
    bool live;
};

struct twins {
    struct nf_rng rng;
    struct nf_farm *farms[2];
    struct lease leases[MAX_LEASES];
    uint32_t nleases;
    uint32_t nslots[MAX_SLAVES];
    bool live[MAX_SLAVES];
    int64_t now_us, wake_us;
    bool over, different, trace;
};

static void kill_lease(struct twins *t, uint64_t id)
{
    for (uint32_t i = t->nleases; i-- > 0;)
        if (t->leases[i].id == id)
            t->leases[i].live = false;
}

static void take(struct twins *t, const struct nf_action *a)
{
    if (t->trace)
        fprintf(stderr, "%8lld action %d slave %u slot %u first %llu+%llu\n",
                (long long)t->now_us, (int)a->kind, a->slave, a->slot,
                (unsigned long long)a->first, (unsigned long long)a->count);
    if (a->kind == NF_ACT_DONE)
        t->over = true;
    if (a->kind == NF_ACT_CANCEL)
        kill_lease(t, a->lease);
    if (a->kind == NF_ACT_SEND && t->nleases < MAX_LEASES)
        t->leases[t->nleases++] = (struct lease){ .id = a->lease,
                                                  .first = a->first,
                                                  .count = a->count,
                                                  .slave = a->slave,
                                                  .slot = a->slot,
                                                  .sent_us = t->now_us,
                                                  .live = true };
}

static bool same_action(const struct nf_action *a, const struct nf_action *b)
{
    return a->kind == b->kind && a->slave == b->slave && a->slot == b->slot &&
           a->lease == b->lease && a->first == b->first &&
           a->count == b->count && a->copy == b->copy;
}

/* The two farms' answers to one event. */
static void compare(struct twins *t, const struct nf_actions acts[2])
{
    t->different |=
        acts[0].count != acts[1].count || acts[0].wake_us != acts[1].wake_us;
    for (size_t i = 0; i < acts[0].count && i < acts[1].count; i++)
        t->different |= !same_action(&acts[0].list[i], &acts[1].list[i]);
    for (size_t i = 0; i < acts[0].count; i++)
        take(t, &acts[0].list[i]);
    t->wake_us = acts[0].wake_us;
}

#define BOTH(t, call)                                                          \
    do {                                                                       \
        struct nf_actions acts[2];                                             \
                                                                               \
        for (int side = 0; side < 2; side++) {                                 \
            struct nf_farm *farm = (t)->farms[side];                           \
            struct nf_actions *actions_p = &acts[side];                        \
                                                                               \
            (void)(call);                                                      \
        }                                                                      \
        compare(t, acts);                                                      \
    } while (0)

static void join(struct twins *t, uint32_t slave)
{
    if (t->live[slave])
        return;
    if (t->nslots[slave] == 0)
        t->nslots[slave] = 1 + (uint32_t)nf_rng_below(&t->rng, 2);
    t->live[slave] = true;
    BOTH(t, nf_farm_join(farm, slave, t->nslots[slave], t->now_us, actions_p));
}

static void lose(struct twins *t, uint32_t slave)
{
    enum nf_loss loss = (enum nf_loss)nf_rng_below(&t->rng, 4);

    if (!t->live[slave])
        return;
    t->live[slave] = false;
    for (uint32_t i = 0; i < t->nleases; i++)
        if (t->leases[i].slave == slave)
            t->leases[i].live = false;
    BOTH(t, nf_farm_lost(farm, slave, loss, t->now_us, actions_p));
}

/* Of the live leases, one of the oldest. */
static struct lease *some_lease(struct twins *t)
{
    uint32_t skip = (uint32_t)nf_rng_below(&t->rng, MAX_SLOTS);
    struct lease *last = NULL;

    for (uint32_t i = 0; i < t->nleases; i++) {
        if (!t->leases[i].live)
            continue;
        last = &t->leases[i];
        if (skip-- == 0)
            break;
    }
    return last;
}

/* Another one of the same slot. */
static struct lease *next_lease(struct twins *t, const struct lease *of)
{
    for (uint32_t i = 0; i < t->nleases; i++) {
        struct lease *l = &t->leases[i];

        if (l->live && l != of && l->slave == of->slave && l->slot == of->slot)
            return l;
    }
    return NULL;
}

static void answer(struct twins *t, struct lease *l)
{
    struct nf_chunk_times times = { .wait_us = -1 };
    uint64_t first = l->first + l->answered;
    uint64_t count = l->count - l->answered;

    if (nf_rng_below(&t->rng, 20) == 0) {
        l->answered++;
        l->live = count > 1;
        BOTH(t, nf_farm_unit_failed(farm, l->slave, l->id, first, t->now_us,
                                    actions_p));
        return;
    }
    if (nf_rng_below(&t->rng, 4) == 0)
        count = 1 + nf_rng_below(&t->rng, count);
    times.compute_us =
        (int64_t)nf_rng_below(&t->rng, (uint64_t)(t->now_us - l->sent_us) + 1);
    if (nf_rng_below(&t->rng, 2))
        times.wait_us = (int64_t)nf_rng_below(&t->rng, 50);
    l->answered += count;
    l->live = l->answered < l->count;
    BOTH(t, nf_farm_result(farm, l->slave, l->id, first, count, &times,
                           t->now_us, actions_p));
}

/* One, or two of a slot at the same time: the second changes the mean that is
 * assumed of those without results, while nothing happens to them. */
static void answer_some(struct twins *t, bool two)
{
    struct lease *l = some_lease(t);

    if (l == NULL)
        return;
    answer(t, l);
    l = next_lease(t, l);
    if (two && l != NULL && !t->over && !t->different)
        answer(t, l);
}

static void step(struct twins *t)
{
    uint64_t what = nf_rng_below(&t->rng, 40);
    uint32_t slave = (uint32_t)nf_rng_below(&t->rng, MAX_SLAVES);

    t->now_us += (int64_t)nf_rng_below(&t->rng, what % 8 ? 30 : 400);
    if (what == 0)
        lose(t, slave);
    else if (what <= 3)
        join(t, slave);
    else if (what <= 6 && t->wake_us != INT64_MAX) {
        if (t->wake_us > t->now_us)
            t->now_us = t->wake_us;
        BOTH(t, nf_farm_timer(farm, t->now_us, actions_p));
    } else
        answer_some(t, what <= 20);
}

static bool create(struct twins *t, uint64_t seed)
{
    struct nf_policy policy;
    struct nf_farm_config config = {
        .policy = &policy,
        .max_slots = MAX_SLOTS,
    };
    char spec[80];

    memset(t, 0, sizeof(*t));
    t->rng.state = seed;
    t->wake_us = INT64_MAX;
    config.max_attempts = 1 + (uint32_t)nf_rng_below(&t->rng, 3);
    config.units = 1 + nf_rng_below(&t->rng, 600);
    config.slots = 1 + (uint32_t)nf_rng_below(&t->rng, MAX_SLOTS);
    draw_spec(&t->rng, spec, sizeof(spec));
    if (nf_policy_parse(spec, &policy, NULL) != NF_OK ||
        nf_farm_create(&config, &t->farms[0], NULL) != NF_OK)
        return false;
    policy.pacer = &auto_sweep;
    if (nf_farm_create(&config, &t->farms[1], NULL) == NF_OK)
        return true;
    nf_farm_destroy(t->farms[0]);
    return false;
}

static bool check_twins(uint64_t seed, bool trace)
{
    static struct twins t;

    if (!create(&t, seed))
        return false;
    t.trace = trace;
    for (uint32_t i = 0; i < MAX_SLAVES / 2; i++)
        join(&t, i);
    for (long i = 0; i < 20000 && !t.over && !t.different; i++)
        step(&t);
    nf_farm_destroy(t.farms[0]);
    nf_farm_destroy(t.farms[1]);
    if (t.different)
        fprintf(stderr, "twins %llu: the actions differ at %lld us\n",
                (unsigned long long)seed, (long long)t.now_us);
    return !t.different;
}

static void test_twins(void)
{
    unsigned different = 0;

    for (uint64_t seed = 1; seed <= 4000 && different < 5; seed++)
        different += !check_twins(seed, false);
    CU_ASSERT_EQUAL(different, 0);
}

/* ---- the heap ---- */

enum { SLOTS = 50 };

static uint32_t least_of(const struct nf_slot_node *nodes, const bool *in)
{
    uint32_t least = NF_SLOT_NONE;

    for (uint32_t i = 0; i < SLOTS; i++)
        if (in[i] && (least == NF_SLOT_NONE || nodes[i].key < nodes[least].key))
            least = i;
    return least;
}

static void check_walk(const struct nf_slot_node *nodes, uint32_t root,
                       const bool *in, int64_t limit)
{
    uint32_t found = 0, slot = NF_SLOT_NONE;
    bool seen[SLOTS] = { false };

    while ((slot = nf_slot_heap_walk(nodes, root, limit, slot)) !=
           NF_SLOT_NONE) {
        CU_ASSERT_TRUE(in[slot] && !seen[slot] && nodes[slot].key <= limit);
        seen[slot] = true;
        found++;
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        found -= in[i] && nodes[i].key <= limit;
    CU_ASSERT_EQUAL(found, 0);
}

static void test_heap(void)
{
    struct nf_slot_node nodes[SLOTS];
    bool in[SLOTS] = { false };
    uint32_t root = NF_SLOT_NONE;
    struct nf_rng rng = { 5 };

    for (int i = 0; i < 20000; i++) {
        uint32_t slot = (uint32_t)nf_rng_below(&rng, SLOTS);

        if (in[slot])
            nf_slot_heap_remove(nodes, &root, slot);
        else
            nf_slot_heap_insert(nodes, &root, slot,
                                (int64_t)nf_rng_below(&rng, 30));
        in[slot] = !in[slot];
        CU_ASSERT_EQUAL(root, least_of(nodes, in));
        if (i % 10 == 0)
            check_walk(nodes, root, in, (int64_t)nf_rng_below(&rng, 32));
    }
}

/* ---- far away ---- */

/* A slot whose oldest chunk is late, on a host that is up for @p up_us. */
static int64_t dry_after_us(int64_t up_us, uint32_t outstanding,
                            int64_t service_us, int64_t late_us)
{
    struct nf_auto_estimate slot = { .results = 1,
                                     .service_us = service_us,
                                     .head_us = up_us };

    return nf_auto_dry_us(&slot, outstanding, service_us, up_us + late_us) -
           up_us - late_us;
}

/* 10^6 chunks times 107 days and a half are 2^63 us. */
static void test_long_queues(void)
{
    static const int64_t up_us[] = { 0, INT64_C(9223372036854),
                                     INT64_C(9223372036855), INT64_C(1) << 55 };
    const int64_t most_us = NF_AUTO_MOST_US;

    for (size_t i = 0; i < sizeof(up_us) / sizeof(up_us[0]); i++) {
        int64_t up = up_us[i];

        CU_ASSERT_EQUAL(dry_after_us(up, 1000000, 50, 300),
                        INT64_C(1000000) * 300 - 50);
        /* as lines of the same slope go on, told or not */
        CU_ASSERT_EQUAL(dry_after_us(up, 16, 50, 300), 16 * 300 - 50);
        CU_ASSERT_EQUAL(dry_after_us(up, 17, 50, 300), 17 * 300 - 50);
        /* where it is cut, and beyond; on time, late, and much too late */
        CU_ASSERT_EQUAL(dry_after_us(up, 1 << 20, 1, INT64_C(1) << 30),
                        most_us - 1);
        CU_ASSERT_EQUAL(dry_after_us(up, 1 << 20, 1, (INT64_C(1) << 30) - 1),
                        most_us - (1 << 20) - 1);
        CU_ASSERT_EQUAL(dry_after_us(up, UINT32_MAX, 1, INT64_C(1) << 40),
                        most_us - 1);
        CU_ASSERT_EQUAL(dry_after_us(up, UINT32_MAX, INT64_C(1) << 41, 0),
                        most_us);
        CU_ASSERT_EQUAL(dry_after_us(up, UINT32_MAX, 1 << 30, 1 << 29),
                        most_us - (1 << 29));
        CU_ASSERT_EQUAL(dry_after_us(up, UINT32_MAX, 1 << 30, 3 << 29),
                        most_us + (3 << 29));
        CU_ASSERT_EQUAL(dry_after_us(up, 1, INT64_C(1) << 41, INT64_C(1) << 42),
                        INT64_C(1) << 41);
    }
}

static CU_TestInfo tests[] = {
    { "long queues end within what 64 bits hold", test_long_queues },
    { "a heap of slots always knows the least and all below a limit",
      test_heap },
    { "heaps and sweep send the same in 4000 random worlds", test_worlds },
    { "heaps and sweep do the same whatever 4000 farms live through",
      test_twins },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "forms", NULL, NULL, NULL, NULL, tests },
    CU_SUITE_INFO_NULL,
};

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--seed") == 0)
        return !check_twins(strtoull(argv[2], NULL, 10), true);
    return nf_unit_main(suites);
}
