#ifndef NF_APPS_NOWFARM_REPLAY_H
#define NF_APPS_NOWFARM_REPLAY_H
/** @file replay.h  From a trace to a world in which the same job can be run
 *  again, and how well policies do in it.
 *
 *  replay_seats.c  which slots there were, and when
 *  replay_speeds.c how fast they were
 *  replay_messages.c  what messages take and cost the master, as far as the
 *                     trace shows that
 *  replay_model.c  what the trace says in all
 *  replay_run.c    policies in that world, with the uncertainty
 *  cmd_replay.c    the command */
#include "common/base/rng.h"
#include "common/policy/policy.h"
#include "common/trace/history.h"
#include "sim/farm_sim.h"

/** A slot of a slave, and of the slaves that were started in its place. */
struct seat {
    char host[NF_HISTORY_NAME_BYTES];
    uint32_t slave; /**< the one that has it now, while reading */
    uint32_t slot;
    bool taken;
    double compute_us; /**< sums over what was measured there */
    double units, squares_us2;
    double shortest_us, longest_us; /**< units, about */
    bool differs, will_differ; /**< from the others, in speed; while fitting */
    double speed;              /**< 1: as the others */
};

/** From being there to being lost. */
struct absence {
    uint32_t seat;
    bool silent;   /**< the loss was only noticed, by silence */
    int64_t at_us; /**< gone since then; 0: came late */
    int64_t noticed_us;
    int64_t until_us; /**< there again; -1: never */
};

struct seats {
    uint32_t count;
    uint32_t nfree; /**< that nobody has, while reading */
    struct seat *list;
    uint32_t *of_chunk; /**< [h->nchunks] */
    uint32_t nabsences;
    struct absence *absences; /**< by time of noticing */
};

/** Who sat where.  Times are those of the trace.
 *  @retval NF_ERR_NOMEM */
enum nf_status seats_find(const struct nf_history *h, struct seats *seats_p);
void seats_fini(struct seats *seats);

/** Fill the sums, extremes and speeds of @p seats, which are as seats_find()
 *  made them.  O(chunks + seats).
 *  @return how many units were measured; 0: all speeds are 1 */
double speeds_fit(const struct nf_history *h, struct seats *seats);

/** What messages take, in a world that the trace allows. */
struct messages {
    double way_us, way_unit_us; /**< of a chunk there and back */
    double recv_us;             /**< the master's work for a result */
    double *extra_us;           /**< [seats] of a way, above way_us */
};

/** Ways by four readings, with the least and the most work for a result. */
enum { MESSAGES_MOST = 8 };

/** What the trace says of the job and the network. */
struct replay_model {
    const struct nf_history *h;
    const struct nf_pacer_ops *pacer; /**< of the policy used; NULL: unknown */
    struct seats seats;
    int64_t from_us;      /**< the first lease was sent */
    int64_t measured_us;  /**< from then to the last result; -1: not all is
                               done */
    uint64_t known_units; /**< of h->units, that were measured */
    double *unit_us;      /**< [h->units]: at speed 1 */
    double mean_us, deviation_us; /**< of the known ones */
    double send_us, send_unit_us; /**< the master's work for a lease */
    double out_share;             /**< of a way, on the way there */
    bool by_clock; /**< the master sends by the clock, or who knows how */
    bool ways_known, recv_known;             /**< the trace shows them */
    uint32_t nmessages;                      /**< >= 1; 1 if all is known */
    struct messages messages[MESSAGES_MOST]; /**< the likely one first */
    bool losses_ignored; /**< the simulator can't have them */
};

/** Fill send_us to messages of @p m, whose seats have speeds.  What a trace
 *  does not show differs between messages[].
 *  @retval NF_ERR_NOMEM */
enum nf_status messages_fit(struct replay_model *m);
void messages_fini(struct replay_model *m);

/** Fit.  *err is without the name of the file.
 *  @param model_p  set on NF_OK; release with model_fini(); borrows @p h
 *  @retval NF_ERR_INVAL  nothing was measured, or there is too much of it
 *  @retval NF_ERR_NOMEM */
enum nf_status model_fit(const struct nf_history *h,
                         struct replay_model *model_p, struct nf_error *err);
void model_fini(struct replay_model *model);
/** The world of the model, with its first messages and the costs that were
 *  measured.
 *  @param world_p  set on NF_OK; release with nf_world_fini()
 *  @retval NF_ERR_INVAL  the simulator can't have it (times too long) */
enum nf_status model_world(struct replay_model *model, struct nf_world *world_p,
                           struct nf_error *err);
/** Give @p world messages[which]. */
void model_set_messages(const struct replay_model *model, uint32_t which,
                        struct nf_world *world);
/** Give @p world other costs: those that were measured if @p rng is NULL, else
 *  each unit that of a random unit nearby, so that trends along the units stay
 *  (moving-block bootstrap with blocks of one). */
void model_set_costs(const struct replay_model *model, struct nf_rng *rng,
                     struct nf_world *world);

/** How sure it is what a policy is against the best. */
enum verdict {
    VERDICT_BEST,
    VERDICT_SAME, /**< no difference can be told */
    VERDICT_WORSE,
    VERDICT_NONE, /**< it did not run: why */
};

struct candidate {
    struct nf_policy policy;
    bool used;       /**< it is the one of the trace */
    double point_us; /**< with the costs that were measured */
    double
        *runs_us; /**< [nworlds][runs]: with resampled costs, alike for all */
    double median_us, low_us, high_us;   /**< 90 % of the runs */
    double ratio, ratio_low, ratio_high; /**< to the best, run by run; from the
                                            lowest to the highest world */
    double ratio_least;                  /**< the least median of the worlds */
    enum verdict verdict;
    char why[NF_ERROR_TEXT_BYTES];
};

struct replay {
    uint32_t runs;
    uint64_t seed;
    uint32_t count, best; /**< best: index; meaningless if `none` */
    bool none;            /**< no policy ran */
    bool error_known;
    double error; /**< simulated / measured - 1 of the policy used; 0 and of
                       no meaning unless error_known */
    double least_factor; /**< by which a policy must be worse to be told so;
                              INFINITY: nothing can be told */
    uint32_t nworlds;    /**< that agree with what was measured */
    uint32_t worlds[MESSAGES_MOST]; /**< which messages of the model; the one
                                         that agrees best first: all but
                                         the interval of ratios are from it */
    struct candidate *list;
};

/** Add a policy, unless it is there already.
 *  @retval NF_ERR_INVAL  no such policy    @retval NF_ERR_NOMEM */
enum nf_status replay_add(struct replay *replay, const char *spec, bool used,
                          struct nf_error *err);
/** Add every sizer with pull and with auto, parameters that measure the job
 *  taken from @p model.  @retval NF_ERR_NOMEM */
enum nf_status replay_add_all(struct replay *replay,
                              const struct replay_model *model,
                              struct nf_error *err);
/** Run them all and judge.
 *  @param world  its costs are changed
 *  @retval NF_ERR_NOMEM */
enum nf_status replay_run(struct replay *replay,
                          const struct replay_model *model,
                          struct nf_world *world, struct nf_error *err);
void replay_fini(struct replay *replay);
#endif
