/* Decimal text of doubles in 128-bit integers.
 *
 * A double is m 2^e and a decimal is w 10^s = w 5^s 2^s.  5^27 < 2^63, so for
 * |s| <= 27 and w < 2^64 both directions need one product or quotient of 128
 * bits and an exact remainder: the rounding is right by construction.  All
 * other numbers, rare in matrices, go to the C library. */
#include "config.h"
#include "apps/matmul/decimal.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 nf_uint128;

#define MAX_POWER  27
#define MAX_DIGITS 19 /* 10^19 - 1 < 2^64 */

/* 5^0 .. 5^27 */
static const uint64_t power_of_5[MAX_POWER + 1] = {
    1ULL,
    5ULL,
    25ULL,
    125ULL,
    625ULL,
    3125ULL,
    15625ULL,
    78125ULL,
    390625ULL,
    1953125ULL,
    9765625ULL,
    48828125ULL,
    244140625ULL,
    1220703125ULL,
    6103515625ULL,
    30517578125ULL,
    152587890625ULL,
    762939453125ULL,
    3814697265625ULL,
    19073486328125ULL,
    95367431640625ULL,
    476837158203125ULL,
    2384185791015625ULL,
    11920928955078125ULL,
    59604644775390625ULL,
    298023223876953125ULL,
    1490116119384765625ULL,
    7450580596923828125ULL,
};

/* 2^e, -1022 <= e <= 1023 */
static double power_of_2(int e)
{
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* w 10^power, w > 0, |power| <= MAX_POWER, correctly rounded.  The leading 62
 * to 64 bits are made odd if anything was cut behind them ("sticky bit"); the
 * conversion to 53 bits then rounds as if it saw all of them. */
static double scale(uint64_t w, int power)
{
    uint64_t head;
    int e;

    if (power >= 0) {
        nf_uint128 product = (nf_uint128)w * power_of_5[power];
        uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;

        e = power;
        head = low;
        if (high != 0) {
            int shift = 64 - __builtin_clzll(high); /* 1..63: high < 2^63 */

            head = (uint64_t)(product >> shift) | ((low << (64 - shift)) != 0);
            e += shift;
        }
    } else {
        int up = __builtin_clzll(w);
        int up_divisor = __builtin_clzll(power_of_5[-power]);
        uint64_t divisor = power_of_5[-power] << up_divisor;
        nf_uint128 dividend = (nf_uint128)(w << up)
                              << 63; /* / 2^64 < divisor */

        head = (uint64_t)(dividend / divisor);
        head |= (nf_uint128)head * divisor != dividend;
        e = power + up_divisor - up - 63;
    }
    return (double)head * power_of_2(e);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The exponent part at `text`, if there is one. */
static const char *parse_exponent(const char *text, int *exponent_p)
{
    const char *c = text;
    bool negative;
    int value = 0;

    *exponent_p = 0;
    if (*c != 'e' && *c != 'E')
        return text;
    c++;
    negative = *c == '-';
    if (*c == '-' || *c == '+')
        c++;
    if (!is_digit(*c))
        return text;
    for (; is_digit(*c); c++)
        if (value < 100000) /* far out of range already */
            value = value * 10 + (*c - '0');
    *exponent_p = negative ? -value : value;
    return c;
}

const char *nf_decimal_parse(const char *text, double *value_p)
{
    const char *c = text, *end;
    bool negative = *c == '-', any = false;
    uint64_t w = 0;
    long digits = 0, fraction = 0;
    int exponent;

    if (*c == '-' || *c == '+')
        c++;
    for (; is_digit(*c); c++, any = true) {
        w = w * 10 + (uint64_t)(*c - '0');
        digits += digits > 0 || w > 0;
    }
    if (*c == '.' && (any || is_digit(c[1])))
        for (c++; is_digit(*c); c++, any = true, fraction++) {
            w = w * 10 + (uint64_t)(*c - '0');
            digits += digits > 0 || w > 0;
        }
    if (!any)
        return NULL;
    end = parse_exponent(c, &exponent);
    if (digits == 0)
        *value_p = negative ? -0.0 : 0.0;
    else if (digits > MAX_DIGITS || exponent - fraction > MAX_POWER ||
             exponent - fraction < -MAX_POWER)
        *value_p = strtod(text, NULL); /* the same grammar ends it at `end` */
    else
        *value_p = (negative ? -1 : 1) * scale(w, (int)(exponent - fraction));
    return end;
}

/* round(mantissa 2^e 10^power), ties to even; 0 <= power <= MAX_POWER, and the
 * result is below 2^63. */
static uint64_t scaled_integer(uint64_t mantissa, int e, int power)
{
    nf_uint128 product = (nf_uint128)mantissa * power_of_5[power];
    nf_uint128 half, rest;
    uint64_t value;
    int shift = -(e + power);

    if (shift <= 0)
        return (uint64_t)(product << -shift);
    half = (nf_uint128)1 << (shift - 1);
    rest = product & (half + half - 1);
    value = (uint64_t)(product >> shift);
    return value + (rest > half || (rest == half && (value & 1) != 0));
}

/* The digits d[0..count), d[0] times 10^power, in the layout of "%g". */
static size_t lay_out(const char *d, int count, int power, char *text)
{
    char *to = text;
    int i = 0;

    if (power < -4)
        return (size_t)sprintf(text,
                               count > 1 ? "%c.%.*se-%02d" : "%c%.*se-%02d",
                               d[0], count - 1, d + 1, -power);
    if (power < 0) {
        memcpy(to, "0.000", 5);
        to += 1 - power;
    } else {
        for (; i <= power; i++)
            *to++ = i < count ? d[i] : '0';
        if (i < count)
            *to++ = '.';
    }
    for (; i < count; i++)
        *to++ = d[i];
    *to = '\0';
    return (size_t)(to - text);
}

size_t nf_decimal_print(double value, char *text)
{
    const uint64_t limit = 100000000000000000ULL; /* 10^17 */
    uint64_t bits, mantissa, integer;
    char digits[17];
    int e, power, count = 17;
    double size = fabs(value);

    if (!(size >= 1e-10 && size < 1e16))
        return (size_t)snprintf(text, NF_DECIMAL_BYTES, "%.17g", value);
    memcpy(&bits, &size, sizeof(bits));
    mantissa = (bits & ((1ULL << 52) - 1)) | 1ULL << 52;
    e = (int)(bits >> 52) - 1075;
    /* floor(log10(2^(e+52))) is floor(log10(value)) or one less */
    power = (int)floor((e + 52) * 0.30102999566398120);
    integer = scaled_integer(mantissa, e, 16 - power);
    if (integer >= limit)
        integer = scaled_integer(mantissa, e, 16 - ++power);
    for (int i = 16; i >= 0; i--, integer /= 10)
        digits[i] = (char)('0' + integer % 10);
    while (count > 1 && digits[count - 1] == '0')
        count--;
    if (value < 0)
        *text++ = '-';
    return lay_out(digits, count, power, text) + (value < 0);
}
