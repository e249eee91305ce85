#ifndef NF_APPS_NOWFARM_STATS_H
#define NF_APPS_NOWFARM_STATS_H
/** @file stats.h  The few statistics that comparing runs takes: robust ones,
 *  since times of runs have long tails.  Pure.  A value that is missing is NaN;
 *  so is a result that needs values that are not there. */
#include <stdbool.h>
#include <stddef.h>

/** Below this no claim is made about a difference, see stats_differs(). */
#define STATS_LEAST_CONFIDENCE 0.9
/** What intervals aim at. */
#define STATS_CONFIDENCE 0.95

/** The most values of an interval: 2^-n must be a number. */
#define STATS_MOST_VALUES 1000

/** Five numbers that describe a sample. */
struct stats_summary {
    size_t n; /**< values that were not missing */
    double min, q1, median, q3, max;
};

/** A median and where the true one lies. */
struct stats_interval {
    size_t n;
    double median, low, high;
    double confidence; /**< of low..high, 0 to 1; 0 if n < 2 */
};

/** Sort values[0..n) upwards, the missing ones last.
 *  @return how many are not missing */
size_t stats_sort(double *values, size_t n);

/** The quantile @p p (0..1) of sorted[0..n), none missing: linear between the
 *  neighbours of position p (n - 1), counted from 0.
 *  Source: Hyndman, Fan, "Sample quantiles in statistical packages", The
 *  American Statistician 50 (1996), definition 7. */
double stats_quantile(const double *sorted, size_t n, double p);

/** Summarize values[0..n), which are sorted in place. */
void stats_summarize(double *values, size_t n, struct stats_summary *summary_p);

/** @return the median of values[0..n), which are sorted in place */
double stats_median(double *values, size_t n);

/** The median of values[0..n), which are sorted in place, with the interval of
 *  the sign test: the k-th smallest to the k-th largest value, which holds the
 *  true median with probability 1 - 2 P(B < k), B binomial (n, 1/2), whatever
 *  the distribution.  k is the largest for which that is at least @p wanted; if
 *  none is (0.95 takes n >= 6), k = 1, and confidence says what is left.
 *  @param n  at most STATS_MOST_VALUES
 *  Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2.
 */
void stats_median_interval(double *values, size_t n, double wanted,
                           struct stats_interval *interval_p);

/** ratio_p[i] = value[i] / base[i]; missing where one is, or base[i] <= 0.
 *  What both sides of a pair share (the same round, the same weather) cancels.
 */
void stats_paired_ratios(const double *value, const double *base, size_t n,
                         double *ratio_p);

/** Whether the ratios that led to @p interval can be told from 1: confidence is
 *  at least STATS_LEAST_CONFIDENCE (n >= 5) and 1 is not within. */
bool stats_differs(const struct stats_interval *interval);
#endif
