/* Memory for later phases.  What goes is mapped, so that it can grow without being
 * copied, and is not between blocks that come and go. */
#include "config.h"
#include "slave/room.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/blob.h"

enum { ONCE_BYTES = 16 << 20, WARM_BYTES = 256 << 20, LEAST_BYTES = 64 << 10 };

static size_t page_bytes(void)
{
    long bytes = sysconf(_SC_PAGESIZE);

    return bytes > 0 ? (size_t)bytes : 4096;
}

/* Have [from, to) cleared. */
static void touch(void *data, size_t from, size_t to)
{
    volatile uint8_t *at = data;

    for (size_t i = from; i < to; i += page_bytes())
        at[i] = 0;
}

static void area_fini(struct nf_area *area)
{
    if (area->data != NULL)
        munmap(area->data, area->bytes);
    *area = (struct nf_area){ NULL, 0 };
}

/* @return false: it is as it was */
static bool area_grow(struct nf_area *area, size_t bytes)
{
    size_t page = page_bytes();
    void *data;

    if (bytes <= area->bytes)
        return true;
    if (bytes > SIZE_MAX - page)
        return false;
    bytes = (bytes + page - 1) / page * page;
#ifdef MREMAP_MAYMOVE
    if (area->data != NULL)
        data = mremap(area->data, area->bytes, bytes, MREMAP_MAYMOVE);
    else
#endif
        data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return false;
#ifndef MREMAP_MAYMOVE
    area_fini(area);
#endif
    area->data = data;
    area->bytes = bytes;
    return true;
}

void *nf_area_make(struct nf_area *area, size_t bytes)
{
    return area_grow(area, bytes == 0 ? 1 : bytes) ? area->data : NULL;
}

static void warm_block(struct nf_room *room, size_t bytes)
{
    void *block;

    if (room->count == room->capacity) {
        size_t capacity = 2 * room->capacity + 8;
        struct nf_area *blocks =
            nf_realloc(room->blocks, capacity * sizeof(*room->blocks));

        if (blocks == NULL)
            return;
        room->blocks = blocks;
        room->capacity = capacity;
    }
    block = nf_blob_alloc(bytes);
    if (block == NULL)
        return;
    touch(block, 0, bytes);
    room->blocks[room->count++] = (struct nf_area){ block, bytes };
}

void nf_room_warm(struct nf_room *room, size_t bytes, uint32_t exchanges)
{
    size_t all_bytes = bytes * exchanges;

    if (room->closed || bytes < LEAST_BYTES || bytes > ONCE_BYTES ||
        all_bytes > ONCE_BYTES || room->warm_bytes > WARM_BYTES - all_bytes)
        return;
    room->warm_bytes += all_bytes;
    for (uint32_t i = 0; i < exchanges; i++)
        warm_block(room, bytes);
}

struct nf_area nf_room_take(struct nf_room *room, size_t bytes)
{
    for (size_t i = room->count; i-- > 0;) {
        struct nf_area block = room->blocks[i];

        if (block.bytes < bytes)
            continue;
        room->blocks[i] = room->blocks[--room->count];
        return block;
    }
    return (struct nf_area){ NULL, 0 };
}

void nf_room_fini(struct nf_room *room)
{
    for (size_t i = 0; i < room->count; i++)
        nf_free(room->blocks[i].data);
    nf_free(room->blocks);
    area_fini(&room->out);
    *room = (struct nf_room){ .blocks = NULL };
}
