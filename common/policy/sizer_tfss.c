/* tfss: trapezoid factoring.  Batches of p equal chunks, each the mean of the
 * next p chunks of tss, rounded down. */
#include "config.h"
#include "common/policy/batch.h"
#include "common/policy/trapezoid.h"

struct tfss {
    struct nf_trapezoid trapezoid;
    struct nf_batch batch;
    uint64_t terms; /* used by the batches opened so far */
};

enum { PARAM_KMIN = NF_TRAPEZOID_PARAMS };

static const struct nf_param params[] = {
    NF_PARAMS_TRAPEZOID,
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t tfss_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct tfss);
}

static enum nf_status tfss_init(void *st, const struct nf_policy_env *env,
                                const struct nf_param_value *values,
                                struct nf_error *err)
{
    struct tfss *tfss = st;

    (void)err;
    nf_trapezoid_init(&tfss->trapezoid, env, values);
    nf_batch_init(&tfss->batch, env, values[PARAM_KMIN].count);
    return NF_OK;
}

static enum nf_status tfss_next(void *st, uint32_t slot, uint64_t left,
                                uint64_t *units_p)
{
    struct tfss *tfss = st;

    (void)slot;
    if (nf_batch_is_empty(&tfss->batch, left)) {
        nf_batch_open(&tfss->batch, left,
                      nf_trapezoid_mean(&tfss->trapezoid, tfss->terms,
                                        tfss->batch.slots));
        tfss->terms += tfss->batch.slots;
    }
    *units_p = nf_batch_take(&tfss->batch, left, tfss->batch.chunk_units);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_tfss = {
    .name = "tfss",
    .summary = "batches of p equal chunks that fall linearly",
    .source = "Chronopoulos, Andonie, Benche & Grosu, CLUSTER 2001",
    .params = params,
    .state_size = tfss_state_size,
    .init = tfss_init,
    .next = tfss_next,
};
