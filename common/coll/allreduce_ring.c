/* ring: P blocks go round twice, to be combined and to be copied.
 *
 *     round t = 0..P-2:   r -> r+1 block (r-t) mod P, left
 *     round P-1+t:        r -> r+1 block (r+1-t) mod P, copy
 *
 *     full duplex 2(P-1) a + (2bm + C(m))(P-1)/P, half duplex twice the
 *     messages, P odd 2P/(P-1) times
 *
 * For very long vectors; circulant moves as little in fewer rounds. */
#include "config.h"
#include "common/coll/blocks.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t round = nf_blocks_ring(args->ranks, 0, 0, NF_COLL_LEFT, schedule);

    (void)self;
    nf_blocks_ring(args->ranks, round, 1, NF_COLL_COPY, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double block_bytes = bytes / ranks;

    (void)self;
    (void)segments;
    return 2 * nf_blocks_ring_us(price, ranks, block_bytes) +
           (ranks - 1) * nf_price_combine_us(price, block_bytes);
}

static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_kept_part(bytes, 2 * (uint64_t)(ranks - 1), ranks);
}
static const struct nf_coll_kept kept = { "2 m (P-1)/P", kept_bytes };

const struct nf_coll_algorithm nf_coll_allreduce_ring = {
    .name = "allreduce.ring",
    .op = NF_COLL_ALLREDUCE,
    .summary = "P blocks go round twice, combined and then copied",
    .source = "Patarasuk & Yuan 2009",
    .cost = "FD 2(P-1) a + (2bm + C(m))(P-1)/P, HD messages 2, P odd "
            "2P/(P-1) times",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .make = make,
    .cost_us = cost_us,
    .kept = &kept,
};
