#include "config.h"
#include "sim/distribution.h"
#include <math.h>

/* A normal number outside its bounds is drawn again this often, and then cut.
 */
enum { REDRAWS_MAX = 100 };

/* of (0, 1) */
static double draw_uniform(struct nf_rng *rng)
{
    return ((double)(nf_rng_next(rng) >> 11) + 0.5) * 0x1p-53;
}

static double draw_normal(struct nf_rng *rng)
{
    double u, v, square;

    do {
        u = 2 * draw_uniform(rng) - 1;
        v = 2 * draw_uniform(rng) - 1;
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    return u * sqrt(-2 * log(square) / square);
}

static double draw_truncated(const struct nf_distribution *d,
                             struct nf_rng *rng)
{
    double x = 0;

    for (int i = 0; i < REDRAWS_MAX; i++) {
        x = d->a + d->b * draw_normal(rng);
        if (x >= d->low && x <= d->high)
            return x;
    }
    return fmin(fmax(x, d->low), d->high);
}

/* of mean @p shape and scale 1 */
static double draw_gamma(double shape, struct nf_rng *rng)
{
    double boost = 1, d, c, x, v;

    if (shape < 1) {
        boost = pow(draw_uniform(rng), 1 / shape);
        shape += 1;
    }
    d = shape - 1.0 / 3;
    c = 1 / sqrt(9 * d);
    do {
        x = draw_normal(rng);
        v = 1 + c * x;
        v = v * v * v;
    } while (v <= 0 ||
             log(draw_uniform(rng)) >= x * x / 2 + d * (1 - v + log(v)));
    return boost * d * v;
}

double nf_distribution_draw(const struct nf_distribution *distribution,
                            uint64_t unit, uint64_t units, struct nf_rng *rng)
{
    double a = distribution->a, b = distribution->b;

    switch (distribution->kind) {
    case NF_DIST_CONSTANT:
        return a;
    case NF_DIST_UNIFORM:
        return a + (b - a) * draw_uniform(rng);
    case NF_DIST_NORMAL:
        return draw_truncated(distribution, rng);
    case NF_DIST_EXPONENTIAL:
        return -a * log(draw_uniform(rng));
    case NF_DIST_GAMMA:
        return a / b * draw_gamma(b, rng);
    case NF_DIST_BIMODAL:
        return draw_uniform(rng) < distribution->share ? b : a;
    case NF_DIST_RAMP:
        return units < 2 ? a
                         : a + (b - a) * ((double)unit / (double)(units - 1));
    }
    return a;
}
