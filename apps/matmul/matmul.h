#ifndef NF_MATMUL_MATMUL_H
#define NF_MATMUL_MATMUL_H
/** @file matmul.h  C = A B on a farm: a unit is one column of B, the data that
 *  every slave gets once is A, a result is one column of C. */
#include "apps/matmul/matrix.h"

/** A product: c->rows is a->rows, c->cols is b->cols, a->cols is b->rows. */
struct nf_product {
    struct nf_matrix a, b, c;
};

/** The kernel, as nf_app.compute: shared is A (m x k), input is k x count,
 *  result m x count, all float64 and column-major; k is told by input_bytes.
 *  One BLAS call, in one thread, since slots are threads.
 *  @return 0, or 1 for sizes that fit no product, 2 for no memory; with a line
 *          in work->error */
int nf_matmul_compute(const struct nf_work *work);

/** Compare C with the product of one direct BLAS call on all processors.
 *
 *  For any order of summation, with or without fused operations, a computed
 *  product obeys |fl(AB) - AB| <= gamma_k |A||B| by element, where gamma_k =
 *  k u / (1 - k u), u = 2^-53 (Higham, Accuracy and Stability of Numerical
 *  Algorithms, 2nd ed., eq. 3.13).  Two computed products hence differ by at
 *  most
 *
 *      2 gamma_(k+2) (1 + 2 (k+2) u)
 *          min(max_l |a_il| sum_l |b_lj|, sum_l |a_il| max_l |b_lj|)
 *
 *  as either term of the minimum is >= (|A||B|)_ij (Hoelder); the 2 in k + 2
 *  and the factor behind gamma cover the rounding of the bound itself, and
 *  (k + 2) 2^-1073 is added for underflow.
 *  Cost: one product and O(mk + kn + mn); memory: at most 64 MiB or one column.
 *
 *  @param note_p  one line: what was compared, the largest deviation and its
 *                 tolerance
 *  @retval NF_ERR_VERIFY  a deviation beyond the tolerance, or an entry that is
 *                         not finite; err names the worst entry (from 1)
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_product_verify(const struct nf_product *product, char *note_p,
                                 size_t note_bytes, struct nf_error *err);
#endif
