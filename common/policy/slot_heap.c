#include "config.h"
#include "common/policy/slot_heap.h"
#include <stdbool.h>

static bool is_less(const struct nf_slot_node *nodes, uint32_t a, uint32_t b)
{
    if (nodes[a].key != nodes[b].key)
        return nodes[a].key < nodes[b].key;
    return a < b;
}

/* Make one heap of two, on the way down the right spines, where each node's
 * children change places.  @return its root */
static uint32_t meld(struct nf_slot_node *nodes, uint32_t a, uint32_t b)
{
    uint32_t root = NF_SLOT_NONE, *link = &root, parent = NF_SLOT_NONE;

    while (a != NF_SLOT_NONE && b != NF_SLOT_NONE) {
        uint32_t rest;

        if (is_less(nodes, b, a)) {
            uint32_t c = a;

            a = b;
            b = c;
        }
        *link = a;
        nodes[a].parent = parent;
        parent = a;
        rest = nodes[a].child[1];
        nodes[a].child[1] = nodes[a].child[0];
        link = &nodes[a].child[0];
        a = rest;
    }
    if (a == NF_SLOT_NONE)
        a = b;
    *link = a;
    if (a != NF_SLOT_NONE)
        nodes[a].parent = parent;
    return root;
}

void nf_slot_heap_insert(struct nf_slot_node *nodes, uint32_t *root_p,
                         uint32_t slot, int64_t key)
{
    nodes[slot] = (struct nf_slot_node){
        .key = key,
        .child = { NF_SLOT_NONE, NF_SLOT_NONE },
        .parent = NF_SLOT_NONE,
    };
    *root_p = meld(nodes, *root_p, slot);
}

void nf_slot_heap_remove(struct nf_slot_node *nodes, uint32_t *root_p,
                         uint32_t slot)
{
    uint32_t parent = nodes[slot].parent;
    uint32_t rest = meld(nodes, nodes[slot].child[0], nodes[slot].child[1]);

    if (rest != NF_SLOT_NONE)
        nodes[rest].parent = parent;
    if (parent == NF_SLOT_NONE)
        *root_p = rest;
    else
        nodes[parent].child[nodes[parent].child[1] == slot] = rest;
}

static bool is_within(const struct nf_slot_node *nodes, uint32_t slot,
                      int64_t limit)
{
    return slot != NF_SLOT_NONE && nodes[slot].key <= limit;
}

uint32_t nf_slot_heap_walk(const struct nf_slot_node *nodes, uint32_t root,
                           int64_t limit, uint32_t slot)
{
    if (slot == NF_SLOT_NONE)
        return is_within(nodes, root, limit) ? root : NF_SLOT_NONE;
    for (int i = 0; i < 2; i++)
        if (is_within(nodes, nodes[slot].child[i], limit))
            return nodes[slot].child[i];
    while (slot != root) {
        uint32_t parent = nodes[slot].parent, next = nodes[parent].child[1];

        if (slot == nodes[parent].child[0] && is_within(nodes, next, limit))
            return next;
        slot = parent;
    }
    return NF_SLOT_NONE;
}
