/* chain: segments come up the chain P-1 -> ... -> 1 -> 0, growing on the way.
 *
 *     segment j: v -> v-1, right, in round   FD j + P-1-v
 *                                            HD 2j + P-1-v,  P = 2: j
 *     FD (k+P-2) (T + C)(m/k), HD (2k+P-3) T(m/k) + (k+P-2) C(m/k);
 *     P = 2: k (T + C)(m/k)
 *
 * In step, that is; else a segment follows another one as in the pipeline of
 * the broadcast.
 *
 * For long vectors, and with root = 0 for any operator. */
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
        for (uint32_t v = 1; v < args->ranks; v++)
            nf_schedule_send(schedule, period * j + args->ranks - 1 - v,
                             nf_coll_true_rank(args, v),
                             nf_coll_true_rank(args, v - 1), j, 1,
                             NF_COLL_RIGHT);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double send_us = nf_price_send_us(price, bytes / segments);
    double combine_us = nf_price_combine_us(price, bytes / segments);

    if (price->ports != self->ports)
        return INFINITY;
    if (find_period(self->ports, ranks) == 2)
        return (2 * (segments - 1) + ranks - 1) * send_us +
               (segments + ranks - 2) * combine_us;
    return (ranks - 1) * (send_us + combine_us) +
           (segments - 1) *
               (nf_price_relay_us(price, bytes / segments) + combine_us);
}

const struct nf_coll_algorithm nf_coll_reduce_chain_hd = {
    .name = "reduce.chain.hd",
    .op = NF_COLL_REDUCE,
    .summary = "segments up a chain, half duplex; the messages of .fd",
    .source = "Open MPI and MPICH have it; the broadcast of Kim, report "
              "98-NF-03-04-A-01, 3.3, backwards",
    .cost = "HD (2k+P-3) T(m/k) + (k+P-2) C(m/k); P = 2: k (T(m/k) + C(m/k))",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_HALF,
    .order = NF_ORDER_ROTATED,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};

const struct nf_coll_algorithm nf_coll_reduce_chain_fd = {
    .name = "reduce.chain.fd",
    .op = NF_COLL_REDUCE,
    .summary = "segments up a chain, full duplex; the messages of .hd",
    .source = "Open MPI and MPICH have it; the broadcast of Kim, report "
              "98-NF-03-04-A-01, 3.3, backwards",
    .cost = "FD (k+P-2) (T(m/k) + C(m/k))",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_ROTATED,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};
