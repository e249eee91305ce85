/* fft_library.c - the yardstick of `nowfarm run fft`: one transform of N
 * complex numbers by FFTW, in one thread, planned with the same effort.
 *
 *   fft_library N      prints the seconds of planning and transforming, from
 * one array to another, or in place if that was faster */
#include "config.h"
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* @return seconds, or a negative number if there is no plan */
static double transform(int count, fftw_complex *from, fftw_complex *to)
{
    double start_s = now_s();
    fftw_plan plan =
        fftw_plan_dft_1d(count, from, to, FFTW_FORWARD, FFTW_ESTIMATE);

    if (plan == NULL)
        return -1;
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return now_s() - start_s;
}

int main(int argc, char **argv)
{
    int count = argc == 2 ? atoi(argv[1]) : 0;
    fftw_complex *from, *to;
    double apart_s, in_place_s;

    if (count < 1 || count > 1 << 28) {
        fprintf(stderr, "usage: fft_library N\n");
        return 2;
    }
    from = fftw_malloc((size_t)count * sizeof(*from));
    to = fftw_malloc((size_t)count * sizeof(*to));
    if (from == NULL || to == NULL) {
        fprintf(stderr, "fft_library: out of memory\n");
        return 1;
    }
    for (int i = 0; i < count; i++) {
        from[i][0] = i % 1009 * 1e-3;
        from[i][1] = i % 1013 * 1e-3;
    }
    /* touch every page before the clock starts */
    memset(to, 0, (size_t)count * sizeof(*to));
    apart_s = transform(count, from, to);
    in_place_s = transform(count, from, from);
    fftw_free(from);
    fftw_free(to);
    if (apart_s < 0 || in_place_s < 0) {
        fprintf(stderr, "fft_library: no plan\n");
        return 1;
    }
    printf("%.6f\n", apart_s < in_place_s ? apart_s : in_place_s);
    return 0;
}
