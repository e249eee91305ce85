/* A broadcast and a gatherv of more than 2 GiB, really done, between threads.
 * Skipped where memory is short. */
#include "config.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nowfarm_group.h"
#include "tests/unit/big_words.h"
#include "tests/unit/nf_unit.h"

#define BIG_BYTES ((size_t)(UINT64_C(1) << 31) + 4096 + 24)
/* the buffers of both, and a copy on the way; packed: two in turn */
#define WANTED_KIB (4 * (BIG_BYTES >> 10))

static struct nf_group *groups[2];

static _Atomic size_t flipped; /* elements */

/* Structures of 8 bytes, which need as many packed.  Twice is as never, so it
 * counts. */
static int flip(const void *from_, size_t count, void *to_, void *user)
{
    const uint64_t *from = from_;
    uint64_t *to = to_;

    (void)user;
    for (size_t i = 0; i < count; i++)
        to[i] = ~from[i];
    flipped += count;
    return 0;
}

static bool packs; /* elements are structures, else bytes */

static void *run_member(void *user)
{
    static const struct nf_packing packing = { 8, flip, flip, NULL };
    struct nf_group *group = user;
    uint32_t rank = nf_group_rank(group);
    const size_t count = packs ? BIG_BYTES / 8 : BIG_BYTES;
    const size_t counts[2] = { 0, count };
    uint64_t *words = calloc(1, BIG_BYTES);
    unsigned bad = words == NULL;
    int type = NF_ELEM_BYTE;

    if (packs)
        bad += nf_group_define_struct(group, 8, &packing, &type) != NF_OK;

    if (bad == 0 && rank == 0)
        big_fill(words, BIG_BYTES);
    bad += nf_bcast(group, words, count, type, 0) != NF_OK;
    bad += rank == 1 && !big_is_filled(words, BIG_BYTES);
    if (rank == 0 && bad == 0)
        memset(words, 0, BIG_BYTES);
    bad += nf_gatherv(group, words, counts[rank], words, counts, NULL, type,
                      0) != NF_OK;
    bad += rank == 0 && !big_is_filled(words, BIG_BYTES);
    nf_group_close(group);
    free(words);
    return bad == 0 ? NULL : user;
}

static void run(void)
{
    static const struct nf_group_options options = { .algorithms =
                                                         "bcast.flat" };
    pthread_t threads[2];
    struct nf_error err;

    flipped = 0;
    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(2, &options, groups, &err),
                          NF_OK);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run_member, groups[i]);
    for (int i = 0; i < 2; i++) {
        void *bad;

        pthread_join(threads[i], &bad);
        CU_ASSERT_PTR_NULL(bad);
    }
    /* both calls: once where they leave, once where they arrive */
    CU_ASSERT_EQUAL(flipped, packs ? 4 * (BIG_BYTES / 8) : 0);
}

static void more_than_2_gib_arrive(void)
{
    run();
}

static void more_than_2_gib_arrive_packed(void)
{
    packs = true;
    setenv("NOWFARM_ENCODING", "xdr", 1);
    run();
    unsetenv("NOWFARM_ENCODING");
    packs = false;
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "more than 2 GiB arrive", more_than_2_gib_arrive },
        { "more than 2 GiB arrive packed", more_than_2_gib_arrive_packed },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "big vectors of groups", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (big_available_kib() < WANTED_KIB) {
        fprintf(stderr, "skipped: less than %llu MiB of memory\n",
                (unsigned long long)WANTED_KIB >> 10);
        return 77;
    }
    return nf_unit_main(suites);
}
