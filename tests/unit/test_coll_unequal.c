/* Gather and scatter of blocks of different sizes, some of them empty: on
 * symbols, whether everybody knows the sizes that it needs, and groups in which
 * messages are delayed at random. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/coll/check.h"
#include "common/coll/prune.h"
#include "common/group/plan.h"
#include "tests/unit/group_blocks.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MAX = BLOCKS_RANKS_MAX };

static const char *const names[] = {
    "gather.linear",  "gather.linear_nb",  "gather.binomial",
    "scatter.linear", "scatter.linear_nb", "scatter.binomial",
};
enum { NAMES = sizeof(names) / sizeof(*names) };

/* ------------------------------------------------------------- on symbols */

static bool is_right(const struct nf_coll_algorithm *algorithm,
                     const struct nf_coll_args *args, const uint64_t *sizes)
{
    struct nf_coll_claim claim = nf_coll_claim_of(algorithm, args);
    struct nf_coll_faults faults;
    struct nf_schedule schedule;
    struct nf_error err;
    enum nf_status status =
        nf_coll_make(algorithm, args, NF_ALL_RANKS, &schedule, &err);

    claim.sizes = sizes;
    claim.orders = 1;
    if (status == NF_OK) {
        nf_coll_prune_sizes(&schedule, sizes);
        status = nf_coll_check(&claim, &schedule, &faults, &err);
    }
    nf_schedule_fini(&schedule);
    if (status != NF_OK)
        printf("\n    %s P %u root %u: %s", algorithm->name, args->ranks,
               args->root, err.text);
    return status == NF_OK;
}

static void unequal_blocks_arrive_on_symbols(void)
{
    struct nf_rng rng = { 1 };
    unsigned wrong = 0;

    for (int n = 0; n < NAMES; n++)
        for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++)
            for (uint32_t root = 0; root < ranks; root++) {
                const struct nf_coll_args args = { .ranks = ranks,
                                                   .root = root,
                                                   .segments = 1 };
                uint64_t sizes[RANKS_MAX];

                blocks_draw_sizes(&rng, ranks, sizes);
                wrong += !is_right(nf_coll_find(names[n]), &args, sizes);
            }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* A block that is left out though it is not empty, and an empty one that is
 * carried. */
static void wrong_sizes_are_noticed(void)
{
    const struct nf_coll_args args = { .ranks = 5, .root = 2, .segments = 1 };
    const uint64_t sizes[] = { 3, 0, 1, 2, 4 }, less[] = { 3, 0, 1, 0, 4 };

    for (int n = 0; n < NAMES; n++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_find(names[n]);
        struct nf_coll_claim claim = nf_coll_claim_of(algorithm, &args);
        struct nf_coll_faults faults;
        struct nf_schedule schedule;
        struct nf_error err;

        CU_ASSERT_EQUAL(
            nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, &err),
            NF_OK);
        nf_coll_prune_sizes(&schedule, less);
        claim.sizes = sizes;
        CU_ASSERT_EQUAL(nf_coll_check(&claim, &schedule, &faults, &err),
                        NF_ERR_VERIFY);
        CU_ASSERT_EQUAL(faults.list[0].kind, NF_FAULT_RESULT);
        nf_schedule_fini(&schedule);
        CU_ASSERT_EQUAL(
            nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, &err),
            NF_OK);
        CU_ASSERT_EQUAL(nf_coll_check(&claim, &schedule, &faults, &err),
                        NF_ERR_VERIFY);
        CU_ASSERT_EQUAL(faults.list[0].kind, NF_FAULT_NO_ITEM);
        nf_schedule_fini(&schedule);
    }
}

/* ------------------------------------------------------------ who knows */

struct knowledge {
    bool knows[RANKS_MAX][RANKS_MAX]; /* rank, of whose block */
    unsigned lists, wrong;
};

/* The sender must know what it lists, the receiver what is not listed; what a
 * message carries its receiver knows from then on. */
static void tell(struct knowledge *k, const struct nf_schedule *schedule,
                 const struct nf_coll_message *m, const struct nf_plan *plan)
{
    const struct nf_plan_step *step = &plan->steps[nf_plan_find(
        plan, m->src, m->round, schedule->spans[m->first_span].first)];

    k->lists += step->lists;
    for (uint32_t s = 0; s < m->nspans; s++) {
        struct nf_coll_span span = schedule->spans[m->first_span + s];

        for (uint32_t i = span.first; i < span.first + span.count; i++) {
            k->wrong += !k->knows[m->src][i];
            k->wrong += !step->lists && !k->knows[m->dst][i];
            k->knows[m->dst][i] = true;
        }
    }
}

static void follow(struct knowledge *k,
                   const struct nf_coll_algorithm *algorithm,
                   const struct nf_coll_args *args)
{
    struct nf_plan *plans[RANKS_MAX] = { NULL };
    struct nf_schedule schedule;
    struct nf_error err;

    memset(k->knows, 0, sizeof(k->knows));
    CU_ASSERT_EQUAL(
        nf_coll_make(algorithm, args, NF_ALL_RANKS, &schedule, &err), NF_OK);
    for (uint32_t r = 0; r < args->ranks; r++) {
        k->knows[r][r] = k->knows[args->root][r] = true;
        CU_ASSERT_EQUAL(nf_plan_create(algorithm, args, r, &plans[r], &err),
                        NF_OK);
    }
    for (size_t m = 0; m < schedule.count; m++)
        tell(k, &schedule, &schedule.messages[m],
             plans[schedule.messages[m].dst]);
    for (uint32_t r = 0; r < args->ranks; r++)
        nf_plan_destroy(plans[r]);
    nf_schedule_fini(&schedule);
}

static void everybody_knows_the_sizes_it_needs(void)
{
    static struct knowledge k;

    for (int n = 0; n < NAMES; n++) {
        k.lists = 0;
        for (uint32_t ranks = 2; ranks <= 33; ranks++)
            for (uint32_t root = 0; root < ranks; root += 1 + ranks / 7) {
                const struct nf_coll_args args = { .ranks = ranks,
                                                   .root = root,
                                                   .segments = 1 };

                follow(&k, nf_coll_find(names[n]), &args);
            }
        CU_ASSERT((k.lists > 0) == (strstr(names[n], "binomial") != NULL));
    }
    CU_ASSERT_EQUAL(k.wrong, 0);
}

/* ------------------------------------------------------------- in groups */

/* Several in a row, so that members run ahead of each other. */
static bool try_group(const char *name, uint32_t ranks, uint64_t seed,
                      size_t largest)
{
    const struct nf_group_options options = { .algorithms = name };
    struct nf_rng rng = { seed };
    struct group_sim sim;
    bool right = sim_open(&sim, ranks, seed, &options);

    for (int i = 0; i < 3 && right; i++) {
        struct blocks b;

        blocks_init(&b, &rng, name, ranks, 0, largest);
        for (uint32_t r = 0; r < ranks; r++) {
            struct nf_call call = blocks_call(&b, r);

            sim_start(&sim, r, &call);
            if (ranks > 1 && sim.requests[r] != NULL &&
                sim.requests[r]->plan != NULL)
                CU_ASSERT_STRING_EQUAL(nf_request_algorithm(sim.requests[r]),
                                       name);
        }
        right = sim_run(&sim);
        for (uint32_t r = 0; r < ranks; r++)
            right = right && sim.statuses[r] == NF_OK;
        right = right && blocks_are_right(&b);
        blocks_fini(&b);
    }
    if (!right)
        printf("\n    %s P %u seed %llu", name, ranks,
               (unsigned long long)seed);
    sim_close(&sim);
    return right;
}

static void unequal_blocks_arrive_whatever_the_delays(void)
{
    unsigned wrong = 0;

    for (int n = 0; n < NAMES; n++)
        for (uint32_t ranks = 1; ranks <= 24; ranks++)
            for (uint64_t seed = 0; seed < 4; seed++)
                wrong += !try_group(names[n], ranks, 100 * ranks + seed, 20);
    CU_ASSERT_EQUAL(wrong, 0);
}

static void many_and_large_unequal_blocks_arrive(void)
{
    unsigned wrong = 0;

    for (int n = 0; n < NAMES; n++) {
        wrong += !try_group(names[n], 33, 7, 20);
        wrong += !try_group(names[n], 64, 8, 20);
        wrong += !try_group(names[n], 13, 9, 20000);
        wrong += !try_group(names[n], 24, 10, 20000);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* @return whether all calls ended, and the one that needed the size that is
 * wrong, or another, says that calls differ */
static bool is_found_out(const char *name, uint32_t liar)
{
    const struct nf_group_options options = { .algorithms = name };
    struct nf_rng rng = { liar };
    struct group_sim sim;
    struct blocks b;
    bool ok = sim_open(&sim, 7, liar, &options), found = false;

    blocks_init(&b, &rng, name, 7, 5, 0);
    for (uint32_t r = 0; r < 7; r++) {
        struct nf_call call = blocks_call(&b, r);

        if (r == (b.root + liar) % 7)
            call.count++; /* there is room for one more */
        sim_start(&sim, r, &call);
    }
    ok = sim_run(&sim) && ok;
    for (uint32_t r = 0; r < 7; r++)
        if (sim.statuses[r] == NF_ERR_MISMATCH && (r == b.root || !b.gathers))
            found = true;
    blocks_fini(&b);
    sim_close(&sim);
    return ok && found;
}

/* One member says another size than the root. */
static void a_wrong_size_is_an_error(void)
{
    for (int n = 0; n < NAMES; n++)
        for (uint32_t liar = 1; liar < 7; liar++)
            CU_ASSERT(is_found_out(names[n], liar));
}

int main(void)
{
    CU_TestInfo symbols[] = {
        { "unequal blocks arrive on symbols",
          unequal_blocks_arrive_on_symbols },
        { "wrong sizes are noticed", wrong_sizes_are_noticed },
        { "everybody knows the sizes that it needs",
          everybody_knows_the_sizes_it_needs },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo groups[] = {
        { "unequal blocks arrive whatever the delays",
          unequal_blocks_arrive_whatever_the_delays },
        { "many and large unequal blocks arrive",
          many_and_large_unequal_blocks_arrive },
        { "a wrong size is an error", a_wrong_size_is_an_error },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "blocks of different sizes, on symbols", NULL, NULL, NULL, NULL,
          symbols },
        { "blocks of different sizes, in groups", NULL, NULL, NULL, NULL,
          groups },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
