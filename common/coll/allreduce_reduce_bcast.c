/* reduce_bcast: the binomial reduction to rank 0, then the binomial broadcast.
 *
 *     round t = 0..q-1:   r -> r-2^t, r = 2^t mod 2^(t+1), right
 *     round q+t:          r -> r+2^t, r < 2^t, copy
 *
 *     q (2T(m) + C(m))
 *
 * The base line: twice as long as rec_doubling, but half duplex as good. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t round = 0;

    (void)self;
    for (uint32_t d = 1; d < args->ranks; d *= 2, round++)
        for (uint32_t r = d; r < args->ranks; r += 2 * d)
            nf_schedule_send(schedule, round, r, r - d, 0, 1, NF_COLL_RIGHT);
    for (uint32_t d = 1; d < args->ranks; d *= 2, round++)
        for (uint32_t r = 0; r < d && r + d < args->ranks; r++)
            nf_schedule_send(schedule, round, r, r + d, 0, 1, NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_coll_ceil_log2(ranks) * (2 * nf_price_send_us(price, bytes) +
                                       nf_price_combine_us(price, bytes));
}

const struct nf_coll_algorithm nf_coll_allreduce_reduce_bcast = {
    .name = "allreduce.reduce_bcast",
    .op = NF_COLL_ALLREDUCE,
    .summary = "reduction to rank 0, then broadcast, both binomial",
    .source = "Kim, report 98-NF-03-04-A-01, 3.4",
    .cost = "q (2T(m) + C(m))",
    .items = NF_ITEMS_WHOLE,
    .ports = NF_PORTS_HALF,
    .order = NF_ORDER_RANKS,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_levels,
};
