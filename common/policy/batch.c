#include "config.h"
#include "common/policy/batch.h"

void nf_batch_init(struct nf_batch *batch, const struct nf_policy_env *env,
                   uint64_t min_units)
{
    *batch = (struct nf_batch){
        .slots = env->slots,
        .min_units = min_units,
        .end_left = UINT64_MAX,
    };
}

bool nf_batch_is_empty(const struct nf_batch *batch, uint64_t left)
{
    return left <= batch->end_left;
}

void nf_batch_open(struct nf_batch *batch, uint64_t left, uint64_t chunk_units)
{
    uint64_t units;

    batch->chunk_units =
        nf_clamp_chunk(chunk_units, batch->min_units, UINT64_MAX);
    units = nf_mul(batch->slots, batch->chunk_units);
    batch->end_left = units < left ? left - units : 0;
}

uint64_t nf_batch_take(const struct nf_batch *batch, uint64_t left,
                       uint64_t proposal)
{
    uint64_t rest = left - batch->end_left;
    uint64_t units = nf_clamp_chunk(proposal, batch->min_units, rest);

    return rest - units < batch->min_units ? rest : units;
}
