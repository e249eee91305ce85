/* Who has what in the six steps; see fft.h. */
#include "config.h"
#include <string.h>
#include "apps/bands.h"
#include "apps/fft/fft.h"

enum { TILE = 8 };

uint64_t nf_fft_rows(uint64_t count)
{
    uint64_t rows = 1;

    for (uint64_t d = 2; d <= count / d; d++)
        if (count % d == 0)
            rows = d;
    return rows;
}

uint64_t nf_fft_lines_in(const struct nf_fft_shape *s, uint32_t phase)
{
    return nf_fft_step(s, phase) % 2 == 0 ? s->rows : s->cols;
}

uint64_t nf_fft_length_in(const struct nf_fft_shape *s, uint32_t phase)
{
    return nf_fft_step(s, phase) % 2 == 0 ? s->cols : s->rows;
}

struct nf_fft_band nf_fft_band_of(const struct nf_fft_shape *s, uint32_t phase,
                                  uint64_t unit)
{
    uint64_t all = nf_fft_lines_in(s, phase);
    uint64_t first = nf_band_begin(all, s->units, unit);

    return (struct nf_fft_band){
        .first = first,
        .lines = nf_band_begin(all, s->units, unit + 1) - first,
        .length = nf_fft_length_in(s, phase),
        .units = s->units,
    };
}

/* A number of each line lies beside that of the next one: some numbers at a time, so
 * that on the side of lines, too, what is in a cache is used up. */
void nf_fft_take_columns(const struct nf_fft_band *b, const double *from,
                         uint64_t stride, double *to)
{
    for (uint64_t begin = 0; begin < b->length; begin += TILE) {
        uint64_t end = b->length - begin < TILE ? b->length : begin + TILE;

        for (uint64_t l = 0; l < b->lines; l++)
            for (uint64_t j = begin; j < end; j++)
                memcpy(to + 2 * (l * b->length + j),
                       from + 2 * (j * stride + b->first + l),
                       NF_FFT_COMPLEX_BYTES);
    }
}

void nf_fft_put_columns(const struct nf_fft_band *b, const double *from,
                        uint64_t stride, double *to)
{
    for (uint64_t begin = 0; begin < b->length; begin += TILE) {
        uint64_t end = b->length - begin < TILE ? b->length : begin + TILE;

        for (uint64_t j = begin; j < end; j++)
            for (uint64_t l = 0; l < b->lines; l++)
                memcpy(to + 2 * (j * stride + b->first + l),
                       from + 2 * (l * b->length + j), NF_FFT_COMPLEX_BYTES);
    }
}

/* Where piece v of a band begins, as numbers before it. */
static uint64_t piece_begin(const struct nf_fft_band *b, uint64_t v)
{
    return nf_band_begin(b->length, b->units, v) * b->lines;
}

void nf_fft_piece_bytes(const struct nf_fft_band *b, uint64_t *bytes_p)
{
    for (uint64_t v = 0; v < b->units; v++)
        bytes_p[v] = (piece_begin(b, v + 1) - piece_begin(b, v)) *
                     NF_FFT_COMPLEX_BYTES;
}

bool nf_fft_are_pieces(const struct nf_fft_band *b, const uint64_t *at)
{
    for (uint64_t u = 0; u <= b->units; u++)
        if (at[u] != piece_begin(b, u) * NF_FFT_COMPLEX_BYTES)
            return false;
    return true;
}

/* to[i][l] = from[l][i], i < width, l < count; lines of @p to are as long as the band
 * has lines.  It goes along few lines at once, and writes what lies together. */
static inline void transpose_some(const double *from, uint64_t stride,
                                  uint64_t count, uint64_t width,
                                  uint64_t lines, double *to)
{
    for (uint64_t i = 0; i < width; i++)
        for (uint64_t l = 0; l < count; l++)
            memcpy(to + 2 * (i * lines + l), from + 2 * (l * stride + i),
                   NF_FFT_COMPLEX_BYTES);
}

/* A constant number of lines is no loop. */
static void transpose(const struct nf_fft_band *b, const struct nf_fft_some *s,
                      const double *from, uint64_t width, double *to)
{
    if (s->count == NF_FFT_TOGETHER)
        transpose_some(from, s->stride, NF_FFT_TOGETHER, width, b->lines, to);
    else
        transpose_some(from, s->stride, s->count, width, b->lines, to);
}

void nf_fft_cut(const struct nf_fft_band *b, const struct nf_fft_some *s,
                const double *from, double *to)
{
    for (uint64_t v = 0; v < b->units; v++) {
        uint64_t begin = nf_band_begin(b->length, b->units, v);
        uint64_t width = nf_band_begin(b->length, b->units, v + 1) - begin;

        if (width > 0)
            transpose(b, s, from + 2 * begin, width,
                      to + 2 * (begin * b->lines + s->first));
    }
}

void nf_fft_join(const struct nf_fft_band *b, const struct nf_fft_some *s,
                 const void *const *pieces, double *to)
{
    for (uint64_t u = 0; u < b->units; u++) {
        uint64_t begin = nf_band_begin(b->length, b->units, u);
        uint64_t width = nf_band_begin(b->length, b->units, u + 1) - begin;
        const double *piece =
            (const double *)pieces[u] + 2 * s->first * width;

        for (uint64_t l = 0; l < s->count && width > 0; l++)
            memcpy(to + 2 * (l * s->stride + begin), piece + 2 * l * width,
                   (size_t)width * NF_FFT_COMPLEX_BYTES);
    }
}
