/* Reduce-scatter over the edges of a cube. */
#include "config.h"
#include "common/coll/reduce_scatter_cube.h"
#include "common/coll/kept.h"

/* The last message carries the blocks of survivor x, one or two. */
static void add_blocks(const struct nf_fold *fold, uint32_t x,
                       struct nf_schedule *schedule)
{
    if (x < fold->pairs)
        nf_schedule_items(schedule, 2 * x, 2);
    else
        nf_schedule_items(schedule, x + fold->pairs, 1);
}

/* All that y still has to end with or hand on after t rounds: the survivors
 * that agree with y in the t bits gone through. */
static void add_range(const struct nf_fold *fold, enum nf_halving order,
                      uint32_t y, uint32_t t, struct nf_schedule *schedule)
{
    uint32_t left = fold->survivors >> t;

    if (schedule->skipping)
        return;
    if (order == NF_HALVING_FAR_FIRST)
        for (uint32_t i = 0; i < left; i++)
            add_blocks(fold, (y & ~(left - 1)) + i, schedule);
    else
        for (uint32_t i = 0; i < left; i++)
            add_blocks(fold, (y & ((UINT32_C(1) << t) - 1)) + (i << t),
                       schedule);
}

void nf_reduce_scatter_cube(uint32_t ranks, enum nf_halving order,
                            struct nf_schedule *schedule)
{
    struct nf_fold fold = nf_fold_plan(ranks, 0);
    uint32_t round = nf_fold_in(&fold, ranks, schedule);

    for (uint32_t t = 0; t < fold.dims; t++, round++) {
        uint32_t d = nf_halving_distance(order, fold.dims, t);

        for (uint32_t x = 0; x < fold.survivors; x++) {
            uint32_t y = x ^ d;

            nf_schedule_add(schedule, round, nf_fold_rank(&fold, x),
                            nf_fold_rank(&fold, y),
                            x < y ? NF_COLL_LEFT : NF_COLL_RIGHT);
            add_range(&fold, order, y, t + 1, schedule);
        }
    }
    for (uint32_t x = 0; x < fold.pairs; x++)
        nf_schedule_send(schedule, round, 2 * x, 2 * x + 1, 2 * x + 1, 1,
                         NF_COLL_COPY);
}

double nf_reduce_scatter_cube_us(const struct nf_coll_price *price,
                                 uint32_t ranks, enum nf_halving order,
                                 double bytes)
{
    struct nf_fold fold = nf_fold_plan(ranks, 0);
    double block_bytes = bytes / ranks, us = 0;
    double sends = price->ports == NF_PORTS_HALF ? 2 : 1;

    for (uint32_t t = 1; t <= fold.dims; t++) {
        uint32_t left = fold.survivors >> t;
        uint32_t doubles = fold.pairs < left ? fold.pairs : left;

        if (order == NF_HALVING_NEAR_FIRST)
            doubles = (fold.pairs + (UINT32_C(1) << t) - 1) >> t;
        us += sends * nf_price_send_us(price, (left + doubles) * block_bytes) +
              nf_price_combine_us(price, (left + doubles) * block_bytes);
    }
    if (fold.pairs > 0)
        us += nf_price_send_us(price, bytes) +
              nf_price_combine_us(price, bytes) +
              nf_price_send_us(price, block_bytes);
    return us;
}

/* What comes, and bundles that are copied to be sent; the fold before. */
static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    uint64_t folded = (ranks & (ranks - 1)) != 0 ? ranks : 0;

    (void)self;
    (void)segments;
    return nf_kept_part(bytes, 2 * (uint64_t)(ranks - 1) + folded, ranks);
}
const struct nf_coll_kept nf_kept_reduce_scatter_cube = {
    "2 m (P-1)/P; P != 2^n: + m", kept_bytes
};
