#ifndef NF_SLAVE_ROOM_H
#define NF_SLAVE_ROOM_H
/** @file room.h  Memory that later phases need, there before they begin, since new pages
 *  are slow (spare.h).  A slave gets it while the first phase is computed, when inputs
 *  are on their way anyway: for the results of that, as its units come, and for those of
 *  each later phase, which are kept to the end.
 *
 *  It is no more than what a job takes whose results are as large in all phases, and as
 *  its inputs. */
#include <stdbool.h>
#include <stdint.h>
#include "common/base/spare.h"

/** Zero-initialise it. */
struct nf_room {
    size_t warm_bytes; /**< of all */
    bool closed;       /**< an exchange has begun */
};

/** Get @p count spare blocks of @p bytes; 32 MiB at a time and NF_SPARE_MOST_BYTES in all
 *  at most.  Want of memory is no error.  Does nothing once the room is closed: units may
 *  also be computed again, while an exchange is under way. */
void nf_room_warm(struct nf_room *room, size_t bytes, uint64_t count);
/** A block of @p bytes or more, for a result: a spare one, or the largest of these, grown
 *  to twice its size at most; without data: there is none.  The caller frees it, by
 *  nf_free() or nf_spare_give(). */
struct nf_spare nf_room_take(size_t bytes);
#endif
