#include "config.h"
#include "apps/prefix/totals.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_less(union nf_prefix_number a, union nf_prefix_number b,
                    enum nf_prefix_type type)
{
    return type == NF_PREFIX_I64 ? a.i64 < b.i64 : a.f64 < b.f64;
}

void nf_prefix_add(struct nf_prefix_totals *totals,
                   union nf_prefix_number number)
{
    bool first = totals->moments.count == 0;

    if (totals->type == NF_PREFIX_I64)
        nf_moments_add_int(&totals->moments, number.i64);
    else
        nf_moments_add(&totals->moments, number.f64);
    if (first || is_less(number, totals->min, totals->type))
        totals->min = number;
    if (first || is_less(totals->max, number, totals->type))
        totals->max = number;
}

void nf_prefix_append(struct nf_prefix_totals *totals,
                      const struct nf_prefix_totals *behind)
{
    if (behind->moments.count == 0)
        return;
    if (totals->moments.count == 0) {
        *totals = *behind;
        return;
    }
    nf_moments_merge(&totals->moments, &behind->moments);
    if (is_less(behind->min, totals->min, totals->type))
        totals->min = behind->min;
    if (is_less(totals->max, behind->max, totals->type))
        totals->max = behind->max;
}

void nf_prefix_encode(struct nf_prefix_totals *totals, int64_t *words)
{
    nf_moments_normalize(&totals->moments);
    nf_moments_encode(&totals->moments, words);
    memcpy(words + NF_MOMENTS_WORDS, &totals->min, sizeof(int64_t));
    memcpy(words + NF_MOMENTS_WORDS + 1, &totals->max, sizeof(int64_t));
}

enum nf_status nf_prefix_decode(const int64_t *words, enum nf_prefix_type type,
                                struct nf_prefix_totals *totals_p)
{
    totals_p->type = type;
    memcpy(&totals_p->min, words + NF_MOMENTS_WORDS, sizeof(int64_t));
    memcpy(&totals_p->max, words + NF_MOMENTS_WORDS + 1, sizeof(int64_t));
    return nf_moments_decode(words, &totals_p->moments);
}

void nf_prefix_combine(const void *in, void *inout, size_t count, int type,
                       void *user)
{
    enum nf_prefix_type numbers = *(const enum nf_prefix_type *)user;
    const int64_t *from = in;
    int64_t *to = inout;
    struct nf_prefix_totals before, behind;

    (void)type;
    for (; count > 0; count--, from += NF_PREFIX_WORDS, to += NF_PREFIX_WORDS) {
        if (nf_prefix_decode(from, numbers, &before) != NF_OK ||
            nf_prefix_decode(to, numbers, &behind) != NF_OK) {
            to[0] = -1;
            continue;
        }
        nf_prefix_append(&before, &behind);
        nf_prefix_encode(&before, to);
    }
}

void nf_prefix_read_off(struct nf_prefix_totals *totals,
                        struct nf_prefix_figures *figures_p)
{
    struct nf_moments *moments = &totals->moments;

    nf_moments_normalize(moments);
    figures_p->count = moments->count;
    figures_p->sum_real = nf_exact_round(&moments->sum);
    if (totals->type == NF_PREFIX_I64)
        nf_exact_print_int(&moments->sum, figures_p->sum);
    else
        snprintf(figures_p->sum, sizeof(figures_p->sum), "%.17g",
                 figures_p->sum_real);
    figures_p->mean = nf_moments_mean(moments);
    figures_p->variance = nf_moments_variance(moments);
    figures_p->min = totals->min;
    figures_p->max = totals->max;
}

const char *nf_prefix_print_number(union nf_prefix_number number,
                                   enum nf_prefix_type type, char text[32])
{
    if (type == NF_PREFIX_I64)
        snprintf(text, 32, "%" PRId64, number.i64);
    else
        snprintf(text, 32, "%.17g", number.f64);
    return text;
}

/* Columns, right-aligned.  A text that is too long, of which there is none,
 * would lose its end. */
static void lay_out(char *row, const char *count, const char *sum,
                    const char *const rest[4])
{
    static const size_t width[6] = { 20, 42, 26, 26, 26, 26 };
    const char *const text[6] = {
        count, sum, rest[0], rest[1], rest[2], rest[3]
    };

    for (int i = 0; i < 6; row += width[i++]) {
        size_t length = strlen(text[i]);

        if (length > width[i])
            length = width[i];
        memset(row, ' ', width[i] - length);
        memcpy(row + width[i] - length, text[i], length);
    }
    *row = '\n';
}

void nf_prefix_print_row(const struct nf_prefix_figures *figures,
                         enum nf_prefix_type type, char *row_p)
{
    char count[24], mean[32], variance[32], min[32], max[32];
    const char *const rest[4] = {
        mean, variance, nf_prefix_print_number(figures->min, type, min),
        nf_prefix_print_number(figures->max, type, max)
    };

    snprintf(count, sizeof(count), "%" PRIu64, figures->count);
    snprintf(mean, sizeof(mean), "%.17g", figures->mean);
    if (figures->count < 2) /* C libraries print its sign as they like */
        strcpy(variance, "nan");
    else
        snprintf(variance, sizeof(variance), "%.17g", figures->variance);
    lay_out(row_p, count, figures->sum, rest);
}

void nf_prefix_print_head(char *row_p)
{
    static const char *const rest[4] = { "mean", "variance", "min", "max" };

    lay_out(row_p, "count", "sum", rest);
    row_p[0] = '#';
}

static void put_double(char *to, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    if (value != value)
        bits = UINT64_C(0x7ff8000000000000); /* one NaN, one sign */
    for (int i = 0; i < 8; i++)
        to[i] = (char)(bits >> (8 * i));
}

static double as_double(union nf_prefix_number number, enum nf_prefix_type type)
{
    return type == NF_PREFIX_I64 ? (double)number.i64 : number.f64;
}

void nf_prefix_print_record(const struct nf_prefix_figures *figures,
                            enum nf_prefix_type type, char *record_p)
{
    put_double(record_p, (double)figures->count);
    put_double(record_p + 8, figures->sum_real);
    put_double(record_p + 16, figures->mean);
    put_double(record_p + 24, figures->variance);
    put_double(record_p + 32, as_double(figures->min, type));
    put_double(record_p + 40, as_double(figures->max, type));
}
