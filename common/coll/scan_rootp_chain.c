/* rootp_chain: groups of 1, 2, 3, ... ranks; the prefix before a group goes
 * along it from member to member (scan_rootp.c).
 *
 *     max(2s-3, s+d-1) (T(m) + C(m)),  s the least with s(s+1)/2 >= P-1,
 *     d = P-1 - s(s-1)/2;  about 2 sqrt(2P) - 3 rounds
 *
 * More rounds than brent_kung, but no rank has more than 4 messages: made to be
 * segmented, see rootp_seg_chain. */
#include "config.h"
#include "common/coll/scan.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_scan_rootp(args->ranks, false, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_scan_rootp_rounds(ranks) *
           (nf_price_send_us(price, bytes) + nf_price_combine_us(price, bytes));
}

NF_SCAN_ENTRIES(
    rootp_chain, "rootp_chain",
    .summary =
        "groups of 1, 2, 3, ... ranks; the prefix before goes along each",
    .source = "Kim, report 98-NF-03-04-A-01, 3.5, reconstructed",
    .cost = "max(2s-3, s+d-1)(T(m) + C(m)), s(s+1)/2 >= P-1, d = "
            "P-1-s(s-1)/2",
    .items = NF_ITEMS_WHOLE, .ports = NF_PORTS_HALF, .order = NF_ORDER_RANKS,
    .make = make, .cost_us = cost_us, .kept = &nf_kept_rootp_chain);
