/* rec_doubling: everybody sends on what it has, twice as far each round.
 *
 *     round t: r -> r+2^t, left     full duplex q (T(m) + C(m)),
 *                                   half duplex (2q-1) T(m) + q C(m)
 *
 * The best for short vectors, full duplex. */
#include "config.h"
#include "common/coll/kept.h"
#include "common/coll/scan.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t round = 0;

    (void)self;
    for (uint32_t d = 1; d < args->ranks; d *= 2, round++)
        for (uint32_t r = 0; r + d < args->ranks; r++)
            nf_schedule_send(schedule, round, r, r + d, 0, 1, NF_COLL_LEFT);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double q = nf_coll_ceil_log2(ranks);
    double sends = price->ports == NF_PORTS_HALF ? 2 * q - 1 : q;

    (void)self;
    (void)segments;
    return sends * nf_price_send_us(price, bytes) +
           q * nf_price_combine_us(price, bytes);
}

NF_SCAN_ENTRIES(
    rec_doubling, "rec_doubling",
    .summary = "everybody sends its prefix, twice as far each round",
    .source = "Kogge & Stone 1973; Hillis & Steele 1986",
    .cost = "FD q (T(m) + C(m)), HD (2q-1) T(m) + q C(m)",
    .items = NF_ITEMS_WHOLE, .ports = NF_PORTS_FULL, .order = NF_ORDER_RANKS,
    .make = make, .cost_us = cost_us, .kept = &nf_kept_levels);
