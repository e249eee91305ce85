#ifndef NF_TESTS_GOLDEN_UNIFORM_H
#define NF_TESTS_GOLDEN_UNIFORM_H
/** @file golden_uniform.h  Reading tests/golden/multicast_uniform.json: values
 * of an independent reference implementation. */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "common/tree/uniform.h"
#include "sim/mesh.h"

static json_t *golden;

static inline bool golden_open(void)
{
    json_error_t where;

    golden = json_load_file(NF_SRCDIR "/tests/golden/multicast_uniform.json", 0,
                            &where);
    if (golden == NULL)
        printf("%s:%d: %s\n", where.source, where.line, where.text);
    return golden != NULL;
}

static inline json_t *at(const json_t *object, const char *key)
{
    return json_object_get(object, key);
}

static inline int64_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* One failed comparison has a line that says what was compared. */
static inline bool agree(const char *what, int64_t got, int64_t want)
{
    if (got != want)
        printf("\n    %s: got %" PRId64 ", want %" PRId64, what, got, want);
    return got == want;
}

/* [[1, 2], [], ...]: children of each node, as they are sent to. */
static inline bool children_agree(const struct nf_tree *tree,
                                  const json_t *children)
{
    bool ok = agree("nodes", tree->nodes, (int64_t)json_array_size(children));

    for (uint32_t v = 0; ok && v < tree->nodes; v++) {
        const json_t *list = json_array_get(children, v);
        uint32_t first = tree->first[v], n = tree->first[v + 1] - first;

        ok = agree("children", n, (int64_t)json_array_size(list));
        for (uint32_t i = 0; ok && i < n; i++)
            ok = agree("child", tree->child[first + i],
                       json_integer_value(json_array_get(list, i)));
    }
    return ok;
}

/* [x, y, ...] */
static inline uint32_t node_of(const struct nf_mesh *mesh,
                               const json_t *address)
{
    uint32_t coordinate[NF_MESH_DIMS_MAX];

    for (uint32_t d = 0; d < mesh->dims; d++)
        coordinate[d] =
            (uint32_t)json_integer_value(json_array_get(address, d));
    return nf_mesh_node(mesh, coordinate);
}
#endif
