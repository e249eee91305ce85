/* Every type and operator between threads, and a count that no number of
 * segments and ranks divides, by every algorithm. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "common/coll/coll.h"
#include "tests/unit/group_types.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MOST = 5, BIG = (1 << 20) + 1 };

struct member {
    struct nf_group *group;
    const struct nf_coll_algorithm *algorithm; /* NULL: all types */
    size_t count;
    unsigned bad;
};

static void *run_member(void *user)
{
    struct member *member = user;

    if (member->algorithm != NULL)
        member->bad = group_types_count(
            member->group, (enum nf_call_kind)member->algorithm->op,
            member->count);
    else
        member->bad = group_types_combine(member->group) +
                      group_types_move(member->group);
    /* who closes early is dead for those that are late */
    if (member->bad == 0 && nf_barrier(member->group) != NF_OK)
        member->bad++;
    nf_group_close(member->group);
    return NULL;
}

static unsigned run(uint32_t ranks, const char *algorithms,
                    const struct nf_coll_algorithm *algorithm, size_t count)
{
    const struct nf_group_options options = { .algorithms = algorithms };
    struct nf_group *groups[RANKS_MOST];
    struct member members[RANKS_MOST];
    pthread_t threads[RANKS_MOST];
    struct nf_error err = { NF_OK, "" };
    unsigned bad = 0;

    if (nf_group_open_threads(ranks, &options, groups, &err) != NF_OK) {
        printf("%s: %s\n", algorithms, err.text);
        return 1;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        members[r] = (struct member){ groups[r], algorithm, count, 0 };
        pthread_create(&threads[r], NULL, run_member, &members[r]);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        pthread_join(threads[r], NULL);
        bad += members[r].bad;
    }
    if (bad > 0)
        printf("%s, %u ranks, count %zu\n", algorithms, ranks, count);
    return bad;
}

static bool fits(const struct nf_coll_algorithm *algorithm, uint32_t ranks)
{
    const struct nf_coll_args args = { .ranks = ranks, .segments = 1 };

    return nf_coll_fits(algorithm, &args, NULL) == NF_OK;
}

static void all_types_are_right(void)
{
    CU_ASSERT_EQUAL(run(4, "", NULL, 0), 0);
    CU_ASSERT_EQUAL(run(5, "", NULL, 0), 0);
    CU_ASSERT_EQUAL(run(5,
                        "allreduce.ring,reduce.chain.fd:k=3,scan.pipeline.fd:"
                        "k=4,bcast.circulant:k=5,gather.binomial",
                        NULL, 0),
                    0);
}

static void counts_that_nothing_divides_are_right(void)
{
    unsigned runs = 0;

    for (; nf_coll_table[runs] != NULL; runs++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_table[runs];
        char forced[80];

        snprintf(forced, sizeof(forced), "%s%s", algorithm->name,
                 algorithm->items == NF_ITEMS_SEGMENTS ? ":k=7" : "");
        if (!fits(algorithm, RANKS_MOST) && !fits(algorithm, 4))
            continue; /* there is no group of such a shape */
        CU_ASSERT_EQUAL(run(fits(algorithm, RANKS_MOST) ? RANKS_MOST : 4,
                            forced, algorithm, BIG),
                        0);
    }
    CU_ASSERT(runs > 60);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "all types and operators are right", all_types_are_right },
        { "2^20 + 1 elements are right by every algorithm",
          counts_that_nothing_divides_are_right },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "types of groups", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
