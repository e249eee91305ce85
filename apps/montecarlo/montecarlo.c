/* Monte Carlo integration as an application of the farm. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "apps/app.h"
#include "apps/montecarlo/estimate.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"

#define MAX_SAMPLES (UINT64_C(1) << 50) /* as a double it is exact */
#define MAX_CHUNK   (UINT64_C(1) << 32)
#define MAX_UNITS   UINT64_C(1000000000)

enum { DEFAULT_SAMPLES = 1000000, DEFAULT_CHUNK = 65536 };
/* Of fewer samples the error estimate itself is too uncertain. */
enum { VERIFY_SAMPLES = 1000 };
/* Units that --verify computes again, and how far it lets the estimate be from
 * the known value, in standard errors: 6 in 10 million right runs are
 * further. */
enum { VERIFY_UNITS = 8, VERIFY_ERRORS = 5 };
/* If results come combined --verify computes all of them again, one after the
 * other, as long as these are not more random numbers: a matter of seconds. */
#define VERIFY_NUMBERS (UINT64_C(1) << 28)

struct montecarlo {
    struct nf_montecarlo_params params;
    uint64_t units;
    char *out; /* --out, or NULL */
    bool verify;
    bool combined; /* results came so */
    struct nf_moments total;
    struct nf_montecarlo_estimate estimate; /* see figures() */
    /* What came for the units that are computed again. */
    uint32_t nkept;
    bool kept[VERIFY_UNITS];
    int64_t words[VERIFY_UNITS][NF_MOMENTS_WORDS];
};

static const struct nf_app_option montecarlo_options[] = {
    { "integrand", "NAME",
      "pi (default), ball, gaussian, oscillatory, product-peak, corner-peak, "
      "gaussian-peak, continuous or discontinuous" },
    { "dims", "D", "dimensions; the default depends on the integrand" },
    { "samples", "N", "random points (default 1000000)" },
    { "seed", "S", "seed of the random points (default 1)" },
    { "chunk", "N", "points of a unit (default 65536)" },
    { NULL, NULL, NULL },
};

static enum nf_status montecarlo_create(void **state_p, struct nf_error *err)
{
    struct montecarlo *m = nf_calloc(1, sizeof(*m));

    if (m == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "montecarlo: out of memory");
    m->params.seed = 1;
    m->params.samples = DEFAULT_SAMPLES;
    m->params.chunk = DEFAULT_CHUNK;
    *state_p = m;
    return NF_OK;
}

static void montecarlo_destroy(void *state)
{
    struct montecarlo *m = state;

    if (m == NULL)
        return;
    nf_free(m->out);
    nf_free(m);
}

static enum nf_status set_count(const char *option, const char *text,
                                uint64_t lo, uint64_t hi, uint64_t *value_p,
                                struct nf_error *err)
{
    if (nf_parse_count(text, lo, hi, value_p) == NF_OK)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL,
                   "--%s %.60s: want a number from %" PRIu64 " to %" PRIu64,
                   option, text, lo, hi);
}

static enum nf_status set_integrand(struct montecarlo *m, const char *name,
                                    struct nf_error *err)
{
    int index = nf_integrand_find(name);
    char names[256];
    size_t used = 0;

    if (index >= 0) {
        m->params.integrand = (uint32_t)index;
        return NF_OK;
    }
    for (int i = 0; nf_integrands[i].name != NULL && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 i > 0 ? ", " : "", nf_integrands[i].name);
    return nf_fail(err, NF_ERR_INVAL,
                   "--integrand %.60s: unknown (there are: %s)", name, names);
}

static enum nf_status montecarlo_set(void *state, const char *option,
                                     const char *value, struct nf_error *err)
{
    struct montecarlo *m = state;
    uint64_t dims = 0;
    enum nf_status status;

    if (strcmp(option, "integrand") == 0)
        return set_integrand(m, value, err);
    if (strcmp(option, "samples") == 0)
        return set_count(option, value, 2, MAX_SAMPLES, &m->params.samples,
                         err);
    if (strcmp(option, "chunk") == 0)
        return set_count(option, value, 1, MAX_CHUNK, &m->params.chunk, err);
    if (strcmp(option, "seed") == 0)
        return set_count(option, value, 0, UINT64_MAX, &m->params.seed, err);
    if (strcmp(option, "dims") == 0) {
        status = set_count(option, value, 1, NF_INTEGRAND_DIMS, &dims, err);
        m->params.dims = (uint32_t)dims;
        return status;
    }
    return nf_fail(err, NF_ERR_INVAL, "montecarlo has no option --%.60s",
                   option);
}

/* ---------------------------------------------------------------- the slaves
 */

static int fail(const struct nf_work *work, const char *reason)
{
    snprintf(work->error, work->error_bytes, "montecarlo: %s", reason);
    return 1;
}

static int compute(const struct nf_work *work)
{
    struct nf_montecarlo_params params;
    int64_t words[NF_MONTECARLO_PARAM_WORDS], *result;
    struct nf_moments moments;

    if (work->shared_bytes != sizeof(words))
        return fail(work, "shared data of the wrong size");
    memcpy(words, work->shared, sizeof(words));
    if (nf_montecarlo_decode(words, &params) != NF_OK)
        return fail(work, "shared data that are no parameters");
    if (work->first >= nf_montecarlo_units(&params))
        return fail(work, "no such unit");
    nf_montecarlo_unit(&params, work->first, &moments);
    result = nf_buf_reserve(work->result, NF_MOMENTS_WORDS * sizeof(*result));
    if (result == NULL)
        return fail(work, "out of memory");
    nf_moments_encode(&moments, result);
    return 0;
}

/* What does not decode makes the outcome such that it does not decode either,
 * and the master finds that. */
static void combine(void *inout, const void *in, size_t bytes)
{
    int64_t a[NF_MOMENTS_WORDS] = { -1 }, b[NF_MOMENTS_WORDS];

    if (bytes != sizeof(a))
        return;
    memcpy(b, inout, sizeof(b));
    memcpy(a, in, sizeof(a));
    if (nf_montecarlo_combine(a, b) != NF_OK)
        b[0] = -1;
    memcpy(inout, b, sizeof(b));
}

static const struct nf_app montecarlo_kernel = {
    .name = "montecarlo",
    .compute = compute,
    .combine_by = NF_COMBINE_OWN,
    .combine = combine,
    .result_type = NF_INT64,
    .shared_type = NF_INT64,
};

/* ---------------------------------------------------------------- the master
 */

static enum nf_status montecarlo_share(void *user, struct nf_buf *shared)
{
    const struct montecarlo *m = user;
    int64_t words[NF_MONTECARLO_PARAM_WORDS];

    nf_montecarlo_encode(&m->params, words);
    return nf_buf_append(shared, words, sizeof(words));
}

/* The units that are kept: evenly spaced, with the first and the last. */
static uint64_t kept_unit(const struct montecarlo *m, uint32_t i)
{
    if (m->nkept < 2)
        return 0;
    return (m->units - 1) / (m->nkept - 1) * i +
           (m->units - 1) % (m->nkept - 1) * i / (m->nkept - 1);
}

static uint64_t samples_of(const struct nf_montecarlo_params *params,
                           uint64_t unit)
{
    uint64_t left = params->samples - unit * params->chunk;

    return left < params->chunk ? left : params->chunk;
}

static enum nf_status montecarlo_collect(void *user, uint64_t unit,
                                         const void *result, size_t bytes)
{
    struct montecarlo *m = user;
    struct nf_moments moments;
    int64_t words[NF_MOMENTS_WORDS];

    if (unit >= m->units || bytes != sizeof(words))
        return NF_ERR_PROTOCOL;
    memcpy(words, result, sizeof(words));
    if (nf_moments_decode(words, &moments) != NF_OK ||
        moments.count != samples_of(&m->params, unit))
        return NF_ERR_PROTOCOL;
    nf_moments_merge(&m->total, &moments);
    for (uint32_t i = 0; i < m->nkept; i++) {
        if (kept_unit(m, i) == unit) {
            memcpy(m->words[i], words, sizeof(words));
            m->kept[i] = true;
        }
    }
    return NF_OK;
}

static enum nf_status montecarlo_collect_combined(void *user,
                                                  const void *result,
                                                  size_t bytes, uint64_t units)
{
    struct montecarlo *m = user;
    struct nf_moments moments;
    int64_t words[NF_MOMENTS_WORDS];

    if (bytes != sizeof(words))
        return NF_ERR_PROTOCOL;
    memcpy(words, result, sizeof(words));
    if (nf_moments_decode(words, &moments) != NF_OK ||
        (units == m->units && moments.count != m->params.samples))
        return NF_ERR_PROTOCOL;
    nf_moments_merge(&m->total, &moments);
    m->combined = true;
    return NF_OK;
}

static enum nf_status check_request(struct montecarlo *m, struct nf_error *err)
{
    const struct nf_integrand *f = &nf_integrands[m->params.integrand];
    uint64_t units = nf_montecarlo_units(&m->params);

    if (m->params.dims == 0)
        m->params.dims = f->dims_default;
    if (m->params.dims < f->dims_low || m->params.dims > f->dims_high)
        return nf_fail(err, NF_ERR_INVAL,
                       "--dims %u: integrand %s wants %u to %u", m->params.dims,
                       f->name, f->dims_low, f->dims_high);
    if (units > MAX_UNITS)
        return nf_fail(err, NF_ERR_INVAL,
                       "--chunk %" PRIu64 ": makes %" PRIu64
                       " units of %" PRIu64 " samples (want at least %" PRIu64
                       ")",
                       m->params.chunk, units, m->params.samples,
                       (m->params.samples - 1) / MAX_UNITS + 1);
    m->units = units;
    return NF_OK;
}

static enum nf_status montecarlo_open(void *state,
                                      const struct nf_app_request *request,
                                      struct nf_app *app_p,
                                      struct nf_error *err)
{
    struct montecarlo *m = state;
    enum nf_status status = check_request(m, err);

    if (status == NF_OK && request->verify &&
        m->params.samples < VERIFY_SAMPLES)
        return nf_fail(err, NF_ERR_INVAL,
                       "--verify: wants at least %d samples to compare with "
                       "the known value, there are %" PRIu64,
                       VERIFY_SAMPLES, m->params.samples);
    if (status == NF_OK && request->out != NULL) {
        status = nf_output_check(request->out, err);
        if (status != NF_OK)
            nf_fail_prefix(err, "--out");
    }
    if (status != NF_OK)
        return status;
    if (request->out != NULL) {
        m->out = nf_strdup(request->out);
        if (m->out == NULL)
            return nf_fail(err, NF_ERR_NOMEM, "montecarlo: out of memory");
    }
    if (request->verify)
        m->nkept =
            (uint32_t)(m->units < VERIFY_UNITS ? m->units : VERIFY_UNITS);
    *app_p = montecarlo_kernel;
    app_p->units = m->units;
    app_p->user = m;
    app_p->share = montecarlo_share;
    app_p->collect = montecarlo_collect;
    app_p->collect_combined = montecarlo_collect_combined;
    return NF_OK;
}

/* ------------------------------------------------------------- what came out
 */

/* @return false: fewer than two samples came */
static bool estimate(struct montecarlo *m)
{
    if (m->total.count < 2)
        return false;
    nf_moments_normalize(&m->total);
    nf_montecarlo_estimate(&m->total, &m->estimate);
    return true;
}

static uint32_t montecarlo_figures(void *state, struct nf_app_figure *figures_p)
{
    struct montecarlo *m = state;
    const struct nf_montecarlo_params *params = &m->params;
    const struct nf_integrand *f = &nf_integrands[params->integrand];
    const struct nf_montecarlo_estimate *e = &m->estimate;
    uint32_t n = 0;

    if (!estimate(m))
        return 0;
    figures_p[n++] = (struct nf_app_figure){ .name = "integrand",
                                             .kind = NF_FIGURE_TEXT,
                                             .text = f->name };
    figures_p[n++] = (struct nf_app_figure){ .name = "dims",
                                             .kind = NF_FIGURE_COUNT,
                                             .count = params->dims };
    figures_p[n++] = (struct nf_app_figure){ .name = "seed",
                                             .kind = NF_FIGURE_COUNT,
                                             .count = params->seed };
    figures_p[n++] = (struct nf_app_figure){ .name = "samples",
                                             .kind = NF_FIGURE_COUNT,
                                             .count = e->samples };
    figures_p[n++] =
        (struct nf_app_figure){ .name = "estimate", .real = e->value };
    figures_p[n++] = (struct nf_app_figure){ .name = "standard_error",
                                             .real = e->standard_error };
    figures_p[n++] =
        (struct nf_app_figure){ .name = "confidence95_low", .real = e->low };
    figures_p[n++] =
        (struct nf_app_figure){ .name = "confidence95_high", .real = e->high };
    figures_p[n++] =
        (struct nf_app_figure){ .name = "known_value",
                                .real = f->integral(params->dims) };
    return n;
}

/* Do the units that were kept have the bits that this process computes?  If
 * results came combined none was kept. */
static enum nf_status verify_units(const struct montecarlo *m, uint32_t *done_p,
                                   struct nf_error *err)
{
    int64_t words[NF_MOMENTS_WORDS];
    struct nf_moments moments;

    *done_p = 0;
    for (uint32_t i = 0; i < m->nkept; i++) {
        if (!m->kept[i])
            continue;
        nf_montecarlo_unit(&m->params, kept_unit(m, i), &moments);
        nf_moments_encode(&moments, words);
        if (memcmp(words, m->words[i], sizeof(words)) != 0)
            return nf_fail(err, NF_ERR_VERIFY,
                           "unit %" PRIu64 ": its sums differ from those "
                           "computed here (another C library on a slave?)",
                           kept_unit(m, i));
        ++*done_p;
    }
    return NF_OK;
}

static bool is_soon_computed(const struct montecarlo *m)
{
    return m->params.samples <= VERIFY_NUMBERS / m->params.dims;
}

/* Are the sums of all samples those that this process computes, one unit after
 * the other?  They are exact, so they have the same bits in any order. */
static enum nf_status verify_sums(const struct montecarlo *m,
                                  struct nf_error *err)
{
    int64_t got[NF_MOMENTS_WORDS], want[NF_MOMENTS_WORDS];
    struct nf_moments all = { .count = 0 }, unit;

    for (uint64_t i = 0; i < m->units; i++) {
        nf_montecarlo_unit(&m->params, i, &unit);
        nf_moments_merge(&all, &unit);
    }
    nf_moments_normalize(&all);
    nf_moments_encode(&all, want);
    nf_moments_encode(&m->total, got);
    if (memcmp(got, want, sizeof(got)) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_VERIFY,
                   "the combined sums differ from those computed here (another "
                   "C library on a slave?)");
}

/* The estimated standard error, or the true one if that is known and more: a
 * rare event may not have happened. */
static double error_allowed(const struct montecarlo *m)
{
    const struct nf_integrand *f = &nf_integrands[m->params.integrand];
    double error = m->estimate.standard_error, known, truth;

    if (f->square != NULL) {
        known = f->integral(m->params.dims);
        truth = sqrt((f->square(m->params.dims) - known * known) /
                     (double)m->estimate.samples);
        error = truth > error ? truth : error;
    }
    return VERIFY_ERRORS * error;
}

static enum nf_status montecarlo_verify(void *state, char *note_p,
                                        size_t note_bytes, struct nf_error *err)
{
    struct montecarlo *m = state;
    const struct nf_integrand *f = &nf_integrands[m->params.integrand];
    double known = f->integral(m->params.dims), off, allowed;
    uint32_t recomputed;
    char again[80];
    enum nf_status status;

    if (!estimate(m) || m->total.count != m->params.samples)
        return nf_fail(err, NF_ERR_VERIFY,
                       "%" PRIu64 " samples came, not %" PRIu64, m->total.count,
                       m->params.samples);
    status = verify_units(m, &recomputed, err);
    if (status == NF_OK && m->combined && is_soon_computed(m))
        status = verify_sums(m, err);
    if (status != NF_OK)
        return status;
    off = fabs(m->estimate.value - known);
    allowed = error_allowed(m);
    if (!(off <= allowed))
        return nf_fail(err, NF_ERR_VERIFY,
                       "%s: estimate %.17g is %.3g from the known value %.17g, "
                       "more than %d standard errors, %.3g",
                       f->name, m->estimate.value, off, known, VERIFY_ERRORS,
                       allowed);
    if (!m->combined)
        snprintf(again, sizeof(again), "%u units computed again, same bits",
                 recomputed);
    else
        snprintf(again, sizeof(again), "%s",
                 is_soon_computed(m)
                     ? "all sums computed again, same bits"
                     : "results came combined, and are too many to compute all "
                       "again");
    snprintf(note_p, note_bytes,
             "%.2g from the known value (%d standard errors allow %.2g); %s",
             off, VERIFY_ERRORS, allowed, again);
    return NF_OK;
}

static enum nf_status montecarlo_save(void *state, struct nf_error *err)
{
    struct montecarlo *m = state;
    struct nf_app_figure figures[NF_APP_FIGURES];

    if (m->out == NULL)
        return NF_OK;
    return nf_figures_write(m->out, figures, montecarlo_figures(m, figures),
                            err);
}

const struct nf_app_kind nf_app_montecarlo = {
    .name = "montecarlo",
    .summary = "Monte Carlo integration, the same bits for any number of "
               "slaves; a unit is a block of random points",
    .options = montecarlo_options,
    .kernel = &montecarlo_kernel,
    .create = montecarlo_create,
    .destroy = montecarlo_destroy,
    .set = montecarlo_set,
    .open = montecarlo_open,
    .verify = montecarlo_verify,
    .save = montecarlo_save,
    .figures = montecarlo_figures,
};
