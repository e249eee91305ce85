/* Who has what in the six steps; see fft.h. */
#include "config.h"
#include <string.h>
#include "apps/bands.h"
#include "apps/fft/fft.h"

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
    return phase % 2 == 0 ? s->rows : s->cols;
}

uint64_t nf_fft_length_in(const struct nf_fft_shape *s, uint32_t phase)
{
    return phase % 2 == 0 ? s->cols : s->rows;
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

/* to[i][l] = from[l][i], i < width, l < s->count; lines of @p to are as long as the band
 * has lines.  It goes along few lines at once, and writes what lies together. */
static void transpose(const struct nf_fft_band *b, const struct nf_fft_some *s,
                      const double *restrict from, uint64_t width,
                      double *restrict to)
{
    for (uint64_t i = 0; i < width; i++)
        for (uint64_t l = 0; l < s->count; l++) {
            const double *number = from + 2 * (l * s->stride + i);
            double *place = to + 2 * (i * b->lines + l);

            place[0] = number[0];
            place[1] = number[1];
        }
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
