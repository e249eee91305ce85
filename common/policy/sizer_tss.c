/* tss: trapezoid self-scheduling.  Chunks fall in equal steps from f to l:
 *
 *     S = max(2, ceil(2N / (f + l))), chunk k = max(l, f - k
 * floor((f-l)/(S-1)))
 *
 * The published decrement rounds down to 0 where N is below about 8 p^2, which
 * leaves chunks of one size; decrement=exact keeps the slope. */
#include "config.h"
#include "common/policy/trapezoid.h"

struct tss {
    struct nf_trapezoid trapezoid;
    uint64_t min_units;
    uint64_t chunks; /* handed out */
};

enum { PARAM_KMIN = NF_TRAPEZOID_PARAMS };

static const struct nf_param params[] = {
    NF_PARAMS_TRAPEZOID,
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t tss_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct tss);
}

static enum nf_status tss_init(void *st, const struct nf_policy_env *env,
                               const struct nf_param_value *values,
                               struct nf_error *err)
{
    struct tss *tss = st;

    (void)err;
    nf_trapezoid_init(&tss->trapezoid, env, values);
    tss->min_units = values[PARAM_KMIN].count;
    return NF_OK;
}

static enum nf_status tss_next(void *st, uint32_t slot, uint64_t left,
                               uint64_t *units_p)
{
    struct tss *tss = st;

    (void)slot;
    *units_p = nf_clamp_chunk(nf_trapezoid_term(&tss->trapezoid, tss->chunks++),
                              tss->min_units, left);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_tss = {
    .name = "tss",
    .summary = "chunks that fall linearly from first to last",
    .source = "Tzen & Ni, IEEE TPDS 4(1) 1993",
    .params = params,
    .state_size = tss_state_size,
    .init = tss_init,
    .next = tss_next,
};
