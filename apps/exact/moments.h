#ifndef NF_EXACT_MOMENTS_H
#define NF_EXACT_MOMENTS_H
/** @file moments.h  How many numbers, their sum and their sum of squares, all
 *  exact; and from these mean and variance, each the double nearest to the true
 *  value.  Numbers may be added in any order and in any parts.  Pure. */
#include "apps/exact/exact.h"
#include "nowfarm.h"

/** Plain data; all zero: of no numbers.  Fewer than 2^63 of them. */
struct nf_moments {
    uint64_t count;
    struct nf_exact sum, squares;
};

/** @p value must be finite. */
void nf_moments_add(struct nf_moments *m, double value);
void nf_moments_add_int(struct nf_moments *m, int64_t value);
void nf_moments_merge(struct nf_moments *m, const struct nf_moments *other);
/** Make it canonical, as nf_exact_normalize() does. */
void nf_moments_normalize(struct nf_moments *m);

/** sum / count; NaN if count is 0.  @p m must be normalized. */
double nf_moments_mean(const struct nf_moments *m);
/** sum of (x - mean)^2 / (count - 1), without cancellation: it is made of
 *  count * squares - sum^2 in integers.  NaN if count < 2.  @p m must be
 *  normalized. */
double nf_moments_variance(const struct nf_moments *m);

/** How they travel: int64 words, the same on all machines. */
#define NF_MOMENTS_WORDS (1 + 2 * NF_EXACT_CHUNKS)
/** @p m must be normalized. */
void nf_moments_encode(const struct nf_moments *m, int64_t *words);
/** @retval NF_ERR_PROTOCOL  not the words of normalized moments; *m_p is
 *                            undefined */
enum nf_status nf_moments_decode(const int64_t *words, struct nf_moments *m_p);
#endif
