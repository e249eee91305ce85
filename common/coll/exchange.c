/* Kernels of a ring, side by side on a grid. */
#include "config.h"
#include "common/coll/exchange.h"
#include "common/base/error.h"
#include "common/base/alloc.h"
#include "common/coll/blocks.h"
#include "common/coll/kept.h"

/* One side of the grid.  Behind it, sides that are done: their coordinates are
 * right, and blocks of all sources are there.  Before it, sides to come. */
struct side {
    uint32_t number;
    uint32_t n;      /* nodes of its rings */
    uint32_t stride; /* from a node of a ring to the next; ranks of sides that
                        are done */
    uint32_t before; /* of sides to come */
    uint32_t ranks;
    uint32_t round; /* its first one */
};

/* All that is in the bundle of one block of the ring through rank. */
static void add_bundle(const struct side *side, uint32_t rank,
                       struct nf_ring_block block, struct nf_schedule *schedule)
{
    uint32_t ring = side->n * side->stride;
    uint32_t from = rank / ring * ring + block.from * side->stride;
    uint32_t to = block.to * side->stride + rank % side->stride;

    for (uint32_t u = 0; u < side->before; u++)
        for (uint32_t f = 0; f < side->stride; f++)
            nf_schedule_items(schedule,
                              (from + f) * side->ranks + to + u * ring, 1);
}

static void add_sends(const struct nf_ring_kernel *kernel,
                      const struct side *side, uint32_t step, uint32_t rank,
                      struct nf_ring_block *blocks,
                      struct nf_schedule *schedule)
{
    uint32_t node = rank / side->stride % side->n;
    struct nf_ring_move move;

    if (schedule->only != NF_ALL_RANKS && schedule->only != rank) {
        kernel->sends(kernel, side->n, step, node, &move, NULL);
        if (schedule->only != rank + (move.to - node) * side->stride)
            return;
    }
    kernel->sends(kernel, side->n, step, node, &move, blocks);
    if (move.count == 0)
        return;
    nf_schedule_add(schedule, side->round + step, rank,
                    rank + (move.to - node) * side->stride, NF_COLL_COPY);
    nf_schedule_route(schedule, side->number, move.hops);
    for (uint32_t i = 0; i < move.count && !schedule->skipping; i++)
        add_bundle(side, rank, blocks[i], schedule);
}

/* @return its steps */
static uint32_t add_side(const struct nf_ring_kernel *kernel,
                         const struct side *side, struct nf_schedule *schedule)
{
    uint32_t ring = side->n * side->stride, only = schedule->only;
    uint32_t steps = side->n > 1 ? kernel->steps(kernel, side->n) : 0;
    struct nf_ring_block *blocks = nf_malloc(side->n * sizeof(*blocks));

    if (blocks == NULL)
        schedule->failed = true;
    for (uint32_t t = 0; t < steps && !schedule->failed; t++) {
        uint32_t first = 0, step = 1, end = side->ranks;

        if (only != NF_ALL_RANKS) { /* the nodes of its ring */
            first = only / ring * ring + only % side->stride;
            step = side->stride;
            end = first + ring;
        }
        for (uint32_t rank = first; rank < end && !schedule->failed;
             rank += step)
            add_sends(kernel, side, t, rank, blocks, schedule);
    }
    nf_free(blocks);
    return steps;
}

void nf_ring_exchange(const struct nf_ring_kernel *kernel,
                      const struct nf_coll_args *args,
                      const struct nf_coll_sides *shape,
                      struct nf_schedule *schedule)
{
    const struct nf_coll_sides ring = { 1, { args->ranks } };
    struct side side = { .stride = 1, .ranks = args->ranks };

    if (shape == NULL)
        shape = &ring;
    for (side.number = shape->count; side.number-- > 0;) {
        side.n = shape->of[side.number];
        side.before = args->ranks / (side.stride * side.n);
        side.round += add_side(kernel, &side, schedule);
        side.stride *= side.n;
    }
}

double nf_kernel_us(const struct nf_ring_kernel *kernel,
                    const struct nf_coll_price *price, uint32_t ranks,
                    double bytes)
{
    struct nf_ring_block blocks[NF_COLL_RANKS_MAX];
    uint32_t steps = kernel->steps(kernel, ranks);
    double us = 0;

    for (uint32_t t = 0; t < steps; t++) {
        struct nf_ring_move move;

        kernel->sends(kernel, ranks, t, 0, &move, blocks);
        us += nf_blocks_shift_us(price, ranks, move.to, move.count * bytes);
    }
    return us;
}

enum nf_status nf_ring_check_radix(const struct nf_coll_algorithm *algorithm,
                                   const struct nf_coll_args *args,
                                   uint32_t least, struct nf_error *err)
{
    if (args->radix == 0 ||
        (args->radix >= least && args->radix <= NF_COLL_RANKS_MAX))
        return NF_OK;
    return nf_fail(err, NF_ERR_RANGE, "%s: radix %u: want %u to %d",
                   algorithm->name, args->radix, least, NF_COLL_RANKS_MAX);
}

static uint64_t resting_bytes(const struct nf_coll_algorithm *self,
                              uint32_t ranks, uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_kept_part(bytes, 3 * (uint64_t)ranks, 1);
}
const struct nf_coll_kept nf_kept_resting = { "3 P m", resting_bytes };
