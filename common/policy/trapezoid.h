#ifndef NF_POLICY_TRAPEZOID_H
#define NF_POLICY_TRAPEZOID_H
/** @file trapezoid.h  Chunk sizes that fall in equal steps from first to last,
 *  which tss hands out one by one and tfss in means of p.
 *  Source: Tzen & Ni, TPDS 4(1) 1993. */
#include "common/policy/arith.h"

/** Plain data. */
struct nf_trapezoid {
    uint64_t first, last; /**< f and l, 1 <= l <= f */
    uint64_t steps;       /**< S - 1: decrements from f to l, >= 1 */
    bool exact;           /**< round each term, not the decrement */
};

/** The first parameters of tss and tfss; more may follow. */
enum {
    NF_TRAPEZOID_FIRST,
    NF_TRAPEZOID_LAST,
    NF_TRAPEZOID_DECREMENT,
    NF_TRAPEZOID_PARAMS
};

/* clang-format off */
#define NF_PARAMS_TRAPEZOID                                                    \
    {                                                                          \
        .name = "first", .kind = NF_PARAM_COUNT, .default_text = "",           \
        .min = 1, .unit = "units",                                             \
        .help = "first chunk; not given: ceil(N/(2p))",                        \
    },                                                                         \
    {                                                                          \
        .name = "last", .kind = NF_PARAM_COUNT, .default_text = "1",           \
        .min = 1, .unit = "units",                                             \
        .help = "last chunk, at most the first",                               \
    },                                                                         \
    {                                                                          \
        .name = "decrement", .kind = NF_PARAM_CHOICE,                          \
        .default_text = "floor", .choices = "floor|exact",                     \
        .help = "floor: as published, a constant that is 0 if N < about 8p^2", \
    }
/* clang-format on */

/** S = max(2, ceil(2N / (f + l))).
 *  @param values  starting with the parameters above */
void nf_trapezoid_init(struct nf_trapezoid *trapezoid,
                       const struct nf_policy_env *env,
                       const struct nf_param_value *values);
/** @return term k = 0, 1, ...: max(l, f - k floor((f-l)/(S-1))), or, if exact,
 *          max(l, f - floor(k (f-l)/(S-1))) */
uint64_t nf_trapezoid_term(const struct nf_trapezoid *trapezoid, uint64_t k);
/** @return floor of the mean of terms [k, k + count), @p count >= 1 */
uint64_t nf_trapezoid_mean(const struct nf_trapezoid *trapezoid, uint64_t k,
                           uint64_t count);
#endif
