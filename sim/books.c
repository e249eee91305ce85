/* What slaves measure, and where the time of the slots went, in the five parts
 * of master/account.c, by the same rules; here the clock is one, so that they
 * hold exactly. */
#include "config.h"
#include "sim/farm_sim_impl.h"

/* Sum of squared deviations of the units' compute times from @p mean_us, each
 * as long as it would have taken at the speed in force. */
static double deviations(const struct sim *sim,
                         const struct nf_sim_chunk *chunk, double mean_us)
{
    const struct nf_world *world = sim->world;
    bool load = world->slave[chunk->slave].load;
    struct nf_ratio speed =
        nf_world_speed(world, chunk->slave, chunk->started_us);
    int64_t now_us = chunk->started_us;
    double sum = 0;

    for (uint64_t i = 0; i < chunk->count; i++) {
        int64_t cost_us = nf_world_cost_us(world, chunk->first + i, 1);
        double time_us =
            (double)cost_us * (double)speed.den / (double)speed.num;

        if (load) {
            int64_t end_us =
                nf_world_finish_us(world, chunk->slave, now_us, cost_us);

            time_us = (double)(end_us - now_us);
            now_us = end_us;
        }
        sum += (time_us - mean_us) * (time_us - mean_us);
    }
    return sum;
}

/* The slave's clock: its own durations. */
void nf_sim_measure(const struct sim *sim, const struct nf_sim_chunk *chunk,
                    struct nf_chunk_times *t)
{
    struct nf_ratio speed =
        nf_world_speed(sim->world, chunk->slave, chunk->started_us);
    bool load = sim->world->slave[chunk->slave].load;
    double all_us =
        (double)nf_world_cost_us(sim->world, chunk->first, chunk->count) *
        ((double)speed.den / (double)speed.num);

    if (load)
        all_us = (double)(chunk->computed_us - chunk->started_us);
    *t = (struct nf_chunk_times){
        .units = chunk->count,
        .compute_us = chunk->computed_us - chunk->started_us,
        .wait_us = chunk->started_us - chunk->arrived_us,
        .idle_us = chunk->idle_us,
        .mean_unit_us = all_us / (double)chunk->count,
    };
    if (load || sim->world->cost_sums)
        t->m2_unit_us2 = deviations(sim, chunk, t->mean_unit_us);
}

/* ---- the master's accounts ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void nf_sim_book_joined(struct sim *sim, uint32_t slave)
{
    struct slave *s = &sim->slaves[slave];

    s->live = true;
    for (uint32_t k = 0; k < sim->world->slave[slave].slots; k++) {
        sim->slots[s->first_slot + k].outstanding = 0;
        sim->slots[s->first_slot + k].answered_us = sim->now_us;
    }
}

/* A slot without leases was held back until the event that brought this one,
 * and waited for the master from then on. */
void nf_sim_book_sent(struct sim *sim, struct nf_sim_chunk *chunk)
{
    struct slot *slot = nf_sim_slot(sim, chunk);

    chunk->epoch = sim->slaves[chunk->slave].epoch;
    if (slot->outstanding++ > 0)
        return;
    chunk->gap_idle_us = sim->event_us - slot->answered_us;
    chunk->gap_master_us = sim->now_us - sim->event_us +
                           nf_line_us(&sim->world->send_overhead, chunk->count);
}

void nf_sim_book_answered(struct sim *sim, const struct nf_sim_chunk *chunk)
{
    struct slot *slot = nf_sim_slot(sim, chunk);
    int64_t idle_us = least(chunk->gap_idle_us, chunk->idle_us);

    if (chunk->epoch != sim->slaves[chunk->slave].epoch ||
        chunk->cancel_us >= 0)
        return; /* the master had lost it, or needs it no more */
    slot->idle_us += idle_us;
    slot->master_us += least(chunk->gap_master_us, chunk->idle_us - idle_us);
    slot->compute_us += chunk->computed_us - chunk->started_us;
    if (--slot->outstanding == 0)
        slot->answered_us = sim->now_us;
}

void nf_sim_book_cancelled(struct sim *sim, const struct nf_sim_chunk *chunk)
{
    struct slot *slot = nf_sim_slot(sim, chunk);

    if (chunk->epoch == sim->slaves[chunk->slave].epoch &&
        --slot->outstanding == 0)
        slot->answered_us = sim->now_us;
}

static void close_slave(struct sim *sim, uint32_t number)
{
    const struct slave *slave = &sim->slaves[number];
    uint32_t slots = sim->world->slave[number].slots;
    struct nf_sim_slave *report = &sim->result.slave[number];
    struct nf_sim_parts *parts = &sim->result.parts;

    report->idle_us =
        sim->result.makespan_us * slots - report->busy_us - report->blocked_us;
    for (uint32_t k = 0; k < slots; k++) {
        const struct slot *slot = &sim->slots[slave->first_slot + k];

        nf_farm_get_estimate(sim->farm, number, k,
                             &sim->result.learnt[report->first_slot + k]);
        parts->compute_us += (double)slot->compute_us;
        parts->master_us += (double)slot->master_us;
        parts->idle_us += (double)slot->idle_us;
        if (slave->live && slot->outstanding == 0)
            parts->tail_us +=
                (double)(sim->result.makespan_us - slot->answered_us);
    }
}

void nf_sim_book_close(struct sim *sim)
{
    struct nf_farm_sim_result *result = &sim->result;
    struct nf_sim_parts *parts = &result->parts;
    struct nf_farm_stats stats;

    nf_farm_get_stats(sim->farm, &stats);
    result->duplicates = stats.duplicates;
    result->retries = stats.retries;
    result->failed_units = stats.given_up;
    result->copies = stats.copies;
    result->cancelled = stats.cancelled;
    result->lost_slaves = stats.lost_slaves;
    for (uint32_t i = 0; i < result->slaves; i++)
        close_slave(sim, i);
    parts->transfer_us = (double)result->makespan_us * result->slots -
                         parts->compute_us - parts->master_us - parts->idle_us -
                         parts->tail_us;
    if (parts->transfer_us < 0)
        parts->transfer_us = 0; /* rounding */
}
