#ifndef NF_SLAVE_PIECES_H
#define NF_SLAVE_PIECES_H
/** @file pieces.h  What a slave keeps in a job of several phases: results, cut
 * into pieces, and the inputs that were made of pieces.  Memory is for what is
 * there: nothing grows with units times phases, or with the square of the
 * units. */
#include "common/base/blob.h"
#include "slave/room.h"
#include "slave/sizes.h"

/** The pieces of a result, or of an input.  Both blobs are shared, and
 * constant. */
struct nf_pieces {
    struct nf_blob *data; /**< or NULL: no bytes */
    struct nf_blob
        *sizes;     /**< of the pieces for, or from, all units: sizes.h */
    uint64_t round; /**< inputs: of the exchange that brought it */
};

/** Those of one phase, by unit. */
struct nf_shelf {
    struct nf_shelf_unit {
        uint64_t unit;
        struct nf_pieces pieces;
    } * list; /**< [count] sorted */
    size_t count, capacity;
};

/** Zero-initialise it. */
struct nf_stock {
    uint32_t phases; /**< 0: not made yet */
    uint64_t units;
    struct nf_shelf *results; /**< [phases - 1] of phase 0 first */
    struct nf_shelf *inputs;  /**< likewise, of phase 1 first */
    struct nf_room room;      /**< for results */
};

/** @retval NF_ERR_NOMEM */
enum nf_status nf_stock_init(struct nf_stock *stock, uint32_t phases,
                             uint64_t units);
/** Forget what there is. */
void nf_stock_clear(struct nf_stock *stock);
void nf_stock_fini(struct nf_stock *stock);
/** Results of @p phase, which is not the last. */
struct nf_shelf *nf_stock_results(const struct nf_stock *stock, uint32_t phase);
/** Inputs of @p phase, which is not the first. */
struct nf_shelf *nf_stock_inputs(const struct nf_stock *stock, uint32_t phase);

/** What there is of @p unit, until the shelf changes; or NULL.  O(log count) */
const struct nf_pieces *nf_shelf_find(const struct nf_shelf *shelf,
                                      uint64_t unit);
/** Put @p pieces there, taking references of its own, in place of what was
 * there.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_shelf_put(struct nf_shelf *shelf, uint64_t unit,
                            const struct nf_pieces *pieces);
/** Forget what there is of @p unit; a shelf that is empty takes no memory. */
void nf_shelf_drop(struct nf_shelf *shelf, uint64_t unit);

/** Goes over the pieces of a result that are not empty. */
struct nf_pieces_walk {
    uint64_t bytes; /**< of the piece that was given last */
    /* inside */
    struct nf_sizes_reader reader;
    uint64_t units, left; /* of the run of equal ones */
    uint64_t unit, at;    /* the next one, and where it begins */
};
/** @param units  that it has pieces for */
struct nf_pieces_walk nf_pieces_walk(const struct nf_pieces *result,
                                     uint64_t units);
/** @param unit_p  that the next piece is for
 *  @param at_p    where in the result it begins
 *  @return false: there is none */
bool nf_pieces_next(struct nf_pieces_walk *walk, uint64_t *unit_p,
                    uint64_t *at_p);

/** References of one's own. */
struct nf_pieces nf_pieces_ref(const struct nf_pieces *pieces);
void nf_pieces_fini(struct nf_pieces *pieces);
#endif
