/* burst: as pairwise_shift, but several blocks are under way at once, W of
 * them.
 *
 *     round i: p -> p+k, k = i W + 1 .. i W + W: the blocks for them
 *     T(m) + (P-2) max(o_s, T(m) - T(0)), at best; half duplex: twice the
 * blocks; if o_s is not known (P-1) T(m), as if each waited for the one before
 *
 * The start-up times of a round overlap; never all of them send to rank 0
 * first.  In the plan W blocks are under way; in groups, which begin a round
 * when all that comes in the last but one is there, up to 2 W. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t p = args->ranks;

    (void)self;
    for (uint32_t k = 1; k < p; k++)
        for (uint32_t r = 0; r < p; r++) {
            uint32_t to = (r + k) % p;

            nf_schedule_send(schedule, (k - 1) / NF_COLL_WINDOW, r, to,
                             r * p + to, 1, NF_COLL_COPY);
        }
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t ports = price->ports == NF_PORTS_HALF ? 2 : 1;

    (void)self;
    (void)segments;
    return nf_price_sequence_us(price, bytes, ports * (ranks - 1));
}

const struct nf_coll_algorithm nf_coll_alltoall_burst = {
    .name = "alltoall.burst",
    .op = NF_COLL_ALLTOALL,
    .summary = "each block straight to its rank, several at once",
    .source = "Kim, report 98-NF-03-04-A-01, 3.9; MPICH, scattered",
    .cost = "T(m) + (P-2) max(o_s, b m), at best; HD: 2 P - 3 instead of P-2; "
            "if o_s is not known T(m) instead of the maximum",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_MANY,
    .rounds_ahead = 2,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_twice,
};
