/* Reference-counted payloads and the buffer that applications append to. */
#include "config.h"
#include "common/base/blob.h"
#include <string.h>
#include <sys/mman.h>
#include "common/base/alloc.h"

/* From this size on, pages of their own, and huge ones if the system has them:
 * clearing and mapping small ones would take longer than filling them. */
enum { HUGE_BYTES = 32 << 20, HUGE_PAGE_BYTES = 2 << 20 };

static struct nf_blob *create_huge(size_t bytes, enum nf_type type)
{
    void *data = nf_aligned_alloc(HUGE_PAGE_BYTES, bytes);
    struct nf_blob *blob;

    if (data == NULL)
        return NULL;
#ifdef MADV_HUGEPAGE
    (void)madvise(data, bytes, MADV_HUGEPAGE);
#endif
    blob = nf_blob_wrap(data, bytes, type, nf_free);
    if (blob == NULL)
        nf_free(data);
    return blob;
}

struct nf_blob *nf_blob_create(size_t bytes, enum nf_type type)
{
    struct nf_blob *blob;

    if (bytes > SIZE_MAX - sizeof(*blob))
        return NULL;
    if (bytes >= HUGE_BYTES)
        return create_huge(bytes, type);
    blob = nf_malloc(sizeof(*blob) + bytes);
    if (blob == NULL)
        return NULL;
    atomic_init(&blob->refs, 1);
    blob->type = type;
    blob->bytes = bytes;
    blob->data = blob + 1;
    blob->release = NULL;
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
    return blob;
}

bool nf_blob_is_borrowed(const struct nf_blob *blob)
{
    return blob->release == NULL && blob->data != (const void *)(blob + 1);
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
    nf_free(blob);
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
    if (buf->bytes == 0)
        capacity = need; /* one reserve is the common case: fit it exactly */
    if (buf->capacity > 0) {
        data = nf_realloc(buf->data, capacity);
    } else {
        data = nf_malloc(capacity);
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
                                        buf->capacity > 0 ? nf_free : NULL);

    if (blob != NULL)
        nf_buf_init(buf);
    return blob;
}
