/* Leases and their answers, recycled. */
#include "config.h"
#include "slave/lease.h"
#include <string.h>
#include "common/base/alloc.h"

/* The most leases kept for reuse, and the largest of their buffers. */
#define SPARE_LEASES 256
#define SPARE_BYTES  65536

static void lease_free(struct nf_slave_lease *lease)
{
    nf_body_fini(&lease->first.body);
    nf_buf_fini(&lease->room);
    nf_free(lease->table);
    nf_free(lease);
}

void nf_lease_release(struct nf_lease_pool *pool, struct nf_slave_lease *lease)
{
    struct nf_answer *answer = lease->first.next;

    nf_blob_unref(lease->input);
    nf_blob_unref(lease->in_sizes);
    nf_buf_fini(&lease->room);
    nf_blob_unref(lease->first.payload);
    nf_blob_unref(lease->first.sizes);
    while (lease->nanswers > 1 && answer != NULL) {
        struct nf_answer *next = answer->next;

        nf_blob_unref(answer->payload);
        nf_blob_unref(answer->sizes);
        nf_body_fini(&answer->body);
        nf_free(answer);
        answer = next;
    }
    lease->first.next = NULL;
    lease->first.payload = NULL;
    lease->first.sizes = NULL;
    lease->input = NULL;
    lease->in_sizes = NULL;
    if (pool->nspare >= SPARE_LEASES || lease->table_capacity > SPARE_BYTES ||
        lease->first.body.capacity > SPARE_BYTES) {
        lease_free(lease);
        return;
    }
    lease->next = pool->spare;
    pool->spare = lease;
    pool->nspare++;
}

void nf_lease_pool_fini(struct nf_lease_pool *pool)
{
    while (pool->spare != NULL) {
        struct nf_slave_lease *lease = pool->spare;

        pool->spare = lease->next;
        lease_free(lease);
    }
    pool->nspare = 0;
}

static struct nf_slave_lease *lease_create(struct nf_lease_pool *pool)
{
    struct nf_slave_lease *lease = pool->spare;

    if (lease == NULL)
        return nf_calloc(1, sizeof(*lease));
    pool->spare = lease->next;
    pool->nspare--;
    lease->next = NULL;
    lease->compute_us = 0;
    lease->computed_units = 0;
    lease->nomem = false;
    lease->nanswers = 0;
    return lease;
}

/* The table lies in a body that the transport will use again: keep a copy. */
static enum nf_status keep_table(struct nf_slave_lease *lease)
{
    size_t bytes = 8 * (size_t)lease->m.count; /* it came in one body */
    uint8_t *table = lease->table;

    if (lease->m.layout.unit_bytes != NF_LAYOUT_TABLE)
        return NF_OK;
    if (bytes > lease->table_capacity) {
        table = nf_realloc(lease->table, bytes);
        if (table == NULL)
            return NF_ERR_NOMEM;
        lease->table = table;
        lease->table_capacity = bytes;
    }
    memcpy(table, lease->m.layout.table, bytes);
    lease->m.layout.table = table;
    return NF_OK;
}

enum nf_status nf_lease_take(struct nf_lease_pool *pool,
                             const struct nf_msg *msg, uint32_t nslots,
                             struct nf_slave_lease **lease_p)
{
    size_t bytes = msg->payload == NULL ? 0 : msg->payload->bytes;
    struct nf_slave_lease *lease = lease_create(pool);
    enum nf_status status;

    if (lease == NULL) {
        nf_blob_unref(msg->payload);
        return NF_ERR_NOMEM;
    }
    lease->input = msg->payload;
    lease->arrival_us = -1;
    status = nf_get_lease(msg->body, msg->body_bytes, &lease->m);
    if (status == NF_OK &&
        (lease->m.slot >= nslots ||
         !nf_layout_fits(&lease->m.layout, lease->m.count, bytes)))
        status = NF_ERR_PROTOCOL;
    if (status == NF_OK)
        status = keep_table(lease);
    if (status != NF_OK) {
        nf_lease_release(pool, lease);
        return status;
    }
    *lease_p = lease;
    return NF_OK;
}

struct nf_slave_lease *nf_lease_unlink(struct nf_slave_lease **head_p,
                                       struct nf_slave_lease **tail_p,
                                       uint64_t lease)
{
    struct nf_slave_lease **link_p = head_p, *before = NULL, *found;

    while (*link_p != NULL && (*link_p)->m.lease != lease) {
        before = *link_p;
        link_p = &before->next;
    }
    found = *link_p;
    if (found == NULL)
        return NULL;
    *link_p = found->next;
    if (found->next == NULL && before != NULL)
        *tail_p = before;
    found->next = NULL;
    return found;
}

struct nf_answer *nf_lease_answer(struct nf_slave_lease *lease,
                                  enum nf_msg_kind kind)
{
    struct nf_answer *answer = &lease->first;

    if (lease->nanswers > 0) {
        answer = nf_calloc(1, sizeof(*answer));
        if (answer == NULL)
            return NULL;
        lease->last->next = answer;
    }
    answer->next = NULL;
    answer->kind = kind;
    answer->payload = NULL;
    answer->sizes = NULL;
    lease->last = answer;
    lease->nanswers++;
    return answer;
}
