/* Algorithm 1 of Sawahata & Shibusawa, for segments and ports as well. */
#include "config.h"
#include <string.h>
#include "common/tree/ldt.h"
#include "common/tree/times.h"

enum nf_status nf_tree_reorder(struct nf_tree *tree, const struct nf_hops *hops,
                               uint64_t segments, double *time_us_p)
{
    struct nf_ldt ldt;
    double time_us;

    if (nf_ldt_init(&ldt, tree->nodes) != NF_OK)
        return NF_ERR_NOMEM;
    ldt.root = tree->root;
    memcpy(ldt.parent, tree->parent, tree->nodes * sizeof(*ldt.parent));
    nf_tree_order(tree, ldt.order);
    time_us = nf_ldt_run(&ldt, hops, segments);
    nf_ldt_get(&ldt, tree);
    nf_ldt_fini(&ldt);
    if (time_us_p != NULL)
        *time_us_p = time_us;
    return NF_OK;
}
