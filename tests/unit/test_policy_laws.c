/* Laws that hold for every sizer with every pacer, over random histories: slots
 * join, are lost and come back, are refused, finish or fail in any order. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/policy/policy.h"
#include "tests/unit/nf_unit.h"

enum { SLOTS = 12, UNITS = 160, STEPS = 100000 };

/* One history in the making.  Flat but for the two states, so that it can be
 * copied in the middle and continued twice. */
struct history {
    const struct nf_policy *policy;
    struct nf_policy_env env;
    void *sizer, *pacer;
    size_t sizer_bytes, pacer_bytes;
    struct nf_rng rng; /* what happens next */
    struct nf_slot_view slots[SLOTS];
    struct nf_pool_view pool;
    uint16_t queue[SLOTS][UNITS]; /* sizes of outstanding leases, in order */
    int64_t now_us, wake_us;
    uint64_t fresh, done, trace; /* trace: a digest of all decisions */
    bool calm;                   /* no losses, failures or refusals */
    const char *broken;          /* the law, or NULL */
};

static const char *const specs[] = {
    "fixed+pull",
    "fixed:g=7+pull",
    "gss+pull",
    "gss:kmin=3+pull",
    "gss:rounding=half+pull",
    "fixed+timer",
    "fixed:g=7+timer:td=0",
    "gss+timer:td=3us/5us",
    "fixed+timer:stagger=4us",
    "fixed+round",
    "gss+round:td=0",
    "fixed:g=2+round:td=7us",
    "fixed+window",
    "gss+window:w=3",
    "fixed:g=7+window:w=0",
    "fixed+auto",
    "fixed:g=7+auto",
    "gss+auto",
    "fixed+auto:gate=0",
    "gss:rounding=floor+auto:wmax=1",
};
enum { NSPECS = sizeof(specs) / sizeof(specs[0]) };

static uint64_t most_outstanding(const struct nf_policy *policy)
{
    if (policy->pacer == &nf_pacer_pull)
        return 1;
    if (policy->pacer == &nf_pacer_auto || (policy->pacer == &nf_pacer_window &&
                                            policy->pacer_values[0].count > 0))
        return policy->pacer_values[0].count;
    return UINT64_MAX;
}

static bool start(struct history *h, const struct nf_policy *policy,
                  uint64_t units, uint32_t slots, uint64_t seed)
{
    memset(h, 0, sizeof(*h));
    h->policy = policy;
    h->env = (struct nf_policy_env){
        .units = units, .slots = slots, .max_slots = SLOTS, .seed = seed
    };
    h->rng.state = seed;
    h->fresh = units;
    h->pool.units = h->pool.left_units = units;
    h->pool.grain_units = policy->grain_units;
    h->wake_us = INT64_MAX;
    h->sizer_bytes = policy->sizer->state_size(&h->env);
    h->pacer_bytes = policy->pacer->state_size(&h->env);
    h->sizer = calloc(1, h->sizer_bytes);
    h->pacer = calloc(1, h->pacer_bytes);
    return policy->sizer->init(h->sizer, &h->env, policy->sizer_values, NULL) ==
               NF_OK &&
           policy->pacer->init(h->pacer, &h->env, policy->pacer_values, NULL) ==
               NF_OK;
}

static void finish(struct history *h)
{
    free(h->sizer);
    free(h->pacer);
}

static void fork_history(const struct history *from, struct history *to)
{
    *to = *from;
    to->sizer = malloc(from->sizer_bytes);
    to->pacer = malloc(from->pacer_bytes);
    memcpy(to->sizer, from->sizer, from->sizer_bytes);
    memcpy(to->pacer, from->pacer, from->pacer_bytes);
}

static void note(struct history *h, uint64_t what)
{
    h->trace = (h->trace ^ what) * UINT64_C(0x100000001b3) + 1;
}

static const struct nf_pool_view *view(struct history *h)
{
    h->pool.slots = h->slots; /* histories are copied */
    return &h->pool;
}

/* Size a chunk for the slot, as common/farm does it: what came back is handed
 * out without asking the sizer.  @return false if refused */
static bool size_chunk(struct history *h, uint32_t slot, uint64_t *units_p)
{
    uint64_t back = h->pool.left_units - h->fresh;

    if (!h->calm && nf_rng_below(&h->rng, 30) == 0)
        return false;
    if (back > 0) {
        *units_p = back < 3 ? back : 3;
        return true;
    }
    if (h->policy->sizer->next(h->sizer, slot, h->fresh, units_p) != NF_OK)
        return false;
    if (*units_p < 1 || *units_p > h->fresh)
        h->broken = "a size lies in [1, left]";
    else
        h->fresh -= *units_p;
    return true;
}

static void set_refused(struct history *h, uint32_t slot, bool refused)
{
    if (h->slots[slot].refused == refused)
        return;
    h->slots[slot].refused = refused;
    if (h->policy->pacer->refused != NULL)
        h->policy->pacer->refused(h->pacer, view(h), slot, h->now_us);
}

static void dispatch(struct history *h)
{
    h->wake_us = INT64_MAX;
    while (h->pool.left_units > 0 && h->broken == NULL) {
        uint32_t slot = UINT32_MAX;
        uint64_t units = 0;
        int64_t wake_us = INT64_MIN;

        if (h->policy->pacer->pick(h->pacer, view(h), h->now_us, &slot,
                                   &wake_us) != NF_OK) {
            h->wake_us = wake_us;
            if (wake_us < h->now_us)
                h->broken = "a wake-up does not lie in the past";
            return;
        }
        note(h, slot);
        if (slot >= h->pool.nslots || !h->slots[slot].live ||
            h->slots[slot].refused) {
            h->broken = "a picked slot is live and not refused";
            return;
        }
        if (!size_chunk(h, slot, &units)) {
            set_refused(h, slot, true);
            continue;
        }
        note(h, units);
        h->pool.left_units -= units;
        h->queue[slot][h->slots[slot].outstanding++] = (uint16_t)units;
        if (h->slots[slot].outstanding > most_outstanding(h->policy))
            h->broken = "the window bounds what is outstanding";
        if (h->policy->pacer->sent != NULL)
            h->policy->pacer->sent(h->pacer, view(h), slot, units, h->now_us);
    }
}

static void join(struct history *h, uint32_t slot)
{
    h->slots[slot] = (struct nf_slot_view){ .live = true };
    if (slot >= h->pool.nslots)
        h->pool.nslots = slot + 1;
    if (h->policy->pacer->join != NULL)
        h->policy->pacer->join(h->pacer, view(h), slot, h->now_us);
    dispatch(h);
}

static void give_back(struct history *h, uint64_t units)
{
    h->pool.left_units += units;
    for (uint32_t i = 0; i < h->pool.nslots; i++)
        set_refused(h, i, false);
    if (h->policy->pacer->returned != NULL)
        h->policy->pacer->returned(h->pacer, view(h), h->now_us);
}

static void lose(struct history *h, uint32_t slot)
{
    uint64_t units = 0;

    for (uint32_t i = 0; i < h->slots[slot].outstanding; i++)
        units += h->queue[slot][i];
    h->slots[slot] = (struct nf_slot_view){ .live = false };
    if (h->policy->pacer->lost != NULL)
        h->policy->pacer->lost(h->pacer, view(h), slot, h->now_us);
    if (units > 0)
        give_back(h, units);
    dispatch(h);
}

static void answer(struct history *h, uint32_t slot, bool failed)
{
    struct nf_chunk_times times = {
        .units = h->queue[slot][0],
        .compute_us = (int64_t)nf_rng_below(&h->rng, 2000),
        .wait_us = (int64_t)nf_rng_below(&h->rng, 3) - 1,
        .elapsed_us = (int64_t)nf_rng_below(&h->rng, 4000),
    };
    uint32_t rest = --h->slots[slot].outstanding;

    memmove(h->queue[slot], h->queue[slot] + 1, rest * sizeof(uint16_t));
    if (!failed) {
        h->done += times.units;
        if (h->policy->sizer->report != NULL)
            h->policy->sizer->report(h->sizer, slot, &times);
    }
    if (h->policy->pacer->result != NULL)
        h->policy->pacer->result(h->pacer, view(h), slot,
                                 failed ? NULL : &times, h->now_us);
    if (failed)
        give_back(h, times.units);
    dispatch(h);
}

static bool any_outstanding(const struct history *h)
{
    for (uint32_t i = 0; i < h->pool.nslots; i++)
        if (h->slots[i].outstanding > 0)
            return true;
    return false;
}

static uint32_t count_live(const struct history *h)
{
    uint32_t live = 0;

    for (uint32_t i = 0; i < h->pool.nslots; i++)
        live += h->slots[i].live;
    return live;
}

static void random_event(struct history *h)
{
    uint32_t slot = (uint32_t)nf_rng_below(&h->rng, h->env.slots);
    uint64_t kind = nf_rng_below(&h->rng, h->calm ? 60 : 100);

    h->now_us += (int64_t)nf_rng_below(&h->rng, 20);
    if (h->wake_us <= h->now_us) {
        dispatch(h);
        return;
    }
    if (h->slots[slot].outstanding > 0 && kind < 90)
        answer(h, slot, kind >= 80);
    else if (!h->slots[slot].live && !h->calm)
        join(h, slot);
    else if (h->slots[slot].live && kind >= 95 && count_live(h) > 1)
        lose(h, slot);
    else if (h->wake_us != INT64_MAX && !any_outstanding(h)) {
        h->now_us = h->wake_us;
        dispatch(h);
    }
}

/* Units that nobody fetches although somebody could are lost work. */
static void check_progress(struct history *h)
{
    bool all_refused = true;

    if (h->pool.left_units == 0 || h->wake_us != INT64_MAX ||
        any_outstanding(h) || h->broken != NULL)
        return;
    for (uint32_t i = 0; i < h->pool.nslots; i++)
        if (h->slots[i].live && !h->slots[i].refused)
            all_refused = false;
    if (!all_refused) {
        h->broken = "while units are left, something is outstanding or timed";
        return;
    }
    give_back(h, 0);
    dispatch(h);
}

/* Play until all is done; with `steps`, at most so many events. */
static void play(struct history *h, long steps)
{
    for (long i = 0; i < steps && h->broken == NULL && h->done < h->env.units;
         i++) {
        random_event(h);
        check_progress(h);
    }
}

static void begin(struct history *h, bool calm)
{
    h->calm = calm;
    for (uint32_t i = 0; i < h->env.slots; i++)
        join(h, i);
    check_progress(h);
}

static bool law_holds(const struct history *h)
{
    if (h->broken == NULL && h->done == h->env.units)
        return true;
    printf("\n    policy %s, N %" PRIu64 ", p %" PRIu32 ", seed %" PRIu64
           ": broken: %s",
           h->policy->spec, h->env.units, h->env.slots, h->env.seed,
           h->broken != NULL ? h->broken : "every unit is done in the end");
    return false;
}

static void check_history(const struct nf_policy *policy, uint64_t units,
                          uint32_t slots, uint64_t seed, bool calm)
{
    static struct history first, second, copy;

    CU_ASSERT(start(&first, policy, units, slots, seed));
    begin(&first, calm);
    play(&first, (long)(seed % 40));
    fork_history(&first, &copy);
    play(&first, STEPS);
    play(&copy, STEPS);
    CU_ASSERT(law_holds(&first));
    CU_ASSERT_EQUAL(copy.trace, first.trace);
    CU_ASSERT_EQUAL(copy.done, first.done);
    CU_ASSERT(start(&second, policy, units, slots, seed));
    begin(&second, calm);
    play(&second, STEPS);
    CU_ASSERT_EQUAL(second.trace, first.trace);
    finish(&first);
    finish(&second);
    finish(&copy);
}

static void check_all(bool calm, uint64_t seeds)
{
    static struct nf_policy policy;
    static const uint64_t units[] = { 0, 1, 3, 8, 41, UNITS };
    static const uint32_t slots[] = { 1, 2, 5, SLOTS };

    for (size_t i = 0; i < NSPECS; i++) {
        CU_ASSERT_EQUAL_FATAL(nf_policy_parse(specs[i], &policy, NULL), NF_OK);
        for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
            for (size_t s = 0; s < sizeof(slots) / sizeof(slots[0]); s++)
                for (uint64_t seed = 1; seed <= seeds; seed++)
                    check_history(&policy, units[u], slots[s], seed, calm);
    }
}

static void calm_histories_finish_and_repeat(void)
{
    check_all(true, 5);
}

static void stormy_histories_finish_and_repeat(void)
{
    check_all(false, 40);
}

/* Every row of the tables, so that a new policy cannot be forgotten here. */
static void every_sizer_works_with_every_pacer(void)
{
    static struct nf_policy policy;

    for (size_t i = 0; nf_sizer_table[i] != NULL; i++)
        for (size_t j = 0; nf_pacer_table[j] != NULL; j++) {
            char spec[NF_POLICY_SPEC_BYTES];

            snprintf(spec, sizeof(spec), "%s+%s", nf_sizer_table[i]->name,
                     nf_pacer_table[j]->name);
            CU_ASSERT_EQUAL_FATAL(nf_policy_parse(spec, &policy, NULL), NF_OK);
            for (uint64_t seed = 1; seed <= 50; seed++)
                check_history(&policy, UNITS, 1 + (uint32_t)(seed % SLOTS),
                              seed, seed % 2 == 0);
        }
}

static void a_send_of_nothing_is_never_asked_for(void)
{
    static struct nf_policy policy;
    static struct history h;

    CU_ASSERT_EQUAL_FATAL(nf_policy_parse("send", &policy, NULL), NF_OK);
    CU_ASSERT(start(&h, &policy, 0, 4, 1));
    begin(&h, true);
    CU_ASSERT_FALSE(any_outstanding(&h));
    CU_ASSERT_EQUAL(h.wake_us, INT64_MAX);
    finish(&h);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "calm histories finish and repeat",
          calm_histories_finish_and_repeat },
        { "stormy histories finish and repeat",
          stormy_histories_finish_and_repeat },
        { "every sizer works with every pacer",
          every_sizer_works_with_every_pacer },
        { "a send of nothing is never asked for",
          a_send_of_nothing_is_never_asked_for },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "laws", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
