/* wf: weighted factoring.  Batches as those of fac2, but slot i gets
 * ceil(F p v_i / sum v) of one, with v its given speed. */
#include "config.h"
#include "common/policy/batch.h"
#include "common/policy/speeds.h"

struct wf {
    struct nf_batch batch;
    struct nf_speeds speeds;
};

enum { PARAM_SPEEDS, PARAM_KMIN };

static const struct nf_param params[] = {
    {
        .name = "speeds",
        .kind = NF_PARAM_LIST,
        .default_text = "",
        .min = 1,
        .unit = "in proportion",
        .help = "a/b/...: one for each slot; not given: all equal",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t wf_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct wf);
}

static enum nf_status wf_init(void *st, const struct nf_policy_env *env,
                              const struct nf_param_value *values,
                              struct nf_error *err)
{
    struct wf *wf = st;

    nf_batch_init(&wf->batch, env, values[PARAM_KMIN].count);
    return nf_speeds_init(&wf->speeds, env, "speeds", &values[PARAM_SPEEDS],
                          err);
}

static enum nf_status wf_next(void *st, uint32_t slot, uint64_t left,
                              uint64_t *units_p)
{
    struct wf *wf = st;

    if (nf_batch_is_empty(&wf->batch, left))
        nf_batch_open(&wf->batch, left, nf_ceil_div(left, 2 * wf->batch.slots));
    *units_p = nf_batch_take(
        &wf->batch, left,
        nf_speeds_share(&wf->speeds, slot, wf->batch.chunk_units));
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_wf = {
    .name = "wf",
    .summary = "fac2 with each slot's part by its given speed",
    .source = "Hummel, Schmidt, Uma & Wein, SPAA 1996",
    .params = params,
    .state_size = wf_state_size,
    .init = wf_init,
    .next = wf_next,
};
