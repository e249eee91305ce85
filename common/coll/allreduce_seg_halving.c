/* seg_halving: as seg_doubling, but with partners at distances H/2, ..., 2, 1.
 *
 *     full duplex 2n a + (2bm + C(m))(H-1)/H, half duplex 4n a + (4bm +
 *     C(m))(H-1)/H;  P != 2^n: + 2T(m) + C(m)
 *
 * The classic form.  As dear as seg_doubling, but only for operators that
 * commute; the long messages go far and the short ones to neighbours. */
#include "config.h"
#include "common/coll/halving.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_fold fold = nf_fold_plan(args->ranks, 0);
    uint32_t round = nf_fold_in(&fold, fold.survivors, schedule);

    (void)self;
    round =
        nf_halving_reduce_scatter(&fold, NF_HALVING_FAR_FIRST, round, schedule);
    round = nf_halving_allgather(&fold, NF_HALVING_FAR_FIRST, round, schedule);
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

const struct nf_coll_algorithm nf_coll_allreduce_seg_halving = {
    .name = "allreduce.seg_halving",
    .op = NF_COLL_ALLREDUCE,
    .summary =
        "halves exchanged and combined, partners at distances ..., 4, 2, 1",
    .source = "Rabenseifner 2004; any P by folding",
    .cost = "FD 2n a + (2bm + C(m))(H-1)/H, HD 4n a + (4bm + C(m))(H-1)/H; "
            "P != 2^n: + 2T(m) + C(m)",
    .items = NF_ITEMS_SUBCUBE,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_halving_allgather,
};
