/* Earliest completing edge first, min Available(i) + T(i, j).  With equal links
 * sender and receiver are chosen apart: the receiver by recv. */
#include "config.h"
#include <math.h>
#include "common/tree/hnow.h"
#include "common/tree/make.h"

const struct nf_heuristic nf_heuristic_ecef = {
    .how = { .cap_us = INFINITY },
    .receivers = nf_receivers_by_recv,
    .only_equal = true,
};

enum nf_status nf_tree_ecef(const struct nf_hops *hops, uint32_t root,
                            bool is_blocking, struct nf_tree *tree_p)
{
    return nf_heuristic_tree(&nf_heuristic_ecef, hops, root, is_blocking,
                             tree_p);
}

const struct nf_heuristic nf_heuristic_ecef_ports = {
    .how = { .holds_port = true, .cap_us = INFINITY },
    .receivers = nf_receivers_by_recv,
    .only_equal = true,
};

enum nf_status nf_tree_ecef_ports(const struct nf_hops *hops, uint32_t root,
                                  bool is_blocking, struct nf_tree *tree_p)
{
    return nf_heuristic_tree(&nf_heuristic_ecef_ports, hops, root, is_blocking,
                             tree_p);
}
