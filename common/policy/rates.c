#include "config.h"
#include "common/policy/rates.h"
#include <math.h>

/* A unit faster than the clock can tell has not cost nothing. */
static const double least_cost_us = 1e-3;
static const double most_cost_us = 2678400e6; /* a month */

size_t nf_rates_state_size(const struct nf_policy_env *env)
{
    size_t entries = 2 * (size_t)env->slots;

    if (entries < env->max_slots)
        entries = env->max_slots;
    return sizeof(struct nf_rates) + entries * sizeof(struct nf_rates_entry);
}

void nf_rates_init(struct nf_rates *rates, const struct nf_policy_env *env)
{
    rates->slots = env->slots;
}

/* Leaf p + i belongs to slot i, node k has the children 2k and 2k + 1; node 1
 * is above all leaves whatever p is. */
static void update_tree(struct nf_rates *rates, size_t node)
{
    for (node /= 2; node >= 1; node /= 2)
        for (int s = 0; s < NF_RATES_SUMS; s++)
            rates->entries[node].sums[s] = rates->entries[2 * node].sums[s] +
                                           rates->entries[2 * node + 1].sums[s];
}

void nf_rates_set(struct nf_rates *rates, uint32_t slot, double cost_us,
                  double variance_us2)
{
    const double most_variance = most_cost_us * most_cost_us;
    size_t leaf = (size_t)rates->slots + slot;
    double *sums;

    /* fmax and fmin also turn NaN into a number */
    cost_us = fmin(fmax(cost_us, least_cost_us), most_cost_us);
    variance_us2 = fmin(fmax(variance_us2, 0), most_variance);
    rates->entries[slot].cost_us = cost_us;
    if (slot >= rates->slots)
        return;
    sums = rates->entries[leaf].sums;
    sums[NF_RATES_KNOWN] = 1;
    sums[NF_RATES_COST] = cost_us;
    sums[NF_RATES_SPEED] = 1 / cost_us;
    sums[NF_RATES_VARIANCE] = variance_us2;
    sums[NF_RATES_SPREAD] = variance_us2 / cost_us;
    update_tree(rates, leaf);
}

bool nf_rates_is_known(const struct nf_rates *rates, uint32_t slot)
{
    return rates->entries[slot].cost_us > 0;
}

void nf_rates_get_total(const struct nf_rates *rates,
                        struct nf_rates_total *total_p)
{
    const double *sums = rates->entries[1].sums;
    double known = sums[NF_RATES_KNOWN];
    double unknown = (double)rates->slots - known;
    double cost_us, variance_us2;

    *total_p = (struct nf_rates_total){ .any = known > 0 };
    if (!total_p->any)
        return;
    cost_us = sums[NF_RATES_COST] / known;
    variance_us2 = sums[NF_RATES_VARIANCE] / known;
    total_p->cost_us = cost_us;
    total_p->speed = sums[NF_RATES_SPEED] + unknown / cost_us;
    total_p->spread_us =
        sums[NF_RATES_SPREAD] + unknown * variance_us2 / cost_us;
}

double nf_rates_cost_us(const struct nf_rates *rates, uint32_t slot)
{
    const double *sums = rates->entries[1].sums;

    if (nf_rates_is_known(rates, slot))
        return rates->entries[slot].cost_us;
    if (sums[NF_RATES_KNOWN] > 0)
        return sums[NF_RATES_COST] / sums[NF_RATES_KNOWN];
    return 0;
}

double nf_rates_weight(const struct nf_rates *rates, uint32_t slot)
{
    struct nf_rates_total total;

    nf_rates_get_total(rates, &total);
    if (!total.any)
        return 1;
    return rates->slots / (nf_rates_cost_us(rates, slot) * total.speed);
}

double nf_rates_sane_us(int64_t time_us)
{
    return fmin(fmax((double)time_us, 0), most_cost_us);
}
