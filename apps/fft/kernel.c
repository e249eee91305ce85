/* What slaves compute: see fft.h. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "apps/bands.h"
#include "apps/fft/fft.h"
#include "common/base/alloc.h"

static int fail(const struct nf_work *work, int code, const char *reason)
{
    if (work->error != NULL && work->error_bytes > 0)
        snprintf(work->error, work->error_bytes,
                 "fft: %s (phase %u, unit %llu, input %zu bytes)", reason,
                 work->phase, (unsigned long long)work->first,
                 work->input_bytes);
    return code;
}

static int no_memory(const struct nf_work *work)
{
    return fail(work, 2, "out of memory");
}

static bool read_shape(const struct nf_work *work, struct nf_fft_shape *shape)
{
    int64_t number[4];

    if (work->shared == NULL || work->shared_bytes != sizeof(number))
        return false;
    memcpy(number, work->shared, sizeof(number));
    for (int i = 0; i < 3; i++)
        if (number[i] <= 0 || number[i] > INT32_MAX)
            return false;
    *shape = (struct nf_fft_shape){ (uint64_t)number[0], (uint64_t)number[1],
                                    (uint64_t)number[2], number[3] != 0 };
    return shape->rows <= INT32_MAX / shape->cols &&
           work->units == shape->units && work->first < shape->units &&
           work->phase < NF_FFT_PHASES;
}

/* The first phase: x as it came. */
static int cut(const struct nf_work *work, const struct nf_fft_shape *s,
               const double *lines, uint64_t count)
{
    uint64_t length = nf_fft_length_in(s, work->phase);
    size_t bytes = (size_t)(count * length) * NF_FFT_COMPLEX_BYTES;
    double *to = nf_buf_reserve(work->result, bytes);

    if (to == NULL && bytes > 0)
        return no_memory(work);
    nf_fft_cut(lines, count, length, s->units, to, work->out_bytes);
    return 0;
}

/* Lines that a phase transforms, and multiplies by what is between the two. */
static bool transform(const struct nf_work *work, const struct nf_fft_shape *s,
                      double *lines, uint64_t count)
{
    uint64_t length = nf_fft_length_in(s, work->phase);
    uint64_t first =
        nf_band_begin(nf_fft_lines_in(s, work->phase), s->units, work->first);
    struct nf_fft_roots roots;

    if (count == 0)
        return true;
    if (!nf_fft_lines(lines, count, length, s->inverse))
        return false;
    if (work->phase != 1)
        return true;
    if (!nf_fft_roots_init(s->rows * s->cols, s->inverse, &roots))
        return false;
    for (uint64_t i = 0; i < count; i++)
        nf_fft_twiddle(&roots, first + i, lines + 2 * i * length, length);
    nf_fft_roots_fini(&roots);
    return true;
}

static int join(const struct nf_work *work, const struct nf_fft_shape *s,
                uint64_t count, double *lines)
{
    if (work->input_bytes > 0 && lines == NULL)
        return no_memory(work);
    return nf_fft_join(work->input, work->in_at, count,
                       nf_fft_length_in(s, work->phase), s->units, lines)
               ? 0
               : fail(work, 1, "not a piece of this band");
}

static int join_and_transform(const struct nf_work *work,
                              const struct nf_fft_shape *s, uint64_t count)
{
    double *lines = nf_malloc(work->input_bytes + 1);
    int code = join(work, s, count, lines);

    if (code == 0 && !transform(work, s, lines, count))
        code = no_memory(work);
    if (code == 0)
        code = cut(work, s, lines, count);
    nf_free(lines);
    return code;
}

int nf_fft_compute(const struct nf_work *work)
{
    struct nf_fft_shape s;
    uint64_t all, count;

    if (!read_shape(work, &s))
        return fail(work, 1, "no shape of a transform");
    all = nf_fft_lines_in(&s, work->phase);
    count = nf_band_begin(all, s.units, work->first + 1) -
            nf_band_begin(all, s.units, work->first);
    if (work->input_bytes != count * nf_fft_length_in(&s, work->phase) *
                                 NF_FFT_COMPLEX_BYTES)
        return fail(work, 1, "not a band of lines");
    if (work->phase == 0)
        return cut(work, &s, work->input, count);
    if (work->phase == NF_FFT_PHASES - 1)
        return join(work, &s, count,
                    nf_buf_reserve(work->result, work->input_bytes));
    return join_and_transform(work, &s, count);
}
