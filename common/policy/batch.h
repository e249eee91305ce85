#ifndef NF_POLICY_BATCH_H
#define NF_POLICY_BATCH_H
/** @file batch.h  Batches of p chunks, the frame of the factoring family: a new
 *  one opens when the last is used up.
 *
 *  A batch is remembered as the number of units that will be left after it.  So
 *  it stays right whatever size was really sent. */
#include "common/policy/arith.h"

/** Plain data. */
struct nf_batch {
    uint64_t slots;       /**< p */
    uint64_t min_units;   /**< kmin */
    uint64_t chunk_units; /**< F: the size of its chunks */
    uint64_t end_left;    /**< units left when it is used up */
};

/** No batch is open. */
void nf_batch_init(struct nf_batch *batch, const struct nf_policy_env *env,
                   uint64_t min_units);
/** @return whether all of it is handed out, when @p left units are left */
bool nf_batch_is_empty(const struct nf_batch *batch, uint64_t left);
/** Open a batch of p chunks of F = max(@p chunk_units, kmin, 1) units, or of
 *  all that is left. */
void nf_batch_open(struct nf_batch *batch, uint64_t left, uint64_t chunk_units);
/** Clamp a proposal to kmin and to what the open batch holds, which is not
 *  empty.  A rest of less than kmin goes with it.  @return units, >= 1 */
uint64_t nf_batch_take(const struct nf_batch *batch, uint64_t left,
                       uint64_t proposal);
#endif
