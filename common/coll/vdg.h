#ifndef NF_COLL_VDG_H
#define NF_COLL_VDG_H
/** @file vdg.h  The first half of scatter-allgather broadcasts: P blocks of the
 *  vector, block v for virtual rank v. */
#include "common/coll/coll.h"

/** Write down the binomial scatter.   @return its rounds, q */
uint32_t nf_vdg_scatter(const struct nf_coll_args *args,
                        struct nf_schedule *schedule);
/** What the root sends, which takes longest: q a + b m (P-1)/P.
 *  @param bytes  of the vector */
double nf_vdg_scatter_us(const struct nf_coll_price *price, uint32_t ranks,
                         double bytes);
/** What a rank keeps that also has @p blocks of the second half: the subtree
 *  that it hands on has P/2 at the most. */
uint64_t nf_vdg_kept_bytes(uint32_t ranks, uint64_t bytes, uint32_t blocks);
#endif
