/* The messages by which groups are made and results are gathered. */
#include "config.h"
#include "common/wire/codec.h"

enum { RANGE_BYTES = 16, TID_BYTES = 4, RANK_BYTES = 4, WORD_BYTES = 4 };
/* By the pvmds of two hosts that takes 4 ms, by a route of its own 0.3 ms: from
 * about here on a reduction is sooner done with routes, opening them included. */
enum { MUCH_BYTES = 256 << 10 };

enum nf_status nf_put_gather(struct nf_body *body,
                             const struct nf_gather_msg *m,
                             const uint64_t *ranges)
{
    if (m->nranges > (SIZE_MAX - 1024) / RANGE_BYTES)
        return NF_ERR_NOMEM;
    body_start(body, 16 + RANGE_BYTES * (size_t)m->nranges);
    put_u64(body, m->round);
    put_u64(body, m->nranges);
    for (uint64_t i = 0; i < 2 * m->nranges; i++)
        put_u64(body, ranges[i]);
    return body_end(body);
}

void nf_gather_range(const struct nf_gather_msg *m, uint64_t i,
                     uint64_t *first_p, uint64_t *count_p)
{
    *first_p = nf_load_le64(m->ranges + RANGE_BYTES * i);
    *count_p = nf_load_le64(m->ranges + RANGE_BYTES * i + 8);
}

/* Ascending, and apart. */
static bool are_in_order(const struct nf_gather_msg *m)
{
    uint64_t end = 0;

    for (uint64_t i = 0; i < m->nranges; i++) {
        uint64_t first, count;

        nf_gather_range(m, i, &first, &count);
        if (count == 0 || first > UINT64_MAX - count || (i > 0 && first <= end))
            return false;
        end = first + count;
    }
    return true;
}

enum nf_status nf_get_gather(const uint8_t *data, size_t bytes,
                             struct nf_gather_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->round = get_u64(&in);
    m_p->nranges = get_u64(&in);
    m_p->ranges = NULL;
    if (m_p->nranges == 0 || m_p->nranges > in.left / RANGE_BYTES)
        in.bad = true;
    else
        m_p->ranges = get_bytes(&in, RANGE_BYTES * (size_t)m_p->nranges);
    if (!in.bad && !are_in_order(m_p))
        in.bad = true;
    return get_end(&in);
}

enum nf_status nf_put_holding(struct nf_body *body,
                              const struct nf_holding_msg *m,
                              const uint64_t *sizes_bytes)
{
    bool table;
    size_t layout = layout_bytes(&m->layout, m->count, sizes_bytes, &table);

    if (layout == SIZE_MAX)
        return NF_ERR_NOMEM;
    body_start(body, 24 + layout);
    put_u64(body, m->round);
    put_u64(body, m->count);
    put_u64(body, m->bytes);
    put_layout(body, &m->layout, m->count, sizes_bytes, table);
    return body_end(body);
}

enum nf_status nf_get_holding(const uint8_t *data, size_t bytes,
                              struct nf_holding_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->round = get_u64(&in);
    m_p->count = get_u64(&in);
    m_p->bytes = get_u64(&in);
    if (m_p->count == 0 || m_p->bytes > SIZE_MAX / 4)
        in.bad = true;
    get_layout(&in, m_p->count, &m_p->layout);
    return get_end(&in);
}

enum nf_status nf_put_group(struct nf_body *body, const struct nf_group_msg *m,
                            const int *tids)
{
    size_t tree_bytes =
        m->tree != NULL ? WORD_BYTES * nf_group_tree_words(m->count) : 0;

    body_start(body, 61 + sizeof(m->algorithm) + TID_BYTES * (size_t)m->count +
                         tree_bytes);
    put_u32(body, (uint32_t)m->purpose);
    put_u64(body, m->id);
    put_u64(body, m->round);
    put_u64(body, m->bytes);
    put_i64(body, m->timeout_us);
    put_u64(body, m->cookie);
    put_u32(body, m->context);
    put_u32(body, m->rank);
    put_u32(body, m->count);
    put_text(body, m->algorithm, sizeof(m->algorithm));
    for (uint32_t i = 0; i < m->count; i++)
        put_u32(body, (uint32_t)tids[i]);
    put_bool(body, m->tree != NULL);
    if (m->tree != NULL)
        put_bytes(body, m->tree, tree_bytes);
    return body_end(body);
}

enum nf_status nf_get_group(const uint8_t *data, size_t bytes,
                            struct nf_group_msg *m_p)
{
    struct cursor in = { data, bytes, false };
    uint32_t purpose = get_u32(&in);

    m_p->purpose = (enum nf_group_purpose)purpose;
    m_p->id = get_u64(&in);
    m_p->round = get_u64(&in);
    m_p->bytes = get_u64(&in);
    m_p->timeout_us = get_time(&in, 1);
    m_p->cookie = get_u64(&in);
    m_p->context = get_u32(&in);
    m_p->rank = get_u32(&in);
    m_p->count = get_u32(&in);
    get_text(&in, m_p->algorithm, sizeof(m_p->algorithm));
    m_p->tids = NULL;
    if (purpose >= NF_GROUP_PURPOSES || m_p->count < 2 ||
        m_p->rank >= m_p->count || m_p->count > in.left / TID_BYTES ||
        m_p->bytes > SIZE_MAX / 4 || m_p->context > INT32_MAX)
        in.bad = true;
    else
        m_p->tids = get_bytes(&in, TID_BYTES * (size_t)m_p->count);
    m_p->tree = NULL;
    if (get_bool(&in) && !in.bad) {
        if (nf_group_tree_words(m_p->count) > in.left / WORD_BYTES)
            in.bad = true;
        else
            m_p->tree =
                get_bytes(&in, WORD_BYTES * nf_group_tree_words(m_p->count));
    }
    return get_end(&in);
}

bool nf_group_moves_much(const struct nf_group_msg *m)
{
    return m->purpose != NF_GROUP_GATHER || m->bytes >= MUCH_BYTES;
}

int nf_group_tid(const struct nf_group_msg *m, uint32_t i)
{
    struct cursor in = { m->tids + TID_BYTES * (size_t)i, TID_BYTES, false };

    return (int)get_u32(&in);
}

enum nf_status nf_put_group_end(struct nf_body *body,
                                const struct nf_group_end_msg *m)
{
    body_start(body, 12 + sizeof(m->reason));
    put_u64(body, m->id);
    put_u32(body, m->culprit);
    put_text(body, m->reason, sizeof(m->reason));
    return body_end(body);
}

enum nf_status nf_get_group_end(const uint8_t *data, size_t bytes,
                                struct nf_group_end_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->id = get_u64(&in);
    m_p->culprit = get_u32(&in);
    get_text(&in, m_p->reason, sizeof(m_p->reason));
    return get_end(&in);
}

enum nf_status nf_put_exchange(struct nf_body *body,
                               const struct nf_exchange_msg *m,
                               const uint32_t *holders, const uint32_t *homes)
{
    body_start(body, 28 + sizeof(m->algorithms) +
                         2 * RANK_BYTES * (size_t)m->units);
    put_u64(body, m->round);
    put_u32(body, m->phase);
    put_u32(body, m->rank);
    put_u32(body, m->count);
    put_text(body, m->algorithms, sizeof(m->algorithms));
    put_u64(body, m->units);
    for (uint64_t i = 0; i < m->units; i++)
        put_u32(body, holders[i]);
    for (uint64_t i = 0; i < m->units; i++)
        put_u32(body, homes[i]);
    return body_end(body);
}

uint32_t nf_exchange_rank(const uint8_t *ranks, uint64_t i)
{
    return nf_load_le32(ranks + RANK_BYTES * i);
}

/* All are members, or for homes, nobody. */
static bool are_ranks(const struct nf_exchange_msg *m)
{
    for (uint64_t i = 0; i < m->units; i++) {
        uint32_t home = nf_exchange_rank(m->homes, i);

        if (nf_exchange_rank(m->holders, i) >= m->count ||
            (home >= m->count && home != NF_GROUP_NOBODY))
            return false;
    }
    return true;
}

enum nf_status nf_get_exchange(const uint8_t *data, size_t bytes,
                               struct nf_exchange_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->round = get_u64(&in);
    m_p->phase = get_u32(&in);
    m_p->rank = get_u32(&in);
    m_p->count = get_u32(&in);
    get_text(&in, m_p->algorithms, sizeof(m_p->algorithms));
    m_p->units = get_u64(&in);
    m_p->holders = m_p->homes = NULL;
    if (m_p->units == 0 || m_p->rank >= m_p->count ||
        m_p->units > in.left / (2 * RANK_BYTES)) {
        in.bad = true;
        return get_end(&in);
    }
    m_p->holders = get_bytes(&in, RANK_BYTES * (size_t)m_p->units);
    m_p->homes = get_bytes(&in, RANK_BYTES * (size_t)m_p->units);
    if (!in.bad && !are_ranks(m_p))
        in.bad = true;
    return get_end(&in);
}

enum nf_status nf_put_exchanged(struct nf_body *body,
                                const struct nf_exchanged_msg *m)
{
    body_start(body, 40);
    put_u64(body, m->round);
    put_u64(body, m->bytes);
    put_u64(body, m->largest_bytes);
    put_u64(body, m->table_bytes);
    put_i64(body, m->moving_us);
    return body_end(body);
}

enum nf_status nf_get_exchanged(const uint8_t *data, size_t bytes,
                                struct nf_exchanged_msg *m_p)
{
    struct cursor in = { data, bytes, false };

    m_p->round = get_u64(&in);
    m_p->bytes = get_u64(&in);
    m_p->largest_bytes = get_u64(&in);
    m_p->table_bytes = get_u64(&in);
    m_p->moving_us = get_time(&in, 0);
    return get_end(&in);
}
