/* Leases that two slaves have.  The states of the units alone decide what an
 * answer is worth, so nothing here can make a unit count twice; what is seen
 * to here is that a unit is handed out again only when neither copy has it. */
#include "config.h"
#include "common/farm/farm_impl.h"
#include <assert.h>

/* Is a unit of it still wanted? */
static bool is_wanted(const struct nf_farm *farm, const struct nf_chunk *chunk)
{
    for (uint64_t i = 0; i < chunk->count; i++)
        if (nf_pool_state(&farm->pool, chunk->first + i) == NF_UNIT_LEASED)
            return true;
    return false;
}

static bool may_be_copied(const struct nf_farm *farm,
                          const struct nf_chunk *chunk)
{
    return chunk->twin == NF_CHUNK_NONE && chunk->attempts == 0 &&
           chunk->silences == 0 && !chunk->single && !chunk->spoilt &&
           !chunk->stale && is_wanted(farm, chunk);
}

/* @return the last lease of the slot that may be copied, or NF_CHUNK_NONE */
static uint32_t find_original(const struct nf_farm *farm, uint32_t slot,
                              uint32_t *behind_p)
{
    uint32_t index = farm->slots[slot].leases.tail, behind = 0;

    while (index != NF_CHUNK_NONE) {
        const struct nf_chunk *chunk = nf_chunks_at(&farm->pool.chunks, index);

        if (may_be_copied(farm, chunk))
            break;
        index = chunk->prev;
        behind++;
    }
    *behind_p = index == NF_CHUNK_NONE ? NF_NO_COPY : behind;
    return index;
}

void nf_farm_look_for_copy(struct nf_farm *farm, uint32_t slot)
{
    if (farm->policy.pacer->replicate)
        find_original(farm, slot, &farm->views[slot].behind);
}

void nf_farm_part(struct nf_farm *farm, struct nf_chunk *chunk)
{
    struct nf_chunk *twin;

    if (chunk->twin == NF_CHUNK_NONE)
        return;
    twin = nf_chunks_at(&farm->pool.chunks, chunk->twin);
    chunk->twin = NF_CHUNK_NONE;
    twin->twin = NF_CHUNK_NONE;
    nf_farm_look_for_copy(farm, twin->slot);
}

bool nf_farm_is_covered(const struct nf_farm *farm,
                        const struct nf_chunk *chunk)
{
    return chunk->twin != NF_CHUNK_NONE &&
           nf_chunks_at(&farm->pool.chunks, chunk->twin)->first <= chunk->first;
}

void nf_farm_leave_to_twin(struct nf_farm *farm, struct nf_chunk *chunk,
                           bool spoilt)
{
    struct nf_chunk *twin;

    if (chunk->twin == NF_CHUNK_NONE)
        return;
    twin = nf_chunks_at(&farm->pool.chunks, chunk->twin);
    twin->spoilt |= spoilt;
    if (twin->silences < chunk->silences) /* or one that silences its slaves */
        twin->silences = chunk->silences; /* would get slave after slave */
    /* both end with the same unit */
    if (twin->first <= chunk->first)
        chunk->count = 0;
    else if (twin->first - chunk->first < chunk->count)
        chunk->count = twin->first - chunk->first;
    nf_farm_part(farm, chunk);
}

void nf_farm_forget(struct nf_farm *farm, uint32_t index)
{
    uint32_t slot = nf_chunks_at(&farm->pool.chunks, index)->slot;
    uint32_t slave = farm->slots[slot].slave;

    nf_chunk_list_remove(&farm->pool.chunks, &farm->slots[slot].leases, index);
    nf_chunks_free(&farm->pool.chunks, index);
    nf_farm_look_for_copy(farm, slot);
    farm->leases--;
    farm->views[slot].outstanding--;
    farm->slaves[slave].outstanding--;
    if (nf_farm_load(&farm->slaves[slave]) == 0)
        nf_farm_idle_add(farm, slave);
    nf_farm_update_view(farm);
}

/* Forget a lease, and tell its slave. */
static void cancel(struct nf_farm *farm, uint32_t index)
{
    const struct nf_chunk *chunk = nf_chunks_at(&farm->pool.chunks, index);
    uint32_t slot = chunk->slot;
    struct nf_action *act = nf_farm_act(farm, NF_ACT_CANCEL);

    if (act) {
        act->slave = farm->slots[slot].slave;
        act->slot = slot - farm->slaves[act->slave].first_slot;
        act->lease = nf_chunks_lease_id(&farm->pool.chunks, index);
        act->first = chunk->first;
        act->count = chunk->count;
    }
    farm->stats.cancelled++;
    farm->slots[slot].unsure = true;
    farm->slots[slot].unsure_us = farm->now_us;
    nf_farm_forget(farm, index);
    if (farm->policy.pacer->cancelled)
        farm->policy.pacer->cancelled(farm->pacer, &farm->view, slot,
                                      farm->now_us);
}

void nf_farm_cancel_twin(struct nf_farm *farm, struct nf_chunk *chunk)
{
    uint32_t loser = chunk->twin;
    const struct nf_chunk *twin;

    if (loser == NF_CHUNK_NONE)
        return;
    twin = nf_chunks_at(&farm->pool.chunks, loser);
    nf_farm_part(farm, chunk);
    if (!farm->over && twin->prev != NF_CHUNK_NONE && !is_wanted(farm, twin))
        cancel(farm, loser);
}

/* Copy what is still wanted of a lease. */
static void send_copy(struct nf_farm *farm, uint32_t original, uint32_t to)
{
    uint32_t index = nf_chunks_new(&farm->pool.chunks);
    struct nf_chunk *copy = nf_chunks_at(&farm->pool.chunks, index);
    struct nf_chunk *chunk = nf_chunks_at(&farm->pool.chunks, original);

    copy->first = chunk->first;
    copy->count = chunk->count;
    while (nf_pool_state(&farm->pool, copy->first) != NF_UNIT_LEASED) {
        copy->first++;
        copy->count--;
    }
    copy->silences = chunk->silences;
    copy->twin = original;
    chunk->twin = index;
    nf_farm_look_for_copy(farm, chunk->slot);
    farm->stats.copies++;
    nf_farm_send_chunk(farm, to, index);
}

/* Ask the pacer.  @return the lease to be copied, or NF_CHUNK_NONE */
static uint32_t pick_copy(struct nf_farm *farm, uint32_t *to_p)
{
    struct nf_copy copy = { 0, 0 };

    while (farm->policy.pacer->replicate(farm->pacer, &farm->view, farm->now_us,
                                         &copy, &farm->wake_us) == NF_OK) {
        uint32_t behind, original;

        farm->wake_us = INT64_MAX;
        assert(copy.from < farm->view.nslots && copy.to < farm->view.nslots &&
               farm->views[copy.from].behind != NF_NO_COPY &&
               farm->views[copy.to].live && !farm->views[copy.to].refused &&
               farm->views[copy.to].slave != farm->views[copy.from].slave);
        original = find_original(farm, copy.from, &behind);
        if (original != NF_CHUNK_NONE &&
            behind == farm->views[copy.from].behind) {
            *to_p = copy.to;
            return original;
        }
        /* a late answer has settled it */
        farm->views[copy.from].behind = behind;
    }
    return NF_CHUNK_NONE;
}

void nf_farm_replicate(struct nf_farm *farm, uint32_t sends)
{
    uint32_t original, to = 0;

    if (!farm->policy.pacer->replicate)
        return;
    for (; farm->stats.live_slots > 0; sends++) {
        if (sends >= NF_FARM_SENDS_PER_EVENT) {
            farm->wake_us = farm->now_us;
            return;
        }
        if (!nf_farm_can_send(farm))
            return;
        original = pick_copy(farm, &to);
        if (original == NF_CHUNK_NONE)
            return;
        send_copy(farm, original, to);
    }
}
