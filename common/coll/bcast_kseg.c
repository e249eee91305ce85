/* k-segment: the root deals out k segments to leaders, these give them to their
 * groups, and ranks with different segments exchange them around rings.
 *
 *     Q = floor(P/k) columns; rank i Q + c is in place i of column c
 *     rounds 0..k-2: 0 -> i Q, segment i = 1..k-1
 *     Q-1 rounds:    i Q -> i Q + c, segment i, c = 1..Q-1
 *     L-1 rounds t in each column of L places: i -> i+1 mod L, segment i-t mod
 *     L, unless there is none or the receiver is the root
 *     HD ((k-1) + (Q-1) + 2 (L-1)) T(m/k), FD with L-1 once, L = ceil(P/Q)
 *
 * Beats binomial for medium lengths on half-duplex ports; the best k is small
 * there and P/2 for long vectors.  With more segments than ranks, P bundles of
 * them take the part of the segments; that has no price. */
#include "config.h"
#include <math.h>
#include "common/coll/kept.h"

static uint32_t bundles(uint32_t ranks, uint32_t segments)
{
    return segments < ranks ? segments : ranks;
}

static void add(const struct nf_coll_args *args, uint32_t round, uint32_t from,
                uint32_t to, uint32_t bundle, struct nf_schedule *schedule)
{
    uint32_t b = bundles(args->ranks, args->segments);
    uint32_t first = bundle * args->segments / b;
    uint32_t end = (bundle + 1) * args->segments / b;

    nf_schedule_send(schedule, round, nf_coll_true_rank(args, from),
                     nf_coll_true_rank(args, to), first, end - first,
                     NF_COLL_COPY);
}

static void add_ring(const struct nf_coll_args *args, uint32_t first_round,
                     uint32_t columns, uint32_t c, struct nf_schedule *schedule)
{
    uint32_t places = (args->ranks - c + columns - 1) / columns;
    uint32_t b = bundles(args->ranks, args->segments);

    for (uint32_t t = 0; t + 1 < places; t++) {
        for (uint32_t i = 0; i < places; i++) {
            uint32_t bundle = (i + places - t) % places;
            uint32_t to = (i + 1) % places * columns + c;

            if (bundle < b && to != 0)
                add(args, first_round + t, i * columns + c, to, bundle,
                    schedule);
        }
    }
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t b = bundles(args->ranks, args->segments);
    uint32_t columns = args->ranks / b;

    (void)self;
    for (uint32_t i = 1; i < b; i++)
        add(args, i - 1, 0, i * columns, i, schedule);
    for (uint32_t c = 1; c < columns; c++)
        for (uint32_t i = 0; i < b; i++)
            add(args, b - 1 + c - 1, i * columns, i * columns + c, i, schedule);
    for (uint32_t c = 0; c < columns; c++)
        add_ring(args, b - 1 + columns - 1, columns, c, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t columns, ring;

    (void)self;
    if (segments > ranks)
        return INFINITY;
    columns = ranks / segments;
    ring = (ranks + columns - 1) / columns - 1;
    if (price->ports == NF_PORTS_HALF)
        ring *= 2;
    return (segments - 1 + columns - 1 + ring) *
           nf_price_send_us(price, bytes / segments);
}

static uint32_t default_segments(uint32_t ranks)
{
    return ranks > 1 ? ranks / 2 : 1;
}

const struct nf_coll_algorithm nf_coll_bcast_kseg = {
    .name = "bcast.kseg",
    .op = NF_COLL_BCAST,
    .summary = "segments dealt out to groups, then exchanged around rings",
    .source = "Kim, report 98-NF-03-04-A-01, 3.3",
    .cost = "HD ((k-1) + (Q-1) + 2(L-1)) T(m/k), FD ((k-1) + (Q-1) + (L-1)) "
            "T(m/k), Q = floor(P/k), L = ceil(P/Q), k <= P",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .default_segments = default_segments,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};
