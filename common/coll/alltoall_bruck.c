/* bruck: by the digits of the distance.  Slot j is the block that goes from p
 * to p+j:
 *
 *     for w = 1, r, r^2, .. < P, for v = 1..r-1: p -> p + v w: the slots j with
 *         (j / w) mod r = v; what comes in takes the same slots
 *
 * Slot j is then the block from p-j.  Nothing is moved about at a rank: turning
 * slots into ranks is arithmetic.  S about (r-1) log_r P, V about
 * P (1 - 1/r) log_r P; radix 2: S = ceil(log2 P). */
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

    nf_ring_exchange(&kernel, args, NULL, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    const struct nf_ring_kernel kernel = nf_kernel_bruck(self->radix);

    (void)segments;
    return nf_kernel_us(&kernel, price, ranks, bytes);
}

const struct nf_coll_algorithm nf_coll_alltoall_bruck = {
    .name = "alltoall.bruck",
    .op = NF_COLL_ALLTOALL,
    .summary = "Bruck, lowest digit first, radix 2 or as asked for",
    .source = "Bruck et al., Efficient algorithms for all-to-all "
              "communications in multiport message-passing systems, 1997",
    .cost = "FD: sum over digits w and values v of T(m #{i < P: (i/w) mod r "
            "= v})",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .radix = 2,
    .fits = fits,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_resting,
};
