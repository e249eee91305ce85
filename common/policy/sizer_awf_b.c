/* awf-b: adaptive weighted factoring, variant B.  Batches as those of fac2,
 * times the weights when the batch opened, by the times of computing. */
#include "config.h"
#include "common/policy/awf.h"

static enum nf_status awf_b_init(void *st, const struct nf_policy_env *env,
                                 const struct nf_param_value *values,
                                 struct nf_error *err)
{
    (void)err;
    nf_awf_init(st, env, values, NF_AWF_BATCH, NF_AWF_COMPUTE);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_awf_b = {
    .name = "awf-b",
    .summary = "weights by computing speed, taken as a batch opens",
    .source = "Carino & Banicescu, J. Supercomputing 44(1) 2008, AWF-B",
    .params = nf_awf_params,
    .state_size = nf_awf_state_size,
    .init = awf_b_init,
    .next = nf_awf_next,
    .report = nf_awf_report,
};
