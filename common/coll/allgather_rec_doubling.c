/* rec_doubling: partners exchange all that they have, twice as far each round.
 *
 *     round t = 0..n-1: r <-> r xor 2^t, the 2^t blocks around r;  P = 2^n
 *
 *     full duplex n a + bm (P-1)/P, half duplex twice that
 *
 * As circulant, without blocks that wrap around. */
#include "config.h"
#include "common/coll/halving.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t round = 0;

    (void)self;
    for (uint32_t d = 1; d < args->ranks; d *= 2, round++)
        for (uint32_t r = 0; r < args->ranks; r++)
            nf_schedule_send(schedule, round, r, r ^ d, r & ~(d - 1), d,
                             NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_halving_us(price, nf_coll_ceil_log2(ranks), bytes);
}

const struct nf_coll_algorithm nf_coll_allgather_rec_doubling = {
    .name = "allgather.rec_doubling",
    .op = NF_COLL_ALLGATHER,
    .summary = "partners exchange all their blocks",
    .source = "folklore",
    .cost = "FD n a + bm (P-1)/P, HD twice that",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .power_of_two = true,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_bundles,
};
