#include "config.h"
#include "apps/prefix/wishes.h"
#include <stdio.h>
#include <string.h>
#include "apps/prefix/member.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/group/over_mesh.h"

/* Of each operation of member.c the call that is the hardest to serve: the
 * fewest elements, an order to keep, a root that is not the first. */
static const struct call {
    enum nf_coll_op op;
    uint32_t elements; /* allgather: of each rank */
    uint32_t element_bytes;
    bool commutative;
    bool last_root;
} calls[] = {
    { NF_COLL_BCAST, 1, NF_PREFIX_WORDS * sizeof(int64_t), true, true },
    { NF_COLL_ALLREDUCE, 1, sizeof(int64_t), true, false },
    { NF_COLL_EXSCAN, 1, NF_PREFIX_WORDS * sizeof(int64_t), false, false },
    { NF_COLL_ALLGATHER, 3, sizeof(int64_t), true, false },
    { NF_COLL_GATHER, 1, 1, true, false },
};
enum { CALLS = sizeof(calls) / sizeof(*calls) };

static enum nf_status serve(const struct call *call, const char *wishes,
                            uint32_t ranks, const uint32_t *hosts,
                            char text_p[NF_TOLD_BYTES], struct nf_error *why)
{
    const uint64_t blocks = call->op == NF_COLL_ALLGATHER ? ranks : 1;
    const struct nf_coll_query query = {
        .op = call->op,
        .ranks = ranks,
        .root = call->last_root ? ranks - 1 : 0,
        .bytes = blocks * call->elements * call->element_bytes,
        .elements = blocks * call->elements,
        .commutative = call->commutative,
        .hosts = hosts,
    };

    return nf_group_tell_choice(wishes, NULL, &query, false, text_p, why);
}

enum nf_status nf_prefix_take_wishes(const char *wishes, uint32_t ranks,
                                     const uint32_t *hosts,
                                     void (*unmet)(void *user, const char *why),
                                     void *user, char **taken_p)
{
    char *taken = nf_calloc(CALLS, NF_TOLD_BYTES + 1);
    struct nf_error why = { NF_OK, "" };

    if (taken == NULL)
        return NF_ERR_NOMEM;
    for (int i = 0; i < CALLS; i++) {
        char text[NF_TOLD_BYTES];

        if (serve(&calls[i], wishes, ranks, hosts, text, &why) != NF_OK)
            unmet(user, why.text);
        else if (text[0] != '\0')
            sprintf(taken + strlen(taken), "%s%s", taken[0] != '\0' ? "," : "",
                    text);
    }
    *taken_p = taken;
    return NF_OK;
}
