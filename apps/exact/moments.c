#include "config.h"
#include "apps/exact/moments.h"
#include <math.h>
#include <string.h>
#include "apps/exact/natural.h"

/* Behind the integer part of a quotient by one word there are then at least 64
 * bits, enough to round to 53; with two words, n and n - 1, one limb more. */
enum { QUOTIENT_LIMBS = 2, QUOTIENT2_LIMBS = 3 };

/* Chunks of multiples of 2^-1074 below 2^(1024 + 64). */
enum { SUM_LOW = (NF_EXACT_POINT - 1088) / 32, SUM_HIGH = SUM_LOW + 68 };

void nf_moments_add(struct nf_moments *m, double value)
{
    m->count++;
    nf_exact_add(&m->sum, value);
    nf_exact_add_square(&m->squares, value);
}

void nf_moments_add_int(struct nf_moments *m, int64_t value)
{
    m->count++;
    nf_exact_add_int(&m->sum, value);
    nf_exact_add_int_square(&m->squares, value);
}

void nf_moments_merge(struct nf_moments *m, const struct nf_moments *other)
{
    m->count += other->count;
    nf_exact_merge(&m->sum, &other->sum);
    nf_exact_merge(&m->squares, &other->squares);
}

void nf_moments_normalize(struct nf_moments *m)
{
    nf_exact_normalize(&m->sum);
    nf_exact_normalize(&m->squares);
}

double nf_moments_mean(const struct nf_moments *m)
{
    struct nf_natural n;
    double mean;
    bool more;

    if (m->count == 0)
        return (double)NAN;
    nf_natural_of_exact(&n, &m->sum);
    nf_natural_extend(&n, QUOTIENT_LIMBS);
    more = nf_natural_divide(&n, m->count);
    mean = nf_natural_round(&n, more);
    return nf_exact_sign(&m->sum) < 0 ? -mean : mean;
}

double nf_moments_variance(const struct nf_moments *m)
{
    struct nf_natural spread, sum, square;
    bool more;

    if (m->count < 2)
        return (double)NAN;
    nf_natural_of_exact(&spread, &m->squares);
    nf_natural_scale(&spread, m->count);
    nf_natural_of_exact(&sum, &m->sum);
    nf_natural_square(&sum, &square);
    nf_natural_subtract(&spread, &square);
    nf_natural_extend(&spread, QUOTIENT2_LIMBS);
    /* floor(floor(x / a) / b) = floor(x / ab) */
    more = nf_natural_divide(&spread, m->count);
    more |= nf_natural_divide(&spread, m->count - 1);
    return nf_natural_round(&spread, more);
}

static void encode(const struct nf_exact *sum, int64_t *words)
{
    memcpy(words, sum->chunk, sizeof(sum->chunk));
}

static bool decode(const int64_t *words, struct nf_exact *sum)
{
    bool minus = false, plus = false;

    memset(sum, 0, sizeof(*sum));
    memcpy(sum->chunk, words, sizeof(sum->chunk));
    for (uint32_t i = 0; i < NF_EXACT_CHUNKS; i++) {
        int64_t chunk = sum->chunk[i];

        if (chunk == 0)
            continue;
        if (chunk > UINT32_MAX || chunk < -(int64_t)UINT32_MAX)
            return false;
        minus |= chunk < 0;
        plus |= chunk > 0;
        if (sum->high == 0)
            sum->low = i;
        sum->high = i + 1;
    }
    return !(minus && plus);
}

/* Can it be a sum of doubles, fewer than 2^64?  Its square then fits. */
static bool is_sum(const struct nf_exact *sum)
{
    return sum->low == sum->high ||
           (sum->low >= SUM_LOW && sum->high <= SUM_HIGH);
}

void nf_moments_encode(const struct nf_moments *m, int64_t *words)
{
    words[0] = (int64_t)m->count;
    encode(&m->sum, words + 1);
    encode(&m->squares, words + 1 + NF_EXACT_CHUNKS);
}

enum nf_status nf_moments_decode(const int64_t *words, struct nf_moments *m_p)
{
    if (words[0] < 0)
        return NF_ERR_PROTOCOL;
    m_p->count = (uint64_t)words[0];
    if (!decode(words + 1, &m_p->sum) ||
        !decode(words + 1 + NF_EXACT_CHUNKS, &m_p->squares) ||
        !is_sum(&m_p->sum) ||
        m_p->squares.high > NF_EXACT_CHUNKS - NF_EXACT_SPARE ||
        nf_exact_sign(&m_p->squares) < 0)
        return NF_ERR_PROTOCOL;
    return NF_OK;
}
