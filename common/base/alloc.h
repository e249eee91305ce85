#ifndef NF_BASE_ALLOC_H
#define NF_BASE_ALLOC_H
/** @file alloc.h  The one allocator.  Tests make the n-th allocation fail. */
#include <stdbool.h>
#include <stddef.h>

/** As malloc, but a request of 0 bytes is one of 1. */
void *nf_malloc(size_t bytes);
/** As calloc: zeroed; NULL if count * bytes overflows. */
void *nf_calloc(size_t count, size_t bytes);
/** As malloc, at a multiple of @p alignment bytes, a power of two. */
void *nf_aligned_alloc(size_t alignment, size_t bytes);
/** A large page of most systems. */
enum { NF_LARGE_BYTES = 2 << 20 };
/** As malloc; of NF_LARGE_BYTES and more at a multiple of these, and each that is
 *  filled is a large page if the system has them: to clear and map small ones would
 *  take longer than to fill them. */
void *nf_large_alloc(size_t bytes);
/** As realloc; on NULL the old block is untouched. */
void *nf_realloc(void *block, size_t bytes);
/** As free; NULL is fine. */
void nf_free(void *block);
/** A copy of @p text to nf_free(), or NULL. */
char *nf_strdup(const char *text);

/** For tests: let @p successes more allocations succeed and fail all after
 *  them; -1 turns failing off.  Counts over all threads. */
void nf_alloc_fail_after(long successes);
/** For who hands out memory that was allocated before: counts as an allocation.
 *  @return whether it is to fail */
bool nf_alloc_fails(void);
#endif
