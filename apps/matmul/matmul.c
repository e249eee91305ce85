/* The matrix product as an application of the farm. */
#include "config.h"
#include "apps/matmul/matmul.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "apps/app.h"
#include "apps/output.h"
#include "apps/setting.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"

enum { STREAM_A, STREAM_B }; /* random sequences */
enum { DEFAULT_N = 320 };    /* the paper's */

struct matmul {
    uint64_t n; /* 0: not given */
    uint64_t seed;
    bool seed_given;
    char *path[2]; /* of A and B; NULL: not given */
    char *out;     /* NULL: do not save */
    uint64_t memory_bytes;
    struct nf_product product;
};

static const struct nf_app_option matmul_options[] = {
    { "n", "N", "multiply two random N x N matrices; default 320" },
    { "seed", "S", "seed of the random matrices (default 1)" },
    { "a", "FILE", "read A from FILE.mtx or FILE.npy (goes with --b)" },
    { "b", "FILE", "read B from FILE.mtx or FILE.npy (goes with --a)" },
    { NULL, NULL, NULL },
};

static const struct nf_app matmul_kernel = {
    .name = "matmul",
    .compute = nf_matmul_compute,
    .input_type = NF_FLOAT64,
    .result_type = NF_FLOAT64,
    .shared_type = NF_FLOAT64,
    .batch_units = UINT64_MAX, /* dgemm is better the more columns it gets */
};

static enum nf_status matmul_create(void **state_p, struct nf_error *err)
{
    struct matmul *matmul = nf_calloc(1, sizeof(*matmul));

    if (matmul == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "matmul: out of memory");
    matmul->seed = 1;
    matmul->memory_bytes = nf_memory_bytes();
    *state_p = matmul;
    return NF_OK;
}

static void matmul_destroy(void *state)
{
    struct matmul *matmul = state;

    if (matmul == NULL)
        return;
    nf_matrix_fini(&matmul->product.a);
    nf_matrix_fini(&matmul->product.b);
    nf_matrix_fini(&matmul->product.c);
    nf_free(matmul->path[0]);
    nf_free(matmul->path[1]);
    nf_free(matmul->out);
    nf_free(matmul);
}

static enum nf_status matmul_set(void *state, const char *option,
                                 const char *value, struct nf_error *err)
{
    struct matmul *matmul = state;
    enum nf_status status;

    if (strcmp(option, "n") == 0)
        return nf_setting_count(option, value, 1, NF_MATRIX_MAX_SIDE,
                                &matmul->n, err);
    if (strcmp(option, "a") == 0 || strcmp(option, "b") == 0)
        return nf_setting_file(option, value, &matmul->path[option[0] - 'a'],
                               err);
    if (strcmp(option, "seed") == 0) {
        status =
            nf_setting_count(option, value, 0, UINT64_MAX, &matmul->seed, err);
        matmul->seed_given |= status == NF_OK;
        return status;
    }
    return nf_fail(err, NF_ERR_INVAL, "matmul has no option --%s", option);
}

/* Do A (m x k), B (k x n) and C fit into memory together? */
static enum nf_status check_memory(const struct matmul *matmul, double m,
                                   double k, double n, struct nf_error *err)
{
    double need_bytes = (m * k + k * n + m * n) * sizeof(double);
    char need[16], have[16];

    if (need_bytes <= (double)matmul->memory_bytes)
        return NF_OK;
    return nf_fail(
        err, NF_ERR_RANGE,
        "matmul: A (%.0f x %.0f), B (%.0f x %.0f) and their product "
        "need %s, this machine has %s",
        m, k, k, n, nf_format_size(need_bytes, need, sizeof(need)),
        nf_format_size((double)matmul->memory_bytes, have, sizeof(have)));
}

static enum nf_status open_random(struct matmul *matmul, struct nf_error *err)
{
    struct nf_product *product = &matmul->product;
    uint64_t n = matmul->n;
    enum nf_status status;

    status = check_memory(matmul, (double)n, (double)n, (double)n, err);
    if (status == NF_OK)
        status = nf_matrix_create(n, n, &product->a, err);
    if (status == NF_OK)
        status = nf_matrix_create(n, n, &product->b, err);
    if (status != NF_OK)
        return status;
    nf_matrix_fill_random(&product->a, matmul->seed, STREAM_A);
    nf_matrix_fill_random(&product->b, matmul->seed, STREAM_B);
    return NF_OK;
}

/* Check both shapes before reading either. */
static enum nf_status read_files(struct matmul *matmul,
                                 struct nf_matrix_file *const file[2],
                                 struct nf_error *err)
{
    uint64_t m = nf_matrix_file_rows(file[0]);
    uint64_t k = nf_matrix_file_cols(file[0]);
    uint64_t rows = nf_matrix_file_rows(file[1]);
    uint64_t n = nf_matrix_file_cols(file[1]);
    enum nf_status status;

    if (k != rows)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s (%llu x %llu) times %s (%llu x %llu): shapes do not "
                       "match (want as many columns in A as rows in B)",
                       matmul->path[0], (unsigned long long)m,
                       (unsigned long long)k, matmul->path[1],
                       (unsigned long long)rows, (unsigned long long)n);
    status = check_memory(matmul, (double)m, (double)k, (double)n, err);
    if (status == NF_OK)
        status = nf_matrix_file_read(file[0], &matmul->product.a, err);
    if (status == NF_OK)
        status = nf_matrix_file_read(file[1], &matmul->product.b, err);
    return status;
}

static enum nf_status open_files(struct matmul *matmul, struct nf_error *err)
{
    struct nf_matrix_file *file[2] = { NULL, NULL };
    enum nf_status status = NF_OK;

    for (int i = 0; i < 2 && status == NF_OK; i++)
        status = nf_matrix_file_open(matmul->path[i], matmul->memory_bytes,
                                     &file[i], err);
    if (status == NF_OK)
        status = read_files(matmul, file, err);
    nf_matrix_file_close(file[0]);
    nf_matrix_file_close(file[1]);
    return status;
}

/* Which matrices are asked for, and can the result be saved? */
static enum nf_status check_request(const struct matmul *matmul,
                                    struct nf_error *err)
{
    bool a = matmul->path[0] != NULL, b = matmul->path[1] != NULL;
    enum nf_status status;

    if (matmul->n > 0 && (a || b))
        return nf_fail(err, NF_ERR_INVAL,
                       "matmul: --n does not go with --%s (want --n N, or "
                       "--a FILE --b FILE)",
                       a ? "a" : "b");
    if (a != b)
        return nf_fail(err, NF_ERR_INVAL,
                       "matmul: --%s needs --%s (want --n N, or --a FILE "
                       "--b FILE)",
                       a ? "a" : "b", a ? "b" : "a");
    if (a && matmul->seed_given)
        return nf_fail(err, NF_ERR_INVAL,
                       "matmul: --seed goes with --n, not with files");
    if (matmul->out == NULL)
        return NF_OK;
    status = nf_output_check(matmul->out, err);
    if (status == NF_OK)
        status = nf_matrix_check_suffix(matmul->out, err);
    if (status != NF_OK)
        nf_fail_prefix(err, "--out");
    return status;
}

static enum nf_status matmul_split(void *user, uint64_t unit,
                                   struct nf_buf *input)
{
    const struct nf_matrix *b = &((struct matmul *)user)->product.b;

    if (unit >= b->cols)
        return NF_ERR_RANGE;
    return nf_buf_borrow(input, b->data + unit * b->rows,
                         (size_t)b->rows * sizeof(double));
}

static enum nf_status matmul_collect(void *user, uint64_t unit,
                                     const void *result, size_t bytes)
{
    struct nf_matrix *c = &((struct matmul *)user)->product.c;

    if (unit >= c->cols || bytes != (size_t)c->rows * sizeof(double))
        return NF_ERR_PROTOCOL;
    memcpy(c->data + unit * c->rows, result, bytes);
    return NF_OK;
}

static enum nf_status matmul_share(void *user, struct nf_buf *shared)
{
    const struct nf_matrix *a = &((struct matmul *)user)->product.a;

    return nf_buf_borrow(shared, a->data,
                         (size_t)(a->rows * a->cols) * sizeof(double));
}

/* C, with its pages in place before the job's clock starts, and full of NaN: a
 * column that never arrives cannot pass for a right one. */
static enum nf_status create_result(struct nf_product *product,
                                    struct nf_error *err)
{
    struct nf_matrix *c = &product->c;
    enum nf_status status;

    status = nf_matrix_create(product->a.rows, product->b.cols, c, err);
    if (status != NF_OK)
        return status;
    for (uint64_t k = 0; k < c->rows * c->cols; k++)
        c->data[k] = (double)NAN;
    return NF_OK;
}

static enum nf_status matmul_open(void *state,
                                  const struct nf_app_request *request,
                                  struct nf_app *app_p, struct nf_error *err)
{
    struct matmul *matmul = state;
    enum nf_status status = NF_OK;

    if (request->out != NULL)
        status = nf_setting_file("out", request->out, &matmul->out, err);
    if (status == NF_OK)
        status = check_request(matmul, err);
    if (matmul->n == 0 && matmul->path[0] == NULL)
        matmul->n = DEFAULT_N;
    if (status == NF_OK)
        status =
            matmul->n > 0 ? open_random(matmul, err) : open_files(matmul, err);
    if (status == NF_OK)
        status = create_result(&matmul->product, err);
    if (status != NF_OK)
        return status;
    *app_p = matmul_kernel;
    app_p->units = matmul->product.b.cols;
    app_p->user = matmul;
    app_p->split = matmul_split;
    app_p->collect = matmul_collect;
    app_p->share = matmul_share;
    return NF_OK;
}

static enum nf_status matmul_verify(void *state, char *note_p,
                                    size_t note_bytes, struct nf_error *err)
{
    const struct matmul *matmul = state;

    return nf_product_verify(&matmul->product, note_p, note_bytes, err);
}

static enum nf_status matmul_save(void *state, struct nf_error *err)
{
    const struct matmul *matmul = state;

    return matmul->out == NULL
               ? NF_OK
               : nf_matrix_write(&matmul->product.c, matmul->out, err);
}

const struct nf_app_kind nf_app_matmul = {
    .name = "matmul",
    .summary = "product of two dense float64 matrices; a unit is one column",
    .options = matmul_options,
    .kernel = &matmul_kernel,
    .create = matmul_create,
    .destroy = matmul_destroy,
    .set = matmul_set,
    .open = matmul_open,
    .verify = matmul_verify,
    .save = matmul_save,
};
