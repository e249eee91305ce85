#ifndef NF_TREE_HEAP_H
#define NF_TREE_HEAP_H
/** @file heap.h  A heap of nodes, the least key on top, equal ones by their
 *  number.  The caller has the room.  Pure. */
#include <stdbool.h>
#include <stdint.h>

struct nf_heap_item {
    double key;
    uint32_t node;
};

struct nf_heap {
    struct nf_heap_item *items; /**< [as many as were ever in it at a time] */
    uint32_t count;
};

static inline bool nf_heap_is_before(struct nf_heap_item a,
                                     struct nf_heap_item b)
{
    return a.key < b.key || (a.key <= b.key && a.node < b.node);
}

static inline void nf_heap_push(struct nf_heap *heap, double key, uint32_t node)
{
    struct nf_heap_item item = { key, node };
    uint32_t at = heap->count++;

    for (; at > 0 && nf_heap_is_before(item, heap->items[(at - 1) / 2]);
         at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = item;
}

/** Give the top another key, not less than it had. */
static inline void nf_heap_delay_top(struct nf_heap *heap, double key)
{
    struct nf_heap_item item = { key, heap->items[0].node };
    uint32_t at = 0;

    for (uint32_t next = 1; next < heap->count; next = 2 * at + 1) {
        if (next + 1 < heap->count &&
            nf_heap_is_before(heap->items[next + 1], heap->items[next]))
            next++;
        if (!nf_heap_is_before(heap->items[next], item))
            break;
        heap->items[at] = heap->items[next];
        at = next;
    }
    heap->items[at] = item;
}

static inline void nf_heap_pop(struct nf_heap *heap)
{
    double key;

    if (--heap->count == 0)
        return;
    key = heap->items[heap->count].key;
    heap->items[0] = heap->items[heap->count];
    nf_heap_delay_top(heap, key);
}
#endif
