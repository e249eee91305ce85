/* nowfarm probe: what messages cost each host and each pair of hosts. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/coll_signals.h"
#include "apps/nowfarm/coll_probe.h"
#include "apps/nowfarm/commands_coll.h"
#include "apps/nowfarm/probe.h"
#include "apps/nowfarm/stats.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/model/network_file.h"
#include "common/tree/bcast_plan.h"
#include "master/hosts.h"

enum { COLLECTIVE_BYTES = 1 << 20 };

/* ---- names ---- */

/* The second member on ws0 is ws0#1: the model file has each name once. */
static enum nf_status name_members(const struct coll_world *world,
                                   char (**names_p)[NF_NETWORK_NAME_BYTES],
                                   struct nf_error *err)
{
    char(*names)[NF_NETWORK_NAME_BYTES] =
        nf_calloc(world->members, sizeof(*names));

    if (names == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < world->members; i++) {
        uint32_t before = 0;

        for (uint32_t j = 0; j < i; j++)
            before += strcmp(world->names[j], world->names[i]) == 0;
        if (before == 0)
            snprintf(names[i], sizeof(names[i]), "%s", world->names[i]);
        else
            snprintf(names[i], sizeof(names[i]), "%.50s#%u", world->names[i],
                     before);
    }
    *names_p = names;
    return NF_OK;
}

/* ---- measuring ---- */

static enum nf_status measure_with(const struct probe_options *o,
                                   struct coll_world *world,
                                   const char (*names)[NF_NETWORK_NAME_BYTES],
                                   struct probe_outcome *outcome,
                                   struct probe_checks *checks)
{
    struct nf_error *err = world->team.err;
    struct probe probe;
    enum nf_status status = probe_open(&world->team, &probe);

    if (status == NF_OK)
        status = probe_measure(&probe, o, names, outcome);
    if (status == NF_OK && (o->validate || o->nsizes > 0))
        status = probe_validate(&probe, outcome, o, checks);
    if (status < 0 && probe.guilty < world->members)
        nf_fail_prefix(err, "host %s", names[probe.guilty]);
    else if (status < 0)
        coll_world_name_guilty(world, err);
    probe_close(&probe, status == NF_OK);
    return status;
}

/* Broadcasts of one hop, of as few as can be if nobody sends often, and of as
 * many as can be. */
static const struct nf_coll_algorithm *const calls_by[PROBE_CALLS] = {
    &nf_coll_bcast_flat, &nf_coll_bcast_binomial, &nf_coll_bcast_pipeline_fd
};

/* What was timed of groups of all, or of rank 0 and another. */
struct group_times {
    double way_us[NF_NETWORK_HOSTS_MAX];
    double call_us[PROBE_CALLS];
};

/* Each a few times, in turns: the medians of their medians. */
static enum nf_status measure_calls(struct coll_world *world, double *call_us)
{
    double us[PROBE_CALLS][COLL_PROBE_CALL_TURNS];
    int64_t begun_us = nf_now_us();
    enum nf_status status = NF_OK;
    unsigned turns = 0;

    do {
        for (int k = 0; k < PROBE_CALLS && status == NF_OK; k++)
            status = coll_probe_call(world, calls_by[k], &us[k][turns]);
        turns++;
    } while (status == NF_OK && coll_probe_goes_on(turns, COLL_PROBE_CALL_TURNS,
                                                   nf_now_us() - begun_us));
    for (int k = 0; k < PROBE_CALLS && status == NF_OK; k++)
        call_us[k] = stats_median(us[k], turns);
    return status;
}

/* What collective operations go by. */
static enum nf_status measure_groups(const struct probe_options *o,
                                     struct coll_world *world,
                                     struct nf_model *model_p,
                                     struct group_times *times_p)
{
    enum nf_status status;

    probe_show_progress(o->quiet, "the usual link and the worst", -1);
    status = coll_probe(world, false, COLLECTIVE_BYTES, model_p);
    probe_show_progress(o->quiet, "groups of rank 0 and another", -1);
    if (status == NF_OK)
        status = coll_probe_ways(world, times_p->way_us);
    probe_show_progress(o->quiet, "broadcasts to all", -1);
    if (status == NF_OK)
        status = measure_calls(world, times_p->call_us);
    probe_show_progress(o->quiet, NULL, 0);
    if (status != NF_OK)
        coll_world_name_guilty(world, world->team.err);
    return status;
}

/* What the messages of a broadcast of a byte take. */
static enum nf_status price_byte(const struct nf_network *network,
                                 uint32_t number, double *us_p)
{
    const struct nf_bcast_query query = { .bytes = 1, .elements = 1 };
    struct nf_hetero hetero = nf_network_hetero(network, true);
    struct nf_pricer pricer;
    enum nf_status status;

    hetero.in_groups = true;
    status = nf_pricer_init(&pricer, &hetero);
    if (status != NF_OK)
        return status;
    status = nf_bcast_price(&pricer, calls_by[number], &query, NULL, 1, us_p);
    nf_pricer_fini(&pricer);
    return status;
}

/* Both models: of single messages, and of collective operations. */
static enum nf_status measure_world(const struct probe_options *o,
                                    struct coll_world *world,
                                    struct probe_outcome *outcome,
                                    struct probe_checks *checks,
                                    struct nf_error *err)
{
    struct nf_model model;
    struct group_times times = { .call_us = { 0 } };
    char(*names)[NF_NETWORK_NAME_BYTES] = NULL;
    enum nf_status status = name_members(world, &names, err);

    if (status != NF_OK)
        return status;
    /* the first thing that it does is to say how long all of it takes */
    status = measure_with(o, world, (const char(*)[NF_NETWORK_NAME_BYTES])names,
                          outcome, checks);
    if (status == NF_OK)
        status = measure_groups(o, world, &model, &times);
    if (status == NF_OK) {
        outcome->network.model = model;
        nf_network_set_runtime(&outcome->network, times.way_us,
                               outcome->bare_us);
        status = probe_set_call(&outcome->network, times.call_us, price_byte);
        if (status != NF_OK)
            nf_fail(err, status, "out of memory");
    }
    nf_free(names);
    return status;
}

static enum nf_status write_model(const char *path,
                                  const struct nf_network *network,
                                  struct nf_error *err)
{
    char *text;
    size_t bytes;
    enum nf_status status = nf_network_write(network, &text, &bytes);

    if (status != NF_OK)
        return nf_fail(err, status, "out of memory");
    status = nf_output_write_whole(path, text, bytes, err);
    nf_free(text);
    return status;
}

static void warn_of_busy(const struct probe_outcome *outcome, const char *path)
{
    if (2 * outcome->noisy > outcome->points)
        fprintf(stderr,
                "nowfarm: %s may be far off: %u of %u times were uneven, as if "
                "hosts or links were busy; probe again when they are idle\n",
                path, outcome->noisy, outcome->points);
}

static enum nf_status measure(const struct probe_options *o,
                              struct probe_outcome *outcome,
                              struct probe_checks *checks, struct nf_error *err)
{
    struct coll_world_config config = o->world;
    struct coll_world world;
    int64_t start_us = nf_now_us();
    enum nf_status status = nf_output_check(o->out, err);

    if (status != NF_OK)
        return status;
    coll_catch_signals();
    config.stop = &coll_stop_asked;
    coll_measuring = 1;
    status = coll_world_open(&config, &world, err);
    if (status == NF_OK) {
        status = measure_world(o, &world, outcome, checks, err);
        coll_world_close(&world, status == NF_OK);
    }
    coll_measuring = 0;
    outcome->elapsed_s = 1e-6 * (double)(nf_now_us() - start_us);
    if (status == NF_OK)
        status = write_model(o->out, &outcome->network, err);
    if (status == NF_OK)
        warn_of_busy(outcome, o->out);
    return status;
}

/* ---- a model that there is ---- */

/* @param names_p  [*count_p] of the hosts file, to be freed */
static enum nf_status read_names(const char *path,
                                 char (**names_p)[NF_NETWORK_NAME_BYTES],
                                 uint32_t *count_p, struct nf_error *err)
{
    struct nf_hosts hosts;
    enum nf_status status = nf_hosts_read(path, &hosts, err);
    char(*names)[NF_NETWORK_NAME_BYTES];

    if (status != NF_OK)
        return status;
    names = nf_calloc(hosts.count + 1, sizeof(*names));
    for (size_t i = 0; names != NULL && i < hosts.count; i++)
        snprintf(names[i], sizeof(names[i]), "%.63s", hosts.list[i].name);
    *names_p = names;
    *count_p = (uint32_t)hosts.count;
    nf_hosts_fini(&hosts);
    return names != NULL ? NF_OK : nf_fail(err, NF_ERR_NOMEM, "out of memory");
}

/* @param network_p  not a model: NF_ERR_INVAL, told with the place */
static enum nf_status read_model(const char *path, struct nf_network *network_p,
                                 struct nf_error *err)
{
    enum nf_status status = nf_network_read(path, network_p, err);

    if (status != NF_OK)
        return status == NF_ERR_NOMEM ? status : (err->status = NF_ERR_INVAL);
    status = nf_network_check_date(network_p, nf_date_now_s(), path, err);
    if (status != NF_OK)
        nf_network_fini(network_p);
    return status;
}

/* As it holds for these hosts, whether they were measured or not. */
static enum nf_status show_for(const struct probe_options *o,
                               const struct nf_network *network,
                               struct nf_network *now_p, struct nf_error *err)
{
    char(*names)[NF_NETWORK_NAME_BYTES] = NULL;
    char why[NF_ERROR_TEXT_BYTES];
    uint32_t count = 0;
    enum nf_status status =
        read_names(o->world.hosts_file, &names, &count, err);

    if (status != NF_OK)
        return status;
    if (nf_network_is_old(network, nf_date_now_s(),
                          (const char(*)[NF_NETWORK_NAME_BYTES])names, count,
                          why, sizeof(why)))
        fprintf(stderr, "nowfarm: %s: %s\n", o->show, why);
    status = nf_network_of(network, (const char(*)[NF_NETWORK_NAME_BYTES])names,
                           count, now_p, NULL);
    if (status != NF_OK)
        nf_fail(err, status, "%s: want 1 to %d hosts", o->world.hosts_file,
                NF_NETWORK_HOSTS_MAX);
    nf_free(names);
    return status;
}

static enum nf_status show(const struct probe_options *o,
                           struct probe_outcome *outcome, struct nf_error *err)
{
    struct nf_network network;
    char why[NF_ERROR_TEXT_BYTES];
    enum nf_status status = read_model(o->show, &network, err);

    if (status != NF_OK)
        return status;
    if (o->world.hosts_file == NULL) {
        if (nf_network_is_old(&network, nf_date_now_s(), NULL, 0, why,
                              sizeof(why)))
            fprintf(stderr, "nowfarm: %s: %s\n", o->show, why);
        outcome->network = network;
        return NF_OK;
    }
    status = show_for(o, &network, &outcome->network, err);
    nf_network_fini(&network);
    return status;
}

/* No command takes a model that it was not told of: a file that lies about must
 * not change what the jobs of a folder do. */
static void tell_use(const char *model)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";
    char *path = realpath(model, NULL);

    printf("# written to %s\n", model);
    if (path != NULL && strchr(path, '\'') == NULL) {
        const char *quote = path[strspn(path, plain)] != '\0' ? "'" : "";

        printf("# for jobs and groups to go by it: export "
               "NOWFARM_NETWORK=%s%s%s\n",
               quote, path, quote);
    }
    free(path);
}

static int tell(const struct probe_options *o,
                const struct probe_outcome *outcome,
                const struct probe_checks *checks)
{
    if (o->json)
        return nf_print_json(probe_json(outcome, o->show == NULL, checks));
    probe_print(outcome, o->show == NULL, checks);
    if (o->show == NULL)
        tell_use(o->out);
    return nf_finish_output();
}

int nf_cmd_probe(int argc, const char **argv)
{
    struct probe_outcome outcome = { .points = 0 };
    struct probe_checks checks = { .count = 0 };
    struct nf_error err = { NF_OK, "" };
    struct probe_options options;
    enum nf_status status = probe_options_parse(argc, argv, &options, &err);
    int rc;

    if (status == NF_OK)
        status = options.show != NULL
                     ? show(&options, &outcome, &err)
                     : measure(&options, &outcome, &checks, &err);
    rc = status == NF_OK ? tell(&options, &outcome, &checks) : nf_failure(&err);
    probe_checks_fini(&checks);
    nf_network_fini(&outcome.network);
    probe_options_fini();
    return rc;
}
