#ifndef NF_LINK_PIPE_H
#define NF_LINK_PIPE_H
/** @file link_pipe.h  Two links back to back: frames go through an in-order
 *  pipe as the bytes of a socket would, header encoded and decoded. */
#include <stdbool.h>
#include "common/base/rng.h"
#include "common/wire/link.h"

struct pipe_frame {
    struct pipe_frame *next;
    uint64_t cost;
    uint8_t header[NF_FRAME_HEADER_BYTES];
    uint8_t bytes[]; /**< body, then payload */
};

/** One direction. */
struct pipe_way {
    struct pipe_frame *head, *tail;
    uint64_t held_bytes, most_bytes; /**< cost in it: now, and ever */
};

/** One end, what it has been told to send, and the way that leads to it. */
struct pipe_end {
    struct nf_link link;
    struct pipe_way in;
    struct pipe_end *peer;
};

struct pipe_pair {
    struct pipe_end ends[2];
};

void pipe_open(struct pipe_pair *pair, uint64_t cookie, uint64_t limit_bytes);
/** Give the ends windows of their own. */
void pipe_set_windows(struct pipe_pair *pair, uint32_t first_bytes,
                      uint32_t second_bytes);
/** The most body and payload in a frame of a link with this window. */
uint32_t pipe_frame_most(uint32_t window_bytes);
void pipe_close(struct pipe_pair *pair);
/** Put what @p end may send now, at most @p most frames, into the pipe, and a
 *  confirmation if one is due, as both ends of the PVM transport do.
 *  @return frames that went */
int pipe_flush(struct pipe_end *end, int most);
/** Read one frame.  @return NF_OK: *msg_p complete; NF_WAIT: not yet, or the
 *  pipe is empty (*empty_p); else what nf_link_accept said, and then the frame
 *  is still at the head of the pipe */
enum nf_status pipe_read(struct pipe_end *end, struct nf_msg *msg_p,
                         bool *empty_p);
/** Throw the frame at the head of the way to @p end away. */
void pipe_lose(struct pipe_end *end);

/** Queue a message of zeroes, with pipe_payload(1, payload_bytes, NF_FLOAT64)
 * if
 *  @p payload_bytes > 0. */
void pipe_say(struct nf_link *link, enum nf_msg_kind kind, size_t body_bytes,
              size_t payload_bytes);
/** Read until a message is complete.  @return its kind; NONE if none comes */
enum nf_msg_kind pipe_next_kind(struct pipe_end *end);

/** The same bytes in a chain of parts that lie in another order.
 *  @param whole  taken over */
struct nf_blob *pipe_scatter(struct nf_blob *whole, struct nf_rng *rng);
/** A payload of which every byte depends on @p seed; @p bytes is rounded down
 *  to whole elements.  Never NULL. */
struct nf_blob *pipe_payload(uint64_t seed, size_t bytes, enum nf_type type);
/** Is @p blob what pipe_payload made (NULL: of 0 bytes)? */
bool pipe_payload_is(const struct nf_blob *blob, uint64_t seed, size_t bytes,
                     enum nf_type type);
void pipe_fill(uint64_t seed, uint8_t *data, size_t bytes);
#endif
