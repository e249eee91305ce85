/* seg: segmented reduction, that is recursive halving, then a binomial gather
 * of the segments.
 *
 *     fold to H survivors, the root among them; n rounds of halving;
 *     n rounds of gathering: the half without the root sends all it has over
 *     HD 3 n a + (3 b m + C(m)) (H-1)/H,
 *     FD 2 n a + (2 b m + C(m)) (H-1)/H; P != 2^n: + T(m) + C(m)
 *
 * For long vectors, any operator and any root: partners are 1, 2, 4, ... apart,
 * so operands stay in the order of ranks.  The chain, which moves fewer bytes,
 * keeps the order only for root 0, circulant never. */
#include "config.h"
#include "common/coll/halving.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_fold fold = nf_fold_plan(args->ranks, args->root);
    uint32_t round = nf_fold_in(&fold, fold.survivors, schedule);

    (void)self;
    round = nf_halving_reduce_scatter(&fold, NF_HALVING_NEAR_FIRST, round,
                                      schedule);
    nf_halving_gather(&fold, NF_HALVING_NEAR_FIRST, args->root, round,
                      schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t n = nf_coll_floor_log2(ranks);
    /* of an exchange and of a gather */
    uint32_t transfers = price->ports == NF_PORTS_HALF ? 3 : 2;
    double us = 0, part = bytes;

    (void)self;
    (void)segments;
    if (ranks != UINT32_C(1) << n)
        us +=
            nf_price_send_us(price, bytes) + nf_price_combine_us(price, bytes);
    for (uint32_t t = 0; t < n; t++) {
        part /= 2;
        us += transfers * nf_price_send_us(price, part) +
              nf_price_combine_us(price, part);
    }
    return us;
}

const struct nf_coll_algorithm nf_coll_reduce_seg = {
    .name = "reduce.seg",
    .op = NF_COLL_REDUCE,
    .summary = "recursive halving, then a binomial gather; any operator, any "
               "root",
    .source = "Kim, report 98-NF-03-04-A-01, 3.4",
    .cost = "HD 3 n a + (3 b m + C(m)) (H-1)/H, FD 2 n a + (2 b m + C(m)) "
            "(H-1)/H; + T(m) + C(m) if P is not 2^n",
    .items = NF_ITEMS_SUBCUBE,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_RANKS,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_halving_gather,
};
