/* k-nomial: trees of radix R, flatter than binomial ones.
 *
 *     levels w = R^(L-1), ..., R, 1 (R^L >= P), j = 1..R-1, a round for each
 *     pair with a message: v -> v + j w, v = 0 mod R w
 *     (at most ceil(log_R P)) T(m)
 *     with o_s: a level of n messages T(m) + (n-1) max(o_s, T(m) - T(0))
 *
 * Pays where a sender is free long before its message is there (o_s is known,
 * and short), so that several are on their way at once; one after the other
 * binomial, which is radix 2, is never worse. */
#include "config.h"
#include "common/coll/kept.h"

/* The width of the first level. */
static uint32_t widest(uint32_t radix, uint32_t ranks)
{
    uint32_t width = 1;

    while (width * radix < ranks)
        width *= radix;
    return width;
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t round = 0, radix = self->radix;

    for (uint32_t w = widest(radix, args->ranks); w > 0; w /= radix)
        for (uint32_t j = 1; j < radix && j * w < args->ranks; j++, round++)
            for (uint32_t v = 0; v + j * w < args->ranks; v += radix * w)
                nf_schedule_send(schedule, round, nf_coll_true_rank(args, v),
                                 nf_coll_true_rank(args, v + j * w), 0, 1,
                                 NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double us = 0;

    (void)segments;
    for (uint32_t w = widest(self->radix, ranks); w > 0; w /= self->radix) {
        uint32_t most = (ranks - 1) / w;

        us += nf_price_sequence_us(
            price, bytes, most < self->radix - 1 ? most : self->radix - 1);
    }
    return us;
}

#define KNOMIAL(number)                                                        \
    const struct nf_coll_algorithm nf_coll_bcast_knomial##number = {           \
        .name = "bcast.knomial" #number,                                       \
        .op = NF_COLL_BCAST,                                                   \
        .summary = "a binomial tree of radix " #number,                        \
        .source = "Open MPI, MPICH and UCC have it",                           \
        .cost = "sum of min(R-1, floor((P-1)/w)) over w = R^i < P, times "     \
                "T(m), R = " #number "; with o_s less",                        \
        .items = NF_ITEMS_WHOLE,                                               \
        .ports = NF_PORTS_HALF,                                                \
        .radix = (number),                                                     \
        .make = make,                                                          \
        .cost_us = cost_us,                                                    \
        .kept = &nf_kept_vector,                                               \
    }

KNOMIAL(3);
KNOMIAL(4);
KNOMIAL(8);
