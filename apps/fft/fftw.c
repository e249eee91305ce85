/* The transforms themselves: all that is FFTW's. */
#include "config.h"
#include <fftw3.h>
#include <pthread.h>
#include "apps/fft/fft.h"
#include "common/base/alloc.h"

/* A plan serves all data of one shape and alignment. */
struct shape {
    uint64_t lines, length, stride;
    bool inverse;
    int alignment;
};
struct kept {
    struct shape shape;
    fftw_plan plan;
    struct kept *next;
};

/* FFTW may transform in several threads at a time, but only one of them may plan.
 * A job has a handful of shapes. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;
static struct kept *plans;

static bool same(const struct shape *a, const struct shape *b)
{
    return a->lines == b->lines && a->length == b->length &&
           a->stride == b->stride && a->inverse == b->inverse &&
           a->alignment == b->alignment;
}

/* Estimated plans: measuring one takes longer than what units save by it, and
 * makes the last bits depend on how busy a host was.  It does not touch the data.
 * @return NULL: out of memory */
static struct kept *make(const struct shape *s, fftw_complex *data)
{
    const int n = (int)s->length, apart = s->lines > 1 ? (int)s->stride : 0;
    struct kept *k = nf_calloc(1, sizeof(*k));

    if (k == NULL)
        return NULL;
    k->shape = *s;
    k->plan = fftw_plan_many_dft(1, &n, (int)s->lines, data, NULL, 1, apart,
                                 data, NULL, 1, apart,
                                 s->inverse ? FFTW_BACKWARD : FFTW_FORWARD,
                                 FFTW_ESTIMATE);
    if (k->plan == NULL) {
        nf_free(k);
        return NULL;
    }
    k->next = plans;
    plans = k;
    return k;
}

bool nf_fft_lines(double *data, uint64_t lines, uint64_t length,
                  uint64_t stride, bool inverse)
{
    const struct shape shape = { lines, length, stride, inverse,
                                 fftw_alignment_of(data) };
    fftw_complex *numbers = (fftw_complex *)data;
    struct kept *k;

    pthread_mutex_lock(&planner);
    k = plans;
    while (k != NULL && !same(&k->shape, &shape))
        k = k->next;
    if (k == NULL)
        k = make(&shape, numbers);
    pthread_mutex_unlock(&planner);
    if (k == NULL)
        return false;
    fftw_execute_dft(k->plan, numbers, numbers);
    return true;
}
