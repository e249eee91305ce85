#ifndef NF_COLL_RADIX_H
#define NF_COLL_RADIX_H
/** @file radix.h  Which radices are best for a mixed-radix exchange of P ranks.
 *
 *  Radices r_1 .. r_k, lowest digit first, with a product of P or more (P need
 *  not be one); weights w_1 = 1, w_{i+1} = w_i r_i:
 *
 *      S = sum of min(r_i, ceil(P/w_i)) - 1                      rounds
 *      V = sum of P - Z_i,                    blocks that a rank sends
 *      Z_i = floor(P/(w_i r_i)) w_i + min(P mod (w_i r_i), w_i)
 *
 *  and the exchange takes S a + V b m.  {P} is the pairwise exchange, {2, 2,
 * ..} Bruck's.  All numbers are integers: every host finds the same. */
#include "common/coll/coll.h"

struct nf_radix_cost {
    uint32_t rounds;
    uint64_t blocks;
};

/** Are these radices for P >= 2 ranks: each 2 or more, their product P or more?
 *  Digits from a weight of P on are 0 of all distances, and cost nothing. */
bool nf_radix_fits(uint32_t ranks, const struct nf_coll_sides *radices);
/** S and V. */
struct nf_radix_cost nf_radix_cost(uint32_t ranks,
                                   const struct nf_coll_sides *radices);
/** The radices with the least start S + block V, by dynamic programming over
 *  the weight, O(P log P); the same at all ranks.  Of equals those of the fewest
 *  rounds, then of the fewest digits, then the lexicographically least.  P >= 2;
 *  start and block below 2^32.  Of more than NF_COLL_RANKS_MAX ranks, of which
 *  there are no schedules: {P}. */
void nf_radix_best(uint32_t ranks, uint64_t start, uint64_t block,
                   struct nf_coll_sides *radices_p);
/** The fewest rounds, of these the fewest blocks, and of equals as above. */
void nf_radix_fewest_rounds(uint32_t ranks, struct nf_coll_sides *radices_p);

/** Radices that are best for some m, and up to which one. */
struct nf_radix_choice {
    struct nf_coll_sides radices;
    struct nf_radix_cost cost;
    uint32_t below_num; /**< best while m / (t_s B) < below_num / below_den, */
    uint32_t below_den; /**< in lowest terms; of the last one 1/0 */
};
enum { NF_RADIX_CHOICES_MAX = 64 };
/** The lower convex hull of all (S, V): fewest rounds first, pairwise last.
 *  @param choices  [NF_RADIX_CHOICES_MAX]
 *  @return how many */
uint32_t nf_radix_hull(uint32_t ranks, struct nf_radix_choice *choices);
#endif
