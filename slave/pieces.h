#ifndef NF_SLAVE_PIECES_H
#define NF_SLAVE_PIECES_H
/** @file pieces.h  What a slave keeps in a job of several phases: results, cut into
 *  pieces, and the inputs that were made of pieces. */
#include "common/base/blob.h"

/** The pieces of a result, or of an input.  Both blobs are shared, and constant. */
struct nf_pieces {
    struct nf_blob *data; /**< or NULL: no bytes */
    struct nf_blob *at;   /**< [units + 1] uint64_t: where each begins, and the
                               end; NULL: there is nothing */
    uint64_t round;       /**< inputs: of the exchange that brought it */
};

/** Zero-initialise it. */
struct nf_stock {
    uint32_t phases; /**< 0: not made yet */
    uint64_t units;
    struct nf_pieces *results; /**< [(phases - 1) * units] of phase 0 first */
    struct nf_pieces *inputs;  /**< likewise, of phase 1 first */
};

/** @retval NF_ERR_NOMEM */
enum nf_status nf_stock_init(struct nf_stock *stock, uint32_t phases,
                             uint64_t units);
/** Forget what there is. */
void nf_stock_clear(struct nf_stock *stock);
void nf_stock_fini(struct nf_stock *stock);
/** The result of @p unit in @p phase, which is not the last. */
struct nf_pieces *nf_stock_result(const struct nf_stock *stock, uint32_t phase,
                                  uint64_t unit);
/** The input of @p unit in @p phase, which is not the first. */
struct nf_pieces *nf_stock_input(const struct nf_stock *stock, uint32_t phase,
                                 uint64_t unit);
/** Put @p pieces there, taking references of its own. */
void nf_pieces_put(struct nf_pieces *there, const struct nf_pieces *pieces);
void nf_pieces_fini(struct nf_pieces *pieces);

static inline const uint64_t *nf_pieces_at(const struct nf_pieces *pieces)
{
    return pieces->at->data;
}

/** A table of where pieces of bytes[units] begin.  NULL: out of memory */
struct nf_blob *nf_pieces_table(const uint64_t *bytes, uint64_t units);
#endif
