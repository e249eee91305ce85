/* Algorithms that send a vector in blocks, asked for by name, and vectors that have fewer
 * elements than blocks: empty ones are not sent (collectives, section 1). */
#include "config.h"
#include <CUnit/CUnit.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/group/group.h"
#include "tests/unit/nf_unit.h"

enum { MOST = 8, ROOT = 1 };

struct call {
    struct nf_group *group;
    enum nf_coll_op op;
    size_t count;
    enum nf_status status;
    int32_t values[MOST];
};

static void *carry_out(void *arg)
{
    struct call *call = arg;
    struct nf_group *group = call->group;
    int32_t mine[MOST];

    for (size_t i = 0; i < MOST; i++)
        mine[i] = (int32_t)(100 * i + nf_group_rank(group));
    memcpy(call->values, mine, sizeof(mine));
    if (call->op == NF_COLL_BCAST)
        call->status = nf_bcast(group, call->values, call->count, NF_ELEM_INT32, ROOT);
    else if (call->op == NF_COLL_REDUCE)
        call->status = nf_reduce(group, mine, call->values, call->count, NF_ELEM_INT32,
                                 NF_SUM, ROOT);
    else
        call->status = nf_allreduce(group, mine, call->values, call->count,
                                    NF_ELEM_INT32, NF_SUM);
    return NULL;
}

static bool is_right(const struct call *call, uint32_t ranks, uint32_t rank)
{
    for (size_t i = 0; i < call->count; i++) {
        int32_t sum = (int32_t)(100 * i * ranks + ranks * (ranks - 1) / 2);
        int32_t want = call->op == NF_COLL_BCAST ? (int32_t)(100 * i + ROOT) : sum;

        if ((call->op != NF_COLL_REDUCE || rank == ROOT) && call->values[i] != want)
            return false;
    }
    return call->status == NF_OK;
}

static void check(const struct nf_coll_algorithm *algorithm, struct nf_group **groups,
                  uint32_t ranks, size_t count)
{
    struct call calls[MOST];
    pthread_t threads[MOST];

    for (uint32_t i = 0; i < ranks; i++) {
        calls[i] = (struct call){ groups[i], algorithm->op, count, NF_OK, { 0 } };
        pthread_create(&threads[i], NULL, carry_out, &calls[i]);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        pthread_join(threads[i], NULL);
        if (!is_right(&calls[i], ranks, i))
            printf("\n    %s, %u ranks, %zu elements: member %u has %d", algorithm->name,
                   ranks, count, i, calls[i].status);
        CU_ASSERT(is_right(&calls[i], ranks, i));
    }
}

/* Is it one, and for so many? */
static bool has_blocks(const struct nf_coll_algorithm *algorithm, uint32_t ranks)
{
    const struct nf_coll_args args = { .ranks = ranks, .root = ROOT, .segments = 1 };

    return (algorithm->op == NF_COLL_BCAST || algorithm->op == NF_COLL_REDUCE ||
            algorithm->op == NF_COLL_ALLREDUCE) &&
           algorithm->items != NF_ITEMS_WHOLE &&
           algorithm->items != NF_ITEMS_SEGMENTS &&
           nf_coll_fits(algorithm, &args, NULL) == NF_OK;
}

static void blocks_may_be_empty(void)
{
    unsigned algorithms = 0;

    for (uint32_t ranks = 2; ranks <= MOST; ranks++) {
        struct nf_group *groups[MOST];
        struct nf_mesh *meshes[MOST];

        CU_ASSERT_EQUAL_FATAL(nf_mesh_open_local(ranks, meshes, NULL), NF_OK);
        for (uint32_t i = 0; i < ranks; i++)
            CU_ASSERT_EQUAL_FATAL(
                nf_group_create(meshes[i], 0, NULL, NULL, &groups[i], NULL), NF_OK);
        for (size_t k = 0; nf_coll_table[k] != NULL; k++) {
            if (!has_blocks(nf_coll_table[k], ranks))
                continue;
            algorithms++;
            for (uint32_t i = 0; i < ranks; i++)
                CU_ASSERT_EQUAL_FATAL(
                    nf_group_force(groups[i], nf_coll_table[k]->name, NULL), NF_OK);
            for (size_t count = 0; count <= ranks; count++)
                check(nf_coll_table[k], groups, ranks, count);
        }
        for (uint32_t i = 0; i < ranks; i++)
            nf_group_close(groups[i]);
    }
    CU_ASSERT(algorithms >= 7 * 8);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "blocks may be empty", blocks_may_be_empty },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "vectors with fewer elements than blocks", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    unsetenv("NOWFARM_COLL");
    unsetenv("NOWFARM_NETWORK");
    return nf_unit_main(suites);
}
