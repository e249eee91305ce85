#include "config.h"
#include "tests/unit/own_task.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FDS_MOST = 2 * OWN_TASKS_MOST + 64 };

/* The file of this program; under valgrind "/proc/self/exe" is valgrind. */
static const char *own_program(void)
{
    static char path[4096];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

    path[bytes > 0 ? bytes : 0] = '\0';
    return path;
}

static void start(struct own_task *task, char *const *words, int said_fd)
{
    int in[2], out[2];

    if (pipe(in) != 0 || pipe(out) != 0)
        exit(99);
    task->pid = fork();
    if (task->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(said_fd, 2);
        for (int fd = 3; fd < FDS_MOST; fd++)
            close(fd);
        execv(own_program(), words);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    task->to = fdopen(in[1], "w");
    task->from = fdopen(out[0], "r");
}

static void introduce(struct own_task *tasks, uint32_t count)
{
    int tids[OWN_TASKS_MOST];

    for (uint32_t i = 0; i < count; i++)
        if (fscanf(tasks[i].from, "%d", &tids[i]) != 1)
            tids[i] = -1;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < count; k++)
            fprintf(tasks[i].to, "%d\n", tids[k]);
        fclose(tasks[i].to);
    }
}

void own_tasks_start(struct own_task *tasks, uint32_t count, const char *scene,
                     int said_fd)
{
    char name[64], rank[16], all[16];
    char *words[] = { program_invocation_short_name, name, rank, all, NULL };

    signal(SIGPIPE, SIG_IGN);
    snprintf(name, sizeof(name), "%s", scene);
    snprintf(all, sizeof(all), "%u", count);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(rank, sizeof(rank), "%u", i);
        start(&tasks[i], words, said_fd);
    }
    introduce(tasks, count);
}

bool own_task_end(struct own_task *task, bool killed)
{
    int status = -1;

    waitpid(task->pid, &status, 0);
    fclose(task->from);
    return killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                  : status == 0;
}
