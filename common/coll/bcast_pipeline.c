/* pipeline: segments go down the chain 0 -> 1 -> ... -> P-1.
 *
 *     segment j: v -> v+1 in round   FD j + v         (k+P-2) T(m/k)
 *                                    HD 2j + v       (2k+P-3) T(m/k)
 *                                    P = 2: j               k T(m/k)
 *
 * In step, that is.  Ranks that are not: FD (P-1) T(m/k), and k-1 times what a
 * segment takes of a rank that passes it on (nf_price_relay_us).
 *
 * For long vectors: about one message time on full-duplex ports, two on
 * half-duplex ones, where a rank sends segment j before it receives j+1. */
#include "config.h"
#include <math.h>
#include "common/coll/kept.h"

/* Rounds from one segment to the next. */
static uint32_t find_period(enum nf_coll_ports ports, uint32_t ranks)
{
    return ports == NF_PORTS_HALF && ranks > 2 ? 2 : 1;
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t period = find_period(self->ports, args->ranks);

    for (uint32_t j = 0; j < args->segments; j++)
        for (uint32_t v = 0; v + 1 < args->ranks; v++)
            nf_schedule_send(
                schedule, period * j + v, nf_coll_true_rank(args, v),
                nf_coll_true_rank(args, v + 1), j, 1, NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double send_us = nf_price_send_us(price, bytes / segments);

    if (price->ports != self->ports)
        return INFINITY;
    if (find_period(self->ports, ranks) == 2)
        return (2 * (segments - 1) + ranks - 1) * send_us;
    return (ranks - 1) * send_us +
           (segments - 1) * nf_price_relay_us(price, bytes / segments);
}

const struct nf_coll_algorithm nf_coll_bcast_pipeline_hd = {
    .name = "bcast.pipeline.hd",
    .op = NF_COLL_BCAST,
    .summary = "segments down a chain, half duplex; the messages of .fd",
    .source = "Kim, report 98-NF-03-04-A-01, 3.3",
    .cost = "HD (2k+P-3) T(m/k); P = 2: k T(m/k)",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_HALF,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};

const struct nf_coll_algorithm nf_coll_bcast_pipeline_fd = {
    .name = "bcast.pipeline.fd",
    .op = NF_COLL_BCAST,
    .summary = "segments down a chain, full duplex; the messages of .hd",
    .source = "Kim, report 98-NF-03-04-A-01, 3.3",
    .cost = "FD (k+P-2) T(m/k)",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};
