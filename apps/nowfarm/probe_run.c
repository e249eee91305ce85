/* Measuring: rank 0 has one member after the other, or several at the same
 * time, time messages, and keeps medians and what a fifth is no longer than. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/coll_probe.h"
#include "apps/nowfarm/probe.h"
#include "apps/nowfarm/stats.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

/* A point whose middle half is wider than that share of its median is measured
 * again, so often; then no curve is laid through it, if enough others are left.
 */
static const double EVEN_MAX = 0.3;
enum { TRIES = 3, SURVEY_BYTES = 16384, SURVEY_COUNT = 3, SURVEY_TURNS = 5 };

struct run {
    struct probe *probe;
    uint32_t members;
    bool alone, quiet;
    struct probe_speed *speeds; /* [members] */
    struct probe_costs costs;
    struct nf_measures measures;
    struct probe_couple *couples; /* [members / 2 + 1] */
    double budget_us, start_us;   /* of all jobs */
    double done_us;               /* of costs.total_us */
    struct probe_outcome *outcome;
};

void probe_show_progress(bool quiet, const char *what, double share)
{
    if (quiet || !isatty(STDERR_FILENO))
        return;
    if (what == NULL)
        fputs("\r\033[K", stderr);
    else if (share < 0)
        fprintf(stderr, "\r\033[K       %s", what);
    else
        fprintf(stderr, "\r\033[K%3.0f %%  %s", 100 * fmin(share, 1), what);
    fflush(stderr);
}

/* ---- one point ---- */

/* Median, low quantile and evenness of some times. */
struct point {
    double us, low_us, send_us, send_low_us, width;
};
static const double LOW = 0.2;

static struct point judge(struct probe_result *result)
{
    struct stats_summary summary;
    struct point point;

    stats_summarize(result->us, result->count, &summary);
    point.us = summary.median;
    point.width =
        summary.median > 0 ? (summary.q3 - summary.q1) / summary.median : 0;
    point.low_us = stats_quantile(result->us, result->count, LOW);
    point.send_us = stats_median(result->send_us, result->count);
    point.send_low_us = stats_quantile(result->send_us, result->count, LOW);
    return point;
}

/* What a job asks of a member. */
static struct probe_act act_of(const struct run *run, enum probe_job job,
                               const struct probe_couple *couple, uint32_t size,
                               uint32_t count)
{
    struct probe_act act = {
        .kind = job == PROBE_JOB_PING   ? PROBE_PING
                : job == PROBE_JOB_TAKE ? PROBE_TAKE
                                        : PROBE_SEQ,
        .partner = couple->partner,
        .bytes = (uint32_t)probe_sizes[size],
        .count = count,
        .warm = run->costs.warm[job][size],
    };
    double bytes = probe_sizes[size];

    if (job >= PROBE_JOB_SEQ)
        act.run = run->measures.runs[couple->member * PROBE_RUNS +
                                     (uint32_t)(job - PROBE_JOB_SEQ)];
    act.delay_us = (uint32_t)(job == PROBE_JOB_TAKE
                                  ? probe_take_us(run->speeds, couple, bytes)
                                  : probe_idle_us(run->speeds, couple, bytes));
    return act;
}

/* Of sending, the fastest of all partners: that one disturbed it least. */
static void keep_least(double *us, double new_us)
{
    *us = *us > 0 ? fmin(*us, new_us) : new_us;
}

static void note(struct run *run, enum probe_job job,
                 const struct probe_couple *couple, uint32_t size,
                 const struct point *point)
{
    struct nf_measures *m = &run->measures;
    uint32_t i = couple->member;
    size_t at = (size_t)i * PROBE_SIZES + size;
    bool uneven = point->width > EVEN_MAX;

    if (job == PROBE_JOB_TAKE) {
        m->recv[at] = point->us;
        m->recv_low[at] = point->low_us;
        m->recv_uneven[at] = uneven;
    } else if (job == PROBE_JOB_PING) {
        size_t pair = nf_measures_ping_at(m, i, couple->partner, size);

        m->ping[pair] = point->us;
        m->ping_low[pair] = point->low_us;
        m->ping_uneven[pair] = uneven;
        keep_least(&m->send[at], point->send_us);
        keep_least(&m->send_low[at], point->send_low_us);
    } else {
        size_t row =
            nf_measures_seq_at(m, i, size, (uint32_t)(job - PROBE_JOB_SEQ));

        m->seq[row] = point->us;
        m->seq_low[row] = point->low_us;
        m->seq_uneven[at] = m->seq_uneven[at] || uneven;
    }
}

/* Have @p count couples measure at the same time.  Rank 0 last, since it does
 * not look at anybody else meanwhile.
 *  @param points_p  [count]; a better point of an earlier try stays */
static enum nf_status measure_at_once(struct run *run, enum probe_job job,
                                      uint32_t size,
                                      const struct probe_couple *couples,
                                      uint32_t count, struct point *points_p)
{
    static struct probe_result result;
    uint32_t repeats =
        probe_repeats(&run->costs, job, size, run->budget_us,
                      bench_now_us() - run->start_us, run->done_us);
    enum nf_status status = NF_OK;

    if (repeats < run->outcome->least_count)
        run->outcome->least_count = repeats;
    for (int own = 0; own < 2; own++)
        for (uint32_t i = 0; i < count && status == NF_OK; i++) {
            struct probe_act act = act_of(run, job, &couples[i], size, repeats);

            if ((couples[i].member == 0) == (own == 1) &&
                points_p[i].width > EVEN_MAX)
                status = probe_start(run->probe, couples[i].member, &act);
        }
    for (uint32_t i = 0; i < count && status == NF_OK; i++) {
        struct point point;

        if (points_p[i].width <= EVEN_MAX)
            continue;
        status = probe_collect(run->probe, couples[i].member, &result);
        if (status != NF_OK)
            return status;
        point = judge(&result);
        if (point.width < points_p[i].width)
            points_p[i] = point;
    }
    return status;
}

static bool all_even(const struct point *points, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (points[i].width > EVEN_MAX)
            return false;
    return true;
}

/* One step of a job, for one size. */
static enum nf_status measure_step(struct run *run, enum probe_job job,
                                   uint32_t size, uint32_t count)
{
    struct point points[NF_NETWORK_HOSTS_MAX / 2 + 1];
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < count; i++)
        points[i] = (struct point){ .width = INFINITY };
    for (int t = 0; t < TRIES && status == NF_OK && !all_even(points, count);
         t++)
        if (t == 0 ||
            probe_may_retry(&run->costs, run->budget_us,
                            bench_now_us() - run->start_us, run->done_us))
            status =
                measure_at_once(run, job, size, run->couples, count, points);
    for (uint32_t i = 0; i < count && status == NF_OK; i++) {
        note(run, job, &run->couples[i], size, &points[i]);
        run->outcome->points++;
        run->outcome->noisy += points[i].width > EVEN_MAX;
    }
    return status;
}

/* ---- jobs ---- */

static const double NEAR_MOST = 1.5;

static double long_us(const struct run *run, uint32_t i, uint32_t j)
{
    return *nf_measures_ping(&run->measures, i, j, PROBE_SIZES - 1);
}

/* How many messages in a row, so that no one gets two where there are others: a
 * second one waits until the first has been read, which is no matter of the
 * sender. */
static void choose_runs(struct run *run, uint32_t member, uint32_t near)
{
    uint32_t *runs = run->measures.runs + (size_t)member * PROBE_RUNS;

    runs[0] = near == 0 || near >= probe_runs[0] + 2 ? probe_runs[0] : 0;
    runs[1] = near == 0 || near > probe_runs[1] ? probe_runs[1] : near;
}

/* Messages in a row go to those that are about as near as the nearest, who
 * answers: what holds them is then the sender, or its own wire. */
static enum nf_status prepare_row(struct run *run, uint32_t member)
{
    uint32_t n = run->members, nearest = (member + 1) % n;
    uint32_t near[NF_NETWORK_HOSTS_MAX], nnear = 0;
    double least_us;

    for (uint32_t j = 0; j < n; j++)
        if (j != member &&
            long_us(run, member, j) < long_us(run, member, nearest))
            nearest = j;
    least_us = long_us(run, member, nearest);
    for (uint32_t k = 1; k < n; k++) {
        uint32_t j = (member + k) % n;

        if (j != nearest && long_us(run, member, j) < NEAR_MOST * least_us)
            near[nnear++] = j;
    }
    choose_runs(run, member, nnear);
    if (nnear == 0)
        near[nnear++] = nearest;
    run->couples[0] = (struct probe_couple){ member, nearest };
    return probe_plant(run->probe, member, near, nnear);
}

static const char *const job_names[PROBE_JOBS] = { "messages there and back",
                                                   "taking messages",
                                                   "messages in a row",
                                                   "messages in a row" };

static enum nf_status measure_job(struct run *run, enum probe_job job)
{
    uint32_t n = run->members;
    uint32_t steps = job == PROBE_JOB_PING   ? probe_steps(n, run->alone)
                     : job == PROBE_JOB_TAKE ? probe_host_steps(n, run->alone)
                                             : n;
    uint32_t nsizes = job == PROBE_JOB_TAKE ? PROBE_RECV_SIZES : PROBE_SIZES;
    enum nf_status status = NF_OK;

    for (uint32_t s = 0; s < steps && status == NF_OK; s++) {
        uint32_t count = 1;

        if (job == PROBE_JOB_PING)
            count = probe_step(n, run->alone, s, run->couples);
        else if (job == PROBE_JOB_TAKE)
            count = probe_host_step(n, run->alone, s, run->couples);
        else
            status = prepare_row(run, s);
        for (uint32_t k = 0; k < nsizes && status == NF_OK; k++) {
            probe_show_progress(run->quiet, job_names[job],
                                run->done_us / run->costs.total_us);
            status = measure_step(run, job, k, count);
            run->done_us +=
                run->costs.us[job][k] / steps *
                (run->costs.count[job][k] + run->costs.warm[job][k]);
        }
    }
    return status;
}

/* ---- a first look, for the plan ---- */

/* One message there and back after the other, without a pause. */
static enum nf_status survey_one(struct run *run, uint32_t member,
                                 uint32_t bytes, uint32_t count, double *us_p)
{
    const struct probe_act act = { .kind = PROBE_PING,
                                   .partner = member,
                                   .bytes = bytes,
                                   .count = count,
                                   .warm = 2 };
    static struct probe_result result;
    enum nf_status status = probe_carry_out(run->probe, &act, &result);

    if (status == NF_OK)
        *us_p = judge(&result).us;
    return status;
}

/* One look at each, which counts where it is the least so far.
 * @param long_us_p  [members] what SURVEY_BYTES took; empty ones are in run->speeds */
static enum nf_status survey_all(struct run *run, double *long_us_p)
{
    enum nf_status status = NF_OK;

    for (uint32_t i = 1; i < run->members && status == NF_OK; i++) {
        double empty_us = INFINITY, long_us = INFINITY;

        status = survey_one(run, i, 0, SURVEY_COUNT, &empty_us);
        if (status == NF_OK)
            status = survey_one(run, i, SURVEY_BYTES, SURVEY_COUNT, &long_us);
        run->speeds[i].empty_us = fmin(run->speeds[i].empty_us, empty_us);
        long_us_p[i] = fmin(long_us_p[i], long_us);
    }
    return status;
}

/* The least of a few medians that are apart: a host that does something else during one
 * of them would make the plan too long for all. */
static enum nf_status survey(struct run *run)
{
    double long_us[NF_NETWORK_HOSTS_MAX];
    struct probe_speed *own = &run->speeds[0];
    double begun_us = bench_now_us();
    enum nf_status status;
    unsigned turns = 0;

    for (uint32_t i = 0; i < run->members; i++) {
        run->speeds[i] = (struct probe_speed){ INFINITY, INFINITY };
        long_us[i] = INFINITY;
    }
    do {
        status = survey_all(run, long_us);
        turns++;
    } while (status == NF_OK &&
             coll_probe_goes_on(turns, SURVEY_TURNS,
                                (int64_t)(bench_now_us() - begun_us)));
    for (uint32_t i = 1; i < run->members; i++) {
        struct probe_speed *speed = &run->speeds[i];

        speed->byte_us = fmax(long_us[i] - speed->empty_us, 0) / SURVEY_BYTES;
        own->empty_us = fmin(own->empty_us, speed->empty_us);
        own->byte_us = fmin(own->byte_us, speed->byte_us);
    }
    return status;
}

/* What groups take is measured without pauses (coll_probe_ways()), in which
 * processors and links fall asleep, and is the least of some medians that are apart:
 * so that is what it is compared with. */
static enum nf_status measure_bare(struct run *run)
{
    double *bare_us = run->outcome->bare_us;
    double begun_us = bench_now_us();
    enum nf_status status = NF_OK;
    unsigned turns = 0;

    for (uint32_t j = 0; j < run->members; j++)
        bare_us[j] = j == 0 ? 0 : INFINITY;
    do {
        for (uint32_t j = 1; j < run->members && status == NF_OK; j++) {
            double us = INFINITY;

            status = survey_one(run, j, 0, PROBE_BARE_COUNT, &us);
            bare_us[j] = fmin(bare_us[j], us / 2);
        }
        turns++;
    } while (status == NF_OK &&
             coll_probe_goes_on(turns, COLL_PROBE_WAY_TURNS,
                                (int64_t)(bench_now_us() - begun_us)));
    return status;
}

static void tell_plan(const struct run *run, const struct probe_options *o)
{
    double more_us =
        probe_most_us(&run->costs, run->budget_us) - run->costs.total_us;
    uint32_t least = UINT32_MAX;

    for (int job = 0; job < PROBE_JOBS; job++)
        for (int k = 0; k < PROBE_SIZES; k++)
            if (run->costs.count[job][k] < least)
                least = run->costs.count[job][k];
    run->outcome->least_count = least;
    run->outcome->planned_s =
        1e-6 *
        (run->costs.total_us +
         probe_trees_us(run->members, run->alone, run->speeds, o) +
         probe_groups_us(run->members, run->speeds));
    run->outcome->most_s = run->outcome->planned_s + 1e-6 * fmax(more_us, 0);
    if (!o->quiet)
        fprintf(stderr,
                "nowfarm: %u pairs of %u members, %s, each message %u times or "
                "more: about %.0f s, %.0f s if many times are uneven\n",
                run->members * (run->members - 1) / 2, run->members,
                run->alone ? "one by one" : "disjoint ones in parallel", least,
                ceil(run->outcome->planned_s), ceil(run->outcome->most_s));
}

static enum nf_status make_room(struct run *run)
{
    run->speeds = nf_calloc(run->members, sizeof(*run->speeds));
    run->couples = nf_calloc(run->members / 2 + 1, sizeof(*run->couples));
    if (run->speeds != NULL && run->couples != NULL &&
        nf_measures_init(&run->measures, run->members, probe_sizes, PROBE_SIZES,
                         PROBE_RECV_SIZES, probe_runs, PROBE_RUNS) == NF_OK)
        return NF_OK;
    return nf_fail(run->probe->err, NF_ERR_NOMEM, "out of memory");
}

/* Do two members share a host?  Its processors and its wire, too. */
static bool share_hosts(const char (*names)[NF_NETWORK_NAME_BYTES], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (strchr(names[i], '#') != NULL)
            return true;
    return false;
}

enum nf_status probe_measure(struct probe *probe, const struct probe_options *o,
                             const char (*names)[NF_NETWORK_NAME_BYTES],
                             struct probe_outcome *outcome_p)
{
    struct run run = { .probe = probe,
                       .members = probe->mesh->ranks,
                       .quiet = o->quiet,
                       .budget_us = (double)o->budget_us,
                       .outcome = outcome_p };
    enum nf_status status = make_room(&run);

    *outcome_p = (struct probe_outcome){ .points = 0 };
    run.alone = o->shared || share_hosts(names, run.members);
    outcome_p->alone = run.alone;
    if (status == NF_OK)
        status = survey(&run);
    if (status == NF_OK) {
        probe_plan(run.members, run.alone, run.speeds, (double)o->budget_us,
                   &run.costs);
        tell_plan(&run, o);
        run.start_us = bench_now_us();
    }
    for (int job = 0; job < PROBE_JOBS && status == NF_OK; job++)
        status = measure_job(&run, (enum probe_job)job);
    probe_show_progress(o->quiet, NULL, 0);
    if (status == NF_OK)
        run.measures.has_low = true;
    if (status == NF_OK)
        status = nf_estimate(&run.measures, &outcome_p->network, probe->err);
    if (status == NF_OK)
        status = measure_bare(&run);
    for (uint32_t i = 0; status == NF_OK && i < run.members; i++)
        memcpy(outcome_p->network.hosts[i].name, names[i],
               NF_NETWORK_NAME_BYTES);
    outcome_p->network.shared = o->shared;
    nf_measures_fini(&run.measures);
    nf_free(run.speeds);
    nf_free(run.couples);
    return status;
}
