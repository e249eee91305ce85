/* pairwise_xor: as pairwise_shift, with one partner a step.
 *
 *     step k = 1..P-1: p <-> p xor k: one block each way      P = 2^n
 *
 * FD (P-1) T(m), HD 2 (P-1) T(m). */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t p = args->ranks;

    (void)self;
    for (uint32_t k = 1; k < p; k++)
        for (uint32_t r = 0; r < p; r++)
            nf_schedule_send(schedule, k - 1, r, r ^ k, r * p + (r ^ k), 1,
                             NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t sends = (price->ports == NF_PORTS_HALF ? 2 : 1) * (ranks - 1);

    (void)self;
    (void)segments;
    return sends * nf_price_send_us(price, bytes);
}

const struct nf_coll_algorithm nf_coll_alltoall_pairwise_xor = {
    .name = "alltoall.pairwise_xor",
    .op = NF_COLL_ALLTOALL,
    .summary = "pairs exchange their blocks, P-1 rounds",
    .source = "Kim, report 98-NF-03-04-A-01, 3.9",
    .cost = "FD (P-1) T(m); HD 2 (P-1) T(m)",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .power_of_two = true,
    .rounds_ahead = 1,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_twice,
};
