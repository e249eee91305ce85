#ifndef NF_FARM_CHUNK_H
#define NF_FARM_CHUNK_H
/** @file chunk.h  Records of consecutive units on the move: leases, and ranges
 *  that came back.  A lost lease turns into a returned range without needing
 *  memory, so that losing a slave cannot fail.
 *
 *  Records live in blocks that never move; they are named by index, linked
 *  into lists by index, and a lease's id also holds the generation of its
 *  record, so that an answer to an old lease is known as such. */
#include "common/base/error.h"
#include <stdbool.h>
#include <stdint.h>

#define NF_CHUNK_NONE UINT32_MAX

enum nf_chunk_state { NF_CHUNK_FREE, NF_CHUNK_LEASED, NF_CHUNK_RETURNED };

/** 56 bytes: a policy may lease every unit by itself. */
struct nf_chunk {
    uint64_t first, count; /**< not yet answered, or waiting */
    int64_t sent_us;
    uint32_t sent_units;
    uint32_t generation;
    uint32_t prev, next; /**< in its list */
    uint32_t twin; /**< the other copy of it, a live lease, or NONE; both end
                        with the same unit */
    uint32_t slot;
    uint32_t attempts; /**< tries that ended badly, of each of its units */
    uint8_t state;     /**< enum nf_chunk_state */
    uint8_t silences;  /**< slaves that fell silent over each of its units */
    bool single : 1;   /**< suspect: hand out one unit at a time */
    bool alone : 1;    /**< ... on a slave that has nothing else */
    bool spoilt : 1;   /**< a copy of it ended badly: do not copy it again */
    bool stale : 1;    /**< its units were settled when a gather began: its slave
                            may have thrown away what it had of them */
};

struct nf_chunk_list {
    uint32_t head, tail;
};

struct nf_chunks {
    struct nf_chunk **blocks;
    uint32_t nblocks, max_blocks;
    uint32_t unused; /**< last freed first, linked by next */
};

void nf_chunks_init(struct nf_chunks *chunks);
void nf_chunks_fini(struct nf_chunks *chunks);

/** Make sure that the next nf_chunks_new() succeeds.  Amortised O(1).
 *  @retval NF_ERR_NOMEM  nothing changed */
enum nf_status nf_chunks_reserve(struct nf_chunks *chunks);
/** An unlinked record in state RETURNED, zero but for its generation; after a
 *  reserve. */
uint32_t nf_chunks_new(struct nf_chunks *chunks);
/** Give an unlinked record back. */
void nf_chunks_free(struct nf_chunks *chunks, uint32_t index);
struct nf_chunk *nf_chunks_at(const struct nf_chunks *chunks, uint32_t index);

/** Turn an unlinked record into a lease.  @return its id, never 0 */
uint64_t nf_chunks_lease(struct nf_chunks *chunks, uint32_t index);

/** The id that nf_chunks_lease() gave. */
uint64_t nf_chunks_lease_id(const struct nf_chunks *chunks, uint32_t index);

enum nf_lease_age { NF_LEASE_LIVE, NF_LEASE_LATE, NF_LEASE_UNKNOWN };
/** @param index_p  set if live
 *  @return UNKNOWN if no lease ever had this id */
enum nf_lease_age nf_chunks_find(const struct nf_chunks *chunks, uint64_t lease,
                                 uint32_t *index_p);

void nf_chunk_list_init(struct nf_chunk_list *list);
void nf_chunk_list_append(struct nf_chunks *chunks, struct nf_chunk_list *list,
                          uint32_t index);
void nf_chunk_list_remove(struct nf_chunks *chunks, struct nf_chunk_list *list,
                          uint32_t index);
#endif
