#ifndef NF_MATMUL_DECIMAL_H
#define NF_MATMUL_DECIMAL_H
/** @file decimal.h  Decimal text of doubles: correctly rounded like strtod()
 *  and printf("%.17g"), but two to four times as fast for ordinary numbers.
 *  Matrices have millions of them.  The locale must have the decimal point '.'
 *  (the programs never call setlocale). */
#include <stddef.h>

/** Enough for any double as nf_decimal_print() writes it, NUL included. */
#define NF_DECIMAL_BYTES 32

/** Read the longest decimal number ([+-] digits [. digits] [e [+-] digits]) at
 *  the start of @p text, a string.  No spaces, NaN, infinity or hexadecimal.
 *  @param value_p  nearest double, ties to even; +-HUGE_VAL if too big
 *  @return the first character behind the number; NULL if there is none */
const char *nf_decimal_parse(const char *text, double *value_p);

/** Write @p value into text[NF_DECIMAL_BYTES], exactly as "%.17g" does, so that
 *  reading it gives the same double again.
 *  @return the length, without the final NUL */
size_t nf_decimal_print(double value, char *text);
#endif
