/* circulant: reduce-scatter and allgather along the skips of a circulant graph
 * (blocks.h).
 *
 *     full duplex 2q a + (2bm + C(m))(P-1)/P; half duplex a round of shift s
 *     counts 2 times, 3 if P / gcd(P, s) is odd
 *
 * For long vectors and operators that commute; no folding for any P. */
#include "config.h"
#include "common/coll/blocks.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t round =
        nf_blocks_circulant_reduce_scatter(args->ranks, 0, schedule);

    (void)self;
    nf_blocks_circulant_allgather(args->ranks, round, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double block_bytes = bytes / ranks;

    (void)self;
    (void)segments;
    return 2 * nf_blocks_circulant_us(price, ranks, block_bytes) +
           (ranks - 1) * nf_price_combine_us(price, block_bytes);
}

/* Bundles of blocks are copied to be sent, both ways. */
static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_kept_part(bytes, 4 * (uint64_t)(ranks - 1), ranks);
}
static const struct nf_coll_kept kept = { "4 m (P-1)/P", kept_bytes };

const struct nf_coll_algorithm nf_coll_allreduce_circulant = {
    .name = "allreduce.circulant",
    .op = NF_COLL_ALLREDUCE,
    .summary = "circulant reduce-scatter, then circulant allgather",
    .source = "Bruck et al. 1997, skips of Träff, doi 10.1145/3735139",
    .cost = "FD 2q a + (2bm + C(m))(P-1)/P, HD a round of shift s 2 or 3 "
            "times",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .make = make,
    .cost_us = cost_us,
    .kept = &kept,
};
