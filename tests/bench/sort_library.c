/* sort_library.c - the yardstick of `nowfarm run sort`: one qsort() of N random
 * numbers, from an array that is there to the same, sorted.
 *
 *   sort_library N     prints the seconds, with huge pages or without: the faster */
#include "config.h"
#include <stdint.h>
#include <stdio.h>
#include "tests/bench/library_array.h"

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* @return seconds, or a negative number if there is no memory */
static double measure(long count, int huge)
{
    double *numbers = library_array((size_t)count * sizeof(*numbers), huge);
    double start_s, took_s;
    uint64_t state = 1;

    if (numbers == NULL)
        return -1;
    for (long i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407);
        numbers[i] = (double)(state >> 11) / 9007199254740992.0;
    }
    start_s = library_now_s();
    qsort(numbers, (size_t)count, sizeof(*numbers), compare);
    took_s = library_now_s() - start_s;
    free(numbers);
    return took_s;
}

int main(int argc, char **argv)
{
    long count = argc == 2 ? atol(argv[1]) : 0;
    double small_s, huge_s;

    if (count < 1 || count > 1000000000) {
        fprintf(stderr, "usage: sort_library N\n");
        return 2;
    }
    small_s = measure(count, 0);
    huge_s = measure(count, 1);
    if (small_s < 0 || huge_s < 0) {
        fprintf(stderr, "sort_library: out of memory\n");
        return 1;
    }
    printf("%.6f\n", small_s < huge_s ? small_s : huge_s);
    return 0;
}
