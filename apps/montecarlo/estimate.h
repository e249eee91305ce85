#ifndef NF_MONTECARLO_ESTIMATE_H
#define NF_MONTECARLO_ESTIMATE_H
/** @file estimate.h  What master and slaves of an integration agree on: the
 *  parameters, how they travel, the samples of a unit, and what is made of the
 *  sums.  Pure.
 *
 *  **The same bits, always.**  Sample i is a point that depends on the seed and
 *  on i only (philox.h).  A unit answers with the exact sum and sum of squares
 *  of its samples (exact/moments.h), and exact sums do not depend on order or
 *  grouping.  So estimate and error are the same, bit for bit, for any number
 *  of slaves, slots, policy, transport, way of gathering, and chunk.  What is
 *  left is the integrand: all IEEE machines agree on pi, ball, product-peak and
 *  corner-peak; the others call exp() or cos(), whose last bit may differ
 *  between C libraries, and so between hosts of different systems. */
#include "apps/exact/moments.h"
#include "apps/montecarlo/integrands.h"

struct nf_montecarlo_params {
    uint32_t integrand; /**< index into nf_integrands */
    uint32_t dims;
    uint64_t seed;
    uint64_t samples; /**< >= 2 */
    uint64_t chunk;   /**< samples of a unit, >= 1; the last may have fewer */
};

/** Units that it takes. */
uint64_t nf_montecarlo_units(const struct nf_montecarlo_params *params);

/** Words of encoded parameters: int64. */
#define NF_MONTECARLO_PARAM_WORDS 6
void nf_montecarlo_encode(const struct nf_montecarlo_params *params,
                          int64_t *words);
/** @retval NF_ERR_PROTOCOL  no parameters of this version */
enum nf_status nf_montecarlo_decode(const int64_t *words,
                                    struct nf_montecarlo_params *params_p);

/** The samples of @p unit, normalized.  O(chunk dims) */
void nf_montecarlo_unit(const struct nf_montecarlo_params *params,
                        uint64_t unit, struct nf_moments *moments_p);

struct nf_montecarlo_estimate {
    uint64_t samples;
    double value;          /**< mean of the samples */
    double standard_error; /**< sqrt(variance / samples) */
    double low, high;      /**< of the 95 % confidence interval */
};
/** @p moments must be normalized, of at least 2 samples. */
void nf_montecarlo_estimate(const struct nf_moments *moments,
                            struct nf_montecarlo_estimate *estimate_p);

/** Combine two results of units, each NF_MOMENTS_WORDS int64 words: inout :=
 *  in (+) inout.  Exact and canonical, so associative and commutative bit for
 *  bit.
 *  @retval NF_ERR_PROTOCOL  not results of units; @p inout is unchanged */
enum nf_status nf_montecarlo_combine(const int64_t *in, int64_t *inout);
#endif
