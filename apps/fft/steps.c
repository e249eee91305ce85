/* Who has what in the six steps, and the roots between them; see fft.h. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/bands.h"
#include "apps/fft/fft.h"
#include "common/base/alloc.h"

/* Numbers are moved in squares of so many, which stay in the cache. */
enum { TILE = 16 };

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

static void copy_number(double *to, const double *from)
{
    to[0] = from[0];
    to[1] = from[1];
}

/* to[i][l] = from[l][i], i < width, l < lines; lines of from are @p length apart */
static void transpose(const double *from, uint64_t length, uint64_t lines,
                      uint64_t width, double *to)
{
    for (uint64_t i0 = 0; i0 < width; i0 += TILE)
        for (uint64_t l0 = 0; l0 < lines; l0 += TILE) {
            uint64_t i1 = width - i0 < TILE ? width : i0 + TILE;
            uint64_t l1 = lines - l0 < TILE ? lines : l0 + TILE;

            for (uint64_t i = i0; i < i1; i++)
                for (uint64_t l = l0; l < l1; l++)
                    copy_number(to + 2 * (i * lines + l),
                                from + 2 * (l * length + i));
        }
}

void nf_fft_cut(const double *from, uint64_t lines, uint64_t length,
                uint64_t units, double *to, uint64_t *bytes_p)
{
    for (uint64_t v = 0; v < units; v++) {
        uint64_t begin = nf_band_begin(length, units, v);
        uint64_t width = nf_band_begin(length, units, v + 1) - begin;

        bytes_p[v] = width * lines * NF_FFT_COMPLEX_BYTES;
        if (width * lines == 0)
            continue;
        transpose(from + 2 * begin, length, lines, width, to);
        to += 2 * width * lines;
    }
}

bool nf_fft_join(const double *from, const uint64_t *at, uint64_t lines,
                 uint64_t length, uint64_t units, double *to)
{
    for (uint64_t u = 0; u < units; u++) {
        uint64_t begin = nf_band_begin(length, units, u);
        uint64_t width = nf_band_begin(length, units, u + 1) - begin;
        const double *piece = from + at[u] / sizeof(double);

        if (at[u + 1] - at[u] != width * lines * NF_FFT_COMPLEX_BYTES)
            return false;
        for (uint64_t l = 0; l < lines && width > 0; l++)
            memcpy(to + 2 * (l * length + begin), piece + 2 * l * width,
                   (size_t)width * NF_FFT_COMPLEX_BYTES);
    }
    return true;
}

/* The angle is made small first, in whole numbers, so that nothing is lost: it is
 * pi a / (2 N), and a at most N / 2. */
void nf_fft_root(uint64_t e, uint64_t count, bool inverse, double *re_im_p)
{
    const double half_pi = 1.5707963267948966;
    uint64_t a = e % count;
    bool below = a > count - a, left, steep;
    double angle, re, im;

    a = 4 * (below ? count - a : a);
    left = a > count;
    a = left ? 2 * count - a : a;
    steep = a > count - a;
    a = steep ? count - a : a;
    angle = half_pi * ((double)a / (double)count);
    re = steep ? sin(angle) : cos(angle);
    im = steep ? cos(angle) : sin(angle);
    re_im_p[0] = left ? -re : re;
    re_im_p[1] = below != inverse ? im : -im;
}

static void multiply(double *number, const double *by)
{
    double re = number[0] * by[0] - number[1] * by[1];

    number[1] = number[0] * by[1] + number[1] * by[0];
    number[0] = re;
}

bool nf_fft_roots_init(uint64_t count, bool inverse,
                       struct nf_fft_roots *roots_p)
{
    struct nf_fft_roots r = { .count = count };
    uint64_t lows, highs;

    while (UINT64_C(1) << (2 * r.shift) < count)
        r.shift++;
    lows = UINT64_C(1) << r.shift;
    highs = (count >> r.shift) + 1;
    r.low = nf_calloc((size_t)lows * 2, sizeof(*r.low));
    r.high = nf_calloc((size_t)highs * 2, sizeof(*r.high));
    if (r.low == NULL || r.high == NULL) {
        nf_fft_roots_fini(&r);
        return false;
    }
    for (uint64_t i = 0; i < lows; i++)
        nf_fft_root(i, count, inverse, r.low + 2 * i);
    for (uint64_t i = 0; i < highs; i++) {
        nf_fft_root(i << r.shift, count, inverse, r.high + 2 * i);
        if (inverse) {
            r.high[2 * i] /= (double)count;
            r.high[2 * i + 1] /= (double)count;
        }
    }
    *roots_p = r;
    return true;
}

void nf_fft_roots_fini(struct nf_fft_roots *roots)
{
    nf_free(roots->low);
    nf_free(roots->high);
}

void nf_fft_twiddle(const struct nf_fft_roots *roots, uint64_t j, double *line,
                    uint64_t length)
{
    uint64_t mask = (UINT64_C(1) << roots->shift) - 1, e = 0;

    for (uint64_t k = 0; k < length; k++, e += j) {
        double root[2] = { roots->low[2 * (e & mask)],
                           roots->low[2 * (e & mask) + 1] };

        multiply(root, roots->high + 2 * (e >> roots->shift));
        multiply(line + 2 * k, root);
    }
}
