/* cyclic: blocks of g units dealt to the slots in turn, block b to slot b mod
 * p. As a policy by itself all blocks are sent at once, in order of b.
 *
 * A slot that asks out of turn gets a block of the size it has coming, so that
 * whatever the pacer, every slot does the number of units dealt to it. */
#include "config.h"
#include "common/policy/taken.h"

struct cyclic {
    uint64_t grain_units;
    uint64_t units;
    uint64_t slots;
    struct nf_taken taken;
    uint64_t taken_units[]; /* by each slot */
};

static const struct nf_param params[] = {
    {
        .name = "g",
        .kind = NF_PARAM_COUNT,
        .default_text = "1",
        .min = 1,
        .unit = "units",
        .help = "grain: units of a block",
    },
    { .name = NULL },
};

static size_t cyclic_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct cyclic) + env->max_slots * sizeof(uint64_t);
}

static enum nf_status cyclic_init(void *st, const struct nf_policy_env *env,
                                  const struct nf_param_value *values,
                                  struct nf_error *err)
{
    struct cyclic *cyclic = st;

    (void)err;
    cyclic->grain_units = values[0].count;
    cyclic->units = env->units;
    cyclic->slots = env->slots;
    return NF_OK;
}

/* The units dealt to a slot in all; the last block may be short. */
static uint64_t dealt_units(const struct cyclic *cyclic, uint32_t slot)
{
    uint64_t whole = cyclic->units / cyclic->grain_units;
    uint64_t rest = cyclic->units % cyclic->grain_units;
    uint64_t units;

    if (slot >= cyclic->slots)
        return 0;
    units = whole / cyclic->slots + (slot < whole % cyclic->slots);
    units *= cyclic->grain_units;
    return slot == whole % cyclic->slots ? units + rest : units;
}

static enum nf_status cyclic_next(void *st, uint32_t slot, uint64_t left,
                                  uint64_t *units_p)
{
    struct cyclic *cyclic = st;
    uint64_t units;

    nf_taken_ask(&cyclic->taken, cyclic->taken_units, slot, left);
    units = nf_taken_rest(dealt_units(cyclic, slot), cyclic->taken_units[slot]);
    if (units == 0)
        return NF_WAIT;
    if (units > cyclic->grain_units)
        units = cyclic->grain_units;
    *units_p = units < left ? units : left;
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_cyclic = {
    .name = "cyclic",
    .summary = "blocks of g units dealt in turn, as many to each slot",
    .source = "block-cyclic partition",
    .params = params,
    .state_size = cyclic_state_size,
    .init = cyclic_init,
    .next = cyclic_next,
};
