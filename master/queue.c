/* The order of jobs.  Two arrays of the same entries: all of them by number,
 * and the queued ones in the order of starting.  Numbers only grow, so adding
 * to the first is an append, and both are searched by bisection. */
#include "config.h"
#include "master/queue.h"
#include <string.h>
#include "common/base/alloc.h"

struct list {
    struct nf_queue_entry **items;
    size_t count, capacity;
};

struct nf_queue {
    struct list all;     /* by id */
    struct list waiting; /* by priority, highest first, then by id */
    size_t running, final;
    uint64_t last_id;
    uint32_t max_running;
    bool draining;
};

static const char *const state_names[] = {
    "queued", "running", "done", "failed", "cancelled", "interrupted",
};

const char *nf_job_state_name(enum nf_job_state state)
{
    return state_names[state];
}

enum nf_status nf_job_state_parse(const char *name, enum nf_job_state *state_p)
{
    for (int i = 0; i <= NF_JOB_INTERRUPTED; i++)
        if (strcmp(name, state_names[i]) == 0) {
            *state_p = (enum nf_job_state)i;
            return NF_OK;
        }
    return NF_ERR_INVAL;
}

bool nf_job_state_is_final(enum nf_job_state state)
{
    return state != NF_JOB_QUEUED && state != NF_JOB_RUNNING;
}

static enum nf_status list_reserve(struct list *list, size_t count)
{
    size_t capacity = list->capacity == 0 ? 16 : list->capacity;
    struct nf_queue_entry **items;

    while (capacity < count)
        capacity *= 2;
    if (capacity == list->capacity)
        return NF_OK;
    items = nf_realloc(list->items, capacity * sizeof(struct nf_queue_entry *));
    if (items == NULL)
        return NF_ERR_NOMEM;
    list->items = items;
    list->capacity = capacity;
    return NF_OK;
}

/* There is room: list_reserve() came before. */
static void list_insert(struct list *list, size_t at,
                        struct nf_queue_entry *entry)
{
    memmove(&list->items[at + 1], &list->items[at],
            (list->count - at) * sizeof(struct nf_queue_entry *));
    list->items[at] = entry;
    list->count++;
}

static void list_remove(struct list *list, size_t at)
{
    list->count--;
    memmove(&list->items[at], &list->items[at + 1],
            (list->count - at) * sizeof(struct nf_queue_entry *));
}

static bool starts_before(const struct nf_queue_entry *a,
                          const struct nf_queue_entry *b)
{
    return a->priority != b->priority ? a->priority > b->priority
                                      : a->id < b->id;
}

/* Where `entry` is, or belongs, among the waiting. */
static size_t waiting_index(const struct nf_queue *queue,
                            const struct nf_queue_entry *entry)
{
    size_t lo = 0, hi = queue->waiting.count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (starts_before(queue->waiting.items[mid], entry))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Where job `id` is, or belongs, among all. */
static size_t all_index(const struct nf_queue *queue, uint64_t id)
{
    size_t lo = 0, hi = queue->all.count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (queue->all.items[mid]->id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct nf_queue *nf_queue_create(uint32_t max_running)
{
    struct nf_queue *queue = nf_calloc(1, sizeof(*queue));

    if (queue != NULL)
        queue->max_running = max_running;
    return queue;
}

void nf_queue_destroy(struct nf_queue *queue)
{
    if (queue == NULL)
        return;
    nf_free(queue->all.items);
    nf_free(queue->waiting.items);
    nf_free(queue);
}

void nf_queue_set_max_running(struct nf_queue *queue, uint32_t max_running)
{
    queue->max_running = max_running;
}

void nf_queue_drain(struct nf_queue *queue)
{
    queue->draining = true;
}

enum nf_status nf_queue_add(struct nf_queue *queue,
                            struct nf_queue_entry *entry)
{
    enum nf_status status;

    if (entry->id <= queue->last_id || entry->state == NF_JOB_RUNNING)
        return NF_ERR_INVAL;
    /* Room for every job among the waiting, so that a job that goes back to
     * the queue can never be lost to a failed allocation. */
    status = list_reserve(&queue->all, queue->all.count + 1);
    if (status == NF_OK)
        status = list_reserve(&queue->waiting, queue->all.count + 1);
    if (status != NF_OK)
        return status;
    entry->cancelling = false;
    queue->last_id = entry->id;
    list_insert(&queue->all, queue->all.count, entry);
    if (entry->state == NF_JOB_QUEUED)
        list_insert(&queue->waiting, waiting_index(queue, entry), entry);
    else
        queue->final++;
    return NF_OK;
}

struct nf_queue_entry *nf_queue_find(const struct nf_queue *queue, uint64_t id)
{
    size_t at = all_index(queue, id);

    if (at == queue->all.count || queue->all.items[at]->id != id)
        return NULL;
    return queue->all.items[at];
}

enum nf_status nf_queue_remove(struct nf_queue *queue, uint64_t id)
{
    struct nf_queue_entry *entry = nf_queue_find(queue, id);

    if (entry == NULL || entry->state == NF_JOB_RUNNING)
        return NF_ERR_INVAL;
    if (entry->state == NF_JOB_QUEUED)
        list_remove(&queue->waiting, waiting_index(queue, entry));
    else
        queue->final--;
    list_remove(&queue->all, all_index(queue, id));
    return NF_OK;
}

enum nf_status nf_queue_start(struct nf_queue *queue,
                              struct nf_queue_entry **entry_p)
{
    struct nf_queue_entry *entry;

    if (queue->draining || queue->waiting.count == 0 ||
        queue->running >= queue->max_running)
        return NF_WAIT;
    entry = queue->waiting.items[0];
    list_remove(&queue->waiting, 0);
    entry->state = NF_JOB_RUNNING;
    queue->running++;
    *entry_p = entry;
    return NF_OK;
}

static enum nf_job_state state_after(const struct nf_queue *queue,
                                     const struct nf_queue_entry *entry,
                                     enum nf_end end)
{
    if (end == NF_END_OK)
        return NF_JOB_DONE; /* also if a cancel came too late */
    if (entry->cancelling)
        return NF_JOB_CANCELLED;
    if (end == NF_END_FAILED)
        return NF_JOB_FAILED;
    return queue->draining ? NF_JOB_QUEUED : NF_JOB_INTERRUPTED;
}

enum nf_status nf_queue_end(struct nf_queue *queue, uint64_t id,
                            enum nf_end end, enum nf_job_state *state_p)
{
    struct nf_queue_entry *entry = nf_queue_find(queue, id);

    if (entry == NULL || entry->state != NF_JOB_RUNNING)
        return NF_ERR_INVAL;
    entry->state = state_after(queue, entry, end);
    entry->cancelling = false;
    queue->running--;
    if (entry->state == NF_JOB_QUEUED)
        list_insert(&queue->waiting, waiting_index(queue, entry), entry);
    else
        queue->final++;
    *state_p = entry->state;
    return NF_OK;
}

enum nf_status nf_queue_cancel(struct nf_queue *queue, uint64_t id)
{
    struct nf_queue_entry *entry = nf_queue_find(queue, id);

    if (entry == NULL)
        return NF_ERR_INVAL;
    if (nf_job_state_is_final(entry->state))
        return NF_ERR_FAILED;
    if (entry->state == NF_JOB_RUNNING) {
        entry->cancelling = true;
        return NF_WAIT;
    }
    list_remove(&queue->waiting, waiting_index(queue, entry));
    entry->state = NF_JOB_CANCELLED;
    queue->final++;
    return NF_OK;
}

size_t nf_queue_count(const struct nf_queue *queue)
{
    return queue->all.count;
}

size_t nf_queue_waiting(const struct nf_queue *queue)
{
    return queue->waiting.count;
}

size_t nf_queue_running(const struct nf_queue *queue)
{
    return queue->running;
}

struct nf_queue_entry *nf_queue_at(const struct nf_queue *queue, size_t index)
{
    return queue->all.items[index];
}

struct nf_queue_entry *nf_queue_waiting_at(const struct nf_queue *queue,
                                           size_t index)
{
    return queue->waiting.items[index];
}

struct nf_queue_entry *nf_queue_surplus(const struct nf_queue *queue,
                                        size_t keep)
{
    if (queue->final <= keep)
        return NULL;
    for (size_t i = 0; i < queue->all.count; i++)
        if (nf_job_state_is_final(queue->all.items[i]->state))
            return queue->all.items[i];
    return NULL;
}
