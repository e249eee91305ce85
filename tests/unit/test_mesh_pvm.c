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

static void test_dropped(void)
{
    run("dropped", 2, -1);
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

static void test_several_stopped(void)
{
    run("several-stopped", 2, -1);
}

static void test_no_room(void)
{
    run("no-room", 2, -1);
}

static void test_stopped_lower(void)
{
    run("stopped-lower", 3, -1);
}

static void test_here_and_gone(void)
{
    run("here-and-gone", 4, 1);
}

static void test_asleep(void)
{
    run("asleep", 2, -1);
}

static void test_asleep_death(void)
{
    run("asleep-death", 2, 1);
}

static void test_left_pvm(void)
{
    run("left-pvm", 2, -1);
}

static void test_notices(void)
{
    run("notices", 2, -1);
}

static void test_late_bye(void)
{
    run("late-bye", 2, -1);
}

static void test_late(void)
{
    run("late", 3, -1);
}

static void test_closed_death(void)
{
    run("closed-death", 3, 1);
}

static void test_shy(void)
{
    run("shy", 4, -1);
}

static void test_early(void)
{
    run("early", 2, -1);
}

static void test_thread(void)
{
    run("thread", 2, -1);
}

static void test_pause(void)
{
    run("pause", 2, -1);
}

static void test_pause_death(void)
{
    run("pause-death", 2, 1);
}

static void test_handler(void)
{
    run("handler", 1, -1);
}

static CU_TestInfo tests[] = {
    { "all exchange messages of all sizes and types", test_exchange },
    { "the same in XDR", test_exchange_xdr },
    { "a mesh of one", test_one },
    { "a stopped member stops nobody", test_stopped },
    { "a killed member has left, the rest go on", test_killed },
    { "a stranger does no harm", test_stranger },
    { "the program's own use of PVM is not disturbed", test_foreign },
        { "what has not begun can be dropped", test_dropped },
        { "two meshes at once", test_two },
    { "who does not come is named", test_missing },
    { "out of memory", test_no_memory },
    { "all meshes together do not block on a stopped member",
      test_several_stopped },
    { "a goodbye has room where nothing else has, and needs no memory",
      test_no_room },
    { "no route is asked of a member that does not answer",
      test_stopped_lower },
    { "a member that goes while a mesh opens is named in time",
      test_here_and_gone },
    { "nobody sleeps on what another mesh has read", test_asleep },
    { "nor on a death that another mesh has read of", test_asleep_death },
    { "who has left PVM stays out of it", test_left_pvm },
    { "no notice is left where nobody looks", test_notices },
    { "nor a goodbye that comes late", test_late_bye },
    { "who opens a mesh that was closed hears so", test_late },
    { "a death is no news of a closed mesh", test_closed_death },
    { "members that do not wait for each other", test_shy },
    { "a window for each mesh that is not there yet", test_early },
    { "a thread that was there before", test_thread },
    { "a paused member, and what is urgent", test_pause },
    { "a paused member that ends", test_pause_death },
    { "a program that handles all messages is told", test_handler },
    CU_TEST_INFO_NULL,
};

static char **by_hand;

static void test_by_hand(void)
{
    run(by_hand[0], (uint32_t)atoi(by_hand[1]), -1);
}

static CU_TestInfo one_test[] = {
    { "by hand", test_by_hand },
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
    if (argc == 3) { /* one scene, by hand */
        by_hand = argv + 1;
        suites[0].pTests = one_test;
    }
    status = nf_unit_main(suites);
    own_pvm_end();
    return status;
}
