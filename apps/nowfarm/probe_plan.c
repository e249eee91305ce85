/* Who measures when, and how often.
 *
 * On a switch disjoint pairs do not disturb each other.  All pairs of n members
 * are met in n - 1 rounds of n / 2 (n even; else one member sits out), by the
 * circle method: the last one stays, the others move on by one. */
#include "config.h"
#include <math.h>
#include "apps/nowfarm/coll_probe.h"
#include "apps/nowfarm/probe.h"
#include "common/tree/hnow_table.h"
#include "common/tree/uniform.h"

const double probe_sizes[PROBE_SIZES] = {
    0, 64, 256, 1024, 4096, 16384, 65536
};
/* A slope is found best between ends: were as many repetitions spread over all of 2
 * to 6, its variance would be twice as large. */
const uint32_t probe_runs[PROBE_RUNS] = { 2, 6 };

enum { COUNT_LEAST = 5, COUNT_MOST = 30, WARM_FULL = 5, WARM_SHORT = 2 };
enum { LATE_US = 500 }; /* on top of twice the time a message takes */
enum { OVER_BYTES = 512, PACE_BYTES = 4096 };

static uint32_t rounds(uint32_t members, bool alone)
{
    if (alone)
        return members * (members - 1) / 2;
    return members % 2 == 0 ? members - 1 : members;
}

/* The only pair of a round of those that are alone. */
static void find_pair(uint32_t members, uint32_t round,
                      struct probe_couple *couple)
{
    uint32_t i = 0;

    while (round >= members - 1 - i) {
        round -= members - 1 - i;
        i++;
    }
    *couple = (struct probe_couple){ i, i + 1 + round };
}

uint32_t probe_steps(uint32_t members, bool alone)
{
    return 2 * rounds(members, alone);
}

uint32_t probe_step(uint32_t members, bool alone, uint32_t step,
                    struct probe_couple *couples_p)
{
    uint32_t round = step / 2, count = 0;
    uint32_t circle = members % 2 == 0 ? members - 1 : members;

    if (alone)
        find_pair(members, round, &couples_p[count++]);
    else if (members % 2 == 0)
        couples_p[count++] = (struct probe_couple){ members - 1, round };
    for (uint32_t k = 1; !alone && k <= (circle - 1) / 2; k++)
        couples_p[count++] =
            (struct probe_couple){ (round + k) % circle,
                                   (round + circle - k) % circle };
    for (uint32_t i = 0; step % 2 == 1 && i < count; i++)
        couples_p[i] =
            (struct probe_couple){ couples_p[i].partner, couples_p[i].member };
    return count;
}

/* The first round, both ways; with an odd number its member 0 sits out. */
uint32_t probe_host_steps(uint32_t members, bool alone)
{
    return alone ? members : 2 + members % 2;
}

uint32_t probe_host_step(uint32_t members, bool alone, uint32_t step,
                         struct probe_couple *couples_p)
{
    if (!alone && step < 2)
        return probe_step(members, false, step, couples_p);
    couples_p[0].member = alone ? step : 0;
    couples_p[0].partner = (couples_p[0].member + 1) % members;
    return 1;
}

/* Uneven times may take that share more than the budget, but no time is taken
 * more than three times as often as planned. */
static const double RETRY_SHARE = 0.3, RETRIES_MOST = 3;

/* On few hosts there is room for all retries in the budget. */
double probe_most_us(const struct probe_costs *costs, double budget_us)
{
    return fmin((1 + RETRY_SHARE) * fmax(budget_us, costs->total_us),
                RETRIES_MOST * costs->total_us);
}

bool probe_may_retry(const struct probe_costs *costs, double budget_us,
                     double spent_us, double done_us)
{
    return spent_us + fmax(costs->total_us - done_us, 0) <=
           probe_most_us(costs, budget_us);
}

uint32_t probe_repeats(const struct probe_costs *costs, enum probe_job job,
                       uint32_t size, double budget_us, double spent_us,
                       double done_us)
{
    uint32_t count = costs->count[job][size], warm = costs->warm[job][size];
    double left_us = probe_most_us(costs, budget_us) - spent_us;
    double to_do_us = costs->total_us - done_us, fit;

    if (to_do_us <= left_us || to_do_us <= 0)
        return count;
    fit = floor((count + warm) * fmax(left_us, 0) / to_do_us) - warm;
    return fit <= COUNT_LEAST ? COUNT_LEAST : (uint32_t)fmin(fit, count);
}

/* ---- what comes after ---- */

/* As coll_probe.c measures what takes @p round_us: five rounds to warm up, then
 * 5 to 200 in 20 ms or, if they are long, 3 or more in 200 ms. */
static double rounds_us(double round_us)
{
    double most_us = fmax(20e3, fmin(5 * round_us, fmax(3 * round_us, 200e3)));

    return 5 * round_us + fmin(200 * round_us, most_us);
}

/* The model of one pair: sizes from 0 to 1 MiB there and back, some of them in
 * streams, two exchanges, and sends. */
static double pair_model_us(const struct probe_speed *pair)
{
    double sum_us = 2 * rounds_us(pair->empty_us);

    for (double bytes = 64; bytes <= 1 << 20; bytes *= 4) {
        double way_us = pair->byte_us * bytes;

        sum_us += rounds_us(pair->empty_us + 2 * way_us);
        if (bytes >= 256 && bytes <= 16384)
            sum_us += rounds_us(BENCH_SENDS_AT_ONCE *
                                fmax(way_us, pair->empty_us / 2));
        if (bytes >= 1 << 16)
            sum_us += rounds_us(pair->empty_us + way_us) / 2;
    }
    return sum_us;
}

static void find_ends(uint32_t members, const struct probe_speed *speeds,
                      struct probe_speed *fast, struct probe_speed *slow)
{
    *fast = *slow = speeds[0];
    for (uint32_t i = 1; i < members; i++) {
        fast->empty_us = fmin(fast->empty_us, speeds[i].empty_us);
        fast->byte_us = fmin(fast->byte_us, speeds[i].byte_us);
        slow->empty_us = fmax(slow->empty_us, speeds[i].empty_us);
        slow->byte_us = fmax(slow->byte_us, speeds[i].byte_us);
    }
}

/* @param ways  messages that follow each other until the last one has it */
static double calls_us(double ways, const struct probe_speed *slow)
{
    static const double CALLS = 7, LEAST_US = 50e3,
                        PAUSES = COLL_PROBE_CALLS + 2; /* before it counts */
    double call_us = ways * slow->empty_us;

    return fmax(CALLS * (call_us + COLL_PROBE_CALL_PAUSE_US),
                LEAST_US + PAUSES * COLL_PROBE_CALL_PAUSE_US);
}

/* As coll_probe_goes_on() has it. */
static double in_turns_us(double once_us, unsigned turns)
{
    return fmax(fmin(once_us * turns, COLL_PROBE_TURNS_US), once_us);
}

double probe_groups_us(uint32_t members, const struct probe_speed *speeds)
{
    static const double LOOK_BYTES = 65536, LOOKS_MOST_US = 3e6,
                        WORSE_MOST_US = 4e6;
    struct probe_speed fast, slow;
    double looks_us = 0, ways_us = 0, bare_us = 0, sum_us;

    find_ends(members, speeds, &fast, &slow);
    sum_us = pair_model_us(&fast);
    for (uint32_t i = 1; i < members; i++) {
        looks_us += 5e3 + 5 * (speeds[i].empty_us +
                               2 * LOOK_BYTES * speeds[i].byte_us);
        ways_us += rounds_us(speeds[i].empty_us);
        bare_us += PROBE_BARE_COUNT * speeds[i].empty_us;
    }
    sum_us += fmin(looks_us, LOOKS_MOST_US);
    sum_us += in_turns_us(ways_us, COLL_PROBE_WAY_TURNS);
    sum_us += in_turns_us(bare_us, COLL_PROBE_WAY_TURNS);
    /* broadcasts to all: at once, by a tree, along a chain */
    sum_us += in_turns_us(calls_us(1, &slow) +
                              calls_us(ceil(log2(members)), &slow) +
                              calls_us(members - 1, &slow),
                          COLL_PROBE_CALL_TURNS);
    if (slow.byte_us > 1.25 * fast.byte_us)
        sum_us += fmin(pair_model_us(&slow), WORSE_MOST_US);
    return sum_us;
}

struct tree_costs {
    struct probe_speed fast, slow;
    uint32_t rounds; /* of short ones */
};

/* A message that finds links idle is not held up by slow ones: what decides whether a
 * tree is short is how fast they are at best.
 * @param ways  messages that follow each other until the last one has it */
static double tree_us(const struct tree_costs *costs, double ways, double bytes)
{
    static const double CASTS = 37, LEAST_CASTS = 7, MOST_US = 3e6,
                        IDLE_BYTES = 4096, IDLE_MOST_US = 50e3;
    const struct probe_speed *fast = &costs->fast, *slow = &costs->slow;
    double short_us = ways * (fast->empty_us + fast->byte_us * bytes);
    double long_us = ways * (slow->empty_us + slow->byte_us * bytes);
    double idle_us = fmin(slow->byte_us * IDLE_BYTES, IDLE_MOST_US);

    if (short_us * PROBE_ROUND_CASTS < PROBE_SHORT_ROUND_US)
        return costs->rounds * (PROBE_ROUND_CASTS + 1) * (short_us + idle_us);
    return fmax(LEAST_CASTS * long_us, fmin(CASTS * long_us, MOST_US)) +
           CASTS * idle_us;
}

static double floods_us(uint32_t members, bool alone,
                        const struct probe_speed *slow)
{
    double steps = probe_host_steps(members, alone), sum_us = 0;

    for (int k = 0; k < PROBE_CHECK_SIZES; k++)
        sum_us += slow->empty_us + slow->byte_us * PACE_BYTES +
                  PROBE_FLOOD_MESSAGES * slow->byte_us *
                      (double)(probe_check_sizes[k] + OVER_BYTES);
    return steps * (PROBE_FLOOD_COUNT + PROBE_FLOOD_WARM) * sum_us;
}

double probe_trees_us(uint32_t members, bool alone,
                      const struct probe_speed *speeds,
                      const struct probe_options *o)
{
    double steps = ceil(log2(members)), few = fmin(members, 4) - 1;
    struct tree_costs costs = { .rounds = probe_short_rounds(o) };
    double sum_us = 0;
    uint32_t listed = 0;

    find_ends(members, speeds, &costs.fast, &costs.slow);
    if (o->validate || o->nsizes > 0) /* what is beyond messages */
        sum_us += tree_us(&costs, members - 1, 1) + 2 * tree_us(&costs, steps, 1);
    for (int k = 0; o->validate && k < PROBE_CHECK_SIZES; k++) {
        double bytes = (double)probe_check_sizes[k];

        sum_us += 2 * tree_us(&costs, few, bytes) + tree_us(&costs, steps, bytes);
    }
    if (o->validate)
        sum_us += floods_us(members, alone, &costs.slow);
    for (uint32_t i = 0; nf_hnow_table[i] != NULL; i++)
        listed++;
    for (uint32_t i = 0; nf_uniform_table[i] != NULL; i++)
        listed++;
    for (unsigned k = 0; k < o->nsizes; k++)
        sum_us += listed * tree_us(&costs, (steps + members) / 2,
                                   (double)o->sizes[k]);
    return sum_us;
}

double probe_couple_us(const struct probe_speed *speeds,
                       const struct probe_couple *couple, double bytes)
{
    const struct probe_speed *a = &speeds[couple->member],
                             *b = &speeds[couple->partner];

    return fmax(a->empty_us, b->empty_us) +
           fmax(a->byte_us, b->byte_us) * bytes;
}

double probe_idle_us(const struct probe_speed *speeds,
                     const struct probe_couple *couple, double bytes)
{
    double byte_us = fmax(speeds[couple->member].byte_us,
                          speeds[couple->partner].byte_us);

    return byte_us * fmin(bytes + OVER_BYTES, PACE_BYTES);
}

double probe_take_us(const struct probe_speed *speeds,
                     const struct probe_couple *couple, double bytes)
{
    return 2 * probe_couple_us(speeds, couple, bytes) + LATE_US;
}

/* One repetition.  Messages in a row: so many, one that is answered, which
 * counts twice, and then all who got one say that they have it. */
static double once_us(uint32_t members, const struct probe_speed *speeds,
                      enum probe_job job, const struct probe_couple *couple,
                      double bytes)
{
    double us = probe_couple_us(speeds, couple, bytes);
    uint32_t run;

    if (job == PROBE_JOB_TAKE)
        return probe_take_us(speeds, couple, bytes);
    us += probe_idle_us(speeds, couple, bytes);
    if (job == PROBE_JOB_PING)
        return us;
    run = probe_runs[job - PROBE_JOB_SEQ];
    return us + (run + 1) * probe_couple_us(speeds, couple, bytes) +
           fmin(run, members - 1) * speeds[couple->partner].empty_us;
}

static struct probe_couple nearest(uint32_t members,
                                   const struct probe_speed *speeds, uint32_t i)
{
    struct probe_couple best = { i, (i + 1) % members };

    for (uint32_t j = 0; j < members; j++)
        if (j != i && speeds[j].byte_us < speeds[best.partner].byte_us)
            best.partner = j;
    return best;
}

/* All steps of a job, once; the slowest couple of each counts. */
static double job_us(uint32_t members, bool alone,
                     const struct probe_speed *speeds, enum probe_job job,
                     double bytes)
{
    struct probe_couple couples[NF_NETWORK_HOSTS_MAX / 2 + 1];
    uint32_t steps = job == PROBE_JOB_PING   ? probe_steps(members, alone)
                     : job == PROBE_JOB_TAKE ? probe_host_steps(members, alone)
                                             : members;
    double sum_us = 0;

    if (job == PROBE_JOB_TAKE && bytes > probe_sizes[PROBE_RECV_SIZES - 1])
        return 0;
    for (uint32_t s = 0; s < steps; s++) {
        double worst_us = 0;
        uint32_t count = 1;

        if (job == PROBE_JOB_PING)
            count = probe_step(members, alone, s, couples);
        else if (job == PROBE_JOB_TAKE)
            count = probe_host_step(members, alone, s, couples);
        else
            couples[0] = nearest(members, speeds, s);
        for (uint32_t i = 0; i < count; i++)
            worst_us = fmax(worst_us, once_us(members, speeds, job,
                                              &couples[i], bytes));
        sum_us += worst_us;
    }
    return sum_us;
}

/* @param share_us  that each job of each size may take */
static double spread(struct probe_costs *costs, double share_us)
{
    double total_us = 0;

    for (int job = 0; job < PROBE_JOBS; job++)
        for (int k = 0; k < PROBE_SIZES; k++) {
            double fit = floor(share_us / costs->us[job][k]) - WARM_SHORT;
            bool full = fit >= COUNT_MOST;

            costs->count[job][k] =
                full ? COUNT_MOST : (uint32_t)fmax(fit, COUNT_LEAST);
            costs->warm[job][k] = full ? WARM_FULL : WARM_SHORT;
            total_us += costs->us[job][k] *
                        (costs->count[job][k] + costs->warm[job][k]);
        }
    costs->total_us = total_us;
    return total_us;
}

void probe_plan(uint32_t members, bool alone, const struct probe_speed *speeds,
                double budget_us, struct probe_costs *costs_p)
{
    double low_us = 0, high_us = budget_us;

    for (int job = 0; job < PROBE_JOBS; job++)
        for (int k = 0; k < PROBE_SIZES; k++)
            costs_p->us[job][k] =
                fmax(job_us(members, alone, speeds, (enum probe_job)job,
                            probe_sizes[k]),
                     1);
    for (int i = 0; i < 40; i++) {
        double share_us = (low_us + high_us) / 2;

        if (spread(costs_p, share_us) <= budget_us)
            low_us = share_us;
        else
            high_us = share_us;
    }
    (void)spread(costs_p, low_us);
}
