/* The transforms themselves: all that is FFTW's. */
#include "config.h"
#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include "apps/fft/fft.h"
#include "common/base/alloc.h"

/* A plan serves all lines of one length and alignment.  From one place to another: in
 * place FFTW copies each line to and fro, which takes as long as transforming it. */
struct shape {
    uint64_t length;
    bool inverse;
    int from_alignment, to_alignment;
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
    return a->length == b->length && a->inverse == b->inverse &&
           a->from_alignment == b->from_alignment &&
           a->to_alignment == b->to_alignment;
}

/* Estimated plans: measuring one takes longer than what units save by it, and
 * makes the last bits depend on how busy a host was.  It does not touch the data.
 * @return NULL: out of memory */
static struct kept *make(const struct shape *s, fftw_complex *from,
                         fftw_complex *to)
{
    struct kept *k = nf_calloc(1, sizeof(*k));

    if (k == NULL)
        return NULL;
    k->shape = *s;
    k->plan = fftw_plan_dft_1d((int)s->length, from, to,
                               s->inverse ? FFTW_BACKWARD : FFTW_FORWARD,
                               FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    if (k->plan == NULL) {
        nf_free(k);
        return NULL;
    }
    k->next = plans;
    plans = k;
    return k;
}

bool nf_fft_line(const double *from, uint64_t length, bool inverse, double *to)
{
    double *in = (double *)(uintptr_t)from; /* it is not written */
    const struct shape shape = { length, inverse, fftw_alignment_of(in),
                                 fftw_alignment_of(to) };
    struct kept *k;

    pthread_mutex_lock(&planner);
    k = plans;
    while (k != NULL && !same(&k->shape, &shape))
        k = k->next;
    if (k == NULL)
        k = make(&shape, (fftw_complex *)in, (fftw_complex *)to);
    pthread_mutex_unlock(&planner);
    if (k == NULL)
        return false;
    fftw_execute_dft(k->plan, (fftw_complex *)in, (fftw_complex *)to);
    return true;
}

/* Of the plan that would be made, for each of n log2 n; 0: FFTW does not say, of very
 * short ones, or memory is short. */
static double count_plan(uint64_t length)
{
    double add = 0, mul = 0, both = 0;
    fftw_complex *from = fftw_alloc_complex((size_t)length);
    fftw_complex *to = fftw_alloc_complex((size_t)length);

    if (from != NULL && to != NULL) {
        fftw_plan plan;

        pthread_mutex_lock(&planner);
        plan = fftw_plan_dft_1d((int)length, from, to, FFTW_FORWARD,
                                FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
        if (plan != NULL)
            fftw_flops(plan, &add, &mul, &both);
        fftw_destroy_plan(plan);
        pthread_mutex_unlock(&planner);
    }
    fftw_free(from);
    fftw_free(to);
    return (add + mul + 2 * both) / ((double)length * log2((double)length));
}

static uint64_t largest_factor(uint64_t number)
{
    uint64_t largest = 1;

    for (uint64_t d = 2; d <= number / d; d++)
        for (; number % d == 0; number /= d)
            largest = d;
    return number > largest ? number : largest;
}

/* Planning a long prime takes as long as transforming it: longer ones are as this. */
enum { SMALL_FACTOR = 13, PRIME_MOST = 131071, USUAL = 65536 };

/* Of all factors but the largest prime one FFTW makes the best. */
double nf_fft_line_operations(uint64_t length)
{
    uint64_t prime = largest_factor(length);
    double n = (double)length, more = 1;

    if (length < 2)
        return 0;
    if (prime > SMALL_FACTOR) {
        double own = count_plan(prime < PRIME_MOST ? prime : PRIME_MOST);
        double usual = count_plan(USUAL);

        more = own > 0 && usual > 0 ? own / usual : 1;
    }
    return 5 * n * (log2(n) + (more - 1) * log2((double)prime));
}
