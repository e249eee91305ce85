#ifndef NF_POLICY_READY_H
#define NF_POLICY_READY_H
/** @file ready.h  A first-come first-served ring of slots that may take another
 *  chunk: what the pacers pull and window share.  All calls are O(1) amortised,
 *  except nf_ready_returned(), which is O(p) and follows failures only. */
#include "common/policy/policy.h"

struct nf_ready_slot {
    uint32_t entry; /**< the ring: entry of place k, not of slot k */
    bool queued;    /**< slot k is in the ring */
};

struct nf_ready {
    uint64_t limit; /**< outstanding leases a slot may have */
    bool gathering; /**< slots are joining: let all of them come first */
    uint32_t capacity, head, count;
    struct nf_ready_slot slots[];
};

size_t nf_ready_state_size(const struct nf_policy_env *env);
/** @param limit  leases a slot may have outstanding; 0: any number */
void nf_ready_init(struct nf_ready *ready, const struct nf_policy_env *env,
                   uint64_t limit);

/* The callbacks of nf_pacer_ops, for a state that is a struct nf_ready. */
enum nf_status nf_ready_pick(void *st, const struct nf_pool_view *pool,
                             int64_t now_us, uint32_t *slot_p,
                             int64_t *wake_us_p);
void nf_ready_join(void *st, const struct nf_pool_view *pool, uint32_t slot,
                   int64_t now_us);
void nf_ready_sent(void *st, const struct nf_pool_view *pool, uint32_t slot,
                   uint64_t units, int64_t now_us);
void nf_ready_result(void *st, const struct nf_pool_view *pool, uint32_t slot,
                     const struct nf_chunk_times *t, int64_t now_us);
void nf_ready_returned(void *st, const struct nf_pool_view *pool,
                       int64_t now_us);
#endif
