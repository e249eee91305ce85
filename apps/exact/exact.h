#ifndef NF_EXACT_EXACT_H
#define NF_EXACT_EXACT_H
/** @file exact.h  Sums of doubles, of 64-bit integers and of their squares
 *  without any rounding: the same bits in whatever order, and in whatever
 *  parts, the terms are added.  Only what is read off at the end is rounded,
 *  once.  Pure: no I/O, no clock.
 *
 *  A sum is a fixed-point number in chunks of 32 bits that are kept in 64, so
 *  that carries can wait: value = sum of chunk[i] 2^(32 i - 2176).
 *
 *  Range: the smallest square of a double is 2^-2148 >= 2^-2176, all are below
 *  2^2048, so fewer than 2^64 terms stay below 2^2112: bit 4288 of the 4352
 *  that there are.  Chunks: one term adds less than 2^32 to a chunk, so after
 *  `load` terms since the last normalize each is below (load + 1) 2^32 in
 *  magnitude; normalize comes before load is 2^29.
 *
 *  Source: R. M. Neal, Fast exact summation using small and large
 *  superaccumulators, arXiv:1505.05571 (2015), section 2 (the small one). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 nf_exact_uint128;

#define NF_EXACT_CHUNKS 136
/** Weight of chunk[0] is 2^-NF_EXACT_POINT. */
#define NF_EXACT_POINT 2176
/** Chunks that a sum of fewer than 2^64 terms leaves zero at the top. */
#define NF_EXACT_SPARE 2

/** Plain data; all zero is 0.  Chunks outside [low, high) are zero. */
struct nf_exact {
    uint32_t low, high;
    uint32_t load;
    int64_t chunk[NF_EXACT_CHUNKS];
};

/** Add @p value, which must be finite.  A few nanoseconds. */
void nf_exact_add(struct nf_exact *sum, double value);
/** Add the square of @p value, which must be finite. */
void nf_exact_add_square(struct nf_exact *sum, double value);
/** The same for integers. */
void nf_exact_add_int(struct nf_exact *sum, int64_t value);
void nf_exact_add_int_square(struct nf_exact *sum, int64_t value);
/** sum := sum + other */
void nf_exact_merge(struct nf_exact *sum, const struct nf_exact *other);

/** Make it canonical: every chunk below 2^32 in magnitude, all of one sign,
 *  [low, high) as small as it can be ([0, 0) for 0).  Equal values then have
 *  equal bytes. */
void nf_exact_normalize(struct nf_exact *sum);
/** @return -1, 0 or 1; @p sum must be normalized */
int nf_exact_sign(const struct nf_exact *sum);
/** The value of @p sum (normalized) rounded to the nearest double, ties to
 *  even; infinite if it is beyond them. */
double nf_exact_round(const struct nf_exact *sum);

/** Bytes of the longest text that nf_exact_print_int() makes, NUL included. */
#define NF_EXACT_INT_BYTES 48
/** Print a sum of integers, all its digits, into text[NF_EXACT_INT_BYTES].
 *  @param sum  normalized, a whole number below 2^128 in magnitude
 *  @return the length; 0 if it is no such number */
size_t nf_exact_print_int(const struct nf_exact *sum, char *text);
#endif
