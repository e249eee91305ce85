/* The transforms themselves: all that is FFTW's. */
#include "config.h"
#include <fftw3.h>
#include <pthread.h>
#include "apps/fft/fft.h"

/* FFTW may transform in several threads at a time, but only one of them may plan. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

/* Estimated plans: measuring one takes longer than what units save by it, and
 * makes the last bits depend on how busy a host was. */
bool nf_fft_lines(double *data, uint64_t lines, uint64_t length, bool inverse)
{
    const int n = (int)length;
    fftw_plan plan;

    pthread_mutex_lock(&planner);
    plan = fftw_plan_many_dft(1, &n, (int)lines, (fftw_complex *)data, NULL, 1,
                              n, (fftw_complex *)data, NULL, 1, n,
                              inverse ? FFTW_BACKWARD : FFTW_FORWARD,
                              FFTW_ESTIMATE);
    pthread_mutex_unlock(&planner);
    if (plan == NULL)
        return false;
    fftw_execute(plan);
    pthread_mutex_lock(&planner);
    fftw_destroy_plan(plan);
    pthread_mutex_unlock(&planner);
    return true;
}
