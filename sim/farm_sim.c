/* The virtual-clock driver of the farm.  Where a rule below decides between two
 * things at one instant, it is the paper's: receive all, then send. */
#include "config.h"
#include "sim/farm_sim.h"
#include "common/base/alloc.h"
#include "common/farm/farm.h"
#include "sim/network.h"

#define NO_CHUNK UINT64_MAX

enum event {
    EV_SENT,      /* the master has done its part of sending a chunk */
    EV_WIRE_END,  /* message 2 chunk + (1: result) has left the wire */
    EV_HUB,       /* the network's */
    EV_AT_SLAVE,  /* a chunk */
    EV_COMPUTED,  /* a chunk */
    EV_AT_MASTER, /* a chunk's result */
    EV_TAKEN,     /* the master has done its part of receiving */
    EV_MAIL,      /* the master wakes up for its mail */
    EV_WAKE,      /* the master's sleep number id is over */
};

struct mailbox {
    uint64_t head, tail, count;
};

struct slave {
    struct mailbox mail;
    bool busy; /* computing, or blocked by its result */
    bool worked;
    int64_t free_us; /* since when it has nothing to do */
};

struct sim {
    const struct nf_world *world;
    struct nf_farm *farm;
    struct nf_network *net;
    struct nf_sim_queue queue;
    struct nf_farm_sim_result result;
    uint64_t max_chunks;
    struct slave *slaves;
    int64_t now_us;

    struct nf_actions actions; /* of the farm's last event */
    size_t next_action;
    struct mailbox mail; /* the master's */
    uint32_t joined;     /* slaves that are there by now */
    bool busy;           /* the master is sending or receiving */
    bool done;
    uint64_t sleep;      /* number of the master's current sleep */
    unsigned idle_turns; /* timer events without effect at one time */
};

/* ---- mailboxes ---- */

static void mail_put(struct sim *sim, struct mailbox *mail, uint64_t chunk)
{
    sim->result.chunks[chunk].next = NO_CHUNK;
    if (mail->count++ == 0)
        mail->head = chunk;
    else
        sim->result.chunks[mail->tail].next = chunk;
    mail->tail = chunk;
}

static uint64_t mail_take(struct sim *sim, struct mailbox *mail)
{
    uint64_t chunk = mail->head;

    mail->head = sim->result.chunks[chunk].next;
    mail->count--;
    return chunk;
}

static enum nf_status after(struct sim *sim, int64_t delay_us, enum event kind,
                            uint64_t id)
{
    return nf_sim_queue_push(&sim->queue, sim->now_us + delay_us, kind, id);
}

/* ---- the slaves ---- */

/* Take the first chunk that the slave has not heard it is to drop. */
static uint64_t take_wanted(struct sim *sim, struct mailbox *mail)
{
    while (mail->count > 0) {
        uint64_t id = mail_take(sim, mail);
        int64_t cancel_us = sim->result.chunks[id].cancel_us;

        if (cancel_us < 0 || cancel_us > sim->now_us)
            return id;
    }
    return NO_CHUNK;
}

/* Start the next chunk, if there is one. */
static enum nf_status slave_start(struct sim *sim, uint32_t number)
{
    struct slave *slave = &sim->slaves[number];
    uint64_t id = take_wanted(sim, &slave->mail);
    struct nf_sim_chunk *chunk;
    int64_t cost_us;

    if (id == NO_CHUNK)
        return NF_OK;
    chunk = &sim->result.chunks[id];
    cost_us = nf_world_cost_us(sim->world, chunk->first, chunk->count);

    chunk->idle_us = sim->now_us - slave->free_us;
    if (slave->worked)
        sim->result.slave[number].starve_us += chunk->idle_us;
    slave->worked = true;
    slave->busy = true;
    chunk->started_us = sim->now_us;
    return after(sim,
                 nf_world_compute_us(
                     cost_us, nf_world_speed(sim->world, number, sim->now_us)),
                 EV_COMPUTED, id);
}

static enum nf_status slave_free(struct sim *sim, uint32_t number)
{
    struct slave *slave = &sim->slaves[number];

    slave->busy = false;
    slave->free_us = sim->now_us;
    return slave_start(sim, number);
}

static enum nf_status chunk_at_slave(struct sim *sim, uint64_t id)
{
    struct nf_sim_chunk *chunk = &sim->result.chunks[id];
    struct slave *slave = &sim->slaves[chunk->slave];
    struct nf_sim_slave *report = &sim->result.slave[chunk->slave];

    chunk->arrived_us = sim->now_us;
    mail_put(sim, &slave->mail, id);
    if (!slave->busy)
        return slave_start(sim, chunk->slave);
    if (slave->mail.count > report->max_queue)
        report->max_queue = slave->mail.count;
    return NF_OK;
}

static enum nf_status chunk_computed(struct sim *sim, uint64_t id)
{
    struct nf_sim_chunk *chunk = &sim->result.chunks[id];
    struct nf_sim_slave *report = &sim->result.slave[chunk->slave];
    const struct nf_world_slave *slave = &sim->world->slave[chunk->slave];
    enum nf_status status;

    chunk->computed_us = sim->now_us;
    report->busy_us += sim->now_us - chunk->started_us;
    report->units += chunk->count;
    status =
        nf_network_send(sim->net, chunk->slave, true, 2 * id + 1,
                        nf_line_us(&slave->result, chunk->count), sim->now_us);
    if (!status && !sim->world->blocking)
        status = slave_free(sim, chunk->slave);
    return status;
}

/* A master that sleeps wakes up, but behind what happens at this instant. */
static enum nf_status result_at_master(struct sim *sim, uint64_t id)
{
    mail_put(sim, &sim->mail, id);
    if (sim->busy || nf_farm_is_deaf(sim->farm))
        return NF_OK;
    return after(sim, 0, EV_MAIL, 0);
}

static enum nf_status deliver(struct sim *sim, bool is_result, uint64_t id)
{
    if (sim->world->prop_us > 0)
        return after(sim, sim->world->prop_us,
                     is_result ? EV_AT_MASTER : EV_AT_SLAVE, id);
    return is_result ? result_at_master(sim, id) : chunk_at_slave(sim, id);
}

static enum nf_status wire_end(struct sim *sim, uint64_t message)
{
    bool is_result = message % 2 == 1;
    uint64_t id = message / 2;
    const struct nf_sim_chunk *chunk = &sim->result.chunks[id];
    enum nf_status status = deliver(sim, is_result, id);

    if (status || !is_result || !sim->world->blocking)
        return status;
    sim->result.slave[chunk->slave].blocked_us +=
        sim->now_us - chunk->computed_us;
    return slave_free(sim, chunk->slave);
}

/* ---- the master ---- */

static enum nf_status new_chunk(struct sim *sim, const struct nf_action *act,
                                uint64_t *id_p)
{
    struct nf_farm_sim_result *result = &sim->result;

    if (result->nchunks == sim->max_chunks) {
        uint64_t max = sim->max_chunks ? 2 * sim->max_chunks : 64;
        struct nf_sim_chunk *chunks =
            nf_realloc(result->chunks, max * sizeof(*chunks));

        if (!chunks)
            return NF_ERR_NOMEM;
        result->chunks = chunks;
        sim->max_chunks = max;
    }
    result->chunks[result->nchunks] = (struct nf_sim_chunk){
        .lease = act->lease,
        .first = act->first,
        .count = act->count,
        .slave = act->slave,
        .sent_us = sim->now_us,
        .arrived_us = -1,
        .started_us = -1,
        .computed_us = -1,
        .merged_us = -1,
        .cancel_us = -1,
    };
    *id_p = result->nchunks++;
    return NF_OK;
}

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
    return after(sim, overhead_us, EV_SENT, id);
}

/* The slave's clock: its own durations. */
static void measure(const struct sim *sim, const struct nf_sim_chunk *chunk,
                    struct nf_chunk_times *t)
{
    struct nf_ratio speed =
        nf_world_speed(sim->world, chunk->slave, chunk->started_us);
    double scale = (double)speed.den / (double)speed.num;
    double mean =
        (double)nf_world_cost_us(sim->world, chunk->first, chunk->count) *
        scale / (double)chunk->count;

    *t = (struct nf_chunk_times){
        .units = chunk->count,
        .compute_us = chunk->computed_us - chunk->started_us,
        .wait_us = chunk->started_us - chunk->arrived_us,
        .idle_us = chunk->idle_us,
        .mean_unit_us = mean,
    };
    for (uint64_t i = 0; sim->world->cost_sums && i < chunk->count; i++) {
        double d =
            (double)nf_world_cost_us(sim->world, chunk->first + i, 1) * scale -
            mean;

        t->m2_unit_us2 += d * d;
    }
}

static enum nf_status result_taken(struct sim *sim, uint64_t id)
{
    struct nf_sim_chunk *chunk = &sim->result.chunks[id];
    struct nf_chunk_times times;

    sim->busy = false;
    chunk->merged_us = sim->now_us;
    sim->result.result_messages++;
    sim->idle_turns = 0;
    sim->next_action = 0;
    measure(sim, chunk, &times);
    return nf_farm_result(sim->farm, chunk->slave, chunk->lease, chunk->first,
                          chunk->count, &times, sim->now_us, &sim->actions);
}

static enum nf_status take_mail(struct sim *sim)
{
    uint64_t id = mail_take(sim, &sim->mail);
    int64_t overhead_us =
        nf_line_us(&sim->world->recv_overhead, sim->result.chunks[id].count);

    if (overhead_us == 0)
        return result_taken(sim, id);
    sim->busy = true;
    return after(sim, overhead_us, EV_TAKEN, id);
}

static enum nf_status join_next(struct sim *sim)
{
    sim->next_action = 0;
    return nf_farm_join(sim->farm, sim->joined++, 1, sim->now_us,
                        &sim->actions);
}

static enum nf_status timer(struct sim *sim)
{
    sim->next_action = 0;
    if (++sim->idle_turns > 1000)
        return NF_ERR_FAILED; /* the pacer wants to be asked for ever */
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
        return wire_end(sim, event->id);
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
        sim->idle_turns = 0;
        break;
    }
    return status ? status : master_run(sim);
}

static enum nf_status run(struct sim *sim, struct nf_error *err)
{
    struct nf_sim_event event;
    enum nf_status status = master_run(sim);

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
        nf_fail(err, status, "the policy hands out no more units after %lld us",
                (long long)sim->now_us);
    else if (status)
        nf_fail(err, status, "simulation: %s", nf_strerror(status));
    return status;
}

static enum nf_status create(struct sim *sim, const struct nf_policy *policy,
                             uint64_t seed, struct nf_error *err)
{
    uint32_t slaves = sim->world->slaves;
    struct nf_farm_config config = {
        .units = sim->world->units,
        .policy = policy,
        .slots = slaves,
        .max_slots = slaves,
        .max_attempts = 1,
        .seed = seed,
    };

    sim->result.slaves = slaves;
    sim->result.slave = nf_calloc(slaves, sizeof(sim->result.slave[0]));
    sim->slaves = nf_calloc(slaves, sizeof(sim->slaves[0]));
    if (!sim->result.slave || !sim->slaves ||
        nf_network_create(sim->world, &sim->queue, EV_WIRE_END, EV_HUB,
                          &sim->net))
        return nf_fail(err, NF_ERR_NOMEM, "simulation: out of memory");
    sim->actions.wake_us = INT64_MAX;
    return nf_farm_create(&config, &sim->farm, err);
}

/* Counts were taken as things happened; idle is what remains. */
static void close_books(struct sim *sim)
{
    struct nf_farm_stats stats;

    nf_farm_get_stats(sim->farm, &stats);
    sim->result.duplicates = stats.duplicates;
    sim->result.copies = stats.copies;
    sim->result.cancelled = stats.cancelled;
    for (uint32_t i = 0; i < sim->result.slaves; i++) {
        struct nf_sim_slave *slave = &sim->result.slave[i];

        slave->idle_us =
            sim->result.makespan_us - slave->busy_us - slave->blocked_us;
        nf_farm_get_estimate(sim->farm, i, 0, &slave->learnt);
    }
}

enum nf_status nf_farm_sim_run(const struct nf_world *world,
                               const struct nf_policy *policy, uint64_t seed,
                               struct nf_farm_sim_result *result_p,
                               struct nf_error *err)
{
    struct sim sim = { .world = world };
    enum nf_status status = create(&sim, policy, seed, err);

    if (!status)
        status = run(&sim, err);
    if (!status)
        close_books(&sim);
    nf_farm_destroy(sim.farm);
    nf_network_destroy(sim.net);
    nf_sim_queue_fini(&sim.queue);
    nf_free(sim.slaves);
    if (status)
        nf_farm_sim_fini(&sim.result);
    else
        *result_p = sim.result;
    return status;
}

void nf_farm_sim_fini(struct nf_farm_sim_result *result)
{
    nf_free(result->slave);
    nf_free(result->chunks);
    *result = (struct nf_farm_sim_result){ 0 };
}
