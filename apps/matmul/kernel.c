/* What slaves compute: columns of C from A and columns of B. */
#include "config.h"
#include "apps/matmul/matmul.h"
#include <cblas.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>

static pthread_once_t threads_once = PTHREAD_ONCE_INIT;

static void use_one_thread(void)
{
    openblas_set_num_threads(1);
}

static int fail(const struct nf_work *work, int code, const char *reason)
{
    if (work->error != NULL && work->error_bytes > 0)
        snprintf(work->error, work->error_bytes,
                 "matmul: %s (A %zu bytes, %llu columns of B %zu bytes)",
                 reason, work->shared_bytes, (unsigned long long)work->count,
                 work->input_bytes);
    return code;
}

/* The sides of A; 0: the sizes fit no product. */
static int find_sides(const struct nf_work *work, uint64_t *m_p, uint64_t *k_p)
{
    uint64_t a = work->shared_bytes / sizeof(double);
    uint64_t b = work->input_bytes / sizeof(double);

    if (work->count == 0 || work->count > NF_MATRIX_MAX_SIDE || a == 0 ||
        b == 0 || work->shared_bytes % sizeof(double) != 0 ||
        work->input_bytes % sizeof(double) != 0 || b % work->count != 0)
        return 0;
    *k_p = b / work->count;
    if (a % *k_p != 0)
        return 0;
    *m_p = a / *k_p;
    return *m_p <= NF_MATRIX_MAX_SIDE && *k_p <= NF_MATRIX_MAX_SIDE &&
           *m_p <= SIZE_MAX / sizeof(double) / work->count;
}

int nf_matmul_compute(const struct nf_work *work)
{
    uint64_t m, k;
    double *c;

    if (!find_sides(work, &m, &k))
        return fail(work, 1, "sizes that fit no product");
    if (work->shared == NULL || work->input == NULL ||
        (uintptr_t)work->shared % alignof(double) != 0 ||
        (uintptr_t)work->input % alignof(double) != 0)
        return fail(work, 1, "data that is not aligned");
    c = nf_buf_reserve(work->result,
                       (size_t)(m * work->count) * sizeof(double));
    if (c == NULL)
        return fail(work, 2, "out of memory");
    pthread_once(&threads_once, use_one_thread);
    /* dgemm copies A into its own layout first: for one column that takes
     * longer than the product */
    if (work->count == 1)
        cblas_dgemv(CblasColMajor, CblasNoTrans, (blasint)m, (blasint)k, 1,
                    work->shared, (blasint)m, work->input, 1, 0, c, 1);
    else
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)m,
                    (blasint)work->count, (blasint)k, 1, work->shared,
                    (blasint)m, work->input, (blasint)k, 0, c, (blasint)m);
    return 0;
}
