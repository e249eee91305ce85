/* Earliest completing edge first, min Available(i) + T(i, j).  With equal links
 * sender and receiver are chosen apart: the receiver by recv. */
#include "config.h"
#include <math.h>
#include "common/tree/hnow.h"
#include "common/tree/make.h"

enum nf_status nf_tree_ecef(const struct nf_hops *hops, uint32_t root,
                            bool is_blocking, struct nf_tree *tree_p)
{
    const struct nf_greedy how = { .is_blocking = is_blocking,
                                   .cap_us = INFINITY };

    return nf_greedy_tree(&how, hops, root,
                          hops->is_matrix ? NULL : nf_receivers_by_recv,
                          tree_p);
}

enum nf_status nf_tree_ecef_ports(const struct nf_hops *hops, uint32_t root,
                                  bool is_blocking, struct nf_tree *tree_p)
{
    const struct nf_greedy how = { .is_blocking = is_blocking,
                                   .holds_port = true,
                                   .cap_us = INFINITY };

    return nf_greedy_tree(&how, hops, root,
                          hops->is_matrix ? NULL : nf_receivers_by_recv,
                          tree_p);
}
