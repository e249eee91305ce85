#include "config.h"
#include "tests/unit/sim_trace.h"
#include <stdio.h>
#include <stdlib.h>
#include "common/trace/trace.h"

static void run(const char *platform, const char *spec, struct nf_world *world,
                struct nf_policy *policy, struct nf_farm_sim_result *result)
{
    struct nf_error err = { .text = "" };
    json_t *json = json_loads(platform, 0, NULL);

    if (json == NULL || nf_world_parse(json, world, &err) != NF_OK ||
        nf_policy_parse(spec, policy, &err) != NF_OK ||
        nf_farm_sim_run(world, policy, 0, result, &err) != NF_OK) {
        fprintf(stderr, "%s on %s: %s\n", spec, platform, err.text);
        abort();
    }
    json_decref(json);
}

int64_t sim_makespan_us(const char *platform, const char *spec)
{
    struct nf_world world;
    struct nf_policy policy;
    struct nf_farm_sim_result result;
    int64_t makespan_us;

    run(platform, spec, &world, &policy, &result);
    makespan_us = result.makespan_us;
    nf_farm_sim_fini(&result);
    nf_world_fini(&world);
    return makespan_us;
}

/* A chunk was sent or merged. */
struct event {
    int64_t at_us;
    const struct nf_sim_chunk *chunk;
    bool merged;
};

static int by_time(const void *a, const void *b)
{
    const struct event *one = a, *two = b;

    if (one->at_us != two->at_us)
        return one->at_us < two->at_us ? -1 : 1;
    if (one->merged != two->merged)
        return one->merged ? -1 : 1;
    return one->chunk < two->chunk ? -1 : one->chunk > two->chunk;
}

static void write_event(struct nf_trace *trace, const struct nf_world *world,
                        const struct event *event)
{
    const struct nf_sim_chunk *c = event->chunk;

    if (!event->merged) {
        nf_trace_sent(
            trace, c->sent_us,
            &(struct nf_trace_sent){
                .lease = (uint64_t)c->lease,
                .slave = c->slave,
                .first = c->first,
                .count = c->count,
                .master_us = nf_line_us(&world->send_overhead, c->count),
            });
        return;
    }
    nf_trace_result(trace, event->at_us,
                    &(struct nf_trace_result){
                        .lease = c->lease,
                        .units = c->count,
                        .last = true,
                        .compute_us = c->computed_us - c->started_us,
                        .wait_us = c->started_us - c->arrived_us,
                        .idle_us = c->idle_us,
                        .elapsed_us = event->at_us - c->sent_us,
                    });
}

static int64_t write_trace(const char *platform, const char *spec, bool live,
                           const char *path)
{
    struct nf_world world;
    struct nf_policy policy;
    struct nf_farm_sim_result result;
    struct nf_trace_header header = {
        .app = "sim",
        .policy = spec,
        .transport = live ? "pvm" : "sim",
        .virtual_time = !live,
    };
    struct nf_report report = { .slots = 1 };
    struct nf_trace *trace;
    struct event *events;
    uint64_t nevents = 0;
    int64_t makespan_us;

    run(platform, spec, &world, &policy, &result);
    makespan_us = result.makespan_us;
    header.units = report.done_units = world.units;
    events = malloc(2 * result.nchunks * sizeof(*events));
    if (events == NULL ||
        nf_trace_create(path, &header, 0, &trace, NULL) != NF_OK)
        abort();
    for (uint32_t i = 0; i < world.slaves; i++) {
        char host[32];

        snprintf(host, sizeof(host), "ws%u", i);
        nf_trace_join(trace, 0, i, host, 1);
    }
    for (uint64_t i = 0; i < result.nchunks; i++) {
        const struct nf_sim_chunk *c = &result.chunks[i];

        events[nevents++] = (struct event){ c->sent_us, c, false };
        if (c->merged_us >= 0) /* else a copy was faster */
            events[nevents++] = (struct event){
                c->merged_us -
                    (live ? nf_line_us(&world.recv_overhead, c->count) : 0),
                c, true
            };
    }
    qsort(events, nevents, sizeof(*events), by_time);
    for (uint64_t i = 0; i < nevents; i++)
        write_event(trace, &world, &events[i]);
    report.makespan_s = (double)makespan_us * 1e-6;
    nf_trace_end(trace, makespan_us, NF_OK, &report);
    if (nf_trace_close(trace, NULL) != NF_OK)
        abort();
    free(events);
    nf_farm_sim_fini(&result);
    nf_world_fini(&world);
    return makespan_us;
}

int64_t sim_trace_write(const char *platform, const char *spec,
                        const char *path)
{
    return write_trace(platform, spec, false, path);
}

int64_t sim_trace_write_live(const char *platform, const char *spec,
                             const char *path)
{
    return write_trace(platform, spec, true, path);
}
