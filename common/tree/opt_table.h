#ifndef NF_TREE_OPT_TABLE_H
#define NF_TREE_OPT_TABLE_H
/** @file opt_table.h  The fastest multicast among 1, 2, ... nodes that are
 * alike and have one port.  Pure.
 *
 *      t[1] = 0,  t[i] = min over 1 <= j < i of max(L(j), t[i - j] + end)
 *      L(1) = 0,  L(j) = t[j] + hold
 *
 *  j = how many nodes the sender keeps, itself included.
 *  Source: Lee, Trans. KIPS 6(9), 1999, section 2.2 and algorithm 1, where L(1)
 *  is hold: then a send is charged that never happens if hold > end. */
#include <stdint.h>
#include "nowfarm.h"

struct nf_opt_table {
    uint32_t nodes;
    int64_t *time;  /**< [nodes + 1]: t[i]; [0] is not used */
    uint32_t *keep; /**< [nodes + 1]: the j of i; from [2]; in the same block */
};

/** O(nodes), since j grows by at most 1 from i to i + 1.
 *  @param nodes  1 to NF_UNIFORM_NODES_MAX
 *  @param hold,end  0 to NF_UNIFORM_TIME_MAX
 *  @param table_p  free with nf_opt_table_fini()
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_opt_table_init(struct nf_opt_table *table_p, uint32_t nodes,
                                 int64_t hold, int64_t end);
/** The same for other times. */
void nf_opt_table_set(struct nf_opt_table *table, int64_t hold, int64_t end);
void nf_opt_table_fini(struct nf_opt_table *table);
#endif
