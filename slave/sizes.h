#ifndef NF_SLAVE_SIZES_H
#define NF_SLAVE_SIZES_H
/** @file sizes.h  The sizes of many pieces, in few bytes: runs of equal ones,
 * each as its size and its length, seven bits a byte, lowest first (LEB128).
 * What follows the last run has size 0.  A unit has pieces for thousands of
 * others, and in most jobs they are of one size, or nearly all empty: that
 * takes some bytes; if no two neighbours are equal, four bytes a piece of some
 * KiB.  Pure. */
#include "common/base/blob.h"

/** A writer; zero-initialise it. */
struct nf_sizes {
    struct nf_buf out;   /**< after nf_sizes_end(): all of it */
    uint64_t upto;       /**< pieces there are so far */
    uint64_t bytes, run; /**< the last run, which is not in out yet */
    bool nomem;
};

/** Piece number @p at, which is behind all that there are, has @p bytes; those
 *  between have none.  sizes->nomem tells if memory was short. */
void nf_sizes_put(struct nf_sizes *sizes, uint64_t at, uint64_t bytes);
/** @retval NF_ERR_NOMEM  now, or before */
enum nf_status nf_sizes_end(struct nf_sizes *sizes);
void nf_sizes_fini(struct nf_sizes *sizes);
/** The sizes bytes[count] as a blob.  NULL: out of memory */
struct nf_blob *nf_sizes_of(const uint64_t *bytes, uint64_t count);
/** ... of a writer, whose memory can be used again then. */
struct nf_blob *nf_sizes_take(struct nf_sizes *sizes);

/** A reader. */
struct nf_sizes_reader {
    const uint8_t *at, *end;
    uint64_t bytes, left; /**< of the run that is being read */
};

static inline struct nf_sizes_reader nf_sizes_read(const void *data,
                                                   size_t bytes)
{
    const uint8_t *at = data;

    return (struct nf_sizes_reader){ at, at + bytes, 0, 0 };
}

/** The next pieces of one size, @p most at the most.
 *  @param bytes_p  of each
 *  @return how many; 0 if they make no sense, or @p most is 0 */
uint64_t nf_sizes_next(struct nf_sizes_reader *reader, uint64_t most,
                       uint64_t *bytes_p);
/** Was that all? */
bool nf_sizes_at_end(const struct nf_sizes_reader *reader);
/** Where pieces of such sizes begin: at_p[count + 1].
 *  @return false: they make no sense */
bool nf_sizes_begins(const struct nf_blob *sizes, uint64_t count,
                     uint64_t *at_p);
#endif
