#ifndef NF_GROUP_HEAD_H
#define NF_GROUP_HEAD_H
/** @file head.h  What stands before the data of collective operations, and the
 *  messages by which a group finds out who is silent and gives itself up.  All
 *  numbers big-endian.  Pure. */
#include <stdbool.h>
#include <stdint.h>
#include "nowfarm.h"

enum {
    NF_GROUP_MAGIC = 0x6e664705, /**< "nfG", version 5 */
    NF_HEAD_BYTES = 40,
    NF_HEAD_BRIEF_BYTES = 20,
    NF_CONTROL_BYTES_MAX = 32 + 4096 / 8,
    NF_CONTROL_RANKS_MAX = 32,  /**< that a REVOKE names */
    NF_CONTROL_BITS_MAX = 4096, /**< members that a VIEW tells of */
};

/** Set in segment: the payload is not the data of the step but the sizes of
 *  its blocks, in elements, 64 bits each; the data, if any, come next. */
#define NF_HEAD_SIZES (UINT32_C(1) << 31)

/** Set in segment: the elements are packed, as their type says. */
#define NF_HEAD_PACKED (UINT32_C(1) << 30)

/** Of a code: a digest of how long an element of a type of the user's is. */
#define NF_HEAD_SIZE_MASK UINT32_C(0xff00)

/** Data of one step of a call.  All but step, segment and bytes must be equal
 *  in all members. */
struct nf_head {
    uint8_t op;        /**< enum nf_coll_op */
    uint8_t algorithm; /**< its place in nf_coll_table */
    uint16_t flags;    /**< a digest of count, k and tree: wrong counts are noticed
                            though the bytes of this message are the same */
    uint32_t epoch;    /**< number of the call on this group */
    uint32_t table;    /**< id of the table and network that algorithms are
                            chosen by */
    uint32_t root, step, segment;
    uint32_t code;  /**< type, NF_HEAD_SIZE_MASK, and operator << 16 */
    uint64_t bytes; /**< of this payload */
    bool brief;     /**< it is not the first of this call from that member, so
                         of all but epoch, step and segment it has */
    uint32_t digest; /**< this only; see nf_head_digest() */
};
/** Of what must be equal in all members, epoch aside. */
uint32_t nf_head_digest(const struct nf_head *head);
/** Brief, if @p head says so; its digest is looked at only then.
 *  @return bytes used */
size_t nf_head_encode(const struct nf_head *head, uint8_t to[NF_HEAD_BYTES]);

enum nf_control_kind {
    NF_CONTROL_ASK,    /**< whom do you wait for? */
    NF_CONTROL_ANSWER, /**< in which call I am, and whom I wait for */
    NF_CONTROL_REVOKE, /**< the group is given up: why, and for whom */
    NF_CONTROL_VIEW,   /**< shrink: a round, and who is lost, a bit each */
    NF_CONTROL_DECIDE, /**< shrink: the result, likewise */
    NF_CONTROL_KINDS
};

enum nf_control_state {
    NF_STATE_IDLE,
    NF_STATE_BUSY,
    NF_STATE_WAITING, /**< for another member: to send, or to read */
    NF_CONTROL_STATES
};

struct nf_control {
    enum nf_control_kind kind;
    uint32_t nonce; /**< ask, answer: which question; view: the round */
    uint32_t epoch; /**< answer: of the oldest call under way; idle: of the
                         next; revoke: of the first call that is given up */
    enum nf_control_state state; /**< answer */
    uint32_t awaits;             /**< answer: a rank, if it is waiting */
    uint32_t progress; /**< answer: changes whenever the member gets on */
    enum nf_status reason; /**< revoke */
    uint32_t nranks; /**< revoke: how many; view, decide: of the group */
    uint32_t ranks[NF_CONTROL_RANKS_MAX]; /**< revoke */
    const uint8_t *bits; /**< view, decide: a bit for each member, the first one
                              being 1 of the first byte; borrowed, when decoded of
                              the message */
};
/** Has it bits, and no ranks? */
static inline bool nf_control_has_bits(enum nf_control_kind kind)
{
    return kind == NF_CONTROL_VIEW || kind == NF_CONTROL_DECIDE;
}
/** @return bytes used */
size_t nf_control_encode(const struct nf_control *control,
                         uint8_t to[NF_CONTROL_BYTES_MAX]);

/** What came: data or control.
 *  @param is_control_p  which of the two was filled
 *  @retval NF_ERR_PROTOCOL  neither */
enum nf_status nf_head_decode(const uint8_t *from, size_t bytes,
                              bool *is_control_p, struct nf_head *head_p,
                              struct nf_control *control_p);
#endif
