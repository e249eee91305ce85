#ifndef NF_SLAVE_ROOM_H
#define NF_SLAVE_ROOM_H
/** @file room.h  Memory that exchanges need, there before they begin.  The
 * system clears every page that is first used, which takes longer than to fill
 * it, and on virtual machines, whose free memory is not their own, several
 * times as long.  So a slave gets it while the first phase is computed, when
 * inputs are on their way anyway, and keeps what one exchange has used for the
 * next one.
 *
 *  It is no more than what the exchanges of a job take if as much comes as
 * goes. */
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
    struct nf_area out, in; /**< for what goes, and what comes */
    void **inputs;          /**< [count] blocks as large as inputs may be */
    size_t count, capacity;
    size_t warm_bytes; /**< of all */
    bool closed;       /**< an exchange has begun: what it uses may not move */
};

/** A result of the first phase is there, of so many bytes: get as much for an
 * input after each exchange, as results are kept to the end, and half of it for
 * what goes and what comes; 16 MiB at a time and 256 MiB in all at most.  Want
 * of memory is no error.  Does nothing once the room is closed: results may also
 * come, of units that are computed again, while an exchange is under way.
 *  @param exchanges  of the job */
void nf_room_warm(struct nf_room *room, size_t bytes, uint32_t exchanges);
/** Free the blocks for inputs: these are about to be allocated. */
void nf_room_spend(struct nf_room *room);
void nf_room_fini(struct nf_room *room);

/** @return @p bytes or more, in place of what the area was, or NULL; until the
 * next call for this area */
void *nf_area_make(struct nf_area *area, size_t bytes);
#endif
