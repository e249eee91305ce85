#ifndef NF_TESTS_UNIT_MESH_TASK_H
#define NF_TESTS_UNIT_MESH_TASK_H
/** @file mesh_task.h  The part of a task in test_mesh_pvm. */

enum { MESH_TASKS_MOST = 8 };

/** Say the own tid on standard output, read those of all from standard input,
 *  and play.  @param args  scene, number of this task, number of tasks
 *  @return the exit status: 0 if all was right */
int mesh_task_play(char **args);
#endif
