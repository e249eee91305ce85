/* mixed: mixed radix, for any P, which need not be a product.  Weights w_1 = 1,
 * w_{i+1} = w_i r_i, highest digit first:
 *
 *     for i = k..1, for v = 1..r_i-1 with v w_i < P: p -> p + v w_i: blocks
 * whose way left, divided by w_i, is v
 *
 *     S = sum of min(r_i, ceil(P/w_i)) - 1, V as radix.h has it
 *
 * {P} is pairwise, {2, 2, ..} Bruck of radix 2; radix.h finds the best radices
 * for a block size.  If none are said: the fewest rounds. */
#include "config.h"
#include "common/base/error.h"
#include "common/coll/exchange.h"
#include "common/coll/radix.h"

static enum nf_status fits(const struct nf_coll_algorithm *self,
                           const struct nf_coll_args *args,
                           struct nf_error *err)
{
    if (args->radices != NULL && args->ranks > 1 &&
        !nf_radix_fits(args->ranks, args->radices))
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: wants radices from 2 whose product is %u or more",
                       self->name, args->ranks);
    return NF_OK;
}

static struct nf_ring_kernel kernel_of(uint32_t ranks,
                                       const struct nf_coll_sides *radices)
{
    struct nf_coll_sides fewest;

    if (radices == NULL) {
        nf_radix_fewest_rounds(ranks, &fewest);
        radices = &fewest;
    }
    return nf_kernel_radices(radices);
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    const struct nf_ring_kernel kernel = kernel_of(args->ranks, args->radices);

    (void)self;
    nf_ring_exchange(&kernel, args, NULL, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    const struct nf_ring_kernel kernel = kernel_of(ranks, NULL);

    (void)self;
    (void)segments;
    return nf_kernel_us(&kernel, price, ranks, bytes);
}

const struct nf_coll_algorithm nf_coll_alltoall_mixed = {
    .name = "alltoall.mixed",
    .op = NF_COLL_ALLTOALL,
    .summary = "by the digits of the distance in mixed radices, highest first",
    .source = "ours; after Bruck et al. 1997",
    .cost = "FD: sum over digits w and values v of T(m #{i < P: (i/w) mod r "
            "= v})",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .fits = fits,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_resting,
};
