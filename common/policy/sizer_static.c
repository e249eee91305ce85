/* static: one block of consecutive units a slot, all of them at once.  With
 * q = N div p and r = N mod p, slots below r get q + 1 units, the others q; a
 * slot whose share is 0, or that came later, gets nothing.
 *
 * The sizes never change; a slot that was sent a part of its block only may ask
 * for the rest of it. */
#include "config.h"
#include "common/policy/taken.h"

struct block {
    uint64_t units;
    uint64_t slots;
    struct nf_taken taken;
    uint64_t taken_units[]; /* by each slot */
};

static const struct nf_param params[] = { { .name = NULL } };

static size_t static_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct block) + env->max_slots * sizeof(uint64_t);
}

static enum nf_status static_init(void *st, const struct nf_policy_env *env,
                                  const struct nf_param_value *values,
                                  struct nf_error *err)
{
    struct block *block = st;

    (void)values;
    (void)err;
    block->units = env->units;
    block->slots = env->slots;
    return NF_OK;
}

static enum nf_status static_next(void *st, uint32_t slot, uint64_t left,
                                  uint64_t *units_p)
{
    struct block *block = st;
    uint64_t units = block->units / block->slots;

    nf_taken_ask(&block->taken, block->taken_units, slot, left);
    if (slot < block->units % block->slots)
        units++;
    units = nf_taken_rest(units, block->taken_units[slot]);
    if (slot >= block->slots || units == 0)
        return NF_WAIT;
    *units_p = units < left ? units : left;
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_static = {
    .name = "static",
    .summary = "a p-th for each slot, once",
    .source = "block partition, first units i q + min(i, r)",
    .params = params,
    .state_size = static_state_size,
    .init = static_init,
    .next = static_next,
};
