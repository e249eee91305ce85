#ifndef NF_BASE_BLOB_H
#define NF_BASE_BLOB_H
/** @file blob.h  Typed, reference-counted bytes: the payload of messages.
 *  A blob is written before it is shared and constant afterwards, so threads
 *  may read it together; its count is atomic.
 *
 *  A chain is a blob whose bytes lie in parts of other blobs, one behind the
 *  other: what they are in need not be copied to be together. */
#include <stdatomic.h>
#include <stdbool.h>
#include "nowfarm.h"

struct nf_blob {
    atomic_uint refs;
    enum nf_type type;
    size_t bytes;
    void *data;              /**< owned by the blob unless borrowed; NULL: it is
                                  a chain, or empty */
    void (*release)(void *data); /**< NULL: data lies in the same block, or is
                                  borrowed */
    struct nf_blob_part *parts;  /**< [nparts] of a chain, else NULL */
    uint32_t nparts, most_parts; /* data behind it is as aligned as it is */
};

/** Some bytes of a blob. */
struct nf_blob_part {
    const uint8_t *data;
    size_t bytes;
    struct nf_blob *owner; /**< whose bytes they are: no chain, and nothing that
                                is only lent */
};

/** Memory for many bytes, uninitialised: a spare block (spare.h), or large pages for large
 *  ones.  To be nf_free()d, or given to nf_spare_give(), as blobs and taken buffers do;
 *  NULL if out of memory. */
void *nf_blob_alloc(size_t bytes);
/** A blob of @p bytes uninitialised bytes, count 1; NULL if out of memory. */
struct nf_blob *nf_blob_create(size_t bytes, enum nf_type type);
/** A blob over @p data, count 1.  @p release (may be NULL: borrowed) is called
 *  with @p data when the last reference goes.  NULL if out of memory (then
 *  @p data stays the caller's). */
struct nf_blob *nf_blob_wrap(void *data, size_t bytes, enum nf_type type,
                             void (*release)(void *data));
/** A chain without bytes, count 1; NULL if out of memory.
 *  @param most_parts  that it will have, below 2^32 */
struct nf_blob *nf_blob_chain(size_t most_parts, enum nf_type type);
/** Append bytes to a chain that nobody else has yet, and that has room for them;
 *  what follows what was appended before is no part of its own.
 *  @param part  its owner gets one more reference
 *  @return false: there is no room */
bool nf_blob_add(struct nf_blob *chain, const struct nf_blob_part *part);
/** Copy all bytes, of a chain or not. */
void nf_blob_copy_out(const struct nf_blob *blob, void *to);
static inline bool nf_blob_is_chain(const struct nf_blob *blob)
{
    return blob->parts != NULL;
}

/** Goes through a blob, or some bytes of one, from piece to piece. */
struct nf_blob_reader {
    struct nf_blob *owner;
    const uint8_t *data; /* the next byte */
    size_t part, left;   /* chains: the next part; what is left of this one */
};
/** @param data  where to begin; of a chain, at its first byte, whatever it is */
struct nf_blob_reader nf_blob_read(struct nf_blob *owner, const uint8_t *data);
/** The next @p bytes, more than 0.
 *  @param part_p  borrowed
 *  @return false: in a chain, they are not in one part, or not there */
bool nf_blob_next(struct nf_blob_reader *reader, size_t bytes,
                  struct nf_blob_part *part_p);

/** Are the bytes only lent to it? */
bool nf_blob_is_borrowed(const struct nf_blob *blob);
/** @return @p blob with one more reference; NULL is fine. */
struct nf_blob *nf_blob_ref(struct nf_blob *blob);
/** Drop one reference; NULL is fine. */
void nf_blob_unref(struct nf_blob *blob);

/** The growing buffer of the public API.  Either owned bytes or one borrowed
 *  piece. */
struct nf_buf {
    uint8_t *data;
    size_t bytes, capacity;  /**< capacity 0 while borrowed */
};

void nf_buf_init(struct nf_buf *buf);
/** Free what it holds. */
void nf_buf_fini(struct nf_buf *buf);
/** Forget the contents, keep owned memory for reuse. */
void nf_buf_reset(struct nf_buf *buf);
/** Move the contents into a blob and leave @p buf empty.
 *  @return the blob (also for an empty buffer), or NULL if out of memory: then
 *          @p buf is as before */
struct nf_blob *nf_buf_take(struct nf_buf *buf, enum nf_type type);
#endif
