/* pairwise_shift: everyone sends each block straight to where it belongs, one
 * after the other.
 *
 *     step k = 1..P-1: p -> p+k: the block for p+k       (P-1) T(m)
 *
 * Half duplex: the messages of a step form rings of P/gcd(P,k) ranks, which
 * take two turns, or three if that is odd.  No memory but the user's: nothing
 * rests at a third rank. */
#include "config.h"
#include "common/coll/blocks.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t p = args->ranks;

    (void)self;
    for (uint32_t k = 1; k < p; k++)
        for (uint32_t r = 0; r < p; r++) {
            uint32_t to = (r + k) % p;

            nf_schedule_send(schedule, k - 1, r, to, r * p + to, 1,
                             NF_COLL_COPY);
        }
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double us = 0;

    (void)self;
    (void)segments;
    for (uint32_t k = 1; k < ranks; k++)
        us += nf_blocks_shift_us(price, ranks, k, bytes);
    return us;
}

const struct nf_coll_algorithm nf_coll_alltoall_pairwise_shift = {
    .name = "alltoall.pairwise_shift",
    .op = NF_COLL_ALLTOALL,
    .summary = "each block straight to its rank, P-1 rounds",
    .source = "Kim, report 98-NF-03-04-A-01, 3.9",
    .cost = "FD (P-1) T(m); HD 2 or 3 T(m) a round",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .rounds_ahead = 1,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_twice,
};
