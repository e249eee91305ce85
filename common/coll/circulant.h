#ifndef NF_COLL_CIRCULANT_H
#define NF_COLL_CIRCULANT_H
/** @file circulant.h  The arithmetic of circulant graphs: in round i every rank
 *  talks to those skip[i] away.  Shared by all algorithms of that name. */
#include "common/coll/coll.h"

/** q of NF_COLL_RANKS_MAX ranks. */
enum { NF_CIRCULANT_ROUNDS_MAX = 12 };

/** skip[q] = P, skip[i] = ceil(skip[i+1] / 2), so skip[0] = 1; all differ.
 *  @param ranks  P, 2..NF_COLL_RANKS_MAX
 *  @param skip  [q + 1], written   @return q = ceil(log2 P) */
uint32_t nf_circulant_skips(uint32_t ranks,
                            uint32_t skip[NF_CIRCULANT_ROUNDS_MAX + 1]);

struct nf_circulant {
    uint32_t ranks, rounds; /**< P, q */
    uint32_t skip[NF_CIRCULANT_ROUNDS_MAX + 1];
    /** Of v: the number of the least skip when v is written as a sum of skips,
     *  largest first; base[0] = q. */
    uint8_t base[NF_COLL_RANKS_MAX];
};

/** O(P q).  @param ranks  2..NF_COLL_RANKS_MAX */
void nf_circulant_init(struct nf_circulant *circulant, uint32_t ranks);

/** In round i of a turn of q rounds, v receives block row[i] of that turn; a
 *  negative one, -q..-1, is of the turn before.  Over all turns v gets every
 *  block once, and what it sends it has.  O(P).
 *  Source: J. L. Träff, doi 10.1145/3735139; the rule is "the largest unused
 *  base of the interval".
 *  @param v  1..P-1   @param row  [q], written */
void nf_circulant_row(const struct nf_circulant *circulant, uint32_t v,
                      int32_t row[NF_CIRCULANT_ROUNDS_MAX]);

/** Write down the broadcast of k segments in k + q - 1 rounds, or the same
 *  backwards in time: the reduction (right).
 *  O(P (P + k + q)); O(P q + k q) if the schedule is one rank's. */
void nf_circulant_broadcast(const struct nf_coll_args *args, bool backwards,
                            struct nf_schedule *schedule);
#endif
