/* Halving, where the sender keeps the larger half: who is reached late has less
 * to do.
 *
 * Cost <= end ceil(log2 k), for hold <= end. */
#include "config.h"
#include "common/tree/edges.h"
#include "common/tree/uniform.h"

static uint32_t keep(const void *table, uint32_t low, uint32_t high,
                     uint32_t self)
{
    (void)table;
    (void)self;
    return (high - low) / 2 + 1;
}

static enum nf_status make(const struct nf_uniform_args *args, uint32_t root,
                           uint32_t *sender_p, uint32_t *receiver_p)
{
    return nf_edges_halve(args->nodes, root, keep, NULL, sender_p, receiver_p);
}

const struct nf_uniform_algorithm nf_uniform_binomial_rootceil = {
    .name = "binomial-rootceil",
    .summary = "halving: the sender keeps the larger half",
    .cost = "<= e ceil(log2 k) for h <= e",
    .source = "folklore",
    .make = make,
};
