#ifndef NF_EXACT_NATURAL_H
#define NF_EXACT_NATURAL_H
/** @file natural.h  Large numbers >= 0 with a binary exponent: as much
 *  arithmetic as exact means and variances take.  Schoolbook methods: they have
 *  a few dozen limbs at most, mostly two to six.  Pure. */
#include "apps/exact/exact.h"

/** n times the sum of squares, and the square of a sum, have at most 4352 + 64
 *  bits: 70 limbs; a division appends three. */
#define NF_NATURAL_LIMBS 80

/** value = sum of limb[i] 2^(64 i + exponent), exponent a multiple of 64;
 *  the highest of the @p count limbs is not 0. */
struct nf_natural {
    uint32_t count;
    int32_t exponent;
    uint64_t limb[NF_NATURAL_LIMBS];
};

/** The magnitude of @p sum, which must be normalized. */
void nf_natural_of_exact(struct nf_natural *n, const struct nf_exact *sum);
/** n := n * word */
void nf_natural_scale(struct nf_natural *n, uint64_t word);
/** square := n * n */
void nf_natural_square(const struct nf_natural *n, struct nf_natural *square);
/** n := n - less, which must not be negative.  The exponent of @p less must
 *  not be below that of @p n by more limbs than there is room for. */
void nf_natural_subtract(struct nf_natural *n, const struct nf_natural *less);
/** n := floor(n / word) in units of the last limb, word > 0.
 *  @return true if there was a remainder */
bool nf_natural_divide(struct nf_natural *n, uint64_t word);
/** Append @p limbs zero limbs below: room for the digits of a quotient. */
void nf_natural_extend(struct nf_natural *n, uint32_t limbs);
/** @return n as the nearest double, ties to even; infinite if it is too big
 *  @param more  n is in truth a little bigger, by less than its last unit */
double nf_natural_round(const struct nf_natural *n, bool more);
#endif
