/* OPT-mesh: OPT-tree along a dimension-ordered chain, so that on a mesh that
 * routes in the order of the dimensions no message waits for another's channel.
 *
 * Cost = t[k] of opt_table.h, wherever in the chain the root is.  That a sender
 * near the upper end keeps the upper places takes what is kept to be at least
 * half, which hold <= end makes sure of: a longer hold is cut. */
#include "config.h"
#include "common/tree/edges.h"
#include "common/tree/opt_table.h"
#include "common/tree/uniform.h"

static uint32_t keep(const void *table, uint32_t low, uint32_t high,
                     uint32_t self)
{
    const struct nf_opt_table *opt = table;

    (void)self;
    return opt->keep[high - low + 1];
}

static enum nf_status make(const struct nf_uniform_args *args, uint32_t root,
                           uint32_t *sender_p, uint32_t *receiver_p)
{
    int64_t hold = nf_uniform_hold(&args->uniform), end = args->uniform.end;
    struct nf_opt_table table;
    enum nf_status status =
        nf_opt_table_init(&table, args->nodes, hold < end ? hold : end, end);

    if (status == NF_OK)
        status = nf_edges_halve(args->nodes, root, keep, &table, sender_p,
                                receiver_p);
    nf_opt_table_fini(&table);
    return status;
}

const struct nf_uniform_algorithm nf_uniform_opt_mesh = {
    .name = "opt-mesh",
    .summary = "OPT-tree along a chain: no contention on a mesh",
    .cost = "that of opt for h <= e",
    .source = "Lee 1999, algorithm 2; Nupairoj, Ni, Park, Choi 1997",
    .on_chain = true,
    .make = make,
};
