/* mdh: Modified Double-Hop along the rings of a grid; even rings by Double-Hop.
 * On a ring of odd n, keep(p) = { p, p+1 }, keep(n-1) = { n-1 },
 * keep(1) = { 1, 2, 0 }:
 *
 *     even p -> p+2, (n-1)/2 steps, n-1 -> 0 by one hop forward; odd p -> p-2,
 *         (n-3)/2 steps, 1 -> n-2 by three hops back: blocks not in keep(p)
 *     then p -> p+1, p = 0..n-2: blocks for p+1
 *     then 1 -> 0: blocks for 0
 *
 *     S = (n+3)/2, V = (n^2-1)/4 + n; one message on each channel. */
#include "config.h"
#include <math.h>
#include "common/coll/exchange.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    const struct nf_ring_kernel kernel = nf_kernel_double_hop();

    (void)self;
    nf_ring_exchange(&kernel, args, args->shape, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t odd = ranks % 2;
    double us = nf_price_send_us(price, (ranks + 1) / 2 * bytes);

    (void)self;
    (void)segments;
    if (price->ports == NF_PORTS_HALF)
        return INFINITY;
    if (odd)
        us += nf_price_send_us(price, ranks / 2 * bytes);
    for (uint32_t t = 1; t < (ranks + odd) / 2; t++)
        us += nf_price_send_us(price, (ranks + odd - 2 * t) * bytes);
    return us;
}

/* 3/2 P blocks rest at the most (exchange.h). */
static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_kept_part(bytes, 4 * (uint64_t)ranks, 1);
}
static const struct nf_coll_kept kept = { "4 P m", kept_bytes };

const struct nf_coll_algorithm nf_coll_alltoall_mdh = {
    .name = "alltoall.mdh",
    .op = NF_COLL_ALLTOALL,
    .summary =
        "Modified Double-Hop along the rings of a grid, Double-Hop where even",
    .source = "Kim, Kang, Chung, Efficient all-to-all personalized "
              "communication algorithms in wormhole-routed networks",
    .cost = "ring, FD, n odd: T((n-1)m) + T((n-3)m) + .. + T(2m) + "
            "T((n+1)/2 m) + T((n-1)/2 m); n even: as dh",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .by_shape = true,
    .one_each = true,
    .make = make,
    .cost_us = cost_us,
    .kept = &kept,
};
