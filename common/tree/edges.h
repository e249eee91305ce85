#ifndef NF_TREE_EDGES_H
#define NF_TREE_EDGES_H
/** @file edges.h  Trees that arise from halving: whoever is responsible for an
 *  interval gives part of it to another node.  Edges are filled in an order in
 *  which every sender has been reached before, those of one sender as it sends:
 *  sender[k] sends to receiver[k], k < nodes - 1.  Pure. */
#include <stdint.h>
#include "nowfarm.h"

/** How many of the places low..high, at least two of which are left, the sender
 *  at place @p self keeps, itself included: 1 to high - low. */
typedef uint32_t nf_keep_fn(const void *table, uint32_t low, uint32_t high,
                            uint32_t self);

/** From @p root, responsible for the places 0..nodes - 1.  A sender that is
 *  among the places it keeps if these are the lower ones gives the upper rest
 * to the lowest of those; else it keeps the upper ones, and the lower rest goes
 * to the highest of those.  A root at place 0 and all whom it reaches so are
 * always the lowest of their interval.  O(nodes)
 *  @retval NF_ERR_NOMEM
 *  Source: Lee 1999, algorithm 2 */
enum nf_status nf_edges_halve(uint32_t nodes, uint32_t root, nf_keep_fn *keep,
                              const void *table, uint32_t *sender_p,
                              uint32_t *receiver_p);
#endif
