/* A broadcast of more than 2 GiB between two PVM tasks on one host: lengths
 * that a signed int does not hold.  Skipped where memory is short. */
#include "config.h"
#include <stdlib.h>
#include <unistd.h>
#include "nowfarm_group.h"
#include "tests/unit/big_words.h"
#include "tests/unit/own_pvm.h"
#include "tests/unit/scene.h"

#define BIG_BYTES ((size_t)(UINT64_C(1) << 31) + 8)
/* the vector of both, and what is on the way */
#define WANTED_KIB (4 * (BIG_BYTES >> 10))

/* A task is ended when it takes longer. */
enum { MOST_S = 300 };

static void play_big(void)
{
    const struct nf_group_options options = { .timeout_us = 30 * 1000000LL };
    uint64_t *words = calloc(1, BIG_BYTES);
    struct nf_group *group;
    struct nf_error err = { NF_OK, "" };

    alarm(MOST_S);
    CHECK(words != NULL);
    if (me == 0)
        big_fill(words, BIG_BYTES);
    CHECK(nf_group_open(tids, ntasks, 1, &options, &group, &err) == NF_OK);
    CHECK(nf_bcast(group, words, BIG_BYTES, NF_ELEM_BYTE, 0) == NF_OK);
    CHECK(big_is_filled(words, BIG_BYTES));
    CHECK(nf_barrier(group) == NF_OK);
    nf_group_close(group);
    free(words);
}

static const struct scene scenes[] = { { "big", play_big }, { NULL, NULL } };

static void run(const char *algorithm)
{
    struct own_task tasks[2];

    setenv("NOWFARM_COLL", algorithm, 1);
    own_tasks_start(tasks, 2, "big", STDERR_FILENO);
    for (int i = 0; i < 2; i++)
        CU_ASSERT(own_task_end(&tasks[i], false));
    unsetenv("NOWFARM_COLL");
}

static void more_than_2_gib_arrive_in_one_message(void)
{
    run("bcast.flat");
}

static void more_than_2_gib_arrive_in_segments(void)
{
    run("bcast.pipeline.fd:k=64");
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        { "more than 2 GiB arrive in one message",
          more_than_2_gib_arrive_in_one_message },
        { "more than 2 GiB arrive in segments",
          more_than_2_gib_arrive_in_segments },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "big vectors between PVM tasks", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (argc == 4)
        return scene_play(argv + 1, scenes);
    if (big_available_kib() < WANTED_KIB) {
        fprintf(stderr, "skipped: less than %llu MiB of memory\n",
                (unsigned long long)WANTED_KIB >> 10);
        return 77;
    }
    return own_pvm_run(suites);
}
