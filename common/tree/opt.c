/* OPT-tree: the fastest tree there is with one port.
 *
 * Cost = t[k] of opt_table.h: between that of the flat tree (hold = 0) and the
 * binomial one (hold = end); towards a chain as hold grows beyond end. */
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
    struct nf_opt_table table;
    enum nf_status status =
        nf_opt_table_init(&table, args->nodes, nf_uniform_hold(&args->uniform),
                          args->uniform.end);

    if (status == NF_OK)
        status = nf_edges_halve(args->nodes, root, keep, &table, sender_p,
                                receiver_p);
    nf_opt_table_fini(&table);
    return status;
}

const struct nf_uniform_algorithm nf_uniform_opt = {
    .name = "opt",
    .summary = "OPT-tree, the fastest for one port",
    .cost = "t[k] = min_j max(t[j] + h, t[k-j] + e)",
    .source = "Lee 1999, algorithm 1",
    .make = make,
};
