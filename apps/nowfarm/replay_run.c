/* Policies in the world of a trace, with the uncertainty.
 *
 * What is uncertain is how long units take: the trace is one sample.  So each
 * policy runs with the costs that were measured, and then again and again with
 * resampled ones, in each run all policies with the same.  Policies are
 * compared run by run: that a run is long as a whole is no difference between
 * them.
 *
 * Uncertain is also what the trace does not show (replay_messages.c).  So all
 * this is done in each of the worlds that it allows, but for those in which the
 * policy that was used takes another time than it did; a policy is worse only
 * if it is in all of them.
 *
 * And since no simulated world is the real one, no difference is told that is
 * smaller than the error for the policy that was really used.  A simulation
 * that is too short by a half may be so for the best policy alone, which then
 * takes twice as long: errors are factors, either way. */
#include "config.h"
#include "apps/nowfarm/replay.h"
#include "apps/nowfarm/stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

/* Between simulated and measured, where that can't be compared: most are
 * better.  Also how far off a world may be that agrees with the trace. */
static const double FACTOR_UNKNOWN = 1.1;
/* The least where the master sends by the clock: then that, and not what the
 * world is like, makes the simulated time right. */
static const double FACTOR_BY_CLOCK = 1.05;
/* The interval holds nine runs of ten. */
static const double LOW = 0.05, HIGH = 0.95;
/* Of fewer that were measured nothing is told. */
enum { KNOWN_LEAST_UNITS = 10 };

/* ---- candidates ---- */

enum nf_status replay_add(struct replay *replay, const char *spec, bool used,
                          struct nf_error *err)
{
    struct candidate c = { .used = used };
    struct candidate *list;
    enum nf_status status = nf_policy_parse(spec, &c.policy, err);

    if (status != NF_OK)
        return status;
    for (uint32_t i = 0; i < replay->count; i++)
        if (strcmp(replay->list[i].policy.spec, spec) == 0) {
            replay->list[i].used |= used;
            return NF_OK;
        }
    list = nf_realloc(replay->list, (replay->count + 1) * sizeof(*list));
    if (list == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    replay->list = list;
    list[replay->count++] = c;
    return NF_OK;
}

static bool are_equal(const struct nf_param_value *a,
                      const struct nf_param_value *b)
{
    for (size_t i = 0; i < NF_POLICY_PARAMS_MAX; i++)
        if (a[i].given != b[i].given || a[i].count != b[i].count ||
            a[i].time_us != b[i].time_us ||
            islessgreater(a[i].real, b[i].real) || a[i].nlist != b[i].nlist ||
            memcmp(a[i].list, b[i].list, sizeof(a[i].list)) != 0)
            return false;
    return true;
}

/* Is a policy there already, by whatever name? */
static bool is_there(const struct replay *replay, const char *spec)
{
    struct nf_policy p;

    if (nf_policy_parse(spec, &p, NULL) != NF_OK)
        return false;
    for (uint32_t i = 0; i < replay->count; i++) {
        const struct nf_policy *q = &replay->list[i].policy;

        if (p.sizer == q->sizer && p.pacer == q->pacer &&
            are_equal(p.sizer_values, q->sizer_values) &&
            are_equal(p.pacer_values, q->pacer_values))
            return true;
    }
    return false;
}

/* What it is called, if it has a name. */
static const char *alias_of(const struct nf_sizer_ops *sizer,
                            const struct nf_pacer_ops *pacer)
{
    const struct nf_policy_alias *alias = nf_policy_alias_table;

    for (; alias->name != NULL; alias++)
        if (alias->sizer == sizer && alias->pacer == pacer &&
            alias->other_word == NULL)
            return alias->name;
    return NULL;
}

static bool have_equal_speeds(const struct replay_model *m)
{
    for (uint32_t i = 1; i < m->seats.count; i++)
        if (islessgreater(m->seats.list[i].speed, m->seats.list[0].speed))
            return false;
    return true;
}

/* A list for the parameter, of numbers as coarse as there is no room for: the
 * fewer are above 9 or 99, the shorter it is.
 * @return false: too many seats */
static bool speeds_text(const struct replay_model *m, char *text, size_t bytes)
{
    double fastest = 0;

    for (uint32_t i = 0; i < m->seats.count; i++)
        fastest = fmax(fastest, m->seats.list[i].speed);
    if (m->seats.count > NF_PARAM_LIST_MAX)
        return false;
    for (uint32_t most = 999; most > 8; most = most * 3 / 4) {
        size_t used = 0;

        for (uint32_t i = 0; i < m->seats.count && used < bytes; i++)
            used += (size_t)snprintf(
                text + used, bytes - used, "%s%.0f", i > 0 ? "/" : "",
                fmax((double)most * m->seats.list[i].speed / fastest, 1));
        if (used < bytes)
            return true;
    }
    return false;
}

/* Parameters that describe the job, as the trace has them; in milliseconds,
 * where only their ratio counts.  text[0]: '\0' if there are none
 * @param bytes  that a policy has room for
 * @return false: those that it needs do not fit into a policy */
static bool params_text(const struct replay_model *m,
                        const struct nf_param *params, char *text, size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (; params != NULL && params->name != NULL; params++) {
        char value[NF_POLICY_SPEC_BYTES] = "";
        size_t name = used + strlen(params->name) + 2; /* with : and = */

        if (params->kind == NF_PARAM_REAL && strcmp(params->name, "mu") == 0)
            snprintf(value, sizeof(value), "%.4f",
                     fmax(m->mean_us / 1e3, 1e-4));
        if (params->kind == NF_PARAM_REAL && strcmp(params->name, "sigma") == 0)
            snprintf(value, sizeof(value), "%.4f", m->deviation_us / 1e3);
        if (params->kind == NF_PARAM_REAL && strcmp(params->name, "h") == 0)
            snprintf(
                value, sizeof(value), "%.4f",
                (m->messages[0].way_us + m->send_us + m->messages[0].recv_us) /
                    1e3);
        if (params->kind == NF_PARAM_LIST &&
            strcmp(params->name, "speeds") == 0 && !have_equal_speeds(m) &&
            (name >= bytes || !speeds_text(m, value, bytes - name)))
            return false;
        if (value[0] != '\0' && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s=%s",
                                     used > 0 ? "," : ":", params->name, value);
    }
    return true;
}

enum nf_status replay_add_all(struct replay *replay,
                              const struct replay_model *model,
                              struct nf_error *err)
{
    static const char *const pacers[] = { "pull", "auto" };

    for (size_t i = 0; nf_sizer_table[i] != NULL; i++) {
        const struct nf_sizer_ops *sizer = nf_sizer_table[i];
        char params[NF_POLICY_SPEC_BYTES];
        bool fits;

        if (strcmp(sizer->name, "rand") == 0)
            continue; /* nobody wants to hear that it was luck */
        fits = params_text(model, sizer->params, params,
                           sizeof(params) - strlen(sizer->name) -
                               sizeof("+pull") + 1);
        for (size_t k = 0; k < sizeof(pacers) / sizeof(pacers[0]); k++) {
            const struct nf_pacer_ops *pacer = nf_pacer_find(pacers[k]);
            const char *alias = alias_of(sizer, pacer);
            char spec[2 * NF_POLICY_SPEC_BYTES];

            if (alias != NULL && params[0] == '\0')
                snprintf(spec, sizeof(spec), "%s", alias);
            else
                snprintf(spec, sizeof(spec), "%s%s+%s", sizer->name, params,
                         pacers[k]);
            if (is_there(replay, spec))
                continue;
            if (replay_add(replay, spec, false, err) == NF_ERR_NOMEM)
                return NF_ERR_NOMEM;
            if (!fits)
                snprintf(replay->list[replay->count - 1].why,
                         sizeof(replay->list->why),
                         "the speeds of %u slots do not fit into a policy",
                         model->seats.count);
        }
    }
    return NF_OK;
}

/* ---- running ---- */

/* One policy in one world; a policy that can't is marked. */
static enum nf_status run_one(const struct replay *replay,
                              const struct nf_world *world, struct candidate *c,
                              double *makespan_us_p, struct nf_error *err)
{
    struct nf_farm_sim_result result;
    struct nf_error why;
    enum nf_status status =
        nf_farm_sim_run(world, &c->policy, replay->seed, &result, &why);

    if (status == NF_ERR_NOMEM)
        return nf_fail(err, status, "%s", why.text);
    if (status != NF_OK) {
        c->verdict = VERDICT_NONE;
        snprintf(c->why, sizeof(c->why), "%s", why.text);
        return NF_OK;
    }
    *makespan_us_p = (double)result.makespan_us;
    nf_farm_sim_fini(&result);
    return NF_OK;
}

static bool is_used(const struct candidate *c)
{
    return c->used && c->verdict != VERDICT_NONE;
}

/* How far a simulated time is from the measured one, whichever is longer. */
static double factor_of(double us, const struct replay_model *model)
{
    double ratio = us / (double)model->measured_us;

    return fmax(ratio, 1 / ratio);
}

/* Put the world that agrees best with the trace first, and drop the others that
 * do not agree. */
static void choose_worlds(struct replay *replay,
                          const struct replay_model *model,
                          const double *factors)
{
    uint32_t likely = 0;
    double most;

    for (uint32_t k = 1; k < model->nmessages; k++)
        if (factors[k] < factors[likely])
            likely = k;
    most = fmax(factors[likely], FACTOR_UNKNOWN);
    replay->nworlds = 0;
    replay->worlds[replay->nworlds++] = likely;
    for (uint32_t k = 0; k < model->nmessages; k++)
        if (k != likely && factors[k] <= most)
            replay->worlds[replay->nworlds++] = k;
}

/* How far policy @p c is from what was measured, in each world; all 0 if it can't
 * be run. */
static enum nf_status find_factors(struct replay *replay, struct candidate *c,
                                   const struct replay_model *model,
                                   struct nf_world *world, double *factors,
                                   struct nf_error *err)
{
    enum nf_status status = NF_OK;

    for (uint32_t k = 0; k < model->nmessages && status == NF_OK; k++) {
        double us = 0;

        model_set_messages(model, k, world);
        status = run_one(replay, world, c, &us, err);
        if (c->verdict == VERDICT_NONE) { /* no world is more likely for it */
            memset(factors, 0, MESSAGES_MOST * sizeof(*factors));
            break;
        }
        factors[k] = us > 0 ? factor_of(us, model) : INFINITY;
    }
    return status;
}

/* Run the policy that was used in each world that the trace allows. */
static enum nf_status find_worlds(struct replay *replay,
                                  const struct replay_model *model,
                                  struct nf_world *world, struct nf_error *err)
{
    double factors[MESSAGES_MOST] = { 0 };
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < replay->count && status == NF_OK; i++)
        if (is_used(&replay->list[i]) && model->measured_us > 0)
            status = find_factors(replay, &replay->list[i], model, world,
                                  factors, err);
    choose_worlds(replay, model, factors);
    return status;
}

/* All policies in one world. */
static enum nf_status run_all(struct replay *replay,
                              const struct replay_model *model, uint32_t k,
                              struct nf_world *world, struct nf_error *err)
{
    struct nf_rng rng = { .state = replay->seed ^ 0x7265706c61790000 };
    size_t from = (size_t)k * replay->runs;
    enum nf_status status = NF_OK;

    model_set_messages(model, replay->worlds[k], world);
    for (uint32_t run = 0; run <= replay->runs && status == NF_OK; run++) {
        if (run == 0 && k > 0)
            continue;
        model_set_costs(model, run == 0 ? NULL : &rng, world);
        for (uint32_t i = 0; i < replay->count && status == NF_OK; i++) {
            struct candidate *c = &replay->list[i];

            if (c->verdict != VERDICT_NONE)
                status = run_one(
                    replay, world, c,
                    run == 0 ? &c->point_us : &c->runs_us[from + run - 1], err);
        }
    }
    return status;
}

/* ---- judging ---- */

/* Median and interval of list[0..n).  Sorts. */
static void summarize(double *list, uint32_t n, double *median_p, double *low_p,
                      double *high_p)
{
    stats_sort(list, n);
    *median_p = (list[(n - 1) / 2] + list[n / 2]) / 2;
    *low_p = list[(uint32_t)floor(LOW * (n - 1))];
    *high_p = list[(uint32_t)ceil(HIGH * (n - 1))];
}

static void find_best(struct replay *replay)
{
    replay->none = true;
    for (uint32_t i = 0; i < replay->count; i++) {
        const struct candidate *c = &replay->list[i];

        if (c->verdict != VERDICT_NONE &&
            (replay->none ||
             c->median_us < replay->list[replay->best].median_us)) {
            replay->best = i;
            replay->none = false;
        }
    }
}

/* In each world. */
static void compare(struct replay *replay, struct candidate *c,
                    const struct candidate *best, double *room)
{
    for (uint32_t k = 0; k < replay->nworlds; k++) {
        size_t from = (size_t)k * replay->runs;
        double ratio, low, high;

        for (uint32_t run = 0; run < replay->runs; run++) {
            double best_us = best->runs_us[from + run];

            room[run] = best_us > 0 ? c->runs_us[from + run] / best_us : 1;
        }
        summarize(room, replay->runs, &ratio, &low, &high);
        if (k == 0)
            c->ratio = ratio;
        c->ratio_least = k == 0 ? ratio : fmin(c->ratio_least, ratio);
        c->ratio_low = k == 0 ? low : fmin(c->ratio_low, low);
        c->ratio_high = k == 0 ? high : fmax(c->ratio_high, high);
    }
    if (c == best)
        c->verdict = VERDICT_BEST;
    else if (c->ratio_low > 1 && c->ratio_least > replay->least_factor)
        c->verdict = VERDICT_WORSE;
    else
        c->verdict = VERDICT_SAME;
}

/* What units that were not measured may change, by how many were, how different
 * these are, and how many are missing: three times the standard error of a mean,
 * of units that differ more than those seen, as the first to be ready are the
 * short ones. */
static double factor_of_missing(const struct replay_model *model)
{
    double known = (double)model->known_units;
    double missing = 1 - known / (double)model->h->units;
    double spread =
        model->mean_us > 0 ? model->deviation_us / model->mean_us : 0;

    if (missing <= 0)
        return 1;
    if (model->known_units < KNOWN_LEAST_UNITS)
        return INFINITY;
    return 1 + missing * 3 * (1 + spread) / sqrt(known);
}

static void find_error(struct replay *replay, const struct replay_model *model)
{
    replay->least_factor = fmax(FACTOR_UNKNOWN, factor_of_missing(model));
    for (uint32_t i = 0; i < replay->count; i++) {
        const struct candidate *c = &replay->list[i];

        if (!is_used(c) || model->measured_us <= 0)
            continue;
        replay->error = c->point_us / (double)model->measured_us - 1;
        replay->error_known = true;
        replay->least_factor = fmax(factor_of(c->point_us, model),
                                    model->by_clock ? FACTOR_BY_CLOCK : 1);
        replay->least_factor =
            fmax(replay->least_factor, factor_of_missing(model));
    }
}

static void judge(struct replay *replay, const struct replay_model *model,
                  double *room)
{
    for (uint32_t i = 0; i < replay->count; i++) {
        struct candidate *c = &replay->list[i];

        memcpy(room, c->runs_us, replay->runs * sizeof(*room));
        summarize(room, replay->runs, &c->median_us, &c->low_us, &c->high_us);
    }
    find_best(replay);
    find_error(replay, model);
    for (uint32_t i = 0; i < replay->count; i++)
        if (replay->list[i].verdict != VERDICT_NONE)
            compare(replay, &replay->list[i], &replay->list[replay->best],
                    room);
}

/* Room for the runs in all worlds. */
static enum nf_status get_room(struct replay *replay)
{
    for (uint32_t i = 0; i < replay->count; i++) {
        struct candidate *c = &replay->list[i];

        c->runs_us = nf_calloc((size_t)replay->nworlds * replay->runs,
                               sizeof(*c->runs_us));
        if (c->runs_us == NULL)
            return NF_ERR_NOMEM;
    }
    return NF_OK;
}

enum nf_status replay_run(struct replay *replay,
                          const struct replay_model *model,
                          struct nf_world *world, struct nf_error *err)
{
    double *room = nf_malloc(replay->runs * sizeof(*room));
    enum nf_status status;

    for (uint32_t i = 0; i < replay->count; i++)
        replay->list[i].verdict = replay->list[i].why[0] != '\0'
                                      ? VERDICT_NONE
                                      : VERDICT_SAME; /* yet */
    status = find_worlds(replay, model, world, err);
    if (status == NF_OK && (room == NULL || get_room(replay) != NF_OK))
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t k = 0; k < replay->nworlds && status == NF_OK; k++)
        status = run_all(replay, model, k, world, err);
    if (status == NF_OK)
        judge(replay, model, room);
    nf_free(room);
    return status;
}

void replay_fini(struct replay *replay)
{
    for (uint32_t i = 0; i < replay->count; i++)
        nf_free(replay->list[i].runs_us);
    nf_free(replay->list);
    memset(replay, 0, sizeof(*replay));
}
