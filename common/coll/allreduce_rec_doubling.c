/* rec_doubling: partners exchange what they have and both combine it.
 *
 *     P != 2^n: pairs become one (fold.h)
 *     round t = 0..n-1: x <-> x xor 2^t, the lower is the left operand
 *     P != 2^n: survivors hand the result back
 *
 *     full duplex n (T(m) + C(m)), half duplex n (2T(m) + C(m)),
 *     P != 2^n: + 2T(m) + C(m)
 *
 * The best for short vectors; keeps the order of operands. */
#include "config.h"
#include "common/coll/fold.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_fold fold = nf_fold_plan(args->ranks, 0);
    uint32_t round = nf_fold_in(&fold, 1, schedule);

    (void)self;
    for (uint32_t t = 0; t < fold.dims; t++, round++)
        for (uint32_t x = 0; x < fold.survivors; x++) {
            uint32_t y = x ^ UINT32_C(1) << t;

            nf_schedule_send(schedule, round, nf_fold_rank(&fold, x),
                             nf_fold_rank(&fold, y), 0, 1,
                             x < y ? NF_COLL_LEFT : NF_COLL_RIGHT);
        }
    nf_fold_out(&fold, round, 1, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t n = nf_coll_floor_log2(ranks);
    double sends = price->ports == NF_PORTS_HALF ? 2 * n : n, combines = n;

    (void)self;
    (void)segments;
    if ((ranks & (ranks - 1)) != 0) {
        sends += 2;
        combines += 1;
    }
    return sends * nf_price_send_us(price, bytes) +
           combines * nf_price_combine_us(price, bytes);
}

const struct nf_coll_algorithm nf_coll_allreduce_rec_doubling = {
    .name = "allreduce.rec_doubling",
    .op = NF_COLL_ALLREDUCE,
    .summary = "partners exchange the vector, twice as far each round",
    .source = "folklore; any P by folding",
    .cost = "FD n (T(m) + C(m)), HD n (2T(m) + C(m)); P != 2^n: + 2T(m) + "
            "C(m)",
    .items = NF_ITEMS_WHOLE,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_RANKS,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_levels,
};
