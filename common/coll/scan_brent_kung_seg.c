/* brent_kung_seg: the circuit of Brent and Kung, segment after segment without
 * waiting; see nf_scan_segment() for who goes first.
 *
 *     half duplex, P = 2^n: k (2n-1)(T(m/k) + C(m/k))
 *
 * Never pays half duplex: one rank has all the rounds of a segment to itself,
 * so that the next one follows a whole circuit later.  The report measured it;
 * so do we. */
#include "config.h"
#include <math.h>
#include "common/coll/scan.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_schedule base;

    nf_schedule_init(&base, NF_ALL_RANKS);
    nf_scan_brent_kung(args->ranks, &base);
    nf_schedule_sort(&base);
    nf_scan_segment(&base, args->ranks, args->segments, self->ports, schedule);
    nf_schedule_fini(&base);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double k = segments;

    if (price->ports != NF_PORTS_HALF || self->ports != NF_PORTS_HALF ||
        (ranks & (ranks - 1)) != 0)
        return INFINITY;
    return k * nf_scan_brent_kung_rounds(ranks) *
           (nf_price_send_us(price, bytes / k) +
            nf_price_combine_us(price, bytes / k));
}

NF_SCAN_ENTRIES(brent_kung_seg_hd, "brent_kung_seg.hd",
                .summary = "Brent-Kung for segment after segment, half duplex; "
                           "the messages of .fd",
                .source = "Kim, report 98-NF-03-04-A-01, 3.5 and 4.4",
                .cost = "HD, P = 2^n: k (2n-1)(T(m/k) + C(m/k))",
                .items = NF_ITEMS_SEGMENTS, .ports = NF_PORTS_HALF,
                .order = NF_ORDER_RANKS, .make = make, .cost_us = cost_us,
                .kept = &nf_kept_brent_kung);
NF_SCAN_ENTRIES(brent_kung_seg_fd, "brent_kung_seg.fd",
                .summary = "Brent-Kung for segment after segment, full duplex; "
                           "the messages of .hd",
                .source = "Kim, report 98-NF-03-04-A-01, 3.5 and 4.4",
                .cost = "no formula", .items = NF_ITEMS_SEGMENTS,
                .ports = NF_PORTS_FULL, .order = NF_ORDER_RANKS, .make = make,
                .cost_us = cost_us, .kept = &nf_kept_brent_kung);
