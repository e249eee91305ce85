/* Messages on byte buffers.  See codec.h. */
#include "config.h"
#include "common/wire/codec.h"

void nf_body_init(struct nf_body *body)
{
    memset(body, 0, sizeof(*body));
}

void nf_body_fini(struct nf_body *body)
{
    nf_free(body->data);
    nf_body_init(body);
}

uint64_t nf_layout_unit_bytes(const struct nf_layout *layout, uint64_t i)
{
    if (layout->unit_bytes != NF_LAYOUT_TABLE)
        return layout->unit_bytes;
    return nf_load_le64(layout->table + 8 * i);
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
    body_start(body, sizeof(m->app) + 8 + 24 + 3 + 12 + 12);
    put_text(body, m->app, sizeof(m->app));
    put_u32(body, m->slots);
    put_u32(body, m->host_slaves);
    put_i64(body, m->heartbeat_us);
    put_i64(body, m->master_silence_us);
    put_i64(body, m->unit_timeout_us);
    put_bool(body, m->has_shared);
    put_bool(body, m->hold);
    put_bool(body, m->combine);
    put_i64(body, m->emulated_unit_us);
    put_u32(body, m->emulated_speed);
    put_u64(body, m->units);
    put_u32(body, m->phases);
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
    m_p->hold = get_bool(&in);
    m_p->combine = get_bool(&in);
    m_p->emulated_unit_us = get_time(&in, 0);
    m_p->emulated_speed = get_u32(&in);
    m_p->units = get_u64(&in);
    m_p->phases = get_u32(&in);
    if (m_p->phases > 1 && m_p->units > SIZE_MAX / 64 / m_p->phases)
        in.bad = true;
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
