/* binomial: recursive doubling.
 *
 *     round t = 0..q-1: v -> v + 2^t, v < 2^t, v + 2^t < P        q T(m)
 *
 * Best for short vectors; segments do not help, as the root would be busy with
 * q messages for each. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t round = 0;

    (void)self;
    for (uint32_t d = 1; d < args->ranks; d *= 2, round++)
        for (uint32_t v = 0; v < d && v + d < args->ranks; v++)
            nf_schedule_send(schedule, round, nf_coll_true_rank(args, v),
                             nf_coll_true_rank(args, v + d), 0, 1,
                             NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_coll_ceil_log2(ranks) * nf_price_send_us(price, bytes);
}

const struct nf_coll_algorithm nf_coll_bcast_binomial = {
    .name = "bcast.binomial",
    .op = NF_COLL_BCAST,
    .summary = "whoever has the vector sends it on, twice as many each round",
    .source = "Kim, report 98-NF-03-04-A-01, 3.3",
    .cost = "q T(m)",
    .items = NF_ITEMS_WHOLE,
    .ports = NF_PORTS_HALF,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};
