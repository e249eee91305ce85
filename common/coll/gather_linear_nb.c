/* linear_nb: as linear, but all messages are under way at once, as far as a
 * window lets them.
 *
 *     round 0: i -> 0 block i, i = 1..P-1 (virtual ranks)
 *     T(m) + (P-2) max(o_s, T(m) - T(0))
 *
 * The best for large blocks: the link of the root is never idle, and inner
 * ranks need no memory.  Of small ones each still keeps the root busy for o_s
 * (taking one is believed to cost it as much as sending one), which is what
 * makes a tree pay in large groups.  A lower bound. */
#include "config.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    for (uint32_t v = 1; v < args->ranks; v++) {
        uint32_t rank = nf_coll_true_rank(args, v);

        nf_schedule_send(schedule, 0, rank, args->root, rank, 1, NF_COLL_COPY);
    }
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_price_blocks_us(price, bytes, ranks - 1);
}

const struct nf_coll_algorithm nf_coll_gather_linear_nb = {
    .name = "gather.linear_nb",
    .op = NF_COLL_GATHER,
    .summary = "all send to the root at once",
    .source = "Kim, report 98-NF-03-04-A-01, 3.6",
    .cost = "T(m) + (P-2) max(o_s, b m), at best",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_MANY,
    .window = NF_COLL_WINDOW,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_window,
};
