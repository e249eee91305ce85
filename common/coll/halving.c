/* Recursive halving and its way back.
 *
 *     round t of n, d = distance(t), y = x xor d: the one without bit d sends
 *     the upper half of its range and combines right, the other one sends the
 *     lower half and combines left; m/2 + m/4 + ... + m/H bytes each way */
#include "config.h"
#include "common/coll/halving.h"
#include "common/coll/kept.h"

uint32_t nf_halving_distance(enum nf_halving order, uint32_t dims, uint32_t t)
{
    return UINT32_C(1) << (order == NF_HALVING_NEAR_FIRST ? t : dims - 1 - t);
}

struct nf_coll_span nf_halving_range(enum nf_halving order, uint32_t dims,
                                     uint32_t x, uint32_t rounds)
{
    struct nf_coll_span range = { 0, UINT32_C(1) << dims };

    for (uint32_t t = 0; t < rounds; t++) {
        range.count /= 2;
        if ((x & nf_halving_distance(order, dims, t)) != 0)
            range.first += range.count;
    }
    return range;
}

uint32_t nf_halving_reduce_scatter(const struct nf_fold *fold,
                                   enum nf_halving order, uint32_t round,
                                   struct nf_schedule *schedule)
{
    for (uint32_t t = 0; t < fold->dims; t++) {
        uint32_t d = nf_halving_distance(order, fold->dims, t);

        for (uint32_t x = 0; x < fold->survivors; x++) {
            uint32_t y = x ^ d;
            /* what the partner keeps */
            struct nf_coll_span half =
                nf_halving_range(order, fold->dims, y, t + 1);

            nf_schedule_send(schedule, round + t, nf_fold_rank(fold, x),
                             nf_fold_rank(fold, y), half.first, half.count,
                             x < y ? NF_COLL_LEFT : NF_COLL_RIGHT);
        }
    }
    return round + fold->dims;
}

uint32_t nf_halving_gather(const struct nf_fold *fold, enum nf_halving order,
                           uint32_t root, uint32_t round,
                           struct nf_schedule *schedule)
{
    uint32_t root_x = nf_fold_number(fold, root), done = 0;

    for (uint32_t t = fold->dims; t-- > 0; round++) {
        uint32_t d = nf_halving_distance(order, fold->dims, t);

        for (uint32_t x = 0; x < fold->survivors; x++) {
            uint32_t away = x ^ root_x;
            struct nf_coll_span range;

            if ((away & done) != 0 || (away & d) == 0)
                continue;
            range = nf_halving_range(order, fold->dims, x, t + 1);
            nf_schedule_send(schedule, round, nf_fold_rank(fold, x),
                             nf_fold_rank(fold, x ^ d), range.first,
                             range.count, NF_COLL_COPY);
        }
        done |= d;
    }
    return round;
}

uint32_t nf_halving_allgather(const struct nf_fold *fold, enum nf_halving order,
                              uint32_t round, struct nf_schedule *schedule)
{
    for (uint32_t t = fold->dims; t-- > 0; round++) {
        uint32_t d = nf_halving_distance(order, fold->dims, t);

        for (uint32_t x = 0; x < fold->survivors; x++) {
            struct nf_coll_span range =
                nf_halving_range(order, fold->dims, x, t + 1);

            nf_schedule_send(schedule, round, nf_fold_rank(fold, x),
                             nf_fold_rank(fold, x ^ d), range.first,
                             range.count, NF_COLL_COPY);
        }
    }
    return round;
}

double nf_halving_us(const struct nf_coll_price *price, uint32_t dims,
                     double bytes)
{
    double us = 0;

    for (uint32_t t = 0; t < dims; t++) {
        bytes /= 2;
        us += nf_price_send_us(price, bytes);
    }
    return price->ports == NF_PORTS_HALF ? 2 * us : us;
}

/* @param times  (H-1)/H of the vector   @param folded  all of it, if P != 2^n
 */
static uint64_t kept_of(uint32_t ranks, uint64_t bytes, uint64_t times,
                        uint64_t folded)
{
    uint64_t survivors = UINT64_C(1) << nf_coll_floor_log2(ranks);

    if (survivors == ranks)
        folded = 0;
    return nf_kept_part(bytes, times * (survivors - 1) + folded * survivors,
                        survivors);
}

static uint64_t gather_bytes(const struct nf_coll_algorithm *self,
                             uint32_t ranks, uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return kept_of(ranks, bytes, 2, 1);
}
const struct nf_coll_kept nf_kept_halving_gather = {
    "2 m (H-1)/H; P != 2^n: + m", gather_bytes
};

static uint64_t allgather_bytes(const struct nf_coll_algorithm *self,
                                uint32_t ranks, uint64_t bytes,
                                uint32_t segments)
{
    (void)self;
    (void)segments;
    return kept_of(ranks, bytes, 3, 2);
}
const struct nf_coll_kept nf_kept_halving_allgather = {
    "3 m (H-1)/H; P != 2^n: + 2 m", allgather_bytes
};
