#ifndef NF_TRACE_HISTORY_IMPL_H
#define NF_TRACE_HISTORY_IMPL_H
/** @file history_impl.h  Between the reader's files: history.c reads lines,
 *  events.c understands them. */
#include <jansson.h>
#include "common/trace/history.h"

/** Numbers to indices, open addressing. */
struct nf_history_map {
    uint64_t *keys;
    uint32_t *values; /* NF_HISTORY_NONE: free */
    size_t size, used;
};

struct nf_history_reader {
    struct nf_history *h;
    struct nf_history_map slaves, leases;
    uint32_t slaves_capacity, slots_capacity, chunks_capacity, stays_capacity,
        phases_capacity, given_up_capacity;
    uint32_t *slot_tails; /* [nslots]: the last chunk */
    uint32_t *live_next;  /* [nchunks]: of its slave's unanswered leases */
    uint32_t *live_prev;
    uint32_t tails_capacity, next_capacity, prev_capacity;
    struct nf_error *err;
};

/** @return the value of @p key, or NF_HISTORY_NONE. */
uint32_t nf_history_map_find(const struct nf_history_map *map, uint64_t key);
/** @p key must be new.  @return false if out of memory */
bool nf_history_map_add(struct nf_history_map *map, uint64_t key,
                        uint32_t value);
void nf_history_map_fini(struct nf_history_map *map);

/** Read the first line.  Errors say what, but not where. */
enum nf_status nf_history_header(struct nf_history_reader *r,
                                 const json_t *line);
/** Read any other line. */
enum nf_status nf_history_event(struct nf_history_reader *r,
                                const json_t *line);
#endif
