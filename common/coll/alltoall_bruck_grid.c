/* bruck_grid: Bruck's exchange along each side of a grid.  Fewest rounds for
 * the odd sides of a torus up to 11, though its messages share channels.
 *
 *     S = sum over sides of ceil(log2 n), radix 2 */
#include "config.h"
#include "common/coll/exchange.h"

static enum nf_status fits(const struct nf_coll_algorithm *self,
                           const struct nf_coll_args *args,
                           struct nf_error *err)
{
    return nf_ring_check_radix(self, args, 2, err);
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    const struct nf_ring_kernel kernel =
        nf_kernel_bruck(args->radix > 0 ? args->radix : self->radix);

    nf_ring_exchange(&kernel, args, args->shape, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    const struct nf_ring_kernel kernel = nf_kernel_bruck(self->radix);

    (void)segments;
    return nf_kernel_us(&kernel, price, ranks, bytes);
}

const struct nf_coll_algorithm nf_coll_alltoall_bruck_grid = {
    .name = "alltoall.bruck_grid",
    .op = NF_COLL_ALLTOALL,
    .summary = "Bruck along each side of a grid, radix 2 or as asked for",
    .source = "after Bruck et al. 1997",
    .cost = "ring: as bruck",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .radix = 2,
    .by_shape = true,
    .fits = fits,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_resting,
};
