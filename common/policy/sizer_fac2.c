/* fac2: factoring with the practical rule x = 2.  A batch is half of what is
 * left, in p chunks; with j the number of the batch its chunks have
 *
 *     remaining   F = ceil(R / (2p))
 *     closed      F = ceil(N / (p 2^(j+1)))
 *     halving     F_0 = ceil(N / (2p)), F_j = ceil(F_(j-1) / 2)
 *     floor       F = floor(R / (2p)) */
#include "config.h"
#include "common/policy/batch.h"

/* In the order of the parameter's choices. */
enum form { FORM_REMAINING, FORM_CLOSED, FORM_HALVING, FORM_FLOOR };

struct fac2 {
    enum form form;
    uint64_t share_units; /* ceil(N/p) */
    uint64_t batches;     /* opened so far */
    struct nf_batch batch;
};

enum { PARAM_FORM, PARAM_KMIN };

static const struct nf_param params[] = {
    {
        .name = "form",
        .kind = NF_PARAM_CHOICE,
        .default_text = "remaining",
        .choices = "remaining|closed|halving|floor",
        .help = "how the chunk of a batch is found",
    },
    NF_PARAM_KMIN,
    { .name = NULL },
};

static size_t fac2_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct fac2);
}

static enum nf_status fac2_init(void *st, const struct nf_policy_env *env,
                                const struct nf_param_value *values,
                                struct nf_error *err)
{
    struct fac2 *fac2 = st;

    (void)err;
    fac2->form = (enum form)values[PARAM_FORM].count;
    fac2->share_units = nf_ceil_div(env->units, env->slots);
    nf_batch_init(&fac2->batch, env, values[PARAM_KMIN].count);
    return NF_OK;
}

/* ceil(ceil(N/p) / 2^halvings) = ceil(N / (p 2^halvings)). */
static uint64_t halved(uint64_t units, uint64_t halvings)
{
    return halvings < 64 ? nf_ceil_div(units, UINT64_C(1) << halvings) : 1;
}

static uint64_t chunk_of_batch(const struct fac2 *fac2, uint64_t left)
{
    switch (fac2->form) {
    case FORM_REMAINING:
        return nf_ceil_div(left, 2 * fac2->batch.slots);
    case FORM_CLOSED:
        return halved(fac2->share_units, fac2->batches + 1);
    case FORM_HALVING:
        if (fac2->batches == 0)
            return halved(fac2->share_units, 1);
        return nf_ceil_div(fac2->batch.chunk_units, 2);
    case FORM_FLOOR:
        return left / (2 * fac2->batch.slots);
    }
    return 1;
}

static enum nf_status fac2_next(void *st, uint32_t slot, uint64_t left,
                                uint64_t *units_p)
{
    struct fac2 *fac2 = st;

    (void)slot;
    if (nf_batch_is_empty(&fac2->batch, left)) {
        nf_batch_open(&fac2->batch, left, chunk_of_batch(fac2, left));
        fac2->batches++;
    }
    *units_p = nf_batch_take(&fac2->batch, left, fac2->batch.chunk_units);
    return NF_OK;
}

const struct nf_sizer_ops nf_sizer_fac2 = {
    .name = "fac2",
    .summary = "batches of p chunks, half of what is left each",
    .source = "Hummel, Schonberg & Flynn, CACM 35(8) 1992, x = 2",
    .params = params,
    .state_size = fac2_state_size,
    .init = fac2_init,
    .next = fac2_next,
};
