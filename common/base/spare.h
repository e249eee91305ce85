#ifndef NF_BASE_SPARE_H
#define NF_BASE_SPARE_H
/** @file spare.h  Blocks of memory that nobody uses now, with their pages, for the next
 *  who needs some.  The system clears every page that is first used, which takes longer
 *  than to fill it, and on virtual machines, whose free memory is not their own, several
 *  times as long (1 to 2 ms a MiB).  Blocks of many bytes are given back to the system when
 *  they are freed; so they come here.
 *
 *  One store for the process, of NF_SPARE_MOST_BYTES at most; any thread may use it.  What
 *  is in it is of nf_malloc(), and may be nf_free()d. */
#include <stdbool.h>
#include <stddef.h>

enum {
    NF_SPARE_LEAST_BYTES = 256 << 10, /**< smaller blocks malloc() keeps by itself */
    NF_SPARE_MOST_BYTES = 256 << 20,
};

struct nf_spare {
    void *data; /**< NULL: none */
    size_t bytes;
};

/** The smallest block of @p bytes or more, unless that is more than twice as large; or
 *  none.
 *  @param alignment  its address is a multiple of that; 1: it may be any */
struct nf_spare nf_spare_take(size_t bytes, size_t alignment);
/** The largest block, if it has @p bytes or more; or none. */
struct nf_spare nf_spare_take_largest(size_t bytes);
/** Free a block, or keep it.  NULL is fine. */
void nf_spare_give(void *data);
/** Have one block more, of @p bytes, with its pages.
 *  @return false: out of memory, there is no room for it, or it is too small */
bool nf_spare_warm(size_t bytes);
/** Free them all. */
void nf_spare_clear(void);
#endif
