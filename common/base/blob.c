/* Reference-counted payloads and the buffer that applications append to. */
#include "config.h"
#include "common/base/blob.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/spare.h"

void *nf_blob_alloc(size_t bytes)
{
    struct nf_spare block =
        nf_spare_take(bytes, bytes < NF_LARGE_BYTES ? 1 : NF_LARGE_BYTES);

    if (block.data == NULL)
        return nf_large_alloc(bytes);
    if (!nf_alloc_fails())
        return block.data;
    nf_spare_give(block.data);
    return NULL;
}

static struct nf_blob *create_apart(size_t bytes, enum nf_type type)
{
    void *data = nf_blob_alloc(bytes);
    struct nf_blob *blob;

    if (data == NULL)
        return NULL;
    blob = nf_blob_wrap(data, bytes, type, nf_spare_give);
    if (blob == NULL)
        nf_spare_give(data);
    return blob;
}

struct nf_blob *nf_blob_create(size_t bytes, enum nf_type type)
{
    struct nf_blob *blob;

    if (bytes > SIZE_MAX - sizeof(*blob))
        return NULL;
    if (bytes >= NF_SPARE_LEAST_BYTES)
        return create_apart(bytes, type);
    blob = nf_malloc(sizeof(*blob) + bytes);
    if (blob == NULL)
        return NULL;
    atomic_init(&blob->refs, 1);
    blob->type = type;
    blob->bytes = bytes;
    blob->data = blob + 1;
    blob->release = NULL;
    blob->parts = NULL;
    return blob;
}

struct nf_blob *nf_blob_wrap(void *data, size_t bytes, enum nf_type type,
                             void (*release)(void *data))
{
    struct nf_blob *blob = nf_malloc(sizeof(*blob));

    if (blob == NULL)
        return NULL;
    atomic_init(&blob->refs, 1);
    blob->type = type;
    blob->bytes = bytes;
    blob->data = data;
    blob->release = release;
    blob->parts = NULL;
    return blob;
}

bool nf_blob_is_borrowed(const struct nf_blob *blob)
{
    return blob->release == NULL && blob->data != (const void *)(blob + 1) &&
           !nf_blob_is_chain(blob);
}

struct nf_blob *nf_blob_ref(struct nf_blob *blob)
{
    if (blob != NULL)
        atomic_fetch_add_explicit(&blob->refs, 1, memory_order_relaxed);
    return blob;
}

void nf_blob_unref(struct nf_blob *blob)
{
    if (blob == NULL ||
        atomic_fetch_sub_explicit(&blob->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (blob->release != NULL)
        blob->release(blob->data);
    for (size_t i = 0; nf_blob_is_chain(blob) && i < blob->nparts; i++)
        nf_blob_unref(blob->parts[i].owner);
    nf_free(blob);
}

_Static_assert(sizeof(void *) != 8 || sizeof(struct nf_blob) % 16 == 0,
               "the data of a blob are not aligned");

/* ------------------------------------------------------------------- chains */

struct nf_blob *nf_blob_chain(size_t most_parts, enum nf_type type)
{
    struct nf_blob *blob;

    if (most_parts > UINT32_MAX ||
        most_parts > (SIZE_MAX - sizeof(*blob)) / sizeof(*blob->parts))
        return NULL;
    blob = nf_malloc(sizeof(*blob) + most_parts * sizeof(*blob->parts));
    if (blob == NULL)
        return NULL;
    atomic_init(&blob->refs, 1);
    blob->type = type;
    blob->bytes = 0;
    blob->data = NULL;
    blob->release = NULL;
    blob->parts = (struct nf_blob_part *)(void *)(blob + 1);
    blob->nparts = 0;
    blob->most_parts = (uint32_t)most_parts;
    return blob;
}

bool nf_blob_add(struct nf_blob *chain, const struct nf_blob_part *part)
{
    struct nf_blob_part *last =
        chain->nparts > 0 ? &chain->parts[chain->nparts - 1] : NULL;

    if (part->bytes == 0)
        return true;
    if (last != NULL && last->owner == part->owner &&
        last->data + last->bytes == part->data) {
        last->bytes += part->bytes;
        chain->bytes += part->bytes;
        return true;
    }
    if (chain->nparts == chain->most_parts)
        return false;
    chain->bytes += part->bytes;
    chain->parts[chain->nparts] = *part;
    nf_blob_ref(chain->parts[chain->nparts++].owner);
    return true;
}

void nf_blob_copy_out(const struct nf_blob *blob, void *to)
{
    uint8_t *at = to;

    if (!nf_blob_is_chain(blob)) {
        if (blob->bytes > 0)
            memcpy(to, blob->data, blob->bytes);
        return;
    }
    for (size_t i = 0; i < blob->nparts; i++) {
        memcpy(at, blob->parts[i].data, blob->parts[i].bytes);
        at += blob->parts[i].bytes;
    }
}

struct nf_blob_reader nf_blob_read(struct nf_blob *owner, const uint8_t *data)
{
    struct nf_blob_reader reader = { .owner = owner };

    if (owner != NULL && !nf_blob_is_chain(owner))
        reader.data = data;
    return reader;
}

bool nf_blob_next(struct nf_blob_reader *reader, size_t bytes,
                  struct nf_blob_part *part_p)
{
    struct nf_blob *owner = reader->owner;

    if (owner == NULL)
        return false;
    if (nf_blob_is_chain(owner)) {
        const struct nf_blob_part *part;

        if (reader->left == 0) {
            if (reader->part == owner->nparts)
                return false;
            part = &owner->parts[reader->part++];
            reader->data = part->data;
            reader->left = part->bytes;
        }
        if (bytes > reader->left)
            return false;
        reader->left -= bytes;
        owner = owner->parts[reader->part - 1].owner;
    }
    *part_p = (struct nf_blob_part){ reader->data, bytes, owner };
    reader->data += bytes;
    return true;
}

void nf_buf_init(struct nf_buf *buf)
{
    memset(buf, 0, sizeof(*buf));
}

void nf_buf_fini(struct nf_buf *buf)
{
    if (buf->capacity > 0)
        nf_free(buf->data);
    nf_buf_init(buf);
}

void nf_buf_reset(struct nf_buf *buf)
{
    if (buf->capacity == 0)
        buf->data = NULL;
    buf->bytes = 0;
}

/* Make room for `more` bytes in owned memory, copying a borrowed piece. */
static enum nf_status grow(struct nf_buf *buf, size_t more)
{
    size_t need, capacity;
    uint8_t *data;

    if (more > SIZE_MAX / 2 - buf->bytes)
        return NF_ERR_NOMEM;
    need = buf->bytes + more;
    if (need <= buf->capacity)
        return NF_OK;
    capacity = buf->capacity < 256 ? 256 : buf->capacity;
    while (capacity < need)
        capacity *= 2;
    if (buf->bytes == 0) {
        capacity = need; /* one reserve is the common case: fit it exactly */
        nf_buf_fini(buf); /* and nothing is in it that is to be moved */
    }
    if (buf->capacity > 0) {
        data = nf_realloc(buf->data, capacity);
    } else {
        data = nf_blob_alloc(capacity);
        if (data != NULL && buf->bytes > 0)
            memcpy(data, buf->data, buf->bytes);
    }
    if (data == NULL)
        return NF_ERR_NOMEM;
    buf->data = data;
    buf->capacity = capacity;
    return NF_OK;
}

void *nf_buf_reserve(struct nf_buf *buf, size_t bytes)
{
    if (grow(buf, bytes == 0 ? 1 : bytes) != NF_OK)
        return NULL;
    buf->bytes += bytes;
    return buf->data + buf->bytes - bytes;
}

enum nf_status nf_buf_append(struct nf_buf *buf, const void *data, size_t bytes)
{
    void *to;

    if (bytes == 0)
        return NF_OK;
    to = nf_buf_reserve(buf, bytes);
    if (to == NULL)
        return NF_ERR_NOMEM;
    memcpy(to, data, bytes);
    return NF_OK;
}

enum nf_status nf_buf_borrow(struct nf_buf *buf, const void *data, size_t bytes)
{
    if (bytes == 0)
        return NF_OK;
    if (buf->bytes == 0 && buf->capacity == 0) {
        buf->data = (uint8_t *)(uintptr_t)data; /* never written: capacity 0 */
        buf->bytes = bytes;
        return NF_OK;
    }
    if (buf->capacity == 0 && (const uint8_t *)data == buf->data + buf->bytes) {
        buf->bytes += bytes;
        return NF_OK;
    }
    return nf_buf_append(buf, data, bytes);
}

struct nf_blob *nf_buf_take(struct nf_buf *buf, enum nf_type type)
{
    struct nf_blob *blob = nf_blob_wrap(buf->data, buf->bytes, type,
                                        buf->capacity > 0 ? nf_spare_give : NULL);

    if (blob != NULL)
        nf_buf_init(buf);
    return blob;
}
