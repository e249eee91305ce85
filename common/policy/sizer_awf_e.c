/* awf-e: adaptive weighted factoring, variant E.  No batches: F is ceil(R/(2p))
 * at the request, times the weights of that moment, by the times of sending,
 * computing and answering. */
#include "config.h"
#include "common/policy/awf.h"

static enum nf_status awf_e_init(void *st, const struct nf_policy_env *env,
                                 const struct nf_param_value *values,
                                 struct nf_error *err)
{
    (void)err;
    nf_awf_init(st, env, values, NF_AWF_CHUNK, NF_AWF_TOTAL);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_awf_e = {
    .name = "awf-e",
    .summary = "awf-c with the time of a chunk from sent to merged",
    .source = "Carino & Banicescu, J. Supercomputing 44(1) 2008, AWF-E",
    .params = nf_awf_params,
    .state_size = nf_awf_state_size,
    .init = awf_e_init,
    .next = nf_awf_next,
    .report = nf_awf_report,
};
