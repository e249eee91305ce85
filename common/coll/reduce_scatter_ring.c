/* ring: P blocks go round once and are combined where they pass.
 *
 *     round t = 0..P-2: r -> r+1 block (r-1-t) mod P, left
 *
 *     full duplex (P-1) a + (bm + C(m))(P-1)/P, half duplex twice the
 *     messages, P odd 2P/(P-1) times
 *
 * Only neighbours talk; circulant has fewer rounds. */
#include "config.h"
#include "common/coll/blocks.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_blocks_ring(args->ranks, 0, args->ranks - 1, NF_COLL_LEFT, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double block_bytes = bytes / ranks;

    (void)self;
    (void)segments;
    return nf_blocks_ring_us(price, ranks, block_bytes) +
           (ranks - 1) * nf_price_combine_us(price, block_bytes);
}

const struct nf_coll_algorithm nf_coll_reduce_scatter_ring = {
    .name = "reduce_scatter.ring",
    .op = NF_COLL_REDUCE_SCATTER,
    .summary = "P blocks go round once, combined",
    .source = "Patarasuk & Yuan 2009",
    .cost = "FD (P-1) a + (bm + C(m))(P-1)/P, HD messages 2, P odd 2P/(P-1) "
            "times",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_round_trip,
};
