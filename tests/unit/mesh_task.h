#ifndef NF_TESTS_UNIT_MESH_TASK_H
#define NF_TESTS_UNIT_MESH_TASK_H
/** @file mesh_task.h  What the tasks of test_mesh_pvm do. */
#include "tests/unit/scene.h"

/** For scene_play(). */
extern const struct scene mesh_scenes[];
#endif
