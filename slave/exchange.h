#ifndef NF_SLAVE_EXCHANGE_H
#define NF_SLAVE_EXCHANGE_H
/** @file exchange.h  A slave's part in an exchange between two phases: pieces of
 *  its results go to where they are inputs, and inputs are made of those that
 *  come.  Three calls of all-to-all in the group of those who take part: how long
 *  the tables are, the tables of how large the pieces are (sizes.h: by the
 *  holder's units, by the home's), and the pieces.  By which algorithm these go
 *  depends on the largest block of all, for which there is a call in between, while
 *  pieces are packed.  What may take long is done in slices, as the master must hear
 *  of us meanwhile.
 *
 *  What comes is not copied: inputs are chains of pieces (blob.h) that lie in the messages
 *  that brought them, or in our own results.  Messages are chains, too, of parts of our
 *  results, unless these are many and small: then they are packed before.  Between threads chains
 *  arrive as such, and inputs are made of the others' results.  Small pieces are copied
 *  into inputs.
 *
 *  Memory: what comes from others, until its units are computed; what we give to them, if
 *  it is packed; 24 bytes a piece; tables of pieces; 20 bytes a unit, and some hundred for
 *  each of ours and each slave. */
#include "common/coll/exchange_bounds.h"
#include "common/group/exec.h"
#include "common/wire/wire.h"
#include "nowfarm_group.h"
#include "slave/pieces.h"
#include "slave/sizes.h"

enum nf_exchange_stage {
    NF_EXCHANGE_NONE,    /**< there is none */
    NF_EXCHANGE_MEET,    /**< the group is to come */
    NF_EXCHANGE_LIST,    /**< our tables are made */
    NF_EXCHANGE_LENGTHS, /**< the lengths of tables are on the way */
    NF_EXCHANGE_TABLES,  /**< the tables are */
    NF_EXCHANGE_MEASURE, /**< theirs are read */
    NF_EXCHANGE_PACK,  /**< and how large the largest block is, is on the way */
    NF_EXCHANGE_AGREE, /**< all is packed, that is not known yet */
    NF_EXCHANGE_MOVE,  /**< the pieces are on the way */
    NF_EXCHANGE_UNPACK,
};

/** Units of each rank, as lists one behind the other. */
struct nf_exchange_lists {
    uint32_t *units; /* [units] */
    uint32_t *start; /* [count + 1] where those of a rank begin */
    uint32_t *rank;  /* [units] whose a unit is; >= count: nobody's */
};

static inline uint32_t nf_exchange_length(const struct nf_exchange_lists *lists,
                                          uint32_t rank)
{
    return lists->start[rank + 1] - lists->start[rank];
}

static inline const uint32_t *
nf_exchange_list(const struct nf_exchange_lists *lists, uint32_t rank)
{
    return lists->units + lists->start[rank];
}

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
    uint32_t *place; /* [units] of a unit in the list of its home's rank */
    size_t *send_counts, *counts;        /* [count] of the call under way */
    struct nf_sizes *out_sizes;          /* [count] what is for each rank */
    uint64_t *out_lengths, *in_lengths;  /* [count] bytes of tables */
    uint8_t *out_table, *in_table;       /* by rank */
    struct nf_sizes_reader *readers;     /* [count] of those that came */
    /* The pieces that go, by the holder's units, by the home's */
    struct nf_blob **out;            /* [count] a chain or one piece; NULL: no bytes */
    struct nf_exec_block *blocks;    /* [count] those that came, in the same order */
    struct nf_blob_reader *at_piece; /* [count] next in them */
    size_t *out_bytes, *in_bytes;    /* [count] */
    size_t *out_parts;               /* [count] runs of neighbours in our results */
    size_t *at_byte;                 /* [count] next in out; or behind the last piece */
    struct nf_exchange_input {
        struct nf_pieces pieces;
        struct nf_sizes sizes;
        size_t bytes, filled;
        size_t count; /* of pieces with bytes */
    } *inputs;        /* [units for us] that are being made */
    uint64_t at_unit; /* next to be listed, measured, packed, unpacked */
    uint32_t own_unit; /* next of those that we hold, to be unpacked */
    bool nonsense;    /* that was in a table */
    int64_t began_us; /* the call under way */
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

/* Inside. */

/** What goes to each is to be a chain, or packed.  @return false: no memory */
bool nf_exchange_make_out(struct nf_exchange *x, const struct nf_group *group);
/** Put our next result there.  @return whether there are more */
bool nf_exchange_pack_result(struct nf_exchange *x);
/** They are with those who get them. */
void nf_exchange_drop_out(struct nf_exchange *x);
/** All have come: inputs are to be made.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_exchange_begin_inputs(struct nf_exchange *x);
/** Put into ours what the next unit has for them.
 *  @return whether there are more, and no nonsense */
bool nf_exchange_join_unit(struct nf_exchange *x);
/** They are complete.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_exchange_store(struct nf_exchange *x);
#endif
