/* pull: one chunk a slot at a time, the next one after its result.  A slot
 * idles one round trip a chunk: t = n (t_S + t_P + t_R), equation (1) of the
 * paper. */
#include "config.h"
#include "common/policy/ready.h"

static const struct nf_param params[] = { { .name = NULL } };

static enum nf_status pull_init(void *st, const struct nf_policy_env *env,
                                const struct nf_param_value *values,
                                struct nf_error *err)
{
    (void)values;
    (void)err;
    nf_ready_init(st, env, 1);
    return NF_OK;
}

const struct nf_pacer_ops nf_pacer_pull = {
    .name = "pull",
    .summary = "one chunk at a time: the next one after each result",
    .source = "Goo 2001, section 3.1, equations (1) and (2)",
    .params = params,
    .state_size = nf_ready_state_size,
    .init = pull_init,
    .pick = nf_ready_pick,
    .join = nf_ready_join,
    .sent = nf_ready_sent,
    .result = nf_ready_result,
    .returned = nf_ready_returned,
};
