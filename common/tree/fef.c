/* Fastest edge first, min T(i, j): with equal links everything comes from the
 * fastest sender there is, so that it is much like a chain of stars. */
#include "config.h"
#include <math.h>
#include "common/tree/hnow.h"
#include "common/tree/make.h"

const struct nf_heuristic nf_heuristic_fef = {
    .how = { .is_by_edge = true, .cap_us = INFINITY },
};

enum nf_status nf_tree_fef(const struct nf_hops *hops, uint32_t root,
                           bool is_blocking, struct nf_tree *tree_p)
{
    return nf_heuristic_tree(&nf_heuristic_fef, hops, root, is_blocking,
                             tree_p);
}
