#ifndef NF_MONTECARLO_INTEGRANDS_H
#define NF_MONTECARLO_INTEGRANDS_H
/** @file integrands.h  Functions over the unit cube [0,1]^d whose integral is
 *  known.  One integrand is one function, one for its value, and one line of
 *  the table.  All values are finite.  Pure.
 *
 *  Those by Genz have parameters a (how hard) and w (where): here every a_i is
 *  h/d, h the difficulty of Genz's paper, and w_i is 1/3 and 2/3 in turn.
 *  Source: A. Genz, A package for testing multiple integration subroutines, in
 *  Keast, Fairweather (eds.), Numerical Integration, Reidel 1987, 337-340. */
#include <stdint.h>

#define NF_INTEGRAND_DIMS 64 /**< the most dimensions of any */

struct nf_integrand {
    const char *name, *formula; /**< formula: one line for people */
    uint32_t dims_low, dims_high, dims_default;
    double (*function)(const double *x, uint32_t dims);
    double (*integral)(uint32_t dims);
    /** The integral of the square, where the samples may not show it: of
     *  functions that are 0 nearly everywhere.  Else NULL. */
    double (*square)(uint32_t dims);
};

/** In the order of the table; ends with name NULL. */
extern const struct nf_integrand nf_integrands[];
/** @return its index, or -1 */
int nf_integrand_find(const char *name);
#endif
