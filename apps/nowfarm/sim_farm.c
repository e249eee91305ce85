/* nowfarm sim farm: a job on a platform file, with the report of nowfarm run.
 */
#include "config.h"
#include "apps/nowfarm/commands_sim.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/report.h"
#include "common/base/units.h"
#include "sim/farm_sim.h"

/* Lines for more slaves nobody reads; --json has them all. */
enum { SLAVES_SHOWN = 64 };

struct request {
    char *platform, *policy, *units, *seed; /* as written; NULL: not */
    int json;
    struct nf_world_options options;
};

/* ---- the report ---- */

/* The slots of slave i end where those of the next one begin. */
static uint32_t slots_end(const struct nf_farm_sim_result *result, uint32_t i)
{
    return i + 1 < result->slaves ? result->slave[i + 1].first_slot
                                  : result->slots;
}

/* What an adaptive pacer has learnt of the slots, as master/account.c says it
 * of real ones. */
static void fill_learnt(const struct nf_farm_sim_result *result,
                        struct nf_report *r)
{
    uint32_t slave = 0;

    for (uint32_t k = 0; k < result->slots && r->nlearnt < NF_REPORT_SLOTS;
         k++) {
        const struct nf_slot_estimate *learnt = &result->learnt[k];

        while (k >= slots_end(result, slave))
            slave++;
        if (learnt->results > 0)
            r->learnt[r->nlearnt++] = (struct nf_report_slot){
                .slave = slave,
                .slot = k - result->slave[slave].first_slot,
                .chunks = learnt->results,
                .td_s = (double)learnt->interval_us * 1e-6,
                .service_s = (double)learnt->service_us * 1e-6,
                .latency_s = (double)learnt->latency_us * 1e-6,
                .window = learnt->window,
            };
    }
}

static void fill_report(const struct nf_world *world, const char *policy,
                        const struct nf_farm_sim_result *result,
                        struct nf_report *r)
{
    double slots_us = 1e6 * result->slots;

    *r = (struct nf_report){
        .units = world->units,
        .done_units = world->units - result->failed_units,
        .failed_units = result->failed_units,
        .slaves = result->slaves,
        .slots = result->slots,
        .makespan_s = (double)result->makespan_us / 1e6,
        .compute_s = result->parts.compute_us / 1e6,
        .lower_bound_s = nf_world_bound_us(world) / 1e6,
        .messages = result->data_messages + result->result_messages,
        .retries = result->retries,
        .duplicates = result->duplicates,
        .copies = result->copies,
        .lost_slaves = result->lost_slaves,
        .part_compute_s = result->parts.compute_us / slots_us,
        .part_transfer_s = result->parts.transfer_us / slots_us,
        .part_master_s = result->parts.master_us / slots_us,
        .part_idle_s = result->parts.idle_us / slots_us,
        .part_tail_s = result->parts.tail_us / slots_us,
    };
    snprintf(r->policy, sizeof(r->policy), "%s", policy);
    snprintf(r->transport, sizeof(r->transport), "sim");
    fill_learnt(result, r);
}

static json_t *slaves_json(const struct nf_farm_sim_result *result)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < result->slaves; i++) {
        const struct nf_sim_slave *s = &result->slave[i];

        json_array_append_new(list,
                              json_pack("{s:I, s:f, s:f, s:f, s:f, s:I}",
                                        "units", (json_int_t)s->units, "busy_s",
                                        (double)s->busy_us / 1e6, "blocked_s",
                                        (double)s->blocked_us / 1e6, "idle_s",
                                        (double)s->idle_us / 1e6, "starve_s",
                                        (double)s->starve_us / 1e6, "max_queue",
                                        (json_int_t)s->max_queue));
    }
    return list;
}

/* The report of a run, without the time that slaves take to start.  Bytes are
 * 0: a platform says how long messages take, not how large they are. */
static int print_json(const char *platform, const struct nf_report *r,
                      const struct nf_farm_sim_result *result)
{
    json_t *o = report_json("sim farm", r, NOT_VERIFIED);
    int rc;

    json_object_del(o, "startup_s");
    json_object_set_new(o, "platform", json_string(platform));
    if (!o || json_object_set_new(o, "per_slave", slaves_json(result)) != 0) {
        json_decref(o);
        return nf_memory_error();
    }
    /* 15 digits: microseconds of up to 31 years */
    rc = json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(o);
    putchar('\n');
    if (rc != 0 && !ferror(stdout))
        return nf_memory_error();
    return nf_finish_output();
}

static const char *time_text(int64_t time_us, char *text, size_t bytes)
{
    return nf_format_time_us(time_us, text, bytes);
}

/* The implied t_D, mean over the slots of which something is known. */
static const char *implied_text(const struct nf_farm_sim_result *result,
                                uint32_t slave, char *text, size_t bytes)
{
    int64_t sum_us = 0, known = 0;

    for (uint32_t k = result->slave[slave].first_slot;
         k < slots_end(result, slave); k++)
        if (result->learnt[k].results > 0) {
            sum_us += result->learnt[k].interval_us;
            known++;
        }
    return known > 0 ? time_text(sum_us / known, text, bytes) : "-";
}

static void print_slaves(const struct nf_farm_sim_result *result)
{
    char busy[32], blocked[32], idle[32], starve[32], td[32];

    if (result->slaves > SLAVES_SHOWN) {
        printf("(--json tells about each of the %" PRIu32 " slaves)\n",
               result->slaves);
        return;
    }
    printf("%5s %8s %10s %10s %10s %10s %9s %10s\n", "slave", "units", "busy",
           "blocked", "idle", "starved", "max queue", "implied td");
    for (uint32_t i = 0; i < result->slaves; i++) {
        const struct nf_sim_slave *s = &result->slave[i];

        printf("%5" PRIu32 " %8" PRIu64 " %10s %10s %10s %10s %9" PRIu64
               " %10s\n",
               i, s->units, time_text(s->busy_us, busy, sizeof(busy)),
               time_text(s->blocked_us, blocked, sizeof(blocked)),
               time_text(s->idle_us, idle, sizeof(idle)),
               time_text(s->starve_us, starve, sizeof(starve)), s->max_queue,
               implied_text(result, i, td, sizeof(td)));
    }
}

static int print_text(const char *platform, const struct nf_report *r,
                      const struct nf_farm_sim_result *result)
{
    printf("sim farm: %" PRIu64 " units on %" PRIu32 " slaves (%" PRIu32
           " slots, %s), policy %s\n",
           r->units, r->slaves, r->slots, platform, r->policy);
    printf("makespan    %.6f s  (lower bound %.6f s: costs / speeds)\n",
           r->makespan_s, r->lower_bound_s);
    report_print_parts(stdout, r);
    printf("%" PRIu64 " messages; %" PRIu64 " retries, %" PRIu64
           " duplicates, %" PRIu32 " slaves lost\n",
           r->messages, r->retries, r->duplicates, r->lost_slaves);
    if (r->copies > 0)
        printf("%" PRIu64 " chunks copied in the end\n", r->copies);
    print_slaves(result);
    return nf_finish_output();
}

/* ---- the run ---- */

static int simulate(const struct request *request, const struct nf_world *world,
                    const struct nf_policy *policy)
{
    const struct nf_farm_sim_options options = {
        .seed = request->options.seed,
    };
    struct nf_farm_sim_result result;
    struct nf_report report;
    struct nf_error err;
    int rc;

    if (nf_farm_sim(world, policy, &options, &result, &err) != NF_OK)
        return nf_failure(&err);
    fill_report(world, policy->spec, &result, &report);
    rc = request->json ? print_json(request->platform, &report, &result)
                       : print_text(request->platform, &report, &result);
    nf_farm_sim_fini(&result);
    if (rc != NF_EXIT_OK || report.failed_units == 0)
        return rc;
    nf_fail(&err, NF_ERR_FAILED, "%" PRIu64 " units were given up",
            report.failed_units);
    return nf_failure(&err);
}

static int run_farm(struct request *request)
{
    struct nf_policy policy;
    struct nf_world world;
    struct nf_error err;
    enum nf_status status;
    int rc;

    if (nf_policy_parse(request->policy ? request->policy : "presend:td=auto",
                        &policy, &err) != NF_OK)
        return nf_failure(&err);
    status = nf_world_read(request->platform, &request->options, &world, &err);
    if (status == NF_ERR_IO)
        return nf_usage_error("%s", err.text);
    if (status != NF_OK)
        return nf_failure(&err);
    rc = simulate(request, &world, &policy);
    nf_world_fini(&world);
    return rc;
}

static int read_numbers(struct request *request)
{
    struct nf_world_options *options = &request->options;
    int rc = NF_EXIT_OK;

    if (!request->platform)
        return nf_usage_error("--platform is missing (see --help)");
    options->has_units = request->units != NULL;
    if (request->units)
        rc = nf_read_count("--units", request->units, 0, NF_WORLD_UNITS_MAX,
                           &options->units);
    options->has_seed = request->seed != NULL;
    if (rc == NF_EXIT_OK && request->seed)
        rc = nf_read_count("--seed", request->seed, 0, UINT64_MAX,
                           &options->seed);
    return rc;
}

int nf_sim_farm(int argc, const char **argv)
{
    struct request request = { .json = 0 };
    const struct poptOption options[] = {
        { "platform", '\0', POPT_ARG_STRING, &request.platform, 0,
          "the network of workstations, as JSON", "FILE" },
        { "policy", 'p', POPT_ARG_STRING, &request.policy, 0,
          "when and how much work a slave gets (see: nowfarm policies); "
          "default presend:td=auto",
          "SPEC" },
        { "units", '\0', POPT_ARG_STRING, &request.units, 0,
          "units in all; default those of the platform", "N" },
        { "seed", '\0', POPT_ARG_STRING, &request.seed, 0,
          "seed of what is drawn, costs and by policies; default the "
          "platform's",
          "S" },
        { "json", '\0', POPT_ARG_NONE, &request.json, 0,
          "print the report as one JSON object", NULL },
        POPT_AUTOHELP POPT_TABLEEND
    };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);
    int rc = nf_read_options(context);

    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("sim farm: unexpected argument \"%s\"",
                            poptPeekArg(context));
    if (rc == NF_EXIT_OK)
        rc = read_numbers(&request);
    if (rc == NF_EXIT_OK)
        rc = run_farm(&request);
    poptFreeContext(context);
    free(request.platform);
    free(request.policy);
    free(request.units);
    free(request.seed);
    return rc;
}
