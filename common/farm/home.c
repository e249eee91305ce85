/* Results that stay with their slaves: what is lost with one, and when all are
 * to come home. */
#include "config.h"
#include "common/farm/farm_impl.h"

bool nf_farm_is_holding(const struct nf_farm *farm)
{
    return farm->pool.holders != NULL;
}

/* All units are settled: answers that are still to come are of no use.  Their
 * slaves forget what GATHER does not ask for, and that may cross the answers.
 */
static void make_leases_stale(struct nf_farm *farm)
{
    for (uint32_t k = 0; k < farm->view.nslots; k++)
        for (uint32_t i = farm->slots[k].leases.head; i != NF_CHUNK_NONE;) {
            struct nf_chunk *chunk = nf_chunks_at(&farm->pool.chunks, i);

            chunk->stale = true;
            i = chunk->next;
        }
}

void nf_farm_end_or_gather(struct nf_farm *farm)
{
    if (farm->over || farm->gathering ||
        farm->pool.counts[NF_UNIT_SETTLED] < farm->pool.units)
        return;
    if (farm->phases) {
        farm->gathering = true;
        make_leases_stale(farm);
    } else if (farm->pool.held == 0) {
        farm->over = true;
        nf_farm_act(farm, NF_ACT_DONE);
    } else if (nf_farm_act(farm, NF_ACT_GATHER)) {
        farm->gathering = true;
        make_leases_stale(farm);
        farm->stats.gathers++;
    }
}

uint64_t nf_farm_lose_held(struct nf_farm *farm, uint32_t slave)
{
    uint64_t lost;

    if (!nf_farm_is_holding(farm) || farm->over)
        return 0;
    lost = nf_pool_lose_holder(&farm->pool, slave);
    farm->stats.done -= lost;
    farm->stats.recomputed += lost;
    if (lost > 0 && farm->gathering) {
        farm->gathering = false;
        if (farm->phases)
            nf_phases_first_is_broken(farm);
        else
            nf_farm_act(farm, NF_ACT_ABANDON);
    }
    return lost;
}

enum nf_status nf_farm_gathered(struct nf_farm *farm, int64_t now_us,
                                struct nf_actions *actions_p)
{
    nf_farm_begin(farm, NF_SLAVE_NONE, now_us);
    if (!farm->gathering || farm->phases)
        return nf_farm_reject(farm, NF_ERR_PROTOCOL, actions_p);
    farm->gathering = false;
    nf_pool_release_held(&farm->pool);
    return nf_farm_finish(farm, actions_p);
}

enum nf_status nf_farm_gather_failed(struct nf_farm *farm, int64_t now_us,
                                     struct nf_actions *actions_p)
{
    nf_farm_begin(farm, NF_SLAVE_NONE, now_us);
    if (!farm->gathering || farm->phases)
        return nf_farm_reject(farm, NF_ERR_PROTOCOL, actions_p);
    farm->gathering = false;
    return nf_farm_finish(farm, actions_p);
}

bool nf_farm_next_held(const struct nf_farm *farm, uint64_t from,
                       struct nf_held_range *range_p)
{
    const uint32_t *holders = farm->pool.holders;
    uint64_t units = farm->pool.units, end;

    if (!nf_farm_is_holding(farm) || farm->pool.held == 0)
        return false;
    while (from < units && holders[from] >= NF_HOLDER_LOST)
        from++;
    if (from >= units)
        return false;
    for (end = from + 1; end < units && holders[end] == holders[from];)
        end++;
    *range_p = (struct nf_held_range){ .slave = holders[from],
                                       .first = from,
                                       .count = end - from };
    return true;
}
