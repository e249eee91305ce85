#ifndef NF_POLICY_TAKEN_H
#define NF_POLICY_TAKEN_H
/** @file taken.h  What each slot has really got, for sizers that deal units out
 *  beforehand.
 *
 *  A driver may send another number of units than the sizer said: a lease has
 *  its limit, and scripts say what they like.  It shows at the next request, in
 *  the units that are left then. */
#include "common/policy/policy.h"

/** Plain data; all zero: nobody has asked. */
struct nf_taken {
    uint64_t left; /**< at the last request */
    uint32_t slot; /**< whose it was */
};

/** @p slot asks while @p left units are left: add what the last one that asked
 *  has taken since then.
 *  @param units  [slots]: taken by each, zero in the beginning */
void nf_taken_ask(struct nf_taken *taken, uint64_t units[], uint32_t slot,
                  uint64_t left);
/** @return of @p share units those that are still to come */
uint64_t nf_taken_rest(uint64_t share, uint64_t taken);
#endif
