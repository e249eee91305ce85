/* gss: guided self-scheduling.  With R units left and p slots a chunk has
 * max(kmin, ceil(R/p)) units; rounding selects floor(R/p) or R/(2p) instead. */
#include "config.h"
#include "common/policy/policy.h"

/* In the order of the parameter's choices. */
enum rounding { ROUND_CEIL, ROUND_FLOOR, ROUND_HALF };

struct gss {
    uint64_t slots;
    uint64_t min_units;
    enum rounding rounding;
};

static const struct nf_param params[] = {
    {
        .name = "kmin",
        .kind = NF_PARAM_COUNT,
        .default_text = "1",
        .min = 1,
        .unit = "units",
        .help = "least units of a chunk but the last",
    },
    {
        .name = "rounding",
        .kind = NF_PARAM_CHOICE,
        .default_text = "ceil",
        .choices = "ceil|floor|half",
        .help = "of R/p; half: floor of R/(2p)",
    },
    { .name = NULL },
};

static size_t gss_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct gss);
}

static enum nf_status gss_init(void *st, const struct nf_policy_env *env,
                               const struct nf_param_value *values,
                               struct nf_error *err)
{
    struct gss *gss = st;

    (void)err;
    gss->slots = env->slots;
    gss->min_units = values[0].count;
    gss->rounding = (enum rounding)values[1].count;
    return NF_OK;
}

static uint64_t proposal(const struct gss *gss, uint64_t left)
{
    switch (gss->rounding) {
    case ROUND_CEIL:
        return left / gss->slots + (left % gss->slots != 0);
    case ROUND_FLOOR:
        return left / gss->slots;
    case ROUND_HALF:
        return left / (2 * gss->slots);
    }
    return 1;
}

static enum nf_status gss_next(void *st, uint32_t slot, uint64_t left,
                               uint64_t *units_p)
{
    const struct gss *gss = st;
    uint64_t units = proposal(gss, left);

    (void)slot;
    if (units < gss->min_units)
        units = gss->min_units;
    *units_p = units < left ? units : left;
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_gss = {
    .name = "gss",
    .summary = "a p-th of what is left",
    .source = "Polychronopoulos & Kuck, IEEE ToC C-36(12) 1987",
    .params = params,
    .state_size = gss_state_size,
    .init = gss_init,
    .next = gss_next,
};
