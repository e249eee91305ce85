#ifndef NF_SIM_DISTRIBUTION_H
#define NF_SIM_DISTRIBUTION_H
/** @file distribution.h  Costs of units that are drawn, not listed. */
#include "common/base/rng.h"

enum nf_distribution_kind {
    NF_DIST_CONSTANT,    /**< a = the cost */
    NF_DIST_UNIFORM,     /**< of [a, b] */
    NF_DIST_NORMAL,      /**< mean a, deviation b, within [low, high] */
    NF_DIST_EXPONENTIAL, /**< mean a */
    NF_DIST_GAMMA,       /**< mean a, shape b */
    NF_DIST_BIMODAL,     /**< b with probability share, else a */
    NF_DIST_RAMP,        /**< from a for the first unit to b for the last */
};

/** Times in us, as real numbers >= 0. */
struct nf_distribution {
    enum nf_distribution_kind kind;
    double a, b;
    double low, high; /**< NORMAL */
    double share;     /**< BIMODAL */
};

/** The cost of unit @p unit of @p units, in us, not rounded.  Draws as many
 *  numbers of @p rng as it needs, so draw unit after unit.
 *  Source: gamma by Marsaglia and Tsang, ACM TOMS 26(3) 2000; normal by
 *  Marsaglia's polar method. */
double nf_distribution_draw(const struct nf_distribution *distribution,
                            uint64_t unit, uint64_t units, struct nf_rng *rng);
#endif
