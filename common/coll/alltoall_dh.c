/* dh: Double-Hop along the rings of a grid whose sides are even.  On a ring:
 *
 *     steps t = 1 .. n/2-1: even p -> p+2, odd p -> p-2: blocks for neither p
 *         nor p+1
 *     then p -> p+1: blocks for p+1
 *
 *     S = n/2, V = n^2/4; in all steps but the last each channel carries one
 *     message of n-2t blocks, in the last one those forwards n/2. */
#include "config.h"
#include <math.h>
#include "common/base/error.h"
#include "common/coll/exchange.h"

static enum nf_status fits(const struct nf_coll_algorithm *self,
                           const struct nf_coll_args *args,
                           struct nf_error *err)
{
    const struct nf_coll_sides ring = { 1, { args->ranks } };
    const struct nf_coll_sides *shape =
        args->shape != NULL ? args->shape : &ring;

    for (uint32_t i = 0; i < shape->count; i++)
        if (shape->of[i] > 1 && shape->of[i] % 2 != 0)
            return nf_fail(err, NF_ERR_INVAL,
                           "%s: wants even sides, not %u (alltoall.mdh does "
                           "odd ones)",
                           self->name, shape->of[i]);
    return NF_OK;
}

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
    double us = nf_price_send_us(price, ranks / 2 * bytes);

    (void)self;
    (void)segments;
    if (price->ports == NF_PORTS_HALF || ranks % 2 != 0)
        return INFINITY;
    for (uint32_t t = 1; t < ranks / 2; t++)
        us += nf_price_send_us(price, (ranks - 2 * t) * bytes);
    return us;
}

const struct nf_coll_algorithm nf_coll_alltoall_dh = {
    .name = "alltoall.dh",
    .op = NF_COLL_ALLTOALL,
    .summary = "Double-Hop along the even rings of a grid",
    .source = "Kim, Kang, Chung, Efficient all-to-all personalized "
              "communication algorithms in wormhole-routed networks",
    .cost = "ring, FD: T((n-2)m) + T((n-4)m) + .. + T(2m) + T(n/2 m)",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .by_shape = true,
    .one_each = true,
    .fits = fits,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_resting,
};
