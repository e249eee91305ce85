/* Chunks of 32 bits with late carries: an addition is three (a square: five)
 * integer additions at a place that the exponent gives.  O(1) a term. */
#include "config.h"
#include "apps/exact/exact.h"
#include <string.h>
#include "apps/exact/natural.h"

#define CHUNK_BITS 32
#define CHUNK_MASK INT64_C(0xffffffff)
#define LOAD_MAX   (UINT32_C(1) << 29)

/* Bit of 2^-1074, and of its square. */
#define UNIT_BIT        (NF_EXACT_POINT - 1074)
#define SQUARE_UNIT_BIT (NF_EXACT_POINT - 2 * 1074)

/* Make room for a term in chunks [low, high). */
static void touch(struct nf_exact *sum, uint32_t low, uint32_t high)
{
    if (++sum->load >= LOAD_MAX)
        nf_exact_normalize(sum);
    if (sum->high == sum->low) {
        sum->low = low;
        sum->high = high;
    }
    if (low < sum->low)
        sum->low = low;
    if (high > sum->high)
        sum->high = high;
}

/* Add +-bits 2^(bit - NF_EXACT_POINT). */
static void add_bits(struct nf_exact *sum, bool negative, uint64_t bits,
                     uint32_t bit)
{
    uint32_t at = bit / CHUNK_BITS;
    nf_exact_uint128 v = (nf_exact_uint128)bits << bit % CHUNK_BITS;
    int64_t sign = negative ? -1 : 1;

    touch(sum, at, at + 3);
    sum->chunk[at] += sign * ((int64_t)v & CHUNK_MASK);
    sum->chunk[at + 1] += sign * ((int64_t)(v >> 32) & CHUNK_MASK);
    sum->chunk[at + 2] += sign * (int64_t)(v >> 64);
}

/* Add bits^2 2^(bit - NF_EXACT_POINT). */
static void add_square(struct nf_exact *sum, uint64_t bits, uint32_t bit)
{
    uint32_t at = bit / CHUNK_BITS, up = bit % CHUNK_BITS;
    nf_exact_uint128 v = (nf_exact_uint128)bits * bits;
    /* the upper half moved up by less than 32 bits fits into 128 */
    nf_exact_uint128 low = (nf_exact_uint128)(uint64_t)v << up;
    nf_exact_uint128 high =
        ((nf_exact_uint128)(uint64_t)(v >> 64) << up) + (uint64_t)(low >> 64);

    touch(sum, at, at + 5);
    sum->chunk[at] += (int64_t)low & CHUNK_MASK;
    sum->chunk[at + 1] += (int64_t)((uint64_t)low >> 32);
    sum->chunk[at + 2] += (int64_t)high & CHUNK_MASK;
    sum->chunk[at + 3] += (int64_t)((uint64_t)high >> 32);
    sum->chunk[at + 4] += (int64_t)(high >> 64);
}

/* value = +-mantissa 2^(shift - 1074) */
static uint64_t take_apart(double value, bool *negative_p, uint32_t *shift_p)
{
    uint64_t bits, mantissa;
    uint32_t exponent;

    memcpy(&bits, &value, sizeof(bits));
    *negative_p = bits >> 63 != 0;
    exponent = (uint32_t)(bits >> 52) & 0x7ff;
    mantissa = bits & ((UINT64_C(1) << 52) - 1);
    *shift_p = exponent > 0 ? exponent - 1 : 0;
    return exponent > 0 ? mantissa | UINT64_C(1) << 52 : mantissa;
}

void nf_exact_add(struct nf_exact *sum, double value)
{
    bool negative;
    uint32_t shift;
    uint64_t mantissa = take_apart(value, &negative, &shift);

    if (mantissa != 0)
        add_bits(sum, negative, mantissa, UNIT_BIT + shift);
}

void nf_exact_add_square(struct nf_exact *sum, double value)
{
    bool negative;
    uint32_t shift;
    uint64_t mantissa = take_apart(value, &negative, &shift);

    if (mantissa != 0)
        add_square(sum, mantissa, SQUARE_UNIT_BIT + 2 * shift);
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void nf_exact_add_int(struct nf_exact *sum, int64_t value)
{
    if (value != 0)
        add_bits(sum, value < 0, magnitude(value), NF_EXACT_POINT);
}

void nf_exact_add_int_square(struct nf_exact *sum, int64_t value)
{
    if (value != 0)
        add_square(sum, magnitude(value), NF_EXACT_POINT);
}

void nf_exact_merge(struct nf_exact *sum, const struct nf_exact *other)
{
    if (other->low == other->high)
        return;
    if (sum->load + other->load + 1 >= LOAD_MAX)
        nf_exact_normalize(sum);
    touch(sum, other->low, other->high);
    sum->load += other->load;
    for (uint32_t i = other->low; i < other->high; i++)
        sum->chunk[i] += other->chunk[i];
}

/* Bring the chunks into [0, 2^32), after changing all signs if @p negate.
 * @return what is carried out of the last one */
static int64_t carry_all(struct nf_exact *sum, bool negate)
{
    int64_t carry = 0;

    for (uint32_t i = sum->low; i < sum->high; i++) {
        int64_t v = (negate ? -sum->chunk[i] : sum->chunk[i]) + carry;

        sum->chunk[i] = v & CHUNK_MASK;
        carry = v >> CHUNK_BITS; /* rounds down */
    }
    return carry;
}

void nf_exact_normalize(struct nf_exact *sum)
{
    int64_t carry = carry_all(sum, false);
    bool negative;

    for (; carry != 0 && carry != -1; carry >>= CHUNK_BITS)
        sum->chunk[sum->high++] = carry & CHUNK_MASK;
    negative = carry == -1;
    /* the value is the chunks less 2^k: its magnitude is 2^k less the chunks,
     * and 2^k itself if they are all zero */
    if (negative && carry_all(sum, true) == 0)
        sum->chunk[sum->high++] = 1;
    while (sum->high > sum->low && sum->chunk[sum->high - 1] == 0)
        sum->high--;
    while (sum->low < sum->high && sum->chunk[sum->low] == 0)
        sum->low++;
    if (sum->low == sum->high)
        sum->low = sum->high = 0;
    for (uint32_t i = sum->low; i < sum->high && negative; i++)
        sum->chunk[i] = -sum->chunk[i];
    sum->load = 0;
}

int nf_exact_sign(const struct nf_exact *sum)
{
    if (sum->high == sum->low)
        return 0;
    return sum->chunk[sum->high - 1] < 0 ? -1 : 1;
}

double nf_exact_round(const struct nf_exact *sum)
{
    struct nf_natural n;
    double value;

    nf_natural_of_exact(&n, sum);
    value = nf_natural_round(&n, false);
    return nf_exact_sign(sum) < 0 ? -value : value;
}

size_t nf_exact_print_int(const struct nf_exact *sum, char *text)
{
    const uint32_t point = NF_EXACT_POINT / CHUNK_BITS;
    nf_exact_uint128 value = 0;
    char digits[NF_EXACT_INT_BYTES] = "";
    size_t count = 0, length = 0;

    if (sum->high > sum->low && (sum->low < point || sum->high > point + 4))
        return 0;
    for (uint32_t i = sum->high; i > sum->low; i--)
        value |= (nf_exact_uint128)magnitude(sum->chunk[i - 1])
                 << CHUNK_BITS * (i - 1 - point);
    do {
        digits[count++] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value > 0);
    if (nf_exact_sign(sum) < 0)
        text[length++] = '-';
    while (count > 0)
        text[length++] = digits[--count];
    text[length] = '\0';
    return length;
}
