#include "config.h"
#include "tests/unit/group_sim.h"
#include <stdio.h>
#include <string.h>

bool sim_open(struct group_sim *sim, uint32_t ranks, uint64_t seed,
              const struct nf_group_options *options)
{
    const struct nf_group_clock clock = { fake_now_us, &sim->world };
    bool ok = true;

    memset(sim, 0, sizeof(*sim));
    sim->ranks = ranks;
    fake_world_init(&sim->world, ranks, seed);
    for (uint32_t r = 0; r < ranks; r++) {
        struct nf_mesh *mesh = fake_mesh_open(&sim->world, r);
        struct nf_error err;

        if (nf_group_create(mesh, 1, &clock, options, &sim->groups[r], &err) !=
            NF_OK) {
            printf("%s\n", err.text);
            nf_mesh_close(mesh);
            ok = false;
        } else {
            ok = ok && round_define(sim->groups[r]);
        }
    }
    return ok;
}

void sim_close(struct group_sim *sim)
{
    for (uint32_t r = 0; r < sim->ranks; r++) {
        nf_request_free(sim->requests[r]);
        nf_group_close(sim->groups[r]);
    }
    fake_world_fini(&sim->world);
}

bool sim_runs(const struct group_sim *sim, uint32_t rank)
{
    return !sim->world.dead[rank] && !sim->frozen[rank];
}

static void note_end(struct group_sim *sim, uint32_t rank,
                     enum nf_status status)
{
    sim->statuses[rank] = status;
    if (status != NF_WAIT)
        sim->ended_us[rank] = sim->world.now_us;
}

void sim_start(struct group_sim *sim, uint32_t rank, const struct nf_call *call)
{
    enum nf_status status;

    if (!sim_runs(sim, rank))
        return;
    sim->requests[rank] = NULL;
    status = start_somehow(sim->groups[rank], call, &sim->requests[rank]);
    note_end(sim, rank, status == NF_OK ? NF_WAIT : status);
}

bool sim_test(struct group_sim *sim, uint32_t rank)
{
    if (sim->requests[rank] != NULL)
        sim->statuses[rank] = nf_request_test(sim->requests[rank]);
    if (sim->statuses[rank] == NF_WAIT)
        return false;
    nf_request_free(sim->requests[rank]);
    sim->requests[rank] = NULL;
    return true;
}

static bool is_under_way(const struct group_sim *sim, uint32_t rank)
{
    return sim_runs(sim, rank) && sim->statuses[rank] == NF_WAIT &&
           sim->requests[rank] != NULL;
}

bool sim_advance(struct group_sim *sim)
{
    int64_t next = fake_next_us(&sim->world);

    for (uint32_t r = 0; r < sim->ranks; r++) {
        int64_t in = sim_runs(sim, r) && sim->groups[r] != NULL
                         ? nf_group_deadline_us(sim->groups[r])
                         : -1;

        if (in >= 0 && sim->world.now_us + in < next)
            next = sim->world.now_us + in;
    }
    if (next == INT64_MAX)
        return false;
    sim->world.now_us = next > sim->world.now_us ? next : sim->world.now_us + 1;
    return true;
}

bool sim_run(struct group_sim *sim)
{
    uint32_t idle = 0, busy;

    do {
        busy = 0;
        for (uint32_t r = 0; r < sim->ranks; r++) {
            if (!is_under_way(sim, r))
                continue;
            note_end(sim, r, nf_request_test(sim->requests[r]));
            if (sim->statuses[r] == NF_WAIT) {
                busy++;
            } else {
                nf_request_free(sim->requests[r]);
                sim->requests[r] = NULL;
                idle = 0;
            }
        }
        idle = sim_advance(sim) ? 0 : idle + 1;
    } while (busy > 0 && idle < 4);
    return busy == 0;
}

bool sim_shrink(struct group_sim *sim, enum nf_status *results)
{
    struct nf_shrink *shrinks[FAKE_MEMBERS_MAX] = { NULL };
    struct nf_group *made[FAKE_MEMBERS_MAX] = { NULL };
    struct nf_error err;
    uint32_t busy, passes = 0;

    for (uint32_t r = 0; r < sim->ranks; r++)
        results[r] = !sim_runs(sim, r)
                         ? NF_ERR_FAILED
                         : nf_shrink_start(sim->groups[r], &shrinks[r], &err);
    do {
        int64_t next = INT64_MAX;

        busy = 0;
        for (uint32_t r = 0; r < sim->ranks; r++) {
            int64_t then;

            if (shrinks[r] == NULL || !sim_runs(sim, r))
                continue;
            results[r] = nf_shrink_run(shrinks[r], &made[r], &err);
            if (results[r] != NF_WAIT) {
                nf_shrink_destroy(shrinks[r]);
                shrinks[r] = NULL;
                continue;
            }
            busy++;
            then = sim->world.now_us + nf_shrink_deadline_us(shrinks[r]);
            next = then < next ? then : next;
        }
        if (fake_next_us(&sim->world) < next)
            next = fake_next_us(&sim->world);
        if (next <= sim->world.now_us || next == INT64_MAX)
            next = sim->world.now_us + 1;
        sim->world.now_us = next;
    } while (busy > 0 && passes++ < 100000);
    for (uint32_t r = 0; r < sim->ranks; r++) {
        nf_shrink_destroy(shrinks[r]);
        if (sim_runs(sim, r)) {
            nf_group_close(sim->groups[r]);
            sim->groups[r] = made[r];
        } else { /* it ended in the very moment in which it succeeded */
            nf_group_close(made[r]);
        }
    }
    return busy == 0;
}
