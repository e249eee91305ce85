#include "config.h"
#include "sim/queue.h"
#include "common/base/alloc.h"
#include <stdbool.h>
#include "common/base/heap.h"

static inline bool goes_before(const struct nf_sim_event *a,
                               const struct nf_sim_event *b)
{
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us;
    return a->number < b->number;
}

NF_HEAP(events, struct nf_sim_event, goes_before)

enum nf_status nf_sim_queue_push(struct nf_sim_queue *queue, int64_t at_us,
                                 uint32_t kind, uint64_t id)
{
    struct nf_sim_event event = { at_us, queue->scheduled, kind, id };

    if (queue->count == queue->max) {
        size_t max = queue->max ? 2 * queue->max : 64;
        struct nf_sim_event *heap =
            nf_realloc(queue->heap, max * sizeof(*heap));

        if (!heap)
            return NF_ERR_NOMEM;
        queue->heap = heap;
        queue->max = max;
    }
    queue->scheduled++;
    events_push(queue->heap, queue->count++, event);
    return NF_OK;
}

enum nf_status nf_sim_queue_pop(struct nf_sim_queue *queue,
                                struct nf_sim_event *event_p)
{
    if (queue->count == 0)
        return NF_WAIT;
    *event_p = queue->heap[0];
    events_pop(queue->heap, queue->count--);
    return NF_OK;
}

void nf_sim_queue_fini(struct nf_sim_queue *queue)
{
    nf_free(queue->heap);
    *queue = (struct nf_sim_queue){ 0 };
}
