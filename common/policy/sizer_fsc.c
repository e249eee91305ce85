/* fsc: fixed-size chunking, the best one size for units of known deviation and
 * chunks of known overhead:
 *
 *     c = ceil((sqrt(2) N h / (sigma p sqrt(ln p)))^(2/3)), at most ceil(N/p)
 *
 * No deviation, or one slot: ceil(N/p).  No overhead: 1. */
#include "config.h"
#include "common/policy/arith.h"
#include <math.h>

struct fsc {
    uint64_t chunk_units;
    uint64_t min_units;
};

enum { PARAM_H, PARAM_SIGMA, PARAM_KMIN };

static const struct nf_param params[] = {
    {
        .name = "h",
        .kind = NF_PARAM_REAL,
        .default_text = "0.1",
        .unit = "any, as sigma",
        .help = "overhead of a chunk",
    },
    {
        .name = "sigma",
        .kind = NF_PARAM_REAL,
        .default_text = "0.5",
        .unit = "any, as h",
        .help = "standard deviation of the time of a unit",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t fsc_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct fsc);
}

static uint64_t best_chunk(const struct nf_policy_env *env, double h,
                           double sigma)
{
    uint64_t share = nf_ceil_div(env->units, env->slots), units;
    double n = (double)env->units, p = (double)env->slots;

    if (env->slots == 1 || sigma <= 0)
        return share;
    if (h <= 0)
        return 1;
    units = nf_ceil_real(
        pow(sqrt(2) * n * h / (sigma * p * sqrt(log(p))), 2.0 / 3));
    return units < share ? units : share;
}

static enum nf_status fsc_init(void *st, const struct nf_policy_env *env,
                               const struct nf_param_value *values,
                               struct nf_error *err)
{
    struct fsc *fsc = st;

    (void)err;
    fsc->min_units = values[PARAM_KMIN].count;
    fsc->chunk_units =
        best_chunk(env, values[PARAM_H].real, values[PARAM_SIGMA].real);
    return NF_OK;
}

static enum nf_status fsc_next(void *st, uint32_t slot, uint64_t left,
                               uint64_t *units_p)
{
    const struct fsc *fsc = st;

    (void)slot;
    *units_p = nf_clamp_chunk(fsc->chunk_units, fsc->min_units, left);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_fsc = {
    .name = "fsc",
    .summary = "one size, the best for a known overhead and deviation",
    .source = "Kruskal & Weiss, IEEE TSE 11(10) 1985",
    .params = params,
    .state_size = fsc_state_size,
    .init = fsc_init,
    .next = fsc_next,
};
