/* What slaves compute: phase 0 cuts and transposes a band of columns, phase 1
 * puts the columns of the transpose together. */
#include "config.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "apps/bands.h"
#include "apps/transpose/transpose.h"

/* Entries are moved in squares of so many, which stay in the cache. */
enum { TILE = 32 };

static int fail(const struct nf_work *work, int code, const char *reason)
{
    if (work->error != NULL && work->error_bytes > 0)
        snprintf(work->error, work->error_bytes,
                 "transpose: %s (phase %u, unit %llu, input %zu bytes)", reason,
                 work->phase, (unsigned long long)work->first,
                 work->input_bytes);
    return code;
}

static bool read_shape(const struct nf_work *work,
                       struct nf_transpose_shape *shape)
{
    int64_t number[3];

    if (work->shared == NULL || work->shared_bytes != sizeof(number))
        return false;
    memcpy(number, work->shared, sizeof(number));
    for (int i = 0; i < 3; i++)
        if (number[i] <= 0 || number[i] > INT32_MAX)
            return false;
    *shape =
        (struct nf_transpose_shape){ (uint64_t)number[0], (uint64_t)number[1],
                                     (uint64_t)number[2] };
    return work->units == shape->bands && work->first < shape->bands;
}

/* to[i * count + j] = from[j * stride + i], i < rows, j < count */
static void transpose(const double *from, uint64_t stride, uint64_t rows,
                      uint64_t count, double *to)
{
    for (uint64_t i0 = 0; i0 < rows; i0 += TILE)
        for (uint64_t j0 = 0; j0 < count; j0 += TILE) {
            uint64_t i1 = rows - i0 < TILE ? rows : i0 + TILE;
            uint64_t j1 = count - j0 < TILE ? count : j0 + TILE;

            for (uint64_t i = i0; i < i1; i++)
                for (uint64_t j = j0; j < j1; j++)
                    to[i * count + j] = from[j * stride + i];
        }
}

/* The band of columns is the input, column after column. */
static int cut(const struct nf_work *work, const struct nf_transpose_shape *s)
{
    uint64_t count = nf_band_begin(s->cols, s->bands, work->first + 1) -
                     nf_band_begin(s->cols, s->bands, work->first);
    double *to;

    if (work->input_bytes != count * s->rows * sizeof(double))
        return fail(work, 1, "not a band of columns");
    to = nf_buf_reserve(work->result, work->input_bytes);
    if (to == NULL && work->input_bytes > 0)
        return fail(work, 2, "out of memory");
    for (uint64_t v = 0; v < s->bands; v++) {
        uint64_t begin = nf_band_begin(s->rows, s->bands, v);
        uint64_t rows = nf_band_begin(s->rows, s->bands, v + 1) - begin;

        work->out_bytes[v] = rows * count * sizeof(double);
        if (rows * count == 0)
            continue;
        transpose((const double *)work->input + begin, s->rows, rows, count,
                  to);
        to += rows * count;
    }
    return 0;
}

/* What each band of columns has of this band of rows: a part of each column of
 * the transpose, that are rows of A. */
static int join(const struct nf_work *work, const struct nf_transpose_shape *s)
{
    uint64_t rows = nf_band_begin(s->rows, s->bands, work->first + 1) -
                    nf_band_begin(s->rows, s->bands, work->first);
    double *to;

    if (work->input_bytes != rows * s->cols * sizeof(double))
        return fail(work, 1, "not a band of rows");
    to = nf_buf_reserve(work->result, work->input_bytes);
    if (to == NULL && work->input_bytes > 0)
        return fail(work, 2, "out of memory");
    for (uint64_t u = 0; u < s->bands; u++) {
        uint64_t begin = nf_band_begin(s->cols, s->bands, u);
        uint64_t count = nf_band_begin(s->cols, s->bands, u + 1) - begin;
        const double *from = work->in_pieces[u];

        if (work->in_at[u + 1] - work->in_at[u] !=
            rows * count * sizeof(double))
            return fail(work, 1, "not a piece of this band");
        for (uint64_t i = 0; i < rows && count > 0; i++)
            memcpy(to + i * s->cols + begin, from + i * count,
                   (size_t)count * sizeof(double));
    }
    return 0;
}

int nf_transpose_compute(const struct nf_work *work)
{
    struct nf_transpose_shape shape;

    if (!read_shape(work, &shape))
        return fail(work, 1, "no shape of a matrix");
    return work->phase == 0 ? cut(work, &shape) : join(work, &shape);
}
