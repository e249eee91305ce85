#ifndef NF_TESTS_UNIT_OWN_TASK_H
#define NF_TESTS_UNIT_OWN_TASK_H
/** @file own_task.h  Tasks that run the test's own program once more, as the
 *  test sees them.  Nothing of nowfarm has spawned them: each joins PVM by
 *  itself.  What they do is a scene: see scene.h. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { OWN_TASKS_MOST = 160 };

struct own_task {
    pid_t pid;
    FILE *to;   /**< its standard input, until it was told all tids */
    FILE *from; /**< its standard output, until own_task_end() */
};

/** Start tasks, with the words SCENE RANK TASKS, and tell each the tids of all,
 *  which they say first.  From then on SIGPIPE is ignored here: a task may end
 *  before it is told.  Ends the test with status 99 if there are no pipes.
 *  @param tasks    [count], each to be given to own_task_end()
 *  @param count    at most OWN_TASKS_MOST
 *  @param scene    the first word, which says what they are to do
 *  @param said_fd  where their standard error goes; STDERR_FILENO: as ours */
void own_tasks_start(struct own_task *tasks, uint32_t count, const char *scene,
                     int said_fd);
/** Wait until a task has ended, however long that takes.
 *  @param killed  it is to end by SIGKILL; else by itself, with status 0
 *  @return whether it did */
bool own_task_end(struct own_task *task, bool killed);
#endif
