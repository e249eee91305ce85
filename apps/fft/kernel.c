/* What slaves compute: see fft.h. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "apps/bands.h"
#include "apps/fft/fft.h"
#include "common/base/alloc.h"

enum {
    /* Lines that go through all steps together: eight of 2^11 numbers fit into the
     * second cache. */
    TOGETHER = 8,
    /* Numbers between them: lines of a power of two would all fall into the same
     * places of a cache. */
    APART = 4
};

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

static struct nf_fft_band band_of(const struct nf_work *work,
                                  const struct nf_fft_shape *s)
{
    uint64_t all = nf_fft_lines_in(s, work->phase);

    return (struct nf_fft_band){
        .lines = nf_band_begin(all, s->units, work->first + 1) -
                 nf_band_begin(all, s->units, work->first),
        .length = nf_fft_length_in(s, work->phase),
        .units = s->units,
    };
}

/* The lines from @p first on that are dealt with together. */
static struct nf_fft_some some_of(const struct nf_fft_band *b, uint64_t first,
                                  uint64_t stride)
{
    uint64_t left = b->lines - first;

    return (struct nf_fft_some){ first, left < TOGETHER ? left : TOGETHER,
                                 stride };
}

/* The first phase: x as it came.
 * @param to  the pieces */
static void cut(const struct nf_work *work, const struct nf_fft_band *b,
                double *to)
{
    const double *from = work->input;

    for (uint64_t first = 0; first < b->lines; first += TOGETHER) {
        struct nf_fft_some some = some_of(b, first, b->length);

        nf_fft_cut(b, &some, from + 2 * first * b->length, to);
    }
}

/* The last phase. */
static void join(const struct nf_work *work, const struct nf_fft_band *b,
                 double *to)
{
    for (uint64_t first = 0; first < b->lines; first += TOGETHER) {
        struct nf_fft_some some = some_of(b, first, b->length);

        nf_fft_join(b, &some, work->in_pieces, to + 2 * first * b->length);
    }
}

/* Lines are made of pieces, transformed, multiplied by what is between the two
 * transforms, and cut: few at a time, from step to step.
 * @param roots  NULL: this is the second transform
 * @return false: out of memory */
static bool transform(const struct nf_work *work, const struct nf_fft_shape *s,
                      const struct nf_fft_band *b,
                      const struct nf_fft_roots *roots, double *to)
{
    const uint64_t stride = b->length + APART;
    uint64_t begin =
        nf_band_begin(nf_fft_lines_in(s, work->phase), s->units, work->first);
    struct nf_fft_some most = some_of(b, 0, stride);
    double *lines =
        nf_malloc((size_t)(most.count * stride) * NF_FFT_COMPLEX_BYTES);
    bool done = lines != NULL;

    for (uint64_t first = 0; done && first < b->lines; first += TOGETHER) {
        struct nf_fft_some some = some_of(b, first, stride);

        nf_fft_join(b, &some, work->in_pieces, lines);
        done =
            nf_fft_lines(lines, some.count, b->length, stride, s->inverse);
        for (uint64_t l = 0; done && roots != NULL && l < some.count; l++)
            nf_fft_twiddle(roots, begin + first + l, lines + 2 * l * stride,
                           b->length);
        if (done)
            nf_fft_cut(b, &some, lines, to);
    }
    nf_free(lines);
    return done;
}

static int transform_band(const struct nf_work *work,
                          const struct nf_fft_shape *s,
                          const struct nf_fft_band *b, double *to)
{
    const struct nf_fft_roots *roots = NULL;

    if (work->phase == 1) {
        roots = nf_fft_roots(s->rows * s->cols, s->inverse);
        if (roots == NULL)
            return no_memory(work);
    }
    return transform(work, s, b, roots, to) ? 0 : no_memory(work);
}

int nf_fft_compute(const struct nf_work *work)
{
    struct nf_fft_shape s;
    struct nf_fft_band b;
    double *to;

    if (!read_shape(work, &s))
        return fail(work, 1, "no shape of a transform");
    b = band_of(work, &s);
    if (work->input_bytes != b.lines * b.length * NF_FFT_COMPLEX_BYTES)
        return fail(work, 1, "not a band of lines");
    if (work->phase > 0 && !nf_fft_are_pieces(&b, work->in_at))
        return fail(work, 1, "not a piece of this band");
    to = nf_buf_reserve(work->result, work->input_bytes);
    if (to == NULL && work->input_bytes > 0)
        return no_memory(work);
    if (work->phase < NF_FFT_PHASES - 1)
        nf_fft_piece_bytes(&b, work->out_bytes);
    if (b.lines == 0)
        return 0;
    if (work->phase == 0)
        cut(work, &b, to);
    else if (work->phase == NF_FFT_PHASES - 1)
        join(work, &b, to);
    else
        return transform_band(work, &s, &b, to);
    return 0;
}
