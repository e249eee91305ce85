/* scatter-allgather with a ring (van de Geijn): the root deals out P blocks,
 * which then go around.
 *
 *     binomial scatter, q rounds; round q + t, t = 0..P-2: v -> v+1, block v-t
 *     mod P, except to the root
 *     FD q a + b m (P-1)/P + (P-1) T(m/P), HD with the last term twice
 *
 * What MPI libraries do for long vectors, to compare with: every byte is sent
 * twice, which the pipelined algorithms do not. */
#include "config.h"
#include "common/coll/vdg.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t ranks = args->ranks, first = nf_vdg_scatter(args, schedule);

    (void)self;
    for (uint32_t t = 0; t + 1 < ranks; t++)
        for (uint32_t v = 0; v + 1 < ranks; v++)
            nf_schedule_send(schedule, first + t, nf_coll_true_rank(args, v),
                             nf_coll_true_rank(args, v + 1),
                             (v + ranks - t) % ranks, 1, NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t transfers = price->ports == NF_PORTS_HALF ? 2 : 1;

    (void)self;
    (void)segments;
    return nf_vdg_scatter_us(price, ranks, bytes) +
           transfers * (ranks - 1) * nf_price_send_us(price, bytes / ranks);
}

static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_vdg_kept_bytes(ranks, bytes, ranks - 1);
}
static const struct nf_coll_kept kept = { "m (P-1+P/2)/P", kept_bytes };

const struct nf_coll_algorithm nf_coll_bcast_vdg_ring = {
    .name = "bcast.vdg_ring",
    .op = NF_COLL_BCAST,
    .summary = "binomial scatter, then allgather around a ring",
    .source = "Barnett, Shuler, van de Geijn, Gupta, Payne and Watts, "
              "Interprocessor collective communication library, SHPCC 1994",
    .cost = "FD q a + b m (P-1)/P + (P-1) T(m/P), HD q a + b m (P-1)/P + "
            "2 (P-1) T(m/P)",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .make = make,
    .cost_us = cost_us,
    .kept = &kept,
};
