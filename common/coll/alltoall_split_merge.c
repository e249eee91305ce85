/* split_merge: on a torus of R x C, both odd, Double-Hop on the even part of
 * each row and column, then the last column and row are served from the middle.
 * Its rings leave the last node out: a message passes through it.  Along a side of 1
 * nothing goes.
 *
 *     split X, (C-1)/2 steps, all rows: Double-Hop on nodes 0..C-2; blocks for
 *         column C-1 go to the middle column c* = (C-1)/2 instead
 *     split Y, (R-1)/2 steps, all columns: the same with rows
 *     merge 0, 1 step, only split_merge0: (r*, C-1) -> the corner: its blocks
 *     merge X, ceil(log2 C) steps, all rows: first c* -> C-1 what is for C-1;
 *         meanwhile C-1 scatters what it has along the chain C-1, 0, 1, .., C-2
 *         by halves: who has [lo, hi) sends [mid, hi) to mid = lo +
 *         ceil((hi-lo)/2)
 *     merge Y, ceil(log2 R) steps, all columns: the same with rows
 *
 *     N x N: S = N-1 + 2 ceil(log2 N), V about 3/4 N^3, k = N-1: (N+2k) q +
 *     3 k^2 + 3/2 N k, q = k^2/4 + k - 1; merge 0 adds a step of k blocks
 *
 * One message on each channel, by the routes that are said.  It never beats mdh;
 * it is here to compare with.  The middle node parks the most blocks, and holds
 * up to 4 (R-1) (C-1), less than 4 P. */
#include "config.h"
#include <math.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/kept.h"

struct torus {
    uint32_t rows, columns, ranks;
    bool merge0;
};

/* A step of a line of n nodes: of a row or column. */
struct step {
    enum { SPLIT, MERGE0, MERGE } kind;
    uint32_t side;   /* 0: along a column, 1: along a row */
    uint32_t number; /* from 0 */
};

/* A way along the line; hops 0: the block stays. */
struct way {
    uint32_t to;
    int32_t hops;
};

/* Double-Hop on the n-1 nodes before the last. */
static struct way split(uint32_t n, uint32_t number, uint32_t at, uint32_t dst)
{
    uint32_t even = n - 1, next = (at + 1) % even;
    uint32_t to = dst == even ? even / 2 : dst;
    struct way way = { at, 0 };

    if (at == even || to == at)
        return way;
    if (number + 1 == even / 2) {
        if (to == next)
            way = (struct way){ next, next == 0 ? 2 : 1 };
    } else if (to != next) {
        if (at % 2 == 0)
            way = (struct way){ (at + 2) % even, at + 2 == even ? 3 : 2 };
        else
            way = (struct way){ (at + even - 2) % even, at == 1 ? -3 : -2 };
    }
    return way;
}

/* The segment [lo, hi) of the chain that a place begins in this step.
 * @return false: it has none yet */
static bool segment_of(uint32_t n, uint32_t number, uint32_t place,
                       uint32_t *hi_p)
{
    uint32_t lo = 0, hi = n;

    for (uint32_t i = 0; i < number; i++) {
        uint32_t mid = lo + (hi - lo + 1) / 2;

        if (hi - lo < 2)
            break;
        if (place < mid)
            hi = mid;
        else
            lo = mid;
    }
    *hi_p = hi;
    return lo == place;
}

static struct way merge(uint32_t n, uint32_t number, uint32_t at, uint32_t dst)
{
    uint32_t last = n - 1, place = (at + 1) % n, want = (dst + 1) % n;
    uint32_t hi, mid;

    if (number == 0 && at == last / 2 && dst == last)
        return (struct way){ last, (int32_t)(last - at) };
    if (at == dst || !segment_of(n, number, place, &hi) || hi - place < 2)
        return (struct way){ at, 0 };
    mid = place + (hi - place + 1) / 2;
    if (want < mid || want >= hi)
        return (struct way){ at, 0 };
    return (struct way){ (mid + n - 1) % n, (int32_t)(mid - place) };
}

static uint32_t split_steps(uint32_t n)
{
    return (n - 1) / 2;
}

/* @return false: there is no such round */
static bool step_of(const struct torus *torus, uint32_t round,
                    struct step *step)
{
    const struct {
        uint32_t kind, side, steps;
    } parts[] = {
        { SPLIT, 1, split_steps(torus->columns) },
        { SPLIT, 0, split_steps(torus->rows) },
        { MERGE0, 0, torus->merge0 ? 1 : 0 },
        { MERGE, 1, nf_coll_ceil_log2(torus->columns) },
        { MERGE, 0, nf_coll_ceil_log2(torus->rows) },
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (round < parts[i].steps) {
            step->kind = parts[i].kind;
            step->side = parts[i].side;
            step->number = round;
            return true;
        }
        round -= parts[i].steps;
    }
    return false;
}

/* The way of a block for dst that is at rank at.  Does not depend on where it
 * is from. */
static struct way way_of(const struct torus *torus, const struct step *step,
                         uint32_t at, uint32_t dst)
{
    uint32_t column = at % torus->columns, row = at / torus->columns;
    uint32_t line = step->side == 1 ? torus->columns : torus->rows;
    uint32_t here = step->side == 1 ? column : row;
    uint32_t want =
        step->side == 1 ? dst % torus->columns : dst / torus->columns;
    struct way way = { here, 0 };

    if (step->kind == SPLIT)
        way = split(line, step->number, here, want);
    else if (step->kind == MERGE)
        way = merge(line, step->number, here, want);
    else if (at == (line / 2) * torus->columns + torus->columns - 1 &&
             dst == torus->ranks - 1)
        way = (struct way){ line - 1, (int32_t)(line - 1 - here) };
    way.to = step->side == 1 ? row * torus->columns + way.to
                             : way.to * torus->columns + column;
    return way;
}

/* ---- writing it down ---- */

/* Blocks that leave at in a round, to one rank: items in leaving[]. */
static void add_message(const struct torus *torus, const struct step *step,
                        uint32_t round, uint32_t at, const uint32_t *leaving,
                        uint32_t count, struct nf_schedule *schedule)
{
    struct way way;

    if (count == 0)
        return;
    way = way_of(torus, step, at, leaving[0] % torus->ranks);
    nf_schedule_add(schedule, round, at, way.to, NF_COLL_COPY);
    nf_schedule_route(schedule, step->side, way.hops);
    for (uint32_t i = 0; i < count; i++)
        nf_schedule_items(schedule, leaving[i], 1);
}

/* One step of all blocks.
 * @param at  [P^2] where each is   @param begin  [P + 1]  @param leaving [P^2],
 * both for use here */
static void add_step(const struct torus *torus, const struct step *step,
                     uint32_t round, uint16_t *at, uint32_t *begin,
                     uint32_t *leaving, struct nf_schedule *schedule)
{
    uint32_t p = torus->ranks, sum = 0;

    for (uint32_t r = 0; r <= p; r++)
        begin[r] = 0;
    for (uint32_t item = 0; item < p * p; item++)
        begin[at[item]] += way_of(torus, step, at[item], item % p).hops != 0;
    for (uint32_t r = 0; r <= p; r++) {
        uint32_t here = begin[r];

        begin[r] = sum;
        sum += here;
    }
    for (uint32_t item = 0; item < p * p; item++) {
        struct way way = way_of(torus, step, at[item], item % p);

        if (way.hops == 0)
            continue;
        leaving[begin[at[item]]++] = item;
        at[item] = (uint16_t)way.to;
    }
    /* that has moved every beginning to the next one */
    for (uint32_t r = 0; r < p && !schedule->failed; r++) {
        uint32_t first = r > 0 ? begin[r - 1] : 0;

        add_message(torus, step, round, r, leaving + first, begin[r] - first,
                    schedule);
    }
}

static void write_down(const struct torus *torus, struct nf_schedule *schedule)
{
    uint32_t p = torus->ranks;
    uint16_t *at = nf_malloc((size_t)p * p * sizeof(*at));
    uint32_t *leaving = nf_malloc((size_t)p * p * sizeof(*leaving));
    uint32_t *begin = nf_malloc(((size_t)p + 1) * sizeof(*begin));
    struct step step;

    if (at == NULL || leaving == NULL || begin == NULL)
        schedule->failed = true;
    for (uint32_t item = 0; !schedule->failed && item < p * p; item++)
        at[item] = (uint16_t)(item / p);
    for (uint32_t round = 0; !schedule->failed && step_of(torus, round, &step);
         round++)
        add_step(torus, &step, round, at, begin, leaving, schedule);
    nf_free(at);
    nf_free(leaving);
    nf_free(begin);
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    const struct torus torus = {
        .rows = args->shape->of[0],
        .columns = args->shape->of[1],
        .ranks = args->ranks,
        .merge0 = self == &nf_coll_alltoall_split_merge0 &&
                  args->shape->of[0] > 1, /* nothing goes along a column of 1 */
    };

    write_down(&torus, schedule);
}

static enum nf_status fits(const struct nf_coll_algorithm *self,
                           const struct nf_coll_args *args,
                           struct nf_error *err)
{
    const struct nf_coll_sides *shape = args->shape;
    if (shape != NULL && shape->count == 2 && shape->of[0] % 2 != 0 &&
        shape->of[1] % 2 != 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL, "%s: wants a shape of two odd sides",
                   self->name);
}

/* A shape is not known here. */
static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)price;
    (void)ranks;
    (void)bytes;
    (void)segments;
    return INFINITY;
}

/* 4 P blocks rest at the middle node, in messages twice as large. */
static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_kept_part(bytes, 10 * (uint64_t)ranks, 1);
}
static const struct nf_coll_kept kept = { "10 P m", kept_bytes };

const struct nf_coll_algorithm nf_coll_alltoall_split_merge = {
    .name = "alltoall.split_merge",
    .op = NF_COLL_ALLTOALL,
    .summary = "Split-and-Merge on a torus with odd sides",
    .source = "Kim, Kang, Chung, Efficient all-to-all personalized "
              "communication algorithms in wormhole-routed networks",
    .cost = "N x N: (N-1 + 2 ceil(log2 N)) a + about 3/4 N^3 b m",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .by_shape = true,
    .one_each = true,
    .fits = fits,
    .make = make,
    .cost_us = cost_us,
    .kept = &kept,
};

const struct nf_coll_algorithm nf_coll_alltoall_split_merge0 = {
    .name = "alltoall.split_merge0",
    .op = NF_COLL_ALLTOALL,
    .summary = "Split-and-Merge with the paper's step for the corner",
    .source = "Kim, Kang, Chung, Efficient all-to-all personalized "
              "communication algorithms in wormhole-routed networks",
    .cost = "N x N: (N + 2 ceil(log2 N)) a + about 3/4 N^3 b m",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_FULL,
    .by_shape = true,
    .one_each = true,
    .fits = fits,
    .make = make,
    .cost_us = cost_us,
    .kept = &kept,
};
