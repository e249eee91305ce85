/* khop: along the rings of a grid by k hops at a time, then by single ones.  On
 * a ring of n:
 *
 *     ceil(n/k)-1 steps: p -> p+k: blocks that have k or more to go
 *     k-1 steps: p -> p+1: blocks that are not for p
 *
 * cdh, the cyclic double hop, is k = 2: S = ceil(n/2), V = floor(n^2/4),
 * without a case for odd n; each channel carries at most k messages.  For
 * networks without rings: on a torus dh and mdh have the channels for
 * themselves. */
#include "config.h"
#include "common/base/error.h"
#include "common/coll/exchange.h"

static enum nf_status fits(const struct nf_coll_algorithm *self,
                           const struct nf_coll_args *args,
                           struct nf_error *err)
{
    return nf_ring_check_radix(self, args, 1, err);
}

/* cdh is the double hop: k hops are khop. */
static enum nf_status fits_cdh(const struct nf_coll_algorithm *self,
                               const struct nf_coll_args *args,
                               struct nf_error *err)
{
    if (args->radix == 0 || args->radix == self->radix)
        return NF_OK;
    return nf_fail(err, NF_ERR_RANGE, "%s: radix %u: want 2, or alltoall.khop",
                   self->name, args->radix);
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    const struct nf_ring_kernel kernel =
        nf_kernel_hops(args->radix > 0 ? args->radix : self->radix);

    nf_ring_exchange(&kernel, args, args->shape, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    const struct nf_ring_kernel kernel = nf_kernel_hops(self->radix);

    (void)segments;
    return nf_kernel_us(&kernel, price, ranks, bytes);
}

const struct nf_coll_algorithm nf_coll_alltoall_cdh = {
    .name = "alltoall.cdh",
    .op = NF_COLL_ALLTOALL,
    .summary = "cyclic double hop along the rings of a grid",
    .source = "ours; of the Double-Hop of Kim, Kang, Chung",
    .cost = "ring, FD: T((n-2)m) + T((n-4)m) + .. + T(floor(n/2) m)",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .radix = 2,
    .by_shape = true,
    .fits = fits_cdh,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_resting,
};

const struct nf_coll_algorithm nf_coll_alltoall_khop = {
    .name = "alltoall.khop",
    .op = NF_COLL_ALLTOALL,
    .summary = "k hops at a time along the rings of a grid, k = 3 or the radix "
               "asked for",
    .source = "ours; of the Double-Hop of Kim, Kang, Chung",
    .cost = "ring, FD: T((n-k)m) + T((n-2k)m) + .., then k-1 single hops",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .radix = 3,
    .by_shape = true,
    .fits = fits,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_resting,
};
