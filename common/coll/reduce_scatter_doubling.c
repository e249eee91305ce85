/* doubling: as halving, but with partners at distances 1, 2, 4, ..., so that
 * operands stay contiguous; the blocks of a message are not
 * (reduce_scatter_cube.h).
 *
 *     P = 2^n: full duplex n a + (bm + C(m))(P-1)/P, half duplex 2n a + (2bm +
 *     C(m))(P-1)/P;  else about + T(m) + C(m) + T(m/P)
 *
 * The only one for operators that do not commute. */
#include "config.h"
#include "common/coll/reduce_scatter_cube.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_reduce_scatter_cube(args->ranks, NF_HALVING_NEAR_FIRST, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_reduce_scatter_cube_us(price, ranks, NF_HALVING_NEAR_FIRST,
                                     bytes);
}

const struct nf_coll_algorithm nf_coll_reduce_scatter_doubling = {
    .name = "reduce_scatter.doubling",
    .op = NF_COLL_REDUCE_SCATTER,
    .summary =
        "halves exchanged and combined, partners at distances 1, 2, 4, ...",
    .source = "Rabenseifner 2004, distances of Kim, report 98-NF-03-04-A-01",
    .cost = "P = 2^n: FD n a + (bm + C(m))(P-1)/P, HD 2n a + (2bm + "
            "C(m))(P-1)/P; else about + T(m) + C(m) + T(m/P)",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_RANKS,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_reduce_scatter_cube,
};
