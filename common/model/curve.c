/* Lines through points by Theil-Sen, and tables where a line does not do: the
 * time of a message bends where it is cut into fragments. */
#include "config.h"
#include "common/model/curve.h"
#include <math.h>
#include "common/base/error.h"

double nf_curve_median(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double value = values[i];
        size_t at = i;

        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
    if (n == 0)
        return 0;
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double median_slope(const struct nf_curve_point *points, uint32_t n)
{
    double slopes[NF_CURVE_POINTS_MAX * (NF_CURVE_POINTS_MAX - 1) / 2];
    size_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++)
            slopes[count++] = (points[j].us - points[i].us) /
                              (points[j].bytes - points[i].bytes);
    return fmax(nf_curve_median(slopes, count), 0);
}

static struct nf_cost theil_sen(const struct nf_curve_point *points, uint32_t n)
{
    struct nf_cost line = { .byte_us = median_slope(points, n) };
    double rest[NF_CURVE_POINTS_MAX];

    for (uint32_t i = 0; i < n; i++)
        rest[i] = points[i].us - line.byte_us * points[i].bytes;
    line.fixed_us = fmax(nf_curve_median(rest, n), 0);
    return line;
}

/* The greatest relative residual; a point of 0 cannot be missed by a factor. */
static double worst_residual(const struct nf_curve *curve)
{
    double worst = 0;

    for (uint32_t i = 0; i < curve->npoints; i++) {
        double us = curve->points[i].us;
        double off = fabs(nf_cost_us(curve->line, curve->points[i].bytes) - us);

        if (off > 1e-9)
            worst = fmax(worst, us > 0 ? off / us : 1);
    }
    return worst;
}

enum nf_status nf_curve_fit(const struct nf_curve_point *points,
                            uint32_t npoints, struct nf_curve *curve_p,
                            struct nf_error *err)
{
    struct nf_curve curve = { .npoints = npoints };

    if (npoints < 1 || npoints > NF_CURVE_POINTS_MAX)
        return nf_fail(err, NF_ERR_INVAL, "%u points: want 1 to %d", npoints,
                       NF_CURVE_POINTS_MAX);
    for (uint32_t i = 0; i < npoints; i++) {
        if (!isfinite(points[i].us) || !isfinite(points[i].bytes) ||
            points[i].bytes < 0)
            return nf_fail(err, NF_ERR_INVAL, "point %u is no number", i);
        if (i > 0 && !(points[i].bytes >= points[i - 1].bytes + 1))
            return nf_fail(err, NF_ERR_INVAL,
                           "point %u: %g bytes: want sizes that ascend", i,
                           points[i].bytes);
        curve.points[i] =
            (struct nf_curve_point){ points[i].bytes, fmax(points[i].us, 0) };
    }
    curve.line = theil_sen(curve.points, npoints);
    nf_curve_judge(&curve);
    *curve_p = curve;
    return NF_OK;
}

void nf_curve_judge(struct nf_curve *curve)
{
    curve->worst = worst_residual(curve);
    curve->by_table = curve->worst > NF_CURVE_OFF_MAX;
}

struct nf_curve nf_curve_line(struct nf_cost line)
{
    return (struct nf_curve){ .line = line };
}

double nf_curve_last_slope(const struct nf_curve *curve)
{
    const struct nf_curve_point *last = curve->points + curve->npoints - 1;

    if (!curve->by_table || curve->npoints < 2)
        return curve->line.byte_us;
    return fmax(curve->line.byte_us,
                (last->us - last[-1].us) / (last->bytes - last[-1].bytes));
}

double nf_curve_us(const struct nf_curve *curve, double bytes)
{
    const struct nf_curve_point *points = curve->points;
    uint32_t i = 1, n = curve->npoints;
    double slope;

    if (!curve->by_table || n == 0)
        return nf_cost_us(curve->line, bytes);
    if (n == 1 || bytes <= points[0].bytes)
        return points[0].us +
               curve->line.byte_us * fmax(bytes - points[0].bytes, 0);
    while (i + 1 < n && points[i].bytes < bytes)
        i++;
    slope = (points[i].us - points[i - 1].us) /
            (points[i].bytes - points[i - 1].bytes);
    if (bytes > points[i].bytes)
        return points[i].us +
               fmax(slope, curve->line.byte_us) * (bytes - points[i].bytes);
    return points[i - 1].us + slope * (bytes - points[i - 1].bytes);
}
