/* Memory for later phases. */
#include "config.h"
#include "slave/room.h"
#include "common/base/alloc.h"

enum { ONCE_BYTES = 32 << 20 };

void nf_room_warm(struct nf_room *room, size_t bytes, uint64_t count)
{
    uint64_t most = bytes == 0 ? 0 : ONCE_BYTES / bytes;

    for (uint64_t i = 0; i < count && i < most && !room->closed; i++) {
        if (bytes > NF_SPARE_MOST_BYTES - room->warm_bytes ||
            !nf_spare_warm(bytes))
            return;
        room->warm_bytes += bytes;
    }
}

struct nf_spare nf_room_take(size_t bytes)
{
    struct nf_spare block = nf_spare_take(bytes, 1);
    void *data;

    if (block.data != NULL || bytes < NF_SPARE_LEAST_BYTES)
        return block;
    block = nf_spare_take_largest(bytes / 2);
    if (block.data == NULL)
        return block;
    if (block.bytes < bytes) { /* pages are not copied, but moved */
        data = nf_realloc(block.data, bytes);
        if (data != NULL)
            return (struct nf_spare){ data, bytes };
    }
    nf_spare_give(block.data); /* what is much too large is for others */
    return (struct nf_spare){ NULL, 0 };
}
