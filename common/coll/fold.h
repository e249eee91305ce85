#ifndef NF_COLL_FOLD_H
#define NF_COLL_FOLD_H
/** @file fold.h  Algorithms on cubes for any P: of each of the first P - H
 *  pairs (2i, 2i+1) one rank hands its operand to the other and steps aside.
 *  The H survivors are numbered 0..H-1 in the order of their ranks, so the
 *  order of operands is kept. */
#include "common/coll/coll.h"

struct nf_fold {
    uint32_t dims;      /**< n = floor(log2 P) */
    uint32_t survivors; /**< H = 2^n */
    uint32_t pairs;     /**< P - H */
    uint32_t keep;      /**< this rank survives */
};

/** @param keep  the rank that has to survive: the root; 0 if there is none
 *  (even ranks survive) */
struct nf_fold nf_fold_plan(uint32_t ranks, uint32_t keep);
/** @return the true rank of survivor @p x, 0..H-1 */
uint32_t nf_fold_rank(const struct nf_fold *fold, uint32_t x);
/** @return the number of the survivor that @p rank is, or that it hands its
 *  operand to */
uint32_t nf_fold_number(const struct nf_fold *fold, uint32_t rank);
/** Round 0: operands of all @p items go to the survivors.
 *  @return the next round: 0 if P = 2^n, else 1 */
uint32_t nf_fold_in(const struct nf_fold *fold, uint32_t items,
                    struct nf_schedule *schedule);
/** The result of all @p items goes from the survivors to the others.
 *  @return the next round */
uint32_t nf_fold_out(const struct nf_fold *fold, uint32_t round, uint32_t items,
                     struct nf_schedule *schedule);
#endif
