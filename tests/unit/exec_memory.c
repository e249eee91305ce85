/* What an executor has in its memory. */
#include "config.h"
#include "tests/unit/exec_memory.h"
#include <stdlib.h>

bool exec_holds_little(const struct nf_exec *exec)
{
    uint64_t kept = 0, resting = 0, said = 0;
    bool *seen = calloc(exec->plan->nsteps + 1, sizeof(*seen));

    for (uint32_t i = 0; i < exec->plan->nbooks; i++) {
        const struct nf_exec_item *item = &exec->items[i];

        if (item->owner == NULL)
            continue;
        resting += exec->call.layout.elements * exec->elem_bytes;
        if (!seen[item->came])
            kept += item->owner->bytes;
        seen[item->came] = true;
    }
    free(seen);
    for (uint32_t i = 0; i < exec->plan->nsteps; i++)
        said += exec->kept[i];
    return kept <= 2 * resting && kept == said;
}

uint64_t exec_kept_bytes(const struct nf_exec *exec)
{
    uint64_t bytes = 0;

    if (exec->plan->items == 0)
        return 0;
    for (uint32_t i = 0; i < exec->plan->nsteps; i++) {
        if (exec->arrived[i] != NULL)
            bytes += exec->arrived[i]->bytes;
        if (exec->call.layout.pairs)
            bytes += exec->kept[i];
    }
    for (uint32_t i = 0; i < exec->nheld; i++)
        if (!nf_blob_is_borrowed(exec->held[i]))
            bytes += exec->held[i]->bytes;
    return bytes;
}
