#ifndef NF_APPS_NOWFARM_COLL_RUN_H
#define NF_APPS_NOWFARM_COLL_RUN_H
/** @file coll_run.h  The parts of `nowfarm coll-bench`: predicting, measuring,
 *  tuning. */
#include "apps/nowfarm/coll_bench.h"
#include "apps/nowfarm/coll_tune.h"
#include "apps/nowfarm/coll_world.h"
#include "common/coll/wish.h"

/** Fill @p results by options->model alone. */
enum nf_status coll_predict_all(const struct coll_options *options,
                                struct coll_results *results,
                                struct nf_error *err);

/** Measure all that is asked for.  @retval NF_ERR_VERIFY  a result was wrong
 *  @retval < 0  world->team.err */
enum nf_status coll_measure_all(const struct coll_options *options,
                                struct coll_world *world,
                                struct coll_results *results);

/** Can tuning write @p path: what it is now, if anything, is a table, which may
 *  be damaged, and nothing else that somebody may want to keep?
 *  @retval NF_ERR_INVAL  no: err says why */
enum nf_status coll_tune_check(const char *path, struct nf_error *err);

/** Tune, for P = members and its halves, and write options->out; all that was
 *  timed is in @p results. */
enum nf_status coll_tune_all(const struct coll_options *options,
                             struct coll_world *world,
                             struct coll_results *results);

/** As bench_request.algorithm; NULL: auto. */
uint64_t coll_number_of(const struct nf_coll_algorithm *algorithm);

/** Time @p count ways of one call, each in a row.  They take turns, a few calls
 *  each and in any order, so that what disturbs the machine for a while disturbs all
 *  of them, and none is always measured behind the same other one.
 *  @param effort  how many, if options->repeat does not say
 *  @param wishes  [count]; without algorithm: auto
 *  @param rows_p  [count] on NF_OK; their us are to be freed or handed to
 *  coll_results_add()
 *  @retval NF_ERR_VERIFY  a result was wrong  @retval < 0  world->team.err */
enum nf_status coll_measure(const struct coll_options *options,
                            struct coll_world *world,
                            const struct coll_effort *effort,
                            const struct nf_coll_query *query,
                            const struct nf_model *model,
                            const struct nf_coll_wish *wishes, unsigned count,
                            struct coll_row *rows_p);

/** What @p model says that the row's call takes; NaN: there is no formula. */
double coll_predict_row(const struct nf_model *model,
                        const struct nf_coll_query *query,
                        const struct coll_row *row);

/** Have the teams choose by the table @p path, if it is of use; lines on
 *  standard error say why not, or what of it is not.
 *  @param instead  what is gone by otherwise, for that line
 *  @param model_p  set to its model
 *  @param status_p  set if it is of use: that of handing it out
 *  @return whether it is of use */
bool coll_use_table(const char *path, const char *instead,
                    struct coll_world *world, struct nf_model *model_p,
                    enum nf_status *status_p);
#endif
