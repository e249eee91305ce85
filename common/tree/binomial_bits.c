/* The binomial tree of MPI libraries: a rank's parent is that rank without its
 * lowest set bit; the child with the highest bit comes first.
 *
 * Cost <= end ceil(log2 k), for hold <= end. */
#include "config.h"
#include "common/tree/uniform.h"

static enum nf_status make(const struct nf_uniform_args *args, uint32_t root,
                           uint32_t *sender_p, uint32_t *receiver_p)
{
    uint32_t count = 0, n = args->nodes;

    (void)root; /* is rank 0 */
    for (uint32_t v = 0; v < n; v++) {
        /* the bits below the lowest one that is set; for 0 all */
        uint32_t bit = v != 0 ? (v & -v) : NF_UNIFORM_NODES_MAX;

        while ((bit >>= 1) != 0) {
            if (v + bit >= n)
                continue;
            sender_p[count] = v;
            receiver_p[count++] = v + bit;
        }
    }
    return NF_OK;
}

const struct nf_uniform_algorithm nf_uniform_binomial_bits = {
    .name = "binomial-bits",
    .summary = "by the bits of ranks, as in MPI libraries",
    .cost = "<= e ceil(log2 k) for h <= e",
    .source = "MPICH, binomial broadcast",
    .make = make,
};
