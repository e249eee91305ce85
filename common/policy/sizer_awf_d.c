/* awf-d: adaptive weighted factoring, variant D.  Batches as those of fac2,
 * times the weights when the batch opened, by the times of sending, computing
 * and answering. */
#include "config.h"
#include "common/policy/awf.h"

static enum nf_status awf_d_init(void *st, const struct nf_policy_env *env,
                                 const struct nf_param_value *values,
                                 struct nf_error *err)
{
    (void)err;
    nf_awf_init(st, env, values, NF_AWF_BATCH, NF_AWF_TOTAL);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_awf_d = {
    .name = "awf-d",
    .summary = "awf-b with the time of a chunk from sent to merged",
    .source = "Carino & Banicescu, J. Supercomputing 44(1) 2008, AWF-D",
    .params = nf_awf_params,
    .state_size = nf_awf_state_size,
    .init = awf_d_init,
    .next = nf_awf_next,
    .report = nf_awf_report,
};
