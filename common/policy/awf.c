/* State: the header, what is known of each slot, and behind that the rates. */
#include "config.h"
#include "common/policy/awf.h"
#include "common/policy/batch.h"
#include "common/policy/rates.h"

struct awf_slot {
    double time_us, units; /* sum of k t_k and of k n_k */
    double weight;         /* when the batch opened */
    uint64_t chunks;       /* finished: k of the last one */
};

struct awf {
    enum nf_awf_scope scope;
    enum nf_awf_time time;
    bool warm;
    uint64_t warm_units;
    struct nf_batch batch;
    uint32_t max_slots;
    struct awf_slot slots[];
};

enum { PARAM_WARM, PARAM_KMIN };

const struct nf_param nf_awf_params[] = {
    {
        .name = "warm",
        .kind = NF_PARAM_BOOL,
        .default_text = "1",
        .help = "small chunks, ceil(N/(10p)), until a slot has reported",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

size_t nf_awf_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct awf) + env->max_slots * sizeof(struct awf_slot) +
           nf_rates_state_size(env);
}

static struct nf_rates *rates_of(struct awf *awf)
{
    return (struct nf_rates *)(void *)&awf->slots[awf->max_slots];
}

void nf_awf_init(void *st, const struct nf_policy_env *env,
                 const struct nf_param_value *values, enum nf_awf_scope scope,
                 enum nf_awf_time time)
{
    struct awf *awf = st;

    awf->scope = scope;
    awf->time = time;
    awf->warm = values[PARAM_WARM].count == 1;
    awf->warm_units = nf_ceil_div(env->units, 10 * (uint64_t)env->slots);
    awf->max_slots = env->max_slots;
    nf_batch_init(&awf->batch, env, values[PARAM_KMIN].count);
    nf_rates_init(rates_of(awf), env);
}

static void open_batch(struct awf *awf, uint64_t left)
{
    nf_batch_open(&awf->batch, left, nf_ceil_div(left, 2 * awf->batch.slots));
    for (uint32_t i = 0; i < awf->max_slots; i++)
        awf->slots[i].weight = nf_rates_weight(rates_of(awf), i);
}

static uint64_t weighted(const struct awf *awf, uint32_t slot,
                         uint64_t chunk_units, double weight)
{
    const struct awf_slot *of = &awf->slots[slot];
    uint64_t units = nf_ceil_real((double)chunk_units * weight);

    if (awf->warm && of->chunks == 0 && units > awf->warm_units)
        return awf->warm_units;
    return units;
}

enum nf_status nf_awf_next(void *st, uint32_t slot, uint64_t left,
                           uint64_t *units_p)
{
    struct awf *awf = st;
    uint64_t units;

    if (awf->scope == NF_AWF_CHUNK) {
        units = weighted(awf, slot, nf_ceil_div(left, 2 * awf->batch.slots),
                         nf_rates_weight(rates_of(awf), slot));
        *units_p = nf_clamp_chunk(units, awf->batch.min_units, left);
        return NF_OK;
    }
    if (nf_batch_is_empty(&awf->batch, left))
        open_batch(awf, left);
    units =
        weighted(awf, slot, awf->batch.chunk_units, awf->slots[slot].weight);
    *units_p = nf_batch_take(&awf->batch, left, units);
    return NF_OK;
}

static double time_of_chunk(const struct awf *awf,
                            const struct nf_chunk_times *t)
{
    double compute_us = nf_rates_sane_us(t->compute_us);
    double latency_us = nf_rates_sane_us(t->elapsed_us) -
                        nf_rates_sane_us(t->wait_us) - compute_us;

    if (awf->time == NF_AWF_COMPUTE || latency_us < 0)
        return compute_us;
    return compute_us + latency_us;
}

void nf_awf_report(void *st, uint32_t slot, const struct nf_chunk_times *t)
{
    struct awf *awf = st;
    struct awf_slot *from = &awf->slots[slot];
    double k;

    if (t->units == 0)
        return;
    k = (double)++from->chunks;
    from->time_us += k * time_of_chunk(awf, t);
    from->units += k * (double)t->units;
    nf_rates_set(rates_of(awf), slot, from->time_us / from->units, 0);
}
