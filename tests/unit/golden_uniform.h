#ifndef NF_TESTS_GOLDEN_UNIFORM_H
#define NF_TESTS_GOLDEN_UNIFORM_H
/** @file golden_uniform.h  Reading tests/golden/multicast_uniform.json: values
 * of an independent reference implementation. */
#include <jansson.h>
#include <stdbool.h>
#include "common/tree/uniform.h"
#include "sim/mesh.h"

/** The file. */
extern json_t *golden;
/** Read it.  @return false after a line on standard output */
bool golden_open(void);

json_t *at(const json_t *object, const char *key);
int64_t integer(const json_t *object, const char *key);

/** Are they equal?  If not there is a line that says what was compared. */
bool agree(const char *what, int64_t got, int64_t want);

/** [[1, 2], [], ...]: children of each node, as they are sent to. */
bool children_agree(const struct nf_tree *tree, const json_t *children);

/** [x, y, ...] */
uint32_t node_of(const struct nf_mesh *mesh, const json_t *address);
#endif
