#ifndef NF_BASE_DOUBLES_H
#define NF_BASE_DOUBLES_H
/** @file doubles.h  Does this program compute with doubles as every other one
 *  does?  Pure. */
#include <stdbool.h>

/** IEEE 754 binary64, of which every single result is rounded, to the nearest,
 *  and small ones are kept.  Then sums, differences, products, quotients and
 *  square roots are the same bits in all such programs.  Not so: x87, whose
 *  results have more bits while they are in registers; other formats; a * b + c
 *  in one go, which `configure` tells compilers not to do (-ffp-contract=off). */
bool nf_doubles_are_plain(void);
#endif
