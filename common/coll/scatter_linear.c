/* linear: the root sends to one rank after the other.
 *
 *     round i-1: 0 -> i block i, i = 1..P-1 (virtual ranks)        (P-1) T(m)
 *
 * Needs no memory but the result; linear_nb is better wherever messages can be
 * under way at once. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    for (uint32_t v = 1; v < args->ranks; v++) {
        uint32_t rank = nf_coll_true_rank(args, v);

        nf_schedule_send(schedule, v - 1, args->root, rank, rank, 1,
                         NF_COLL_COPY);
    }
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return (ranks - 1) * nf_price_send_us(price, bytes);
}

const struct nf_coll_algorithm nf_coll_scatter_linear = {
    .name = "scatter.linear",
    .op = NF_COLL_SCATTER,
    .summary = "the root sends to one after the other",
    .source = "Kim, report 98-NF-03-04-A-01, 3.6",
    .cost = "(P-1) T(m)",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_HALF,
    .window = 1,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};
