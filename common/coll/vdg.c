/* The binomial scatter of the blocks of a vector.
 *
 *     round t = 0..q-1, h = 2^(q-1-t): v -> v+h, v = 0 mod 2h, v+h < P, blocks
 *     v+h .. min(v+2h, P) - 1                          q a + b m (P-1)/P */
#include "config.h"
#include "common/coll/kept.h"
#include "common/coll/vdg.h"

/* Blocks that go from v to v + half. */
static uint32_t count_blocks(uint32_t ranks, uint32_t v, uint32_t half)
{
    uint32_t left = ranks - v - half;

    return left < half ? left : half;
}

uint32_t nf_vdg_scatter(const struct nf_coll_args *args,
                        struct nf_schedule *schedule)
{
    uint32_t q = nf_coll_ceil_log2(args->ranks);

    for (uint32_t t = 0; t < q; t++) {
        uint32_t half = UINT32_C(1) << (q - 1 - t);

        for (uint32_t v = 0; v + half < args->ranks; v += 2 * half)
            nf_schedule_send(schedule, t, nf_coll_true_rank(args, v),
                             nf_coll_true_rank(args, v + half), v + half,
                             count_blocks(args->ranks, v, half), NF_COLL_COPY);
    }
    return q;
}

double nf_vdg_scatter_us(const struct nf_coll_price *price, uint32_t ranks,
                         double bytes)
{
    double us = 0;

    for (uint32_t half = 1; half < ranks; half *= 2)
        us += nf_price_send_us(price,
                               bytes / ranks * count_blocks(ranks, 0, half));
    return us;
}

uint64_t nf_vdg_kept_bytes(uint32_t ranks, uint64_t bytes, uint32_t blocks)
{
    return nf_kept_part(bytes, ranks / 2 + (uint64_t)blocks, ranks);
}
