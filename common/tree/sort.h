#ifndef NF_TREE_SORT_H
#define NF_TREE_SORT_H
/** @file sort.h  Nodes in order of a key.  Pure, no allocation. */
#include <stdint.h>

/** Sort nodes[0..count) by key[node] ascending, equal ones by their number.
 *  O(count log count) */
void nf_sort_nodes(uint32_t *nodes, uint32_t count, const double *key);
#endif
