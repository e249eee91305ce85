/* The one place that reads the clock. */
#include "config.h"
#include "common/base/clock.h"
#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

int64_t nf_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t nf_date_now_s(void)
{
    return (int64_t)time(NULL);
}

void nf_sleep_until_us(int64_t at_us)
{
    struct timespec at = {
        .tv_sec = (time_t)(at_us / 1000000),
        .tv_nsec = (long)(at_us % 1000000) * 1000,
    };

    /* of this thread; it is 50 us, to save batteries */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        continue;
}
