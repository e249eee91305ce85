/* af: adaptive factoring.  Each slot's mean mu and variance sigma^2 of a unit
 * are learned while it runs, and with R units left
 *
 *     D = sum_j sigma_j^2 / mu_j,   T = 1 / sum_j (1 / mu_j)
 *     K_i = (D + 2 T R - sqrt(D^2 + 4 D T R)) / (2 mu_i)
 *
 * It is the variance that counts, not the deviation: only so do the units of D
 * and T R agree.  A slot starts with ceil(N/(10p)) units, and none gets more
 * than ceil(N/(2p)): without variance K_i hands out everything at once. */
#include "config.h"
#include "common/policy/arith.h"
#include "common/policy/rates.h"
#include <math.h>

/* Of all units of a slot so far. */
struct af_slot {
    double units, mean_us, m2_us2;
};

struct af {
    uint64_t first_units, most_units;
    uint64_t min_units;
    uint32_t max_slots;
    struct af_slot slots[]; /* behind them the rates */
};

enum { PARAM_KMIN };

static const struct nf_param params[] = {
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t af_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct af) + env->max_slots * sizeof(struct af_slot) +
           nf_rates_state_size(env);
}

static struct nf_rates *rates_of(struct af *af)
{
    return (struct nf_rates *)(void *)&af->slots[af->max_slots];
}

static enum nf_status af_init(void *st, const struct nf_policy_env *env,
                              const struct nf_param_value *values,
                              struct nf_error *err)
{
    struct af *af = st;
    uint64_t slots = env->slots;

    (void)err;
    af->first_units = nf_ceil_div(env->units, 10 * slots);
    af->most_units = nf_ceil_div(env->units, 2 * slots);
    af->min_units = values[PARAM_KMIN].count;
    af->max_slots = env->max_slots;
    nf_rates_init(rates_of(af), env);
    return NF_OK;
}

static uint64_t proposal(struct af *af, uint32_t slot, double left)
{
    struct nf_rates_total total;
    double d, tr;

    if (!nf_rates_is_known(rates_of(af), slot))
        return af->first_units;
    nf_rates_get_total(rates_of(af), &total);
    if (!total.any) /* it is beyond p, and the only one */
        return af->first_units;
    d = total.spread_us;
    tr = left / total.speed;
    return nf_ceil_real((d + 2 * tr - sqrt(d * d + 4 * d * tr)) /
                        (2 * nf_rates_cost_us(rates_of(af), slot)));
}

static enum nf_status af_next(void *st, uint32_t slot, uint64_t left,
                              uint64_t *units_p)
{
    struct af *af = st;
    uint64_t units = proposal(af, slot, (double)left);

    if (units > af->most_units)
        units = af->most_units;
    *units_p = nf_clamp_chunk(units, af->min_units, left);
    return NF_OK;
}

/* Chan's formula: sums of squares would cancel. */
static void merge_units(struct af_slot *slot, double units, double mean_us,
                        double m2_us2)
{
    double before = slot->units, d_us = mean_us - slot->mean_us;

    slot->units += units;
    slot->mean_us += d_us * units / slot->units;
    slot->m2_us2 += m2_us2 + d_us * d_us * before * units / slot->units;
}

/* Statistics come from other machines: finite and not negative, or no use. */
static double sane(double statistic)
{
    return fmin(fmax(statistic, 0), 1e30);
}

static void af_report(void *st, uint32_t slot, const struct nf_chunk_times *t)
{
    struct af *af = st;
    struct af_slot *from = &af->slots[slot];
    double variance_us2 = 0;

    if (t->units == 0)
        return;
    merge_units(from, (double)t->units, sane(t->mean_unit_us),
                sane(t->m2_unit_us2));
    if (from->units > 1)
        variance_us2 = from->m2_us2 / (from->units - 1);
    nf_rates_set(rates_of(af), slot, from->mean_us, variance_us2);
}

const struct nf_sizer_ops nf_sizer_af = {
    .name = "af",
    .summary = "factoring by each slot's measured mean and variance",
    .source = "Banicescu & Liu, HPC 2000",
    .params = params,
    .state_size = af_state_size,
    .init = af_init,
    .next = af_next,
    .report = af_report,
};
