#ifndef NF_COLL_PRUNE_H
#define NF_COLL_PRUNE_H
/** @file prune.h  A schedule for a vector of so many elements.  Items without
 *  elements are neither sent nor received; all ranks know which. */
#include "common/coll/coll.h"

/** The elements of item @p item: all of them, a segment, a block of a vector,
 *  or (gather, scatter, all-to-all) one rank's block of @p elements.
 *  @return 0 for barriers, whose messages are never empty */
uint64_t nf_coll_item_elements(const struct nf_coll_algorithm *algorithm,
                               const struct nf_coll_args *args,
                               uint64_t elements, uint32_t item);

/** Leave out items without elements, and messages in which nothing is left.
 *  Rounds keep their numbers.  Barriers are as before.
 *  @param args  what the schedule was made with; its k should be
 *  nf_coll_clamp_segments()ed before */
void nf_coll_prune(struct nf_schedule *schedule,
                   const struct nf_coll_algorithm *algorithm,
                   const struct nf_coll_args *args, uint64_t elements);
/** The same for a gather, scatter or all-to-all of blocks of different sizes.
 *  @param sizes  [items] elements of each block */
void nf_coll_prune_sizes(struct nf_schedule *schedule, const uint64_t *sizes);
#endif
