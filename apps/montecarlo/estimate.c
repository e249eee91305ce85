#include "config.h"
#include "apps/montecarlo/estimate.h"
#include <math.h>
#include <string.h>
#include "apps/montecarlo/philox.h"

#define MAGIC INT64_C(0x31636d6d726166) /* and the layout's version */

/* The normal distribution has 95 % within so many standard deviations. */
#define Z95 1.95996398454005423552

uint64_t nf_montecarlo_units(const struct nf_montecarlo_params *params)
{
    return (params->samples - 1) / params->chunk + 1;
}

void nf_montecarlo_encode(const struct nf_montecarlo_params *params,
                          int64_t *words)
{
    words[0] = MAGIC;
    words[1] = params->integrand;
    words[2] = params->dims;
    words[3] = (int64_t)params->seed;
    words[4] = (int64_t)params->samples;
    words[5] = (int64_t)params->chunk;
}

enum nf_status nf_montecarlo_decode(const int64_t *words,
                                    struct nf_montecarlo_params *params_p)
{
    const struct nf_integrand *integrand;
    int64_t count = 0;

    while (nf_integrands[count].name != NULL)
        count++;
    if (words[0] != MAGIC || words[1] < 0 || words[1] >= count ||
        words[4] < 2 || words[5] < 1)
        return NF_ERR_PROTOCOL;
    integrand = &nf_integrands[words[1]];
    if (words[2] < integrand->dims_low || words[2] > integrand->dims_high)
        return NF_ERR_PROTOCOL;
    params_p->integrand = (uint32_t)words[1];
    params_p->dims = (uint32_t)words[2];
    params_p->seed = (uint64_t)words[3];
    params_p->samples = (uint64_t)words[4];
    params_p->chunk = (uint64_t)words[5];
    return NF_OK;
}

void nf_montecarlo_unit(const struct nf_montecarlo_params *params,
                        uint64_t unit, struct nf_moments *moments_p)
{
    const struct nf_integrand *integrand = &nf_integrands[params->integrand];
    uint64_t first = unit * params->chunk, end = params->samples;
    double point[NF_INTEGRAND_DIMS];

    if (end - first > params->chunk)
        end = first + params->chunk;
    memset(moments_p, 0, sizeof(*moments_p));
    for (uint64_t i = first; i < end; i++) {
        nf_philox_point(params->seed, i, params->dims, point);
        nf_moments_add(moments_p, integrand->function(point, params->dims));
    }
    nf_moments_normalize(moments_p);
}

void nf_montecarlo_estimate(const struct nf_moments *moments,
                            struct nf_montecarlo_estimate *estimate_p)
{
    double mean = nf_moments_mean(moments);
    double error = sqrt(nf_moments_variance(moments) / (double)moments->count);

    estimate_p->samples = moments->count;
    estimate_p->value = mean;
    estimate_p->standard_error = error;
    estimate_p->low = mean - Z95 * error;
    estimate_p->high = mean + Z95 * error;
}

enum nf_status nf_montecarlo_combine(const int64_t *in, int64_t *inout)
{
    struct nf_moments a, b;

    if (nf_moments_decode(in, &a) != NF_OK ||
        nf_moments_decode(inout, &b) != NF_OK ||
        a.count > (uint64_t)INT64_MAX - b.count)
        return NF_ERR_PROTOCOL;
    nf_moments_merge(&b, &a);
    nf_moments_normalize(&b);
    nf_moments_encode(&b, inout);
    return NF_OK;
}
