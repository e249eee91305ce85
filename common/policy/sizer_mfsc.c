/* mfsc: fixed-size chunking without parameters.  About as many chunks as fac2
 * makes: c = floor(0.55 + t ln 2 / ln t) with t = ceil(N/p). */
#include "config.h"
#include "common/policy/arith.h"
#include <math.h>

struct mfsc {
    uint64_t chunk_units;
    uint64_t min_units;
};

enum { PARAM_KMIN };

static const struct nf_param params[] = {
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t mfsc_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct mfsc);
}

static uint64_t chunk_as_many(const struct nf_policy_env *env)
{
    double share = (double)nf_ceil_div(env->units, env->slots);

    if (share <= 1) /* ln 1 = 0 */
        return 1;
    return (uint64_t)(0.55 + share * log(2) / log(share));
}

static enum nf_status mfsc_init(void *st, const struct nf_policy_env *env,
                                const struct nf_param_value *values,
                                struct nf_error *err)
{
    struct mfsc *mfsc = st;

    (void)err;
    mfsc->min_units = values[PARAM_KMIN].count;
    mfsc->chunk_units = chunk_as_many(env);
    return NF_OK;
}

static enum nf_status mfsc_next(void *st, uint32_t slot, uint64_t left,
                                uint64_t *units_p)
{
    const struct mfsc *mfsc = st;

    (void)slot;
    *units_p = nf_clamp_chunk(mfsc->chunk_units, mfsc->min_units, left);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_mfsc = {
    .name = "mfsc",
    .summary = "one size, for about as many chunks as fac2 makes",
    .source = "Banicescu et al. 2013",
    .params = params,
    .state_size = mfsc_state_size,
    .init = mfsc_init,
    .next = mfsc_next,
};
