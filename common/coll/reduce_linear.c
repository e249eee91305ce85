/* linear: the root takes from one rank after the other.
 *
 *     round v-1: v -> 0, right, v = 1..P-1          (P-1) (T(m) + C(m))
 *
 * As good as binomial for P <= 3, else never. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    for (uint32_t v = 1; v < args->ranks; v++)
        nf_schedule_send(schedule, v - 1, nf_coll_true_rank(args, v),
                         args->root, 0, 1, NF_COLL_RIGHT);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return (ranks - 1) *
           (nf_price_send_us(price, bytes) + nf_price_combine_us(price, bytes));
}

const struct nf_coll_algorithm nf_coll_reduce_linear = {
    .name = "reduce.linear",
    .op = NF_COLL_REDUCE,
    .summary = "the root takes from one after the other",
    .source = "Kim, report 98-NF-03-04-A-01, 3.4",
    .cost = "(P-1) (T(m) + C(m))",
    .items = NF_ITEMS_WHOLE,
    .ports = NF_PORTS_HALF,
    .order = NF_ORDER_ROTATED,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_others,
};
