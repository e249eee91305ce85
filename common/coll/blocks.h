#ifndef NF_COLL_BLOCKS_H
#define NF_COLL_BLOCKS_H
/** @file blocks.h  Vectors of P blocks that go round: what allreduce,
 *  reduce-scatter and allgather share, and the price of going round.
 *
 *  Those that add rounds to a schedule do so from @p round on, and return the
 *  round behind them.  P >= 2; block b is item b; ranks are true ranks. */
#include "common/coll/coll.h"

/** P-1 rounds: in round t rank r sends block (r + offset - t) mod P to r+1.
 *  LEFT with offset o leaves block (r + 1 + o) mod P complete at r. */
uint32_t nf_blocks_ring(uint32_t ranks, uint32_t round, uint32_t offset,
                        enum nf_coll_action action,
                        struct nf_schedule *schedule);

/** q rounds of a reduce-scatter: block r ends at r.  Round t, hi = skip[q-t],
 *  lo = skip[q-t-1]: r -> r+lo blocks r+lo .. r+hi-1 (mod P), left. */
uint32_t nf_blocks_circulant_reduce_scatter(uint32_t ranks, uint32_t round,
                                            struct nf_schedule *schedule);
/** q rounds of an allgather, r having block r.  Round t, c = skip[t]: r -> r-c
 *  blocks r .. r+skip[t+1]-c-1 (mod P). */
uint32_t nf_blocks_circulant_allgather(uint32_t ranks, uint32_t round,
                                       struct nf_schedule *schedule);

/** In how many turns on half-duplex ports every r sends to (r + shift) mod P,
 *  0 < shift < P: the messages form cycles of P / gcd(P, shift) ranks; 2 if
 *  these are even, else 3. */
uint32_t nf_blocks_shift_turns(uint32_t ranks, uint32_t shift);
/** The time of such a round of @p bytes each.  FULL: T.  HALF: T a turn. */
double nf_blocks_shift_us(const struct nf_coll_price *price, uint32_t ranks,
                          uint32_t shift, double bytes);
/** The time of nf_blocks_ring() with blocks of @p bytes, without combining.
 *  HALF and P odd: the extra third is paid once in a turn, 2 P T in all. */
double nf_blocks_ring_us(const struct nf_coll_price *price, uint32_t ranks,
                         double bytes);
/** The time of either circulant phase with blocks of @p bytes, without
 *  combining. */
double nf_blocks_circulant_us(const struct nf_coll_price *price, uint32_t ranks,
                              double bytes);
#endif
