/* sort_library.c - the yardstick of `nowfarm run sort`: one qsort() of N random
 * numbers, from an array that is there to the same, sorted.
 *
 *   sort_library N     prints the seconds */
#include "config.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
    long count = argc == 2 ? atol(argv[1]) : 0;
    double *numbers, start_s;
    uint64_t state = 1;

    if (count < 1 || count > 1000000000) {
        fprintf(stderr, "usage: sort_library N\n");
        return 2;
    }
    numbers = malloc((size_t)count * sizeof(*numbers));
    if (numbers == NULL) {
        fprintf(stderr, "sort_library: out of memory\n");
        return 1;
    }
    for (long i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407);
        numbers[i] = (double)(state >> 11) / 9007199254740992.0;
    }
    start_s = now_s();
    qsort(numbers, (size_t)count, sizeof(*numbers), compare);
    printf("%.6f\n", now_s() - start_s);
    free(numbers);
    return 0;
}
