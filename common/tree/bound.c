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
    double *tau_us, *ready_us;   /* [k], from 1 on */
    double wire_us, send_us;     /* the least; send_us not of the root */
    struct nf_heap heap;         /* senders, by when they have sent one more */
};

static void bound_fini(struct bound *b)
{
    nf_free(b->by_send);
    nf_free(b->by_recv);
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
    for (uint32_t j = 0; j < hops->nodes; j++)
        for (uint32_t i = 0; j != root && i < hops->nodes; i++)
            if (i != j)
                least_us = fmin(least_us, nf_hops_wire(hops, i, j));
    return least_us;
}

static enum nf_status bound_init(struct bound *b, const struct nf_hops *hops,
                                 uint32_t root)
{
    uint32_t n = hops->nodes;

    *b = (struct bound){ .hops = hops, .root = root };
    b->by_send = nf_calloc(n, sizeof(uint32_t));
    b->by_recv = nf_calloc(n, sizeof(uint32_t));
    b->tau_us = nf_calloc(n, sizeof(double));
    b->ready_us = nf_calloc(n, sizeof(double));
    b->heap.items = nf_calloc(n, sizeof(*b->heap.items));
    if (b->by_send == NULL || b->by_recv == NULL || b->tau_us == NULL ||
        b->ready_us == NULL || b->heap.items == NULL) {
        bound_fini(b);
        return NF_ERR_NOMEM;
    }
    nf_receivers_all(n, root, b->by_send);
    nf_receivers_all(n, root, b->by_recv);
    nf_sort_nodes(b->by_send, n - 1, hops->send);
    nf_sort_nodes(b->by_recv, n - 1, hops->recv);
    b->wire_us = least_wire(hops, root);
    b->send_us = n > 1 ? hops->send[b->by_send[0]] : 0;
    return NF_OK;
}

/* The root, and the nodes of ready_us[1..k), have sent k messages. */
static double parts_sent_us(const struct bound *b, uint32_t k)
{
    double rate = 0, sent_before = 0, time_us;

    if (b->hops->send[b->root] <= 0)
        return 0;
    rate = 1 / b->hops->send[b->root];
    time_us = k / rate;
    for (uint32_t i = 1; i < k && b->ready_us[i] < time_us; i++) {
        double send_us = b->hops->send[b->by_send[i - 1]];

        if (send_us <= 0)
            return b->ready_us[i];
        rate += 1 / send_us;
        sent_before += b->ready_us[i] / send_us;
        time_us = (k + sent_before) / rate;
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
        b->tau_us[k] = fmax(parts_sent_us(b, k), whole_sent_us(b));
        for (uint32_t h = 1; h <= k; h++)
            b->ready_us[k] =
                fmax(b->ready_us[k], b->tau_us[h] + b->wire_us +
                                         b->hops->recv[b->by_recv[k - h]]);
        /* whichever node that is, but the root */
        nf_heap_push(&b->heap, b->ready_us[k] + b->send_us, b->by_send[k - 1]);
    }
    return n > 1 ? b->ready_us[n - 1] : 0;
}

enum nf_status nf_tree_bound(const struct nf_hops *hops, uint32_t root,
                             double *time_us_p)
{
    enum nf_status status = nf_hops_check(hops, root);
    struct bound b;

    if (status != NF_OK)
        return status;
    if (bound_init(&b, hops, root) != NF_OK)
        return NF_ERR_NOMEM;
    *time_us_p = run(&b);
    bound_fini(&b);
    return NF_OK;
}
