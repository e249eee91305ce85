#ifndef NF_COLL_TORUS_H
#define NF_COLL_TORUS_H
/** @file torus.h  What a schedule loads a torus with, if in each round a
 * message holds every directed channel on its way: on the route that it says,
 * else along the last side first, the shorter way round; of two equal ways even
 *  coordinates go forward and odd ones back.
 *
 *  Pure.  O(messages x hops + blocks). */
#include "common/coll/coll.h"

struct nf_torus_round {
    uint64_t largest;          /**< blocks of the largest message */
    uint64_t channel_blocks;   /**< of the most loaded channel */
    uint32_t channel_messages; /**< the most that one channel has */
    uint32_t messages;
};

struct nf_torus_load {
    uint32_t rounds;           /**< S */
    uint64_t volume;           /**< V: the sum of largest */
    uint64_t contended;        /**< V_contended: of the greater of largest and
                                    channel_blocks */
    uint64_t blocks, messages; /**< of all ranks */
    uint64_t held;             /**< the most blocks at one rank after a round;
                                    of an all-to-all, each begins with P */
    uint32_t channel_messages;
    uint32_t peers;              /**< the most ranks that one talks with */
    uint32_t sends;              /**< the most messages that one rank sends */
    uint32_t step_messages;      /**< the most that one sends in a round, or
                                      that one receives */
    struct nf_torus_round *each; /**< [rounds] */
};

/** A route that ends at another rank than the message, or a round in which a
 *  channel has more messages than it may. */
struct nf_torus_fault {
    size_t message; /**< in the schedule */
    bool lost;      /**< the route ends at rank; else: */
    uint32_t rank;  /**< the channel leaves this rank */
    uint32_t side;  /**< along this side */
    bool back;      /**< backwards */
};

/** @param shape     of the ranks; NULL: a ring
 *  @param schedule  sorted; all messages; sides of routes are those of shape
 *  @param most      messages that a channel may have in a round; 0: any
 *  @param load_p    to be nf_torus_load_fini()shed if NF_OK
 *  @param fault_p   set if NF_ERR_VERIFY: the first; may be NULL
 *  @retval NF_ERR_VERIFY   @retval NF_ERR_NOMEM */
enum nf_status nf_torus_measure(const struct nf_coll_sides *shape,
                                uint32_t ranks,
                                const struct nf_schedule *schedule,
                                uint32_t most, struct nf_torus_load *load_p,
                                struct nf_torus_fault *fault_p);
void nf_torus_load_fini(struct nf_torus_load *load);

/** What a directed channel carries in a round. */
struct nf_torus_channel {
    uint32_t rank; /**< that it leaves */
    uint32_t side; /**< along this one */
    bool back;     /**< backwards */
    uint32_t messages;
    uint64_t blocks;
};

typedef void nf_torus_tell(uint32_t round,
                           const struct nf_torus_channel *channel, void *arg);

/** @param tell  is told of each channel that carries something, by round, rank
 *               and side, forwards first; others as of nf_torus_measure()
 *  @retval NF_ERR_VERIFY  a route ends at another rank than its message
 *  @retval NF_ERR_NOMEM
 *  O(messages x hops + rounds x ranks x sides). */
enum nf_status nf_torus_channels(const struct nf_coll_sides *shape,
                                 uint32_t ranks,
                                 const struct nf_schedule *schedule,
                                 nf_torus_tell *tell, void *arg);
#endif
