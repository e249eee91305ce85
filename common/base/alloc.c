/* The one allocator, so that tests can inject failures at a single place. */
#include "config.h"
#include "common/base/alloc.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static atomic_long successes_left = -1;

static int must_fail(void)
{
    if (atomic_load_explicit(&successes_left, memory_order_relaxed) < 0)
        return 0;
    if (atomic_fetch_sub(&successes_left, 1) > 0)
        return 0;
    atomic_store(&successes_left, 0);
    return 1;
}

bool nf_alloc_fails(void)
{
    return must_fail();
}

void *nf_malloc(size_t bytes)
{
    return must_fail() ? NULL : malloc(bytes == 0 ? 1 : bytes);
}

void *nf_calloc(size_t count, size_t bytes)
{
    if (must_fail())
        return NULL;
    return calloc(count == 0 ? 1 : count, bytes == 0 ? 1 : bytes);
}

void *nf_aligned_alloc(size_t alignment, size_t bytes)
{
    void *block;

    if (must_fail() || posix_memalign(&block, alignment, bytes) != 0)
        return NULL;
    return block;
}

void *nf_large_alloc(size_t bytes)
{
    void *data;

    if (bytes < NF_LARGE_BYTES)
        return nf_malloc(bytes);
    data = nf_aligned_alloc(NF_LARGE_BYTES, bytes);
#ifdef MADV_HUGEPAGE
    if (data != NULL)
        (void)madvise(data, bytes / NF_LARGE_BYTES * NF_LARGE_BYTES,
                      MADV_HUGEPAGE);
#endif
    return data;
}

void *nf_realloc(void *block, size_t bytes)
{
    return must_fail() ? NULL : realloc(block, bytes == 0 ? 1 : bytes);
}

void nf_free(void *block)
{
    free(block);
}

char *nf_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = nf_malloc(bytes);

    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

void nf_alloc_fail_after(long successes)
{
    atomic_store(&successes_left, successes);
}
