#ifndef NF_PREFIX_TOTALS_H
#define NF_PREFIX_TOTALS_H
/** @file totals.h  Statistics of a run of numbers, how two runs are put
 *  together, and how they are written.  Pure.
 *
 *  **What is promised.**  Putting together is associative without any rounding:
 *  sums and sums of squares are exact (exact/moments.h), count, minimum and
 *  maximum have no rounding.  So the statistics of a prefix do not depend on
 *  where a file is cut, and not on the number of ranks.  Sums of integers are
 *  written with all digits; sum, mean and variance of doubles are the doubles
 *  nearest to the true values of the given numbers. */
#include "apps/exact/moments.h"

enum nf_prefix_type { NF_PREFIX_F64, NF_PREFIX_I64 };

/** One number; which member is valid, the type says. */
union nf_prefix_number {
    double f64; /**< finite */
    int64_t i64;
};

/** Statistics of a run; all zero but the type: of no numbers. */
struct nf_prefix_totals {
    enum nf_prefix_type type;
    struct nf_moments moments;
    union nf_prefix_number min,
        max; /**< the first ones, if several are equal */
};

void nf_prefix_add(struct nf_prefix_totals *totals,
                   union nf_prefix_number number);
/** totals := totals (+) behind: the run @p totals with @p behind after it. */
void nf_prefix_append(struct nf_prefix_totals *totals,
                      const struct nf_prefix_totals *behind);

/** How totals travel: words of 8 bytes that are numbers. */
#define NF_PREFIX_WORDS (NF_MOMENTS_WORDS + 2)
void nf_prefix_encode(struct nf_prefix_totals *totals, int64_t *words);
/** @p type must be that of the sender.  @retval NF_ERR_PROTOCOL */
enum nf_status nf_prefix_decode(const int64_t *words, enum nf_prefix_type type,
                                struct nf_prefix_totals *totals_p);
/** An nf_operator_function of such words; user: enum nf_prefix_type.  What
 *  does not decode makes the result such that it does not decode either. */
void nf_prefix_combine(const void *in, void *inout, size_t count, int type,
                       void *user);

/** What is written of a prefix.  Variance is that of a sample, with count - 1;
 *  NaN of one number. */
struct nf_prefix_figures {
    uint64_t count;
    char sum[NF_EXACT_INT_BYTES]; /**< as text: integers have all digits */
    double sum_real, mean, variance;
    union nf_prefix_number min, max;
};
/** Of at least one number.  Normalizes @p totals. */
void nf_prefix_read_off(struct nf_prefix_totals *totals,
                        struct nf_prefix_figures *figures_p);

/** Every row has the same length, so that its place is known.  The columns:
 *  count sum mean variance min max, right-aligned, newline. */
#define NF_PREFIX_ROW_BYTES (20 + 42 + 4 * 26 + 1)
/** @param row_p  [NF_PREFIX_ROW_BYTES], no NUL */
void nf_prefix_print_row(const struct nf_prefix_figures *figures,
                         enum nf_prefix_type type, char *row_p);
/** The line above them, of the same length. */
void nf_prefix_print_head(char *row_p);
/** The same as six little-endian doubles. */
#define NF_PREFIX_RECORD_BYTES 48
void nf_prefix_print_record(const struct nf_prefix_figures *figures,
                            enum nf_prefix_type type, char *record_p);
/** A number as text, doubles with 17 digits.  @return text */
const char *nf_prefix_print_number(union nf_prefix_number number,
                                   enum nf_prefix_type type, char text[32]);
#endif
