/* The transpose of a matrix as a job of two phases; see transpose.h. */
#include "config.h"
#include "apps/transpose/transpose.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "apps/app.h"
#include "apps/bands.h"
#include "apps/matmul/matrix.h"
#include "apps/output.h"
#include "apps/setting.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"

enum { DEFAULT_N = 1000, DEFAULT_BANDS = 32, BANDS_MOST = 4096 };

struct transpose {
    uint64_t rows, cols, seed;
    bool rows_given, cols_given, seed_given;
    char *path, *out; /* NULL: not given */
    uint64_t memory_bytes;
    bool threads; /* slaves share this machine's memory */
    struct nf_transpose_shape shape;
    struct nf_matrix a, b;
};

static const struct nf_app_option transpose_options[] = {
    { "a", "FILE", "transpose the matrix in FILE.mtx or FILE.npy" },
    { "rows", "M", "else a random one of M rows; default 1000" },
    { "cols", "N", "... and N columns; default 1000" },
    { "seed", "S", "seed of the random matrix (default 1)" },
    { "bands", "U", "units: bands of the matrix; default 32" },
    { NULL, NULL, NULL },
};

static const struct nf_app transpose_kernel = {
    .name = "transpose",
    .compute = nf_transpose_compute,
    .input_type = NF_FLOAT64,
    .result_type = NF_FLOAT64,
    .shared_type = NF_INT64,
    .phases = 2,
    .takes_pieces = 1,
};

static enum nf_status transpose_create(void **state_p, struct nf_error *err)
{
    struct transpose *t = nf_calloc(1, sizeof(*t));

    if (t == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "transpose: out of memory");
    t->rows = t->cols = DEFAULT_N;
    t->seed = 1;
    t->shape.bands = DEFAULT_BANDS;
    t->memory_bytes = nf_memory_bytes();
    *state_p = t;
    return NF_OK;
}

static void transpose_destroy(void *state)
{
    struct transpose *t = state;

    if (t == NULL)
        return;
    nf_matrix_fini(&t->a);
    nf_matrix_fini(&t->b);
    nf_free(t->path);
    nf_free(t->out);
    nf_free(t);
}

static enum nf_status transpose_set(void *state, const char *option,
                                    const char *value, struct nf_error *err)
{
    struct transpose *t = state;

    if (strcmp(option, "a") == 0)
        return nf_setting_file(option, value, &t->path, err);
    if (strcmp(option, "rows") == 0) {
        t->rows_given = true;
        return nf_setting_count(option, value, 1, NF_MATRIX_MAX_SIDE, &t->rows,
                                err);
    }
    if (strcmp(option, "cols") == 0) {
        t->cols_given = true;
        return nf_setting_count(option, value, 1, NF_MATRIX_MAX_SIDE, &t->cols,
                                err);
    }
    if (strcmp(option, "seed") == 0) {
        t->seed_given = true;
        return nf_setting_count(option, value, 0, UINT64_MAX, &t->seed, err);
    }
    if (strcmp(option, "bands") == 0)
        return nf_setting_count(option, value, 1, BANDS_MOST, &t->shape.bands,
                                err);
    return nf_fail(err, NF_ERR_INVAL, "transpose has no option --%s", option);
}

/* How often is A in memory?  As it is, and transposed; and slaves keep it in bands, and
 * what they answer may wait for the master. */
static uint32_t times_kept(const struct transpose *t)
{
    return t->threads ? 4 : 2;
}

static enum nf_status check_memory(const struct transpose *t, uint64_t rows,
                                   uint64_t cols, struct nf_error *err)
{
    double need_bytes =
        times_kept(t) * (double)rows * (double)cols * sizeof(double);
    char need[16], have[16];

    if (need_bytes <= (double)t->memory_bytes)
        return NF_OK;
    return nf_fail(
        err, NF_ERR_RANGE,
        "transpose: %llu x %llu, kept %u times, need %s, this machine has %s",
        (unsigned long long)rows, (unsigned long long)cols, times_kept(t),
        nf_format_size(need_bytes, need, sizeof(need)),
        nf_format_size((double)t->memory_bytes, have, sizeof(have)));
}

static enum nf_status read_file(struct transpose *t, struct nf_error *err)
{
    struct nf_matrix_file *file = NULL;
    enum nf_status status =
        nf_matrix_file_open(t->path, t->memory_bytes, &file, err);

    if (status == NF_OK)
        status = check_memory(t, nf_matrix_file_rows(file),
                              nf_matrix_file_cols(file), err);
    if (status == NF_OK)
        status = nf_matrix_file_read(file, &t->a, err);
    nf_matrix_file_close(file);
    return status;
}

static enum nf_status make_random(struct transpose *t, struct nf_error *err)
{
    enum nf_status status = check_memory(t, t->rows, t->cols, err);

    if (status == NF_OK)
        status = nf_matrix_create(t->rows, t->cols, &t->a, err);
    if (status == NF_OK)
        nf_matrix_fill_random(&t->a, t->seed, 0);
    return status;
}

static enum nf_status check_request(const struct transpose *t,
                                    struct nf_error *err)
{
    enum nf_status status;

    if (t->path != NULL && (t->rows_given || t->cols_given || t->seed_given))
        return nf_fail(
            err, NF_ERR_INVAL,
            "transpose: --%s does not go with --a (want --a FILE, or "
            "--rows M --cols N)",
            t->rows_given   ? "rows"
            : t->cols_given ? "cols"
                            : "seed");
    if (t->out == NULL)
        return NF_OK;
    status = nf_output_check(t->out, err);
    if (status == NF_OK)
        status = nf_matrix_check_suffix(t->out, err);
    if (status != NF_OK)
        nf_fail_prefix(err, "--out");
    return status;
}

/* ----------------------------------------------------------------- the job */

static enum nf_status transpose_split(void *user, uint64_t unit,
                                      struct nf_buf *input)
{
    const struct transpose *t = user;
    uint64_t begin = nf_band_begin(t->a.cols, t->shape.bands, unit);
    uint64_t end = nf_band_begin(t->a.cols, t->shape.bands, unit + 1);

    if (begin == end)
        return NF_OK;
    return nf_buf_borrow(input, t->a.data + begin * t->a.rows,
                         (size_t)((end - begin) * t->a.rows) * sizeof(double));
}

static enum nf_status transpose_collect(void *user, uint64_t unit,
                                        const void *result, size_t bytes)
{
    struct transpose *t = user;
    uint64_t begin = nf_band_begin(t->b.cols, t->shape.bands, unit);
    uint64_t end = nf_band_begin(t->b.cols, t->shape.bands, unit + 1);

    if (bytes != (size_t)((end - begin) * t->b.rows) * sizeof(double))
        return NF_ERR_PROTOCOL;
    if (bytes > 0)
        memcpy(t->b.data + begin * t->b.rows, result, bytes);
    return NF_OK;
}

static enum nf_status transpose_share(void *user, struct nf_buf *shared)
{
    const struct nf_transpose_shape *s = &((struct transpose *)user)->shape;
    const int64_t number[3] = { (int64_t)s->rows, (int64_t)s->cols,
                                (int64_t)s->bands };

    return nf_buf_append(shared, number, sizeof(number));
}

/* The result, full of NaN: a column that never arrives can't pass for a right
 * one. */
static enum nf_status create_result(struct transpose *t, struct nf_error *err)
{
    enum nf_status status = nf_matrix_create(t->a.cols, t->a.rows, &t->b, err);

    for (uint64_t k = 0; status == NF_OK && k < t->b.rows * t->b.cols; k++)
        t->b.data[k] = (double)NAN;
    return status;
}

static enum nf_status transpose_open(void *state,
                                     const struct nf_app_request *request,
                                     struct nf_app *app_p, struct nf_error *err)
{
    struct transpose *t = state;
    enum nf_status status = NF_OK;

    t->threads = request->threads;
    if (request->out != NULL)
        status = nf_setting_file("out", request->out, &t->out, err);
    if (status == NF_OK)
        status = check_request(t, err);
    if (status == NF_OK)
        status = t->path != NULL ? read_file(t, err) : make_random(t, err);
    if (status == NF_OK)
        status = create_result(t, err);
    if (status != NF_OK)
        return status;
    t->shape.rows = t->a.rows;
    t->shape.cols = t->a.cols;
    *app_p = transpose_kernel;
    app_p->units = t->shape.bands;
    app_p->user = t;
    app_p->split = transpose_split;
    app_p->collect = transpose_collect;
    app_p->share = transpose_share;
    return NF_OK;
}

/* Nothing is computed, so every bit must be right. */
static enum nf_status transpose_verify(void *state, char *note_p,
                                       size_t note_bytes, struct nf_error *err)
{
    const struct transpose *t = state;
    uint64_t m = t->a.rows, n = t->a.cols;

    for (uint64_t j = 0; j < n; j++)
        for (uint64_t i = 0; i < m; i++)
            if (memcmp(&t->a.data[j * m + i], &t->b.data[i * n + j],
                       sizeof(double)) != 0)
                return nf_fail(err, NF_ERR_VERIFY,
                               "entry (%llu, %llu) of the transpose is %.17g, "
                               "want %.17g",
                               (unsigned long long)j + 1,
                               (unsigned long long)i + 1, t->b.data[i * n + j],
                               t->a.data[j * m + i]);
    snprintf(note_p, note_bytes, "%llu x %llu, all entries bit for bit",
             (unsigned long long)n, (unsigned long long)m);
    return NF_OK;
}

static enum nf_status transpose_save(void *state, struct nf_error *err)
{
    const struct transpose *t = state;

    return t->out == NULL ? NF_OK : nf_matrix_write(&t->b, t->out, err);
}

/* Each entry is moved once in each phase. */
static double transpose_operations(void *state)
{
    const struct transpose *t = state;

    return 2.0 * (double)t->shape.rows * (double)t->shape.cols;
}

static const char *const transpose_small[] = { "rows", "1024", "cols", "1024",
                                               "bands", "8", NULL };
static const char *const transpose_large[] = { "rows", "2048", "cols", "2048",
                                               "bands", "32", NULL };

const struct nf_app_kind nf_app_transpose = {
    .name = "transpose",
    .summary =
        "transpose of a dense float64 matrix, in two phases; a unit is a "
        "band",
    .options = transpose_options,
    .kernel = &transpose_kernel,
    .create = transpose_create,
    .destroy = transpose_destroy,
    .set = transpose_set,
    .open = transpose_open,
    .verify = transpose_verify,
    .save = transpose_save,
    .operations = transpose_operations,
    .small_job = transpose_small,
    .large_job = transpose_large,
};
