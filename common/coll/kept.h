#ifndef NF_COLL_KEPT_H
#define NF_COLL_KEPT_H
/** @file kept.h  What algorithms keep at a member beyond the user's buffers.
 *
 *  Counted is, of the member that has most of it, what whoever carries a
 *  schedule out (common/group/exec.h) may have at once:
 *    - messages that were taken.  Those that are combined with, and those that
 *      are sent on, stay until the call ends; only what is not sent on goes
 *      home at once;
 *    - copies of what is sent, where its blocks do not lie together.
 *  Not counted is what does not depend on the algorithm: messages that the
 *  transport still has on the way, copies of an input in place, packed
 *  elements, and the books.  Vectors are taken to be divisible: messages have a
 *  few bytes more where whole elements are dealt out.
 *
 *  m bytes of the vector (gather, scatter, all-to-all: of a block), P ranks,
 *  H = 2^floor(log2 P), q = ceil(log2 P), k segments. */
#include "common/coll/coll.h"

extern const struct nf_coll_kept nf_kept_vector;     /**< m */
extern const struct nf_coll_kept nf_kept_twice;      /**< 2 m */
extern const struct nf_coll_kept nf_kept_others;     /**< (P-1) m */
extern const struct nf_coll_kept nf_kept_levels;     /**< q m */
extern const struct nf_coll_kept nf_kept_rounds;     /**< m (k+q-1)/k */
extern const struct nf_coll_kept nf_kept_round_trip; /**< m (P-1)/P, single
                                                          blocks */
extern const struct nf_coll_kept nf_kept_bundles; /**< 2 m (P-1)/P, with copies
                                                       of bundles of blocks */
/** Of the root of a gather: as many blocks as its window has, or all that are
 *  not held back.  A member for which another call under way waits is not held
 *  back either, whatever its block: see common/group/early.c. */
extern const struct nf_coll_kept nf_kept_window;

/** bytes times / parts, rounded up; UINT64_MAX if it has no 64 bits. */
uint64_t nf_kept_part(uint64_t bytes, uint64_t times, uint64_t parts);
#endif
