/* A Fourier transform as a job of four phases; see fft.h. */
#include "config.h"
#include "apps/fft/fft.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "apps/app.h"
#include "apps/matmul/matrix.h"
#include "apps/output.h"
#include "apps/setting.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

enum { DEFAULT_COUNT = 1 << 20, DEFAULT_UNITS = 32, UNITS_MOST = 4096 };

struct fft {
    uint64_t count, seed;
    bool count_given, seed_given;
    char *path, *out; /* NULL: not given */
    uint64_t memory_bytes;
    bool threads; /* slaves share this machine's memory */
    struct nf_fft_shape shape;
    struct nf_matrix x, y; /* 2 x N: a column is a number */
};

static const struct nf_app_option fft_options[] = {
    { "file", "FILE", "transform the numbers in FILE.npy or FILE.mtx" },
    { "count", "N", "else so many random ones; default 1048576" },
    { "seed", "S", "seed of these (default 1)" },
    { "inverse", NULL, "the inverse transform, divided by N" },
    { "units", "U", "bands that lines are cut into; default 32" },
    { "layout", "ORDER",
      "what slaves have: blocks of numbers in order (rows, the default), or "
      "every so many-th (columns): fewer exchanges" },
    { NULL, NULL, NULL },
};

static const struct nf_app fft_kernel = {
    .name = "fft",
    .compute = nf_fft_compute,
    .input_type = NF_FLOAT64,
    .result_type = NF_FLOAT64,
    .shared_type = NF_INT64,
    .phases = NF_FFT_PHASES,
    .takes_pieces = 1,
};

static enum nf_status fft_create(void **state_p, struct nf_error *err)
{
    struct fft *f = nf_calloc(1, sizeof(*f));

    if (f == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "fft: out of memory");
    f->count = DEFAULT_COUNT;
    f->seed = 1;
    f->shape.units = DEFAULT_UNITS;
    f->memory_bytes = nf_memory_bytes();
    *state_p = f;
    return NF_OK;
}

static void fft_destroy(void *state)
{
    struct fft *f = state;

    if (f == NULL)
        return;
    nf_matrix_fini(&f->x);
    nf_matrix_fini(&f->y);
    nf_free(f->path);
    nf_free(f->out);
    nf_free(f);
}

static enum nf_status set_layout(struct fft *f, const char *value,
                                 struct nf_error *err)
{
    f->shape.columns = strcmp(value, "columns") == 0;
    if (f->shape.columns || strcmp(value, "rows") == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL,
                   "--layout %s: want \"rows\" or \"columns\"", value);
}

static enum nf_status fft_set(void *state, const char *option,
                              const char *value, struct nf_error *err)
{
    struct fft *f = state;

    if (strcmp(option, "file") == 0)
        return nf_setting_file(option, value, &f->path, err);
    if (strcmp(option, "count") == 0) {
        f->count_given = true;
        return nf_setting_count(option, value, 1, NF_MATRIX_MAX_SIDE, &f->count,
                                err);
    }
    if (strcmp(option, "seed") == 0) {
        f->seed_given = true;
        return nf_setting_count(option, value, 0, UINT64_MAX, &f->seed, err);
    }
    if (strcmp(option, "units") == 0)
        return nf_setting_count(option, value, 1, UNITS_MOST, &f->shape.units,
                                err);
    if (strcmp(option, "layout") == 0)
        return set_layout(f, value, err);
    if (strcmp(option, "inverse") == 0) {
        f->shape.inverse = true;
        return NF_OK;
    }
    return nf_fail(err, NF_ERR_INVAL, "fft has no option --%s", option);
}

/* How often are they in memory?  As they are, transformed, and, when that is verified,
 * or they were in a file of columns, or slaves get them so, once more; and slaves keep
 * what each phase but the last gives. */
static uint32_t times_kept(const struct fft *f)
{
    return 3 + (f->threads ? nf_fft_phases(&f->shape) - 1 : 0);
}

static enum nf_status check_memory(const struct fft *f, uint64_t count,
                                   struct nf_error *err)
{
    double need_bytes = times_kept(f) * (double)count * NF_FFT_COMPLEX_BYTES;
    char need[16], have[16];

    if (need_bytes <= (double)f->memory_bytes)
        return NF_OK;
    return nf_fail(
        err, NF_ERR_RANGE,
        "fft: %llu numbers, kept %u times, need %s, this machine has %s",
        (unsigned long long)count, times_kept(f),
        nf_format_size(need_bytes, need, sizeof(need)),
        nf_format_size((double)f->memory_bytes, have, sizeof(have)));
}

/* Columns of real and imaginary parts, or of real parts only, become pairs. */
static enum nf_status make_pairs(struct fft *f, const struct nf_matrix *columns,
                                 struct nf_error *err)
{
    uint64_t n = columns->rows;
    enum nf_status status = nf_matrix_create(2, n, &f->x, err);

    for (uint64_t k = 0; status == NF_OK && k < n; k++) {
        f->x.data[2 * k] = columns->data[k];
        f->x.data[2 * k + 1] = columns->cols == 2 ? columns->data[n + k] : 0;
    }
    return status;
}

static enum nf_status read_opened(struct fft *f, struct nf_matrix_file *file,
                                  struct nf_error *err)
{
    bool pairs = nf_matrix_file_is_complex(file);
    uint64_t rows = nf_matrix_file_rows(file), cols = nf_matrix_file_cols(file);
    struct nf_matrix columns = { 0 };
    enum nf_status status;

    if (!pairs && cols > 2)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: %llu columns (want real parts, or real and "
                       "imaginary ones: 1 or 2)",
                       f->path, (unsigned long long)cols);
    status = check_memory(f, pairs ? cols : rows, err);
    if (status != NF_OK)
        return status;
    if (pairs)
        return nf_matrix_file_read(file, &f->x, err);
    status = nf_matrix_file_read(file, &columns, err);
    if (status == NF_OK)
        status = make_pairs(f, &columns, err);
    nf_matrix_fini(&columns);
    return status;
}

static enum nf_status read_file(struct fft *f, struct nf_error *err)
{
    struct nf_matrix_file *file = NULL;
    enum nf_status status =
        nf_matrix_file_open_complex(f->path, f->memory_bytes, &file, err);

    if (status == NF_OK)
        status = read_opened(f, file, err);
    nf_matrix_file_close(file);
    return status;
}

static enum nf_status make_random(struct fft *f, struct nf_error *err)
{
    enum nf_status status = check_memory(f, f->count, err);

    if (status == NF_OK)
        status = nf_matrix_create(2, f->count, &f->x, err);
    if (status == NF_OK)
        nf_matrix_fill_random(&f->x, f->seed, 0);
    return status;
}

static enum nf_status check_request(const struct fft *f, struct nf_error *err)
{
    enum nf_status status;

    if (f->path != NULL && (f->count_given || f->seed_given))
        return nf_fail(err, NF_ERR_INVAL,
                       "fft: --%s does not go with --file (want --file FILE, or "
                       "--count N)",
                       f->count_given ? "count" : "seed");
    if (f->out == NULL)
        return NF_OK;
    status = nf_output_check(f->out, err);
    if (status == NF_OK)
        status = nf_matrix_check_suffix(f->out, err);
    if (status != NF_OK)
        nf_fail_prefix(err, "--out");
    return status;
}

/* ----------------------------------------------------------------- the job */

static enum nf_status fft_split(void *user, uint64_t unit, struct nf_buf *input)
{
    const struct fft *f = user;
    struct nf_fft_band b = nf_fft_band_of(&f->shape, 0, unit);
    size_t bytes = (size_t)(b.lines * b.length) * NF_FFT_COMPLEX_BYTES;
    double *to;

    if (bytes == 0)
        return NF_OK;
    if (!f->shape.columns)
        return nf_buf_borrow(input, f->x.data + 2 * b.first * b.length, bytes);
    to = nf_buf_reserve(input, bytes);
    if (to == NULL)
        return NF_ERR_NOMEM;
    nf_fft_take_columns(&b, f->x.data, nf_fft_lines_in(&f->shape, 0), to);
    return NF_OK;
}

static enum nf_status fft_collect(void *user, uint64_t unit, const void *result,
                                  size_t bytes)
{
    struct fft *f = user;
    uint32_t last = nf_fft_phases(&f->shape) - 1;
    struct nf_fft_band b = nf_fft_band_of(&f->shape, last, unit);

    if (bytes != (size_t)(b.lines * b.length) * NF_FFT_COMPLEX_BYTES)
        return NF_ERR_PROTOCOL;
    if (f->shape.columns)
        nf_fft_put_columns(&b, result, nf_fft_lines_in(&f->shape, last),
                           f->y.data);
    else if (bytes > 0)
        memcpy(f->y.data + 2 * b.first * b.length, result, bytes);
    return NF_OK;
}

static enum nf_status fft_share(void *user, struct nf_buf *shared)
{
    const struct nf_fft_shape *s = &((struct fft *)user)->shape;
    const int64_t number[NF_FFT_SHAPE_NUMBERS] = { (int64_t)s->rows,
                                                   (int64_t)s->cols,
                                                   (int64_t)s->units,
                                                   s->inverse, s->columns };

    return nf_buf_append(shared, number, sizeof(number));
}

/* The result, full of NaN: a number that never arrives can't pass for a right
 * one. */
static enum nf_status create_result(struct fft *f, struct nf_error *err)
{
    enum nf_status status = nf_matrix_create(2, f->x.cols, &f->y, err);

    for (uint64_t k = 0; status == NF_OK && k < 2 * f->y.cols; k++)
        f->y.data[k] = (double)NAN;
    return status;
}

static enum nf_status fft_open(void *state,
                               const struct nf_app_request *request,
                               struct nf_app *app_p, struct nf_error *err)
{
    struct fft *f = state;
    enum nf_status status = NF_OK;

    f->threads = request->threads;
    if (request->out != NULL)
        status = nf_setting_file("out", request->out, &f->out, err);
    if (status == NF_OK)
        status = check_request(f, err);
    if (status == NF_OK)
        status = f->path != NULL ? read_file(f, err) : make_random(f, err);
    if (status == NF_OK)
        status = create_result(f, err);
    if (status != NF_OK)
        return status;
    f->shape.rows = nf_fft_rows(f->x.cols);
    f->shape.cols = f->x.cols / f->shape.rows;
    *app_p = fft_kernel;
    app_p->units = f->shape.units;
    app_p->phases = nf_fft_phases(&f->shape);
    app_p->user = f;
    app_p->split = fft_split;
    app_p->collect = fft_collect;
    app_p->share = fft_share;
    return NF_OK;
}

static enum nf_status fft_verify(void *state, char *note_p, size_t note_bytes,
                                 struct nf_error *err)
{
    const struct fft *f = state;

    return nf_fft_verify(f->x.data, f->y.data, f->x.cols, f->shape.inverse,
                         f->seed, note_p, note_bytes, err);
}

/* Other formats have no complex numbers of ours: two columns. */
static enum nf_status save_columns(const struct fft *f, struct nf_error *err)
{
    uint64_t n = f->y.cols;
    struct nf_matrix columns = { 0 };
    enum nf_status status = nf_matrix_create(n, 2, &columns, err);

    if (status != NF_OK)
        return status;
    for (uint64_t k = 0; k < n; k++) {
        columns.data[k] = f->y.data[2 * k];
        columns.data[n + k] = f->y.data[2 * k + 1];
    }
    status = nf_matrix_write(&columns, f->out, err);
    nf_matrix_fini(&columns);
    return status;
}

static enum nf_status fft_save(void *state, struct nf_error *err)
{
    const struct fft *f = state;

    if (f->out == NULL)
        return NF_OK;
    return nf_matrix_is_npy(f->out)
               ? nf_matrix_write_npy_complex(&f->y, f->out, err)
               : save_columns(f, err);
}

/* Those of the transforms, and as many as about ten a number for each transposition by
 * the slaves and for the roots. */
static double fft_operations(void *state)
{
    const struct nf_fft_shape *s = &((struct fft *)state)->shape;
    double rows = (double)s->rows, cols = (double)s->cols;

    return rows * nf_fft_line_operations(s->cols) +
           cols * nf_fft_line_operations(s->rows) +
           10 * rows * cols * nf_fft_phases(s);
}

static void fft_take_variant(void *other, const void *job)
{
    struct nf_fft_shape *to = &((struct fft *)other)->shape;
    const struct nf_fft_shape *from = &((const struct fft *)job)->shape;

    to->inverse = from->inverse;
    to->columns = from->columns;
}

static const char *const fft_small[] = { "count", "262144", "units", "8", NULL };
static const char *const fft_large[] = { "count", "1048576", "units", "32",
                                         NULL };

const struct nf_app_kind nf_app_fft = {
    .name = "fft",
    .summary = "Fourier transform of complex numbers by six steps, in four "
               "phases (columns: two); a unit is a band of lines",
    .options = fft_options,
    .kernel = &fft_kernel,
    .create = fft_create,
    .destroy = fft_destroy,
    .set = fft_set,
    .open = fft_open,
    .verify = fft_verify,
    .save = fft_save,
    .operations = fft_operations,
    .take_variant = fft_take_variant,
    .small_job = fft_small,
    .large_job = fft_large,
};
