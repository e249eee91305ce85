/* How early the k-th node can have the message, whatever the tree.
 *
 * tau_k, the end of the k-th send of all, is no earlier than
 *   - when senders that are ready as early as possible, the quicker earlier,
 *     have sent k messages, parts of messages counted;
 *   - when as many, all but the root as quick as the quickest, have sent k
 *     whole ones.
 * Among the first k nodes the h slowest receivers take at least
 * recv_(k - h + 1), ascending, and one of them is served at tau_h or later:
 *   ready_k = max over h <= k of tau_h + least wire + recv_(k - h + 1). */
#include "config.h"
#include <math.h>
#include "common/base/alloc.h"
#include "common/tree/heap.h"
#include "common/tree/hnow.h"
#include "common/tree/make.h"
#include "common/tree/sort.h"

struct bound {
    const struct nf_hops *hops;
    uint32_t root;
    uint32_t *by_send, *by_recv; /* but the root, ascending */
    double *recv_us;             /* of by_recv */
    double *tau_us, *ready_us;   /* [k], from 1 on */
    double wire_us, send_us;     /* the least; send_us not of the root */
    /* Parts of messages: the root and the nodes of ready_us[1..senders) send,
     * so many a microsecond, less what they have not sent before they had it. */
    uint32_t senders;
    double rate, sent_before;
    struct nf_heap heap;         /* senders, by when they have sent one more */
};

static void bound_fini(struct bound *b)
{
    nf_free(b->by_send);
    nf_free(b->by_recv);
    nf_free(b->recv_us);
    nf_free(b->tau_us);
    nf_free(b->ready_us);
    nf_free(b->heap.items);
}

/* The least of what leads from one node to another. */
static double least_wire(const struct nf_hops *hops, uint32_t root)
{
    double least_us = INFINITY;

    if (!hops->is_matrix)
        return hops->wire[0];
    for (uint32_t j = 0; j < hops->nodes; j++) {
        const double *wire_us = hops->wire + nf_hops_at(hops, 0, j);

        for (uint32_t i = 0; j != root && i < hops->nodes; i++)
            if (wire_us[i] < least_us && i != j)
                least_us = wire_us[i];
    }
    return least_us;
}

static enum nf_status bound_init(struct bound *b, const struct nf_hops *hops,
                                 uint32_t root)
{
    uint32_t n = hops->nodes;

    *b = (struct bound){ .hops = hops, .root = root };
    b->by_send = nf_calloc(n, sizeof(uint32_t));
    b->by_recv = nf_calloc(n, sizeof(uint32_t));
    b->recv_us = nf_calloc(n, sizeof(double));
    b->tau_us = nf_calloc(n, sizeof(double));
    b->ready_us = nf_calloc(n, sizeof(double));
    b->heap.items = nf_calloc(n, sizeof(*b->heap.items));
    if (b->by_send == NULL || b->by_recv == NULL || b->recv_us == NULL ||
        b->tau_us == NULL || b->ready_us == NULL || b->heap.items == NULL) {
        bound_fini(b);
        return NF_ERR_NOMEM;
    }
    nf_receivers_all(n, root, b->by_send);
    nf_receivers_all(n, root, b->by_recv);
    nf_sort_nodes(b->by_send, n - 1, hops->send);
    nf_sort_nodes(b->by_recv, n - 1, hops->recv);
    for (uint32_t k = 0; k + 1 < n; k++)
        b->recv_us[k] = hops->recv[b->by_recv[k]];
    b->senders = 1;
    b->rate = 1 / hops->send[root];
    b->wire_us = least_wire(hops, root);
    b->send_us = n > 1 ? hops->send[b->by_send[0]] : 0;
    return NF_OK;
}

/* The root, and those of ready_us[1..k) that are ready in time, have sent k
 * messages.  Who was in time for k is so for k + 1. */
static double parts_sent_us(struct bound *b, uint32_t k)
{
    double time_us;

    if (b->hops->send[b->root] <= 0)
        return 0;
    time_us = (k + b->sent_before) / b->rate;
    for (; b->senders < k && b->ready_us[b->senders] < time_us; b->senders++) {
        double send_us = b->hops->send[b->by_send[b->senders - 1]];

        if (send_us <= 0)
            return b->ready_us[b->senders];
        b->rate += 1 / send_us;
        b->sent_before += b->ready_us[b->senders] / send_us;
        time_us = (k + b->sent_before) / b->rate;
    }
    return time_us;
}

/* One whole message more. */
static double whole_sent_us(struct bound *b)
{
    struct nf_heap_item first = b->heap.items[0];
    double send_us =
        first.node == b->root ? b->hops->send[b->root] : b->send_us;

    nf_heap_delay_top(&b->heap, first.key + send_us);
    return first.key;
}

static double run(struct bound *b)
{
    uint32_t n = b->hops->nodes;

    nf_heap_push(&b->heap, b->hops->send[b->root], b->root);
    for (uint32_t k = 1; k < n; k++) {
        double ready_us = 0;

        b->tau_us[k] = fmax(parts_sent_us(b, k), whole_sent_us(b));
        for (uint32_t h = 1; h <= k; h++) {
            double us = b->tau_us[h] + b->wire_us + b->recv_us[k - h];

            if (us > ready_us)
                ready_us = us;
        }
        b->ready_us[k] = ready_us;
        /* whichever node that is, but the root */
        nf_heap_push(&b->heap, b->ready_us[k] + b->send_us, b->by_send[k - 1]);
    }
    return n > 1 ? b->ready_us[n - 1] : 0;
}

enum nf_status nf_tree_bound(const struct nf_hops *hops, uint32_t root,
                             double *time_us_p)
{
    enum nf_status status = nf_hops_check(hops, root);

    return status == NF_OK ? nf_tree_bound_legal(hops, root, time_us_p)
                           : status;
}

enum nf_status nf_tree_bound_legal(const struct nf_hops *hops, uint32_t root,
                                   double *time_us_p)
{
    struct bound b;

    if (bound_init(&b, hops, root) != NF_OK)
        return NF_ERR_NOMEM;
    *time_us_p = run(&b);
    bound_fini(&b);
    return NF_OK;
}
