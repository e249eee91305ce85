/* static: one block of consecutive units a slot, all of them at once.  With
 * q = N div p and r = N mod p, slots below r get q + 1 units, the others q; a
 * slot whose share is 0, or that came later, gets nothing. */
#include "config.h"
#include "common/policy/arith.h"

struct block {
    uint64_t units;
    uint64_t slots;
    bool served[]; /* of each slot */
};

static const struct nf_param params[] = { { .name = NULL } };

static size_t static_state_size(const struct nf_policy_env *env)
{
    return sizeof(struct block) + env->max_slots * sizeof(bool);
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

    if (slot < block->units % block->slots)
        units++;
    if (slot >= block->slots || units == 0 || block->served[slot])
        return NF_WAIT;
    block->served[slot] = true;
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
