/* awf-c: adaptive weighted factoring, variant C.  No batches: F is ceil(R/(2p))
 * at the request, times the weights of that moment, by the times of computing.
 */
#include "config.h"
#include "common/policy/awf.h"

static enum nf_status awf_c_init(void *st, const struct nf_policy_env *env,
                                 const struct nf_param_value *values,
                                 struct nf_error *err)
{
    (void)err;
    nf_awf_init(st, env, values, NF_AWF_CHUNK, NF_AWF_COMPUTE);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_awf_c = {
    .name = "awf-c",
    .summary = "weights by computing speed, taken at every request",
    .source = "Carino & Banicescu, J. Supercomputing 44(1) 2008, AWF-C",
    .params = nf_awf_params,
    .state_size = nf_awf_state_size,
    .init = awf_c_init,
    .next = nf_awf_next,
    .report = nf_awf_report,
};
