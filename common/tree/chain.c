/* Everybody passes the message on to the next.
 *
 * Cost = (k - 1) end; best for long messages that are cut into segments. */
#include "config.h"
#include "common/tree/uniform.h"

static enum nf_status make(const struct nf_uniform_args *args, uint32_t root,
                           uint32_t *sender_p, uint32_t *receiver_p)
{
    for (uint32_t k = 0; k + 1 < args->nodes; k++) {
        sender_p[k] = root + k;
        receiver_p[k] = root + k + 1;
    }
    return NF_OK;
}

const struct nf_uniform_algorithm nf_uniform_chain = {
    .name = "chain",
    .summary = "everybody sends to the next one",
    .cost = "(k-1) e",
    .source = "Lee 1999, section 2",
    .make = make,
};
