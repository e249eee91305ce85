/* rabenseifner: recursive halving, then a binomial gather of the segments.
 *
 *     as seg, with partners H/2, ..., 2, 1 apart
 *     HD 3 n a + (3 b m + C(m)) (H-1)/H,
 *     FD 2 n a + (2 b m + C(m)) (H-1)/H; P != 2^n: + T(m) + C(m)
 *
 * What MPI libraries do for long vectors and commutative operators, to compare
 * with.  It costs what seg costs, and its longest messages go farthest. */
#include "config.h"
#include "common/coll/halving.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_fold fold = nf_fold_plan(args->ranks, args->root);
    uint32_t round = nf_fold_in(&fold, fold.survivors, schedule);

    (void)self;
    round =
        nf_halving_reduce_scatter(&fold, NF_HALVING_FAR_FIRST, round, schedule);
    nf_halving_gather(&fold, NF_HALVING_FAR_FIRST, args->root, round, schedule);
}

/* Messages are as long as those of seg. */
static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    return nf_coll_reduce_seg.cost_us(&nf_coll_reduce_seg, price, ranks, bytes,
                                      segments);
}

const struct nf_coll_algorithm nf_coll_reduce_rabenseifner = {
    .name = "reduce.rabenseifner",
    .op = NF_COLL_REDUCE,
    .summary = "recursive halving from far to near, then a binomial gather",
    .source = "Rabenseifner, Optimization of collective reduction operations, "
              "ICCS 2004",
    .cost = "HD 3 n a + (3 b m + C(m)) (H-1)/H, FD 2 n a + (2 b m + C(m)) "
            "(H-1)/H; + T(m) + C(m) if P is not 2^n",
    .items = NF_ITEMS_SUBCUBE,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_halving_gather,
};
