#ifndef NF_POLICY_AWF_H
#define NF_POLICY_AWF_H
/** @file awf.h  Adaptive weighted factoring within a run, variants B to E: what
 *  they share.
 *
 *  The k-th finished chunk of a slot had n_k units and took t_k.  Then
 *
 *      pi = sum_k k t_k / sum_k k n_k,   w_i = p (1/pi_i) / sum_j (1/pi_j)
 *
 *  and a chunk has ceil(F w_i) units.  The variants differ in where F and w
 *  come from and in what t_k is.  Until a slot has reported, warm=1 bounds its
 *  chunks by ceil(N / (10p)): without weights a slow slot would start with
 *  N/(2p) units.
 *  Source: Carino & Banicescu, J. Supercomputing 44(1) 2008. */
#include "common/policy/policy.h"

/** Where F and the weights come from. */
enum nf_awf_scope {
    NF_AWF_BATCH, /**< F = ceil(R/(2p)) and weights as a batch opens */
    NF_AWF_CHUNK, /**< the same at every request, no batches */
};

/** What t_k is. */
enum nf_awf_time {
    NF_AWF_COMPUTE, /**< in the kernel */
    /** Sent to merged, without the wait behind other chunks at the slot: with
     *  chunks sent ahead that would look like slowness. */
    NF_AWF_TOTAL,
};

extern const struct nf_param nf_awf_params[];

size_t nf_awf_state_size(const struct nf_policy_env *env);
void nf_awf_init(void *st, const struct nf_policy_env *env,
                 const struct nf_param_value *values, enum nf_awf_scope scope,
                 enum nf_awf_time time);

/* The callbacks of nf_sizer_ops. */
enum nf_status nf_awf_next(void *st, uint32_t slot, uint64_t left,
                           uint64_t *units_p);
void nf_awf_report(void *st, uint32_t slot, const struct nf_chunk_times *t);
#endif
