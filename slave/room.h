#ifndef NF_SLAVE_ROOM_H
#define NF_SLAVE_ROOM_H
/** @file room.h  Memory that later phases need, there before they begin.  The
 * system clears every page that is first used, which takes longer than to fill
 * it, and on virtual machines, whose free memory is not their own, several
 * times as long.  So a slave gets it while the first phase is computed, when
 * inputs are on their way anyway: for the results of each later phase, which are
 * kept to the end.  What one exchange packs in it keeps for the next one.
 *
 *  It is no more than what a job takes whose results are as large in all phases. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes that grow in place, or move without being copied. */
struct nf_area {
    void *data;
    size_t bytes;
};

/** Zero-initialise it. */
struct nf_room {
    struct nf_area out;     /**< for what goes */
    struct nf_area *blocks; /**< [count] of nf_malloc(), for results */
    size_t count, capacity;
    size_t warm_bytes; /**< of all */
    bool closed;       /**< an exchange has begun */
};

/** A result of the first phase is there, of so many bytes: get as much for a
 * result of each later phase; 16 MiB at a time and 256 MiB in all at most.  Want of
 * memory is no error.  Does nothing once the room is closed: results may also come, of
 * units that are computed again, while an exchange is under way.
 *  @param exchanges  of the job */
void nf_room_warm(struct nf_room *room, size_t bytes, uint32_t exchanges);
/** A block of @p bytes or more, for a result; without data: there is none.  The
 * caller frees it, by nf_free(). */
struct nf_area nf_room_take(struct nf_room *room, size_t bytes);
void nf_room_fini(struct nf_room *room);

/** @return @p bytes or more, in place of what the area was, or NULL; until the
 * next call for this area */
void *nf_area_make(struct nf_area *area, size_t bytes);
#endif
