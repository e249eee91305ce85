/* Every type and operator between PVM tasks, as the bytes are and in XDR. */
#include "config.h"
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit/group_types.h"
#include "tests/unit/own_pvm.h"

enum { TASKS = 3, BIG = (1 << 20) + 1 };

/* ================================================== the part of a task === */

/* Says its tid, reads everybody's.  @return exit status: 0, all was right */
static int play(void)
{
    struct nf_group *group;
    struct nf_error err = { NF_OK, "" };
    int tids[TASKS];
    unsigned bad;

    printf("%d\n", pvm_mytid());
    fflush(stdout);
    for (int i = 0; i < TASKS; i++)
        if (scanf("%d", &tids[i]) != 1)
            return 2;
    dup2(2, 1); /* the test does not listen any more */
    if (nf_group_open(tids, TASKS, 1, NULL, &group, &err) != NF_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 3;
    }
    bad = group_types_combine(group) + group_types_move(group);
    for (int kind = 0; kind <= NF_CALL_BARRIER && bad == 0; kind++)
        if (kind != NF_CALL_ALLTOALL)
            bad += group_types_count(group, (enum nf_call_kind)kind, BIG);
    if (bad == 0 && nf_barrier(group) != NF_OK)
        bad++;
    nf_group_close(group);
    pvm_exit();
    return bad == 0 ? 0 : 1;
}

/* ======================================================== the test === */

struct task {
    pid_t pid;
    FILE *to, *from;
};

static void start(struct task *task)
{
    int in[2], out[2];

    if (pipe(in) != 0 || pipe(out) != 0)
        exit(99);
    task->pid = fork();
    if (task->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        execl(own_program(), "test_group_types_pvm", "task", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    task->to = fdopen(in[1], "w");
    task->from = fdopen(out[0], "r");
}

static void run(void)
{
    struct task all[TASKS];
    int tids[TASKS];

    for (int i = 0; i < TASKS; i++)
        start(&all[i]);
    for (int i = 0; i < TASKS; i++)
        if (fscanf(all[i].from, "%d", &tids[i]) != 1)
            tids[i] = -1;
    for (int i = 0; i < TASKS; i++) {
        for (int k = 0; k < TASKS; k++)
            fprintf(all[i].to, "%d\n", tids[k]);
        fclose(all[i].to);
    }
    for (int i = 0; i < TASKS; i++) {
        int status = -1;

        waitpid(all[i].pid, &status, 0);
        CU_ASSERT_EQUAL(status, 0);
        fclose(all[i].from);
    }
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

    if (argc == 2 && strcmp(argv[1], "task") == 0)
        return play();
    signal(SIGPIPE, SIG_IGN);
    return own_pvm_run(suites);
}
