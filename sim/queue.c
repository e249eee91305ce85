#include "config.h"
#include "sim/queue.h"
#include "common/base/alloc.h"
#include <stdbool.h>

static bool goes_before(const struct nf_sim_event *a,
                        const struct nf_sim_event *b)
{
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us;
    return a->number < b->number;
}

enum nf_status nf_sim_queue_push(struct nf_sim_queue *queue, int64_t at_us,
                                 uint32_t kind, uint64_t id)
{
    struct nf_sim_event event = { at_us, queue->scheduled, kind, id };
    size_t place = queue->count;

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
    queue->count++;
    while (place > 0 && goes_before(&event, &queue->heap[(place - 1) / 2])) {
        queue->heap[place] = queue->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    queue->heap[place] = event;
    return NF_OK;
}

enum nf_status nf_sim_queue_pop(struct nf_sim_queue *queue,
                                struct nf_sim_event *event_p)
{
    struct nf_sim_event *heap = queue->heap, last;
    size_t place = 0, child;

    if (queue->count == 0)
        return NF_WAIT;
    *event_p = heap[0];
    last = heap[--queue->count];
    while ((child = 2 * place + 1) < queue->count) {
        if (child + 1 < queue->count &&
            goes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!goes_before(&heap[child], &last))
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = last;
    return NF_OK;
}

void nf_sim_queue_fini(struct nf_sim_queue *queue)
{
    nf_free(queue->heap);
    *queue = (struct nf_sim_queue){ 0 };
}
