#ifndef NF_POLICY_SPEEDS_H
#define NF_POLICY_SPEEDS_H
/** @file speeds.h  Speeds of the slots that the user gives, as whole numbers in
 *  proportion. */
#include "common/policy/policy.h"

/** Plain data. */
struct nf_speeds {
    uint32_t count; /**< 0: none given, all are equal */
    uint64_t sum;
    uint64_t list[NF_PARAM_LIST_MAX];
};

/** @param name  of the parameter, for the error
 *  @retval NF_ERR_INVAL  not one for each slot */
enum nf_status nf_speeds_init(struct nf_speeds *speeds,
                              const struct nf_policy_env *env, const char *name,
                              const struct nf_param_value *value,
                              struct nf_error *err);
/** A slot's part of p chunks of @p chunk_units each:
 *  ceil(chunk_units p v_i / sum_j v_j); a slot that came later is taken for an
 *  average one. */
uint64_t nf_speeds_share(const struct nf_speeds *speeds, uint32_t slot,
                         uint64_t chunk_units);
#endif
