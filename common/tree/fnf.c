/* Fastest node first: by send, which is what a receiver can do for others. */
#include "config.h"
#include <math.h>
#include "common/tree/hnow.h"
#include "common/tree/make.h"
#include "common/tree/sort.h"

static enum nf_status by_send(const struct nf_hops *hops, uint32_t root,
                              uint32_t *receivers_p)
{
    nf_receivers_all(hops->nodes, root, receivers_p);
    nf_sort_nodes(receivers_p, hops->nodes - 1, hops->send);
    return NF_OK;
}

const struct nf_heuristic nf_heuristic_fnf = {
    .how = { .cap_us = INFINITY },
    .receivers = by_send,
};

enum nf_status nf_tree_fnf(const struct nf_hops *hops, uint32_t root,
                           bool is_blocking, struct nf_tree *tree_p)
{
    return nf_heuristic_tree(&nf_heuristic_fnf, hops, root, is_blocking,
                             tree_p);
}
