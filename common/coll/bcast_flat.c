/* flat: the root sends the whole vector to one rank after the other.
 *
 *     round i-1: 0 -> i, i = 1..P-1         (P-1) T(m)
 *                              with o_s  T(m) + (P-2) max(o_s, T(m) - T(0))
 *
 * One message after the other it is as good as binomial for P <= 3, else never.
 * The root need not wait, though: where o_s, for which a message keeps it busy,
 * is known to be short, small messages to few ranks are there first. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    for (uint32_t v = 1; v < args->ranks; v++)
        nf_schedule_send(schedule, v - 1, args->root,
                         nf_coll_true_rank(args, v), 0, 1, NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_price_sequence_us(price, bytes, ranks - 1);
}

const struct nf_coll_algorithm nf_coll_bcast_flat = {
    .name = "bcast.flat",
    .op = NF_COLL_BCAST,
    .summary = "the root sends to one after the other",
    .source = "Kim, report 98-NF-03-04-A-01, 3.3",
    .cost = "(P-1) T(m); with o_s T(m) + (P-2) max(o_s, b m)",
    .items = NF_ITEMS_WHOLE,
    .ports = NF_PORTS_HALF,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};
