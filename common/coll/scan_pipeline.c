/* pipeline: the linear scan, segment by segment.
 *
 *     hd  round 2j+r (P = 2: j): r -> r+1 segment j, left
 *         (2k+P-3) T(m/k) + (k+P-2) C(m/k), P = 2: k (T(m/k) + C(m/k))
 *     fd  round j+r: r -> r+1 segment j, left
 *         full duplex (k-1) max(T(m/k), C(m/k)) + (P-1)(T(m/k) + C(m/k))
 *         half duplex (k-1) max(2T(m/k), C(m/k)) + (P-1)(T(m/k) + C(m/k)),
 *         P = 2: max(T(m/k), C(m/k)) for the first
 *
 * The best for long vectors; P <= 16 soon.
 *
 * fd is also the report's overlapped pipeline, which is no algorithm of its own
 * here: it differs from the plain one only in that a stage takes in the next
 * segment while it combines the last, and a schedule has no word for that.
 * Whoever executes treats segments independently and takes in what has come
 * meanwhile, so fd is priced with the overlap.  hd is priced without: one
 * thing at a time, as its rounds are.  The half-duplex price of fd is an ideal,
 * from which the order of events may differ by up to a half. */
#include "config.h"
#include <math.h>
#include "common/coll/kept.h"
#include "common/coll/scan.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t period = self->ports == NF_PORTS_HALF && args->ranks > 2 ? 2 : 1;

    for (uint32_t r = 0; r + 1 < args->ranks; r++)
        for (uint32_t j = 0; j < args->segments; j++)
            nf_schedule_send(schedule, period * j + r, r, r + 1, j, 1,
                             NF_COLL_LEFT);
}

static double cost_hd_us(const struct nf_coll_algorithm *self,
                         const struct nf_coll_price *price, uint32_t ranks,
                         double bytes, uint32_t segments)
{
    double k = segments;
    double sends = ranks > 2 ? 2 * k + ranks - 3 : k;

    (void)self;
    if (price->ports != NF_PORTS_HALF)
        return INFINITY;
    return sends * nf_price_send_us(price, bytes / k) +
           (k + ranks - 2) * nf_price_combine_us(price, bytes / k);
}

static double cost_fd_us(const struct nf_coll_algorithm *self,
                         const struct nf_coll_price *price, uint32_t ranks,
                         double bytes, uint32_t segments)
{
    double k = segments;
    double send_us = nf_price_send_us(price, bytes / k);
    double combine_us = nf_price_combine_us(price, bytes / k);
    bool both = price->ports == NF_PORTS_HALF && ranks > 2;
    double next_us = both ? 2 * send_us : nf_price_relay_us(price, bytes / k);

    (void)self;
    return (k - 1) * fmax(next_us, combine_us) +
           (ranks - 1) * (send_us + combine_us);
}

NF_SCAN_ENTRIES(pipeline_hd, "pipeline.hd",
                .summary = "segments follow one another along the ranks, half "
                           "duplex; the messages of .fd",
                .source = "Kim, report 98-NF-03-04-A-01, 3.5, corrected",
                .cost = "HD (2k+P-3) T(m/k) + (k+P-2) C(m/k), "
                        "P = 2: k (T(m/k) + C(m/k))",
                .items = NF_ITEMS_SEGMENTS, .ports = NF_PORTS_HALF,
                .order = NF_ORDER_RANKS, .make = make, .cost_us = cost_hd_us,
                .kept = &nf_kept_vector);
NF_SCAN_ENTRIES(pipeline_fd, "pipeline.fd",
                .summary = "segments follow one another along the ranks, full "
                           "duplex; the messages of .hd, and the overlapped "
                           "pipeline, as combining overlaps in any",
                .source = "Kim, report 98-NF-03-04-A-01, 3.5, with overlap",
                .cost = "FD (k-1) max(T(m/k), C(m/k)) + (P-1)(T(m/k) + "
                        "C(m/k)), HD with 2T(m/k) in max unless P = 2",
                .items = NF_ITEMS_SEGMENTS, .ports = NF_PORTS_FULL,
                .order = NF_ORDER_RANKS, .make = make, .cost_us = cost_fd_us,
                .kept = &nf_kept_vector);
