/* rand: sizes drawn uniformly from [lo, hi], lo = max(1, floor(N / (100p))) and
 * hi = max(lo, floor(N / (2p))).  One draw a request. */
#include "config.h"
#include "common/base/rng.h"
#include "common/policy/arith.h"

struct random {
    struct nf_rng rng;
    uint64_t least_units, range; /* lo, hi - lo + 1 */
    uint64_t min_units;
};

enum { PARAM_SEED, PARAM_KMIN };

static const struct nf_param params[] = {
    {
        .name = "seed",
        .kind = NF_PARAM_COUNT,
        .default_text = "",
        .max = UINT64_MAX,
        .help = "of the generator (splitmix64); not given: that of the run",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t rand_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct random);
}

static enum nf_status rand_init(void *st, const struct nf_policy_env *env,
                                const struct nf_param_value *values,
                                struct nf_error *err)
{
    struct random *random = st;
    uint64_t slots = env->slots;
    uint64_t most_units = env->units / (2 * slots);

    (void)err;
    random->rng.state =
        values[PARAM_SEED].given ? values[PARAM_SEED].count : env->seed;
    random->least_units =
        nf_clamp_chunk(env->units / (100 * slots), 1, UINT64_MAX);
    if (most_units < random->least_units)
        most_units = random->least_units;
    random->range = most_units - random->least_units + 1;
    random->min_units = values[PARAM_KMIN].count;
    return NF_OK;
}

static enum nf_status rand_next(void *st, uint32_t slot, uint64_t left,
                                uint64_t *units_p)
{
    struct random *random = st;
    uint64_t units =
        random->least_units + nf_rng_below(&random->rng, random->range);

    (void)slot;
    *units_p = nf_clamp_chunk(units, random->min_units, left);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_rand = {
    .name = "rand",
    .summary = "random sizes, the same for the same seed",
    .source = "Ciorba, Iwainsky & Buder, IWOMP 2018",
    .params = params,
    .state_size = rand_state_size,
    .init = rand_init,
    .next = rand_next,
};
