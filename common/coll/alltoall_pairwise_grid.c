/* pairwise_grid: along each side of a grid, from each node straight to every
 * other. On a side of n in a grid of P:
 *
 *     step k = 1..n-1: p -> p+k: bundles of P/n blocks
 *
 *     S = sum of n-1, V = sum of P/n (n-1) */
#include "config.h"
#include "common/coll/exchange.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    const struct nf_ring_kernel kernel = nf_kernel_bruck(NF_COLL_RANKS_MAX);

    (void)self;
    nf_ring_exchange(&kernel, args, args->shape, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    const struct nf_ring_kernel kernel = nf_kernel_bruck(NF_COLL_RANKS_MAX);

    (void)self;
    (void)segments;
    return nf_kernel_us(&kernel, price, ranks, bytes);
}

const struct nf_coll_algorithm nf_coll_alltoall_pairwise_grid = {
    .name = "alltoall.pairwise_grid",
    .op = NF_COLL_ALLTOALL,
    .summary =
        "every node of a side with every other, along each side of a grid",
    .source = "ours; one digit of mixed radix a side",
    .cost = "ring, FD: (n-1) T(m)",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .by_shape = true,
    .rounds_ahead = 1,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_resting, /* of more than one side */
};
