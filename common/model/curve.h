#ifndef NF_MODEL_CURVE_H
#define NF_MODEL_CURVE_H
/** @file curve.h  A time against the size of a message, as measured: a straight
 *  line, and where that does not fit, the points themselves.  Pure. */
#include <stddef.h>
#include "common/model/hetero.h"

enum { NF_CURVE_POINTS_MAX = 16 };

struct nf_curve_point {
    double bytes, us;
};

/** Zeroed: no time at all. */
struct nf_curve {
    struct nf_cost line; /**< both parts >= 0 */
    double worst;        /**< the greatest |line - point| / point */
    bool by_table;       /**< the line is off by more than NF_CURVE_OFF_MAX */
    uint32_t npoints;    /**< 0: the line is all there is */
    struct nf_curve_point points[NF_CURVE_POINTS_MAX]; /**< sizes ascend, by a
                                                     byte or more */
    bool has_low; /**< there is low_us: for people, nothing goes by it */
    double low_us[NF_CURVE_POINTS_MAX]; /**< [npoints] as points, of what a
                                             fifth of the times came below */
};

/** A line that is off by more at some point is not believed. */
#define NF_CURVE_OFF_MAX 0.10

/** Fit by Theil-Sen: the slope is the median of those of all pairs of points,
 *  the constant the median of what is left, so that less than 29 % of wild
 *  points do no harm.  Points below 0, which come of differences of small
 * times, count as 0; so do a slope and a constant.  O(npoints^4), of few points
 *  @param points  @p npoints 1..NF_CURVE_POINTS_MAX
 *  @retval NF_ERR_INVAL  too many points or none, sizes that do not ascend from
 *                        0 or more by a byte or more, or a number that is not
 * finite Source: Sen, "Estimates of the regression coefficient based on
 * Kendall's tau", J. Am. Stat. Ass. 63 (1968). */
enum nf_status nf_curve_fit(const struct nf_curve_point *points,
                            uint32_t npoints, struct nf_curve *curve_p,
                            struct nf_error *err);

/** Set worst and by_table by the line and the points. */
void nf_curve_judge(struct nf_curve *curve);

/** A curve that is this line. */
struct nf_curve nf_curve_line(struct nf_cost line);

/** The time at @p bytes >= 0: of the line, or between the points to the left
 *  and right of it; beyond the last one on with the slope that led to it, or
 *  the line's if that is steeper. */
double nf_curve_us(const struct nf_curve *curve, double bytes);

/** What a byte more takes beyond the last point: by the line, or of a table by
 * its last two points if that is more.  It is the rate of a link whose first
 * bytes pass at once, of which the line, that short messages count in, knows
 * less. */
double nf_curve_last_slope(const struct nf_curve *curve);

/** Sort @p values upwards and give their median; 0 of none.  O(n^2) */
double nf_curve_median(double *values, size_t n);
#endif
