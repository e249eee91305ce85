/* awf: adaptive weighted factoring, the original.  Its weights stand still
 * within a time step and are renewed between two steps from the times that
 * earlier ones took.  A run of ours is one time step, so:
 *
 * - weights=a/b/... are speeds measured in earlier runs, used like those of wf;
 * - steps=K takes the run for K time steps, each a K-th of the units.  Every
 *   step is factored by itself; as it opens, all results so far count:
 *   pi = sum k t / sum k n over a slot's chunks with n units that took t and
 *   came in step k, and w_i = p (1/pi_i) / sum_j (1/pi_j).
 *
 * There is no barrier between steps: results that come later count for the step
 * after. */
#include "config.h"
#include "common/policy/batch.h"
#include "common/policy/rates.h"
#include "common/policy/speeds.h"

struct awf_slot {
    double time_us, units; /* sum of k t and of k n */
    double weight;         /* when the step opened */
};

struct awf {
    uint64_t units;
    uint64_t steps;
    uint64_t step;     /* opened so far */
    uint64_t end_left; /* left when this one is used up */
    bool measured;     /* its weights are */
    uint64_t results;
    struct nf_batch batch;
    struct nf_speeds speeds;
    uint32_t max_slots;
    struct awf_slot slots[]; /* behind them the rates */
};

enum { PARAM_WEIGHTS, PARAM_STEPS, PARAM_KMIN };

static const struct nf_param params[] = {
    {
        .name = "weights",
        .kind = NF_PARAM_LIST,
        .default_text = "",
        .min = 1,
        .unit = "in proportion",
        .help = "a/b/...: speeds by earlier runs; not given: all equal",
    },
    {
        .name = "steps",
        .kind = NF_PARAM_COUNT,
        .default_text = "1",
        .min = 1,
        .unit = "time steps",
        .help = "parts of the run; each is weighted by those before it",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t awf_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct awf) + env->max_slots * sizeof(struct awf_slot) +
           nf_rates_state_size(env);
}

static struct nf_rates *rates_of(struct awf *awf)
{
    return (struct nf_rates *)(void *)&awf->slots[awf->max_slots];
}

static enum nf_status awf_init(void *st, const struct nf_policy_env *env,
                               const struct nf_param_value *values,
                               struct nf_error *err)
{
    struct awf *awf = st;
    uint64_t most_steps;

    awf->units = env->units;
    /* each has kmin units at least */
    most_steps = env->units / values[PARAM_KMIN].count;
    awf->steps = nf_clamp_chunk(values[PARAM_STEPS].count, 1,
                                most_steps > 1 ? most_steps : 1);
    awf->end_left = env->units;
    awf->max_slots = env->max_slots;
    nf_batch_init(&awf->batch, env, values[PARAM_KMIN].count);
    nf_rates_init(rates_of(awf), env);
    return nf_speeds_init(&awf->speeds, env, "weights", &values[PARAM_WEIGHTS],
                          err);
}

static void open_step(struct awf *awf, uint64_t left)
{
    while (left <= awf->end_left) {
        uint64_t units =
            awf->units / awf->steps + (awf->step < awf->units % awf->steps);

        if (++awf->step >= awf->steps)
            awf->end_left = 0;
        else
            awf->end_left -= units;
    }
    awf->batch.end_left = UINT64_MAX;
    awf->measured = awf->results > 0;
    for (uint32_t i = 0; awf->measured && i < awf->max_slots; i++)
        awf->slots[i].weight = nf_rates_weight(rates_of(awf), i);
}

static enum nf_status awf_next(void *st, uint32_t slot, uint64_t left,
                               uint64_t *units_p)
{
    struct awf *awf = st;
    uint64_t units;

    if (left <= awf->end_left)
        open_step(awf, left);
    left -= awf->end_left;
    if (nf_batch_is_empty(&awf->batch, left))
        nf_batch_open(&awf->batch, left,
                      nf_ceil_div(left, 2 * awf->batch.slots));
    units = awf->batch.chunk_units;
    if (awf->measured)
        units = nf_ceil_real((double)units * awf->slots[slot].weight);
    else
        units = nf_speeds_share(&awf->speeds, slot, units);
    units = nf_batch_take(&awf->batch, left, units);
    if (awf->end_left > 0 && left - units < awf->batch.min_units)
        units = left; /* no crumb at the end of a step either */
    *units_p = units;
    return NF_OK;
}

static void awf_report(void *st, uint32_t slot, const struct nf_chunk_times *t)
{
    struct awf *awf = st;
    struct awf_slot *from = &awf->slots[slot];
    double k = (double)awf->step;

    if (t->units == 0 || awf->step == 0)
        return;
    awf->results++;
    from->time_us += k * nf_rates_sane_us(t->compute_us);
    from->units += k * (double)t->units;
    nf_rates_set(rates_of(awf), slot, from->time_us / from->units, 0);
}

const struct nf_sizer_ops nf_sizer_awf = {
    .name = "awf",
    .summary = "wf with weights from earlier runs or time steps",
    .source = "Banicescu, Velusamy & Devaprasad, Cluster Computing 6(3) 2003",
    .params = params,
    .state_size = awf_state_size,
    .init = awf_init,
    .next = awf_next,
    .report = awf_report,
};
