#ifndef NF_MATMUL_MATRIX_INTERNAL_H
#define NF_MATMUL_MATRIX_INTERNAL_H
/** @file matrix-internal.h  Between matrix.c and the file formats.  A format is
 *  one file and one line in NF_MATRIX_FORMAT_LIST. */
#include <stdbool.h>
#include "apps/matmul/matrix.h"

struct nf_output;

struct nf_matrix_file {
    const struct nf_matrix_format *format;
    int fd;
    char *name;            /**< for messages */
    uint64_t file_bytes;   /**< when it was opened */
    uint64_t memory_bytes; /**< bigger matrices are refused */
    bool takes_complex;    /**< see nf_matrix_file_open_complex() */
    bool complex;          /**< two rows, of real and imaginary parts */
    uint64_t rows, cols;   /**< set by format->open */
    void *state;           /**< of the format; freed with nf_free() */
};

struct nf_matrix_format {
    const char *suffix; /**< ".npy" */
    /** Read the header at the begin of the file: set rows, cols and state.
     *  Checks nf_matrix_check_size() and that the file is long enough for its
     *  claim. */
    enum nf_status (*open)(struct nf_matrix_file *file, struct nf_error *err);
    /** Read the entries into @p matrix, which is zero and of the right size. */
    enum nf_status (*read)(struct nf_matrix_file *file,
                           struct nf_matrix *matrix, struct nf_error *err);
    enum nf_status (*write)(const struct nf_matrix *matrix,
                            struct nf_output *output, struct nf_error *err);
};

/* clang-format off */
#define NF_MATRIX_FORMAT_LIST(X) \
    X(mtx) \
    X(npy)
/* clang-format on */

#define NF_MATRIX_FORMAT_DECLARE(n)                                            \
    extern const struct nf_matrix_format nf_matrix_format_##n;
NF_MATRIX_FORMAT_LIST(NF_MATRIX_FORMAT_DECLARE)

#define NF_QUOTE_BYTES 48
/** Put the begin of @p text into quoted[NF_QUOTE_BYTES], for messages:
 * printable ASCII, '?' for the rest, "..." if it is long.  @return quoted */
const char *nf_matrix_quote(const char *text, char *quoted);

/** As nf_matrix_format_npy.write, in C order. */
enum nf_status nf_npy_write_c(const struct nf_matrix *matrix,
                              struct nf_output *output, struct nf_error *err);

/** The columns of a matrix of two rows as complex numbers, in one dimension. */
enum nf_status nf_npy_write_complex(const struct nf_matrix *matrix,
                                    struct nf_output *output,
                                    struct nf_error *err);

/** Read up to @p bytes; fewer only at the end of the file.
 *  @param got_p  bytes read
 *  @retval NF_ERR_INVAL  the system could not read it */
enum nf_status nf_matrix_file_get(struct nf_matrix_file *file, void *data,
                                  size_t bytes, size_t *got_p,
                                  struct nf_error *err);
#endif
