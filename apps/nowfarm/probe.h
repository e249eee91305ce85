#ifndef NF_APPS_NOWFARM_PROBE_H
#define NF_APPS_NOWFARM_PROBE_H
/** @file probe.h  The parts of `nowfarm probe`. */
#include <jansson.h>
#include "apps/collbench/probe.h"
#include "apps/nowfarm/coll_world.h"
#include "common/model/estimate.h"
#include "common/model/homogeneous.h"

#define PROBE_FILE "nowfarm-network.json"

struct probe_options {
    struct coll_world_config world;
    const char *out;   /**< the model file */
    const char *show;  /**< instead: one that there is; NULL: measure */
    bool shared;       /**< one medium: nobody at the same time */
    int64_t budget_us; /**< to measure for, about */
    bool validate, json, quiet;
};

/** Read the arguments.  Texts are popt's, freed by probe_options_fini().
 *  @retval NF_ERR_INVAL  err: which, and what would be right */
enum nf_status probe_options_parse(int argc, const char **argv,
                                   struct probe_options *o,
                                   struct nf_error *err);
void probe_options_fini(void);

/* ---- what is measured at the same time: probe_plan.c, pure ---- */

enum { PROBE_SIZES = 7, PROBE_RECV_SIZES = 6, PROBE_RUNS = 2 };
extern const double probe_sizes[PROBE_SIZES]; /**< bytes */
extern const uint32_t probe_runs[PROBE_RUNS]; /**< r of SEQ */

struct probe_couple {
    uint32_t member, partner; /**< who takes the time, and with whom */
};

/** Everybody measures with everybody, in steps of couples of which no two share
 *  a member, or of one couple if @p alone.  How many steps? */
uint32_t probe_steps(uint32_t members, bool alone);
/** Step @p step of these.  In an even step the couples of the next one are the
 *  other way round.  @param couples_p  [members / 2]   @return how many */
uint32_t probe_step(uint32_t members, bool alone, uint32_t step,
                    struct probe_couple *couples_p);
/** Each member measures once, with some partner: how many steps, and which. */
uint32_t probe_host_steps(uint32_t members, bool alone);
uint32_t probe_host_step(uint32_t members, bool alone, uint32_t step,
                         struct probe_couple *couples_p);

/** What there is to measure, by kinds. */
enum probe_job {
    PROBE_JOB_PING,
    PROBE_JOB_TAKE,
    PROBE_JOB_SEQ, /**< + index of the run */
    PROBE_JOBS = PROBE_JOB_SEQ + PROBE_RUNS
};
/** Roughly what messages to a member take. */
struct probe_speed {
    double empty_us, byte_us; /**< there and back */
};
struct probe_costs {
    double us[PROBE_JOBS][PROBE_SIZES]; /**< all, once */
    uint32_t count[PROBE_JOBS][PROBE_SIZES], warm[PROBE_JOBS][PROBE_SIZES];
    double total_us; /**< of all repetitions */
};
/** How often can each be measured within the budget?  5 to 30 times.
 *  @param speeds  [members] */
void probe_plan(uint32_t members, bool alone, const struct probe_speed *speeds,
                double budget_us, struct probe_costs *costs_p);
/** How long a couple takes once, PROBE_JOB_PING. */
double probe_couple_us(const struct probe_speed *speeds,
                       const struct probe_couple *couple, double bytes);

/* ---- measuring: probe_run.c ---- */

struct probe_outcome {
    struct nf_network network;
    uint32_t points, noisy; /**< times measured; too uneven to be believed */
    uint32_t least_count;   /**< the fewest repetitions of one */
    double elapsed_s;
};
/** @param names  [members], all different
 *  @param outcome_p  network: free with nf_network_fini()
 *  @retval < 0  probe->err; probe->guilty */
enum nf_status probe_measure(struct probe *probe, const struct probe_options *o,
                             const char (*names)[NF_NETWORK_NAME_BYTES],
                             struct probe_outcome *outcome_p);
/** Progress: @p done of @p all, on a terminal. */
void probe_show_progress(bool quiet, const char *what, double share);

/* ---- predictions: probe_trees.c; pure but for probe_validate() ---- */

struct probe_tree {
    const char *name;
    uint32_t nodes;   /**< members 0..nodes - 1, of which 0 is the root */
    uint32_t *parent; /**< [members]; of the root and of others: themselves */
    uint32_t *order;  /**< [members]: a sender's children in this order */
};
enum probe_shape { PROBE_STAR, PROBE_CHAIN, PROBE_OPT, PROBE_SHAPES };
/** The star and the chain of up to 4 members, and an OPT-tree of all, for
 *  messages of @p bytes.  @param tree_p  [members] parent and order are there
 *  Source: Lee, algorithm 1. */
void probe_make_tree(enum probe_shape shape, const struct nf_network *network,
                     double bytes, struct probe_tree *tree_p);
/** When does each have the message?  @param ready_p  [members], us */
void probe_predict(const struct probe_tree *tree,
                   const struct nf_network *network, double bytes,
                   double *ready_p);

struct probe_check {
    char tree[16];
    uint32_t nodes;
    double bytes, predicted_us;
    double measured_us; /**< sending in turn, as the model has it */
    double at_once_us;  /**< sending to all children at once */
};
enum { PROBE_CHECK_SIZES = 2, PROBE_CHECKS = PROBE_SHAPES * PROBE_CHECK_SIZES };
/** Measure what was predicted.  @param checks_p  [PROBE_CHECKS] */
enum nf_status probe_validate(struct probe *probe,
                              const struct nf_network *network, bool quiet,
                              struct probe_check *checks_p);

/* ---- telling: probe_report.c ---- */

/** @param checks  [nchecks]   @param outcome  its times if @p measured */
void probe_print(const struct probe_outcome *outcome, bool measured,
                 const struct probe_check *checks, uint32_t nchecks);
json_t *probe_json(const struct probe_outcome *outcome, bool measured,
                   const struct probe_check *checks, uint32_t nchecks);
#endif
