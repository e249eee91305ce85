/* The circuit RootP and its length.
 *
 * Group g = ranks g(g-1)/2+1 .. g(g+1)/2 scans along its members while the
 * prefix of all before comes down the leaders, one step a group; then what the
 * leader before has is combined into the other members:
 *
 *     round p             first+p -> first+p+1      inside the group
 *     round g-1           lead(g-1) -> lead(g)      the spine
 *     round g+p           chain: lead(g-1) (p = 0) or first+p-1 -> first+p,
 *                         fan: lead(g-1) -> first+p;  for first+p < lead
 *
 * A member of the chain must hand on what came in, which is not what it has
 * after combining: so the register car. */
#include "config.h"
#include "common/coll/kept.h"
#include "common/coll/scan.h"

/* max(2s-3, s+d-1): the spine with the chain of the group before the last, or
 * with that of the last group, which has d members.  s is the last group, the
 * least with s(s+1)/2 >= P-1. */
uint32_t nf_scan_rootp_rounds(uint32_t ranks)
{
    uint32_t s = 1, before_last, last;

    while (s * (s + 1) / 2 < ranks - 1)
        s++;
    before_last = 2 * s;
    last = s + (ranks - 1 - s * (s - 1) / 2) + 2;
    return (last > before_last ? last : before_last) - 3;
}

static void hand_on(uint32_t g, uint32_t first, uint32_t lead, bool fan,
                    struct nf_schedule *schedule)
{
    for (uint32_t r = first; r < lead; r++) {
        uint32_t src = fan ? first - 1 : r - 1;

        nf_schedule_send(schedule, g + r - first, src, r, 0, 1, NF_COLL_LEFT);
        nf_schedule_car(schedule, !fan, !fan && r > first);
    }
}

void nf_scan_rootp(uint32_t ranks, bool fan, struct nf_schedule *schedule)
{
    uint32_t first = 1;

    for (uint32_t g = 1; first < ranks; g++) {
        uint32_t lead = first + g < ranks ? first + g - 1 : ranks - 1;

        for (uint32_t r = first; r < lead; r++)
            nf_schedule_send(schedule, r - first, r, r + 1, 0, 1, NF_COLL_LEFT);
        nf_schedule_send(schedule, g - 1, first - 1, lead, 0, 1, NF_COLL_LEFT);
        hand_on(g, first, lead, fan, schedule);
        first = lead + 1;
    }
}

static uint64_t fan_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                          uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_kept_part(bytes, ranks > 3 ? 2 : 1, 1);
}
const struct nf_coll_kept nf_kept_rootp_fan = { "2 m; P < 4: m", fan_bytes };

static uint64_t chain_bytes(const struct nf_coll_algorithm *self,
                            uint32_t ranks, uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return nf_kept_part(bytes, ranks > 3 ? 3 : 1, 1);
}
const struct nf_coll_kept nf_kept_rootp_chain = { "3 m; P < 4: m",
                                                  chain_bytes };
