#ifndef NF_COLL_REDUCE_SCATTER_CUBE_H
#define NF_COLL_REDUCE_SCATTER_CUBE_H
/** @file reduce_scatter_cube.h  Reduce-scatter over the edges of a cube, for
 *  any P: a survivor of the folding stands for its own block and for that of
 *  the rank that stepped aside. */
#include "common/coll/halving.h"

/** All rounds; block r ends at rank r.  NF_HALVING_NEAR_FIRST keeps the order
 * of operands: position p of the range belongs to survivor bitreverse(p), so
 * that everybody ends with its own block and not with a permuted one. */
void nf_reduce_scatter_cube(uint32_t ranks, enum nf_halving order,
                            struct nf_schedule *schedule);
/** Its time if ranks march in step: sum of T(c m/P) + C(c m/P), c being the
 *  most blocks in a message of the round; half duplex 2T.  P != 2^n: + T(m) +
 *  C(m) + T(m/P).  Exact for P = 2^n. */
double nf_reduce_scatter_cube_us(const struct nf_coll_price *price,
                                 uint32_t ranks, enum nf_halving order,
                                 double bytes);
extern const struct nf_coll_kept nf_kept_reduce_scatter_cube;
#endif
