/* nowfarm replay: which policy would have been best for a recorded run. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands.h"
#include "apps/nowfarm/replay.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"

/* Runs by default: fewer for large jobs, which vary less. */
enum { RUNS_MOST = 40, RUNS_LEAST = 5, UNITS_IN_ALL = 1000000 };

struct request {
    const char *trace;
    char *policies, *runs, *seed; /* as written; NULL: not */
    int json;
};

static const char *const verdict_names[] = {
    [VERDICT_BEST] = "best",
    [VERDICT_SAME] = "same",
    [VERDICT_WORSE] = "worse",
    [VERDICT_NONE] = "not run",
};

/* ---- text ---- */

/* Four digits: differences count here. */
static const char *seconds(double us, char *text, size_t bytes)
{
    if (us >= 1e6)
        snprintf(text, bytes, "%.3f s", us * 1e-6);
    else if (us >= 1e3)
        snprintf(text, bytes, "%.2f ms", us * 1e-3);
    else
        snprintf(text, bytes, "%.0f us", us);
    return text;
}

static void print_row(const struct candidate *c, int width)
{
    char a[32], b[32], d[32], p[32];
    const char *verdict = c->verdict == VERDICT_SAME
                              ? "no difference can be told"
                              : verdict_names[c->verdict];

    if (c->verdict == VERDICT_NONE) {
        printf("%-*s %s\n", width, c->policy.spec, c->why);
        return;
    }
    printf("%-*s %10s %10s  [%s, %s]  %.3f [%.3f, %.3f]  %s%s\n", width,
           c->policy.spec, seconds(c->point_us, p, sizeof(p)),
           seconds(c->median_us, a, sizeof(a)),
           seconds(c->low_us, b, sizeof(b)), seconds(c->high_us, d, sizeof(d)),
           c->ratio, c->ratio_low, c->ratio_high, verdict,
           c->used ? " (was used)" : "");
}

static int by_median(const void *a, const void *b)
{
    const struct candidate *one = a, *two = b;

    if ((one->verdict == VERDICT_NONE) != (two->verdict == VERDICT_NONE))
        return one->verdict == VERDICT_NONE ? 1 : -1;
    return one->median_us < two->median_us ? -1
                                           : one->median_us > two->median_us;
}

/* The most of it in any world that the trace allows. */
static double most_way_us(const struct replay_model *m)
{
    double most_us = 0;

    for (uint32_t k = 0; k < m->nmessages; k++)
        most_us = fmax(most_us, m->messages[k].way_us);
    return most_us;
}

static double most_recv_us(const struct replay_model *m)
{
    double most_us = 0;

    for (uint32_t k = 0; k < m->nmessages; k++)
        most_us = fmax(most_us, m->messages[k].recv_us);
    return most_us;
}

static void print_messages(const struct replay_model *m,
                           const struct messages *likely)
{
    char a[32], b[32];

    if (m->ways_known)
        printf("messages    %s there and back, + %s a unit",
               seconds(likely->way_us, a, sizeof(a)),
               seconds(likely->way_unit_us, b, sizeof(b)));
    else
        printf("messages    not known, at most %s there and back",
               seconds(most_way_us(m), a, sizeof(a)));
    printf("; the master: %s to send, ", seconds(m->send_us, a, sizeof(a)));
    if (m->recv_known)
        printf("%s to receive\n", seconds(likely->recv_us, a, sizeof(a)));
    else
        printf("to receive not known, at most %s\n",
               seconds(most_recv_us(m), a, sizeof(a)));
}

static void print_model(const struct replay_model *m,
                        const struct messages *likely)
{
    char a[32], b[32];

    printf("%s: %" PRIu64 " units on %u slots, policy %s\n", m->h->app,
           m->h->units, m->seats.count, m->h->policy);
    if (m->h->emulate[0] != '\0')
        printf("EMULATED    the times of the trace were slept, not worked: "
               "%s\n",
               m->h->emulate);
    printf("units       %s, deviation %s; %" PRIu64 " of %" PRIu64
           " measured\n",
           seconds(m->mean_us, a, sizeof(a)),
           seconds(m->deviation_us, b, sizeof(b)), m->known_units, m->h->units);
    print_messages(m, likely);
}

static void print_error(const struct replay *replay,
                        const struct replay_model *m)
{
    char a[32], b[32];

    if (!replay->error_known) {
        printf("model       its error is not known: %s\n",
               m->measured_us < 0    ? "the job did not end well"
               : m->measured_us == 0 ? "the job took no time"
                                     : "the policy that was used can't be run");
        return;
    }
    for (uint32_t i = 0; i < replay->count; i++)
        if (replay->list[i].used)
            printf("model       %s simulated, %s measured for the policy that "
                   "was used: error %+.1f %%\n",
                   seconds(replay->list[i].point_us, a, sizeof(a)),
                   seconds((double)m->measured_us, b, sizeof(b)),
                   100 * replay->error);
}

static void print_conclusion(const struct replay *replay)
{
    const struct candidate *best = &replay->list[0], *used = NULL;
    uint32_t same = 0;

    for (uint32_t i = 1; i < replay->count; i++) {
        same += replay->list[i].verdict == VERDICT_SAME;
        if (replay->list[i].used)
            used = &replay->list[i];
    }
    printf("\nBest: %s", best->policy.spec);
    if (same > 0)
        printf("; no difference to %u other%s can be told", same,
               same == 1 ? "" : "s");
    if (best->used)
        printf(". It was used.\n");
    else if (used != NULL && used->verdict == VERDICT_SAME)
        printf(", the one that was used among them.\n");
    else if (used != NULL && used->verdict == VERDICT_WORSE)
        printf(". The one that was used takes %.1f %% [%.1f, %.1f] longer.\n",
               100 * (used->ratio - 1), 100 * (used->ratio_low - 1),
               100 * (used->ratio_high - 1));
    else
        printf(".\n");
}

static int print_text(struct replay *replay, const struct replay_model *m)
{
    int width = 12;

    for (uint32_t i = 0; i < replay->count; i++) {
        int length = (int)strlen(replay->list[i].policy.spec);

        if (length > width)
            width = length < 40 ? length : 40;
    }
    print_model(m, &m->messages[replay->worlds[0]]);
    print_error(replay, m);
    printf("\n%-*s %10s %10s  %s\n", width, "policy", "as it was", "median",
           "[90 % of the runs]  ratio to the best [90 %]");
    qsort(replay->list, replay->count, sizeof(*replay->list), by_median);
    for (uint32_t i = 0; i < replay->count; i++)
        print_row(&replay->list[i], width);
    if (!replay->none)
        print_conclusion(replay);
    return nf_finish_output();
}

/* ---- JSON ---- */

static json_t *candidate_json(const struct candidate *c)
{
    if (c->verdict == VERDICT_NONE)
        return json_pack("{s:s, s:b, s:s, s:s}", "policy", c->policy.spec,
                         "used", (int)c->used, "verdict", "not run", "reason",
                         c->why);
    return json_pack("{s:s, s:b, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
                     "policy", c->policy.spec, "used", (int)c->used, "verdict",
                     verdict_names[c->verdict], "as_measured_s",
                     c->point_us * 1e-6, "median_s", c->median_us * 1e-6,
                     "low_s", c->low_us * 1e-6, "high_s", c->high_us * 1e-6,
                     "ratio", c->ratio, "ratio_low", c->ratio_low, "ratio_high",
                     c->ratio_high);
}

static json_t *seconds_json(double us, bool known)
{
    return known ? json_real(us * 1e-6) : json_null();
}

static json_t *model_json(const struct replay_model *m,
                          const struct messages *likely)
{
    json_t *speeds = json_array();

    for (uint32_t i = 0; i < m->seats.count; i++)
        json_array_append_new(speeds, json_real(m->seats.list[i].speed));
    return json_pack(
        "{s:I, s:f, s:f, s:o, s:f, s:o, s:f, s:f, s:o, s:f, s:i, s:b, s:o}",
        "measured_units", (json_int_t)m->known_units, "unit_mean_s",
        m->mean_us * 1e-6, "unit_deviation_s", m->deviation_us * 1e-6, "way_s",
        seconds_json(likely->way_us, m->ways_known), "way_most_s",
        most_way_us(m) * 1e-6, "way_unit_s",
        seconds_json(likely->way_unit_us, m->ways_known), "send_s",
        m->send_us * 1e-6, "send_unit_s", m->send_unit_us * 1e-6, "receive_s",
        seconds_json(likely->recv_us, m->recv_known), "receive_most_s",
        most_recv_us(m) * 1e-6, "absences", (int)m->seats.nabsences,
        "losses_replayed", (int)!m->losses_ignored, "speeds", speeds);
}

/* As in the report of `run`, but for what can be read out of the spec. */
static json_t *emulate_json(const struct nf_history *h)
{
    return h->emulate[0] != '\0' ? json_pack("{s:s}", "spec", h->emulate)
                                 : json_null();
}

static int print_json(struct replay *replay, const struct replay_model *m)
{
    json_t *list = json_array(), *o;

    qsort(replay->list, replay->count, sizeof(*replay->list), by_median);
    for (uint32_t i = 0; i < replay->count; i++)
        json_array_append_new(list, candidate_json(&replay->list[i]));
    o = json_pack("{s:s, s:I, s:i, s:s, s:o, s:o, s:o, s:i, s:s, s:o, s:o}",
                  "app", m->h->app, "units", (json_int_t)m->h->units, "slots",
                  (int)m->seats.count, "policy", m->h->policy, "emulate",
                  emulate_json(m->h), "measured_s",
                  m->measured_us < 0 ? json_null()
                                     : json_real((double)m->measured_us * 1e-6),
                  "model_error",
                  replay->error_known ? json_real(replay->error) : json_null(),
                  "runs", (int)replay->runs, "best",
                  replay->none ? "" : replay->list[0].policy.spec, "policies",
                  list, "model",
                  model_json(m, &m->messages[replay->worlds[0]]));
    return nf_print_json(o);
}

/* ---- the command ---- */

/* A;B;C */
static enum nf_status add_list(struct replay *replay, const char *list,
                               struct nf_error *err)
{
    enum nf_status status = NF_OK;
    uint32_t before = replay->count;

    while (status == NF_OK && *list != '\0') {
        size_t length = strcspn(list, ";");
        char spec[NF_POLICY_SPEC_BYTES];

        if (length >= sizeof(spec))
            return nf_fail(err, NF_ERR_INVAL, "--policies: %.40s...: too long",
                           list);
        snprintf(spec, sizeof(spec), "%.*s", (int)length, list);
        if (length > 0)
            status = replay_add(replay, spec, false, err);
        list += length + (list[length] == ';');
    }
    if (status == NF_OK && replay->count == before)
        return nf_fail(err, NF_ERR_INVAL,
                       "--policies: want policies, as 'send;gss;auto'");
    if (status != NF_OK)
        (void)nf_fail_prefix(err, "--policies");
    return status;
}

/* The policy of the trace, which may be of another version and unknown, and all
 * if none were asked for. */
static enum nf_status add_candidates(struct replay *replay,
                                     const struct request *request,
                                     const struct replay_model *model,
                                     struct nf_error *err)
{
    enum nf_status status = replay_add(replay, model->h->policy, true, err);

    if (status == NF_ERR_INVAL)
        fprintf(stderr, "nowfarm: the policy that was used: %s\n", err->text);
    if (status == NF_ERR_NOMEM)
        return status;
    return request->policies != NULL ? NF_OK
                                     : replay_add_all(replay, model, err);
}

static void warn(const struct request *request, const struct replay_model *m)
{
    if (m->h->warning[0] != '\0')
        fprintf(stderr, "nowfarm: %s: %s\n", request->trace, m->h->warning);
    if (m->losses_ignored)
        fprintf(stderr,
                "nowfarm: %s: slaves were lost or came late; replayed as if "
                "all had been there all the time\n",
                request->trace);
    if (m->known_units < m->h->units)
        fprintf(stderr,
                "nowfarm: %s: %" PRIu64 " of %" PRIu64
                " units were measured; the others are taken to be like their "
                "neighbours\n",
                request->trace, m->known_units, m->h->units);
}

static enum nf_status replay_world(const struct request *request,
                                   struct replay *replay,
                                   struct replay_model *model,
                                   struct nf_error *err)
{
    struct nf_world world;
    enum nf_status status = model_world(model, &world, err);

    if (status != NF_OK)
        return status;
    warn(request, model);
    status = add_candidates(replay, request, model, err);
    if (status == NF_OK)
        status = replay_run(replay, model, &world, err);
    nf_world_fini(&world);
    return status;
}

static int replay_trace(const struct request *request, struct replay *replay)
{
    struct nf_history history;
    struct replay_model model;
    struct nf_error err = { .status = NF_OK };
    enum nf_status status = NF_OK;
    int rc = NF_EXIT_OK;

    if (request->policies != NULL)
        status = add_list(replay, request->policies, &err);
    if (status == NF_OK)
        status = nf_history_read(request->trace, &history, &err);
    if (status != NF_OK)
        return nf_failure(&err);
    status = model_fit(&history, &model, &err);
    if (status != NF_OK) {
        nf_history_fini(&history);
        nf_fail_prefix(&err, "%s", request->trace);
        return nf_failure(&err);
    }
    if (replay->runs == 0) {
        uint64_t runs = UNITS_IN_ALL / (history.units + 1);

        replay->runs = runs > RUNS_MOST    ? RUNS_MOST
                       : runs < RUNS_LEAST ? RUNS_LEAST
                                           : (uint32_t)runs;
    }
    status = replay_world(request, replay, &model, &err);
    if (status != NF_OK)
        rc = nf_failure(&err);
    else
        rc = request->json ? print_json(replay, &model)
                           : print_text(replay, &model);
    model_fini(&model);
    nf_history_fini(&history);
    return rc;
}

static int check_and_replay(poptContext context, struct request *request)
{
    struct replay replay = { .runs = 0, .seed = 1 };
    uint64_t runs = 0;
    int rc;

    request->trace = poptGetArg(context);
    if (request->trace == NULL || poptPeekArg(context) != NULL)
        return nf_usage_error("want one trace: nowfarm replay TRACE");
    if (request->runs != NULL &&
        nf_read_count("--runs", request->runs, 2, 100000, &runs) != NF_EXIT_OK)
        return NF_EXIT_USAGE;
    if (request->seed != NULL &&
        nf_read_count("--seed", request->seed, 0, UINT64_MAX, &replay.seed) !=
            NF_EXIT_OK)
        return NF_EXIT_USAGE;
    replay.runs = (uint32_t)runs;
    rc = replay_trace(request, &replay);
    replay_fini(&replay);
    return rc;
}

int nf_cmd_replay(int argc, const char **argv)
{
    struct request request = { .json = 0 };
    const struct poptOption options[] = {
        { "policies", '\0', POPT_ARG_STRING, &request.policies, 0,
          "policies to try, as 'send;gss;auto'; default all, with pull and "
          "with auto",
          "LIST" },
        { "runs", '\0', POPT_ARG_STRING, &request.runs, 0,
          "runs with resampled units; default 40, fewer for large jobs", "K" },
        { "seed", '\0', POPT_ARG_STRING, &request.seed, 0,
          "seed of resampling, default 1", "S" },
        { "json", '\0', POPT_ARG_NONE, &request.json, 0,
          "print one JSON object", NULL },
        POPT_AUTOHELP POPT_TABLEEND
    };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);
    int rc;

    if (context == NULL)
        return nf_memory_error();
    poptSetOtherOptionHelp(context,
                           "TRACE [OPTION...]\n\nRun a job that was recorded "
                           "with --trace again, in simulation, under other "
                           "policies,\nand say which would have been best, as "
                           "far as that can be told.");
    rc = nf_read_options(context);
    if (rc == NF_EXIT_OK)
        rc = check_and_replay(context, &request);
    poptFreeContext(context);
    free(request.policies);
    free(request.runs);
    free(request.seed);
    return rc;
}
