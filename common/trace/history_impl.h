#ifndef NF_TRACE_HISTORY_IMPL_H
#define NF_TRACE_HISTORY_IMPL_H
/** @file history_impl.h  Between the reader's files: history.c reads lines,
 *  events.c and leases.c understand them, members.c takes them apart. */
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

/* members.c; errors say what, but not where. */
/** A count or a time, 0..2^53 (a lease or seed 0..2^63).  Without @p required,
 * 0 if it is not there.
 *  @retval NF_ERR_INVAL */
enum nf_status nf_history_get(struct nf_history_reader *r, const json_t *line,
                              const char *key, bool required,
                              uint64_t *number_p);
/** A number to get; a row of them ends with key NULL. */
struct nf_history_field {
    const char *key;
    uint64_t *to;
    bool required;
};
enum nf_status nf_history_get_all(struct nf_history_reader *r,
                                  const json_t *line,
                                  const struct nf_history_field *fields);
/** A text, cut to text[0..bytes), one line. */
enum nf_status nf_history_get_text(struct nf_history_reader *r,
                                   const json_t *line, const char *key,
                                   char *text, size_t bytes);
/** @return NF_ERR_NOMEM, and *r->err says so. */
enum nf_status nf_history_no_memory(struct nf_history_reader *r);
/** Room for one element more.  @return false if there is none */
bool nf_history_room(void **array, uint32_t count, uint32_t *capacity,
                     size_t bytes);

/* events.c */
/** The slave of a line, which must have come before. */
enum nf_status nf_history_known_slave(struct nf_history_reader *r,
                                      const json_t *line, uint32_t *index_p);

/* leases.c: the events, and */
enum nf_status nf_history_on_sent(struct nf_history_reader *r,
                                  const json_t *line, int64_t now_us);
enum nf_status nf_history_on_part(struct nf_history_reader *r,
                                  const json_t *line, int64_t now_us);
enum nf_status nf_history_on_result(struct nf_history_reader *r,
                                    const json_t *line, int64_t now_us);
enum nf_status nf_history_on_failed(struct nf_history_reader *r,
                                    const json_t *line, int64_t now_us);
enum nf_status nf_history_on_cancelled(struct nf_history_reader *r,
                                       const json_t *line, int64_t now_us);
/** The chunk ends, unless it has ended. */
void nf_history_end_chunk(struct nf_history_reader *r, uint32_t index,
                          enum nf_chunk_fate fate, int64_t now_us);

/** Read the first line.  Errors say what, but not where. */
enum nf_status nf_history_header(struct nf_history_reader *r,
                                 const json_t *line);
/** Read any other line. */
enum nf_status nf_history_event(struct nf_history_reader *r,
                                const json_t *line);
#endif
