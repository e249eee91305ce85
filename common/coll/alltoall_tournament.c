/* tournament: disjoint pairs meet, the lower rank sends first.  Circle method,
 * n = P, or P+1 with a guest whom to meet is to rest:
 *
 *     t = 0..n-2: (t+i, t-i) mod (n-1), i = 1..n/2-1; and n-1 meets t
 *     steps 2t and 2t+1: the lower rank sends, the higher one does
 *
 * 2 (P-1) T(m) for even P, 2 P T(m) for odd P: the best on half-duplex ports.
 */
#include "config.h"
#include "common/coll/kept.h"

static void meet(uint32_t ranks, uint32_t t, uint32_t a, uint32_t b,
                 struct nf_schedule *schedule)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;

    nf_schedule_send(schedule, 2 * t, low, high, low * ranks + high, 1,
                     NF_COLL_COPY);
    nf_schedule_send(schedule, 2 * t + 1, high, low, high * ranks + low, 1,
                     NF_COLL_COPY);
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t p = args->ranks, n = p + p % 2;

    (void)self;
    for (uint32_t t = 0; t < n - 1; t++) {
        for (uint32_t i = 1; i < n / 2; i++)
            meet(p, t, (t + i) % (n - 1), (t + n - 1 - i) % (n - 1), schedule);
        if (p % 2 == 0)
            meet(p, t, n - 1, t, schedule);
    }
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return 2 * (ranks - 1 + ranks % 2) * nf_price_send_us(price, bytes);
}

const struct nf_coll_algorithm nf_coll_alltoall_tournament_hd = {
    .name = "alltoall.tournament_hd",
    .op = NF_COLL_ALLTOALL,
    .summary = "disjoint pairs, one block after the other",
    .source = "Kim, report 98-NF-03-04-A-01, 3.9; circle method",
    .cost = "2 (P-1) T(m), odd P: 2 P T(m)",
    .items = NF_ITEMS_PAIRS,
    .ports = NF_PORTS_HALF,
    .rounds_ahead = 1,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_twice,
};
