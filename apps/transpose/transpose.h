#ifndef NF_TRANSPOSE_TRANSPOSE_H
#define NF_TRANSPOSE_TRANSPOSE_H
/** @file transpose.h  What the files of this application share.
 *
 *  A is m x n, cut into U bands of columns; unit u has band u.  Its result in the
 *  first phase is that band cut into U bands of rows, each transposed.  After the
 *  exchange unit v has what all bands of columns have of band v of rows: columns
 *  of A's transpose, but for their order, which is the second phase. */
#include "nowfarm.h"

/** Of a job; shared with the slaves as three int64_t. */
struct nf_transpose_shape {
    uint64_t rows, cols, bands; /**< of A: m, n, U */
};

/** The kernel.  @return 0, or 1 for data that do not fit, 2 for no memory; with a
 *  line in work->error */
int nf_transpose_compute(const struct nf_work *work);
#endif
