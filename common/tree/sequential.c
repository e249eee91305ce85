/* The root sends to everybody itself.
 *
 * Cost = (k - 2) hold + end; best if hold is small. */
#include "config.h"
#include "common/tree/uniform.h"

static enum nf_status make(const struct nf_uniform_args *args, uint32_t root,
                           uint32_t *sender_p, uint32_t *receiver_p)
{
    for (uint32_t k = 0; k + 1 < args->nodes; k++) {
        sender_p[k] = root;
        receiver_p[k] = k + 1;
    }
    return NF_OK;
}

const struct nf_uniform_algorithm nf_uniform_sequential = {
    .name = "sequential",
    .summary = "the root sends to everybody",
    .cost = "(k-2) h + e",
    .source = "Lee 1999, section 2",
    .make = make,
};
