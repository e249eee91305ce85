#ifndef NF_COLL_CHECK_PARTS_H
#define NF_COLL_CHECK_PARTS_H
/** @file check_parts.h  What the three files of the checker share: check.c
 *  looks at each message for itself, check_orders.c makes the orders in which
 *  messages may be sent and arrive, check_values.c follows the values.
 *
 *  Events: 2 m is the sending of message m, 2 m + 1 its arrival. */
#include "common/base/rng.h"
#include "common/coll/check.h"

struct nf_check {
    const struct nf_coll_claim *claim;
    struct nf_coll_faults *faults;
    struct nf_coll_message *messages; /**< sorted by round, src, dst */
    uint32_t count;                   /**< of messages */
    const struct nf_coll_span *spans;
    uint32_t items; /**< a barrier has one, which every message carries */
    bool in_order;  /**< round by round; else as ranks please */
};

/** Note a fault: its place, then @p what.  @param message  UINT32_MAX: none
 *  @param item  UINT32_MAX: none */
void nf_check_fault(const struct nf_check *check, enum nf_coll_fault_kind kind,
                    uint32_t message, uint32_t item, const char *what, ...)
    __attribute__((format(printf, 5, 6)));

/** Which message carries which item.  Message m has slots
 *  [slot_of[m], slot_of[m + 1]) in the order of its spans. */
struct nf_check_carried {
    uint32_t *slot_of;  /**< [count + 1] */
    uint32_t *item_at;  /**< [slot] */
    uint32_t *begin_of; /**< [items + 1]: of an item in by_item */
    uint32_t *by_item;  /**< slots by item, messages ascending */
    uint32_t most;      /**< messages that carry one item */
};
/** @retval NF_ERR_NOMEM  in any case to be finished */
enum nf_status nf_check_carried_init(struct nf_check_carried *carried,
                                     const struct nf_check *check);
void nf_check_carried_fini(struct nf_check_carried *carried);

/** All events round by round, sends before arrivals.
 *  @param events  [2 count] */
void nf_check_order_rounds(const struct nf_check *check, uint32_t *events);
/** All events in an order that ranks may choose by coll.h: round after round
 *  for each item, items independently; one rank is late with everything.
 *  @param stack   go on with what has just become possible; else pick at random
 *  @retval NF_ERR_NOMEM  @retval NF_ERR_VERIFY  ranks wait for each other; the
 *  fault is noted */
enum nf_status nf_check_order_free(const struct nf_check *check,
                                   const struct nf_check_carried *carried,
                                   struct nf_rng *rng, bool stack,
                                   uint32_t *events);

/** Carry @p events out with symbols, item by item, and note faults.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_check_values(const struct nf_check *check,
                               const struct nf_check_carried *carried,
                               const uint32_t *events);
#endif
