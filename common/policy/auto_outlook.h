#ifndef NF_POLICY_AUTO_OUTLOOK_H
#define NF_POLICY_AUTO_OUTLOOK_H
/** @file auto_outlook.h  When every slot runs dry and when all work could be
 *  done, kept up to date so that a decision need not look at every slot.
 *
 *  A slot runs dry at slope * now + offset, and changes its line when something
 *  happens to it or when it becomes late.  Slots of one slope hence keep their
 *  order: they are in one heap, the sums over them are kept as sums of slopes
 *  and offsets, and those whose line ends are re-evaluated when it does.  All
 *  sums are integers, so that nothing drifts and the decisions are exactly
 *  those of a sweep over all slots.  What is not in heaps and sums is swept:
 *  slots without results, whose estimate is the mean of the others; slots much
 *  too late with a long queue; and the slot of the last event, as most
 *  decisions are about that one, and the next event about another one.
 *
 *  Lies in a flat block: struct nf_outlook, then what nf_outlook_bytes() says.
 */
#include "common/policy/auto_estimate.h"
#include "common/policy/slot_heap.h"

/** Rates are in 2^-56 chunks a us: exact enough for the sum of a million slots,
 *  and small enough for a product with years. */
enum { NF_OUTLOOK_RATE_BITS = 56 };

__extension__ typedef __int128 nf_wide;

struct nf_outlook_slot {
    struct nf_auto_estimate estimate;
    int64_t counted_us;       /**< s as it is in the sum */
    int64_t service_us, rate; /**< ... but at least 1, and 1/s */
    int64_t offset_us;
    uint32_t slope;
    uint32_t prev, next;        /**< if swept */
    bool in;                    /**< it may be given something */
    bool known, idle, has_room; /**< as counted */
    bool swept;
    bool ends, ranked; /**< it is in those heaps */
};

struct nf_outlook {
    /* over the slots that are in and not swept */
    nf_wide rate;       /**< sum of 1/s */
    nf_wide slope_rate; /**< ... of (slope - 1) / s */
    nf_wide work;       /**< ... of offset / s */
    /* over the slots that are in */
    nf_wide swept_rate;     /**< sum of 1/s, those swept that have results */
    int64_t service_sum_us; /**< of s, those that have results */
    uint32_t known;         /**< have results */
    uint32_t known_idle;    /**< ... and nothing to do */
    uint32_t unknown;       /**< have no results */
    uint32_t rooms;         /**< are below their window */

    /* over the swept ones but `fresh`, as fluid_us() last found them */
    struct {
        bool valid;
        int64_t now_us, mean_us;
        nf_wide rate; /**< sum of 1/s */
        nf_wide work; /**< ... of (dry - now) / s */
    } sweep;

    uint32_t max_slots;
    uint64_t max_window;
    uint32_t fresh;       /**< of the last event; swept.  Or NF_SLOT_NONE */
    uint32_t swept;       /**< list */
    uint32_t swept_rooms; /**< of it, those below their window */
    uint32_t ends;        /**< heap by the end of the line */
    uint32_t room[NF_AUTO_SLOPES];   /**< heaps by offset + s: those below
                                             their window */
    uint32_t finish[NF_AUTO_SLOPES]; /**< ... all, once they are ranked */
    bool ranked; /**< it has been asked who would finish first */
};

/** What follows a struct nf_outlook. */
size_t nf_outlook_bytes(uint32_t max_slots);
/** @p outlook is zero, and what follows it too. */
void nf_outlook_init(struct nf_outlook *outlook, uint32_t max_slots,
                     uint64_t max_window);
struct nf_auto_estimate *nf_outlook_estimate(const struct nf_outlook *outlook,
                                             uint32_t slot);
/** Something has happened to @p slot.  O(log p) amortised. */
void nf_outlook_update(struct nf_outlook *outlook,
                       const struct nf_pool_view *pool, uint32_t slot,
                       int64_t now_us);
/** The slot that runs dry first of those below their window that would finish
 *  one more chunk before all work could be done, or before anybody else.
 *  There must be a slot with results.
 *  @param gate  false: whenever they finish it
 *  @return NF_SLOT_NONE if there is none */
uint32_t nf_outlook_choose(struct nf_outlook *outlook,
                           const struct nf_pool_view *pool, bool gate,
                           int64_t now_us);
/** w of @p slot. */
uint64_t nf_outlook_window(const struct nf_outlook *outlook, uint32_t slot);
/** Mean s of the slots with results; 0 if there are none. */
int64_t nf_outlook_mean_us(const struct nf_outlook *outlook);
#endif
