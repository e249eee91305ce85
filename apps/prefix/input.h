#ifndef NF_PREFIX_INPUT_H
#define NF_PREFIX_INPUT_H
/** @file input.h  A column of numbers in a file of any size, read in parts:
 * each rank reads a segment of its own, in pieces that fit into a small buffer.
 *
 *      .npy     NumPy 1.0 to 3.0, one column of float64 or int64, either byte
 *               order
 *      raw      little-endian float64 or int64, nothing else
 *      text     a number a line; lines end with LF or CR LF, the last one may
 *               end with the file.  Blanks around a number are fine
 *
 *  Numbers must be finite. */
#include "apps/prefix/totals.h"

struct nf_prefix_input;

enum nf_prefix_format { NF_PREFIX_TEXT, NF_PREFIX_RAW, NF_PREFIX_NPY };

/** What all ranks must agree on. */
struct nf_prefix_file {
    enum nf_prefix_format format;
    enum nf_prefix_type type;
    bool swap; /**< binary: numbers are big-endian */
    uint64_t file_bytes;
    uint64_t data_offset; /**< where numbers begin */
    uint64_t data_bytes;
    uint32_t print; /**< of the begin and the end of the file: two
                         files of one size are told apart */
};

/** Open @p path and read its header.
 *  @param want  format NF_PREFIX_TEXT or RAW, and type; a name that ends with
 *               ".npy" overrides both
 *  @retval NF_ERR_INVAL  err: "x.npy: ...", what is wrong and what is right */
enum nf_status nf_prefix_input_open(const char *path,
                                    enum nf_prefix_format format,
                                    enum nf_prefix_type type,
                                    struct nf_prefix_input **input_p,
                                    struct nf_error *err);
/** NULL is fine. */
void nf_prefix_input_close(struct nf_prefix_input *input);
/** @return owned by @p input */
const struct nf_prefix_file *
nf_prefix_input_file(const struct nf_prefix_input *input);

/** Begin (again) with the first number of segment @p rank of @p ranks. Segments
 *  are cut at bytes; a line belongs to the one in which it begins. */
void nf_prefix_input_seek(struct nf_prefix_input *input, uint32_t rank,
                          uint32_t ranks);
/** The next number of the segment.
 *  @retval NF_WAIT  that was the last
 *  @retval NF_ERR_INVAL  garbage: err has the reason, without file and place;
 *                        the place is the number of those read before it, + 1
 *  @retval NF_ERR_IO  the file can't be read, or is not as it was */
enum nf_status nf_prefix_input_next(struct nf_prefix_input *input,
                                    union nf_prefix_number *number_p,
                                    struct nf_error *err);
/** Bytes read since seek, so that work can be cut into rounds. */
uint64_t nf_prefix_input_position(const struct nf_prefix_input *input);
/** Is the file still as it was when it was opened? */
bool nf_prefix_input_is_unchanged(const struct nf_prefix_input *input);
#endif
