/* tree: reports come up a binomial tree to rank 0, the release goes down it.
 *
 *     round t = 0..q-1:   r -> r-2^t, r = 2^t mod 2^(t+1)
 *     round q+t:          r -> r+2^t, r < 2^t                      2q T(0)
 *
 * Half duplex as good as dissemination, with P-1 messages each way instead of
 * P q. */
#include "config.h"
#include "common/coll/coll.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t round = 0;

    (void)self;
    for (uint32_t d = 1; d < args->ranks; d *= 2, round++)
        for (uint32_t r = d; r < args->ranks; r += 2 * d)
            nf_schedule_add(schedule, round, r, r - d, NF_COLL_COPY);
    for (uint32_t d = 1; d < args->ranks; d *= 2, round++)
        for (uint32_t r = 0; r < d && r + d < args->ranks; r++)
            nf_schedule_add(schedule, round, r, r + d, NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)bytes;
    (void)segments;
    return 2.0 * nf_coll_ceil_log2(ranks) * nf_price_send_us(price, 0);
}

const struct nf_coll_algorithm nf_coll_barrier_tree = {
    .name = "barrier.tree",
    .op = NF_COLL_BARRIER,
    .summary = "reports up and the release down a binomial tree",
    .source = "folklore",
    .cost = "2q T(0)",
    .items = NF_ITEMS_NONE,
    .ports = NF_PORTS_HALF,
    .make = make,
    .cost_us = cost_us,
};
