/* Every type and operator between PVM tasks, as the bytes are and in XDR. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/unit/group_types.h"
#include "tests/unit/own_pvm.h"
#include "tests/unit/scene.h"

enum { TASKS = 3, BIG = (1 << 20) + 1 };

/* ================================================== the part of a task === */

static void play_types(void)
{
    struct nf_group *group = NULL;
    struct nf_error err = { NF_OK, "" };
    unsigned bad;

    dup2(2, 1); /* the test does not listen any more */
    if (nf_group_open(tids, ntasks, 1, NULL, &group, &err) != NF_OK)
        fprintf(stderr, "%s\n", err.text);
    CHECK(group != NULL);
    bad = group_types_combine(group) + group_types_move(group);
    for (int kind = 0; kind <= NF_CALL_BARRIER && bad == 0; kind++)
        if (kind != NF_CALL_ALLTOALL)
            bad += group_types_count(group, (enum nf_call_kind)kind, BIG);
    if (bad == 0 && nf_barrier(group) != NF_OK)
        bad++;
    nf_group_close(group);
    CHECK(bad == 0);
}

static const struct scene scenes[] = {
    { "types", play_types },
    { NULL, NULL },
};

/* ======================================================== the test === */

static void run(void)
{
    struct own_task all[TASKS];

    own_tasks_start(all, TASKS, "types", STDERR_FILENO);
    for (int i = 0; i < TASKS; i++)
        CU_ASSERT(own_task_end(&all[i], false));
}

static void all_types_are_right(void)
{
    run();
}

static void all_types_are_right_in_xdr(void)
{
    setenv("NOWFARM_ENCODING", "xdr", 1);
    run();
    unsetenv("NOWFARM_ENCODING");
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        { "all types and operators are right", all_types_are_right },
        { "the same in XDR", all_types_are_right_in_xdr },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "types of groups of PVM tasks", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (argc == 4)
        return scene_play(argv + 1, scenes);
    return own_pvm_run(suites);
}
