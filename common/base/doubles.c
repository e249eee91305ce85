#include "config.h"
#include "common/base/doubles.h"
#include <float.h>

/* What the compiler promises. */
#if FLT_RADIX == 2 && DBL_MANT_DIG == 53 && DBL_MAX_EXP == 1024 &&             \
    DBL_MIN_EXP == -1021 && defined(FLT_EVAL_METHOD) &&                        \
    FLT_EVAL_METHOD == 0 && !defined(__FAST_MATH__)
enum { IS_PROMISED = 1 };
#else
enum { IS_PROMISED = 0 };
#endif

/* And what the processor does, as it is set up. */
bool nf_doubles_are_plain(void)
{
    const volatile double one = 1, half_bit = 0x1p-53, least = DBL_MIN;
    const volatile double more = 0x1.8p-53, third = 3;
    volatile double even = one + half_bit, up = one + more;
    volatile double small = least / 2, down = one / third;
    /* their product is a little less than 1, which is nearest */
    const volatile double more_than_1 = 1 + 0x1p-30, less_than_1 = 1 - 0x1p-30;
    volatile double apart = more_than_1 * less_than_1 - one;

    return IS_PROMISED != 0 && apart >= 0 && (one + half_bit) - one <= 0 && even <= 1 &&
           up >= 1 + DBL_EPSILON && small > 0 && down <= 0x1.5555555555555p-2 &&
           down >= 0x1.5555555555555p-2;
}
