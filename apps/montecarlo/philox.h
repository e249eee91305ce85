#ifndef NF_MONTECARLO_PHILOX_H
#define NF_MONTECARLO_PHILOX_H
/** @file philox.h  Philox4x32-10, a random generator without state: the n-th
 *  number is a function of n and of a key, so any slave can begin anywhere, and
 *  no two can meet.  It passes TestU01's BigCrush; 2^64 keys, 2^128 blocks
 * each. Pure.
 *
 *  Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random
 *  numbers: as easy as 1, 2, 3, SC11 (2011), section 3.3. */
#include <stdint.h>

/** block_p[4] := four random 32-bit numbers of @p counter and @p key. */
void nf_philox(const uint32_t counter[4], const uint32_t key[2],
               uint32_t block_p[4]);

/** Coordinates of a random point: point_p[dims], each uniform in the open
 *  interval (0, 1), a multiple of 2^-53 of 52 random bits.  They depend on
 *  @p seed and @p index only; those of one index begin alike for all dims. */
void nf_philox_point(uint64_t seed, uint64_t index, uint32_t dims,
                     double *point_p);
#endif
