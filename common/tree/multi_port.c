/* The fastest tree for nodes with several ports: always the send that can end
 * first, by a heap of senders.
 *
 * Cost = by the starts o(n) of the model; no tree is faster, as to have as many
 * senders as early as possible is best among nodes that are alike. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/base/heap.h"
#include "common/tree/uniform.h"

struct sender {
    int64_t next; /* when its next send would start */
    int64_t ready;
    uint32_t node, sent;
};

static inline bool goes_before(const struct sender *a, const struct sender *b)
{
    return a->next != b->next ? a->next < b->next : a->node < b->node;
}

NF_HEAP(senders, struct sender, goes_before)

static enum nf_status make(const struct nf_uniform_args *args, uint32_t root,
                           uint32_t *sender_p, uint32_t *receiver_p)
{
    const struct nf_uniform *model = &args->uniform;
    struct sender *heap = nf_calloc(args->nodes, sizeof(*heap));

    if (heap == NULL)
        return NF_ERR_NOMEM;
    heap[0] = (struct sender){ .node = root };
    for (uint32_t k = 0; k + 1 < args->nodes; k++) {
        struct sender first = heap[0];
        int64_t ready = first.next + model->end;

        sender_p[k] = first.node;
        receiver_p[k] = k + 1;
        first.sent++;
        first.next = first.ready + (model->start != NULL
                                        ? model->start(model, first.sent)
                                        : nf_uniform_start(model, first.sent));
        senders_replace(heap, k + 1, first);
        senders_push(
            heap, k + 1,
            (struct sender){ .next = ready, .ready = ready, .node = k + 1 });
    }
    nf_free(heap);
    return NF_OK;
}

const struct nf_uniform_algorithm nf_uniform_multi_port = {
    .name = "multi-port",
    .summary = "the fastest for any number of ports",
    .cost = "that of opt for one port",
    .source = "after Park, Choi, Nupairoj, Ni 1996",
    .make = make,
};
