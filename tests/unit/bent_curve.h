#ifndef NF_TESTS_UNIT_BENT_CURVE_H
#define NF_TESTS_UNIT_BENT_CURVE_H
/* Times as they are measured: by points that no line fits. */
#include "common/base/rng.h"
#include "common/model/curve.h"

/* About @p fixed_us and @p byte_us, a quarter to 1.75 times of it.
 * @param bend  every other point has so many times the fixed part
 * @return of nf_curve_fit() */
static inline enum nf_status bent_curve(struct nf_rng *rng, double fixed_us,
                                        double byte_us, double bend,
                                        struct nf_curve *curve)
{
    static const double sizes[] = { 0, 64, 256, 1024, 4096, 16384, 65536 };
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    struct nf_curve_point points[SIZES];

    fixed_us *= 0.25 + 1.5 * (double)nf_rng_below(rng, 1000) / 1000;
    byte_us *= 0.25 + 1.5 * (double)nf_rng_below(rng, 1000) / 1000;
    for (int i = 0; i < SIZES; i++)
        points[i] = (struct nf_curve_point){
            sizes[i], fixed_us * (i % 2 == 0 ? 1 : bend) + byte_us * sizes[i]
        };
    return nf_curve_fit(points, SIZES, curve, NULL);
}
#endif
