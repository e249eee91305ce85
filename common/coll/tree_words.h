/* A broadcast's tree as it is told to others, in 8 bytes a rank: how many children
 * each rank has, then who they are, rank after rank, all as 32 bits, low byte
 * first. */
#ifndef NF_COLL_TREE_WORDS_H
#define NF_COLL_TREE_WORDS_H

#include "common/coll/coll.h"

/** @return 8 bytes for each of tree->ranks, nf_free(); NULL: out of memory */
uint8_t *nf_coll_tree_write(const struct nf_coll_tree *tree);

/** Reads what was written, of `ranks` >= 1 ranks.  What it says is not checked:
 *  nf_coll_fits() does that.
 *  @param tree_p   on success: the tree, with root 0; it borrows *first_p
 *  @param first_p  on success: the tree's memory, nf_free()
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_coll_tree_read(const uint8_t *words, uint32_t ranks,
                                 struct nf_coll_tree *tree_p,
                                 uint32_t **first_p);

#endif
