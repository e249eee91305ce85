/* Heap sort: the order is total, so that it need not be stable. */
#include "config.h"
#include "common/tree/sort.h"
#include <stdbool.h>

static bool is_before(uint32_t a, uint32_t b, const double *key)
{
    return key[a] < key[b] || (key[a] <= key[b] && a < b);
}

/* Let nodes[at] sink in the heap nodes[0..count), the last one on top. */
static void sink(uint32_t *nodes, uint32_t at, uint32_t count,
                 const double *key)
{
    uint32_t node = nodes[at];

    for (uint32_t next = 2 * at + 1; next < count; next = 2 * at + 1) {
        if (next + 1 < count && is_before(nodes[next], nodes[next + 1], key))
            next++;
        if (!is_before(node, nodes[next], key))
            break;
        nodes[at] = nodes[next];
        at = next;
    }
    nodes[at] = node;
}

static void sort_few(uint32_t *nodes, uint32_t count, const double *key)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t node = nodes[i], at = i;

        for (; at > 0 && is_before(node, nodes[at - 1], key); at--)
            nodes[at] = nodes[at - 1];
        nodes[at] = node;
    }
}

void nf_sort_nodes(uint32_t *nodes, uint32_t count, const double *key)
{
    if (count <= 16) {
        sort_few(nodes, count, key);
        return;
    }
    for (uint32_t i = count / 2; i-- > 0;)
        sink(nodes, i, count, key);
    for (uint32_t last = count - 1; last > 0; last--) {
        uint32_t greatest = nodes[0];

        nodes[0] = nodes[last];
        nodes[last] = greatest;
        sink(nodes, 0, last, key);
    }
}
