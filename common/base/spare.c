/* The store of blocks that are not in use.  See spare.h. */
#include "config.h"
#include "common/base/spare.h"
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
#include "common/base/alloc.h"

enum { BLOCKS_MOST = 256, SLACK_BYTES = 2 << 20 };

static struct {
    pthread_mutex_t lock;
    size_t count, bytes; /* of all */
    struct nf_spare blocks[BLOCKS_MOST];
} store = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct nf_spare take_out(size_t at)
{
    struct nf_spare block = store.blocks[at];

    store.bytes -= block.bytes;
    store.blocks[at] = store.blocks[--store.count];
    return block;
}

struct nf_spare nf_spare_take(size_t bytes, size_t alignment)
{
    struct nf_spare block = { NULL, SIZE_MAX };
    size_t best = 0;

    if (bytes < NF_SPARE_LEAST_BYTES)
        return (struct nf_spare){ NULL, 0 };
    pthread_mutex_lock(&store.lock);
    for (size_t i = 0; i < store.count; i++) {
        size_t mine = store.blocks[i].bytes;

        if (mine < bytes || mine / 2 > bytes + SLACK_BYTES / 2 ||
            mine >= block.bytes ||
            (uintptr_t)store.blocks[i].data % alignment != 0)
            continue;
        block = store.blocks[i];
        best = i;
    }
    if (block.data != NULL)
        (void)take_out(best);
    pthread_mutex_unlock(&store.lock);
    return block.data != NULL ? block : (struct nf_spare){ NULL, 0 };
}

struct nf_spare nf_spare_take_largest(size_t bytes)
{
    struct nf_spare block = { NULL, 0 };
    size_t best = 0;

    pthread_mutex_lock(&store.lock);
    for (size_t i = 1; i < store.count; i++)
        if (store.blocks[i].bytes > store.blocks[best].bytes)
            best = i;
    if (store.count > 0 && store.blocks[best].bytes >= bytes)
        block = take_out(best);
    pthread_mutex_unlock(&store.lock);
    return block;
}

/* @return false: there is no room */
static bool put_in(void *data, size_t bytes)
{
    bool fits;

    pthread_mutex_lock(&store.lock);
    fits = store.count < BLOCKS_MOST &&
           bytes <= NF_SPARE_MOST_BYTES - store.bytes;
    if (fits) {
        store.blocks[store.count++] = (struct nf_spare){ data, bytes };
        store.bytes += bytes;
    }
    pthread_mutex_unlock(&store.lock);
    return fits;
}

void nf_spare_give(void *data)
{
    size_t bytes = data == NULL ? 0 : malloc_usable_size(data);

    if (bytes < NF_SPARE_LEAST_BYTES || bytes > NF_SPARE_MOST_BYTES ||
        !put_in(data, bytes))
        nf_free(data);
}

/* Have all of it cleared. */
static void touch(void *data, size_t bytes)
{
    long page = sysconf(_SC_PAGESIZE);
    volatile uint8_t *at = data;

    for (size_t i = 0; i < bytes; i += page > 0 ? (size_t)page : 4096)
        at[i] = 0;
}

bool nf_spare_warm(size_t bytes)
{
    void *data = NULL;

    if (bytes >= NF_SPARE_LEAST_BYTES && bytes <= NF_SPARE_MOST_BYTES)
        data = nf_large_alloc(bytes);
    if (data == NULL)
        return false;
    touch(data, bytes);
    if (put_in(data, malloc_usable_size(data)))
        return true;
    nf_free(data);
    return false;
}

void nf_spare_clear(void)
{
    struct nf_spare block;

    while ((block = nf_spare_take_largest(1)).data != NULL)
        nf_free(block.data);
}
