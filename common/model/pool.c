#include "config.h"
#include "common/model/pool.h"
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts. */
static double median(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof(*values), by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Of a normal distribution half is within so many standard deviations. */
static const double HALF_WITHIN = 0.6744897501960817;

double nf_pool_noise(double *differences, size_t count)
{
    for (size_t i = 0; i < count; i++)
        differences[i] = fabs(differences[i]);
    return median(differences, count) / HALF_WITHIN / sqrt(2);
}

struct nf_pool nf_pool_of(double *values, size_t count, double noise)
{
    return (struct nf_pool){
        .middle = median(values, count),
        .reach = count > 0 ? noise * sqrt(2 * log((double)count)) : 0,
    };
}
