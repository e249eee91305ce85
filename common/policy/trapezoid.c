#include "config.h"
#include "common/policy/trapezoid.h"

void nf_trapezoid_init(struct nf_trapezoid *trapezoid,
                       const struct nf_policy_env *env,
                       const struct nf_param_value *values)
{
    const struct nf_param_value *first = &values[NF_TRAPEZOID_FIRST];
    uint64_t last = values[NF_TRAPEZOID_LAST].count;
    uint64_t terms;

    trapezoid->first = first->given
                           ? first->count
                           : nf_ceil_div(env->units, 2 * (uint64_t)env->slots);
    if (trapezoid->first < 1) /* no units */
        trapezoid->first = 1;
    trapezoid->last = last < trapezoid->first ? last : trapezoid->first;
    terms = nf_mul_ceil_div(2, env->units, trapezoid->first + trapezoid->last);
    trapezoid->steps = terms > 2 ? terms - 1 : 1;
    trapezoid->exact = values[NF_TRAPEZOID_DECREMENT].count == 1;
}

uint64_t nf_trapezoid_term(const struct nf_trapezoid *trapezoid, uint64_t k)
{
    uint64_t height = trapezoid->first - trapezoid->last;
    uint64_t fall = trapezoid->exact ? nf_mul_div(k, height, trapezoid->steps)
                                     : nf_mul(k, height / trapezoid->steps);

    return fall < height ? trapezoid->first - fall : trapezoid->last;
}

/* The mean of what lies above the last term, by quotients and remainders since
 * the sum may not fit; no term after the first last one adds to it. */
uint64_t nf_trapezoid_mean(const struct nf_trapezoid *trapezoid, uint64_t k,
                           uint64_t count)
{
    uint64_t whole = trapezoid->last, rest = 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t above = nf_trapezoid_term(trapezoid, k + i) - trapezoid->last;

        if (above == 0)
            break;
        whole += above / count;
        rest += above % count;
        if (rest >= count) {
            rest -= count;
            whole++;
        }
    }
    return whole;
}
