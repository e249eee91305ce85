/* linear: the prefix goes from rank to rank.
 *
 *     round r: r -> r+1, left        (P-1)(T(m) + C(m))
 *
 * The base line; the same as the pipeline of one segment. */
#include "config.h"
#include "common/coll/kept.h"
#include "common/coll/scan.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    for (uint32_t r = 0; r + 1 < args->ranks; r++)
        nf_schedule_send(schedule, r, r, r + 1, 0, 1, NF_COLL_LEFT);
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

NF_SCAN_ENTRIES(linear, "linear",
                .summary = "the prefix goes from rank to rank",
                .source = "Kim, report 98-NF-03-04-A-01, 3.5, corrected",
                .cost = "(P-1)(T(m) + C(m))", .items = NF_ITEMS_WHOLE,
                .ports = NF_PORTS_HALF, .order = NF_ORDER_RANKS, .make = make,
                .cost_us = cost_us, .kept = &nf_kept_vector);
