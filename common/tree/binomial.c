/* Halving, where the one that is sent to gets the larger half.
 *
 * Cost = end ceil(log2 k), for hold <= end.  The other two conventions are
 * never slower, and faster where k is no power of two: this one is that of the
 * paper, whose figures it gives. */
#include "config.h"
#include "common/tree/edges.h"
#include "common/tree/uniform.h"

static uint32_t keep(const void *table, uint32_t low, uint32_t high,
                     uint32_t self)
{
    (void)table;
    (void)self;
    return (high - low + 1) / 2;
}

static enum nf_status make(const struct nf_uniform_args *args, uint32_t root,
                           uint32_t *sender_p, uint32_t *receiver_p)
{
    return nf_edges_halve(args->nodes, root, keep, NULL, sender_p, receiver_p);
}

const struct nf_uniform_algorithm nf_uniform_binomial = {
    .name = "binomial",
    .summary = "halving: the larger half goes to the one that is sent to",
    .cost = "e ceil(log2 k) for h <= e",
    .source = "Lee 1999, section 2",
    .make = make,
};
