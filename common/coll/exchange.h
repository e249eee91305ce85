#ifndef NF_COLL_EXCHANGE_H
#define NF_COLL_EXCHANGE_H
/** @file exchange.h  All-to-all exchange along the rings of a grid: what the
 *  algorithms of all-to-all share.
 *
 *  A kernel says what happens on one ring of n nodes.  It has no memory:
 * whether a block for node q leaves node p depends on p, q and the step only.
 * On a grid the kernel runs along the last side in all its rings at once, then
 * along the one before, and so on; each block of the ring is a bundle then, of
 * all blocks that are to leave the ring's node for that coordinate.  After a
 * side every block has the right coordinate there.
 *
 *      rounds S = sum over sides of S1(n)
 *      V = sum over sides of P/n V1(n), blocks of the largest messages
 *
 *  Memory of the schedule (what carries it out keeps messages in which blocks
 *  rest up to twice as large as these, see common/group/exec.h).  A block
 * leaves the buffer with the message that it is in, and what comes in takes the
 * places that have become free.  After each round a rank holds P blocks, its
 * own included, in the Modified Double-Hop less than 3/2 P; beyond that buffer
 * there is one message on its way out, of less than P blocks, and one coming
 * in. */
#include "common/coll/coll.h"

/** A block of the ring: from a node to a node. */
struct nf_ring_block {
    uint32_t from, to;
};

/** What a node sends in a step. */
struct nf_ring_move {
    uint32_t to;    /**< the node */
    int32_t hops;   /**< the route, backwards if < 0; 0: none is said */
    uint32_t count; /**< of blocks, 0: nothing is sent */
};

struct nf_ring_kernel {
    /** Steps on a ring of @p n >= 2 nodes. */
    uint32_t (*steps)(const struct nf_ring_kernel *self, uint32_t n);
    /** What @p node sends in @p step.
     *  @param blocks  [n], in the order in which they travel; NULL: only to whom
     *  is wanted, count need not be right */
    void (*sends)(const struct nf_ring_kernel *self, uint32_t n, uint32_t step,
                  uint32_t node, struct nf_ring_move *move,
                  struct nf_ring_block *blocks);
    uint32_t k;                   /**< of k-hop and Bruck */
    struct nf_coll_sides radices; /**< of mixed radix, or none */
};

/** Write down the exchange on the grid @p shape of args->ranks ranks; NULL: a
 *  ring.  Routes are said if the kernel says them. */
void nf_ring_exchange(const struct nf_ring_kernel *kernel,
                      const struct nf_coll_args *args,
                      const struct nf_coll_sides *shape,
                      struct nf_schedule *schedule);

/** k-hop: ceil(n/k)-1 steps of +k while the distance is k or more, then steps
 * of +1.  k = 1 is the naive exchange, k = 2 the cyclic double hop.  At most k
 *  messages on a channel. */
struct nf_ring_kernel nf_kernel_hops(uint32_t k);
/** Double-Hop of an even ring, Modified Double-Hop of an odd one. */
struct nf_ring_kernel nf_kernel_double_hop(void);
/** Bruck's exchange, lowest digit first. */
struct nf_ring_kernel nf_kernel_bruck(uint32_t radix);

/** Is the radix that was asked for, if one was, @p least or more?
 *  @retval NF_ERR_RANGE  no, or beyond NF_COLL_RANKS_MAX */
enum nf_status nf_ring_check_radix(const struct nf_coll_algorithm *algorithm,
                                   const struct nf_coll_args *args,
                                   uint32_t least, struct nf_error *err);
/** Mixed radix, highest digit first. @param radices  their product is >= n */
struct nf_ring_kernel nf_kernel_radices(const struct nf_coll_sides *radices);

/** The time of kernels in which all nodes do the same (hops, Bruck, radices) on
 *  a ring: the sum over steps, HALF as nf_blocks_shift_us(). */
double nf_kernel_us(const struct nf_ring_kernel *kernel,
                    const struct nf_coll_price *price, uint32_t ranks,
                    double bytes);

/** Of exchanges by which blocks rest at others, P of them at most: messages
 *  twice as large as what rests in them, and one each way of up to P/2. */
extern const struct nf_coll_kept nf_kept_resting;
#endif
