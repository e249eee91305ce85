#include "config.h"
#include "common/policy/speeds.h"
#include "common/base/error.h"
#include "common/policy/arith.h"

enum nf_status nf_speeds_init(struct nf_speeds *speeds,
                              const struct nf_policy_env *env, const char *name,
                              const struct nf_param_value *value,
                              struct nf_error *err)
{
    if (!value->given)
        return NF_OK;
    if (value->nlist != env->slots)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: %u given for %u slots (want one for each)", name,
                       (unsigned)value->nlist, (unsigned)env->slots);
    speeds->count = value->nlist;
    for (uint32_t i = 0; i < value->nlist; i++) {
        speeds->list[i] = value->list[i];
        speeds->sum += value->list[i];
    }
    return NF_OK;
}

uint64_t nf_speeds_share(const struct nf_speeds *speeds, uint32_t slot,
                         uint64_t chunk_units)
{
    if (slot >= speeds->count)
        return chunk_units;
    return nf_mul_ceil_div(nf_mul(chunk_units, speeds->count),
                           speeds->list[slot], speeds->sum);
}
