#ifndef NF_WIRE_CODEC_H
#define NF_WIRE_CODEC_H
/** @file codec.h  Numbers, texts and layouts on byte buffers, for wire.c and
 *  wire_group.c.  Numbers are little endian, texts end with NUL, nothing is
 *  padded.  A decoder reads through a cursor that turns `bad` at the first byte
 *  that is missing or senseless, so that it checks once, at its end; nothing
 * from the wire is ever an assertion. */
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"
#include "common/wire/wire.h"

/* Start over, with room for `bytes` bytes. */
static inline void body_start(struct nf_body *body, size_t bytes)
{
    uint8_t *data;

    body->bytes = 0;
    body->failed = false;
    if (bytes <= body->capacity)
        return;
    if (bytes < 128)
        bytes = 128;
    data = nf_realloc(body->data, bytes);
    if (data == NULL) {
        body->failed = true;
        return;
    }
    body->data = data;
    body->capacity = bytes;
}

static inline enum nf_status body_end(const struct nf_body *body)
{
    return body->failed ? NF_ERR_NOMEM : NF_OK;
}

static inline void put_bytes(struct nf_body *body, const void *data,
                             size_t bytes)
{
    if (body->failed || bytes > body->capacity - body->bytes) {
        body->failed = true;
        return;
    }
    memcpy(body->data + body->bytes, data, bytes);
    body->bytes += bytes;
}

static inline void put_u64(struct nf_body *body, uint64_t value)
{
    uint8_t raw[8];

    nf_store_le64(raw, value);
    put_bytes(body, raw, sizeof(raw));
}

static inline void put_u32(struct nf_body *body, uint32_t value)
{
    uint8_t raw[4];

    nf_store_le32(raw, value);
    put_bytes(body, raw, sizeof(raw));
}

static inline void put_i64(struct nf_body *body, int64_t value)
{
    put_u64(body, (uint64_t)value);
}

static inline void put_bool(struct nf_body *body, bool value)
{
    uint8_t raw = value ? 1 : 0;

    put_bytes(body, &raw, 1);
}

static inline void put_double(struct nf_body *body, double value)
{
    uint64_t raw;

    memcpy(&raw, &value, sizeof(raw));
    put_u64(body, raw);
}

/* A text of at most `size` bytes with its NUL; what is longer is cut. */
static inline void put_text(struct nf_body *body, const char *text, size_t size)
{
    put_bytes(body, text, strnlen(text, size - 1));
    put_bytes(body, "", 1);
}

/* What is still to be decoded. */
struct cursor {
    const uint8_t *data;
    size_t left;
    bool bad;
};

static inline const uint8_t *get_bytes(struct cursor *in, size_t bytes)
{
    const uint8_t *data = in->data;

    if (in->bad || bytes > in->left) {
        in->bad = true;
        return NULL;
    }
    in->data += bytes;
    in->left -= bytes;
    return data;
}

static inline uint64_t get_u64(struct cursor *in)
{
    const uint8_t *raw = get_bytes(in, 8);

    return raw == NULL ? 0 : nf_load_le64(raw);
}

static inline uint32_t get_u32(struct cursor *in)
{
    const uint8_t *raw = get_bytes(in, 4);

    return raw == NULL ? 0 : nf_load_le32(raw);
}

static inline int64_t to_i64(uint64_t raw)
{
    int64_t value;

    memcpy(&value, &raw, sizeof(value));
    return value;
}

/* A time of at least `least_us`. */
static inline int64_t get_time(struct cursor *in, int64_t least_us)
{
    int64_t value = to_i64(get_u64(in));

    if (value < least_us)
        in->bad = true;
    return value;
}

static inline bool get_bool(struct cursor *in)
{
    const uint8_t *raw = get_bytes(in, 1);

    if (raw != NULL && *raw > 1)
        in->bad = true;
    return raw != NULL && *raw == 1;
}

/* A finite number >= 0: policies compute with it. */
static inline double get_statistic(struct cursor *in)
{
    uint64_t raw = get_u64(in);
    double value;

    memcpy(&value, &raw, sizeof(value));
    if (!isfinite(value) || value < 0)
        in->bad = true;
    return value;
}

static inline void get_text(struct cursor *in, char *text_p, size_t size)
{
    const uint8_t *end =
        in->bad || in->left == 0
            ? NULL
            : memchr(in->data, 0, in->left < size ? in->left : size);
    size_t bytes;

    if (end == NULL) {
        in->bad = true;
        text_p[0] = '\0';
        return;
    }
    bytes = (size_t)(end - in->data) + 1;
    memcpy(text_p, in->data, bytes);
    in->data += bytes;
    in->left -= bytes;
}

static inline enum nf_status get_end(const struct cursor *in)
{
    return in->bad || in->left > 0 ? NF_ERR_PROTOCOL : NF_OK;
}

/* The units of a lease or result: at least one, and numbers that exist. */
static inline void check_units(struct cursor *in, uint64_t first,
                               uint64_t count)
{
    if (count == 0 || first > UINT64_MAX - count)
        in->bad = true;
}

/* Can one number stand for all?  The mark of a table cannot. */
static inline bool is_uniform(const uint64_t *sizes_bytes, uint64_t count)
{
    if (sizes_bytes[0] == NF_LAYOUT_TABLE)
        return false;
    for (uint64_t i = 1; i < count; i++)
        if (sizes_bytes[i] != sizes_bytes[0])
            return false;
    return true;
}

/* Bytes of an encoded layout, or SIZE_MAX if no memory could hold it.
 * *table_p: whether it is a table. */
static inline size_t layout_bytes(const struct nf_layout *layout,
                                  uint64_t count, const uint64_t *sizes_bytes,
                                  bool *table_p)
{
    *table_p = layout->unit_bytes == NF_LAYOUT_TABLE &&
               !is_uniform(sizes_bytes, count);
    if (!*table_p)
        return 8;
    return count > (SIZE_MAX - 1024) / 8 ? SIZE_MAX : 8 + 8 * (size_t)count;
}

static inline void put_layout(struct nf_body *body,
                              const struct nf_layout *layout, uint64_t count,
                              const uint64_t *sizes_bytes, bool table)
{
    if (layout->unit_bytes != NF_LAYOUT_TABLE) {
        put_u64(body, layout->unit_bytes);
        return;
    }
    put_u64(body, table ? NF_LAYOUT_TABLE : sizes_bytes[0]);
    for (uint64_t i = 0; table && i < count; i++)
        put_u64(body, sizes_bytes[i]);
}

static inline void get_layout(struct cursor *in, uint64_t count,
                              struct nf_layout *layout_p)
{
    layout_p->table = NULL;
    layout_p->unit_bytes = get_u64(in);
    if (layout_p->unit_bytes != NF_LAYOUT_TABLE)
        return;
    if (count > in->left / 8)
        in->bad = true;
    else
        layout_p->table = get_bytes(in, 8 * (size_t)count);
}
#endif
