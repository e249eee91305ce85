#ifndef NF_SLAVE_EXCHANGE_H
#define NF_SLAVE_EXCHANGE_H
/** @file exchange.h  A slave's part in an exchange between two phases: pieces of
 *  its results go to where they are inputs, and inputs are made of those that
 *  come.  Two calls of all-to-all in the group of those who take part: how large
 *  the pieces are, and the pieces.  By which algorithm depends on the largest block
 *  of all, for which there is a call in between, while pieces are packed.  What may take long is done in slices, as the
 *  master must hear of us meanwhile. */
#include "common/coll/exchange_bounds.h"
#include "common/wire/wire.h"
#include "nowfarm_group.h"
#include "slave/pieces.h"

enum nf_exchange_stage {
    NF_EXCHANGE_NONE,   /**< there is none */
    NF_EXCHANGE_MEET,   /**< the group is to come */
    NF_EXCHANGE_SIZES,  /**< their sizes are on the way */
    NF_EXCHANGE_PACK,   /**< and how large the largest block is, likewise */
    NF_EXCHANGE_AGREE,  /**< all is packed, that is not known yet */
    NF_EXCHANGE_MOVE,   /**< the pieces are on the way */
    NF_EXCHANGE_UNPACK,
};

/** Units of each rank, as lists one behind the other. */
struct nf_exchange_lists {
    uint64_t *units; /* [units] */
    uint64_t *start; /* [count + 1] where those of a rank begin */
};

/** Zero-initialise it. */
struct nf_exchange {
    enum nf_exchange_stage stage;
    struct nf_exchanged_msg told; /**< for the master, when it is done */
    uint32_t phase, rank, count;
    /* inside */
    struct nf_stock *stock;
    enum nf_type type;
    struct nf_exchange_lists holders, homes;
    struct nf_exchange_bounds bounds; /* algorithms, by the largest block */
    uint64_t largest_bytes[2];        /* of ours; of all */
    struct nf_pieces *results; /* [units that we hold] those that we give: late
                                  answers may change what is in the stock */
    size_t *send_counts, *counts; /* [count] of the call under way */
    uint64_t *out_sizes, *in_sizes; /* of pieces: by rank, by the holder's units,
                                       by the home's */
    uint8_t *out, *in;              /* the pieces, likewise */
    size_t out_bytes, in_bytes;
    struct nf_pieces *inputs; /* [units for us] that are being made */
    uint32_t at_rank;         /* next to be packed or unpacked */
    uint64_t at_unit;         /* index in the list */
    size_t at_byte, at_size;  /* in out or in; in the sizes */
    int64_t began_us;         /* moving */
};

/** EXCHANGE has come.  What it shows to be of no use is dropped from the stock:
 *  results of which another slave's count, and inputs that are to come anew.
 *  @param stock  borrowed until it is done or cleared
 *  @param type   of the elements of results
 *  @retval NF_ERR_FAILED  one of the results is not here
 *  @retval NF_ERR_PROTOCOL  it is of another job
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_exchange_begin(struct nf_exchange *x,
                                 const struct nf_exchange_msg *m,
                                 struct nf_stock *stock, enum nf_type type);
/** Go on, for some @p slice_us.
 *  @param group      NULL: nobody else takes part
 *  @param request_p  the call under way, or NULL
 *  @retval NF_OK    it is done: the inputs are in the stock
 *  @retval NF_WAIT  there is more to come, or to do: nf_exchange_is_busy()
 *  @retval NF_ERR_PROTOCOL  what came makes no sense
 *  @retval NF_ERR_NOMEM  @retval < 0  the group failed */
enum nf_status nf_exchange_turn(struct nf_exchange *x, struct nf_group *group,
                                struct nf_request **request_p,
                                int64_t slice_us);
/** Is there something to do at once? */
bool nf_exchange_is_busy(const struct nf_exchange *x);
/** Forget it. */
void nf_exchange_clear(struct nf_exchange *x);
#endif
