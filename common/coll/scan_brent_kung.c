/* brent_kung: pairs, pairs of pairs, ... upwards; what is missing downwards.
 *
 *     up    d = 1, 2, 4, ...:   i -> i+d, i = d-1, 3d-1, 5d-1, ..., left
 *     down  d = ..., 4, 2, 1:   i -> i+d, i = 2d-1, 4d-1, 6d-1, ..., left
 *     a round for every d that has a message
 *
 *     (floor(log2 P) + floor(log2(2P/3))) (T(m) + C(m))
 *
 * The best for short vectors, half duplex. */
#include "config.h"
#include "common/coll/kept.h"
#include "common/coll/scan.h"

uint32_t nf_scan_brent_kung_rounds(uint32_t ranks)
{
    return nf_coll_floor_log2(ranks) + nf_coll_floor_log2(2 * ranks / 3);
}

void nf_scan_brent_kung(uint32_t ranks, struct nf_schedule *schedule)
{
    uint32_t round = 0, d;

    for (d = 1; 2 * d <= ranks; d *= 2, round++)
        for (uint32_t i = d - 1; i + d < ranks; i += 2 * d)
            nf_schedule_send(schedule, round, i, i + d, 0, 1, NF_COLL_LEFT);
    while (d > 0 && 3 * d > ranks)
        d /= 2;
    for (; d > 0; d /= 2, round++)
        for (uint32_t i = 2 * d - 1; i + d < ranks; i += 2 * d)
            nf_schedule_send(schedule, round, i, i + d, 0, 1, NF_COLL_LEFT);
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_scan_brent_kung(args->ranks, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_scan_brent_kung_rounds(ranks) *
           (nf_price_send_us(price, bytes) + nf_price_combine_us(price, bytes));
}

static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_kept_part(bytes, nf_coll_floor_log2(ranks), 1);
}
const struct nf_coll_kept nf_kept_brent_kung = { "n m", kept_bytes };

NF_SCAN_ENTRIES(brent_kung, "brent_kung",
                .summary = "a tree up and the same tree down",
                .source = "Kim, report 98-NF-03-04-A-01, 3.5, after Brent & "
                          "Kung 1982; any P",
                .cost = "(floor(log2 P) + floor(log2(2P/3)))(T(m) + C(m))",
                .items = NF_ITEMS_WHOLE, .ports = NF_PORTS_HALF,
                .order = NF_ORDER_RANKS, .make = make, .cost_us = cost_us,
                .kept = &nf_kept_brent_kung);
