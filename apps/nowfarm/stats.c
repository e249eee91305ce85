/* Order statistics, and nothing that assumes a distribution: a dozen runs do
 * not show which one they have. */
#include "config.h"
#include "apps/nowfarm/stats.h"
#include <math.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

size_t stats_sort(double *values, size_t n)
{
    if (n > 0)
        qsort(values, n, sizeof(*values), by_value);
    while (n > 0 && isnan(values[n - 1]))
        n--;
    return n;
}

double stats_quantile(const double *sorted, size_t n, double p)
{
    double position, below;
    size_t i;

    if (n == 0)
        return NAN;
    position = p * (double)(n - 1);
    below = floor(position);
    i = (size_t)below;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (position - below) * (sorted[i + 1] - sorted[i]);
}

void stats_summarize(double *values, size_t n, struct stats_summary *summary_p)
{
    size_t there = stats_sort(values, n);

    summary_p->n = there;
    summary_p->min = stats_quantile(values, there, 0);
    summary_p->q1 = stats_quantile(values, there, 0.25);
    summary_p->median = stats_quantile(values, there, 0.5);
    summary_p->q3 = stats_quantile(values, there, 0.75);
    summary_p->max = stats_quantile(values, there, 1);
}

double stats_median(double *values, size_t n)
{
    return stats_quantile(values, stats_sort(values, n), 0.5);
}

/* The largest k for which the k-th smallest to the k-th largest of n values
 * hold the median with probability `wanted`, or 1; and that probability. */
static size_t sign_test_rank(size_t n, double wanted, double *confidence_p)
{
    double point = ldexp(1, -(int)n); /* P(B = k - 1) */
    double below = point;             /* P(B < k) */
    size_t k = 1;

    for (;;) {
        double next = point * (double)(n - k + 1) / (double)k;

        if (k + 1 > n / 2 || 1 - 2 * (below + next) < wanted)
            break;
        point = next;
        below += next;
        k++;
    }
    *confidence_p = 1 - 2 * below;
    return k;
}

void stats_median_interval(double *values, size_t n, double wanted,
                           struct stats_interval *interval_p)
{
    size_t there = stats_sort(values, n), k;

    interval_p->n = there;
    interval_p->median = stats_quantile(values, there, 0.5);
    interval_p->low = interval_p->high = NAN;
    interval_p->confidence = 0;
    if (there == 0)
        return;
    k = sign_test_rank(there, wanted, &interval_p->confidence);
    interval_p->low = values[k - 1];
    interval_p->high = values[there - k];
}

void stats_paired_ratios(const double *value, const double *base, size_t n,
                         double *ratio_p)
{
    for (size_t i = 0; i < n; i++)
        ratio_p[i] = base[i] > 0 ? value[i] / base[i] : NAN;
}

bool stats_differs(const struct stats_interval *interval)
{
    return interval->confidence >= STATS_LEAST_CONFIDENCE &&
           (interval->low > 1 || interval->high < 1);
}
