/* The virtual-clock driver of the farm.  Where a rule below decides between two
 * things at one instant, it is the paper's: receive all, then send. */
#include "config.h"
#include "sim/farm_sim.h"
#include "common/base/alloc.h"
#include <inttypes.h>
#include "sim/farm_sim_impl.h"

/* ---- mailboxes ---- */

void nf_sim_mail_put(struct sim *sim, struct mailbox *mail, uint64_t chunk)
{
    sim->result.chunks[chunk].next = NO_CHUNK;
    if (mail->count++ == 0)
        mail->head = chunk;
    else
        sim->result.chunks[mail->tail].next = chunk;
    mail->tail = chunk;
}

uint64_t nf_sim_mail_take(struct sim *sim, struct mailbox *mail)
{
    uint64_t chunk = mail->head;

    mail->head = sim->result.chunks[chunk].next;
    mail->count--;
    return chunk;
}

enum nf_status nf_sim_after(struct sim *sim, int64_t delay_us, enum event kind,
                            uint64_t id)
{
    return nf_sim_queue_push(&sim->queue, sim->now_us + delay_us, kind, id);
}

struct slot *nf_sim_slot(const struct sim *sim,
                         const struct nf_sim_chunk *chunk)
{
    return &sim->slots[sim->slaves[chunk->slave].first_slot + chunk->slot];
}

/* ---- chunks ---- */

static void watch(const struct sim *sim, enum nf_sim_moment moment,
                  const struct nf_sim_chunk *chunk)
{
    if (sim->options->watch)
        sim->options->watch(sim->options->user, moment, chunk, sim->now_us);
}

static enum nf_status get_record(struct sim *sim, uint64_t *id_p)
{
    struct nf_farm_sim_result *result = &sim->result;

    if (sim->unused != NO_CHUNK) {
        *id_p = sim->unused;
        sim->unused = result->chunks[*id_p].next;
        return NF_OK;
    }
    if (result->nchunks == sim->max_chunks) {
        uint64_t max = sim->max_chunks ? 2 * sim->max_chunks : 64;
        struct nf_sim_chunk *chunks =
            nf_realloc(result->chunks, max * sizeof(*chunks));

        if (!chunks)
            return NF_ERR_NOMEM;
        result->chunks = chunks;
        sim->max_chunks = max;
    }
    *id_p = result->nchunks++;
    return NF_OK;
}

static enum nf_status new_chunk(struct sim *sim, const struct nf_action *act,
                                uint64_t *id_p)
{
    enum nf_status status = get_record(sim, id_p);
    struct nf_sim_chunk *chunk;

    if (status)
        return status;
    chunk = &sim->result.chunks[*id_p];
    *chunk = (struct nf_sim_chunk){
        .lease = act->lease,
        .first = act->first,
        .count = act->count,
        .slave = act->slave,
        .slot = act->slot,
        .life = sim->slaves[act->slave].life,
        .sent_us = sim->now_us,
        .arrived_us = -1,
        .started_us = -1,
        .computed_us = -1,
        .merged_us = -1,
        .cancel_us = -1,
    };
    nf_sim_book_sent(sim, chunk);
    watch(sim, NF_SIM_SENT, chunk);
    return NF_OK;
}

void nf_sim_chunk_done(struct sim *sim, uint64_t id)
{
    if (sim->options->keep_chunks)
        return;
    sim->result.chunks[id].next = sim->unused;
    sim->unused = id;
}

void nf_sim_chunk_lost(struct sim *sim, uint64_t id)
{
    watch(sim, NF_SIM_LOST, &sim->result.chunks[id]);
    nf_sim_chunk_done(sim, id);
}

/* ---- the slaves ---- */

/* Take the first chunk that the slave has not heard it is to drop. */
static uint64_t take_wanted(struct sim *sim, struct mailbox *mail)
{
    while (mail->count > 0) {
        uint64_t id = nf_sim_mail_take(sim, mail);
        int64_t cancel_us = sim->result.chunks[id].cancel_us;

        if (cancel_us < 0 || cancel_us > sim->now_us)
            return id;
        nf_sim_chunk_lost(sim, id);
    }
    return NO_CHUNK;
}

/* Start the next chunk, if there is one. */
static enum nf_status slot_start(struct sim *sim, struct slot *slot)
{
    uint64_t id = take_wanted(sim, &slot->mail);
    struct nf_sim_chunk *chunk;
    int64_t cost_us;

    if (id == NO_CHUNK)
        return NF_OK;
    chunk = &sim->result.chunks[id];
    cost_us = nf_world_cost_us(sim->world, chunk->first, chunk->count);
    chunk->idle_us = sim->now_us - slot->free_us;
    if (slot->worked)
        sim->result.slave[chunk->slave].starve_us += chunk->idle_us;
    slot->worked = true;
    slot->busy = true;
    chunk->started_us = sim->now_us;
    watch(sim, NF_SIM_STARTED, chunk);
    return nf_sim_queue_push(
        &sim->queue,
        nf_world_finish_us(sim->world, chunk->slave, sim->now_us, cost_us),
        EV_COMPUTED, id);
}

static enum nf_status slot_free(struct sim *sim, struct slot *slot)
{
    slot->busy = false;
    slot->free_us = sim->now_us;
    return slot_start(sim, slot);
}

static enum nf_status chunk_at_slave(struct sim *sim, uint64_t id)
{
    struct nf_sim_chunk *chunk = &sim->result.chunks[id];
    const struct slave *slave = &sim->slaves[chunk->slave];
    struct slot *slot = nf_sim_slot(sim, chunk);
    struct nf_sim_slave *report = &sim->result.slave[chunk->slave];

    if (slave->dead || chunk->life != slave->life) {
        nf_sim_chunk_lost(sim, id);
        return NF_OK;
    }
    chunk->arrived_us = sim->now_us;
    watch(sim, NF_SIM_ARRIVED, chunk);
    nf_sim_mail_put(sim, &slot->mail, id);
    if (!slot->busy)
        return slot_start(sim, slot);
    if (slot->mail.count > report->max_queue)
        report->max_queue = slot->mail.count;
    return NF_OK;
}

static enum nf_status chunk_computed(struct sim *sim, uint64_t id)
{
    struct nf_sim_chunk *chunk = &sim->result.chunks[id];
    struct slot *slot = nf_sim_slot(sim, chunk);
    struct nf_sim_slave *report = &sim->result.slave[chunk->slave];
    const struct nf_world_slave *slave = &sim->world->slave[chunk->slave];
    enum nf_status status;

    if (chunk->life != sim->slaves[chunk->slave].life) {
        nf_sim_chunk_lost(sim, id);
        return NF_OK;
    }
    chunk->computed_us = sim->now_us;
    watch(sim, NF_SIM_COMPUTED, chunk);
    report->busy_us += sim->now_us - chunk->started_us;
    report->units += chunk->count;
    status =
        nf_network_send(sim->net, chunk->slave, true, 2 * id + 1,
                        nf_line_us(&slave->result, chunk->count), sim->now_us);
    if (!status && !sim->world->blocking)
        status = slot_free(sim, slot);
    return status;
}

/* A master that sleeps wakes up, but behind what happens at this instant. */
enum nf_status nf_sim_wake_master(struct sim *sim)
{
    if (sim->busy || nf_farm_is_deaf(sim->farm))
        return NF_OK;
    return nf_sim_after(sim, 0, EV_MAIL, 0);
}

static enum nf_status result_at_master(struct sim *sim, uint64_t id)
{
    nf_sim_mail_put(sim, &sim->mail, id);
    return nf_sim_wake_master(sim);
}

static enum nf_status deliver(struct sim *sim, bool is_result, uint64_t id)
{
    if (sim->world->prop_us > 0)
        return nf_sim_after(sim, sim->world->prop_us,
                            is_result ? EV_AT_MASTER : EV_AT_SLAVE, id);
    return is_result ? result_at_master(sim, id) : chunk_at_slave(sim, id);
}

enum nf_status nf_sim_wire_end(struct sim *sim, uint64_t id)
{
    const struct nf_sim_chunk *chunk = &sim->result.chunks[id];
    bool is_result = chunk->computed_us >= 0;
    struct slave *slave = &sim->slaves[chunk->slave];
    int64_t blocked_us = sim->now_us - chunk->computed_us;
    bool blocks =
        is_result && sim->world->blocking && chunk->life == slave->life;
    struct slot *slot = nf_sim_slot(sim, chunk);
    enum nf_status status;

    if (slave->silent) {
        nf_sim_mail_put(sim, &slave->held, id);
        return NF_OK;
    }
    if (is_result && chunk->life < slave->cut_life) {
        nf_sim_chunk_lost(sim, id);
        return NF_OK;
    }
    status = deliver(sim, is_result, id);
    if (status || !blocks)
        return status;
    sim->result.slave[chunk->slave].blocked_us += blocked_us;
    return slot_free(sim, slot);
}

/* ---- the master ---- */

static enum nf_status chunk_sent(struct sim *sim, uint64_t id)
{
    const struct nf_sim_chunk *chunk = &sim->result.chunks[id];

    sim->busy = false;
    return nf_network_send(
        sim->net, chunk->slave, false, 2 * id,
        nf_line_us(&sim->world->slave[chunk->slave].data, chunk->count),
        sim->now_us);
}

/* A cancellation is short: it does not occupy the wire, but takes as long as
 * the shortest message. */
static void cancel(struct sim *sim, const struct nf_action *action)
{
    const struct nf_world_slave *slave = &sim->world->slave[action->slave];
    struct nf_farm_sim_result *result = &sim->result;

    for (uint64_t id = result->nchunks; id-- > 0;) {
        if (result->chunks[id].lease != action->lease)
            continue;
        nf_sim_book_cancelled(sim, &result->chunks[id]);
        result->chunks[id].cancel_us =
            sim->now_us + sim->world->prop_us + nf_line_us(&slave->data, 0);
        return;
    }
}

/* Carry out the farm's next action. */
static enum nf_status act(struct sim *sim)
{
    const struct nf_action *action = &sim->actions.list[sim->next_action++];
    int64_t overhead_us;
    uint64_t id = 0;
    enum nf_status status;

    if (action->kind == NF_ACT_DONE) {
        sim->done = true;
        sim->result.makespan_us = sim->now_us;
    }
    if (action->kind == NF_ACT_LOST)
        nf_sim_forsake(sim, action->slave);
    if (action->kind == NF_ACT_CANCEL)
        cancel(sim, action);
    if (action->kind != NF_ACT_SEND)
        return NF_OK;
    status = new_chunk(sim, action, &id);
    if (status)
        return status;
    sim->idle_turns = 0;
    sim->result.data_messages++;
    overhead_us = nf_line_us(&sim->world->send_overhead, action->count);
    if (overhead_us == 0)
        return chunk_sent(sim, id);
    sim->busy = true;
    return nf_sim_after(sim, overhead_us, EV_SENT, id);
}

static enum nf_status result_taken(struct sim *sim, uint64_t id)
{
    struct nf_sim_chunk *chunk = &sim->result.chunks[id];
    struct nf_chunk_times times;
    enum nf_status status;

    sim->busy = false;
    chunk->merged_us = sim->now_us;
    sim->result.result_messages++;
    sim->idle_turns = 0;
    sim->next_action = 0;
    sim->event_us = sim->now_us;
    nf_sim_measure(sim, chunk, &times);
    nf_sim_book_answered(sim, chunk);
    watch(sim, NF_SIM_MERGED, chunk);
    status = nf_farm_result(sim->farm, chunk->slave, chunk->lease, chunk->first,
                            chunk->count, &times, sim->now_us, &sim->actions);
    nf_sim_chunk_done(sim, id);
    return status;
}

static enum nf_status take_mail(struct sim *sim)
{
    uint64_t id = nf_sim_mail_take(sim, &sim->mail);
    int64_t overhead_us =
        nf_line_us(&sim->world->recv_overhead, sim->result.chunks[id].count);

    if (overhead_us == 0)
        return result_taken(sim, id);
    sim->busy = true;
    return nf_sim_after(sim, overhead_us, EV_TAKEN, id);
}

static enum nf_status join_next(struct sim *sim)
{
    uint32_t slave = sim->joined++;

    sim->next_action = 0;
    sim->event_us = sim->now_us;
    nf_sim_book_joined(sim, slave);
    return nf_farm_join(sim->farm, slave, sim->world->slave[slave].slots,
                        sim->now_us, &sim->actions);
}

static enum nf_status timer(struct sim *sim)
{
    sim->next_action = 0;
    sim->event_us = sim->now_us;
    if (++sim->idle_turns > 1000)
        return NF_ERR_FAILED; /* the pacer wants to be asked for ever */
    nf_sim_hear(sim);
    return nf_farm_timer(sim->farm, sim->now_us, &sim->actions);
}

/* The master has time: until it is busy or sleeps. */
static enum nf_status master_run(struct sim *sim)
{
    enum nf_status status = NF_OK;

    while (!status && !sim->busy && !sim->done) {
        bool deaf = nf_farm_is_deaf(sim->farm);

        if (sim->next_action < sim->actions.count) {
            status = act(sim);
        } else if (sim->joined < sim->world->slaves && !deaf) {
            status = join_next(sim);
        } else if (sim->next_note < sim->nnotes && !deaf) {
            status = nf_sim_take_note(sim);
        } else if (sim->mail.count > 0 && !deaf) {
            status = take_mail(sim);
        } else if (sim->actions.wake_us <= sim->now_us) {
            status = timer(sim);
        } else {
            sim->sleep++;
            if (sim->actions.wake_us == INT64_MAX)
                return NF_OK;
            return nf_sim_queue_push(&sim->queue, sim->actions.wake_us, EV_WAKE,
                                     sim->sleep);
        }
    }
    return status;
}

static enum nf_status handle(struct sim *sim, const struct nf_sim_event *event)
{
    enum nf_status status = NF_OK;

    switch ((enum event)event->kind) {
    case EV_SENT:
        status = chunk_sent(sim, event->id);
        break;
    case EV_WIRE_END:
        return nf_sim_wire_end(sim, event->id / 2);
    case EV_HUB:
        return nf_network_hub_event(sim->net, event->id, sim->now_us);
    case EV_AT_SLAVE:
        return chunk_at_slave(sim, event->id);
    case EV_COMPUTED:
        return chunk_computed(sim, event->id);
    case EV_AT_MASTER:
        return result_at_master(sim, event->id);
    case EV_MAIL:
        if (sim->busy || nf_farm_is_deaf(sim->farm))
            return NF_OK;
        break;
    case EV_TAKEN:
        status = result_taken(sim, event->id);
        break;
    case EV_WAKE:
        if (sim->busy || event->id != sim->sleep)
            return NF_OK;
        if (sim->queue.count > 0) /* else only time can bring anything */
            sim->idle_turns = 0;
        break;
    case EV_FAIL:
    case EV_NOTICE:
    case EV_MEND:
        return nf_sim_failure_event(sim, (enum event)event->kind, event->id);
    }
    return status ? status : master_run(sim);
}

static enum nf_status fail_stuck(const struct sim *sim, struct nf_error *err)
{
    struct nf_farm_stats stats;

    nf_farm_get_stats(sim->farm, &stats);
    if (stats.live_slaves == 0)
        return nf_fail(err, NF_ERR_FAILED,
                       "no slave is left after %.6f s: %" PRIu64 " of %" PRIu64
                       " units are done",
                       (double)sim->event_us * 1e-6, stats.done, stats.units);
    return nf_fail(err, NF_ERR_FAILED,
                   "the policy hands out no more units after %.6f s: %" PRIu64
                   " of %" PRIu64 " are done",
                   (double)sim->event_us * 1e-6, stats.done, stats.units);
}

static enum nf_status run(struct sim *sim, struct nf_error *err)
{
    struct nf_sim_event event;
    enum nf_status status = nf_sim_failures_init(sim);

    if (!status)
        status = master_run(sim);
    while (!status && !sim->done) {
        status = nf_sim_queue_pop(&sim->queue, &event);
        if (status == NF_WAIT)
            status = NF_ERR_FAILED;
        if (status)
            break;
        sim->now_us = event.at_us;
        status = handle(sim, &event);
    }
    if (status == NF_ERR_FAILED)
        return fail_stuck(sim, err);
    if (status)
        nf_fail(err, status, "simulation: %s", nf_strerror(status));
    return status;
}

static enum nf_status init_slaves(struct sim *sim)
{
    uint32_t slot = 0;

    sim->result.slaves = sim->world->slaves;
    sim->result.slots = sim->world->slots;
    sim->result.slave =
        nf_calloc(sim->world->slaves, sizeof(sim->result.slave[0]));
    sim->slaves = nf_calloc(sim->world->slaves, sizeof(sim->slaves[0]));
    sim->slots = nf_calloc(sim->world->slots, sizeof(sim->slots[0]));
    sim->result.learnt =
        nf_calloc(sim->world->slots, sizeof(sim->result.learnt[0]));
    if (!sim->result.slave || !sim->slaves || !sim->slots ||
        !sim->result.learnt)
        return NF_ERR_NOMEM;
    for (uint32_t i = 0; i < sim->world->slaves; i++) {
        sim->slaves[i].first_slot = sim->result.slave[i].first_slot = slot;
        slot += sim->world->slave[i].slots;
    }
    return NF_OK;
}

static enum nf_status create(struct sim *sim, const struct nf_policy *policy,
                             struct nf_error *err)
{
    const struct nf_farm_config config = {
        .units = sim->world->units,
        .policy = policy,
        .slots = sim->world->slots,
        .max_slots = sim->world->slots,
        .max_attempts = 3,
        .silence_limit_us = sim->world->silence_us,
        .seed = sim->options->seed,
    };

    if (init_slaves(sim) || nf_network_create(sim->world, &sim->queue,
                                              EV_WIRE_END, EV_HUB, &sim->net))
        return nf_fail(err, NF_ERR_NOMEM, "simulation: out of memory");
    sim->actions.wake_us = INT64_MAX;
    return nf_farm_create(&config, &sim->farm, err);
}

enum nf_status nf_farm_sim(const struct nf_world *world,
                           const struct nf_policy *policy,
                           const struct nf_farm_sim_options *options,
                           struct nf_farm_sim_result *result_p,
                           struct nf_error *err)
{
    struct sim sim = {
        .world = world,
        .options = options,
        .unused = NO_CHUNK,
    };
    enum nf_status status = create(&sim, policy, err);

    if (!status)
        status = run(&sim, err);
    if (!status)
        nf_sim_book_close(&sim);
    nf_farm_destroy(sim.farm);
    nf_network_destroy(sim.net);
    nf_sim_queue_fini(&sim.queue);
    nf_free(sim.notes);
    nf_free(sim.slots);
    nf_free(sim.slaves);
    if (!options->keep_chunks) {
        nf_free(sim.result.chunks);
        sim.result.chunks = NULL;
        sim.result.nchunks = 0;
    }
    if (status)
        nf_farm_sim_fini(&sim.result);
    else
        *result_p = sim.result;
    return status;
}

enum nf_status nf_farm_sim_run(const struct nf_world *world,
                               const struct nf_policy *policy, uint64_t seed,
                               struct nf_farm_sim_result *result_p,
                               struct nf_error *err)
{
    const struct nf_farm_sim_options options = { .seed = seed,
                                                 .keep_chunks = true };

    return nf_farm_sim(world, policy, &options, result_p, err);
}

void nf_farm_sim_fini(struct nf_farm_sim_result *result)
{
    nf_free(result->slave);
    nf_free(result->learnt);
    nf_free(result->chunks);
    *result = (struct nf_farm_sim_result){ 0 };
}
