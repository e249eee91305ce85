/* Is C the product of A and B, up to rounding?  See matmul.h for the bound. */
#include "config.h"
#include "apps/matmul/matmul.h"
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

#define PANEL_BYTES (64 << 20)

/* Largest magnitude and sum of magnitudes, of rows or columns. */
struct norms {
    double *max, *sum;
};

/* The entry that is worst in units of its tolerance. */
struct worst {
    double ratio, value, reference, tolerance;
    uint64_t i, j;
};

static void norms_free(struct norms *norms)
{
    nf_free(norms->max);
    nf_free(norms->sum);
}

static int norms_create(struct norms *norms, uint64_t count)
{
    norms->max = nf_calloc((size_t)count, sizeof(double));
    norms->sum = nf_calloc((size_t)count, sizeof(double));
    return norms->max != NULL && norms->sum != NULL;
}

static void add_norms(struct norms *norms, uint64_t at, double value)
{
    double size = fabs(value);

    norms->sum[at] += size;
    norms->max[at] = size > norms->max[at] ? size : norms->max[at];
}

static void row_norms(const struct nf_matrix *matrix, struct norms *norms)
{
    const double *entry = matrix->data;

    for (uint64_t j = 0; j < matrix->cols; j++)
        for (uint64_t i = 0; i < matrix->rows; i++)
            add_norms(norms, i, *entry++);
}

static void column_norms(const struct nf_matrix *matrix, struct norms *norms)
{
    const double *entry = matrix->data;

    for (uint64_t j = 0; j < matrix->cols; j++)
        for (uint64_t i = 0; i < matrix->rows; i++)
            add_norms(norms, j, *entry++);
}

/* Compare columns [first, first + count) of C with `reference`. */
static void compare(const struct nf_product *product, const double *reference,
                    const struct norms norms[2], uint64_t first, uint64_t count,
                    struct worst *worst)
{
    const double k = (double)product->a.cols + 2;
    const double gamma = k * 0x1p-53 / (1 - k * 0x1p-53);
    const double factor = 2 * gamma * (1 + 2 * k * 0x1p-53);
    const double underflow = k * 0x1p-1073;
    const uint64_t rows = product->c.rows;

    for (uint64_t j = first; j < first + count; j++) {
        const double *c = product->c.data + j * rows;
        double max = factor * norms[1].max[j], sum = factor * norms[1].sum[j];

        for (uint64_t i = 0; i < rows; i++, reference++) {
            double by_sum = norms[0].max[i] * sum;
            double by_max = norms[0].sum[i] * max;
            double tolerance = (by_sum < by_max ? by_sum : by_max) + underflow;
            double deviation = fabs(c[i] - *reference);
            double ratio = INFINITY;

            if (deviation <= worst->ratio * tolerance && tolerance < INFINITY)
                continue; /* nearly always: no division */
            if (deviation < INFINITY && tolerance < INFINITY)
                ratio = deviation / tolerance;
            if (ratio > worst->ratio)
                *worst =
                    (struct worst){ ratio, c[i], *reference, tolerance, i, j };
        }
    }
}

static enum nf_status judge(const struct nf_product *product,
                            const struct worst *worst, char *note_p,
                            size_t note_bytes, struct nf_error *err)
{
    double deviation = fabs(worst->value - worst->reference);

    if (!isfinite(worst->reference) || !isfinite(worst->tolerance))
        return nf_fail(err, NF_ERR_VERIFY,
                       "C(%llu, %llu): the product is beyond float64, it "
                       "cannot be verified",
                       (unsigned long long)worst->i + 1,
                       (unsigned long long)worst->j + 1);
    if (worst->ratio > 1)
        return nf_fail(err, NF_ERR_VERIFY,
                       "C(%llu, %llu) is %.17g, a direct product gives %.17g: "
                       "they differ by %.3g (tolerance %.3g)",
                       (unsigned long long)worst->i + 1,
                       (unsigned long long)worst->j + 1, worst->value,
                       worst->reference, deviation, worst->tolerance);
    snprintf(note_p, note_bytes,
             "C (%llu x %llu) agrees with one direct BLAS product: largest "
             "deviation %.2g where 2 gamma_k |A||B| allows %.2g (k = %llu)",
             (unsigned long long)product->c.rows,
             (unsigned long long)product->c.cols, deviation, worst->tolerance,
             (unsigned long long)product->a.cols);
    return NF_OK;
}

/* Multiply panel by panel of B with all processors, and compare. */
static void compare_all(const struct nf_product *product, double *panel,
                        uint64_t panel_cols, const struct norms norms[2],
                        struct worst *worst)
{
    const struct nf_matrix *a = &product->a, *b = &product->b;
    int threads = openblas_get_num_threads();

    openblas_set_num_threads(openblas_get_num_procs());
    for (uint64_t j = 0; j < b->cols; j += panel_cols) {
        uint64_t count = b->cols - j < panel_cols ? b->cols - j : panel_cols;

        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)a->rows,
                    (blasint)count, (blasint)a->cols, 1, a->data,
                    (blasint)a->rows, b->data + j * b->rows, (blasint)b->rows,
                    0, panel, (blasint)a->rows);
        compare(product, panel, norms, j, count, worst);
    }
    openblas_set_num_threads(threads); /* kernels of this process count on it */
}

enum nf_status nf_product_verify(const struct nf_product *product, char *note_p,
                                 size_t note_bytes, struct nf_error *err)
{
    uint64_t rows = product->c.rows, cols = product->c.cols;
    uint64_t panel_cols = PANEL_BYTES / sizeof(double) / rows;
    struct norms norms[2] = { { NULL, NULL }, { NULL, NULL } };
    struct worst worst = { .ratio = -1 };
    enum nf_status status;
    double *panel = NULL;

    panel_cols = panel_cols < 1 ? 1 : panel_cols > cols ? cols : panel_cols;
    if (norms_create(&norms[0], rows) && norms_create(&norms[1], cols))
        panel = nf_malloc((size_t)(rows * panel_cols) * sizeof(double));
    if (panel == NULL) {
        status = nf_fail(err, NF_ERR_NOMEM, "no memory to verify the product");
    } else {
        row_norms(&product->a, &norms[0]);
        column_norms(&product->b, &norms[1]);
        compare_all(product, panel, panel_cols, norms, &worst);
        status = judge(product, &worst, note_p, note_bytes, err);
    }
    nf_free(panel);
    norms_free(&norms[0]);
    norms_free(&norms[1]);
    return status;
}
