/* Messages on byte buffers.  Numbers are little endian, texts end with NUL,
 * nothing is padded.  A decoder reads through a cursor that turns `bad` at the
 * first byte that is missing or senseless, so that it checks once, at its
 * end; nothing from the wire is ever an assertion. */
#include "config.h"
#include "common/wire/wire.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"

void nf_body_init(struct nf_body *body)
{
    memset(body, 0, sizeof(*body));
}

void nf_body_fini(struct nf_body *body)
{
    nf_free(body->data);
    nf_body_init(body);
}

/* Start over, with room for `bytes` bytes. */
static void body_start(struct nf_body *body, size_t bytes)
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

static enum nf_status body_end(const struct nf_body *body)
{
    return body->failed ? NF_ERR_NOMEM : NF_OK;
}

static void put_bytes(struct nf_body *body, const void *data, size_t bytes)
{
    if (body->failed || bytes > body->capacity - body->bytes) {
        body->failed = true;
        return;
    }
    memcpy(body->data + body->bytes, data, bytes);
    body->bytes += bytes;
}

static void store_u64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t load_u64(const uint8_t *from)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static void put_u64(struct nf_body *body, uint64_t value)
{
    uint8_t raw[8];

    store_u64(raw, value);
    put_bytes(body, raw, sizeof(raw));
}

static void put_u32(struct nf_body *body, uint32_t value)
{
    uint8_t raw[4];

    for (int i = 0; i < 4; i++)
        raw[i] = (uint8_t)(value >> (8 * i));
    put_bytes(body, raw, sizeof(raw));
}

static void put_i64(struct nf_body *body, int64_t value)
{
    put_u64(body, (uint64_t)value);
}

static void put_bool(struct nf_body *body, bool value)
{
    uint8_t raw = value ? 1 : 0;

    put_bytes(body, &raw, 1);
}

static void put_double(struct nf_body *body, double value)
{
    uint64_t raw;

    memcpy(&raw, &value, sizeof(raw));
    put_u64(body, raw);
}

/* A text of at most `size` bytes with its NUL; what is longer is cut. */
static void put_text(struct nf_body *body, const char *text, size_t size)
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

static const uint8_t *get_bytes(struct cursor *in, size_t bytes)
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

static uint64_t get_u64(struct cursor *in)
{
    const uint8_t *raw = get_bytes(in, 8);

    return raw == NULL ? 0 : load_u64(raw);
}

static uint32_t get_u32(struct cursor *in)
{
    const uint8_t *raw = get_bytes(in, 4);

    return raw == NULL ? 0
                       : (uint32_t)raw[0] | (uint32_t)raw[1] << 8 |
                             (uint32_t)raw[2] << 16 | (uint32_t)raw[3] << 24;
}

static int64_t to_i64(uint64_t raw)
{
    int64_t value;

    memcpy(&value, &raw, sizeof(value));
    return value;
}

/* A time of at least `least_us`. */
static int64_t get_time(struct cursor *in, int64_t least_us)
{
    int64_t value = to_i64(get_u64(in));

    if (value < least_us)
        in->bad = true;
    return value;
}

static bool get_bool(struct cursor *in)
{
    const uint8_t *raw = get_bytes(in, 1);

    if (raw != NULL && *raw > 1)
        in->bad = true;
    return raw != NULL && *raw == 1;
}

/* A finite number >= 0: policies compute with it. */
static double get_statistic(struct cursor *in)
{
    uint64_t raw = get_u64(in);
    double value;

    memcpy(&value, &raw, sizeof(value));
    if (!isfinite(value) || value < 0)
        in->bad = true;
    return value;
}

static void get_text(struct cursor *in, char *text_p, size_t size)
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

static enum nf_status get_end(const struct cursor *in)
{
    return in->bad || in->left > 0 ? NF_ERR_PROTOCOL : NF_OK;
}

/* The units of a lease or result: at least one, and numbers that exist. */
static void check_units(struct cursor *in, uint64_t first, uint64_t count)
{
    if (count == 0 || first > UINT64_MAX - count)
        in->bad = true;
}

/* Can one number stand for all?  The mark of a table cannot. */
static bool is_uniform(const uint64_t *sizes_bytes, uint64_t count)
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
static size_t layout_bytes(const struct nf_layout *layout, uint64_t count,
                           const uint64_t *sizes_bytes, bool *table_p)
{
    *table_p = layout->unit_bytes == NF_LAYOUT_TABLE &&
               !is_uniform(sizes_bytes, count);
    if (!*table_p)
        return 8;
    return count > (SIZE_MAX - 1024) / 8 ? SIZE_MAX : 8 + 8 * (size_t)count;
}

static void put_layout(struct nf_body *body, const struct nf_layout *layout,
                       uint64_t count, const uint64_t *sizes_bytes, bool table)
{
    if (layout->unit_bytes != NF_LAYOUT_TABLE) {
        put_u64(body, layout->unit_bytes);
        return;
    }
    put_u64(body, table ? NF_LAYOUT_TABLE : sizes_bytes[0]);
    for (uint64_t i = 0; table && i < count; i++)
        put_u64(body, sizes_bytes[i]);
}

static void get_layout(struct cursor *in, uint64_t count,
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

uint64_t nf_layout_unit_bytes(const struct nf_layout *layout, uint64_t i)
{
    if (layout->unit_bytes != NF_LAYOUT_TABLE)
        return layout->unit_bytes;
    return load_u64(layout->table + 8 * i);
}

bool nf_layout_fits(const struct nf_layout *layout, uint64_t count,
                    uint64_t payload_bytes)
{
    uint64_t left = payload_bytes;

    if (count == 0)
        return false;
    if (layout->unit_bytes != NF_LAYOUT_TABLE)
        return payload_bytes % count == 0 &&
               payload_bytes / count == layout->unit_bytes;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t unit_bytes = nf_layout_unit_bytes(layout, i);

        if (unit_bytes > left)
            return false;
        left -= unit_bytes;
    }
    return left == 0;
}

enum nf_status nf_put_hello(struct nf_body *body, const struct nf_hello *m)
{
    body_start(body, 4 + sizeof(m->version) + 12 + sizeof(m->host));
    put_u32(body, m->wire_version);
    put_text(body, m->version, sizeof(m->version));
    put_u32(body, m->spawn_id);
    put_u32(body, m->pid);
    put_u32(body, m->cores);
    put_text(body, m->host, sizeof(m->host));
    return body_end(body);
}

enum nf_status nf_get_hello(const uint8_t *data, size_t bytes,
                            struct nf_hello *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->wire_version = get_u32(&in);
    get_text(&in, m_p->version, sizeof(m_p->version));
    m_p->spawn_id = get_u32(&in);
    m_p->pid = get_u32(&in);
    m_p->cores = get_u32(&in);
    get_text(&in, m_p->host, sizeof(m_p->host));
    if (m_p->wire_version > NF_WIRE_VERSION)
        in.left = 0; /* what they added since is theirs */
    return get_end(&in);
}

enum nf_status nf_put_job(struct nf_body *body, const struct nf_job_msg *m)
{
    body_start(body, sizeof(m->app) + 8 + 24 + 1 + 12);
    put_text(body, m->app, sizeof(m->app));
    put_u32(body, m->slots);
    put_u32(body, m->host_slaves);
    put_i64(body, m->heartbeat_us);
    put_i64(body, m->master_silence_us);
    put_i64(body, m->unit_timeout_us);
    put_bool(body, m->has_shared);
    put_i64(body, m->emulated_unit_us);
    put_u32(body, m->emulated_speed);
    return body_end(body);
}

enum nf_status nf_get_job(const uint8_t *data, size_t bytes,
                          struct nf_job_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    get_text(&in, m_p->app, sizeof(m_p->app));
    m_p->slots = get_u32(&in);
    m_p->host_slaves = get_u32(&in);
    m_p->heartbeat_us = get_time(&in, 0);
    m_p->master_silence_us = get_time(&in, 0);
    m_p->unit_timeout_us = get_time(&in, 0);
    m_p->has_shared = get_bool(&in);
    m_p->emulated_unit_us = get_time(&in, 0);
    m_p->emulated_speed = get_u32(&in);
    if (m_p->emulated_unit_us > 0 && m_p->emulated_speed < 1000)
        in.bad = true;
    return get_end(&in);
}

enum nf_status nf_put_ready(struct nf_body *body, const struct nf_ready_msg *m)
{
    body_start(body, 4);
    put_u32(body, m->slots);
    return body_end(body);
}

enum nf_status nf_get_ready(const uint8_t *data, size_t bytes,
                            struct nf_ready_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->slots = get_u32(&in);
    if (m_p->slots == 0)
        in.bad = true;
    return get_end(&in);
}

enum nf_status nf_put_cancel(struct nf_body *body,
                             const struct nf_cancel_msg *m)
{
    body_start(body, 8);
    put_u64(body, m->lease);
    return body_end(body);
}

enum nf_status nf_get_cancel(const uint8_t *data, size_t bytes,
                             struct nf_cancel_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->lease = get_u64(&in);
    return get_end(&in);
}

enum nf_status nf_put_text(struct nf_body *body, const char *text)
{
    body_start(body, NF_ERROR_TEXT_BYTES);
    put_text(body, text, NF_ERROR_TEXT_BYTES);
    return body_end(body);
}

enum nf_status nf_get_text(const uint8_t *data, size_t bytes,
                           struct nf_text_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    get_text(&in, m_p->text, sizeof(m_p->text));
    return get_end(&in);
}

enum nf_status nf_put_lease(struct nf_body *body, const struct nf_lease_msg *m,
                            const uint64_t *sizes_bytes)
{
    bool table;
    size_t layout = layout_bytes(&m->layout, m->count, sizes_bytes, &table);

    if (layout == SIZE_MAX)
        return NF_ERR_NOMEM;
    body_start(body, 32 + layout);
    put_u64(body, m->lease);
    put_u64(body, m->first);
    put_u64(body, m->count);
    put_u32(body, m->slot);
    put_u32(body, m->attempts);
    put_layout(body, &m->layout, m->count, sizes_bytes, table);
    return body_end(body);
}

enum nf_status nf_get_lease(const uint8_t *data, size_t bytes,
                            struct nf_lease_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->lease = get_u64(&in);
    m_p->first = get_u64(&in);
    m_p->count = get_u64(&in);
    m_p->slot = get_u32(&in);
    m_p->attempts = get_u32(&in);
    check_units(&in, m_p->first, m_p->count);
    get_layout(&in, m_p->count, &m_p->layout);
    return get_end(&in);
}

enum nf_status nf_put_result(struct nf_body *body,
                             const struct nf_result_msg *m,
                             const uint64_t *sizes_bytes)
{
    bool table;
    size_t layout = layout_bytes(&m->layout, m->count, sizes_bytes, &table);

    if (layout == SIZE_MAX)
        return NF_ERR_NOMEM;
    body_start(body, 65 + layout);
    put_u64(body, m->lease);
    put_u64(body, m->first);
    put_u64(body, m->count);
    put_bool(body, m->last);
    put_i64(body, m->compute_us);
    put_i64(body, m->wait_us);
    put_i64(body, m->idle_us);
    put_double(body, m->mean_unit_us);
    put_double(body, m->m2_unit_us2);
    put_layout(body, &m->layout, m->count, sizes_bytes, table);
    return body_end(body);
}

enum nf_status nf_get_result(const uint8_t *data, size_t bytes,
                             struct nf_result_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->lease = get_u64(&in);
    m_p->first = get_u64(&in);
    m_p->count = get_u64(&in);
    m_p->last = get_bool(&in);
    m_p->compute_us = get_time(&in, 0);
    m_p->wait_us = get_time(&in, -1); /* -1: unknown */
    m_p->idle_us = get_time(&in, 0);
    m_p->mean_unit_us = get_statistic(&in);
    m_p->m2_unit_us2 = get_statistic(&in);
    check_units(&in, m_p->first, m_p->count);
    get_layout(&in, m_p->count, &m_p->layout);
    return get_end(&in);
}

enum nf_status nf_put_unit_failed(struct nf_body *body,
                                  const struct nf_unit_failed_msg *m)
{
    body_start(body, 22 + sizeof(m->reason));
    put_u64(body, m->lease);
    put_u64(body, m->unit);
    put_u32(body, (uint32_t)m->code);
    put_bool(body, m->timeout);
    put_bool(body, m->last);
    put_text(body, m->reason, sizeof(m->reason));
    return body_end(body);
}

enum nf_status nf_get_unit_failed(const uint8_t *data, size_t bytes,
                                  struct nf_unit_failed_msg *m_p)
{
    struct cursor in = { data, bytes, false };
    uint32_t code;

    m_p->lease = get_u64(&in);
    m_p->unit = get_u64(&in);
    code = get_u32(&in);
    memcpy(&m_p->code, &code, sizeof(code));
    m_p->timeout = get_bool(&in);
    m_p->last = get_bool(&in);
    get_text(&in, m_p->reason, sizeof(m_p->reason));
    return get_end(&in);
}
