#ifndef NF_TREE_MESH_CHAIN_H
#define NF_TREE_MESH_CHAIN_H
/** @file mesh_chain.h  Dimension-ordered chains: nodes of a mesh in the order
 * of their addresses, the first coordinate being the most significant.  Along
 * such a chain the trees of u-mesh and opt-mesh are free from contention, if
 * routes correct the first coordinate first.  Pure. */
#include <stdint.h>
#include "nowfarm.h"

/** @param address  [nodes * dims]: node v's are address[v * dims] and on
 *  @param node_at_p  [nodes]: the node at each place of the chain
 *  @retval NF_ERR_INVAL  two nodes have one address; err says which
 *  O(dims nodes log nodes)
 *  Source: McKinley, Xu, Esfahanian, Ni, TPDS 5(12), 1994 */
enum nf_status nf_mesh_chain(const uint32_t *address, uint32_t nodes,
                             uint32_t dims, uint32_t *node_at_p,
                             struct nf_error *err);
#endif
