#ifndef NF_APPS_NOWFARM_TREE_NETWORK_H
#define NF_APPS_NOWFARM_TREE_NETWORK_H
/** @file tree_network.h  nowfarm tree NAME --network FILE: a tree, or a plan in
 *  segments, for hosts that differ. */
#include <stdbool.h>

/** Texts as given; NULL: not given. */
struct tree_network_options {
    const char *name, *network, *root, *size, *draw;
    bool is_blocking; /**< a sender waits until its receiver has the message */
    bool reorder;     /**< the children of each node, by Algorithm 1 */
    bool json;
};

/** Name must be one of nf_hnow_table or nf_uniform_table; the latter for hosts
 *  that are all as the median one, of parameters the mean one, ranks being the
 *  hosts from the root on.  Network is a model file or one of parameters.
 *  @return the exit status */
int tree_network(const struct tree_network_options *options);
#endif
