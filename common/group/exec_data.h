#ifndef NF_GROUP_EXEC_DATA_H
#define NF_GROUP_EXEC_DATA_H
/** @file exec_data.h  Where items lie and what messages are made of; a part of
 *  the executor. */
#include "common/group/exec.h"

/** The size of a block that nobody has told this member. */
#define NF_SIZE_UNKNOWN UINT64_MAX
/** Does a message with the sizes go before that of @p step? */
bool nf_exec_lists(const struct nf_exec *exec, const struct nf_plan_step *step);

/** In nf_exec.states. */
enum { NF_EXEC_WAITS, NF_EXEC_READY, NF_EXEC_DONE };

/** Does no data come with step @p self, or go? */
bool nf_exec_is_void(const struct nf_exec *exec, uint32_t self);
/** Send what step @p self sends.
 *  @retval NF_ERR_NOMEM  @retval NF_ERR_FAILED  exec->refused */
enum nf_status nf_exec_send_step(struct nf_exec *exec, uint32_t self);
/** Take the sizes of the blocks that step @p self receives.
 *  @return false: they are not those that are known here, or of no vector */
bool nf_exec_take_list(struct nf_exec *exec, uint32_t self,
                       const struct nf_blob *payload);

/** The books of @p item. */
static inline struct nf_exec_item *nf_exec_book(const struct nf_exec *exec,
                                                uint32_t item)
{
    const struct nf_plan *plan = exec->plan;
    uint32_t ranks = plan->args.ranks, from;

    if (!plan->straight)
        return &exec->items[item];
    from = item / ranks;
    return &exec->items[from == plan->rank ? item % ranks : ranks + from];
}

/** Elements [*first_p, *first_p + *count_p) of the vector are @p item; of blocks
 *  whose sizes not all know, *first_p is right at the root only. */
void nf_exec_item_place(const struct nf_exec *exec, uint32_t item,
                        uint64_t *first_p, uint64_t *count_p);
size_t nf_exec_item_bytes(const struct nf_exec *exec, uint32_t item);
/** Where the item is to be in the end, or NULL. */
uint8_t *nf_exec_home_of(const struct nf_exec *exec, uint32_t item);
/** What this member knows of the sizes of blocks at first: the root all, another
 *  one its own; pairs: those from it and those for it. */
void nf_exec_set_up_sizes(struct nf_exec *exec);
/** Pairs: the blocks that have come with step @p self go home, or stay in their
 *  message, or a smaller one, until they are sent on. */
void nf_exec_keep_pairs(struct nf_exec *exec, uint32_t self);
/** Pairs: what step @p self has sent is here no more. */
void nf_exec_drop_pairs(struct nf_exec *exec, uint32_t self);
/** Bytes of the message of @p step; 0: it is not sent. */
uint64_t nf_exec_step_bytes(const struct nf_exec *exec,
                            const struct nf_plan_step *step);

/** Walks over the items of a step, in the order of its message. */
struct nf_exec_walk {
    const struct nf_plan *plan;
    const struct nf_plan_step *step;
    uint32_t span, index;
};
struct nf_exec_walk nf_exec_walk(const struct nf_exec *exec, uint32_t self);
/** @return false: that was all */
bool nf_exec_walk_next(struct nf_exec_walk *walk, uint32_t *item_p);

/** May step @p self, which receives, write its items to their homes? */
bool nf_exec_may_go_home(const struct nf_exec *exec, uint32_t self);

/** Are the elements of step @p self, which sends, to be packed? */
bool nf_exec_packs(const struct nf_exec *exec, uint32_t self);
/** What step @p self sends, packed.
 *  @param payload_p  set with NF_OK: one reference
 *  @retval NF_ERR_NOMEM  @retval NF_ERR_FAILED  pack() of the type failed */
enum nf_status nf_exec_pack(struct nf_exec *exec, uint32_t self,
                            struct nf_blob **payload_p);
/** Whole packed elements become elements in a message of their own.
 *  @param payload  in: one reference, taken over; out: one reference, NULL on
 *  errors
 *  @retval NF_ERR_NOMEM  @retval NF_ERR_FAILED  unpack() of the type failed */
enum nf_status nf_exec_unpack(struct nf_exec *exec, struct nf_blob **payload);

/** What step @p self sends, one reference; NULL if out of memory. */
struct nf_blob *nf_exec_payload(struct nf_exec *exec, uint32_t self,
                                uint64_t *bytes_p);
#endif
