/* seg_doubling: a vector of H blocks is halved and combined between partners at
 * distances 1, 2, 4, ..., then gathered backwards.
 *
 *     P != 2^n: pairs become one (fold.h)
 *     n rounds of reduce-scatter: x <-> x xor 2^t, half the range of each,
 *     x < y: left at y, right at x;  n rounds of allgather, copy
 *     P != 2^n: survivors hand the result back
 *
 *     full duplex 2n a + (2bm + C(m))(H-1)/H, half duplex 4n a + (4bm +
 *     C(m))(H-1)/H;  P != 2^n: + 2T(m) + C(m)
 *
 * The best for long vectors if the operator does not commute: operands stay
 * contiguous. */
#include "config.h"
#include "common/coll/halving.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_fold fold = nf_fold_plan(args->ranks, 0);
    uint32_t round = nf_fold_in(&fold, fold.survivors, schedule);

    (void)self;
    round = nf_halving_reduce_scatter(&fold, NF_HALVING_NEAR_FIRST, round,
                                      schedule);
    round = nf_halving_allgather(&fold, NF_HALVING_NEAR_FIRST, round, schedule);
    nf_fold_out(&fold, round, fold.survivors, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t n = nf_coll_floor_log2(ranks);
    double h = UINT32_C(1) << n;
    double us = 2 * nf_halving_us(price, n, bytes) +
                nf_price_combine_us(price, bytes * (h - 1) / h);

    (void)self;
    (void)segments;
    if ((ranks & (ranks - 1)) != 0)
        us += 2 * nf_price_send_us(price, bytes) +
              nf_price_combine_us(price, bytes);
    return us;
}

const struct nf_coll_algorithm nf_coll_allreduce_seg_doubling = {
    .name = "allreduce.seg_doubling",
    .op = NF_COLL_ALLREDUCE,
    .summary =
        "halves exchanged and combined, partners at distances 1, 2, 4, ...",
    .source = "Kim, report 98-NF-03-04-A-01, 3.4; any P by folding",
    .cost = "FD 2n a + (2bm + C(m))(H-1)/H, HD 4n a + (4bm + C(m))(H-1)/H; "
            "P != 2^n: + 2T(m) + C(m)",
    .items = NF_ITEMS_SUBCUBE,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_RANKS,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_halving_allgather,
};
