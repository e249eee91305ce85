/* Blocks that go round a ring or along the skips of a circulant graph, and what
 * that costs. */
#include "config.h"
#include "common/coll/blocks.h"
#include "common/coll/circulant.h"

uint32_t nf_blocks_ring(uint32_t ranks, uint32_t round, uint32_t offset,
                        enum nf_coll_action action,
                        struct nf_schedule *schedule)
{
    uint32_t first = 0, count = ranks;

    /* P rounds of P messages are many if only one rank's are wanted */
    if (schedule->only < ranks) {
        first = schedule->only + ranks - 1;
        count = 2;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = (first + i) % ranks;

        for (uint32_t t = 0; t + 1 < ranks; t++)
            nf_schedule_send(schedule, round + t, r, (r + 1) % ranks,
                             (r + offset + ranks - t) % ranks, 1, action);
    }
    return round + ranks - 1;
}

uint32_t nf_blocks_circulant_reduce_scatter(uint32_t ranks, uint32_t round,
                                            struct nf_schedule *schedule)
{
    uint32_t skip[NF_CIRCULANT_ROUNDS_MAX + 1];
    uint32_t q = nf_circulant_skips(ranks, skip);

    for (uint32_t i = q; i-- > 0; round++)
        for (uint32_t r = 0; r < ranks; r++) {
            nf_schedule_add(schedule, round, r, (r + skip[i]) % ranks,
                            NF_COLL_LEFT);
            nf_schedule_items_mod(schedule, r + skip[i], skip[i + 1] - skip[i],
                                  ranks);
        }
    return round;
}

uint32_t nf_blocks_circulant_allgather(uint32_t ranks, uint32_t round,
                                       struct nf_schedule *schedule)
{
    uint32_t skip[NF_CIRCULANT_ROUNDS_MAX + 1];
    uint32_t q = nf_circulant_skips(ranks, skip);

    for (uint32_t i = 0; i < q; i++, round++)
        for (uint32_t r = 0; r < ranks; r++) {
            nf_schedule_add(schedule, round, r, (r + ranks - skip[i]) % ranks,
                            NF_COLL_COPY);
            nf_schedule_items_mod(schedule, r, skip[i + 1] - skip[i], ranks);
        }
    return round;
}

/* P / gcd(P, shift) is even if P has more factors 2 than shift. */
uint32_t nf_blocks_shift_turns(uint32_t ranks, uint32_t shift)
{
    uint32_t twos = ranks & (~ranks + 1);

    return shift % twos != 0 ? 2 : 3;
}

double nf_blocks_shift_us(const struct nf_coll_price *price, uint32_t ranks,
                          uint32_t shift, double bytes)
{
    double send_us = nf_price_send_us(price, bytes);

    if (price->ports != NF_PORTS_HALF)
        return send_us;
    return nf_blocks_shift_turns(ranks, shift) * send_us;
}

double nf_blocks_ring_us(const struct nf_coll_price *price, uint32_t ranks,
                         double bytes)
{
    double sends = ranks - 1;

    if (price->ports == NF_PORTS_HALF)
        sends = 2 * (ranks % 2 == 0 ? sends : ranks);
    return sends * nf_price_send_us(price, bytes);
}

double nf_blocks_circulant_us(const struct nf_coll_price *price, uint32_t ranks,
                              double bytes)
{
    uint32_t skip[NF_CIRCULANT_ROUNDS_MAX + 1];
    uint32_t q = nf_circulant_skips(ranks, skip);
    double us = 0;

    for (uint32_t i = 0; i < q; i++)
        us += nf_blocks_shift_us(price, ranks, skip[i],
                                 (skip[i + 1] - skip[i]) * bytes);
    return us;
}
