/* What slaves compute: see fft.h. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "apps/fft/fft.h"
#include "common/base/alloc.h"

enum {
    TOGETHER = NF_FFT_TOGETHER,
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
    int64_t number[NF_FFT_SHAPE_NUMBERS];

    if (work->shared == NULL || work->shared_bytes != sizeof(number))
        return false;
    memcpy(number, work->shared, sizeof(number));
    for (int i = 0; i < 3; i++)
        if (number[i] <= 0 || number[i] > INT32_MAX)
            return false;
    *shape = (struct nf_fft_shape){ (uint64_t)number[0], (uint64_t)number[1],
                                    (uint64_t)number[2], number[3] != 0,
                                    number[4] != 0 };
    return shape->rows <= INT32_MAX / shape->cols &&
           work->units == shape->units && work->first < shape->units &&
           work->phase < nf_fft_phases(shape);
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

/* A line as it came, or made of pieces.  @param to  room for one */
static const double *read_line(const struct nf_work *work,
                               const struct nf_fft_band *b, uint64_t line,
                               double *to)
{
    const struct nf_fft_some one = { line, 1, b->length };

    if (work->phase == 0)
        return (const double *)work->input + 2 * line * b->length;
    nf_fft_join(b, &one, work->in_pieces, to);
    return to;
}

/* A line is made, transformed, and multiplied by what is between the two transforms.
 * @param room   for a line
 * @param roots  NULL: this is the second transform
 * @return false: out of memory */
static bool make_line(const struct nf_work *work, const struct nf_fft_shape *s,
                      const struct nf_fft_band *b, uint64_t line,
                      const struct nf_fft_roots *roots, double *room, double *to)
{
    const double *from = read_line(work, b, line, room);

    if (!nf_fft_line(from, b->length, s->inverse, to))
        return false;
    if (roots != NULL)
        nf_fft_twiddle(roots, b->first + line, to, b->length);
    return true;
}

/* Lines are made and cut, few at a time; or stay what they are, in the last phase.
 * @param roots  NULL: this is the second transform
 * @return false: out of memory */
static bool transform(const struct nf_work *work, const struct nf_fft_shape *s,
                      const struct nf_fft_band *b,
                      const struct nf_fft_roots *roots, double *to)
{
    const uint64_t stride = b->length + APART;
    const bool cuts = work->out_bytes != NULL;
    const uint64_t kept = cuts ? some_of(b, 0, stride).count : 0;
    double *room =
        nf_malloc((size_t)((kept + 1) * stride) * NF_FFT_COMPLEX_BYTES);
    double *lines = room == NULL ? NULL : room + 2 * stride;
    bool done = room != NULL;

    for (uint64_t first = 0; done && first < b->lines; first += TOGETHER) {
        struct nf_fft_some some = some_of(b, first, stride);

        for (uint64_t l = 0; done && l < some.count; l++)
            done = make_line(work, s, b, first + l, roots, room,
                             cuts ? lines + 2 * l * stride
                                  : to + 2 * (first + l) * b->length);
        if (done && cuts)
            nf_fft_cut(b, &some, lines, to);
    }
    nf_free(room);
    return done;
}

static int transform_band(const struct nf_work *work,
                          const struct nf_fft_shape *s,
                          const struct nf_fft_band *b, double *to)
{
    const struct nf_fft_roots *roots = NULL;

    if (nf_fft_step(s, work->phase) == 1) {
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
    b = nf_fft_band_of(&s, work->phase, work->first);
    if (work->input_bytes != b.lines * b.length * NF_FFT_COMPLEX_BYTES)
        return fail(work, 1, "not a band of lines");
    if (work->phase > 0 && !nf_fft_are_pieces(&b, work->in_at))
        return fail(work, 1, "not a piece of this band");
    to = nf_buf_reserve(work->result, work->input_bytes);
    if (to == NULL && work->input_bytes > 0)
        return no_memory(work);
    if (work->out_bytes != NULL)
        nf_fft_piece_bytes(&b, work->out_bytes);
    if (b.lines == 0)
        return 0;
    if (nf_fft_step(&s, work->phase) == 0)
        cut(work, &b, to);
    else if (nf_fft_step(&s, work->phase) == NF_FFT_PHASES - 1)
        join(work, &b, to);
    else
        return transform_band(work, &s, &b, to);
    return 0;
}
