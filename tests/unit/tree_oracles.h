#ifndef NF_TESTS_TREE_ORACLES_H
#define NF_TESTS_TREE_ORACLES_H
/** @file tree_oracles.h  The time of the fastest multicast by other ways than
 *  common/tree goes: slower, or without a tree. */
#include <stdint.h>
#include "common/tree/uniform.h"

/** t[1..k] by the recurrence as it stands.  O(k^2).  @param t_p  [k + 1] */
void oracle_all_splits(uint32_t k, int64_t hold, int64_t end, int64_t *t_p);

/** t[1..k]: who is informed first sends first, by two queues.  O(k)
 *  @param t_p  [k + 1] */
void oracle_two_queues(uint32_t k, int64_t hold, int64_t end, int64_t *t_p);

/** The least time of k nodes, any number of ports, over all trees:
 *  f(i, n) = min over j of max(o(n) + end + f(i - j, 0), f(j, n + 1)).  O(k^3)
 */
int64_t oracle_ports(uint32_t k, const struct nf_uniform *uniform);
#endif
