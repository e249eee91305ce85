/* circulant: half of what is left goes on along the skips of a circulant graph
 * (blocks.h).
 *
 *     round t, hi = skip[q-t], lo = skip[q-t-1]:
 *     r -> r+lo blocks r+lo .. r+hi-1 (mod P), left
 *
 *     full duplex q a + (bm + C(m))(P-1)/P; half duplex a round of shift s
 *     counts 2 times, 3 if P / gcd(P, s) is odd
 *
 * The fewest rounds and the fewest bytes for any P; operators that commute. */
#include "config.h"
#include "common/coll/blocks.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_blocks_circulant_reduce_scatter(args->ranks, 0, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double block_bytes = bytes / ranks;

    (void)self;
    (void)segments;
    return nf_blocks_circulant_us(price, ranks, block_bytes) +
           (ranks - 1) * nf_price_combine_us(price, block_bytes);
}

const struct nf_coll_algorithm nf_coll_reduce_scatter_circulant = {
    .name = "reduce_scatter.circulant",
    .op = NF_COLL_REDUCE_SCATTER,
    .summary = "half of the blocks left go on along circulant skips",
    .source = "Bruck et al. 1997, skips of Träff, doi 10.1145/3735139",
    .cost = "FD q a + (bm + C(m))(P-1)/P, HD a round of shift s 2 or 3 times",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_bundles,
};
