#ifndef NF_POLICY_SLOT_HEAP_H
#define NF_POLICY_SLOT_HEAP_H
/** @file slot_heap.h  Heaps of slots that any slot can be taken out of, least
 *  key first, the lower slot number if keys are equal.
 *
 *  Skew heaps, linked by slot number: a slot is in at most one of the heaps
 *  that share an array of nodes, so that p slots need p nodes however many
 *  heaps there are, and a state that is copied byte by byte stays valid.
 *  Every change is O(log n) amortised.
 *  Source: Sleator and Tarjan, "Self-adjusting heaps", SIAM J. Comput. 15(1),
 *  1986. */
#include <stdint.h>

#define NF_SLOT_NONE UINT32_MAX

struct nf_slot_node {
    int64_t key;
    uint32_t child[2], parent; /**< slots, or NF_SLOT_NONE */
};

/** An empty heap is a root that is NF_SLOT_NONE; otherwise it is the least. */
void nf_slot_heap_insert(struct nf_slot_node *nodes, uint32_t *root_p,
                         uint32_t slot, int64_t key);
/** Take out @p slot, which is in this heap. */
void nf_slot_heap_remove(struct nf_slot_node *nodes, uint32_t *root_p,
                         uint32_t slot);
/** Walk over the slots with keys up to @p limit, in no particular order: begin
 *  with @p slot NF_SLOT_NONE.  All steps together are O(slots found).
 *  @return the next one, or NF_SLOT_NONE */
uint32_t nf_slot_heap_walk(const struct nf_slot_node *nodes, uint32_t root,
                           int64_t limit, uint32_t slot);
#endif
