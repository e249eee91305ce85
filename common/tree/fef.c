/* Fastest edge first, min T(i, j): with equal links everything comes from the
 * fastest sender there is, so that it is much like a chain of stars. */
#include "config.h"
#include <math.h>
#include "common/tree/hnow.h"
#include "common/tree/make.h"

enum nf_status nf_tree_fef(const struct nf_hops *hops, uint32_t root,
                           bool is_blocking, struct nf_tree *tree_p)
{
    const struct nf_greedy how = { .is_by_edge = true,
                                   .is_blocking = is_blocking,
                                   .cap_us = INFINITY };

    return nf_greedy_tree(&how, hops, root, NULL, tree_p);
}
