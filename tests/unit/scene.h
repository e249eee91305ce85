#ifndef NF_TESTS_UNIT_SCENE_H
#define NF_TESTS_UNIT_SCENE_H
/** @file scene.h  What tasks do in a test that starts itself as tasks of PVM
 *  (own_task.h).  Such a task is number @ref me of @ref ntasks, and ends with
 *  status 1 where something is not as it must be. */
#include <stdbool.h>
#include <stdint.h>
#include "tests/unit/own_task.h"

struct scene {
    const char *name;
    void (*play)(void);
};

/** Set by scene_begin(). */
extern int tids[OWN_TASKS_MOST]; /**< of tasks 0..ntasks-1 */
extern uint32_t ntasks, me;
extern const char *scene_name;

/** Unless it is @p right, name the scene, this task and the @p line, and end
 *  the task; see CHECK. */
void check(bool right, int line, const char *text);
#define CHECK(condition) check(condition, __LINE__, #condition)

/** Join PVM, say the own tid on standard output and read those of all from
 *  standard input.
 *  @param args  SCENE RANK TASKS, as of own_tasks_start(); kept */
void scene_begin(char **args);
/** @return so much time, or more where sanitizers or valgrind slow all down */
int64_t slowed_us(int64_t us);
/** scene_begin(), play the scene of that name, and leave PVM.
 *  @param scenes  the last one has no name
 *  @return the exit status: 0, all was right; 2, there is no such scene */
int scene_play(char **args, const struct scene *scenes);
#endif
