#ifndef NF_TREE_HEAP_H
#define NF_TREE_HEAP_H
/** @file heap.h  A heap of nodes, the least key on top, equal ones by their
 *  number.  The caller has the room.  Pure. */
#include <stdbool.h>
#include <stdint.h>
#include "common/base/heap.h"

struct nf_heap_item {
    double key;
    uint32_t node;
};

struct nf_heap {
    struct nf_heap_item *items; /**< [as many as were ever in it at a time] */
    uint32_t count;
};

static inline bool nf_heap_is_before(const struct nf_heap_item *a,
                                     const struct nf_heap_item *b)
{
    return a->key < b->key || (a->key <= b->key && a->node < b->node);
}

NF_HEAP(nf_heap_items, struct nf_heap_item, nf_heap_is_before)

static inline void nf_heap_push(struct nf_heap *heap, double key, uint32_t node)
{
    nf_heap_items_push(heap->items, heap->count++,
                       (struct nf_heap_item){ key, node });
}

/** Give the top another key. */
static inline void nf_heap_delay_top(struct nf_heap *heap, double key)
{
    nf_heap_items_replace(heap->items, heap->count,
                          (struct nf_heap_item){ key, heap->items[0].node });
}

static inline void nf_heap_pop(struct nf_heap *heap)
{
    nf_heap_items_pop(heap->items, heap->count--);
}
#endif
