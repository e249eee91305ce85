/* Plan and judgement of a comparison; no run is made here. */
#include "config.h"
#include "apps/nowfarm/compare.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/base/text.h"
#include "common/policy/policy.h"

const char *const compare_part_names[PART_COUNT] = { "compute", "transfer",
                                                     "master", "idle", "tail" };

void compare_set_subject(struct compare *c, const char *subject)
{
    snprintf(c->subject, sizeof(c->subject), "%s", subject);
    nf_text_make_line(c->subject);
    nf_text_make_utf8(c->subject, strlen(c->subject));
}

/* ---- policies and plan ---- */

static enum nf_status add_policy(struct compare *c, const char *text,
                                 size_t bytes, struct nf_error *err)
{
    unsigned number = c->npolicies + 1;
    struct nf_policy parsed;
    struct nf_error why;
    char *policy;

    while (bytes > 0 && text[0] == ' ')
        text++, bytes--;
    while (bytes > 0 && text[bytes - 1] == ' ')
        bytes--;
    if (bytes == 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "--policies, number %u: empty (want A;B;C)", number);
    if (number > COMPARE_POLICIES_MAX)
        return nf_fail(err, NF_ERR_INVAL, "--policies: more than %d policies",
                       COMPARE_POLICIES_MAX);
    policy = nf_malloc(bytes + 1);
    if (policy == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    memcpy(policy, text, bytes);
    policy[bytes] = '\0';
    c->policies[c->npolicies++] = policy;
    if (nf_policy_parse(policy, &parsed, &why) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL, "--policies, number %u: %s", number,
                       why.text);
    for (unsigned i = 0; i + 1 < number; i++)
        if (strcmp(c->policies[i], policy) == 0)
            return nf_fail(err, NF_ERR_INVAL,
                           "--policies, number %u: \"%.80s\" is number %u "
                           "already",
                           number, policy, i + 1);
    return NF_OK;
}

enum nf_status compare_take_policies(struct compare *c, const char *list,
                                     struct nf_error *err)
{
    enum nf_status status = NF_OK;

    c->policies = nf_calloc(COMPARE_POLICIES_MAX, sizeof(*c->policies));
    if (c->policies == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (const char *end; status == NF_OK; list = end + 1) {
        end = list + strcspn(list, ";");
        status = add_policy(c, list, (size_t)(end - list), err);
        if (*end == '\0')
            break;
    }
    return status;
}

enum nf_status compare_plan(struct compare *c, struct nf_error *err)
{
    unsigned rounds = c->warmup + c->repeat, order[COMPARE_POLICIES_MAX];
    struct nf_rng rng = { .state = c->seed };

    c->runs = nf_calloc((size_t)rounds * c->npolicies, sizeof(*c->runs));
    if (c->runs == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < c->npolicies; i++)
            order[i] = i;
        nf_rng_shuffle(&rng, order, c->npolicies);
        for (unsigned i = 0; i < c->npolicies; i++)
            compare_at(c, round, order[i])->order = i + 1;
    }
    return NF_OK;
}

void compare_fini(struct compare *c)
{
    for (unsigned i = 0; i < c->npolicies; i++)
        nf_free(c->policies[i]);
    nf_free(c->policies);
    nf_free(c->runs);
    c->policies = NULL;
    c->runs = NULL;
    c->npolicies = 0;
}

struct compare_run *compare_at(const struct compare *c, unsigned round,
                               unsigned policy)
{
    return &c->runs[(size_t)round * c->npolicies + policy];
}

unsigned compare_policy_at(const struct compare *c, unsigned round,
                           unsigned order)
{
    unsigned policy = 0;

    while (compare_at(c, round, policy)->order != order)
        policy++;
    return policy;
}

/* ---- reports ---- */

static double number_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static unsigned count_at(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 && value <= INT32_MAX ? (unsigned)value : 0;
}

static void remember_setting(struct compare *c, const json_t *report)
{
    const char *transport =
        json_string_value(json_object_get(report, "transport"));
    json_int_t units = json_integer_value(json_object_get(report, "units"));

    if (c->slaves > 0)
        return;
    c->units = units > 0 ? (uint64_t)units : 0;
    c->slaves = count_at(report, "slaves");
    c->slots = count_at(report, "slots");
    c->emulated = json_is_object(json_object_get(report, "emulate"));
    snprintf(c->transport, sizeof(c->transport), "%s",
             transport != NULL ? transport : "");
}

enum nf_status compare_take_report(struct compare *c, struct compare_run *run,
                                   const json_t *report)
{
    const json_t *parts = json_object_get(report, "breakdown_s");
    double makespan_s = number_at(report, "makespan_s");

    if (!(makespan_s >= 0)) {
        run->state = RUN_FAILED;
        return NF_ERR_PROTOCOL;
    }
    run->state = RUN_DONE;
    run->makespan_s = makespan_s;
    run->lower_bound_s = number_at(report, "lower_bound_s");
    for (int i = 0; i < PART_COUNT; i++)
        run->part_s[i] = number_at(parts, compare_part_names[i]);
    run->slots = count_at(report, "slots");
    run->lost_slaves = count_at(report, "lost_slaves");
    remember_setting(c, report);
    return NF_OK;
}

/* ---- judgement ---- */

/* The counted rounds of a policy: one number of each run that was done. */
static void column(const struct compare *c, unsigned policy, size_t offset,
                   double *values_p)
{
    for (unsigned i = 0; i < c->repeat; i++) {
        const struct compare_run *run = compare_at(c, c->warmup + i, policy);

        if (run->state == RUN_DONE)
            memcpy(&values_p[i], (const char *)run + offset, sizeof(double));
        else
            values_p[i] = NAN;
    }
}

/* Room for two columns, c->repeat values each. */
struct scratch {
    double *own, *base;
};

static void ratio_to(const struct compare *c, unsigned policy, unsigned base,
                     struct scratch *s, struct stats_interval *interval_p)
{
    const size_t span = offsetof(struct compare_run, makespan_s);

    column(c, policy, span, s->own);
    column(c, base, span, s->base);
    stats_paired_ratios(s->own, s->base, c->repeat, s->own);
    stats_median_interval(s->own, c->repeat, STATS_CONFIDENCE, interval_p);
}

static double median_of(const struct compare *c, unsigned policy, size_t offset,
                        struct scratch *s)
{
    column(c, policy, offset, s->own);
    return stats_median(s->own, c->repeat);
}

static void judge_policy(const struct compare *c, unsigned policy,
                         struct scratch *s, struct compare_result *r)
{
    for (unsigned i = 0; i < c->repeat; i++) {
        enum compare_state state = compare_at(c, c->warmup + i, policy)->state;

        r->runs += state == RUN_DONE;
        r->failed += state == RUN_FAILED;
    }
    r->eligible = r->runs > 0 && r->failed == 0;
    column(c, policy, offsetof(struct compare_run, makespan_s), s->own);
    stats_summarize(s->own, c->repeat, &r->span_s);
    r->lower_bound_s =
        median_of(c, policy, offsetof(struct compare_run, lower_bound_s), s);
    for (unsigned i = 0; i < PART_COUNT; i++)
        r->part_s[i] = median_of(
            c, policy,
            offsetof(struct compare_run, part_s) + i * sizeof(double), s);
    ratio_to(c, policy, 0, s, &r->ratio);
    r->differs = policy > 0 && stats_differs(&r->ratio);
}

static void find_best(const struct compare *c, struct scratch *s,
                      struct compare_verdict *v)
{
    v->best = -1;
    for (unsigned i = 0; i < c->npolicies; i++)
        if (v->results[i].eligible &&
            (v->best < 0 ||
             v->results[i].span_s.median < v->results[v->best].span_s.median))
            v->best = (int)i;
    for (unsigned i = 0; i < c->npolicies && v->best >= 0; i++) {
        struct compare_result *r = &v->results[i];

        ratio_to(c, i, (unsigned)v->best, s, &r->to_best);
        r->tied = r->eligible && i != (unsigned)v->best &&
                  !stats_differs(&r->to_best);
        v->ntied += r->tied;
    }
}

/* What is of all policies together. */
static void judge_setting(const struct compare *c, struct compare_verdict *v)
{
    unsigned counted = 0;

    v->lower_bound_s = NAN;
    for (unsigned i = 0; i < c->npolicies; i++)
        v->lower_bound_s = fmin(v->lower_bound_s, v->results[i].lower_bound_s);
    for (unsigned i = 0; i < (c->warmup + c->repeat) * c->npolicies; i++) {
        const struct compare_run *run = &c->runs[i];

        v->failed += run->state == RUN_FAILED;
        if (run->state != RUN_DONE || i < c->warmup * c->npolicies)
            continue;
        v->lost_slaves += run->lost_slaves;
        if (counted == 0 || run->slots < v->least_slots)
            v->least_slots = run->slots;
        if (run->slots > v->most_slots)
            v->most_slots = run->slots;
        counted++;
    }
}

enum nf_status compare_judge(const struct compare *c,
                             struct compare_verdict *verdict_p)
{
    size_t rows = c->repeat;
    double *room = nf_calloc(2 * rows, sizeof(*room));
    struct scratch s;

    if (room == NULL)
        return NF_ERR_NOMEM;
    s = (struct scratch){ room, room + rows };
    memset(verdict_p, 0, sizeof(*verdict_p));
    for (unsigned i = 0; i < c->npolicies; i++)
        judge_policy(c, i, &s, &verdict_p->results[i]);
    find_best(c, &s, verdict_p);
    judge_setting(c, verdict_p);
    nf_free(room);
    return NF_OK;
}
