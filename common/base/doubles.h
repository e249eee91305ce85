#ifndef NF_BASE_DOUBLES_H
#define NF_BASE_DOUBLES_H
/** @file doubles.h  Does this program compute with doubles as every other one
 *  does?  Pure. */
#include <stdbool.h>

/* No a * b + c in one go, in whatever includes this: gcc keeps them apart by
 * -std=c11, clang has to be told. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/** IEEE 754 binary64, of which every single result is rounded, to the nearest,
 *  and small ones are kept.  Then sums, differences, products, quotients and
 *  square roots are the same bits in all such programs.  Not so: x87, whose
 *  results have more bits while they are in registers; other formats. */
bool nf_doubles_are_plain(void);
#endif
