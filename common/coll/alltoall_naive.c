/* naive: along the rings of a grid by single hops.  On a ring of n:
 *
 *     repeat n-1 times: p -> p+1: every block that is not for p
 *
 *     S = n-1, V = n(n-1)/2; one message on each channel. */
#include "config.h"
#include "common/coll/exchange.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    const struct nf_ring_kernel kernel = nf_kernel_hops(1);

    (void)self;
    nf_ring_exchange(&kernel, args, args->shape, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    const struct nf_ring_kernel kernel = nf_kernel_hops(1);

    (void)self;
    (void)segments;
    return nf_kernel_us(&kernel, price, ranks, bytes);
}

const struct nf_coll_algorithm nf_coll_alltoall_naive = {
    .name = "alltoall.naive",
    .op = NF_COLL_ALLTOALL,
    .summary = "single hops along the rings of a grid",
    .source = "Kim, Kang, Chung, Efficient all-to-all personalized "
              "communication algorithms in wormhole-routed networks",
    .cost = "ring, FD: T((n-1)m) + .. + T(2m) + T(m)",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .by_shape = true,
    .one_each = true,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_resting,
};
