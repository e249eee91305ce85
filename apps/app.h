#ifndef NF_APPS_APP_H
#define NF_APPS_APP_H
/** @file app.h  The applications that `nowfarm run APP` and nowfarm-slave know.
 *  An application is one folder under apps/ and one line in NF_APP_LIST. */
#include <stdbool.h>
#include "apps/figures.h"
#include "nowfarm.h"

/** One option of an application, "--name ARG" on the command line. */
struct nf_app_option {
    const char *name;      /**< without "--" */
    const char *argument;  /**< "N", "FILE" (it names one), ...; NULL: a flag,
                                value is "1" */
    const char *help;      /**< one line */
};

/** What the user asked for besides the application's own options. */
struct nf_app_request {
    const char *out;       /**< --out FILE, or NULL */
    bool verify;           /**< --verify */
    bool threads;          /**< slaves are threads of this process */
};

struct nf_app_kind {
    const char *name, *summary;
    const struct nf_app_option *options; /**< ends with name NULL */
    /** What slaves need: name, compute, batch_units and the types. */
    const struct nf_app *kernel;
    /** More kernels that slaves need, for open() to choose; NULL at the end.
     *  NULL: none. */
    const struct nf_app *const *more_kernels;
    /** A state with default options; free with destroy (NULL is fine). */
    enum nf_status (*create)(void **state_p, struct nf_error *err);
    void (*destroy)(void *state);
    /** One option as written; checks its syntax.
     *  @retval NF_ERR_INVAL  err: "--n abc: not a number (want 1 to ...)" */
    enum nf_status (*set)(void *state, const char *option, const char *value,
                          struct nf_error *err);
    /** All options are set: read and check every input and the output path,
     *  allocate, fill *app_p (a complete nf_app whose user is @p state).
     *  Nothing has been started yet, so every bad input must show here. */
    enum nf_status (*open)(void *state, const struct nf_app_request *request,
                           struct nf_app *app_p, struct nf_error *err);
    /** The job is done: check the result.  NULL: cannot be verified.
     *  @param note_p  one line of what was compared, with the tolerance
     *  @retval NF_ERR_VERIFY  wrong; err says by how much */
    enum nf_status (*verify)(void *state, char *note_p, size_t note_bytes,
                             struct nf_error *err);
    /** Write request->out completely or not at all (temporary file in the same
     *  directory, renamed into place).  What units that were given up would have
     *  filled is NaN (float) or 0.  NULL: nothing to write. */
    enum nf_status (*save)(void *state, struct nf_error *err);
    /** The job is over: the numbers that the report is to show as its result.
     *  NULL: the result is no handful of numbers.
     *  @param figures_p  [NF_APP_FIGURES]; texts stay valid until destroy
     *  @return how many, 0 if there is no result */
    uint32_t (*figures)(void *state, struct nf_app_figure *figures_p);
    /** How many operations the job that was opened takes, of what kind ever, so
     *  that twice as many take twice the time.  NULL: no model of its time. */
    double (*operations)(void *state);
    /** Give the state @p other the variant of the kernel that @p job has, before
     *  it is opened: all but what data there are, and in how many units.  NULL:
     *  there is only one. */
    void (*take_variant)(void *other, const void *job);
    /** Options and values of a job of some ms, NULL at the end, by which the time
     *  of an operation is found; with operations. */
    const char *const *small_job;
    /** The same of a job that caches do not hold, of some ten ms.  NULL: small_job
     *  tells of all. */
    const char *const *large_job;
};

/* clang-format off */
#define NF_APP_LIST(X) \
    X(matmul) \
    X(montecarlo) \
    X(sort) \
    X(synth) \
    X(transpose)
/* clang-format on */

#define NF_APP_DECLARE(n) extern const struct nf_app_kind nf_app_##n;
NF_APP_LIST(NF_APP_DECLARE)

/** In list order, then NULL. */
extern const struct nf_app_kind *const nf_app_table[];
/** @return the application, or NULL. */
const struct nf_app_kind *nf_app_find(const char *name);
#endif
