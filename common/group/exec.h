#ifndef NF_GROUP_EXEC_H
#define NF_GROUP_EXEC_H
/** @file exec.h  The one executor of plans: a state machine that sends what may
 *  be sent, takes what comes, and never waits.
 *
 *  Where data is.  An item has a value, which lies in the user's input, in a
 *  message that was received (and is kept), or at its home in the user's
 *  result.  Messages are sent from where the value is; a message that is sent
 *  on unchanged goes by reference.  What is combined goes into the incoming
 *  message or a new one as long as it is to be combined again or may still be
 *  in a queue of the mesh, and to its home the last time.
 *
 *  Blocks of different sizes in gather and scatter: the root knows all sizes,
 *  a member its own.  Messages with blocks that the receiver may not know
 * follow a message with their sizes; empty ones are not sent.
 *
 *  Blocks of pairs are moved: a member that has sent one on has it no more.  A
 *  message lives as long as blocks of it are here that have to go on, and once
 *  they are less than half of it they are copied out.  So these messages are at
 *  most twice as large as the blocks that rest here (exchange.h: less than P of
 *  them, in the Modified Double-Hop 3/2 P, in Split-and-Merge 4 P), for at most one
 *  copy more of each block.  To it come messages that the mesh has not passed on yet and those
 *  whose turn has not come: one each way as long as members keep step, with a
 *  neighbour that stands still up to V blocks; and 40 bytes for each of the P^2
 *  pairs, 48 if sizes are told.  Who wants blocks as they came (`blocks`) has no
 *  home for them: they rest in their messages until the call ends, and are then
 *  handed out with these.
 *
 *  What may be sent goes in the order of the plan, by rounds.
 *
 *  A root whose algorithm has a window takes up its steps in order, so many at
 *  once; who is to send it a large block that it has not taken up is to be held
 *  back (nf_exec_holds_back). */
#include "common/group/head.h"
#include "common/group/plan.h"
#include "common/group/types.h"
#include "common/net/mesh.h"

/** Where items lie in a vector. */
struct nf_exec_layout {
    uint64_t elements;     /**< segments: of the vector; blocks: of each, or
                                of all if there are counts */
    bool blocks;           /**< items are blocks of ranks, not segments */
    const size_t *counts;  /**< blocks of different sizes: [P] */
    const size_t *offsets; /**< [P] with counts */
    bool pairs; /**< items are blocks from a rank to a rank; counts and offsets
                     are of those for this member */
    const size_t *send_counts;  /**< [P] pairs with counts: of the blocks that */
    const size_t *send_offsets; /**< [P] are this member's */
    bool varies; /**< the sizes of blocks are not known to all members: counts
                      are given at the root; elsewhere elements is this
                      member's */
};

/** A block as it came. */
struct nf_exec_block {
    struct nf_blob *owner; /**< one reference; NULL: no bytes */
    const uint8_t *data;   /**< where in owner it begins, if that is no chain;
                                a chain is the whole block */
};

struct nf_exec_call {
    const struct nf_user_codes *codes;
    int type, op; /**< op < 0: nothing is combined */
    struct nf_exec_layout layout;
    const void *src; /**< values at the beginning, or NULL */
    void *home;      /**< where values are to be in the end, or NULL */
    void *before;    /**< exscan: where what comes in is combined, or NULL */
    bool src_own;    /**< src holds this rank's item only */
    bool home_own;   /**< likewise */
    bool home_late;  /**< home overlaps src elsewhere: write it at the end */
    struct nf_blob *const *chains; /**< pairs: [P] what goes to each, in one piece
                                        or not, instead of src; or NULL.  Borrowed until it begins */
    struct nf_exec_block *blocks;  /**< pairs: [P] set to what has come of each
                                        when all is done, instead of home; or
                                        NULL */
};

struct nf_exec_item {
    const uint8_t *value;  /**< NULL: none yet */
    struct nf_blob *owner; /**< of value; NULL: user's memory */
    const uint8_t *car;
    struct nf_blob *car_owner;
    bool lent;      /**< a queue may hold a pointer to the message with value */
    bool home_lent; /**< a queue may hold a pointer to home */
    bool has_before;
    uint32_t came; /**< pairs with an owner: the step that received it;
                        NF_PLAN_NONE: it is what this member sends */
};

struct nf_exec {
    const struct nf_plan *plan;
    struct nf_exec_call call;
    struct nf_head head; /**< of all its messages */
    struct nf_mesh *mesh;
    size_t elem_bytes;
    enum nf_type wire;
    const struct nf_packing *packing; /**< NULL: elements are not packed */
    const char *refused; /**< "pack" or "unpack" of the type, if it failed: */
    int refused_code;    /**< what it returned */
    struct nf_exec_item *items; /**< [plan->nbooks], see nf_exec_book() */
    uint64_t *sizes; /**< [items] elements of blocks, as far as told; NULL: all
                          that is needed is known from the layout */
    uint64_t *resting; /**< [nsteps] pairs, received: bytes of its blocks that
                            have to go on, and */
    uint64_t *kept;    /**< [nsteps] bytes of the message that they lie in */
    uint32_t *waits;   /**< [nsteps] */
    uint8_t *states;          /**< [nsteps] */
    struct nf_blob **arrived; /**< [nsteps] messages received and kept */
    struct nf_blob **held;    /**< [2 nsteps] others, freed at the end */
    uint32_t nheld;
    uint32_t *queue; /**< [nsteps] receives to be done */
    uint32_t queue_head, queue_tail;
    uint32_t *sends; /**< [nsteps] heap of sends to be done: the first one of the
                          plan is on top */
    uint32_t nready_sends;
    uint8_t *listed; /**< [nsteps] received: the sizes have come */
    uint8_t *told; /**< [P] a message of this call went there */
    uint32_t window; /**< steps under way at once; 0: any number */
    uint32_t nbegun, nunder_way; /**< with a window: steps taken up; of these
                                      not done, or not gone */
    uint32_t posted[NF_COLL_WINDOW], nposted; /**< to whom what was sent may
                                                   still be in a queue */
    uint32_t ndone, ndrained;
    bool done;
    const bool *gone;   /**< [P] or NULL: members that have left; borrowed */
    uint32_t lost_peer; /**< one of them was to get something: it can't have
                             made this call; else NF_PLAN_NONE */
    uint32_t clash;     /**< pairs: the block of which its two members gave
                             different counts; else NF_PLAN_NONE */
    uint32_t moves; /**< how often something happened; for who watches */
};

/** @param plan  borrowed until fini   @param head  op, algorithm, flags, epoch,
 *  table, root, code   @retval NF_ERR_NOMEM */
enum nf_status nf_exec_init(struct nf_exec *exec, const struct nf_plan *plan,
                            const struct nf_exec_call *call,
                            const struct nf_head *head, struct nf_mesh *mesh);
/** Free everything.  If it was not done, what the mesh still has queued is
 *  copied, and what others would read here taken back, as the user's buffers are the
 *  user's again.
 *  @return false if there was no memory for that: close the mesh before the
 *  user's buffers change */
bool nf_exec_fini(struct nf_exec *exec);
/** Do what can be done; but after each combining by an operator of the user,
 *  which may take long, return, so that others get an answer.
 *  @retval NF_OK done  @retval NF_WAIT
 *  @retval NF_ERR_FAILED  a type's pack() failed: exec->refused
 *  @retval NF_ERR_NOMEM, NF_ERR_UNREACHABLE  as nf_mesh_send() */
enum nf_status nf_exec_run(struct nf_exec *exec);
/** Is there more to do at once? */
bool nf_exec_is_ready(const struct nf_exec *exec);
/** Take a message of this epoch; run afterwards.
 *  @param payload  taken over, also on errors; may be NULL
 *  @retval NF_ERR_MISMATCH  that is not what this call expects: err says why;
 *  it is the fault of @p from, or of the two members of exec->clash
 *  @retval NF_ERR_FAILED  a type's unpack() failed: exec->refused
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_exec_take(struct nf_exec *exec, uint32_t from,
                            const struct nf_head *head, struct nf_blob *payload,
                            struct nf_error *err);
/** Where the payload of a message of this epoch, that is on its way, may be put at
 *  once: then its blob is borrowed.
 *  @return for @p bytes; NULL: elsewhere, if it is wanted at all */
uint8_t *nf_exec_landing(const struct nf_exec *exec, uint32_t from,
                         const struct nf_head *head, size_t bytes);
/** Whom it waits for: that it sends, or else that it reads.
 *  @return false: nobody */
bool nf_exec_awaits(const struct nf_exec *exec, uint32_t *member_p);
/** Is all done, but that what it sent has to leave? */
bool nf_exec_settles(const struct nf_exec *exec);
/** Does a message of @p member still have to come, and is it its turn? */
bool nf_exec_expects(const struct nf_exec *exec, uint32_t member);
/** Is a large block to come of @p member, and not its turn yet? */
bool nf_exec_holds_back(const struct nf_exec *exec, uint32_t member);
/** Does something of @p member still have to come, or to go to it? */
bool nf_exec_needs(const struct nf_exec *exec, uint32_t member);
#endif
