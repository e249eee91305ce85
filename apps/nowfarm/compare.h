#ifndef NF_APPS_NOWFARM_COMPARE_H
#define NF_APPS_NOWFARM_COMPARE_H
/** @file compare.h  A comparison of policies: which run comes when, what the
 *  runs gave, and what can be said of it.
 *
 *  The same thing happens in every round: each policy runs once, in shuffled
 *  order.  So whatever drifts (a host that gets busy, a clock that slows down)
 *  meets all policies alike, and ratios within a round are free of it. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "apps/nowfarm/stats.h"
#include "nowfarm.h"

/** Rounds and policies of a comparison. */
enum { COMPARE_ROUNDS_MAX = STATS_MOST_VALUES, COMPARE_POLICIES_MAX = 100 };

/** The parts of a makespan, as in nf_report. */
enum compare_part {
    PART_COMPUTE,
    PART_TRANSFER,
    PART_MASTER,
    PART_IDLE,
    PART_TAIL,
    PART_COUNT,
};
extern const char *const compare_part_names[PART_COUNT];

enum compare_state { RUN_PENDING, RUN_DONE, RUN_FAILED };

/** One run.  Numbers that are not known are NAN or 0. */
struct compare_run {
    enum compare_state state;
    int exit_status;
    unsigned order; /**< its place in its round, 1 ... */
    double makespan_s, lower_bound_s, part_s[PART_COUNT];
    unsigned slots, lost_slaves;
};

/** Policies, plan and runs.  Zero-initialise it. */
struct compare {
    char subject[200]; /**< the application, or the platform file */
    bool simulated;
    uint64_t seed;
    unsigned warmup, repeat; /**< rounds */
    unsigned npolicies;
    char **policies;
    struct compare_run *runs; /**< [warmup + repeat][npolicies] */
    bool interrupted;
    /* of the first run that was done */
    uint64_t units;
    unsigned slaves, slots;
    char transport[16];
    bool emulated; /**< runs slept instead of working */
};

/** Name what is compared; made fit to be printed. */
void compare_set_subject(struct compare *c, const char *subject);
/** Split @p list at ';'; spaces around a policy do not count.
 *  @retval NF_ERR_INVAL  empty, bad or twice; err says which one, "policy 2" */
enum nf_status compare_take_policies(struct compare *c, const char *list,
                                     struct nf_error *err);
/** Make c->runs and shuffle the order of each round; a function of c->seed.
 *  @retval NF_ERR_NOMEM */
enum nf_status compare_plan(struct compare *c, struct nf_error *err);
void compare_fini(struct compare *c);

/** A run; @p round counts from 0, warm-up first. */
struct compare_run *compare_at(const struct compare *c, unsigned round,
                               unsigned policy);
/** @return which policy runs at place @p order (1 ...) of @p round */
unsigned compare_policy_at(const struct compare *c, unsigned round,
                           unsigned order);
/** Take the report of a run, as `nowfarm run --json` or `nowfarm sim farm
 *  --json` prints it.
 *  @retval NF_ERR_PROTOCOL  it has no makespan_s; then the run counts as failed
 */
enum nf_status compare_take_report(struct compare *c, struct compare_run *run,
                                   const json_t *report);

/** What the counted runs of one policy gave. */
struct compare_result {
    unsigned runs, failed;
    struct stats_summary span_s;
    struct stats_interval ratio; /**< makespan / the first policy's */
    bool differs;                /**< it can be told from the first */
    double lower_bound_s, part_s[PART_COUNT]; /**< medians */
    /* against the best one */
    struct stats_interval to_best;
    bool eligible; /**< all of its runs that were made succeeded */
    bool tied;     /**< eligible, and can't be told from the best */
};

struct compare_verdict {
    struct compare_result results[COMPARE_POLICIES_MAX];
    int best;             /**< the lowest median of the eligible; -1: none */
    unsigned ntied;       /**< others that can't be told from it */
    double lower_bound_s; /**< the least of the policies'; NAN: not known */
    unsigned least_slots, most_slots, lost_slaves, failed;
};

/** Judge what has been run so far. @retval NF_ERR_NOMEM */
enum nf_status compare_judge(const struct compare *c,
                             struct compare_verdict *verdict_p);

/** The closing sentence into text[0..bytes).  @return text */
const char *compare_conclude(const struct compare *c,
                             const struct compare_verdict *v, char *text,
                             size_t bytes);
#endif
