/* fixed: every chunk has g units, the last one what is left.  With the pull
 * pacer this is "Send", pure (g = 1) or chunked self-scheduling. */
#include "config.h"
#include "common/policy/policy.h"

struct fixed {
    uint64_t grain_units;
};

static const struct nf_param params[] = {
    {
        .name = "g",
        .kind = NF_PARAM_COUNT,
        .default_text = "1",
        .min = 1,
        .unit = "units",
        .help = "grain: units of a chunk",
    },
    { .name = NULL },
};

static size_t fixed_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct fixed);
}

static enum nf_status fixed_init(void *st, const struct nf_policy_env *env,
                                 const struct nf_param_value *values,
                                 struct nf_error *err)
{
    struct fixed *fixed = st;

    (void)env;
    (void)err;
    fixed->grain_units = values[0].count;
    return NF_OK;
}

static enum nf_status fixed_next(void *st, uint32_t slot, uint64_t left,
                                 uint64_t *units_p)
{
    const struct fixed *fixed = st;

    (void)slot;
    *units_p = fixed->grain_units < left ? fixed->grain_units : left;
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_fixed = {
    .name = "fixed",
    .summary = "g units every time",
    .source = "Goo 2001, section 3.1; Piotrowski & Dandamudi 1997",
    .params = params,
    .state_size = fixed_state_size,
    .init = fixed_init,
    .next = fixed_next,
};
