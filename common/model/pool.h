#ifndef NF_MODEL_POOL_H
#define NF_MODEL_POOL_H
/** @file pool.h  What measuring cannot tell apart counts as the same.
 *
 *  Whoever takes the cheapest of many that were measured takes the errors that
 * came out lowest: of 56 wires that are all alike a planner finds those whose
 * times are too short, and what it predicts of them is too little.  Pure. */
#include <stddef.h>

/** The standard deviation of what is measured, by measuring the same twice.
 *  Robust: by the median of the differences, fewer than half of which may be
 * anything.
 *  @param differences  [count] of two times of the same each; come back as
 * absolute values, in another order
 *  @return 0 of none that is finite */
double nf_pool_noise(double *differences, size_t count);

/** What is finite of the values. */
struct nf_pool {
    const double *sorted; /**< [count] borrowed */
    size_t count;
    double reach; /**< as far off chance takes the furthest of them */
};

/** How far that is: noise sqrt(2 ln count).  O(count log count)
 *  @param values  [count] come back in another order, to be kept as they are
 * for as long as the pool is used
 *  @param noise   the standard deviation of each; 0: they are what they are
 *  Source: Donoho & Johnstone, "Ideal spatial adaptation by wavelet shrinkage",
 *  Biometrika 81 (1994): the universal threshold. */
struct nf_pool nf_pool_of(double *values, size_t count, double noise);

/** The middle of those that a value is one of, as there may be several kinds of
 * wires: the median of all within reach of it, of all within reach of that, and
 * so on until it stays.  A value that is alone is what it is. Source: Fukunaga
 * & Hostetler, "The estimation of the gradient of a density function", IEEE
 * Trans. Inf. Theory 21 (1975), with medians in place of means. */
double nf_pool_value(const struct nf_pool *pool, double value);
#endif
