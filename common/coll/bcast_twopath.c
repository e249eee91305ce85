/* two-path pipeline: the root feeds two chains in turn.
 *
 *     left 0, 1, ..., L, right 0, P-1, P-2, ..., L+1, L = ceil((P-1)/2)
 *     segment j: hop i of the left chain in round 2j + i, of the right one in
 *     2j + 1 + i; P = 2: round j
 *     HD (2k + ceil(P/2) - 2) T(m/k); P = 2: k T(m/k)
 *
 * Half-duplex ports leave the root idle every other round of a pipeline; here
 * it is not.  Best for long vectors there unless P = 2^n.  Not for full duplex:
 * the root sends everything twice. */
#include "config.h"
#include <assert.h>
#include <math.h>
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t ranks = args->ranks, left = ranks / 2, right = ranks - 1 - left;
    uint32_t period = ranks > 2 ? 2 : 1;

    (void)self;
    assert(ranks > 1);
    for (uint32_t j = 0; j < args->segments; j++) {
        for (uint32_t i = 0; i < left; i++)
            nf_schedule_send(
                schedule, period * j + i, nf_coll_true_rank(args, i),
                nf_coll_true_rank(args, i + 1), j, 1, NF_COLL_COPY);
        for (uint32_t i = 0; i < right; i++)
            nf_schedule_send(schedule, period * j + 1 + i,
                             nf_coll_true_rank(args, ranks - i),
                             nf_coll_true_rank(args, ranks - i - 1), j, 1,
                             NF_COLL_COPY);
    }
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t rounds = ranks > 2 ? 2 * segments + (ranks + 1) / 2 - 2 : segments;

    (void)self;
    if (price->ports != NF_PORTS_HALF)
        return INFINITY;
    return rounds * nf_price_send_us(price, bytes / segments);
}

const struct nf_coll_algorithm nf_coll_bcast_twopath_hd = {
    .name = "bcast.twopath.hd",
    .op = NF_COLL_BCAST,
    .summary = "segments down two chains in turn, half duplex",
    .source = "Kim, report 98-NF-03-04-A-01, 3.3",
    .cost = "HD (2k + ceil(P/2) - 2) T(m/k); P = 2: k T(m/k)",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_HALF,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};
