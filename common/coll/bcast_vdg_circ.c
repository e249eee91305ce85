/* scatter-allgather on a circulant graph: as with a ring, but every rank has
 * all blocks after q rounds more.
 *
 *     binomial scatter, q rounds; round q + t, t = 0..q-1, c = skip[t]:
 *     v -> v-c mod P, blocks v, v+1, ..., v + skip[t+1] - c - 1 mod P, except
 *     to the root
 *     FD 2 q a + 2 b m (P-1)/P, HD 3 q a + 3 b m (P-1)/P
 *
 * For medium lengths on full-duplex ports, with few messages; the circulant
 * broadcast with its best k is better. */
#include "config.h"
#include "common/coll/circulant.h"
#include "common/coll/vdg.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t ranks = args->ranks, first = nf_vdg_scatter(args, schedule);
    uint32_t skip[NF_CIRCULANT_ROUNDS_MAX + 1];
    uint32_t q = nf_circulant_skips(ranks, skip);

    (void)self;
    for (uint32_t t = 0; t < q; t++) {
        for (uint32_t v = 0; v < ranks; v++) {
            if (v == skip[t])
                continue;
            nf_schedule_add(schedule, first + t, nf_coll_true_rank(args, v),
                            nf_coll_true_rank(args, v + ranks - skip[t]),
                            NF_COLL_COPY);
            nf_schedule_items_mod(schedule, v, skip[t + 1] - skip[t], ranks);
        }
    }
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t skip[NF_CIRCULANT_ROUNDS_MAX + 1];
    uint32_t q = nf_circulant_skips(ranks, skip);
    double us = 0;

    (void)self;
    (void)segments;
    for (uint32_t t = 0; t < q; t++)
        us += nf_price_send_us(price, bytes / ranks * (skip[t + 1] - skip[t]));
    if (price->ports == NF_PORTS_HALF)
        us *= 2;
    return us + nf_vdg_scatter_us(price, ranks, bytes);
}

/* As the ring, and bundles are copied. */
static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_vdg_kept_bytes(ranks, bytes, 2 * ranks - 3);
}
static const struct nf_coll_kept kept = { "m (2P-3+P/2)/P", kept_bytes };

const struct nf_coll_algorithm nf_coll_bcast_vdg_circ = {
    .name = "bcast.vdg_circ",
    .op = NF_COLL_BCAST,
    .summary = "binomial scatter, then allgather on a circulant graph",
    .source = "van de Geijn's scatter-allgather; Bruck et al. for the second "
              "half",
    .cost = "FD 2 q a + 2 b m (P-1)/P, HD 3 q a + 3 b m (P-1)/P",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .make = make,
    .cost_us = cost_us,
    .kept = &kept,
};
