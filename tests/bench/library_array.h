/* library_array.h - arrays for a library's call that is a yardstick: results of ours have
 * huge pages, so the library is timed with these as well, and its better time counts. */
#ifndef NF_TESTS_BENCH_LIBRARY_ARRAY_H
#define NF_TESTS_BENCH_LIBRARY_ARRAY_H
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { LIBRARY_PAGE_BYTES = 2 << 20 };

/* free() it; huge: with huge pages, if the system has them */
static inline void *library_array(size_t bytes, int huge)
{
    size_t whole =
        (bytes + LIBRARY_PAGE_BYTES - 1) / LIBRARY_PAGE_BYTES * LIBRARY_PAGE_BYTES;
    void *array = aligned_alloc(huge ? LIBRARY_PAGE_BYTES : 64, whole);

#ifdef MADV_HUGEPAGE
    if (array != NULL && huge)
        (void)madvise(array, whole, MADV_HUGEPAGE);
#endif
    return array;
}

static inline double library_now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}
#endif
