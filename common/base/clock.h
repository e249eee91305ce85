#ifndef NF_BASE_CLOCK_H
#define NF_BASE_CLOCK_H
/** @file clock.h  The clocks.  Pure code gets the time as argument. */
#include <stdint.h>

/** @return microseconds of the monotonic clock, since an arbitrary point. */
int64_t nf_now_us(void);

/** @return seconds since 1970, which may jump: for dates only. */
int64_t nf_date_now_s(void);

/** Sleep until nf_now_us() is @p at_us, to a few tens of microseconds. */
void nf_sleep_until_us(int64_t at_us);
#endif
