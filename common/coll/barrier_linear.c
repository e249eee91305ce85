/* linear: everybody reports to rank 0, which then lets everybody go.
 *
 *     round i-1: i -> 0,  round P-2+i: 0 -> i,  i = 1..P-1        2(P-1) T(0)
 *
 * What a group server does, with the fewest messages that there are.  Where o_s
 * is known: all of a round at once, 2 (T(0) + (P-2) o_s). */
#include "config.h"
#include "common/coll/coll.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    for (uint32_t r = 1; r < args->ranks; r++) {
        nf_schedule_add(schedule, r - 1, r, 0, NF_COLL_COPY);
        nf_schedule_add(schedule, args->ranks - 2 + r, 0, r, NF_COLL_COPY);
    }
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)bytes;
    (void)segments;
    return 2 * nf_price_sequence_us(price, 0, ranks - 1);
}

const struct nf_coll_algorithm nf_coll_barrier_linear = {
    .name = "barrier.linear",
    .op = NF_COLL_BARRIER,
    .summary = "everybody reports to rank 0, which lets everybody go",
    .source = "folklore",
    .cost = "2(P-1) T(0)",
    .items = NF_ITEMS_NONE,
    .ports = NF_PORTS_HALF,
    .make = make,
    .cost_us = cost_us,
};
