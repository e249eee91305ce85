/* Hosts on one medium.  Only what ports offer is in the heap, each at the time
 * from which it waits for the medium: all else follows at once from that. */
#include "config.h"
#include "common/tree/hub.h"
#include <assert.h>
#include <string.h>
#include "common/base/alloc.h"

enum nf_status nf_hub_init(struct nf_hub *hub_p, uint32_t nodes, uint32_t most)
{
    struct nf_hub m = { .nodes = nodes, .most = most };

    m.messages = nf_calloc((size_t)most + 1, sizeof(*m.messages));
    m.ops = nf_calloc((size_t)most + 1, 2 * sizeof(uint32_t));
    m.first = nf_calloc((size_t)nodes + 2, sizeof(uint32_t));
    m.next = nf_calloc(nodes, sizeof(uint32_t));
    m.queued = nf_calloc(nodes, sizeof(uint32_t));
    m.offers = nf_calloc(nodes, sizeof(bool));
    m.hands_us = nf_calloc(nodes, sizeof(double));
    m.port_us = nf_calloc(nodes, sizeof(double));
    m.last_us = nf_calloc(nodes, sizeof(double));
    m.heap.items = nf_calloc(nodes, sizeof(*m.heap.items));
    *hub_p = m;
    if (m.messages != NULL && m.ops != NULL && m.first != NULL &&
        m.next != NULL && m.queued != NULL && m.offers != NULL &&
        m.hands_us != NULL && m.port_us != NULL && m.last_us != NULL &&
        m.heap.items != NULL)
        return NF_OK;
    nf_hub_fini(hub_p);
    return NF_ERR_NOMEM;
}

void nf_hub_fini(struct nf_hub *hub)
{
    nf_free(hub->messages);
    nf_free(hub->ops);
    nf_free(hub->first);
    nf_free(hub->next);
    nf_free(hub->queued);
    nf_free(hub->offers);
    nf_free(hub->hands_us);
    nf_free(hub->port_us);
    nf_free(hub->last_us);
    nf_free(hub->heap.items);
    *hub = (struct nf_hub){ .nodes = 0 };
}

void nf_hub_set(struct nf_hub_message *message, const struct nf_hops *hops,
                uint32_t src, uint32_t dst)
{
    message->src = src;
    message->dst = dst;
    message->send_us = hops->send[src];
    message->recv_us = hops->recv[dst];
    message->wire_us = nf_hops_wire(hops, src, dst);
    message->port_us = nf_hops_port(hops, src, dst);
    message->medium_us = nf_hops_medium(hops, src, dst);
}

/* What each host does, in its order. */
static void set_ops(struct nf_hub *m, uint32_t count)
{
    const struct nf_hub_message *all = m->messages;

    memset(m->first, 0, ((size_t)m->nodes + 2) * sizeof(*m->first));
    for (uint32_t i = 0; i < count; i++) {
        m->first[all[i].src + 2]++;
        m->first[all[i].dst + 2]++;
    }
    for (uint32_t v = 1; v < m->nodes + 2; v++)
        m->first[v] += m->first[v - 1];
    /* first[v + 1] is where v's next one goes; in the end v's end */
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && all[to].round == all[from].round; to++)
            m->ops[m->first[all[to].src + 1]++] = 2 * to;
        for (uint32_t i = from; i < to; i++)
            m->ops[m->first[all[i].dst + 1]++] = 2 * i + 1;
    }
}

/* In a pipe all nodes but the root get a segment before the next one goes. */
static void tell(const struct nf_hub *m, enum nf_span_kind kind,
                 const struct nf_hub_message *message, double from_us,
                 double to_us)
{
    struct nf_span span = { .kind = kind,
                            .src = message->src,
                            .dst = message->dst,
                            .from_us = from_us,
                            .to_us = to_us };

    assert(m->nodes > 1); /* or there was no message */
    span.segment = message->round / (m->nodes - 1);
    m->watch->on_span(m->watch->user, &span);
}

/* v's hands do what they can.
 * @return the last receipt, or 0 */
static double run_hands(struct nf_hub *m, uint32_t v, bool is_blocking)
{
    double last_us = 0;

    for (; m->next[v] < m->first[v + 1]; m->next[v]++) {
        uint32_t op = m->ops[m->next[v]];
        struct nf_hub_message *message = &m->messages[op / 2];

        if (op % 2 == 0) {
            if (!message->is_handed) {
                double from_us = m->hands_us[v];

                m->hands_us[v] += message->send_us;
                message->is_handed = true;
                message->at_us = m->hands_us[v];
                if (m->watch != NULL)
                    tell(m, NF_SPAN_SEND, message, from_us, m->hands_us[v]);
            }
            if (is_blocking && !message->is_there)
                break;
            if (is_blocking)
                m->hands_us[v] = message->at_us + message->recv_us;
        } else {
            double from_us = m->hands_us[v];

            if (!message->is_there)
                break;
            if (message->at_us > from_us)
                from_us = message->at_us;
            m->hands_us[v] = from_us + message->recv_us;
            if (m->watch != NULL)
                tell(m, NF_SPAN_RECV, message, from_us, m->hands_us[v]);
            last_us = m->last_us[v] = m->hands_us[v];
        }
    }
    return last_us;
}

/* If v's port has nothing on offer: has it now? */
static void offer(struct nf_hub *m, uint32_t v)
{
    const struct nf_hub_message *message;

    while (m->queued[v] < m->first[v + 1] && m->ops[m->queued[v]] % 2 == 1)
        m->queued[v]++;
    if (m->offers[v] || m->queued[v] == m->first[v + 1])
        return;
    message = &m->messages[m->ops[m->queued[v]] / 2];
    if (!message->is_handed)
        return;
    m->offers[v] = true;
    nf_heap_push(
        &m->heap,
        message->at_us > m->port_us[v] ? message->at_us : m->port_us[v], v);
}

/* What v's port has offered since @p now_us gets the medium. */
static struct nf_hub_message *let_go(struct nf_hub *m, uint32_t v,
                                     double now_us, double *medium_us)
{
    struct nf_hub_message *message = &m->messages[m->ops[m->queued[v]++] / 2];

    if (message->medium_us > 0) {
        if (*medium_us > now_us)
            now_us = *medium_us;
        *medium_us = now_us + message->medium_us;
        if (m->watch != NULL)
            tell(m, NF_SPAN_MEDIUM, message, now_us, *medium_us);
    }
    m->port_us[v] = now_us + message->port_us;
    if (m->watch != NULL)
        tell(m, NF_SPAN_PORT, message, now_us, m->port_us[v]);
    message->is_there = true;
    message->at_us = now_us + message->wire_us;
    m->offers[v] = false;
    return message;
}

double nf_hub_run(struct nf_hub *m, uint32_t count, bool is_blocking)
{
    double medium_us = 0, last_us = 0;

    set_ops(m, count);
    for (uint32_t i = 0; i < count; i++)
        m->messages[i].is_handed = m->messages[i].is_there = false;
    m->heap.count = 0;
    for (uint32_t v = 0; v < m->nodes; v++) {
        m->next[v] = m->queued[v] = m->first[v];
        m->hands_us[v] = m->port_us[v] = m->last_us[v] = 0;
        m->offers[v] = false;
    }
    for (uint32_t v = 0; v < m->nodes; v++) {
        (void)run_hands(m, v, is_blocking); /* nothing has come */
        offer(m, v);
    }
    while (m->heap.count > 0) {
        const struct nf_heap_item top = m->heap.items[0];
        const struct nf_hub_message *message;
        double us;

        nf_heap_pop(&m->heap);
        message = let_go(m, top.node, top.key, &medium_us);
        us = run_hands(m, message->dst, is_blocking);
        if (us > last_us)
            last_us = us;
        if (is_blocking)
            (void)run_hands(m, top.node, is_blocking);
        offer(m, message->dst);
        offer(m, top.node);
    }
    return last_us;
}

double nf_hub_pipe(struct nf_hub *hub, const struct nf_tree *tree,
                   const uint32_t *order, const struct nf_hops *hops,
                   uint64_t segments, bool is_blocking)
{
    uint32_t count = 0;

    for (uint64_t q = 0; q < segments; q++)
        for (uint32_t k = 0; k < tree->nodes; k++) {
            uint32_t v = order[k];

            for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++) {
                nf_hub_set(&hub->messages[count], hops, v, tree->child[c]);
                hub->messages[count].round = count;
                count++;
            }
        }
    return nf_hub_run(hub, count, is_blocking);
}
