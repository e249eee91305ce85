#ifndef NF_APPS_NOWFARM_PROBE_H
#define NF_APPS_NOWFARM_PROBE_H
/** @file probe.h  The parts of `nowfarm probe`. */
#include <jansson.h>
#include "apps/collbench/probe.h"
#include "apps/nowfarm/coll_world.h"
#include "common/model/estimate.h"
#include "common/model/homogeneous.h"
#include "common/tree/crl.h"

enum {
    PROBE_TREE_SIZES_MAX = 8,
    /** If nothing is said: of 8 hosts on a switch of 100 Mbit/s nearly all is
     *  measured as often as can be, and with all else it is less than a minute,
     *  on busy processors too. */
    PROBE_BUDGET_US = 30000000,
};
#define PROBE_FILE "nowfarm-network.json"

struct probe_options {
    struct coll_world_config world;
    const char *out;   /**< the model file */
    const char *show;  /**< instead: one that there is; NULL: measure */
    bool shared;       /**< one medium: nobody at the same time */
    int64_t budget_us; /**< to measure for, about */
    bool validate, json, quiet;
    uint64_t sizes[PROBE_TREE_SIZES_MAX]; /**< of all trees, to be measured */
    unsigned nsizes;
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
/** How long it may take with all that has to be taken again: three tenths more
 *  than the budget, or than that takes which has to be measured. */
double probe_most_us(const struct probe_costs *costs, double budget_us);
/** May uneven times be taken again?  As long as all that is still to come ends
 *  in probe_most_us().
 *  @param spent_us  since the first job began
 *  @param done_us   of costs->total_us */
bool probe_may_retry(const struct probe_costs *costs, double budget_us,
                     double spent_us, double done_us);
/** How often is this taken, now that so much time is gone?  As planned, or if
 *  all is slower than it was thought to be less often, so that it ends then; 5
 *  times or more.  Other parameters as above. */
uint32_t probe_repeats(const struct probe_costs *costs, enum probe_job job,
                       uint32_t size, double budget_us, double spent_us,
                       double done_us);
/** Trees are cast in rounds of so many.  Those that took less than that a round, on
 *  average, are short, and have more rounds than others: so many, or if all trees of a
 *  size are compared. */
enum {
    PROBE_ROUND_CASTS = 11,
    PROBE_SHORT_ROUND_US = 10000,
    PROBE_SHORT_ROUNDS = 9,
    PROBE_COMPARED_ROUNDS = 90,
};
static inline uint32_t probe_short_rounds(const struct probe_options *o)
{
    return o->nsizes > 0 ? PROBE_COMPARED_ROUNDS : PROBE_SHORT_ROUNDS;
}
/** Roughly what is measured after these jobs: trees, if any, and the model of
 *  collective operations (coll_probe.h). */
double probe_trees_us(uint32_t members, bool alone,
                      const struct probe_speed *speeds,
                      const struct probe_options *o);
double probe_groups_us(uint32_t members, const struct probe_speed *speeds);
/** How long a message and its answer take between two. */
double probe_couple_us(const struct probe_speed *speeds,
                       const struct probe_couple *couple, double bytes);
/** How long they wait before it: what a link saves up while it is idle it then
 *  has again; or its queue is empty. */
double probe_idle_us(const struct probe_speed *speeds,
                     const struct probe_couple *couple, double bytes);
/** How long a message is let come before it is taken, PROBE_JOB_TAKE. */
double probe_take_us(const struct probe_speed *speeds,
                     const struct probe_couple *couple, double bytes);

/* ---- measuring: probe_run.c ---- */

struct probe_outcome {
    struct nf_network network;
    bool alone;             /**< nobody at the same time as others */
    uint32_t points, noisy; /**< times measured; too uneven to be believed */
    uint32_t least_count;   /**< the fewest repetitions of one */
    double planned_s, elapsed_s; /**< all, but starting in planned_s */
    double most_s;          /**< planned_s, with what is taken again */
    double bare_us[NF_NETWORK_HOSTS_MAX]; /**< half of PP(0, j, 0), without pauses */
};
/** Of so many of these is a median taken, and of such medians the least. */
enum { PROBE_BARE_COUNT = 100 };
/** @param names  [members], all different
 *  @param outcome_p  all but elapsed_s; network: free with nf_network_fini()
 *  @retval < 0  probe->err; probe->guilty */
enum nf_status probe_measure(struct probe *probe, const struct probe_options *o,
                             const char (*names)[NF_NETWORK_NAME_BYTES],
                             struct probe_outcome *outcome_p);
/** Progress, on a terminal: @p share of all that is to be measured is done; negative:
 *  how much is not known.
 *  @param what  NULL: forget the line */
void probe_show_progress(bool quiet, const char *what, double share);

/* ---- what is beyond messages: probe_call.c, pure ---- */

enum { PROBE_CALLS = 3 };
/** What the messages of broadcast @p number, one of PROBE_CALLS, of a byte to
 *  all take, as the network is now. */
typedef enum nf_status probe_price(const struct nf_network *network,
                                   uint32_t number, double *us_p);
/** Find call_us and wake_us, nf_network_set_call().
 *  @param us  [PROBE_CALLS] what the broadcasts have taken
 *  @retval < 0  that of @p price */
enum nf_status probe_set_call(struct nf_network *network, const double *us,
                              probe_price *price);

/* ---- predictions: probe_trees.c, pure ---- */

enum probe_shape { PROBE_STAR, PROBE_CHAIN, PROBE_OPT, PROBE_SHAPES };
/** A tree, and what was found out about it. */
struct probe_check {
    const char *name;
    uint64_t bytes;
    struct nf_crl_plan plan; /**< time_us is predicted */
    double measured_us;
};
/** A number of messages in a row from one host to another. */
struct probe_flood {
    uint32_t from, to;
    uint64_t bytes;
    double predicted_us, measured_us; /**< from the first that is there to the last */
};
struct probe_checks {
    struct probe_check *list; /**< [count] */
    uint32_t count;
    struct probe_flood *floods; /**< [nfloods], by sizes */
    uint32_t nfloods;
    double call_us, wake_us; /**< what trees of bare relays take more than the
                                  network's model says */
};
void probe_checks_fini(struct probe_checks *checks);

/** The star and the chain of the first hosts, up to 4, and an OPT-tree of all;
 *  the root is host 0.  Predicted by the curves of the model, ports included,
 *  and by call_us, wake_us and runtime_us as those of groups are: these may be
 *  of bare relays in place of members.
 *  @param check_p  nf_crl_plan_fini() its plan   @retval NF_ERR_NOMEM
 *  Source: Lee, algorithm 1. */
enum nf_status probe_plan_shape(enum probe_shape shape,
                                const struct nf_network *network,
                                uint64_t bytes, struct probe_check *check_p);
/** The tree of that number in what `nowfarm trees` lists, for all hosts.
 *  @retval NF_WAIT   it is not for so many hosts
 *  @retval NF_ERR_RANGE  there are no more */
enum nf_status probe_plan_listed(uint32_t number,
                                 const struct nf_network *network,
                                 uint64_t bytes, struct probe_check *check_p);

/** A tree of all for a message of a byte, broadcast @p number of PROBE_CALLS.
 */
enum nf_status probe_plan_call(uint32_t number,
                               const struct nf_network *network,
                               struct probe_check *check_p);
enum { PROBE_FLOOD_MESSAGES = 16, PROBE_FLOOD_COUNT = 3, PROBE_FLOOD_WARM = 1 };
/** What is predicted of a flood: so many times, less one, what the slowest of those
 *  takes who have to do with each message: its sender, the wire and its receiver.
 *  Where there is no wire, between members on one host, the sender takes S, as it does
 *  in trees. */
enum nf_status probe_plan_flood(const struct nf_network *network,
                                struct probe_flood *flood);
/** The sizes of shapes, and floods. */
enum { PROBE_CHECK_SIZES = 2 };
extern const uint64_t probe_check_sizes[PROBE_CHECK_SIZES];

/** Append the three shapes at 1 KiB and 64 KiB, and all trees that are listed.
 *  @param checks  also after a failure probe_checks_fini() it */
enum nf_status probe_plan_shapes(const struct nf_network *network,
                                 struct probe_checks *checks);
enum nf_status probe_plan_trees(const struct nf_network *network,
                                uint64_t bytes, struct probe_checks *checks);

/* ---- and what trees really take: probe_casts.c ---- */

/** For the slowest wire to have again what it saves up while idle. */
uint32_t probe_idle_most_us(const struct nf_network *network);

/** Plan the three shapes, and all trees listed at the sizes of @p o, and
 *  measure them, those that are one and the same tree once.  What relays take beyond
 *  messages is measured first, by messages of a byte, and is a part of what is
 *  predicted, and planned by.
 *  @param outcome  call_us, wake_us and runtime_us are 0: not measured yet
 *  @param checks_p  probe_checks_fini() it */
enum nf_status probe_validate(struct probe *probe,
                              const struct probe_outcome *outcome,
                              const struct probe_options *o,
                              struct probe_checks *checks_p);

/** ... and floods: each host gets one of each size.  probe_floods.c
 *  @param checks  its floods are set */
enum nf_status probe_measure_floods(struct probe *probe,
                                    const struct probe_outcome *outcome, bool quiet,
                                    struct probe_checks *checks);

/* ---- telling: probe_report.c ---- */

/** @param checks  may be empty   @param outcome  its times if @p measured */
void probe_print(const struct probe_outcome *outcome, bool measured,
                 const struct probe_checks *checks);
json_t *probe_json(const struct probe_outcome *outcome, bool measured,
                   const struct probe_checks *checks);
#endif
