/* binomial: half of the blocks that a rank has go to one that hands them on.
 *
 *     round t = 0..q-1, h = 2^(q-1-t): v -> v+h blocks v+h .. min(v+2h, P)-1,
 *     v = 0 mod 2h                               q a + (P-1) b m
 *
 * The best for small blocks; inner ranks hold up to P/2 blocks of others. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t ranks = args->ranks, round = 0;

    (void)self;
    for (uint32_t h = UINT32_C(1) << (nf_coll_ceil_log2(ranks) - 1); h > 0;
         h /= 2, round++)
        for (uint32_t v = 0; v + h < ranks; v += 2 * h) {
            uint32_t to = nf_coll_true_rank(args, v + h);
            uint32_t behind = ranks - v - h;

            nf_schedule_add(schedule, round, nf_coll_true_rank(args, v), to,
                            NF_COLL_COPY);
            nf_schedule_items_mod(schedule, to, h < behind ? h : behind, ranks);
        }
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double us = 0;

    (void)self;
    (void)segments;
    for (uint32_t d = 1; d < ranks; d *= 2)
        us += nf_price_send_us(price, (d < ranks - d ? d : ranks - d) * bytes);
    return us;
}

/* Those of the largest subtree; the root copies those that wrap around. */
static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_kept_part(bytes, ranks / 2, 1);
}
static const struct nf_coll_kept kept = { "P/2 m", kept_bytes };

const struct nf_coll_algorithm nf_coll_scatter_binomial = {
    .name = "scatter.binomial",
    .op = NF_COLL_SCATTER,
    .summary = "half of the blocks go to one that hands them on",
    .source = "Kim, report 98-NF-03-04-A-01, 3.6",
    .cost = "q a + (P-1) b m",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_HALF,
    .make = make,
    .cost_us = cost_us,
    .kept = &kept,
};
