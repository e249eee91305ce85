#ifndef NF_MODEL_POOL_H
#define NF_MODEL_POOL_H
/** @file pool.h  What measuring cannot tell apart counts as the same.
 *
 *  Whoever takes the cheapest of many that were measured takes the errors that
 * came out lowest: of 56 wires that are all alike a planner finds those whose
 * times are too short, and what it predicts of them is too little.  Pure. */
#include <math.h>
#include <stddef.h>

/** The standard deviation of what is measured, by measuring the same twice.
 *  Robust: by the median of the differences, half of which may be anything.
 *  @param differences  [count] of two times of the same each; come back as
 * absolute values, sorted
 *  @return 0 of none */
double nf_pool_noise(double *differences, size_t count);

struct nf_pool {
    double middle; /**< the median of all values */
    double reach;  /**< as far from it chance takes the furthest of them */
};

/** How far that is: noise sqrt(2 ln count).  O(count log count)
 *  @param values  [count] come back sorted
 *  @param noise   the standard deviation of each; 0: they are what they are
 *  Source: Donoho & Johnstone, "Ideal spatial adaptation by wavelet shrinkage",
 *  Biometrika 81 (1994): the universal threshold. */
struct nf_pool nf_pool_of(double *values, size_t count, double noise);

/** A value within reach is the median, any other what it is. */
static inline double nf_pool_value(const struct nf_pool *pool, double value)
{
    return fabs(value - pool->middle) <= pool->reach ? pool->middle : value;
}
#endif
