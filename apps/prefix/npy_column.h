#ifndef NF_PREFIX_NPY_COLUMN_H
#define NF_PREFIX_NPY_COLUMN_H
/** @file npy_column.h  Headers of NumPy files of one column.  Pure.
 *  Source: NEP 1, a simple file format for NumPy arrays; versions 1.0 to 3.0.
 */
#include "apps/prefix/input.h"

/** Read the header at the begin of head[0..bytes), the first bytes of the file.
 *  @param file  its type, swap, data_offset and data_bytes are set; the latter
 *               is the header's claim
 *  @retval NF_ERR_INVAL  err says why */
enum nf_status nf_npy_column_parse(const char *head, size_t bytes,
                                   struct nf_prefix_file *file,
                                   struct nf_error *err);

/** Bytes of the header that nf_npy_rows_print() makes. */
#define NF_NPY_ROWS_BYTES 128
/** The header of a float64 array of @p rows x @p cols in C order. */
void nf_npy_rows_print(uint64_t rows, uint32_t cols,
                       char head[NF_NPY_ROWS_BYTES]);
#endif
