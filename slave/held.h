#ifndef NF_SLAVE_HELD_H
#define NF_SLAVE_HELD_H
/** @file held.h  Results that stay with the slave until the master says which
 * of them count.  A unit may be there twice; both are results of it. */
#include "common/base/blob.h"
#include "common/wire/wire.h"

struct nf_held_part;

struct nf_held {
    struct nf_held_part *parts;
    size_t nparts, capacity;
    uint64_t bytes; /**< of results */
};

void nf_held_fini(struct nf_held *held);
/** Forget everything. */
void nf_held_clear(struct nf_held *held);
/** Keep the results that a RESULT tells of.
 *  @param m        its layout is copied
 *  @param payload  takes its own reference; NULL: no bytes
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_held_add(struct nf_held *held, const struct nf_result_msg *m,
                           struct nf_blob *payload);

/** A result of a unit that counts; bytes SIZE_MAX: it is not here. */
struct nf_held_unit {
    const uint8_t *data;
    size_t bytes;
};
/** Find what counts, in the order of units, and forget what has none of it.
 *  @param units_p  [*count_p] to nf_free(); data stays until the next call
 *  @retval NF_ERR_FAILED  one of the units is not here
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_held_pick(struct nf_held *held, const struct nf_gather_msg *m,
                            struct nf_held_unit **units_p, uint64_t *count_p);
#endif
