/* Who gets what, when.  Returned units go first and bypass the sizer, since no
 * sizer's formula has a place for them; then the pacer names the slot and the
 * sizer says how many fresh units.
 *
 * A unit whose last attempt may be the death of a slave runs alone: on a slave
 * that has nothing else, so that giving it up blames nobody else.  And on one
 * that was heard of since the last loss: where several die at once they are known
 * to be dead one by one, and a unit that goes from one dead slave to the next has
 * killed none of them.  If there is no such slave, one is closed to the pacer until
 * it is empty; the others go on.  That cannot get stuck: while nobody is empty
 * somebody owes an answer, and whoever answers next is the one to be emptied; and
 * of an empty one something is heard, or it counts as lost. */
#include "config.h"
#include "common/farm/farm_impl.h"
#include "common/base/alloc.h"
#include <assert.h>

struct nf_action *nf_farm_act(struct nf_farm *farm, enum nf_action_kind kind)
{
    struct nf_action *act;

    /* One place stays free for DONE, which must never be lost. */
    if (farm->nactions + 1 >= farm->max_actions && kind != NF_ACT_DONE) {
        size_t max = 2 * farm->max_actions;

        act = nf_realloc(farm->actions, max * sizeof(*act));
        if (!act) {
            farm->oom = true;
            return NULL;
        }
        farm->actions = act;
        farm->max_actions = max;
    }
    act = &farm->actions[farm->nactions++];
    *act = (struct nf_action){ .kind = kind };
    return act;
}

void nf_farm_update_view(struct nf_farm *farm)
{
    farm->view.left_units = farm->pool.counts[NF_UNIT_WAITING];
}

void nf_farm_idle_add(struct nf_farm *farm, uint32_t slave)
{
    struct nf_farm_slave *s = &farm->slaves[slave];

    s->idle_prev = NF_SLAVE_NONE;
    s->idle_next = farm->idle;
    if (farm->idle != NF_SLAVE_NONE)
        farm->slaves[farm->idle].idle_prev = slave;
    farm->idle = slave;
    if (farm->phases != NULL)
        farm->phases->look_at_all = true;
}

void nf_farm_idle_remove(struct nf_farm *farm, uint32_t slave)
{
    struct nf_farm_slave *s = &farm->slaves[slave];

    if (s->idle_prev == NF_SLAVE_NONE)
        farm->idle = s->idle_next;
    else
        farm->slaves[s->idle_prev].idle_next = s->idle_next;
    if (s->idle_next != NF_SLAVE_NONE)
        farm->slaves[s->idle_next].idle_prev = s->idle_prev;
}

static void set_refused(struct nf_farm *farm, uint32_t slot, bool refused)
{
    if (farm->views[slot].refused == refused)
        return;
    farm->views[slot].refused = refused;
    if (farm->policy.pacer->refused)
        farm->policy.pacer->refused(farm->pacer, &farm->view, slot,
                                    farm->now_us);
}

/* May the pacer not pick this slot? */
static bool is_barred(const struct nf_farm *farm, uint32_t slot)
{
    const struct nf_farm_slave *s = &farm->slaves[farm->slots[slot].slave];

    return s->closed || s->reserved || farm->slots[slot].sizer_refused;
}

static void look_at_slots(struct nf_farm *farm, const struct nf_farm_slave *s)
{
    for (uint32_t k = s->first_slot; k < s->first_slot + s->live_slots; k++)
        set_refused(farm, k, is_barred(farm, k));
}

static void set_closed(struct nf_farm *farm, uint32_t slave, bool closed)
{
    farm->slaves[slave].closed = closed;
    look_at_slots(farm, &farm->slaves[slave]);
}

static void refuse(struct nf_farm *farm, uint32_t slot)
{
    farm->slots[slot].sizer_refused = true;
    set_refused(farm, slot, true);
    farm->refused++;
}

void nf_farm_units_returned(struct nf_farm *farm)
{
    for (uint32_t k = 0; farm->refused > 0 && k < farm->view.nslots; k++) {
        if (!farm->slots[k].sizer_refused)
            continue;
        farm->slots[k].sizer_refused = false;
        set_refused(farm, k, is_barred(farm, k));
        farm->refused--;
    }
    nf_farm_update_view(farm);
    if (farm->policy.pacer->returned)
        farm->policy.pacer->returned(farm->pacer, &farm->view, farm->now_us);
}

bool nf_farm_can_send(struct nf_farm *farm)
{
    if (nf_chunks_reserve(&farm->pool.chunks)) {
        farm->oom = true;
        return false;
    }
    return true;
}

void nf_farm_send_chunk(struct nf_farm *farm, uint32_t slot, uint32_t index)
{
    struct nf_chunk *chunk = nf_chunks_at(&farm->pool.chunks, index);
    struct nf_farm_slave *slave = &farm->slaves[farm->slots[slot].slave];
    struct nf_action *act;
    uint64_t lease = nf_chunks_lease(&farm->pool.chunks, index);

    chunk->slot = slot;
    chunk->sent_us = farm->now_us;
    chunk->sent_units = (uint32_t)chunk->count;
    nf_chunk_list_append(&farm->pool.chunks, &farm->slots[slot].leases, index);
    if (nf_farm_load(slave) == 0)
        nf_farm_idle_remove(farm, farm->slots[slot].slave);
    slave->outstanding++;
    farm->leases++;
    farm->stats.leases_sent++;
    if (farm->views[slot].outstanding++ > farm->stats.max_queue)
        farm->stats.max_queue = farm->views[slot].outstanding - 1;
    act = nf_farm_act(farm, NF_ACT_SEND);
    if (act) {
        act->slave = farm->slots[slot].slave;
        act->slot = slot - slave->first_slot;
        act->lease = lease;
        act->first = chunk->first;
        act->count = chunk->count;
        act->attempts = chunk->attempts;
        act->copy = chunk->twin != NF_CHUNK_NONE;
    }
    nf_farm_look_for_copy(farm, slot);
    nf_farm_update_view(farm);
    if (farm->policy.pacer->sent)
        farm->policy.pacer->sent(farm->pacer, &farm->view, slot, chunk->count,
                                 farm->now_us);
}

static void send_returned(struct nf_farm *farm, uint32_t slot, bool alone)
{
    uint64_t share = 1, returned = nf_pool_returned(&farm->pool);
    uint32_t index;

    if (!alone) {
        share = (returned - 1) / farm->stats.live_slots + 1;
        if (share > farm->most_returned)
            share = farm->most_returned;
    }
    index = nf_pool_take_returned(&farm->pool, alone, share);
    farm->stats.retries += nf_chunks_at(&farm->pool.chunks, index)->count;
    nf_farm_send_chunk(farm, slot, index);
}

static void send_fresh(struct nf_farm *farm, uint32_t slot)
{
    uint64_t left = nf_pool_fresh(&farm->pool), units = 0;

    if (farm->policy.sizer->next(farm->sizer, slot, left, &units) != NF_OK) {
        refuse(farm, slot);
        return;
    }
    assert(units >= 1 && units <= left);
    if (units == 0)
        units = 1;
    if (units > left)
        units = left;
    if (units > UINT32_MAX) /* nf_chunk.sent_units */
        units = UINT32_MAX;
    nf_farm_send_chunk(farm, slot, nf_pool_take_fresh(&farm->pool, units));
}

/* Could this slave be emptied? */
static bool can_drain(const struct nf_farm *farm, uint32_t slave)
{
    return slave != NF_SLAVE_NONE && farm->slaves[slave].live &&
           !farm->slaves[slave].closed && nf_farm_is_alive(farm, slave);
}

static void reopen(struct nf_farm *farm, uint32_t slave)
{
    set_closed(farm, slave, false);
    /* Pacers forget slots that they may not pick; this reminds them. */
    nf_farm_units_returned(farm);
    if (farm->phases != NULL)
        farm->phases->look_at_all = true;
}

void nf_farm_reserve(struct nf_farm *farm, uint32_t slave, bool reserved)
{
    if (farm->slaves[slave].reserved == reserved)
        return;
    farm->slaves[slave].reserved = reserved;
    look_at_slots(farm, &farm->slaves[slave]);
    if (!reserved)
        nf_farm_units_returned(farm);
}

/* A slave that has nothing, and has not died with the last one; or NONE. */
static uint32_t idle_and_alive(const struct nf_farm *farm)
{
    uint32_t slave = farm->idle;

    while (slave != NF_SLAVE_NONE && !nf_farm_is_alive(farm, slave))
        slave = farm->slaves[slave].idle_next;
    return slave;
}

void nf_farm_dispatch_alone(struct nf_farm *farm)
{
    const uint64_t *waiting = &farm->pool.counts[NF_UNIT_ALONE];
    uint32_t slave = farm->event_slave, idle;

    while (*waiting > 0 && (idle = idle_and_alive(farm)) != NF_SLAVE_NONE &&
           nf_farm_can_send(farm)) {
        if (idle == farm->draining)
            farm->draining = NF_SLAVE_NONE;
        set_closed(farm, idle, true);
        send_returned(farm, farm->slaves[idle].first_slot, true);
    }
    /* it has answered, and nothing waits that it may have now */
    if (slave != NF_SLAVE_NONE && slave != farm->draining &&
        farm->slaves[slave].closed && farm->slaves[slave].outstanding == 0)
        reopen(farm, slave);
    if (*waiting > 0) {
        if (farm->draining == NF_SLAVE_NONE && can_drain(farm, slave)) {
            farm->draining = slave;
            set_closed(farm, slave, true);
        }
        return;
    }
    if (farm->draining != NF_SLAVE_NONE) {
        uint32_t drained = farm->draining;

        farm->draining = NF_SLAVE_NONE;
        reopen(farm, drained);
    }
}

/* Ask the pacer.  @return true if it named a slot that it may name */
static bool pick(struct nf_farm *farm, uint32_t *slot_p)
{
    enum nf_status status = farm->policy.pacer->pick(
        farm->pacer, &farm->view, farm->now_us, slot_p, &farm->wake_us);
    bool good;

    if (status != NF_OK)
        return false;
    farm->wake_us = INT64_MAX;
    good = *slot_p < farm->view.nslots && farm->views[*slot_p].live &&
           !farm->views[*slot_p].refused;
    assert(good);
    return good;
}

/* A sizer may keep units for a slot that is lost or never came.  Once nothing
 * else is left to wait for, anybody may have them. */
static bool rescue_refused(struct nf_farm *farm)
{
    if (farm->refused == 0 || farm->leases > 0 || farm->wake_us != INT64_MAX ||
        nf_pool_fresh(&farm->pool) == 0)
        return false;
    if (nf_pool_return_fresh(&farm->pool)) {
        farm->oom = true;
        return false;
    }
    nf_farm_units_returned(farm);
    return true;
}

void nf_farm_dispatch(struct nf_farm *farm)
{
    uint32_t slot = 0, sends = 0;

    farm->wake_us = INT64_MAX;
    nf_farm_dispatch_alone(farm);
    while (farm->view.left_units > 0 && farm->stats.live_slots > 0) {
        if (sends == NF_FARM_SENDS_PER_EVENT) {
            farm->wake_us = farm->now_us;
            break;
        }
        if (!nf_farm_can_send(farm))
            break;
        if (!pick(farm, &slot)) {
            if (rescue_refused(farm))
                continue;
            break;
        }
        if (nf_pool_returned(&farm->pool) > 0)
            send_returned(farm, slot, false);
        else
            send_fresh(farm, slot);
        sends++;
    }
    if (farm->view.left_units == 0)
        nf_farm_replicate(farm, sends);
    farm->deaf =
        farm->policy.pacer->deaf_while_waiting && farm->wake_us != INT64_MAX &&
        (farm->wake_us > farm->now_us || sends == NF_FARM_SENDS_PER_EVENT);
}
