#ifndef NF_BASE_CLOCK_H
#define NF_BASE_CLOCK_H
/** @file clock.h  The monotonic clock.  Pure code gets the time as argument. */
#include <stdint.h>

/** @return microseconds of the monotonic clock, since an arbitrary point. */
int64_t nf_now_us(void);
#endif
