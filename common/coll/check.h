#ifndef NF_COLL_CHECK_H
#define NF_COLL_CHECK_H
/** @file check.h  Is a schedule right?  It is carried out with symbols instead
 *  of data: each rank begins with its own operand or block, and what each item
 *  is at each rank in the end is compared with the definition of the
 *  operation.  Combined values are runs of consecutive ranks where the order
 *  of operands is promised, sets of ranks where it is not.
 *
 *  The blocks of an all-to-all are moved: a rank that has sent one has it no
 *  more, so that each is delivered once.
 *
 *  Carried out twice over: round by round, all messages of a round reading the
 *  state before it; and asynchronously, in several adversarial orders of
 *  sending and arrival (coll.h says what a rank may and may not reorder).
 *
 *  Pure.  O(messages x items carried) time and memory, times P/64 words where
 *  values are sets. */
#include "common/coll/coll.h"

enum nf_coll_fault_kind {
    NF_FAULT_RANK,      /**< the source or destination is out of range */
    NF_FAULT_SELF,      /**< a rank sends to itself */
    NF_FAULT_ITEM,      /**< an item is out of range, or twice in a message */
    NF_FAULT_NO_ITEM,   /**< a message carries nothing though there are items */
    NF_FAULT_TWIN,      /**< two messages of one pair in one round */
    NF_FAULT_PORTS,     /**< a rank is in more messages than claimed */
    NF_FAULT_LACKS,     /**< the sender does not have what it sends */
    NF_FAULT_NO_CAR,    /**< register car is sent and was never kept */
    NF_FAULT_ACTION,    /**< the operation does not combine, or only combines */
    NF_FAULT_OPERAND,   /**< an operand is combined twice */
    NF_FAULT_ORDER,     /**< operands are not neighbours, or the wrong way */
    NF_FAULT_REDUNDANT, /**< the receiver had it already */
    NF_FAULT_RESULT,    /**< in the end a rank does not have what it should */
    NF_FAULT_ROUTE,     /**< a route ends at another rank than its message */
    NF_FAULT_CHANNEL,   /**< a channel has more messages than claimed */
    NF_FAULT_DEADLOCK,  /**< ranks wait for each other */
};

enum { NF_FAULTS_MAX = 8 };

struct nf_coll_fault {
    enum nf_coll_fault_kind kind;
    char text[160]; /**< one line: what, in which round, ranks, item */
};

struct nf_coll_faults {
    uint64_t count; /**< 0: the schedule is right; may exceed NF_FAULTS_MAX */
    struct nf_coll_fault list[NF_FAULTS_MAX]; /**< the first ones */
};

/** What a schedule is said to do. */
struct nf_coll_claim {
    enum nf_coll_op op;
    uint32_t ranks, root;
    uint32_t items; /**< their number; 0 for barriers */
    enum nf_coll_ports ports;
    enum nf_coll_order order; /**< of operations that combine */
    bool redundant;           /**< a rank may receive what it already has */
    const uint64_t *sizes; /**< [items] elements of
                                each block or part; an empty one is neither carried nor
                                wanted; NULL: none is empty */
    const struct nf_coll_sides *shape; /**< the torus; NULL: a ring */
    uint32_t channel_messages; /**< no directed channel of it has more in a
                                  round (torus.h); 0: it does not matter */
    uint32_t orders; /**< adversarial orders tried, besides round by round */
    uint64_t seed;   /**< of these */
};

/** What @p algorithm claims for @p args, with 3 adversarial orders.  Only
 *  broadcasts by scatter and allgather may deliver redundantly.  The shape is
 *  borrowed from args. */
struct nf_coll_claim nf_coll_claim_of(const struct nf_coll_algorithm *algorithm,
                                      const struct nf_coll_args *args);

/** Check all messages of @p schedule, made with NF_ALL_RANKS, in any order.
 *  @param faults  filled unless out of memory
 *  @retval NF_OK            right
 *  @retval NF_ERR_VERIFY    wrong; err has the first fault
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_coll_check(const struct nf_coll_claim *claim,
                             const struct nf_schedule *schedule,
                             struct nf_coll_faults *faults,
                             struct nf_error *err);
#endif
