/* nf_run(): in a slave, serve the master; in the master, check every option and
 * run the engine. */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/error.h"
#include "common/base/spare.h"
#include "common/coll/coll.h"
#include "common/farm/farm.h"
#include "common/group/reducer.h"
#include "master/engine.h"
#include "slave/slave.h"

static const struct nf_options defaults = {
    .policy = "presend:td=auto",
    .transport = "pvm",
    .max_attempts = 3,
    .heartbeat_timeout_us = 4 * 1000000LL,
    .progress_every_us = 200 * 1000LL,
    .gather = "stream",
};

static struct nf_options with_defaults(const struct nf_options *given)
{
    struct nf_options o = given != NULL ? *given : defaults;

    if (o.policy == NULL)
        o.policy = defaults.policy;
    if (o.transport == NULL)
        o.transport = defaults.transport;
    if (o.max_attempts == 0)
        o.max_attempts = defaults.max_attempts;
    if (o.heartbeat_timeout_us == 0)
        o.heartbeat_timeout_us = defaults.heartbeat_timeout_us;
    if (o.progress_every_us == 0)
        o.progress_every_us = defaults.progress_every_us;
    if (o.gather == NULL)
        o.gather = defaults.gather;
    if (o.emulate != NULL && o.slots == 0)
        o.slots = 1; /* an emulated workstation has one processor */
    return o;
}

/* Longer times are mistakes, and sums of them would overflow. */
static const int64_t TIME_MOST_US = 366 * 86400 * 1000000LL;

static enum nf_status check_app(const struct nf_app *app, struct nf_error *err)
{
    const enum nf_type types[] = { app->input_type, app->result_type,
                                   app->shared_type };

    if (app->name == NULL || app->name[0] == '\0' || strlen(app->name) > 63 ||
        strspn(app->name, "abcdefghijklmnopqrstuvwxyz0123456789_-") !=
            strlen(app->name))
        return nf_fail(err, NF_ERR_INVAL,
                       "application name \"%s\": want 1 to 63 of [a-z0-9_-]",
                       app->name != NULL ? app->name : "");
    if (app->compute == NULL)
        return nf_fail(err, NF_ERR_INVAL, "application %s: no compute()",
                       app->name);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (nf_type_bytes(types[i]) == 0)
            return nf_fail(err, NF_ERR_INVAL,
                           "application %s: element type %d is not known",
                           app->name, (int)types[i]);
    return NF_OK;
}

static enum nf_status check_options(const struct nf_options *o,
                                    struct nf_error *err)
{
    if (o->heartbeat_timeout_us < 200000 ||
        o->heartbeat_timeout_us > TIME_MOST_US)
        return nf_fail(err, NF_ERR_INVAL,
                       "heartbeat time-out %lld us: want 200 ms to a year",
                       (long long)o->heartbeat_timeout_us);
    if (o->unit_timeout_us < 0 || o->unit_timeout_us > TIME_MOST_US)
        return nf_fail(err, NF_ERR_INVAL,
                       "unit time-out %lld us: want 0 to a year",
                       (long long)o->unit_timeout_us);
    if (o->progress_every_us < 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "progress every %lld us: want 0 or more",
                       (long long)o->progress_every_us);
    if (o->slaves > 65536 || o->slots > 4096)
        return nf_fail(err, NF_ERR_INVAL,
                       "%u slaves of %u slots: want at most 65536 of 4096",
                       o->slaves, o->slots);
    return NF_OK;
}

enum nf_status nf_gather_check(const struct nf_app *app,
                               const struct nf_options *o, struct nf_error *err)
{
    static const char *const ways[] = { "stream", "tree", "reduce" };
    size_t i = 0;

    if (o->gather == NULL)
        return NF_OK;
    while (i < sizeof(ways) / sizeof(ways[0]) &&
           strcmp(o->gather, ways[i]) != 0)
        i++;
    if (i == sizeof(ways) / sizeof(ways[0]))
        return nf_fail(err, NF_ERR_INVAL,
                       "gather \"%.60s\": want stream, tree or reduce",
                       o->gather);
    if (i > 0 && o->emulate != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "gather %s: emulated worlds know stream only", ways[i]);
    return i == 2 ? nf_reducer_check(app, err) : NF_OK;
}

/* Jobs of several phases are not for all circumstances. */
static enum nf_status check_phases(const struct nf_app *app,
                                   const struct nf_options *o,
                                   struct nf_error *err)
{
    if (app->phases <= 1)
        return NF_OK;
    if (app->phases > NF_PHASES_MOST || app->units > NF_PHASE_UNITS_MOST)
        return nf_fail(err, NF_ERR_INVAL,
                       "application %s: %u phases of %" PRIu64
                       " units: want at most %d of %d",
                       app->name, app->phases, app->units, NF_PHASES_MOST,
                       NF_PHASE_UNITS_MOST);
    if (o->emulate != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: emulated worlds know jobs of one phase only",
                       app->name);
    if (strcmp(o->gather, "stream") != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "gather %s: results of a job of several phases go home "
                       "by stream only",
                       o->gather);
    return NF_OK;
}

static enum nf_status check_emulate(const struct nf_options *o,
                                    struct nf_emulate *emulate_p,
                                    struct nf_error *err)
{
    enum nf_status status = nf_emulate_parse(o->emulate, emulate_p, err);

    if (status == NF_OK && o->slaves > 0 && emulate_p->nspeeds > o->slaves)
        status = nf_fail(err, NF_ERR_INVAL, "emulate: %u speeds for %u slaves",
                         emulate_p->nspeeds, o->slaves);
    return status;
}

/* On one of the hosts of a file. */
static uint64_t slaves_on(const struct nf_options *o,
                          const struct nf_hosts *hosts, size_t i)
{
    if (hosts->list[i].slaves > 0)
        return hosts->list[i].slaves;
    return o->slaves > 0 ? nf_hosts_share(o->slaves, hosts->count, i) : 1;
}

/* All slaves of a job of several phases may have to exchange. */
static enum nf_status check_exchange(const struct nf_app *app,
                                     const struct nf_options *o,
                                     const struct nf_hosts *hosts,
                                     struct nf_error *err)
{
    uint64_t slaves = hosts->count == 0 ? o->slaves : 0;

    for (size_t i = 0; i < hosts->count; i++)
        slaves += slaves_on(o, hosts, i);
    if (app->phases <= 1 || slaves <= NF_COLL_RANKS_MAX)
        return NF_OK;
    return nf_fail(
        err, NF_ERR_INVAL,
        "%" PRIu64
        " slaves: those of a job of several phases exchange (want at "
        "most %d)",
        slaves, NF_COLL_RANKS_MAX);
}

/* The p of the policies, if it can be told before anything has started; 0: that
 * depends on the hosts that there are, or on their processors. */
static uint64_t planned_slots(const struct nf_options *o,
                              const struct nf_hosts *hosts)
{
    uint64_t all = 0;

    if (hosts->count == 0)
        return (uint64_t)o->slaves * o->slots;
    for (size_t i = 0; i < hosts->count; i++) {
        const struct nf_host *host = &hosts->list[i];
        uint64_t slots = host->slots > 0 ? host->slots : o->slots;
        uint64_t slaves = slaves_on(o, hosts, i);

        if (slaves > 0 && slots == 0)
            return 0;
        all += slaves * slots;
    }
    return all;
}

/* Speeds of more slots than there will be, say, are found before slaves are up.
 * If slaves are missing in the end, the engine finds what they change. */
static enum nf_status check_policy(const struct nf_options *o,
                                   const struct nf_hosts *hosts,
                                   const struct nf_policy *policy,
                                   uint64_t units, struct nf_error *err)
{
    uint64_t slots = planned_slots(o, hosts);
    const struct nf_farm_config config = {
        .units = units,
        .policy = policy,
        .slots = (uint32_t)slots,
        .max_slots = (uint32_t)slots,
        .max_attempts = o->max_attempts,
        .seed = o->seed,
    };
    struct nf_farm *farm;
    enum nf_status status;

    if (slots == 0 || slots > UINT32_MAX)
        return NF_OK;
    status = nf_farm_create(&config, &farm, err);
    if (status == NF_OK)
        nf_farm_destroy(farm);
    return status;
}

static enum nf_status own_path(char *path_p, size_t bytes, struct nf_error *err)
{
    ssize_t n = readlink("/proc/self/exe", path_p, bytes - 1);

    if (n <= 0)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "this program's own path is unknown: %s",
                       strerror(errno));
    path_p[n] = '\0';
    return NF_OK;
}

static enum nf_status find_transport(const char *name,
                                     const struct nf_net_ops **ops_p,
                                     struct nf_error *err)
{
    const struct nf_net_ops *ops = nf_net_find(name);

    if (ops == NULL && strcmp(name, "pvm") == 0)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "this nowfarm was built without PVM (use transport "
                       "local)");
    if (ops == NULL)
        return nf_fail(err, NF_ERR_INVAL, "transport \"%s\": want pvm or local",
                       name);
    *ops_p = ops;
    return NF_OK;
}

static enum nf_status run_master(const struct nf_app *app,
                                 const struct nf_options *o,
                                 struct nf_report *report_p,
                                 struct nf_error *err)
{
    char program[PATH_MAX];
    struct nf_policy policy;
    struct nf_emulate emulate;
    struct nf_hosts hosts = { NULL, 0 };
    struct nf_engine_config config = {
        .app = app,
        .options = o,
        .policy = &policy,
        .slave_program = o->slave_program,
    };
    enum nf_status status = check_app(app, err);

    if (status == NF_OK)
        status = check_options(o, err);
    if (status == NF_OK)
        status = nf_gather_check(app, o, err);
    if (status == NF_OK)
        status = check_phases(app, o, err);
    if (status == NF_OK)
        status = nf_table_check(err);
    if (status == NF_OK)
        status = nf_policy_parse(o->policy, &policy, err);
    if (status == NF_OK && o->emulate != NULL) {
        status = check_emulate(o, &emulate, err);
        config.emulate = &emulate;
    }
    if (status == NF_OK)
        status = find_transport(o->transport, &config.transport, err);
    if (status == NF_OK && o->hosts_file != NULL &&
        strcmp(o->transport, "local") == 0)
        status =
            nf_fail(err, NF_ERR_INVAL, "a hosts file goes with transport pvm");
    if (status == NF_OK && o->hosts_file != NULL)
        status = nf_hosts_read(o->hosts_file, &hosts, err);
    if (status == NF_OK)
        status = check_exchange(app, o, &hosts, err);
    if (status == NF_OK)
        status = check_policy(o, &hosts, &policy, app->units, err);
    if (status == NF_OK && config.slave_program == NULL) {
        status = own_path(program, sizeof(program), err);
        config.slave_program = program;
    }
    if (status == NF_OK && config.slave_program[0] != '/')
        status = nf_fail(err, NF_ERR_INVAL,
                         "slave program %s: want an absolute path",
                         config.slave_program);
    config.hosts = hosts.count > 0 ? &hosts : NULL;
    if (status == NF_OK)
        status = nf_engine_run(&config, report_p, err);
    nf_hosts_fini(&hosts);
    return status;
}

/* Does not return. */
static void run_slave(const struct nf_app *app, const char *address)
{
    const struct nf_app *const apps[] = { app, NULL };
    struct nf_slave_config config = { .apps = apps };
    struct nf_port *port;
    struct nf_error err;
    enum nf_status status = nf_port_open(address, &port, &err);

    if (status == NF_OK)
        status = nf_slave_serve(port, &config);
    else
        fprintf(stderr, "nowfarm slave: %s\n", err.text);
    fflush(NULL);
    _exit(status == NF_OK ? 0 : 1);
}

enum nf_status nf_run(const struct nf_app *app,
                      const struct nf_options *options,
                      struct nf_report *report_p, struct nf_error *err)
{
    const char *address = getenv(NF_SLAVE_VARIABLE);
    struct nf_options o = with_defaults(options);
    enum nf_status status;

    if (address != NULL)
        run_slave(app, address);
    status = run_master(app, &o, report_p, err);
    nf_spare_clear(); /* the program has its memory back */
    return status;
}
