#ifndef NF_MATMUL_MATRIX_H
#define NF_MATMUL_MATRIX_H
/** @file matrix.h  Dense float64 matrices and their files.
 *
 *  Reading takes two steps, so that a job can check all shapes and its memory
 *  before it reads gigabytes: nf_matrix_file_open() reads and checks the
 * header, nf_matrix_file_read() the entries.  Files are told by suffix:
 *
 *    .mtx  Matrix Market: array or coordinate; real, integer or pattern;
 *          general, symmetric or skew-symmetric.  Coordinate files become
 *          dense; an entry given twice is an error.
 *    .npy  NumPy format 1.0, 2.0, 3.0: float32 or float64 of either byte order,
 *          C or Fortran order; a 1-d array is one column.
 *
 *  Every entry must be finite.  All errors in a file are NF_ERR_INVAL (or
 *  NF_ERR_RANGE: too big for this machine) with one line that names the file
 *  and the line, byte or element. */
#include <stdbool.h>
#include <stdint.h>
#include "nowfarm.h"

/** The most rows or columns: what CBLAS can count. */
#define NF_MATRIX_MAX_SIDE 2147483647

/** Column-major without gaps: entry (i, j) is data[j * rows + i], from 0.
 *  All zero is the state without memory. */
struct nf_matrix {
    uint64_t rows, cols;
    double *data; /**< owned */
};

/** @return bytes of physical memory of this machine. */
uint64_t nf_memory_bytes(void);

/** Is a @p rows x @p cols matrix legal and smaller than @p memory_bytes?
 *  @param name  who wants it, for the error text
 *  @retval NF_ERR_INVAL  a side is 0
 *  @retval NF_ERR_RANGE  too big; err: "A.npy: 1152921504606846976 x 8 matrix
 *                        needs 64.0 EiB, this machine has 23.4 GiB" */
enum nf_status nf_matrix_check_size(const char *name, uint64_t rows,
                                    uint64_t cols, uint64_t memory_bytes,
                                    struct nf_error *err);

/** Make *matrix_p a zero matrix of a size that nf_matrix_check_size() passed.
 *  Its pages are not touched yet.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_matrix_create(uint64_t rows, uint64_t cols,
                                struct nf_matrix *matrix_p,
                                struct nf_error *err);
/** Free the memory; the matrix is all zero then and may be freed again. */
void nf_matrix_fini(struct nf_matrix *matrix);

/** Print a number of bytes that may exceed 2^64: "64.0 EiB".  @return text */
const char *nf_format_size(double size_bytes, char *text, size_t bytes);

struct nf_matrix_file;

/** Open @p path and check its header and the size of the file against it.
 *  @param memory_bytes  nf_memory_bytes(), or less: bigger matrices are refused
 *  @param file_p        set on NF_OK; end it with nf_matrix_file_close() */
enum nf_status nf_matrix_file_open(const char *path, uint64_t memory_bytes,
                                   struct nf_matrix_file **file_p,
                                   struct nf_error *err);
/** The same for a file that is open for reading at its begin.  Takes @p fd,
 *  also on failure.  @param name  for messages; its suffix tells the format */
enum nf_status nf_matrix_file_attach(int fd, const char *name,
                                     uint64_t memory_bytes,
                                     struct nf_matrix_file **file_p,
                                     struct nf_error *err);
/** The same for complex numbers: of .npy also complex64 or complex128 in one
 *  dimension, which becomes a matrix of two rows, a column a number. */
enum nf_status nf_matrix_file_open_complex(const char *path,
                                           uint64_t memory_bytes,
                                           struct nf_matrix_file **file_p,
                                           struct nf_error *err);
/** Has it complex numbers?  Never, unless it was opened for them. */
bool nf_matrix_file_is_complex(const struct nf_matrix_file *file);
uint64_t nf_matrix_file_rows(const struct nf_matrix_file *file);
uint64_t nf_matrix_file_cols(const struct nf_matrix_file *file);
/** Read all entries; once per file.
 *  @param matrix_p  set on NF_OK; end it with nf_matrix_fini() */
enum nf_status nf_matrix_file_read(struct nf_matrix_file *file,
                                   struct nf_matrix *matrix_p,
                                   struct nf_error *err);
/** NULL is fine. */
void nf_matrix_file_close(struct nf_matrix_file *file);

/** Has @p path a suffix of a format that can be written?
 *  @retval NF_ERR_INVAL  err names the formats */
enum nf_status nf_matrix_check_suffix(const char *path, struct nf_error *err);

/** Write @p path completely or not at all, in the format of its suffix: .mtx is
 *  "array real general" with 17 digits, which reads back exactly; .npy is
 *  float64 in Fortran order (no transposition).
 *  @retval NF_ERR_INVAL  as nf_matrix_check_suffix() and nf_output_check()
 *  @retval NF_ERR_IO, NF_ERR_NOMEM */
enum nf_status nf_matrix_write(const struct nf_matrix *matrix, const char *path,
                               struct nf_error *err);
/** The same as .npy in C order, whatever the suffix. */
enum nf_status nf_matrix_write_npy_c(const struct nf_matrix *matrix,
                                     const char *path, struct nf_error *err);

/** The columns of a matrix of two rows as complex128 in one dimension, .npy
 *  whatever the suffix. */
enum nf_status nf_matrix_write_npy_complex(const struct nf_matrix *matrix,
                                           const char *path,
                                           struct nf_error *err);

/** Is the suffix of @p path, which nf_matrix_check_suffix() passed, .npy? */
bool nf_matrix_is_npy(const char *path);

/** Fill with uniform numbers in [-1, 1), multiples of 2^-52.  Entry (i, j)
 *  depends on (seed, stream, i, j) only, not on the size: it is number
 *  j 2^32 + i of the SplitMix64 sequence that starts at a hash of seed and
 *  stream.  Source: Steele, Lea and Flood, Fast splittable pseudorandom number
 *  generators, OOPSLA 2014, figure 16. */
void nf_matrix_fill_random(struct nf_matrix *matrix, uint64_t seed,
                           uint32_t stream);
#endif
