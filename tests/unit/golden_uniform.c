#include "config.h"
#include "tests/unit/golden_uniform.h"
#include <inttypes.h>
#include <stdio.h>

json_t *golden;

bool golden_open(void)
{
    json_error_t where;

    golden = json_load_file(NF_SRCDIR "/tests/golden/multicast_uniform.json", 0,
                            &where);
    if (golden == NULL)
        printf("%s:%d: %s\n", where.source, where.line, where.text);
    return golden != NULL;
}

json_t *at(const json_t *object, const char *key)
{
    return json_object_get(object, key);
}

int64_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

bool agree(const char *what, int64_t got, int64_t want)
{
    if (got != want)
        printf("\n    %s: got %" PRId64 ", want %" PRId64, what, got, want);
    return got == want;
}

bool children_agree(const struct nf_tree *tree, const json_t *children)
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

uint32_t node_of(const struct nf_mesh *mesh, const json_t *address)
{
    uint32_t coordinate[NF_MESH_DIMS_MAX];

    for (uint32_t d = 0; d < mesh->dims; d++)
        coordinate[d] =
            (uint32_t)json_integer_value(json_array_get(address, d));
    return nf_mesh_node(mesh, coordinate);
}
