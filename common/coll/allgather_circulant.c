/* circulant: everybody hands what it has backwards along the skips of a
 * circulant graph (blocks.h); for P = 2^n the algorithm of Bruck.
 *
 *     round t, c = skip[t]: r -> r-c blocks r .. r+skip[t+1]-c-1 (mod P)
 *
 *     full duplex q a + bm (P-1)/P; half duplex a round of shift s counts 2
 *     times, 3 if P / gcd(P, s) is odd
 *
 * The fewest rounds and the fewest bytes for any P. */
#include "config.h"
#include "common/coll/blocks.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_blocks_circulant_allgather(args->ranks, 0, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_blocks_circulant_us(price, ranks, bytes / ranks);
}

const struct nf_coll_algorithm nf_coll_allgather_circulant = {
    .name = "allgather.circulant",
    .op = NF_COLL_ALLGATHER,
    .summary = "twice as many blocks each round, along circulant skips",
    .source = "Bruck et al. 1997, skips of Träff, doi 10.1145/3735139",
    .cost = "FD q a + bm (P-1)/P, HD a round of shift s 2 or 3 times",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_bundles,
};
