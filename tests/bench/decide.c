/* What a decision costs: whole jobs through the farm with as little around it
 * as there can be.  Slaves are a queue of times; no simulator, no network.
 *
 *     decide [UNITS SLAVES POLICY]...      without arguments: a table */
#include "config.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/farm/farm.h"
#include "sim/queue.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A lease in a slave's hands: slaves compute one after the other. */
struct held {
    uint64_t lease, first, count;
    int64_t start_us, end_us;
    uint32_t slave;
};

struct job {
    struct nf_farm *farm;
    struct nf_sim_queue queue; /* of results, by index into held */
    struct held *held;
    uint32_t *unused;
    uint32_t nunused;
    int64_t *free_us; /* when a slave has computed all it has */
    struct nf_rng rng;
    int64_t now_us, wake_us;
    bool done;
};

enum { WAY_US = 500, UNIT_US = 100000 };

static bool act(struct job *job, const struct nf_actions *actions)
{
    job->wake_us = actions->wake_us;
    for (size_t i = 0; i < actions->count; i++) {
        const struct nf_action *a = &actions->list[i];
        uint32_t id;
        struct held *h;

        job->done |= a->kind == NF_ACT_DONE;
        if (a->kind != NF_ACT_SEND)
            continue;
        id = job->unused[--job->nunused];
        h = &job->held[id];
        *h = (struct held){ .lease = a->lease,
                            .first = a->first,
                            .count = a->count,
                            .start_us = job->now_us + WAY_US,
                            .slave = a->slave };
        if (job->free_us[a->slave] > h->start_us)
            h->start_us = job->free_us[a->slave];
        /* slaves of speeds 1 to 4, units that differ by a half */
        h->end_us = h->start_us +
                    (int64_t)(a->count *
                              (UNIT_US / 2 + nf_rng_below(&job->rng, UNIT_US)) /
                              (1 + a->slave % 4));
        job->free_us[a->slave] = h->end_us;
        if (nf_sim_queue_push(&job->queue, h->end_us + WAY_US, 0, id) != NF_OK)
            return false;
    }
    return true;
}

static bool next(struct job *job)
{
    struct nf_sim_event event;
    struct nf_actions actions;
    struct nf_chunk_times times;
    struct held *h;

    if (job->wake_us <= job->now_us)
        return nf_farm_timer(job->farm, job->now_us, &actions) == NF_OK &&
               act(job, &actions);
    if (nf_sim_queue_pop(&job->queue, &event) != NF_OK)
        return false;
    job->now_us = event.at_us;
    h = &job->held[event.id];
    times = (struct nf_chunk_times){ .units = h->count,
                                     .compute_us = h->end_us - h->start_us,
                                     .wait_us = -1 };
    job->unused[job->nunused++] = (uint32_t)event.id;
    return nf_farm_result(job->farm, h->slave, h->lease, h->first, h->count,
                          &times, job->now_us, &actions) == NF_OK &&
           act(job, &actions);
}

/* @return seconds, or a negative number */
static double run(uint64_t units, uint32_t slaves, const char *spec)
{
    uint32_t most = 20 * slaves; /* leases at one time */
    struct job job = { .rng = { 1 }, .wake_us = INT64_MAX };
    struct nf_policy policy;
    struct nf_farm_config config = { .units = units,
                                     .policy = &policy,
                                     .slots = slaves,
                                     .max_slots = slaves,
                                     .max_attempts = 3 };
    struct nf_actions actions;
    bool ok = nf_policy_parse(spec, &policy, NULL) == NF_OK &&
              nf_farm_create(&config, &job.farm, NULL) == NF_OK;
    int64_t start_us;

    if (!ok)
        return -1;
    job.held = nf_calloc(most, sizeof(*job.held));
    job.unused = nf_calloc(most, sizeof(*job.unused));
    job.free_us = nf_calloc(slaves, sizeof(*job.free_us));
    ok = job.held != NULL && job.unused != NULL && job.free_us != NULL;
    for (uint32_t i = 0; ok && i < most; i++)
        job.unused[job.nunused++] = i;
    start_us = nf_now_us();
    for (uint32_t i = 0; ok && i < slaves; i++)
        ok = nf_farm_join(job.farm, i, 1, 0, &actions) == NF_OK &&
             act(&job, &actions);
    while (ok && !job.done)
        ok = next(&job);
    start_us = nf_now_us() - start_us;
    nf_sim_queue_fini(&job.queue);
    nf_farm_destroy(job.farm);
    nf_free(job.held);
    nf_free(job.unused);
    nf_free(job.free_us);
    return ok ? (double)start_us * 1e-6 : -1;
}

static int row(uint64_t units, uint32_t slaves, const char *spec)
{
    double seconds = 1e9;

    for (int i = 0; i < 3; i++) {
        double once = run(units, slaves, spec);

        if (once < 0) {
            printf("%9" PRIu64 " %7u  %-24s not to be had\n", units, slaves,
                   spec);
            return 1;
        }
        if (once < seconds)
            seconds = once;
    }
    printf("%9" PRIu64 " %7u  %-24s %8.3f s %9.3f us\n", units, slaves, spec,
           seconds, seconds * 1e6 / (double)units);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        uint64_t units;
        uint32_t slaves;
    } sizes[] = {
        { 1000000, 4 }, { 1000000, 64 }, { 1000000, 1000 }, { 1000000, 10000 }
    };
    static const char *const specs[] = { "send", "fixed+window:w=2",
                                         "gss",  "fac2",
                                         "auto", "auto:replicate=1" };
    int bad = 0;

    printf("    units  slaves  policy                   the best of 3  a "
           "unit\n");
    for (int i = 1; i + 2 < argc; i += 3)
        bad |= row(strtoull(argv[i], NULL, 10),
                   (uint32_t)strtoul(argv[i + 1], NULL, 10), argv[i + 2]);
    for (size_t i = 0; argc == 1 && i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t k = 0; k < sizeof(specs) / sizeof(specs[0]); k++)
            row(sizes[i].units, sizes[i].slaves, specs[k]);
    return bad;
}
