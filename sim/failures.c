/* Slaves that end, hosts that go, cables that are cut.
 *
 * A slave has lives: each time that it ends and each time that it starts anew
 * another one begins, and what belongs to an earlier one is dropped where it
 * comes up.  Results that a task has sent survive its end, but not that of its
 * host.  A silent slave computes on; messages to and from it are held until it
 * is heard again.  If the master has lost it by then it has to start anew, and
 * its late results may still be of use. */
#include "config.h"
#include "common/base/alloc.h"
#include "sim/farm_sim_impl.h"

/* The farm looks for silence this many times in a limit, or more rarely. */
enum { HEARINGS_PER_LIMIT = 32 };

enum nf_status nf_sim_failures_init(struct sim *sim)
{
    const struct nf_world *world = sim->world;
    enum nf_status status = NF_OK;

    /* each is heard of at most twice: lost, and joined again */
    sim->notes = nf_calloc(2 * world->nfailures, sizeof(sim->notes[0]));
    if (!sim->notes)
        return NF_ERR_NOMEM;
    for (size_t i = 0; i < world->nfailures && !status; i++) {
        const struct nf_world_failure *failure = &world->failures[i];

        status = nf_sim_queue_push(&sim->queue, failure->at_us, EV_FAIL, i);
        if (!status && failure->kind != NF_FAILURE_SILENT)
            status = nf_sim_queue_push(
                &sim->queue, failure->at_us + failure->notice_us, EV_NOTICE, i);
        if (!status && failure->until_us >= 0)
            status =
                nf_sim_queue_push(&sim->queue, failure->until_us, EV_MEND, i);
    }
    return status;
}

/* All that it had is gone; what it computes is dropped when it would end. */
static void end_life(struct sim *sim, uint32_t number)
{
    struct slave *slave = &sim->slaves[number];

    slave->life++;
    for (uint32_t k = 0; k < sim->world->slave[number].slots; k++) {
        struct slot *slot = &sim->slots[slave->first_slot + k];

        while (slot->mail.count > 0)
            nf_sim_chunk_lost(sim, nf_sim_mail_take(sim, &slot->mail));
        slot->busy = false;
        slot->worked = false;
    }
}

static void begin_life(struct sim *sim, uint32_t number)
{
    struct slave *slave = &sim->slaves[number];

    slave->life++;
    slave->dead = false;
    for (uint32_t k = 0; k < sim->world->slave[number].slots; k++)
        sim->slots[slave->first_slot + k].free_us = sim->now_us;
}

static void fail(struct sim *sim, const struct nf_world_failure *failure)
{
    struct slave *slave = &sim->slaves[failure->slave];

    if (failure->kind == NF_FAILURE_SILENT) {
        slave->silent = true;
        return;
    }
    slave->dead = true;
    end_life(sim, failure->slave);
    if (failure->kind == NF_FAILURE_HOST)
        slave->cut_life = slave->life;
}

static enum nf_status add_note(struct sim *sim, struct note note)
{
    sim->notes[sim->nnotes++] = note;
    return nf_sim_wake_master(sim);
}

static enum nf_status notice(struct sim *sim,
                             const struct nf_world_failure *failure)
{
    return add_note(sim, (struct note){
                             .slave = failure->slave,
                             .loss = failure->kind == NF_FAILURE_DIES
                                         ? NF_LOSS_EXITED
                                         : NF_LOSS_SILENT,
                         });
}

static enum nf_status release_held(struct sim *sim, struct slave *slave)
{
    enum nf_status status = NF_OK;

    while (slave->held.count > 0 && !status)
        status = nf_sim_wire_end(sim, nf_sim_mail_take(sim, &slave->held));
    return status;
}

static enum nf_status mend(struct sim *sim,
                           const struct nf_world_failure *failure)
{
    struct slave *slave = &sim->slaves[failure->slave];
    bool anew = failure->kind != NF_FAILURE_SILENT || !slave->live;
    enum nf_status status;

    slave->silent = false;
    if (failure->kind == NF_FAILURE_SILENT && anew)
        end_life(sim, failure->slave);
    if (anew)
        begin_life(sim, failure->slave);
    status = release_held(sim, slave);
    if (!status && anew)
        status = add_note(
            sim, (struct note){ .slave = failure->slave, .joined = true });
    return status;
}

enum nf_status nf_sim_failure_event(struct sim *sim, enum event kind,
                                    uint64_t id)
{
    const struct nf_world_failure *failure = &sim->world->failures[id];

    if (kind == EV_NOTICE)
        return notice(sim, failure);
    if (kind == EV_MEND)
        return mend(sim, failure);
    fail(sim, failure);
    return NF_OK;
}

void nf_sim_forsake(struct sim *sim, uint32_t slave)
{
    sim->slaves[slave].live = false;
    sim->slaves[slave].epoch++;
}

enum nf_status nf_sim_take_note(struct sim *sim)
{
    const struct note *note = &sim->notes[sim->next_note++];

    sim->next_action = 0;
    sim->event_us = sim->now_us;
    sim->idle_turns = 0;
    if (note->joined) {
        nf_sim_book_joined(sim, note->slave);
        return nf_farm_join(sim->farm, note->slave,
                            sim->world->slave[note->slave].slots, sim->now_us,
                            &sim->actions);
    }
    if (sim->slaves[note->slave].live)
        nf_sim_forsake(sim, note->slave);
    return nf_farm_lost(sim->farm, note->slave, note->loss, sim->now_us,
                        &sim->actions);
}

void nf_sim_hear(struct sim *sim)
{
    if (sim->world->silence_us == 0 ||
        sim->now_us - sim->heard_us <
            sim->world->silence_us / HEARINGS_PER_LIMIT)
        return;
    sim->heard_us = sim->now_us;
    for (uint32_t i = 0; i < sim->world->slaves; i++)
        if (!sim->slaves[i].dead && !sim->slaves[i].silent)
            nf_farm_heard(sim->farm, i, sim->now_us);
}
