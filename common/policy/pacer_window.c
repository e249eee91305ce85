/* window: up to w chunks of a slot are outstanding; each result opens a place
 * for the next.  Filled breadth first.  Self-clocked, so a slot's queue holds
 * at most w - 1 chunks; w = ceil(1 + latency / t_P) keeps it from idling. */
#include "config.h"
#include "common/policy/ready.h"

static const struct nf_param params[] = {
    {
        .name = "w",
        .kind = NF_PARAM_COUNT,
        .default_text = "2",
        .max = 1000000000,
        .unit = "chunks",
        .help = "most chunks outstanding at a slot; 0: no limit",
    },
    { .name = NULL },
};

static enum nf_status window_init(void *st, const struct nf_policy_env *env,
                                  const struct nf_param_value *values,
                                  struct nf_error *err)
{
    (void)err;
    nf_ready_init(st, env, values[0].count);
    return NF_OK;
}

const struct nf_pacer_ops nf_pacer_window = {
    .name = "window",
    .summary = "up to w chunks outstanding at each slot",
    .source = "sliding window (credits); w=2 is double buffering",
    .params = params,
    .state_size = nf_ready_state_size,
    .init = window_init,
    .pick = nf_ready_pick,
    .join = nf_ready_join,
    .sent = nf_ready_sent,
    .result = nf_ready_result,
    .returned = nf_ready_returned,
};
