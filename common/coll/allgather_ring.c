/* ring: P blocks go round once.
 *
 *     round t = 0..P-2: r -> r+1 block (r-t) mod P
 *
 *     full duplex (P-1) T(m/P), half duplex 2(P-1) T(m/P), P odd 2P T(m/P)
 *
 * Only neighbours talk; circulant has fewer rounds. */
#include "config.h"
#include "common/coll/blocks.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_blocks_ring(args->ranks, 0, 0, NF_COLL_COPY, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_blocks_ring_us(price, ranks, bytes / ranks);
}

const struct nf_coll_algorithm nf_coll_allgather_ring = {
    .name = "allgather.ring",
    .op = NF_COLL_ALLGATHER,
    .summary = "P blocks go round once",
    .source = "folklore",
    .cost = "FD (P-1) T(m/P), HD 2(P-1) T(m/P), P odd 2P T(m/P)",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_round_trip,
};
