/* U-mesh: halving along a dimension-ordered chain.
 *
 * Cost = end ceil(log2 k) for hold <= end; less only for k = 2^n + 1 with the
 * root in the middle.  Of an odd number the sender keeps the smaller part, but
 * in the middle the larger one, and sends upwards: the original may differ in
 * this case. */
#include "config.h"
#include "common/tree/edges.h"
#include "common/tree/uniform.h"

static uint32_t keep(const void *table, uint32_t low, uint32_t high,
                     uint32_t self)
{
    (void)table;
    return (high - low + 1) / 2 +
           ((high - low) % 2 == 0 && self - low == high - self);
}

static enum nf_status make(const struct nf_uniform_args *args, uint32_t root,
                           uint32_t *sender_p, uint32_t *receiver_p)
{
    return nf_edges_halve(args->nodes, root, keep, NULL, sender_p, receiver_p);
}

const struct nf_uniform_algorithm nf_uniform_u_mesh = {
    .name = "u-mesh",
    .summary = "halving along a chain: no contention on a mesh",
    .cost = "e ceil(log2 k) for h <= e",
    .source = "McKinley, Xu, Esfahanian, Ni 1994",
    .on_chain = true,
    .make = make,
};
