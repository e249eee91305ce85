#ifndef NF_COLL_TWO_LEVEL_H
#define NF_COLL_TWO_LEVEL_H
/** @file two_level.h  Ranks that share hosts: on each one leads, leaders talk
 *  to each other along a circulant graph, or a chain that keeps the order of
 *  operands, and each to its own along a binomial tree.  So every segment
 *  crosses to each host once, however many ranks it has.
 *
 *  Those that add rounds do so from @p round on, and return the round behind
 *  them. */
#include "common/coll/coll.h"

struct nf_two_level {
    uint32_t hosts;
    uint32_t *members; /**< [P] by host, on each the leader first */
    uint32_t *first;   /**< [hosts + 1] of members: where a host begins */
    uint32_t depth;    /**< rounds of the deepest tree in a host */
};

/** By args->hosts.  Host 0 is the root's, which leads it; elsewhere the lowest
 *  rank does.  O(P^2).
 *  @return false: out of memory, and schedule->failed is set */
bool nf_two_level_init(struct nf_two_level *two,
                       const struct nf_coll_args *args,
                       struct nf_schedule *schedule);
void nf_two_level_fini(struct nf_two_level *two);

/** From leaders to the ranks of their hosts, or backwards in time, combining:
 * in the order of ranks on each host, as far as its leader is the lowest of
 * them.
 *  @param segments  0: messages without items */
uint32_t nf_two_level_inside(const struct nf_two_level *two, uint32_t segments,
                             bool backwards, uint32_t round,
                             struct nf_schedule *schedule);
/** From the leader of host 0 to the others, or backwards. */
uint32_t nf_two_level_between(const struct nf_two_level *two, uint32_t segments,
                              bool backwards, uint32_t round,
                              struct nf_schedule *schedule);
/** From the leader of the last host to the one before, and so on to host 0's,
 *  combining: with ranks of each host that are consecutive, and root 0, in the
 *  order of ranks.  k+h-2 rounds. */
uint32_t nf_two_level_chain(const struct nf_two_level *two, uint32_t segments,
                            uint32_t round, struct nf_schedule *schedule);
/** All leaders hear of all. */
uint32_t nf_two_level_meet(const struct nf_two_level *two, uint32_t round,
                           struct nf_schedule *schedule);

/** There is no formula: prices know of one kind of link only.  INFINITY. */
double nf_two_level_cost_us(const struct nf_coll_algorithm *self,
                            const struct nf_coll_price *price, uint32_t ranks,
                            double bytes, uint32_t segments);

/** Where both kinds are known (nf_coll_algorithm.levels_us).  What passes within a
 *  host, k d messages of m/k with d = ceil(log2 p), and what passes between
 *  leaders, in R rounds, overlap but for one segment of whichever is less:
 *
 *      max(A, B) + min(A, B) / k,  A = k d (T'(m/k) + C(m/k)),
 *                                  B = R (T(m/k) + C(m/k))
 *
 *  R = k + ceil(log2 h) - 1 along the circulant graph, where a message that is sent
 *  while another comes (k > 1, h > 2) takes delta T, and k + h - 2 along a chain (and one to the
 *  root, which may be elsewhere).  Nothing is combined on the way from the root. */
double nf_two_level_bcast_us(const struct nf_coll_algorithm *self,
                             const struct nf_coll_levels *levels, double bytes,
                             uint32_t segments);
double nf_two_level_reduce_us(const struct nf_coll_algorithm *self,
                              const struct nf_coll_levels *levels, double bytes,
                              uint32_t segments);
double nf_two_level_allreduce_us(const struct nf_coll_algorithm *self,
                                 const struct nf_coll_levels *levels,
                                 double bytes, uint32_t segments);
/** 2 d T'(0) + ceil(log2 h) T(0). */
double nf_two_level_barrier_us(const struct nf_coll_algorithm *self,
                               const struct nf_coll_levels *levels,
                               double bytes, uint32_t segments);

/** A leader's, whatever the hosts: of the trees within a host and of the rounds
 *  between leaders; and of an allreduce the result. */
extern const struct nf_coll_kept nf_kept_two_level, nf_kept_two_level_all;
#endif
