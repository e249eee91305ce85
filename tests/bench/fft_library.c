/* fft_library.c - the yardstick of `nowfarm run fft`: one transform of N
 * complex numbers by FFTW, in one thread, planned with the same effort.
 *
 *   fft_library N      prints the seconds of planning and transforming, from
 * one array to another or in place, with huge pages or without: the fastest */
#include "config.h"
#include <fftw3.h>
#include <stdio.h>
#include <string.h>
#include "tests/bench/library_array.h"

/* @return seconds, or a negative number if there is no plan */
static double transform(int count, fftw_complex *from, fftw_complex *to)
{
    double start_s = library_now_s();
    fftw_plan plan =
        fftw_plan_dft_1d(count, from, to, FFTW_FORWARD, FFTW_ESTIMATE);

    if (plan == NULL)
        return -1;
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return library_now_s() - start_s;
}

/* @return seconds, or a negative number if there is no memory or plan */
static double measure(int count, int huge)
{
    const size_t bytes = (size_t)count * sizeof(fftw_complex);
    fftw_complex *from = library_array(bytes, huge);
    fftw_complex *to = library_array(bytes, huge);
    double apart_s = -1, in_place_s = -1;

    if (from != NULL && to != NULL) {
        for (int i = 0; i < count; i++) {
            from[i][0] = i % 1009 * 1e-3;
            from[i][1] = i % 1013 * 1e-3;
        }
        /* touch every page before the clock starts */
        memset(to, 0, bytes);
        apart_s = transform(count, from, to);
        in_place_s = transform(count, from, from);
    }
    free(from);
    free(to);
    return apart_s < in_place_s ? apart_s : in_place_s;
}

int main(int argc, char **argv)
{
    int count = argc == 2 ? atoi(argv[1]) : 0;
    double small_s, huge_s;

    if (count < 1 || count > 1 << 28) {
        fprintf(stderr, "usage: fft_library N\n");
        return 2;
    }
    small_s = measure(count, 0);
    huge_s = measure(count, 1);
    if (small_s < 0 || huge_s < 0) {
        fprintf(stderr, "fft_library: no memory, or no plan\n");
        return 1;
    }
    printf("%.6f\n", small_s < huge_s ? small_s : huge_s);
    return 0;
}
