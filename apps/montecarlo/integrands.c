#include "config.h"
#include "apps/montecarlo/integrands.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* Genz's difficulties. */
#define H_OSCILLATORY   9.0
#define H_PRODUCT_PEAK  7.25
#define H_CORNER_PEAK   1.85
#define H_GAUSSIAN_PEAK 7.03
#define H_CONTINUOUS    20.4
#define H_DISCONTINUOUS 4.3

static double w(uint32_t i)
{
    return i % 2 == 0 ? 1.0 / 3 : 2.0 / 3;
}

static double power(double base, uint32_t exponent)
{
    double value = 1;

    for (uint32_t i = 0; i < exponent; i++)
        value *= base;
    return value;
}

/* ---------------------------------------------------------------------- balls
 */

static double square_length(const double *x, uint32_t dims)
{
    double sum = 0;

    for (uint32_t i = 0; i < dims; i++)
        sum += x[i] * x[i];
    return sum;
}

/* The part of the unit ball with positive coordinates, 2^d times. */
static double ball(const double *x, uint32_t dims)
{
    return square_length(x, dims) <= 1 ? power(2, dims) : 0;
}

static double ball_integral(uint32_t dims)
{
    return pow(PI, dims / 2.0) / tgamma(dims / 2.0 + 1);
}

static double ball_square(uint32_t dims)
{
    return power(2, dims) * ball_integral(dims);
}

/* ------------------------------------------------------------------- gaussian
 */

#define TWO_BY_ROOT_PI 1.12837916709551257390

static double gaussian(const double *x, uint32_t dims)
{
    return exp(-square_length(x, dims)) * power(TWO_BY_ROOT_PI, dims);
}

static double gaussian_integral(uint32_t dims)
{
    return power(erf(1), dims);
}

/* ----------------------------------------------------------------------- Genz
 */

static double oscillatory(const double *x, uint32_t dims)
{
    double a = H_OSCILLATORY / dims, sum = 2 * PI * w(0);

    for (uint32_t i = 0; i < dims; i++)
        sum += a * x[i];
    return cos(sum);
}

/* the real part of e^(2 pi i w) times that of each dimension */
static double oscillatory_integral(uint32_t dims)
{
    double a = H_OSCILLATORY / dims;

    return cos(2 * PI * w(0) + H_OSCILLATORY / 2) *
           power(2 * sin(a / 2) / a, dims);
}

static double product_peak(const double *x, uint32_t dims)
{
    double a = H_PRODUCT_PEAK / dims, product = 1;

    for (uint32_t i = 0; i < dims; i++)
        product *= 1 / (1 / (a * a) + (x[i] - w(i)) * (x[i] - w(i)));
    return product;
}

static double product_peak_integral(uint32_t dims)
{
    double a = H_PRODUCT_PEAK / dims, product = 1;

    for (uint32_t i = 0; i < dims; i++)
        product *= a * (atan(a * (1 - w(i))) + atan(a * w(i)));
    return product;
}

static double corner_peak(const double *x, uint32_t dims)
{
    double a = H_CORNER_PEAK / dims, sum = 1;

    for (uint32_t i = 0; i < dims; i++)
        sum += a * x[i];
    return 1 / power(sum, dims + 1);
}

/* With equal a_i the alternating sum over all corners telescopes. */
static double corner_peak_integral(uint32_t dims)
{
    double a = H_CORNER_PEAK / dims, product = 1;

    for (uint32_t i = 1; i <= dims; i++)
        product *= 1 + a * i;
    return 1 / product;
}

static double gaussian_peak(const double *x, uint32_t dims)
{
    double a = H_GAUSSIAN_PEAK / dims, sum = 0;

    for (uint32_t i = 0; i < dims; i++)
        sum += a * a * (x[i] - w(i)) * (x[i] - w(i));
    return exp(-sum);
}

static double gaussian_peak_integral(uint32_t dims)
{
    double a = H_GAUSSIAN_PEAK / dims, product = 1;

    for (uint32_t i = 0; i < dims; i++)
        product *= (erf(a * (1 - w(i))) + erf(a * w(i))) * sqrt(PI) / (2 * a);
    return product;
}

static double continuous(const double *x, uint32_t dims)
{
    double a = H_CONTINUOUS / dims, sum = 0;

    for (uint32_t i = 0; i < dims; i++)
        sum += a * fabs(x[i] - w(i));
    return exp(-sum);
}

static double continuous_integral(uint32_t dims)
{
    double a = H_CONTINUOUS / dims, product = 1;

    for (uint32_t i = 0; i < dims; i++)
        product *= (2 - exp(-a * w(i)) - exp(-a * (1 - w(i)))) / a;
    return product;
}

static double discontinuous(const double *x, uint32_t dims)
{
    double a = H_DISCONTINUOUS / dims, sum = 0;

    if (x[0] > w(0) || (dims > 1 && x[1] > w(1)))
        return 0;
    for (uint32_t i = 0; i < dims; i++)
        sum += a * x[i];
    return exp(sum);
}

static double discontinuous_integral(uint32_t dims)
{
    double a = H_DISCONTINUOUS / dims, product = 1;

    for (uint32_t i = 0; i < dims; i++)
        product *= (exp(a * (i < 2 ? w(i) : 1)) - 1) / a;
    return product;
}

/* ---------------------------------------------------------------------- table
 */

/* Above 12 dimensions nearly no point hits the ball, and error estimates of
 * means of rare events are worth little; in one it is a constant. */
const struct nf_integrand nf_integrands[] = {
    { "pi", "4 inside the quarter circle, else 0", 2, 2, 2, ball, ball_integral,
      ball_square },
    { "ball", "2^d inside the unit ball, else 0", 2, 12, 3, ball, ball_integral,
      ball_square },
    { "gaussian", "product of 2/sqrt(pi) exp(-x_i^2)", 1, NF_INTEGRAND_DIMS, 3,
      gaussian, gaussian_integral, NULL },
    { "oscillatory", "cos(2 pi w_1 + sum a x_i)", 1, NF_INTEGRAND_DIMS, 5,
      oscillatory, oscillatory_integral, NULL },
    { "product-peak", "product of 1 / (a^-2 + (x_i - w_i)^2)", 1,
      NF_INTEGRAND_DIMS, 5, product_peak, product_peak_integral, NULL },
    { "corner-peak", "(1 + sum a x_i)^-(d+1)", 1, NF_INTEGRAND_DIMS, 5,
      corner_peak, corner_peak_integral, NULL },
    { "gaussian-peak", "exp(-sum a^2 (x_i - w_i)^2)", 1, NF_INTEGRAND_DIMS, 5,
      gaussian_peak, gaussian_peak_integral, NULL },
    { "continuous", "exp(-sum a |x_i - w_i|)", 1, NF_INTEGRAND_DIMS, 5,
      continuous, continuous_integral, NULL },
    { "discontinuous", "exp(sum a x_i), 0 where x_1 > w_1 or x_2 > w_2", 1,
      NF_INTEGRAND_DIMS, 5, discontinuous, discontinuous_integral, NULL },
    { NULL, NULL, 0, 0, 0, NULL, NULL, NULL },
};

int nf_integrand_find(const char *name)
{
    for (int i = 0; nf_integrands[i].name != NULL; i++)
        if (strcmp(nf_integrands[i].name, name) == 0)
            return i;
    return -1;
}
