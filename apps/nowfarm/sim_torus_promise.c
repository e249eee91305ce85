/* What algorithms promise of contention, and whether they keep it. */
#include "config.h"
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/sim_torus_report.h"

bool sim_torus_is_promised(const struct sim_torus_report *r,
                           const struct sim_torus_algorithm *algorithm)
{
    return algorithm->wish.algorithm->one_each &&
           r->setup.pace == NF_PACE_STEPS;
}

bool sim_torus_is_free(const struct sim_torus_point *point)
{
    return point->stuck[0] == '\0' && nf_torus_is_free(&point->result);
}

bool sim_torus_is_broken(const struct sim_torus_report *r,
                         const struct sim_torus_algorithm *algorithm,
                         const struct sim_torus_point *point)
{
    return point->fits && point->left_out[0] == '\0' &&
           sim_torus_is_promised(r, algorithm) && !sim_torus_is_free(point);
}

int sim_torus_check_promises(const struct sim_torus_report *r)
{
    size_t count = (size_t)r->nshapes * r->sizes.count * r->nalgorithms;

    for (size_t i = 0; i < count; i++) {
        const struct sim_torus_algorithm *algorithm =
            &r->algorithm[i % r->nalgorithms];

        if (!sim_torus_is_broken(r, algorithm, &r->point[i]))
            continue;
        nf_usage_error("%s: promises that no messages meet, but some do",
                       algorithm->name);
        return NF_EXIT_FAILED;
    }
    return NF_EXIT_OK;
}
