#ifndef NF_SLAVE_LEASE_H
#define NF_SLAVE_LEASE_H
/** @file lease.h  A lease in the hands of a slave, with the messages that
 *  answer it.  Leases are used again, so that a short unit costs no malloc
 *  but that of its result. */
#include "common/base/blob.h"
#include "common/wire/wire.h"

/** A message that is part of the answer to a lease. */
struct nf_answer {
    struct nf_answer *next;
    enum nf_msg_kind kind; /**< RESULT or UNIT_FAILED */
    struct nf_body body;
    struct nf_blob *payload; /**< or NULL */
    struct nf_blob *sizes;   /**< phases before the last: of its pieces, see
                                  pieces.h; or NULL */
};

struct nf_slave_lease {
    struct nf_slave_lease *next;
    struct nf_lease_msg m; /**< m.layout.table points to table */
    uint8_t *table;
    size_t table_capacity;
    struct nf_blob *input; /**< or NULL; dropped when it has been computed */
    struct nf_blob *in_sizes; /**< phases after the first: of the pieces of the
                                   input; or NULL, as input */
    uint64_t in_round;        /**< ... and the exchange that brought them */
    struct nf_buf room;       /**< likewise: memory for the result, if there was
                                   some */
    int64_t arrival_us;    /**< -1: not stamped yet */

    int64_t compute_us;      /**< in the kernel */
    uint64_t computed_units; /**< that compute_us was spent on */
    bool nomem;              /**< the answers are not complete */
    size_t nanswers;
    struct nf_answer first; /**< most leases have only this one */
    struct nf_answer *last; /**< meaningless if nanswers == 0 */
};

/** Leases not in use.  One thread at a time. */
struct nf_lease_pool {
    struct nf_slave_lease *spare;
    size_t nspare;
};

/** Make a lease of a LEASE message; takes over msg->payload in any case.
 *  @retval NF_ERR_PROTOCOL  malformed, or the payload has not the size that
 *                           the layout tells, or m.slot >= nslots
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_lease_take(struct nf_lease_pool *pool,
                             const struct nf_msg *msg, uint32_t nslots,
                             struct nf_slave_lease **lease_p);
/** Give a lease back; forgets its answers. */
void nf_lease_release(struct nf_lease_pool *pool, struct nf_slave_lease *lease);
/** Free what the pool has. */
void nf_lease_pool_fini(struct nf_lease_pool *pool);

/** Take the lease with id @p lease out of a list.
 *  @param tail_p  meaningless while the list is empty
 *  @return NULL if it is not there */
struct nf_slave_lease *nf_lease_unlink(struct nf_slave_lease **head_p,
                                       struct nf_slave_lease **tail_p,
                                       uint64_t lease);

/** Append an empty answer of @p kind.  @return NULL if out of memory */
struct nf_answer *nf_lease_answer(struct nf_slave_lease *lease,
                                  enum nf_msg_kind kind);
#endif
