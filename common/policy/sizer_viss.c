/* viss: variable increase.  The chunks of stage j = 0, 1, ..., p of them, have
 * floor(C0 (2 - 2^-j)) units, with C0 = max(1, floor(N / (X p))). */
#include "config.h"
#include "common/policy/arith.h"

struct viss {
    uint64_t slots;
    uint64_t min_units;
    uint64_t start_units; /* C0 */
    uint64_t chunks;      /* handed out */
};

enum { PARAM_X, PARAM_KMIN };

static const struct nf_param params[] = {
    {
        .name = "X",
        .kind = NF_PARAM_COUNT,
        .default_text = "",
        .min = 1,
        .max = 1000000000,
        .help = "divides the first chunk; not given: max(2, p)",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t viss_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct viss);
}

static enum nf_status viss_init(void *st, const struct nf_policy_env *env,
                                const struct nf_param_value *values,
                                struct nf_error *err)
{
    struct viss *viss = st;
    uint64_t divisor = env->slots > 2 ? env->slots : 2;

    (void)err;
    if (values[PARAM_X].given)
        divisor = values[PARAM_X].count;
    viss->slots = env->slots;
    viss->min_units = values[PARAM_KMIN].count;
    viss->start_units =
        nf_clamp_chunk(env->units / divisor / viss->slots, 1, UINT64_MAX);
    return NF_OK;
}

/* floor(C0 (2 - 2^-j)) = 2 C0 - ceil(C0 / 2^j). */
static uint64_t chunk_of_stage(uint64_t start_units, uint64_t stage)
{
    uint64_t short_by = 1;

    if (stage < 64)
        short_by = nf_ceil_div(start_units, UINT64_C(1) << stage);
    return nf_mul(2, start_units) - short_by;
}

static enum nf_status viss_next(void *st, uint32_t slot, uint64_t left,
                                uint64_t *units_p)
{
    struct viss *viss = st;
    uint64_t stage = viss->chunks++ / viss->slots;

    (void)slot;
    *units_p = nf_clamp_chunk(chunk_of_stage(viss->start_units, stage),
                              viss->min_units, left);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_viss = {
    .name = "viss",
    .summary = "chunks that grow by half as much in each stage",
    .source = "Philip & Das, PDCS 1997",
    .params = params,
    .state_size = viss_state_size,
    .init = viss_init,
    .next = viss_next,
};
