/* fac: factoring for units whose times have a known mean and deviation.  Batch
 * j opens with R units left and has p chunks of F = ceil(R / (x p)):
 *
 *     b   = p / (2 sqrt(R)) sigma / mu
 *     x_0 = 1 + b^2 + b sqrt(b^2 + 2)
 *     x_j = 2 + b^2 + b sqrt(b^2 + 4)
 *
 * Without deviation this is one batch of all units; the more deviation, the
 * smaller the batches. */
#include "config.h"
#include "common/policy/batch.h"
#include <math.h>

struct fac {
    double deviation; /* sigma / mu */
    bool started;
    struct nf_batch batch;
};

enum { PARAM_MU, PARAM_SIGMA, PARAM_KMIN };

static const struct nf_param params[] = {
    {
        .name = "mu",
        .kind = NF_PARAM_REAL,
        .default_text = "1",
        .unit = "any, as sigma",
        .positive = true,
        .help = "mean time of a unit",
    },
    {
        .name = "sigma",
        .kind = NF_PARAM_REAL,
        .default_text = "0.25",
        .unit = "any, as mu",
        .help = "standard deviation of the time of a unit",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t fac_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct fac);
}

static enum nf_status fac_init(void *st, const struct nf_policy_env *env,
                               const struct nf_param_value *values,
                               struct nf_error *err)
{
    struct fac *fac = st;

    (void)err;
    fac->deviation = values[PARAM_SIGMA].real / values[PARAM_MU].real;
    nf_batch_init(&fac->batch, env, values[PARAM_KMIN].count);
    return NF_OK;
}

static uint64_t chunk_of_batch(const struct fac *fac, uint64_t left)
{
    double slots = (double)fac->batch.slots;
    double b = slots / (2 * sqrt((double)left)) * fac->deviation;
    double x = fac->started ? 2 + b * b + b * sqrt(b * b + 4)
                            : 1 + b * b + b * sqrt(b * b + 2);

    return nf_ceil_real((double)left / (x * slots));
}

static enum nf_status fac_next(void *st, uint32_t slot, uint64_t left,
                               uint64_t *units_p)
{
    struct fac *fac = st;

    (void)slot;
    if (nf_batch_is_empty(&fac->batch, left)) {
        nf_batch_open(&fac->batch, left, chunk_of_batch(fac, left));
        fac->started = true;
    }
    *units_p = nf_batch_take(&fac->batch, left, fac->batch.chunk_units);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_fac = {
    .name = "fac",
    .summary = "factoring: batches sized by the known deviation of the units",
    .source = "Hummel, Schonberg & Flynn, CACM 35(8) 1992, x_0 and x_j",
    .params = params,
    .state_size = fac_state_size,
    .init = fac_init,
    .next = fac_next,
};
