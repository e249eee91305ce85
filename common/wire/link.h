#ifndef NF_WIRE_LINK_H
#define NF_WIRE_LINK_H
/** @file link.h  One end of a connection between two peers, as a pure state
 *  machine: messages are cut into frames, frames go out only while the peer
 *  has credit, and come together again at the other end.
 *
 *  Credit is why a hung workstation cannot freeze its master: a blocking send
 *  to a process that does not read never returns once the socket buffers are
 *  full, so there are never more than NF_LINK_WINDOW_BYTES on the way that the
 *  peer has not confirmed reading.  Confirmations ride on every frame; a frame
 *  of kind NF_MSG_NONE is sent for them alone when there is nothing else.
 *
 *  Two lanes: urgent messages (see nf_msg_is_urgent) are single frames that
 *  overtake the rest and may overdraw the window a little. */
#include "common/base/blob.h"
#include "common/wire/wire.h"

enum {
    /** Safe for the smallest socket buffers that are in use. */
    NF_LINK_WINDOW_BYTES = 64 * 1024,
    /** The most that nf_link_set_window takes. */
    NF_LINK_WINDOW_MAX_BYTES = 512 * 1024,
    /** The most body in an urgent message. */
    NF_LINK_URGENT_BODY_BYTES = 1024,
    /** What urgent frames may overdraw. */
    NF_LINK_URGENT_BYTES = 16 * 1024,
    /** Body and payload in one frame: with the smallest window, and at most. */
    NF_LINK_FRAME_BYTES = 30 * 1024,
    NF_LINK_FRAME_MAX_BYTES = 60 * 1024,
    /** What the kernel charges a small frame in a socket buffer, about. */
    NF_LINK_FRAME_COST_BYTES = 768,
    NF_FRAME_HEADER_BYTES = 48,
};

/** The header of a frame.  A frame carries the bytes [offset, offset +
 *  body_bytes + payload_bytes) of a message taken as body then payload. */
struct nf_frame {
    enum nf_msg_kind kind;
    enum nf_type type;       /**< of the payload */
    bool converted;          /**< the payload was packed element by element in
                                  XDR, because the formats of the hosts differ;
                                  else its bytes are as they were */
    uint64_t cookie;         /**< of the job: anything else is not for us */
    uint64_t consumed_bytes; /**< cost of all frames the sender has read */
    uint32_t window_bytes;   /**< of the sender, a multiple of 4 KiB: tells how
                                  often to confirm.  Ignored if it is none
                                  that nf_link_set_window could have set */
    uint64_t offset;
    uint64_t body_total_bytes, payload_total_bytes;
    uint32_t body_bytes, payload_bytes; /**< in this frame */
};

void nf_frame_encode(const struct nf_frame *frame,
                     uint8_t out_p[NF_FRAME_HEADER_BYTES]);
/** @retval NF_ERR_PROTOCOL  not a frame: wrong magic, lengths that do not
 *          agree, unknown kind or type */
enum nf_status nf_frame_decode(const uint8_t header[NF_FRAME_HEADER_BYTES],
                               struct nf_frame *frame_p);

/** What a frame takes of a window. */
uint64_t nf_frame_cost_bytes(const struct nf_frame *frame);

bool nf_msg_is_urgent(enum nf_msg_kind kind);

struct nf_link_entry;
struct nf_link_lane {
    struct nf_link_entry *head, *tail;
};

struct nf_link {
    uint64_t cookie;
    /* out */
    uint32_t window_bytes, frame_bytes;
    struct nf_link_lane urgent, normal;
    struct nf_link_entry *spare; /**< one finished entry kept for reuse */
    uint64_t sent_offset;        /**< of the normal lane's head */
    uint64_t part_at; /**< likewise, if its payload is a chain: where the part */
    uint32_t part;    /**< begins in it that goes next */
    uint64_t sent_bytes, confirmed_bytes; /**< costs */
    uint64_t queued_bytes;                /**< not sent yet */
    uint32_t nnormal; /**< messages in the normal lane, one begun too */
    uint32_t asked_round; /**< for the transport: see pvm_route.c */
    /* in */
    uint64_t consumed_bytes, told_bytes;
    uint64_t withheld_bytes; /**< of consumed_bytes: not to be confirmed yet */
    bool holding;
    uint32_t peer_window_bytes;
    uint64_t limit_bytes; /**< the biggest message taken */
    bool assembling;
    enum nf_msg_kind kind;
    uint64_t got_bytes;
    struct nf_body body; /**< of the message being put together */
    uint64_t body_total_bytes;
    struct nf_blob *payload;
    struct nf_body urgent_body;
};

/** @param limit_bytes  a message that claims to be bigger is an error */
void nf_link_init(struct nf_link *link, uint64_t cookie, uint64_t limit_bytes);
/** Use a larger window, if the socket buffers are known to take it: at least
 *  NF_LINK_WINDOW_BYTES, at most NF_LINK_WINDOW_MAX_BYTES.  Never a smaller one
 *  than before: the peer confirms by the one that it was told last. */
void nf_link_set_window(struct nf_link *link, uint32_t window_bytes);
/** Drops everything queued or half received. */
void nf_link_fini(struct nf_link *link);
/** Drop what is queued, except a message of which frames went out already: the
 *  peer would take the next one for its continuation. */
void nf_link_purge(struct nf_link *link);

/** Queue @p msg: copies the body, takes a reference on the payload.  A PING or
 *  HEARTBEAT right behind another one is left out: it would say nothing new.
 *  @retval NF_ERR_NOMEM  nothing was queued
 *  @retval NF_ERR_RANGE  an urgent message with a payload or a body of more
 *          than NF_LINK_URGENT_BODY_BYTES, or a body of 4 GiB and more */
enum nf_status nf_link_queue(struct nf_link *link, const struct nf_msg *msg);

/** One frame ready to go: header fields and where its bytes are. */
struct nf_link_out {
    struct nf_frame frame;
    const uint8_t *body;    /**< frame.body_bytes of it */
    const uint8_t *payload; /**< frame.payload_bytes of it */
    bool queued;            /**< it is of a message in the queue */
};
/** The next frame that may go out now.  Call nf_link_sent() when it went.
 *  @retval NF_WAIT  nothing to send, or no credit */
enum nf_status nf_link_next(struct nf_link *link, struct nf_link_out *out_p);
void nf_link_sent(struct nf_link *link, const struct nf_link_out *out);
/** Of a window that large, so much is read before a bare confirmation goes: half
 *  of it but for a frame, or a quarter if that is more.  As seldom as can be, as
 *  each takes a reader some 70 us, most often while somebody waits for what it
 *  has read; but another link to the same task may have half this window, and
 *  what is on the way is one number for both (see pvm_route.h): a frame of that
 *  one always finds room beside what nobody will confirm. */
uint32_t nf_link_confirm_bytes(uint32_t window_bytes);
/** Is it time to send a bare confirmation?  Ask when nf_link_next says WAIT. */
bool nf_link_owes_confirmation(const struct nf_link *link);
/** While @p hold, what comes is not confirmed, but for urgent messages: the
 *  peer stops when its window is full.  Ask nf_link_owes_confirmation() after
 *  the end of it. */
void nf_link_hold(struct nf_link *link, bool hold);
/** Fill *out_p with a bare confirmation frame. */
void nf_link_confirm(struct nf_link *link, struct nf_link_out *out_p);
/** Fill *out_p with a message of an urgent @p kind without a body: it needs
 *  neither memory nor credit, so there must be a reason why few are sent. */
void nf_link_signal(struct nf_link *link, enum nf_msg_kind kind,
                    struct nf_link_out *out_p);

/** Where the bytes of an incoming frame are to be put. */
struct nf_link_in {
    struct nf_frame frame;
    uint8_t *body;
    uint8_t *payload;
};
/** A frame header has arrived: check it against what went before.
 *  @retval NF_ERR_PROTOCOL  does not continue the message, is too big, or has
 *          the wrong cookie: ignore the frame
 *  @retval NF_ERR_NOMEM  nothing has changed, so the same frame may be offered
 *          again; but who ignores it must give up the link, because what
 *          follows will not continue anything and its credit is lost */
enum nf_status nf_link_accept(struct nf_link *link,
                              const struct nf_frame *frame,
                              struct nf_link_in *in_p);
/** The bytes are in place.
 *  @retval NF_OK    *msg_p is complete; its payload is now the caller's, its
 *                   body valid until the next call on @p link
 *  @retval NF_WAIT  more frames to come, or it was a bare confirmation */
enum nf_status nf_link_finish(struct nf_link *link, const struct nf_link_in *in,
                              struct nf_msg *msg_p);
#endif
