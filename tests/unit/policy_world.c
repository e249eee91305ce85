/* A small world for policies; see policy_world.h. */
#include "config.h"
#include "tests/unit/policy_world.h"
#include <stdlib.h>
#include <string.h>

enum kind {
    EV_ENTER,
    EV_OUT,  /* data has left the wire */
    EV_BACK, /* a result has left the wire */

    EV_ARRIVE,
    EV_FINISH,

    EV_RESULT,
    EV_MASTER,
    EV_TIMER
};

struct event {
    int64_t at_us;
    uint64_t order; /* events of one instant run in the order made */
    enum kind kind;
    uint32_t slot;
    uint64_t chunk;
};

struct chunk {
    uint32_t slot;
    uint64_t first, units;
    int64_t sent_us, arrived_us, started_us, compute_us;
};

struct run {
    const struct world *world;
    const struct nf_policy *policy;
    struct world_trace *trace;
    void *sizer, *pacer;
    struct nf_slot_view slots[WORLD_SLOTS];
    struct nf_pool_view pool;
    int64_t now_us, wake_us, master_free_us;
    uint64_t merged_units, order, timer_order; /* order: of the next event */
    size_t nevents;
    struct event events[4 * WORLD_UNITS];
    struct chunk chunks[WORLD_UNITS];
    uint64_t inbox[WORLD_UNITS];
    size_t inbox_head, inbox_tail;
    bool deaf;
    uint64_t taking; /* chunk being taken by the master + 1 */
    int64_t down_free_us[WORLD_SLOTS], up_free_us[WORLD_SLOTS], bus_free_us;
    uint64_t mailbox[WORLD_SLOTS][WORLD_UNITS];
    size_t mailbox_head[WORLD_SLOTS], mailbox_tail[WORLD_SLOTS];
    bool busy[WORLD_SLOTS];
    const char *why;
};

static void schedule(struct run *run, int64_t at_us, enum kind kind,
                     uint32_t slot, uint64_t chunk)
{
    run->events[run->nevents++] =
        (struct event){ at_us, run->order++, kind, slot, chunk };
}

static bool goes_before(const struct event *a, const struct event *b)
{
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us;
    if ((a->kind == EV_TIMER) != (b->kind == EV_TIMER))
        return b->kind == EV_TIMER; /* first take what has arrived */
    return a->order < b->order;
}

static bool next_event(struct run *run, struct event *event_p)
{
    size_t best = 0;

    if (run->nevents == 0)
        return false;
    for (size_t i = 1; i < run->nevents; i++)
        if (goes_before(&run->events[i], &run->events[best]))
            best = i;
    *event_p = run->events[best];
    run->events[best] = run->events[--run->nevents];
    return true;
}

static int64_t cost(const int64_t pair_us[2], uint64_t units)
{
    return pair_us[0] + pair_us[1] * (int64_t)units;
}

/* @return when a message put on the wire now has left it */
static int64_t use_wire(struct run *run, int64_t *free_us_p, int64_t time_us)
{
    int64_t *wire = run->world->bus ? &run->bus_free_us : free_us_p;

    *wire = (*wire > run->now_us ? *wire : run->now_us) + time_us;
    return *wire;
}

static void enter_wire(struct run *run, uint64_t id)
{
    struct chunk *chunk = &run->chunks[id];
    int64_t left_us = use_wire(run, &run->down_free_us[chunk->slot],
                               cost(run->world->data_us, chunk->units));

    schedule(run, left_us, EV_OUT, chunk->slot, id);
}

static int64_t compute_us(const struct run *run, const struct chunk *chunk)
{
    const struct world *world = run->world;
    int64_t num = world->numerator[chunk->slot];
    int64_t den = world->denominator[chunk->slot];
    int64_t sum = 0;

    for (uint32_t i = 0; i < world->nslow; i++)
        if (world->slow[i].slot == chunk->slot &&
            run->now_us >= world->slow[i].from_us) {
            num = world->slow[i].numerator;
            den = world->slow[i].denominator;
        }
    for (uint64_t u = chunk->first; u < chunk->first + chunk->units; u++)
        sum += world->cost_us[u];
    return (2 * sum * den + num) / (2 * num);
}

static void start_slot(struct run *run, uint32_t slot)
{
    uint64_t id;
    struct chunk *chunk;

    if (run->busy[slot] || run->mailbox_head[slot] == run->mailbox_tail[slot])
        return;
    id = run->mailbox[slot][run->mailbox_head[slot]++];
    chunk = &run->chunks[id];
    run->busy[slot] = true;
    chunk->started_us = run->now_us;
    chunk->compute_us = compute_us(run, chunk);
    run->trace->busy_us[slot] += chunk->compute_us;
    schedule(run, run->now_us + chunk->compute_us, EV_FINISH, slot, id);
}

static void arrive(struct run *run, uint32_t slot, uint64_t id)
{
    size_t queued;

    run->chunks[id].arrived_us = run->now_us;
    run->mailbox[slot][run->mailbox_tail[slot]++] = id;
    start_slot(run, slot);
    queued = run->mailbox_tail[slot] - run->mailbox_head[slot];
    if (queued > run->trace->max_queue[slot])
        run->trace->max_queue[slot] = (uint32_t)queued;
}

static void finish(struct run *run, uint32_t slot, uint64_t id)
{
    int64_t left_us =
        use_wire(run, &run->up_free_us[slot],
                 cost(run->world->result_us, run->chunks[id].units));

    schedule(run, left_us, EV_BACK, slot, id);
    if (!run->world->blocking) {
        run->busy[slot] = false;
        start_slot(run, slot);
    }
}

static void send_chunk(struct run *run, uint32_t slot, uint64_t units)
{
    uint64_t id = run->trace->nsends++;
    uint64_t first = run->pool.units - run->pool.left_units;
    int64_t at_us =
        run->master_free_us > run->now_us ? run->master_free_us : run->now_us;

    run->chunks[id] = (struct chunk){
        .slot = slot, .first = first, .units = units, .sent_us = run->now_us
    };
    run->trace->sends[id] = (struct world_send){ at_us, slot, first, units };
    run->trace->slot_units[slot] += units;
    run->pool.left_units -= units;
    run->slots[slot].outstanding++;
    run->master_free_us = at_us + cost(run->world->send_us, units);
    if (run->master_free_us > run->now_us)
        schedule(run, run->master_free_us, EV_ENTER, slot, id);
    else
        enter_wire(run, id);
    run->policy->pacer->sent(run->pacer, &run->pool, slot, units, run->now_us);
}

static void dispatch(struct run *run)
{
    run->wake_us = INT64_MAX;
    while (run->pool.left_units > 0) {
        uint32_t slot = UINT32_MAX;
        uint64_t units = 0;

        if (run->policy->pacer->pick(run->pacer, &run->pool, run->now_us, &slot,
                                     &run->wake_us) != NF_OK)
            break;
        run->wake_us = INT64_MAX;
        if (slot >= run->pool.nslots || !run->slots[slot].live ||
            run->slots[slot].refused) {
            run->why = "picked a slot that is not there";
            return;
        }
        if (run->policy->sizer->next(run->sizer, slot, run->pool.left_units,
                                     &units) != NF_OK) {
            run->slots[slot].refused = true;
            if (run->policy->pacer->refused)
                run->policy->pacer->refused(run->pacer, &run->pool, slot,
                                            run->now_us);
            continue;
        }
        if (units < 1 || units > run->pool.left_units) {
            run->why = "size out of [1, left]";
            return;
        }
        send_chunk(run, slot, units);
    }
    run->deaf = run->policy->pacer->deaf_while_waiting &&
                run->wake_us > run->now_us && run->wake_us != INT64_MAX;
    run->timer_order = run->order; /* older timers are void */
    if (run->wake_us != INT64_MAX)
        schedule(run, run->wake_us, EV_TIMER, 0, 0);
}

static void merge(struct run *run, uint64_t id)
{
    const struct chunk *chunk = &run->chunks[id];
    struct nf_chunk_times times = {
        .units = chunk->units,
        .compute_us = chunk->compute_us,
        .wait_us =
            run->world->hide_wait ? -1 : chunk->started_us - chunk->arrived_us,
        .elapsed_us = run->now_us - chunk->sent_us,
        .mean_unit_us = (double)chunk->compute_us / (double)chunk->units,
    };

    run->slots[chunk->slot].outstanding--;
    run->merged_units += chunk->units;
    if (run->merged_units == run->world->units)
        run->trace->makespan_us = run->now_us;
    if (run->policy->sizer->report != NULL)
        run->policy->sizer->report(run->sizer, chunk->slot, &times);
    if (run->policy->pacer->result != NULL)
        run->policy->pacer->result(run->pacer, &run->pool, chunk->slot, &times,
                                   run->now_us);
    dispatch(run);
}

/* The master's loop, as far as it gets at this instant. */
static void run_master(struct run *run)
{
    while (run->why == NULL && run->master_free_us <= run->now_us) {
        if (run->taking != 0) {
            uint64_t id = run->taking - 1;

            run->taking = 0;
            merge(run, id);
        } else if (!run->deaf && run->inbox_head < run->inbox_tail) {
            uint64_t id = run->inbox[run->inbox_head++];

            run->taking = id + 1;
            run->master_free_us =
                run->now_us + cost(run->world->take_us, run->chunks[id].units);
            if (run->master_free_us > run->now_us)
                schedule(run, run->master_free_us, EV_MASTER, 0, 0);
        } else if (run->wake_us <= run->now_us) {
            dispatch(run);
        } else {
            return;
        }
    }
    /* busy: come back when free */
    if (run->why == NULL && run->taking == 0)
        schedule(run, run->master_free_us, EV_MASTER, 0, 0);
}

static void handle(struct run *run, const struct event *event)
{
    switch (event->kind) {
    case EV_ENTER:
        enter_wire(run, event->chunk);
        break;
    case EV_ARRIVE:
        arrive(run, event->slot, event->chunk);
        break;
    case EV_FINISH:
        finish(run, event->slot, event->chunk);
        break;
    case EV_OUT:
        schedule(run, run->now_us + run->world->latency_us, EV_ARRIVE,
                 event->slot, event->chunk);
        break;
    case EV_BACK:
        schedule(run, run->now_us + run->world->latency_us, EV_RESULT,
                 event->slot, event->chunk);
        if (run->world->blocking) {
            run->busy[event->slot] = false;
            start_slot(run, event->slot);
        }
        break;
    case EV_RESULT:
        run->inbox[run->inbox_tail++] = event->chunk;
        run_master(run);
        break;
    case EV_MASTER:
        run_master(run);
        break;
    case EV_TIMER:
        if (event->order == run->timer_order)
            run_master(run);
        break;
    }
}

static bool run_all(struct run *run)
{
    struct nf_policy_env env = { .units = run->world->units,
                                 .slots = run->world->slots,
                                 .max_slots = run->world->slots,
                                 .seed = 1 };
    struct event event;

    run->sizer = calloc(1, run->policy->sizer->state_size(&env));
    run->pacer = calloc(1, run->policy->pacer->state_size(&env));
    if (run->policy->sizer->init(run->sizer, &env, run->policy->sizer_values,
                                 NULL) != NF_OK ||
        run->policy->pacer->init(run->pacer, &env, run->policy->pacer_values,
                                 NULL) != NF_OK)
        run->why = "init failed";
    for (uint32_t i = 0; i < run->world->slots && run->why == NULL; i++) {
        run->slots[i].live = true;
        run->pool.nslots = i + 1;
        if (run->policy->pacer->join != NULL)
            run->policy->pacer->join(run->pacer, &run->pool, i, 0);
        dispatch(run);
    }
    if (run->why == NULL)
        run_master(run);
    while (run->why == NULL && run->merged_units < run->world->units) {
        if (!next_event(run, &event)) {
            run->why = "nothing more happens, but units are missing";
            break;
        }
        run->now_us = event.at_us;
        handle(run, &event);
    }
    free(run->sizer);
    free(run->pacer);
    return run->why == NULL;
}

bool world_run(const struct world *world, const struct nf_policy *policy,
               struct world_trace *trace_p, const char **why_p)
{
    struct run *run = calloc(1, sizeof(*run));
    bool ok;

    memset(trace_p, 0, sizeof(*trace_p));
    run->world = world;
    run->policy = policy;
    run->trace = trace_p;
    run->wake_us = INT64_MAX;
    run->pool.units = run->pool.left_units = world->units;
    run->pool.grain_units = policy->grain_units;
    run->pool.slots = run->slots;
    ok = run_all(run);
    *why_p = run->why;
    free(run);
    return ok;
}
