#ifndef NF_BASE_RNG_H
#define NF_BASE_RNG_H
/** @file rng.h  A small random generator for policies, models and tests: the
 *  same seed gives the same numbers everywhere.  Not for secrets.
 *  Source: splitmix64; Steele, Lea, Flood, OOPSLA 2014. */
#include <stdint.h>

/** Plain data, may be copied.  Set state to the seed to start. */
struct nf_rng {
    uint64_t state;
};

/** @return 64 uniformly distributed bits. */
uint64_t nf_rng_next(struct nf_rng *rng);
/** @return a number of [0, bound), as next % bound; @p bound >= 1. */
uint64_t nf_rng_below(struct nf_rng *rng, uint64_t bound);
/** Put @p items in any order, all equally likely.  Source: Fisher and Yates, in the form
 *  of Durstenfeld (CACM 7, 1964, p. 420). */
void nf_rng_shuffle(struct nf_rng *rng, uint32_t *items, uint32_t count);
#endif
