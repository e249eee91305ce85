#include "config.h"
#include "common/tree/mesh_chain.h"
#include "common/base/error.h"

struct nodes {
    const uint32_t *address;
    uint32_t dims;
};

static int compare(const struct nodes *nodes, uint32_t a, uint32_t b)
{
    const uint32_t *x = nodes->address + (size_t)a * nodes->dims;
    const uint32_t *y = nodes->address + (size_t)b * nodes->dims;

    for (uint32_t d = 0; d < nodes->dims; d++)
        if (x[d] != y[d])
            return x[d] < y[d] ? -1 : 1;
    return 0;
}

/* Let heap[place] sink in a heap with the largest on top. */
static void sink(const struct nodes *nodes, uint32_t *heap, uint32_t count,
                 uint32_t place)
{
    uint32_t node = heap[place], child;

    while ((child = 2 * place + 1) < count) {
        if (child + 1 < count &&
            compare(nodes, heap[child], heap[child + 1]) < 0)
            child++;
        if (compare(nodes, node, heap[child]) >= 0)
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = node;
}

enum nf_status nf_mesh_chain(const uint32_t *address, uint32_t nodes,
                             uint32_t dims, uint32_t *node_at_p,
                             struct nf_error *err)
{
    struct nodes all = { address, dims };

    for (uint32_t v = 0; v < nodes; v++)
        node_at_p[v] = v;
    for (uint32_t place = nodes / 2; place-- > 0;)
        sink(&all, node_at_p, nodes, place);
    for (uint32_t left = nodes; left-- > 1;) {
        uint32_t largest = node_at_p[0];

        node_at_p[0] = node_at_p[left];
        node_at_p[left] = largest;
        sink(&all, node_at_p, left, 0);
    }
    for (uint32_t p = 1; p < nodes; p++) {
        uint32_t a = node_at_p[p - 1], b = node_at_p[p];

        if (compare(&all, a, b) == 0)
            return nf_fail(err, NF_ERR_INVAL,
                           "nodes %u and %u are at one place of the mesh",
                           a < b ? a : b, a < b ? b : a);
    }
    return NF_OK;
}
