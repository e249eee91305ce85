#ifndef NF_APPS_NOWFARM_TIMELINE_H
#define NF_APPS_NOWFARM_TIMELINE_H
/** @file timeline.h  A history as rows of what each slot did when: what all the
 *  pictures of `nowfarm gantt` are made of. */
#include "common/trace/history.h"

enum span_kind {
    SPAN_SHARED, /**< getting shared data, or another phase */
    SPAN_COMPUTE,
    SPAN_TRANSFER,  /**< nothing to compute, but a chunk or its result is on
                         the way */
    SPAN_IDLE,      /**< there, and nothing sent to it */
    SPAN_LOST,      /**< had a chunk whose work was lost, or failed */
    SPAN_CANCELLED, /**< had a chunk that was taken back */
    SPAN_OPEN,      /**< had a chunk when the trace ended */
    SPAN_KINDS
};

/** The word of a kind: "compute". */
extern const char *const span_names[SPAN_KINDS];

struct span {
    enum span_kind kind;
    int64_t from_us, to_us;               /**< from_us < to_us */
    const struct nf_history_chunk *chunk; /**< COMPUTE, LOST, CANCELLED, OPEN */
    const struct nf_history_phase *phase; /**< SHARED */
};

/** One slot. */
struct row {
    uint32_t slave, slot; /**< index into history->slaves; of that slave */
};

/** Stays or phases, as indices into the history's, slave by slave: those of
 *  slave i are list[first[i]..first[i + 1]), in their order in the history. */
struct by_slave {
    uint32_t *first; /**< [nslaves + 1] */
    uint32_t *list;
};

struct timeline {
    const struct nf_history *h;
    int64_t from_us, to_us; /**< of the job: first slave there, last result */
    uint32_t nrows;
    struct row *rows; /**< by host, then slave, then slot */
    uint32_t *hosts;  /**< [nslaves]: number of its host, by appearance */
    uint32_t nhosts;
    struct by_slave stays, phases;
};

/** O(n log n) in slaves, slots, stays and phases.
 *  @param history  must have a slave that joined; outlives the timeline
 *  @retval NF_ERR_INVAL  none did
 *  @retval NF_ERR_NOMEM */
enum nf_status timeline_create(const struct nf_history *history,
                               struct timeline *timeline_p,
                               struct nf_error *err);
void timeline_fini(struct timeline *timeline);

/** Call @p visit for each span of a row, in order and without overlap; the
 *  slot is not there in the gaps.  O(chunks of the slot +
 *  stays and phases of its slave). */
void timeline_walk(const struct timeline *timeline, const struct row *row,
                   void (*visit)(void *user, const struct span *span),
                   void *user);

/** Call @p visit for each time [from, to) in which a chunk waited in the queue
 *  of the slot, in order of sending. */
void timeline_walk_waits(const struct timeline *timeline, const struct row *row,
                         void (*visit)(void *user, int64_t from_us,
                                       int64_t to_us),
                         void *user);

/** A change of how many units are in the hands of slaves. */
struct change {
    int64_t at_us;
    int64_t units; /**< more, or less if negative */
};

/** All changes in order of time; 2 per chunk at most.
 *  @param changes_p  for nf_free()  @retval NF_ERR_NOMEM */
enum nf_status timeline_outstanding(const struct timeline *timeline,
                                    struct change **changes_p,
                                    size_t *nchanges_p);
#endif
