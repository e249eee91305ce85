#ifndef NF_COLL_HALVING_H
#define NF_COLL_HALVING_H
/** @file halving.h  Recursive halving on the survivors of a fold: partners
 *  exchange halves of what they have and combine, until each of the H survivors
 *  has the result of one of H segments. */
#include "common/coll/fold.h"

/** How far apart partners are, round by round. */
enum nf_halving {
    NF_HALVING_NEAR_FIRST, /**< 1, 2, 4, ...: operands stay contiguous, so the
                                order of ranks is kept; survivor x ends with the
                                segment whose number has x's bits reversed */
    NF_HALVING_FAR_FIRST,  /**< H/2, ..., 2, 1: commutative operators;
                                survivor x ends with segment x */
};

/** @return the distance of partners in round @p t, 0..n-1 */
uint32_t nf_halving_distance(enum nf_halving order, uint32_t dims, uint32_t t);
/** @return the segments that survivor @p x has after @p rounds rounds, 0..n */
struct nf_coll_span nf_halving_range(enum nf_halving order, uint32_t dims,
                                     uint32_t x, uint32_t rounds);
/** Write down the reduce-scatter.   @return the next round */
uint32_t nf_halving_reduce_scatter(const struct nf_fold *fold,
                                   enum nf_halving order, uint32_t round,
                                   struct nf_schedule *schedule);
/** Write down the gather of what it left, to @p root, a survivor.
 *  @return the next round */
uint32_t nf_halving_gather(const struct nf_fold *fold, enum nf_halving order,
                           uint32_t root, uint32_t round,
                           struct nf_schedule *schedule);
/** Write down the way back: partners give each other what they have, until all
 *  survivors have all segments.   @return the next round */
uint32_t nf_halving_allgather(const struct nf_fold *fold, enum nf_halving order,
                              uint32_t round, struct nf_schedule *schedule);
/** The time of the n exchanges of the reduce-scatter or of the allgather of a
 *  vector of @p bytes among 2^@p dims survivors, without combining:
 *  T(m/2) + T(m/4) + ... + T(m/H), half duplex twice that. */
double nf_halving_us(const struct nf_coll_price *price, uint32_t dims,
                     double bytes);
/** Reduce-scatter and gather: half of the vector comes, then a quarter, ...,
 *  and as much on the way back; if P != 2^n the fold before. */
extern const struct nf_coll_kept nf_kept_halving_gather;
/** Reduce-scatter and allgather: the same, with copies of what is gathered and
 *  sent on, and of what the others of the fold get in the end. */
extern const struct nf_coll_kept nf_kept_halving_allgather;
#endif
