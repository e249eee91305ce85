/* gemm.c - the yardstick of matmul: one OpenBLAS dgemm, C = A B, all n x n.
 *
 *   gemm N THREADS     prints the seconds of one product, after a small one
 *                      that wakes the threads up */
#include "config.h"
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void fill(double *matrix, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        matrix[i] = (double)seed / 4294967296.0 - 0.5;
    }
}

static void multiply(const double *a, const double *b, double *c, int n)
{
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a, n,
                b, n, 0.0, c, n);
}

int main(int argc, char **argv)
{
    int n = argc == 3 ? atoi(argv[1]) : 0;
    int threads = argc == 3 ? atoi(argv[2]) : 0;
    size_t count = (size_t)n * (size_t)n;
    double *a, *b, *c, start_s;

    if (n < 1 || n > 30000 || threads < 1) {
        fprintf(stderr, "usage: gemm N THREADS\n");
        return 2;
    }
    a = malloc(count * sizeof *a);
    b = malloc(count * sizeof *b);
    c = calloc(count, sizeof *c);
    if (a == NULL || b == NULL || c == NULL) {
        fprintf(stderr, "gemm: out of memory\n");
        return 1;
    }
    fill(a, count, 1);
    fill(b, count, 2);
    fill(c, count, 3); /* touch every page before the clock starts */
    openblas_set_num_threads(threads);
    multiply(a, b, c, n < 256 ? n : 256);
    start_s = now_s();
    multiply(a, b, c, n);
    printf("%.6f\n", now_s() - start_s);
    free(a);
    free(b);
    free(c);
    return 0;
}
