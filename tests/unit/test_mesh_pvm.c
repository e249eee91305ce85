/* Meshes of real PVM tasks, none of which nowfarm has spawned.
 *
 * For each test this program starts itself some times.  Each such task says its
 * tid, is told all, plays its part of the scene (mesh_task.c), and ends with
 * status 0 if all was right. */
#include "config.h"
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit/mesh_task.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/own_pvm.h"

enum { TASKS_MOST = MESH_TASKS_MOST };

struct task {
    pid_t pid;
    FILE *to, *from;
};

static void start(struct task *task, const char *scene, uint32_t rank,
                  uint32_t count)
{
    int in[2], out[2];
    char number[16], tasks[16];

    if (pipe(in) != 0 || pipe(out) != 0)
        exit(99);
    snprintf(number, sizeof(number), "%u", rank);
    snprintf(tasks, sizeof(tasks), "%u", count);
    task->pid = fork();
    if (task->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        execl(own_program(), "test_mesh_pvm", scene, number, tasks,
              (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    task->to = fdopen(in[1], "w");
    task->from = fdopen(out[0], "r");
}

/* @param dies  the task that is to be killed, or -1 */
static void run(const char *scene, uint32_t count, int dies)
{
    struct task all[TASKS_MOST];
    int numbers[TASKS_MOST];

    for (uint32_t i = 0; i < count; i++)
        start(&all[i], scene, i, count);
    for (uint32_t i = 0; i < count; i++)
        if (fscanf(all[i].from, "%d", &numbers[i]) != 1)
            numbers[i] = -1;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < count; k++)
            fprintf(all[i].to, "%d\n", numbers[k]);
        fclose(all[i].to);
    }
    for (uint32_t i = 0; i < count; i++) {
        int status = -1;

        waitpid(all[i].pid, &status, 0);
        if ((int)i == dies)
            CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        else
            CU_ASSERT_EQUAL(status, 0);
        fclose(all[i].from);
    }
}

static void test_exchange(void)
{
    run("exchange", 5, -1);
}

static void test_exchange_xdr(void)
{
    setenv("NOWFARM_ENCODING", "xdr", 1);
    run("exchange", 3, -1);
    unsetenv("NOWFARM_ENCODING");
}

static void test_one(void)
{
    run("exchange", 1, -1);
}

static void test_stopped(void)
{
    run("stopped", 3, -1);
}

static void test_killed(void)
{
    run("killed", 3, 1);
}

static void test_stranger(void)
{
    run("stranger", 4, -1);
}

static void test_foreign(void)
{
    run("foreign", 2, -1);
}

static void test_two(void)
{
    run("two", 2, -1);
}

static void test_missing(void)
{
    run("missing", 3, -1);
}

static void test_no_memory(void)
{
    run("no-memory", 2, -1);
}

static CU_TestInfo tests[] = {
    { "all exchange messages of all sizes and types", test_exchange },
    { "the same in XDR", test_exchange_xdr },
    { "a mesh of one", test_one },
    { "a stopped member stops nobody", test_stopped },
    { "a killed member has left, the rest go on", test_killed },
    { "a stranger does no harm", test_stranger },
    { "the program's own use of PVM is not disturbed", test_foreign },
    { "two meshes at once", test_two },
    { "who does not come is named", test_missing },
    { "out of memory", test_no_memory },
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { "mesh of PVM tasks", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };
    int status;

    if (argc == 4)
        return mesh_task_play(argv + 1);
    signal(SIGPIPE, SIG_IGN);
    status = own_pvm_begin();
    if (status != 0)
        return status;
    status = nf_unit_main(suites);
    own_pvm_end();
    return status;
}
