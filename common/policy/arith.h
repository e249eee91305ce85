#ifndef NF_POLICY_ARITH_H
#define NF_POLICY_ARITH_H
/** @file arith.h  The arithmetic that sizers share: divisions that round up,
 *  products that do not overflow, reals to whole units, and the rule that every
 *  chunk obeys.  Where a result does not fit it is UINT64_MAX, which the
 *  clamping of chunks then brings down to what is left. */
#include "common/policy/policy.h"

/** @return ceil(a / b), @p b >= 1 */
uint64_t nf_ceil_div(uint64_t a, uint64_t b);
/** @return a * b */
uint64_t nf_mul(uint64_t a, uint64_t b);
/** @return floor(a * b / c), @p c >= 1; the product may exceed 64 bits */
uint64_t nf_mul_div(uint64_t a, uint64_t b, uint64_t c);
/** @return ceil(a * b / c), @p c >= 1; the product may exceed 64 bits */
uint64_t nf_mul_ceil_div(uint64_t a, uint64_t b, uint64_t c);

/** Real formulas to units: ceil(x - 1e-6) and floor(x + 0.5 + 1e-6), so that
 *  rounding errors of doubles do not decide where the exact value is whole.
 *  @return 0 if @p x is negative or not a number */
uint64_t nf_ceil_real(double x);
uint64_t nf_round_real(double x);

/** The rule for every chunk: at least max(kmin, 1) units, at most what is left.
 *  The lower bound comes first: formulas that round down to 0 must not drop
 *  units.
 *  @param left  >= 1 */
uint64_t nf_clamp_chunk(uint64_t proposal, uint64_t kmin, uint64_t left);

/** The parameter that all sizers of variable chunk size take. */
/* clang-format off */
#define NF_PARAM_KMIN                                                          \
    {                                                                          \
        .name = "kmin", .kind = NF_PARAM_COUNT, .default_text = "1",           \
        .min = 1, .unit = "units",                                             \
        .help = "least units of a chunk but the last",                         \
    }
/* clang-format on */
#endif
