#ifndef NF_BASE_BLOB_H
#define NF_BASE_BLOB_H
/** @file blob.h  Typed, reference-counted bytes: the payload of messages.
 *  A blob is written before it is shared and constant afterwards, so threads
 *  may read it together; its count is atomic. */
#include <stdatomic.h>
#include <stdbool.h>
#include "nowfarm.h"

struct nf_blob {
    atomic_uint refs;
    enum nf_type type;
    size_t bytes;
    void *data;              /**< owned by the blob unless borrowed */
    void (*release)(void *data); /**< NULL: data lies in the same block, or is
                                  borrowed */
};

/** A blob of @p bytes uninitialised bytes, count 1; NULL if out of memory. */
struct nf_blob *nf_blob_create(size_t bytes, enum nf_type type);
/** A blob over @p data, count 1.  @p release (may be NULL: borrowed) is called
 *  with @p data when the last reference goes.  NULL if out of memory (then
 *  @p data stays the caller's). */
struct nf_blob *nf_blob_wrap(void *data, size_t bytes, enum nf_type type,
                             void (*release)(void *data));
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
