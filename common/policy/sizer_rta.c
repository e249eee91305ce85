/* rta: granularity by response time.  The paper, after Piotrowski & Dandamudi,
 * wants less data for a node that responds slowly, and gives no formula; this
 * one is ours.  With r the time from sent to merged of a unit of a chunk:
 *
 *     rho_i = r at first, then (rho_i + r) / 2
 *     w_i   = p (1/rho_i) / sum_j (1/rho_j)
 *     c     = max(kmin, round(g w_i))
 *     tail:   at most max(kmin, ceil(R w_i / (2p)))
 *
 * Unlike awf it has a fixed scale g, and communication counts. */
#include "config.h"
#include "common/policy/arith.h"
#include "common/policy/rates.h"

struct rta {
    uint64_t grain_units;
    uint64_t min_units;
    bool tail;
    uint64_t slots;
    /* behind it the rates */
};

enum { PARAM_G, PARAM_TAIL, PARAM_KMIN };

static const struct nf_param params[] = {
    {
        .name = "g",
        .kind = NF_PARAM_COUNT,
        .default_text = "1",
        .min = 1,
        .unit = "units",
        .help = "grain: units of a chunk for a slot of average response",
    },
    {
        .name = "tail",
        .kind = NF_PARAM_BOOL,
        .default_text = "1",
        .help = "smaller chunks near the end",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t rta_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct rta) + nf_rates_state_size(env);
}

static struct nf_rates *rates_of(struct rta *rta)
{
    return (struct nf_rates *)(void *)(rta + 1);
}

static enum nf_status rta_init(void *st, const struct nf_policy_env *env,
                               const struct nf_param_value *values,
                               struct nf_error *err)
{
    struct rta *rta = st;

    (void)err;
    rta->grain_units = values[PARAM_G].count;
    rta->tail = values[PARAM_TAIL].count == 1;
    rta->min_units = values[PARAM_KMIN].count;
    rta->slots = env->slots;
    nf_rates_init(rates_of(rta), env);
    return NF_OK;
}

static enum nf_status rta_next(void *st, uint32_t slot, uint64_t left,
                               uint64_t *units_p)
{
    struct rta *rta = st;
    double weight = nf_rates_weight(rates_of(rta), slot);
    uint64_t units = nf_round_real((double)rta->grain_units * weight);

    if (rta->tail) {
        uint64_t most =
            nf_ceil_real((double)left * weight / (2 * (double)rta->slots));

        units = units < most ? units : most;
    }
    *units_p = nf_clamp_chunk(units, rta->min_units, left);
    return NF_OK;
}

static void rta_report(void *st, uint32_t slot, const struct nf_chunk_times *t)
{
    struct nf_rates *rates = rates_of(st);
    double response_us;

    if (t->units == 0)
        return;
    response_us = nf_rates_sane_us(t->elapsed_us) / (double)t->units;
    if (nf_rates_is_known(rates, slot))
        response_us = (nf_rates_cost_us(rates, slot) + response_us) / 2;
    nf_rates_set(rates, slot, response_us, 0);
}

const struct nf_sizer_ops nf_sizer_rta = {
    .name = "rta",
    .summary = "g units, less for a slot that responds slowly",
    .source = "after Goo 2001, section 2, and Piotrowski & Dandamudi 1997; the"
              " formula is ours",
    .params = params,
    .state_size = rta_state_size,
    .init = rta_init,
    .next = rta_next,
    .report = rta_report,
};
