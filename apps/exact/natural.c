#include "config.h"
#include "apps/exact/natural.h"
#include <math.h>
#include <string.h>

#define LIMB_BITS 64

static void trim(struct nf_natural *n)
{
    while (n->count > 0 && n->limb[n->count - 1] == 0)
        n->count--;
}

static uint64_t chunk_of(const struct nf_exact *sum, uint32_t i)
{
    int64_t chunk = i < NF_EXACT_CHUNKS ? sum->chunk[i] : 0;

    return (uint64_t)(chunk < 0 ? -chunk : chunk);
}

void nf_natural_of_exact(struct nf_natural *n, const struct nf_exact *sum)
{
    uint32_t low = sum->low - sum->low % 2; /* a limb is two chunks */

    n->count = 0;
    n->exponent = (int32_t)low * 32 - NF_EXACT_POINT;
    for (uint32_t i = low; i < sum->high; i += 2)
        n->limb[n->count++] = chunk_of(sum, i) | chunk_of(sum, i + 1) << 32;
}

void nf_natural_scale(struct nf_natural *n, uint64_t word)
{
    uint64_t carry = 0;

    for (uint32_t i = 0; i < n->count; i++) {
        nf_exact_uint128 v = (nf_exact_uint128)n->limb[i] * word + carry;

        n->limb[i] = (uint64_t)v;
        carry = (uint64_t)(v >> LIMB_BITS);
    }
    if (carry != 0)
        n->limb[n->count++] = carry;
    trim(n);
}

void nf_natural_square(const struct nf_natural *n, struct nf_natural *square)
{
    square->count = 2 * n->count;
    square->exponent = 2 * n->exponent;
    memset(square->limb, 0, square->count * sizeof(square->limb[0]));
    for (uint32_t i = 0; i < n->count; i++) {
        uint64_t carry = 0;

        for (uint32_t j = 0; j < n->count; j++) {
            nf_exact_uint128 v = (nf_exact_uint128)n->limb[i] * n->limb[j] +
                                 square->limb[i + j] + carry;

            square->limb[i + j] = (uint64_t)v;
            carry = (uint64_t)(v >> LIMB_BITS);
        }
        square->limb[i + n->count] = carry;
    }
    trim(square);
}

void nf_natural_extend(struct nf_natural *n, uint32_t limbs)
{
    memmove(n->limb + limbs, n->limb, n->count * sizeof(n->limb[0]));
    memset(n->limb, 0, limbs * sizeof(n->limb[0]));
    if (n->count > 0)
        n->count += limbs;
    n->exponent -= (int32_t)limbs * LIMB_BITS;
}

void nf_natural_subtract(struct nf_natural *n, const struct nf_natural *less)
{
    uint64_t borrow = 0;
    uint32_t at;

    if (less->count == 0)
        return;
    if (less->exponent < n->exponent)
        nf_natural_extend(n,
                          (uint32_t)(n->exponent - less->exponent) / LIMB_BITS);
    at = (uint32_t)(less->exponent - n->exponent) / LIMB_BITS;
    for (uint32_t i = 0; at + i < n->count; i++) {
        uint64_t *limb = &n->limb[at + i], had = *limb;
        uint64_t take = i < less->count ? less->limb[i] : 0;

        *limb = had - take - borrow;
        borrow = had < take || (borrow != 0 && had == take);
        if (i >= less->count && borrow == 0)
            break;
    }
    trim(n);
}

bool nf_natural_divide(struct nf_natural *n, uint64_t word)
{
    nf_exact_uint128 rest = 0;

    for (uint32_t i = n->count; i > 0; i--) {
        rest = rest << LIMB_BITS | n->limb[i - 1];
        n->limb[i - 1] = (uint64_t)(rest / word);
        rest %= word;
    }
    trim(n);
    return rest != 0;
}

/* Bits [from, from + 64) of n, counted from its last one; from may be < 0. */
static uint64_t window(const struct nf_natural *n, int64_t from)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < n->count; i++) {
        int64_t up = (int64_t)i * LIMB_BITS - from;

        if (up > -LIMB_BITS && up < LIMB_BITS)
            bits |= up >= 0 ? n->limb[i] << up : n->limb[i] >> -up;
    }
    return bits;
}

/* Is any of the bits below @p below set? */
static bool any_below(const struct nf_natural *n, int64_t below)
{
    for (uint32_t i = 0; i < n->count && (int64_t)i * LIMB_BITS < below; i++) {
        int64_t left = below - (int64_t)i * LIMB_BITS;
        uint64_t mask =
            left >= LIMB_BITS ? UINT64_MAX : (UINT64_C(1) << left) - 1;

        if ((n->limb[i] & mask) != 0)
            return true;
    }
    return false;
}

double nf_natural_round(const struct nf_natural *n, bool more)
{
    int64_t top, last;
    uint64_t bits, fraction;

    if (n->count == 0)
        return 0;
    top = (int64_t)n->count * LIMB_BITS - 1 -
          __builtin_clzll(n->limb[n->count - 1]);
    last = top - 52; /* weight of the last bit of the double, in bits of n */
    if (last + n->exponent < -1074)
        last = -1074 - (int64_t)n->exponent;
    /* ten bits and a sticky one behind the 53 decide on the rounding */
    bits = window(n, last - 11);
    more |= any_below(n, last - 11);
    fraction = bits & 0x7ff;
    bits >>= 11;
    if (fraction > 0x400 || (fraction == 0x400 && (more || (bits & 1) != 0)))
        bits++;
    return ldexp((double)bits, (int)(last + n->exponent));
}
