#ifndef NF_COLL_TORUS_CHOICE_H
#define NF_COLL_TORUS_CHOICE_H
/** @file torus_choice.h  Which all-to-all where the ranks are known to be a torus,
 *  whose channels carry messages to the next node only.  Without that all messages
 *  cost alike, and what sends blocks straight home wins (exchange_choice.h); on a
 *  torus they share channels.
 *
 *      T = sum over rounds of (1 + d (t-1)) T(c m), c the greater of the blocks
 *          of the largest message and those of the most loaded channel,
 *          d = delta - 1, t the turns that it takes half duplex: 1 if no rank
 *          sends and receives, 3 if messages go around an odd ring, else 2
 *
 *  of Double-Hop, Modified where a side is odd; Bruck along each side; and the grid's
 *  sides pairwise.  And of a burst, in which a rank has up to 2 NF_COLL_WINDOW
 *  blocks on their ways at once and does not wait for each of them: no less
 *  than elsewhere (exchange_choice.h), nor than (1 + d) T(c m), c of the most
 *  loaded channel, of all blocks together: that is less than pairwise rounds
 *  have in sum.  A model in which messages share bandwidth: worms that block
 *  each other may do worse.
 *
 *  Whole numbers only, so that all who hold one price choose alike.
 *
 *  Source: Kim, Kang, Chung, Efficient all-to-all personalized communication
 *  algorithms in wormhole-routed networks; c as torus.h counts it. */
#include "common/coll/exchange_choice.h"

enum {
    NF_TORUS_WAYS = 4,
    NF_TORUS_RANKS_MAX = 256,      /**< schedules of P^2 blocks are made once */
    NF_TORUS_LARGE_BYTES = 1 << 26 /**< larger blocks are dealt with as these */
};

struct nf_torus_choices;

/** @param shape  sides, the slowest first, of which none is 0; copied
 *  @retval NF_ERR_INVAL  its product is not @p ranks, or they are 1 or more than
 *          NF_TORUS_RANKS_MAX
 *  @retval NF_ERR_NOMEM
 *  O(P^2 S), S rounds. */
enum nf_status nf_torus_choices_create(const struct nf_coll_sides *shape,
                                       uint32_t ranks,
                                       struct nf_torus_choices **choices_p,
                                       struct nf_error *err);
/** NULL is fine. */
void nf_torus_choices_destroy(struct nf_torus_choices *choices);

/** Way @p i, which is below NF_TORUS_WAYS: its rounds, and c of them all.  A burst
 *  counts as one round.
 *  @return NULL: it is not for this shape */
const struct nf_coll_algorithm *
nf_torus_way(const struct nf_torus_choices *choices, uint32_t i,
             uint32_t *rounds_p, uint64_t *contended_p);
/** What blocks of @p bytes take by way @p i, which is for this shape: by what messages
 *  cost between hosts. */
uint64_t nf_torus_ns(const struct nf_torus_choices *choices,
                     const struct nf_exchange_price *price, uint64_t bytes,
                     uint32_t i);

/** The cheapest of those that may serve @p query, of equals the first above.
 *  @return false: none may, as all want more memory than there is */
bool nf_torus_choose(const struct nf_torus_choices *choices,
                     const struct nf_exchange_price *price,
                     const struct nf_coll_query *query,
                     struct nf_coll_choice *choice_p);
#endif
