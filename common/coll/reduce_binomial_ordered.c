/* binomial, ordered: on true ranks, so that operands come in their order.
 *
 *     binomial to rank 0; round q: 0 -> root, unless that is 0
 *     q (T(m) + C(m)) + T(m)
 *
 * For short vectors and operators that do not commute, if the root is not 0. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_coll_args to_first = { .ranks = args->ranks, .segments = 1 };

    (void)self;
    nf_coll_reduce_binomial.make(&nf_coll_reduce_binomial, &to_first, schedule);
    if (args->root != 0)
        nf_schedule_send(schedule, nf_coll_ceil_log2(args->ranks), 0,
                         args->root, 0, 1, NF_COLL_COPY);
}

/* The root is not known here: any but rank 0, for which nobody needs this. */
static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    return nf_coll_reduce_binomial.cost_us(&nf_coll_reduce_binomial, price,
                                           ranks, bytes, segments) +
           nf_price_send_us(price, bytes);
}

const struct nf_coll_algorithm nf_coll_reduce_binomial_ordered = {
    .name = "reduce.binomial_ordered",
    .op = NF_COLL_REDUCE,
    .summary = "binomial towards rank 0, which sends the result to the root",
    .source = "Kim, report 98-NF-03-04-A-01, 3.4, on true ranks",
    .cost = "q (T(m) + C(m)) + T(m), the last only if the root is not 0",
    .items = NF_ITEMS_WHOLE,
    .ports = NF_PORTS_HALF,
    .order = NF_ORDER_RANKS,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_levels,
};
