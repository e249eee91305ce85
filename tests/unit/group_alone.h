#ifndef NF_TESTS_UNIT_GROUP_ALONE_H
#define NF_TESTS_UNIT_GROUP_ALONE_H
/** @file group_alone.h  Calls of a group of one. */
#include <stdbool.h>
#include "nowfarm_group.h"

/** Of one member: what combines gives its input, exscan nothing, and an operator
 *  of the user's is never called.  It defines 40 of them. */
bool is_right_alone(struct nf_group *group);
#endif
