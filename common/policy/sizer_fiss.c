/* fiss: fixed increase.  The chunks of stage j = 0, 1, ..., p of them, have
 * C0 + j delta units:
 *
 *     X = B + 2, C0 = floor(N / (X p)), delta = floor(4N / (X p B (B-1)))
 *
 * for B stages.  (The published delta, 2N (1 - B/X) / (p B (B-1)), is the same
 * since 1 - B/X = 2/X.)  The last chunks are the largest: for comparison. */
#include "config.h"
#include "common/policy/arith.h"

struct fiss {
    uint64_t slots;
    uint64_t min_units;
    uint64_t start_units, step_units; /* C0 and delta */
    uint64_t chunks;                  /* handed out */
};

enum { PARAM_STAGES, PARAM_KMIN };

static const struct nf_param params[] = {
    {
        .name = "stages",
        .kind = NF_PARAM_COUNT,
        .default_text = "",
        .min = 2,
        .max = 1000000000,
        .help = "B, sizes of chunks in turn; not given: max(2, p-1)",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t fiss_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct fiss);
}

static enum nf_status fiss_init(void *st, const struct nf_policy_env *env,
                                const struct nf_param_value *values,
                                struct nf_error *err)
{
    struct fiss *fiss = st;
    uint64_t stages = env->slots > 3 ? env->slots - 1 : 2;

    (void)err;
    if (values[PARAM_STAGES].given)
        stages = values[PARAM_STAGES].count;
    fiss->slots = env->slots;
    fiss->min_units = values[PARAM_KMIN].count;
    fiss->start_units = env->units / (stages + 2) / fiss->slots;
    fiss->step_units = nf_mul_div(4, env->units, stages + 2) / fiss->slots /
                       stages / (stages - 1);
    return NF_OK;
}

static enum nf_status fiss_next(void *st, uint32_t slot, uint64_t left,
                                uint64_t *units_p)
{
    struct fiss *fiss = st;
    uint64_t rise = nf_mul(fiss->chunks++ / fiss->slots, fiss->step_units);

    (void)slot;
    if (rise > left) /* so that the sum fits */
        rise = left;
    *units_p = nf_clamp_chunk(fiss->start_units + rise, fiss->min_units, left);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_fiss = {
    .name = "fiss",
    .summary = "chunks that grow by a fixed step from stage to stage",
    .source = "Philip & Das, PDCS 1997",
    .params = params,
    .state_size = fiss_state_size,
    .init = fiss_init,
    .next = fiss_next,
};
