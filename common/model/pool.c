#include "config.h"
#include "common/model/pool.h"
#include <math.h>
#include <stdbool.h>

/* Let the value at @p at, below which all are in order, sink in the heap. */
static void sink(double *heap, size_t at, size_t count)
{
    double value = heap[at];

    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= value)
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

/* A heap's, as qsort() is not pure: it may allocate. */
static void sort(double *values, size_t count)
{
    for (size_t at = count / 2; at > 0; at--)
        sink(values, at - 1, count);
    for (size_t last = count; last > 1; last--) {
        double most = values[0];

        values[0] = values[last - 1];
        values[last - 1] = most;
        sink(values, 0, last - 1);
    }
}

/* What is not finite has no place in an order.  @return how many are */
static size_t sort_finite(double *values, size_t count)
{
    size_t finite = 0;

    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            values[finite++] = values[i];
    sort(values, finite);
    return finite;
}

/* Of those from @p from to before @p to, of which there is one. */
static double median(const double *sorted, size_t from, size_t to)
{
    size_t last = to - 1;

    return (sorted[from + (last - from) / 2] +
            sorted[last - (last - from) / 2]) /
           2;
}

/* Of a normal distribution half is within so many standard deviations. */
static const double HALF_WITHIN = 0.6744897501960817;

double nf_pool_noise(double *differences, size_t count)
{
    size_t finite;

    for (size_t i = 0; i < count; i++)
        differences[i] = fabs(differences[i]);
    finite = sort_finite(differences, count);
    return finite > 0 ? median(differences, 0, finite) / HALF_WITHIN / sqrt(2)
                      : 0;
}

struct nf_pool nf_pool_of(double *values, size_t count, double noise)
{
    size_t finite = sort_finite(values, count);

    return (struct nf_pool){
        .sorted = values,
        .count = finite,
        .reach = finite > 0 ? noise * sqrt(2 * log((double)finite)) : 0,
    };
}

/* How many are less than @p value, or as much, too. */
static size_t below(const struct nf_pool *pool, double value, bool or_equal)
{
    size_t from = 0, to = pool->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        double at = pool->sorted[middle];

        if (at < value || (or_equal && at <= value))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* It goes one way, from one median to the next, of which there are only so
 * many. */
double nf_pool_value(const struct nf_pool *pool, double value)
{
    for (size_t step = 0; step < pool->count; step++) {
        size_t from = below(pool, value - pool->reach, false);
        size_t to = below(pool, value + pool->reach, true);
        double middle;

        if (from >= to)
            return value;
        middle = median(pool->sorted, from, to);
        if (middle >= value && middle <= value)
            return value;
        value = middle;
    }
    return value;
}
