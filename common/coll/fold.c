/* Pairs of ranks that act as one, so that 2^n are left.
 *
 *     pairs (2i, 2i+1), i < P - H: 2i+1 -> 2i, right; if 2i+1 has to survive
 *     2i -> 2i+1, left                                        T(m) + C(m) */
#include "config.h"
#include "common/coll/fold.h"

struct nf_fold nf_fold_plan(uint32_t ranks, uint32_t keep)
{
    uint32_t dims = nf_coll_floor_log2(ranks);

    return (struct nf_fold){
        .dims = dims,
        .survivors = UINT32_C(1) << dims,
        .pairs = ranks - (UINT32_C(1) << dims),
        .keep = keep,
    };
}

uint32_t nf_fold_rank(const struct nf_fold *fold, uint32_t x)
{
    if (x >= fold->pairs)
        return x + fold->pairs;
    return fold->keep == 2 * x + 1 ? 2 * x + 1 : 2 * x;
}

uint32_t nf_fold_number(const struct nf_fold *fold, uint32_t rank)
{
    return rank < 2 * fold->pairs ? rank / 2 : rank - fold->pairs;
}

uint32_t nf_fold_in(const struct nf_fold *fold, uint32_t items,
                    struct nf_schedule *schedule)
{
    for (uint32_t x = 0; x < fold->pairs; x++) {
        uint32_t to = nf_fold_rank(fold, x);
        /* of 2x and 2x+1 the other one */
        uint32_t from = to ^ 1;

        nf_schedule_send(schedule, 0, from, to, 0, items,
                         from > to ? NF_COLL_RIGHT : NF_COLL_LEFT);
    }
    return fold->pairs > 0 ? 1 : 0;
}

uint32_t nf_fold_out(const struct nf_fold *fold, uint32_t round, uint32_t items,
                     struct nf_schedule *schedule)
{
    for (uint32_t x = 0; x < fold->pairs; x++) {
        uint32_t from = nf_fold_rank(fold, x);

        nf_schedule_send(schedule, round, from, from ^ 1, 0, items,
                         NF_COLL_COPY);
    }
    return fold->pairs > 0 ? round + 1 : round;
}
