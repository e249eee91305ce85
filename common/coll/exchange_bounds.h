#ifndef NF_COLL_EXCHANGE_BOUNDS_H
#define NF_COLL_EXCHANGE_BOUNDS_H
/** @file exchange_bounds.h  Which all-to-all for blocks of which size, as a list
 *  that one who knows the network makes and all others go by: bounds are whole
 *  bytes, so that all decide alike.  As text, in order, the last one without a
 *  bound:
 *
 *      alltoall.mixed:radices=2x2x2<700,alltoall.mixed:radices=2x4<1400,alltoall.burst
 */
#include "common/coll/wish.h"

enum {
    NF_EXCHANGE_BOUNDS_MAX = 24,
    NF_EXCHANGE_NAME_BYTES = 64,
    NF_EXCHANGE_TEXT_BYTES = 2048, /**< of a list, its NUL included */
    NF_EXCHANGE_LENGTH_BYTES = 8   /**< of the blocks that an exchange begins with,
                                        lengths of tables; tables go as they do */
};

struct nf_exchange_bounds {
    uint32_t count; /**< 1 or more */
    struct {
        uint64_t below_bytes; /**< of the last one UINT64_MAX */
        char algorithm[NF_EXCHANGE_NAME_BYTES]; /**< as wishes are written */
    } of[NF_EXCHANGE_BOUNDS_MAX];
};

/** Of the rules, where these say something, or else of the model.
 *  @param rules  may be NULL
 *  @param ranks  2 or more */
void nf_exchange_bounds_find(const struct nf_coll_network *network,
                             const struct nf_coll_rules *rules, uint32_t ranks,
                             struct nf_exchange_bounds *bounds_p);

/** Of one algorithm, whatever the size.
 *  @param wish  of an all-to-all
 *  @retval NF_ERR_INVAL, NF_ERR_RANGE  it is not for so many ranks: err says why */
enum nf_status nf_exchange_bounds_of(const char *wish, uint32_t ranks,
                                     struct nf_exchange_bounds *bounds_p,
                                     struct nf_error *err);

/** For blocks of which the largest has so many bytes. @return as wishes are written */
const char *nf_exchange_bounds_pick(const struct nf_exchange_bounds *bounds,
                                    uint64_t bytes);

/** What the model says that one of the list takes, all blocks as large as the
 *  largest: by its formula, or if that knows nothing of its parameters by its
 *  schedule, round after round.  INFINITY: it is none, is not for so many ranks,
 *  or has no formula and these are more than 128.  If network->lists holds, with
 *  the messages in which sizes go ahead, but not of what has a formula and no
 *  radices among more than 128. */
double nf_exchange_bounds_cost_us(const char *algorithm,
                                  const struct nf_coll_network *network,
                                  uint32_t ranks, uint64_t bytes);

void nf_exchange_bounds_write(const struct nf_exchange_bounds *bounds,
                              char text_p[NF_EXCHANGE_TEXT_BYTES]);
/** @return false: it is none, or not for so many ranks */
bool nf_exchange_bounds_read(const char *text, uint32_t ranks,
                             struct nf_exchange_bounds *bounds_p);
#endif
