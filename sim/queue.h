#ifndef NF_SIM_QUEUE_H
#define NF_SIM_QUEUE_H
/** @file queue.h  The future of a simulation: events in order of time; those of
 *  one instant in the order in which they were scheduled. */
#include "common/base/error.h"

struct nf_sim_event {
    int64_t at_us;
    uint64_t number; /**< of scheduling */
    uint32_t kind;   /**< the simulation's */
    uint64_t id;     /**< what it is about */
};

struct nf_sim_queue {
    struct nf_sim_event *heap;
    size_t count, max;
    uint64_t scheduled;
};

/** @p queue is zeroed before its first use.  O(log count).
 *  @retval NF_ERR_NOMEM  nothing changed */
enum nf_status nf_sim_queue_push(struct nf_sim_queue *queue, int64_t at_us,
                                 uint32_t kind, uint64_t id);
/** Take the next event.  O(log count).
 *  @retval NF_WAIT  there is none */
enum nf_status nf_sim_queue_pop(struct nf_sim_queue *queue,
                                struct nf_sim_event *event_p);
void nf_sim_queue_fini(struct nf_sim_queue *queue);
#endif
