/* Whole-number arithmetic of the sizers. */
#include "config.h"
#include "common/policy/arith.h"
#include <math.h>

__extension__ typedef unsigned __int128 wide;

static uint64_t narrow(wide value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

uint64_t nf_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

uint64_t nf_mul(uint64_t a, uint64_t b)
{
    return narrow((wide)a * b);
}

uint64_t nf_mul_div(uint64_t a, uint64_t b, uint64_t c)
{
    return narrow((wide)a * b / c);
}

uint64_t nf_mul_ceil_div(uint64_t a, uint64_t b, uint64_t c)
{
    wide product = (wide)a * b;

    return narrow(product / c + (product % c != 0));
}

/* x is whole already. */
static uint64_t to_units(double x)
{
    if (!(x > 0))
        return 0;
    return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

uint64_t nf_ceil_real(double x)
{
    return to_units(ceil(x - 1e-6));
}

uint64_t nf_round_real(double x)
{
    return to_units(floor(x + 0.5 + 1e-6));
}

uint64_t nf_clamp_chunk(uint64_t proposal, uint64_t kmin, uint64_t left)
{
    uint64_t units = proposal > kmin ? proposal : kmin;

    if (units < 1)
        units = 1;
    return units < left ? units : left;
}
