/* binomial: subtrees of 2^t ranks hand all their blocks on.
 *
 *     round t = 0..q-1: v -> v-2^t blocks v .. min(v+2^t, P)-1,
 *     v = 2^t mod 2^(t+1)                        q a + (P-1) b m
 *
 * The best for small blocks; inner ranks hold up to P/2 blocks of others. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t round = 0, ranks = args->ranks;

    (void)self;
    for (uint32_t d = 1; d < ranks; d *= 2, round++)
        for (uint32_t v = d; v < ranks; v += 2 * d) {
            uint32_t rank = nf_coll_true_rank(args, v);

            nf_schedule_add(schedule, round, rank,
                            nf_coll_true_rank(args, v - d), NF_COLL_COPY);
            nf_schedule_items_mod(schedule, rank, d < ranks - v ? d : ranks - v,
                                  ranks);
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

const struct nf_coll_algorithm nf_coll_gather_binomial = {
    .name = "gather.binomial",
    .op = NF_COLL_GATHER,
    .summary = "subtrees hand on all their blocks, twice as many each round",
    .source = "Kim, report 98-NF-03-04-A-01, 3.6",
    .cost = "q a + (P-1) b m",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_HALF,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_others,
};
