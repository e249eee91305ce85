/* The store of results. */
#include "config.h"
#include "slave/held.h"
#include <string.h>
#include "common/base/alloc.h"

struct nf_held_part {
    uint64_t first, count;
    struct nf_layout layout; /* its table is ours */
    struct nf_blob *blob;    /* or NULL: no bytes */
    bool counts;             /* nf_held_pick() */
};

static void drop(struct nf_held *held, struct nf_held_part *part)
{
    held->bytes -= part->blob != NULL ? part->blob->bytes : 0;
    nf_free((void *)(uintptr_t)part->layout.table);
    nf_blob_unref(part->blob);
}

void nf_held_clear(struct nf_held *held)
{
    for (size_t i = 0; i < held->nparts; i++)
        drop(held, &held->parts[i]);
    held->nparts = 0;
}

void nf_held_fini(struct nf_held *held)
{
    nf_held_clear(held);
    nf_free(held->parts);
    held->parts = NULL;
    held->capacity = 0;
}

static enum nf_status make_room(struct nf_held *held)
{
    size_t capacity = held->capacity == 0 ? 64 : 2 * held->capacity;
    struct nf_held_part *parts;

    if (held->nparts < held->capacity)
        return NF_OK;
    parts = nf_realloc(held->parts, capacity * sizeof(*parts));
    if (parts == NULL)
        return NF_ERR_NOMEM;
    held->parts = parts;
    held->capacity = capacity;
    return NF_OK;
}

enum nf_status nf_held_add(struct nf_held *held, const struct nf_result_msg *m,
                           struct nf_blob *payload)
{
    struct nf_held_part part = { .first = m->first,
                                 .count = m->count,
                                 .layout = m->layout };

    if (make_room(held) != NF_OK)
        return NF_ERR_NOMEM;
    if (m->layout.unit_bytes == NF_LAYOUT_TABLE) {
        size_t bytes = 8 * (size_t)m->count; /* it is in memory already */
        uint8_t *table = nf_malloc(bytes);

        if (table == NULL)
            return NF_ERR_NOMEM;
        memcpy(table, m->layout.table, bytes);
        part.layout.table = table;
    }
    part.blob = nf_blob_ref(payload);
    held->bytes += payload != NULL ? payload->bytes : 0;
    held->parts[held->nparts++] = part;
    return NF_OK;
}

/* The ranges asked for, and where the units of each begin in the list. */
struct query {
    const struct nf_gather_msg *m;
    uint64_t *begin; /* [nranges] */
    struct nf_held_unit *units;
};

/* @return the first range that ends behind @p unit, or nranges */
static uint64_t find_range(const struct query *q, uint64_t unit)
{
    uint64_t lo = 0, hi = q->m->nranges;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2, first, count;

        nf_gather_range(q->m, mid, &first, &count);
        if (first + count <= unit)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Note where the units of a part are. */
static void note_part(const struct query *q, struct nf_held_part *part)
{
    const uint8_t *data = part->blob != NULL ? part->blob->data : NULL;
    uint64_t range = find_range(q, part->first), first = 0, count = 0;

    part->counts = false;
    if (range < q->m->nranges)
        nf_gather_range(q->m, range, &first, &count);
    for (uint64_t i = 0; i < part->count && range < q->m->nranges; i++) {
        uint64_t unit = part->first + i;
        size_t bytes = (size_t)nf_layout_unit_bytes(&part->layout, i);

        if (unit >= first + count && ++range < q->m->nranges)
            nf_gather_range(q->m, range, &first, &count);
        if (range < q->m->nranges && unit >= first && unit < first + count) {
            struct nf_held_unit *u =
                &q->units[q->begin[range] + (unit - first)];

            if (u->bytes == SIZE_MAX) {
                *u = (struct nf_held_unit){ data, bytes };
                part->counts = true;
            }
        }
        if (data != NULL)
            data += bytes;
    }
}

static void drop_the_rest(struct nf_held *held)
{
    size_t kept = 0;

    for (size_t i = 0; i < held->nparts; i++)
        if (held->parts[i].counts)
            held->parts[kept++] = held->parts[i];
        else
            drop(held, &held->parts[i]);
    held->nparts = kept;
}

/* @return how many units there are; UINT64_MAX: too many */
static uint64_t lay_out(const struct query *q)
{
    uint64_t total = 0, first, count;

    for (uint64_t i = 0; i < q->m->nranges; i++) {
        nf_gather_range(q->m, i, &first, &count);
        q->begin[i] = total;
        if (count > SIZE_MAX / sizeof(*q->units) - total)
            return UINT64_MAX;
        total += count;
    }
    return total;
}

enum nf_status nf_held_pick(struct nf_held *held, const struct nf_gather_msg *m,
                            struct nf_held_unit **units_p, uint64_t *count_p)
{
    struct query q = { .m = m };
    uint64_t total = 0, known = 0;
    enum nf_status status = NF_OK;

    for (size_t i = 0; i < held->nparts; i++)
        known += held->parts[i].count;
    q.begin = nf_calloc((size_t)m->nranges, sizeof(*q.begin));
    if (q.begin == NULL)
        return NF_ERR_NOMEM;
    total = lay_out(&q);
    if (total > known) { /* before memory is asked for */
        nf_free(q.begin);
        return NF_ERR_FAILED;
    }
    q.units = nf_malloc((size_t)total * sizeof(*q.units));
    for (uint64_t i = 0; i < total && q.units != NULL; i++)
        q.units[i] = (struct nf_held_unit){ NULL, SIZE_MAX };
    for (size_t i = 0; i < held->nparts && q.units != NULL; i++)
        note_part(&q, &held->parts[i]);
    for (uint64_t i = 0; i < total && q.units != NULL; i++)
        if (q.units[i].bytes == SIZE_MAX)
            status = NF_ERR_FAILED;
    nf_free(q.begin);
    if (q.units == NULL)
        return NF_ERR_NOMEM;
    if (status != NF_OK) {
        nf_free(q.units);
        return status;
    }
    drop_the_rest(held);
    *units_p = q.units;
    *count_p = total;
    return NF_OK;
}
