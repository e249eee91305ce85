#ifndef NF_POLICY_RATES_H
#define NF_POLICY_RATES_H
/** @file rates.h  How fast each slot was seen to be, for the sizers that learn,
 *  and the sums over all p slots that their formulas need.
 *
 *  A slot's cost is its time for one unit.  Slots without results count as if
 *  they had the mean cost and the mean variance of those that have.  The sums
 *  stand in a tree over the slots: O(log p) a measurement, O(1) to read, and no
 *  rounding errors that pile up.
 *
 *  p is the number of slots expected at start.  A slot beyond (it came later)
 *  is weighed against the sums, but is no part of them. */
#include "common/policy/policy.h"

enum nf_rates_sum {
    NF_RATES_KNOWN,    /**< slots with results */
    NF_RATES_COST,     /**< of the costs, us */
    NF_RATES_SPEED,    /**< of 1/cost */
    NF_RATES_VARIANCE, /**< of the variances, us^2 */
    NF_RATES_SPREAD,   /**< of variance/cost, us */
    NF_RATES_SUMS,
};

/** The tree and the slots share an array: the node of place k is not that of
 *  slot k. */
struct nf_rates_entry {
    double sums[NF_RATES_SUMS]; /**< of the leaves below node k >= 1 */
    double cost_us;             /**< of slot k; 0: unknown */
};

struct nf_rates {
    uint32_t slots; /**< p */
    struct nf_rates_entry entries[];
};

/** Sums over slots 0..p-1, the unknown ones included. */
struct nf_rates_total {
    bool any;         /**< somebody has results; else all is 0 */
    double cost_us;   /**< mean cost */
    double speed;     /**< of 1/cost, 1/us */
    double spread_us; /**< of variance/cost */
};

size_t nf_rates_state_size(const struct nf_policy_env *env);
void nf_rates_init(struct nf_rates *rates, const struct nf_policy_env *env);
/** Slot @p slot < max_slots now has this cost for a unit.  Absurd values are
 *  cut: they come from other machines. */
void nf_rates_set(struct nf_rates *rates, uint32_t slot, double cost_us,
                  double variance_us2);
bool nf_rates_is_known(const struct nf_rates *rates, uint32_t slot);
void nf_rates_get_total(const struct nf_rates *rates,
                        struct nf_rates_total *total_p);
/** @return the cost of a slot, or the mean if unknown; 0 if all are unknown */
double nf_rates_cost_us(const struct nf_rates *rates, uint32_t slot);
/** @return the share w of a slot, 1 on the average:
 *          w = p (1/cost) / sum_j (1/cost_j); 1 if nothing is known */
double nf_rates_weight(const struct nf_rates *rates, uint32_t slot);

/** Time measured elsewhere, cut to 0..a month, for sums that stay finite. */
double nf_rates_sane_us(int64_t time_us);
#endif
