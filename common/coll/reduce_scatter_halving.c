/* halving: partners halve the blocks that they have in common and combine what
 * they keep, partners at distances H/2, ..., 2, 1 (reduce_scatter_cube.h).
 *
 *     P != 2^n: pairs become one; at the end 2x -> 2x+1 its block
 *     round t: x <-> x xor H/2^(t+1), the blocks that the other ends with
 *
 *     P = 2^n: full duplex n a + (bm + C(m))(P-1)/P, half duplex 2n a + (2bm +
 *     C(m))(P-1)/P;  else about + T(m) + C(m) + T(m/P)
 *
 * As circulant for P = 2^n, with blocks that never wrap around. */
#include "config.h"
#include "common/coll/reduce_scatter_cube.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_reduce_scatter_cube(args->ranks, NF_HALVING_FAR_FIRST, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_reduce_scatter_cube_us(price, ranks, NF_HALVING_FAR_FIRST, bytes);
}

const struct nf_coll_algorithm nf_coll_reduce_scatter_halving = {
    .name = "reduce_scatter.halving",
    .op = NF_COLL_REDUCE_SCATTER,
    .summary =
        "halves exchanged and combined, partners at distances ..., 4, 2, 1",
    .source = "Rabenseifner 2004",
    .cost = "P = 2^n: FD n a + (bm + C(m))(P-1)/P, HD 2n a + (2bm + "
            "C(m))(P-1)/P; else about + T(m) + C(m) + T(m/P)",
    .items = NF_ITEMS_BLOCKS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_reduce_scatter_cube,
};
