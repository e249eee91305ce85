/* Roots of one: w_N^e, and lines multiplied by their powers; see fft.h. */
#include "config.h"
#include <math.h>
#include <pthread.h>
#include "apps/fft/fft.h"
#include "common/base/alloc.h"

/* So many roots of a line are made at once: they stay in the nearest cache, where two
 * tables of the root of N do not. */
enum { RUN = 64 };

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

static bool roots_init(uint64_t count, bool inverse,
                       struct nf_fft_roots *roots_p)
{
    struct nf_fft_roots r = { .count = count, .inverse = inverse };
    uint64_t lows, highs;

    while (UINT64_C(1) << (2 * r.shift) < count)
        r.shift++;
    lows = UINT64_C(1) << r.shift;
    highs = (count >> r.shift) + 1;
    r.low = nf_calloc((size_t)lows * 2, sizeof(*r.low));
    r.high = nf_calloc((size_t)highs * 2, sizeof(*r.high));
    if (r.low == NULL || r.high == NULL) {
        nf_free(r.low);
        nf_free(r.high);
        return false;
    }
    for (uint64_t i = 0; i < lows; i++)
        nf_fft_root(i, count, inverse, r.low + 2 * i);
    for (uint64_t i = 0; i < highs; i++)
        nf_fft_root(i << r.shift, count, inverse, r.high + 2 * i);
    *roots_p = r;
    return true;
}

/* Sines take as long as a unit's transforms, if each unit calculates its own.  A
 * process has one job, and perhaps a small one that is rehearsed: so nobody
 * forgets any. */
static pthread_mutex_t keeper = PTHREAD_MUTEX_INITIALIZER;
static struct nf_fft_roots *kept;

static struct nf_fft_roots *find(uint64_t count, bool inverse)
{
    struct nf_fft_roots *r = kept;

    while (r != NULL && (r->count != count || r->inverse != inverse))
        r = r->next;
    return r;
}

const struct nf_fft_roots *nf_fft_roots(uint64_t count, bool inverse)
{
    struct nf_fft_roots *r;

    pthread_mutex_lock(&keeper);
    r = find(count, inverse);
    if (r == NULL) {
        r = nf_calloc(1, sizeof(*r));
        if (r != NULL && !roots_init(count, inverse, r)) {
            nf_free(r);
            r = NULL;
        }
        if (r != NULL) {
            r->next = kept;
            kept = r;
        }
    }
    pthread_mutex_unlock(&keeper);
    return r;
}

/* w^e */
static void root_at(const struct nf_fft_roots *roots, uint64_t e,
                    double *re_im_p)
{
    const double *low =
        roots->low + 2 * (e & ((UINT64_C(1) << roots->shift) - 1));

    re_im_p[0] = low[0];
    re_im_p[1] = low[1];
    multiply(re_im_p, roots->high + 2 * (e >> roots->shift));
}

void nf_fft_twiddle(const struct nf_fft_roots *roots, uint64_t j, double *line,
                    uint64_t length)
{
    double run[2 * RUN]; /* w^(j i), i < RUN */
    double by = roots->inverse ? (double)roots->count : 1;

    for (uint64_t i = 0; i < RUN && i < length; i++) {
        root_at(roots, i * j, run + 2 * i);
        run[2 * i] /= by;
        run[2 * i + 1] /= by;
    }
    for (uint64_t begin = 0; begin < length; begin += RUN) {
        uint64_t n = length - begin < RUN ? length - begin : RUN;
        double first[2];

        root_at(roots, begin * j, first);
        for (uint64_t i = 0; i < n; i++) {
            double root[2] = { run[2 * i], run[2 * i + 1] };

            multiply(root, first);
            multiply(line + 2 * (begin + i), root);
        }
    }
}
