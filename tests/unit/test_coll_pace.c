/* Algorithms whose ranks may not run ahead: what is sent in a round waits for all
 * that came rounds_ahead before, by whatever way the plan says so. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/group/plan.h"
#include "tests/unit/nf_unit.h"

enum { SEGMENTS = 9, MAX_RANKS = 35 };

/* behind_p[i]: does step i wait for step @p first, also by others?  Steps are by
 * round, and nothing waits for a later one. */
static void mark_behind(const struct nf_plan *plan, uint32_t first,
                        bool *behind_p)
{
    memset(behind_p, 0, plan->nsteps * sizeof(*behind_p));
    behind_p[first] = true;
    for (int changed = 1; changed;) {
        changed = 0;
        for (uint32_t i = 0; i < plan->nsteps; i++)
            for (uint32_t j = 0; behind_p[i] && j < plan->steps[i].nnext; j++) {
                bool *next =
                    &behind_p[plan->next[plan->steps[i].first_next + j]];

                changed = changed || !*next;
                *next = true;
            }
    }
}

/* @return pairs of what came and what had to wait for it, or -1: one did not */
static int count_waits(const struct nf_plan *plan)
{
    bool *behind = nf_calloc(plan->nsteps + 1, sizeof(*behind));
    int pairs = 0;

    for (uint32_t i = 0; i < plan->nsteps && pairs >= 0; i++) {
        if (plan->steps[i].sends)
            continue;
        mark_behind(plan, i, behind);
        for (uint32_t j = 0; j < plan->nsteps && pairs >= 0; j++)
            if (plan->steps[j].sends &&
                plan->steps[i].round + plan->algorithm->rounds_ahead <=
                    plan->steps[j].round)
                pairs = behind[j] ? pairs + 1 : -1;
    }
    nf_free(behind);
    return pairs;
}

static int pairs_of(const struct nf_coll_algorithm *algorithm, uint32_t ranks)
{
    struct nf_coll_args args = { .ranks = ranks, .root = ranks / 2 };
    const struct nf_coll_sides grid = { 2, { 2, ranks / 2 } };
    int pairs = 0;

    if (algorithm->by_shape && ranks % 2 == 0 && ranks >= 4)
        args.shape = &grid;
    args.segments = algorithm->items == NF_ITEMS_SEGMENTS ? SEGMENTS : 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        struct nf_plan *plan = NULL;
        struct nf_error err;
        int more;

        if (nf_plan_create(algorithm, &args, rank, &plan, &err) != NF_OK)
            return 0; /* not for so many ranks */
        more = count_waits(plan);
        if (more < 0)
            printf("\n    %s, P %u: rank %u runs ahead", algorithm->name, ranks,
                   rank);
        pairs = more < 0 || pairs < 0 ? -1 : pairs + more;
        nf_plan_destroy(plan);
    }
    return pairs;
}

static void test_nobody_runs_ahead(void)
{
    unsigned held = 0;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        int most = 0;

        if (nf_coll_table[i]->rounds_ahead == 0)
            continue;
        held++;
        for (uint32_t ranks = 2; ranks <= MAX_RANKS; ranks++) {
            int pairs = pairs_of(nf_coll_table[i], ranks);

            CU_ASSERT(pairs >= 0);
            if (pairs > most)
                most = pairs;
        }
        if (most <= 100)
            printf("\n    %s: %d waits", nf_coll_table[i]->name, most);
        CU_ASSERT(most > 100); /* something had to wait */
    }
    CU_ASSERT(held > 0);
}

/* Those that would have links shared by what is needed and what is not yet. */
static void test_who_is_held(void)
{
    static const char *const names[] = {
        "reduce.circulant", "alltoall.burst", "alltoall.pairwise_shift",
        "alltoall.pairwise_xor",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct nf_coll_algorithm *a = nf_coll_find(names[i]);

        CU_ASSERT(a != NULL && a->rounds_ahead > 0);
    }
    CU_ASSERT_EQUAL(nf_coll_find("bcast.circulant")->rounds_ahead, 0);
}

/* What a rank sends in one round goes to the rank after it first, so that not all
 * ranks send to rank 0 at once. */
static void test_turns_of_ranks(void)
{
    const struct nf_coll_args args = { .ranks = 5, .segments = 1 };

    for (uint32_t rank = 0; rank < args.ranks; rank++) {
        struct nf_plan *plan = NULL;
        struct nf_error err;

        CU_ASSERT_EQUAL(nf_plan_create(nf_coll_find("alltoall.burst"), &args,
                                       rank, &plan, &err),
                        NF_OK);
        CU_ASSERT_EQUAL(plan->ntargets, 4);
        for (uint32_t i = 0; i < plan->ntargets; i++)
            CU_ASSERT_EQUAL(plan->targets[i], (rank + 1 + i) % 5);
        nf_plan_destroy(plan);
    }
}

int main(void)
{
    CU_TestInfo pace[] = {
        { "nobody runs ahead", test_nobody_runs_ahead },
        { "who is held back", test_who_is_held },
        { "each begins with the next rank", test_turns_of_ranks },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "pace", NULL, NULL, NULL, NULL, pace },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
