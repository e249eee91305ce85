/* rootp_seg_chain: rootp_chain for segment after segment without waiting; see
 * nf_scan_segment() for who goes first.
 *
 *     steps = max(2s-3, s+d-1) as of rootp_chain; the next segment follows
 *     L rounds later: half duplex L = 1, 2, 3, 3, 4 for P = 2, 3, 4, 5, >= 6,
 *     full duplex L = 1, 1, 2 for P = 2, 3, >= 4
 *
 *     steps (T(m/k) + C(m/k)) + (k-1)(L T(m/k) + 2 C(m/k))
 *
 * For middle sizes and P >= 32; below that the pipeline is already better when
 * it begins to pay.  The messages of one segment must be treated in the order
 * of their rounds: a carry that overtakes the scan inside the group gives a
 * wrong prefix. */
#include "config.h"
#include <math.h>
#include "common/coll/scan.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_schedule base;

    nf_schedule_init(&base, NF_ALL_RANKS);
    nf_scan_rootp(args->ranks, false, &base);
    nf_schedule_sort(&base);
    nf_scan_segment(&base, args->ranks, args->segments, self->ports, schedule);
    nf_schedule_fini(&base);
}

static double slope(uint32_t ranks, enum nf_coll_ports ports)
{
    static const double half[] = { 0, 0, 1, 2, 3, 3 };

    if (ports == NF_PORTS_HALF)
        return ranks < 6 ? half[ranks] : 4;
    return ranks < 4 ? 1 : 2;
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double k = segments;
    double send_us = nf_price_send_us(price, bytes / k);
    double combine_us = nf_price_combine_us(price, bytes / k);

    if (price->ports != self->ports)
        return INFINITY;
    return nf_scan_rootp_rounds(ranks) * (send_us + combine_us) +
           (k - 1) * (slope(ranks, price->ports) * send_us + 2 * combine_us);
}

NF_SCAN_ENTRIES(rootp_seg_chain_hd, "rootp_seg_chain.hd",
                .summary = "rootp_chain for segment after segment, half duplex; "
                           "the messages of .fd",
                .source = "Kim, report 98-NF-03-04-A-01, 3.5, reconstructed",
                .cost = "steps (T(m/k) + C(m/k)) + (k-1)(L T(m/k) + 2 C(m/k)), "
                        "P >= 6: L = 4 HD, 2 FD",
                .items = NF_ITEMS_SEGMENTS, .ports = NF_PORTS_HALF,
                .order = NF_ORDER_RANKS, .make = make, .cost_us = cost_us,
                .kept = &nf_kept_rootp_chain);
NF_SCAN_ENTRIES(rootp_seg_chain_fd, "rootp_seg_chain.fd",
                .summary = "rootp_chain for segment after segment, full duplex; "
                           "the messages of .hd",
                .source = "Kim, report 98-NF-03-04-A-01, 3.5, reconstructed",
                .cost = "steps (T(m/k) + C(m/k)) + (k-1)(L T(m/k) + 2 C(m/k)), "
                        "P >= 6: L = 4 HD, 2 FD",
                .items = NF_ITEMS_SEGMENTS, .ports = NF_PORTS_FULL,
                .order = NF_ORDER_RANKS, .make = make, .cost_us = cost_us,
                .kept = &nf_kept_rootp_chain);
