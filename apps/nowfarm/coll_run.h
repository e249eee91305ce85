#ifndef NF_APPS_NOWFARM_COLL_RUN_H
#define NF_APPS_NOWFARM_COLL_RUN_H
/** @file coll_run.h  The parts of `nowfarm coll-bench`: predicting, measuring,
 *  tuning. */
#include "apps/nowfarm/coll_bench.h"
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

/** Tune, for P = members and its halves, and write options->out; all that was
 *  timed is in @p results. */
enum nf_status coll_tune_all(const struct coll_options *options,
                             struct coll_world *world,
                             struct coll_results *results);

/** As bench_request.algorithm; NULL: auto. */
uint64_t coll_number_of(const struct nf_coll_algorithm *algorithm);

/** One timed series, as a row.  @param wish  without algorithm: auto
 *  @param row_p  us is to be freed or handed to coll_results_add() */
enum nf_status coll_measure(const struct coll_options *options,
                            struct coll_world *world, uint64_t least,
                            const struct nf_coll_query *query,
                            const struct nf_coll_wish *wish,
                            const struct nf_model *model,
                            struct coll_row *row_p);

/** Is @p algorithm asked for, and can it serve @p query? */
bool coll_is_wanted(const struct coll_options *options,
                    const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_query *query);

/** Have the teams choose by the table @p path, if it is of use; lines on
 *  standard error say why not, or what of it is not.
 *  @param instead  what is gone by otherwise, for that line
 *  @param model_p  set to its model
 *  @param status_p  set if it is of use: that of handing it out
 *  @return whether it is of use */
bool coll_use_table(const char *path, const char *instead,
                    struct coll_world *world, struct nf_model *model_p,
                    enum nf_status *status_p);

/** @param bytes_p  of the text  @return the file, to be nf_free()d; NULL with
 *  errno */
char *coll_read_file(const char *path, size_t *bytes_p);
#endif
