#ifndef NF_APPS_COLLBENCH_VALUES_H
#define NF_APPS_COLLBENCH_VALUES_H
/** @file values.h  What the members of a measured collective operation put in,
 *  and what must come out.  Pure.
 *
 *  Operations that combine add doubles, small whole numbers, so that every
 *  order of adding gives the same, or compose maps, which no two ranks may do in
 *  another order; the others move bytes.  Every repeat has
 *  values of its own: what an earlier one left behind is not right. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/coll/select.h"

/** One member's view of a call. */
struct bench_call {
    enum nf_coll_op op;
    uint32_t ranks, rank;
    /** Of the vector; gather, scatter, all-to-all: of one block; barrier: 0.  A multiple
     *  of 8 if the operation combines. */
    uint64_t bytes;
    uint32_t seed; /**< of the repeat */
    bool ordered;  /**< combine by bench_compose(); else add */
};

/** An operator that does not commute, of nf_operator_function: x -> a x + b modulo
 *  2^32, a 64-bit number with a in its upper half, composed; that of the lower
 *  ranks comes first.  In 64-bit numbers, so that they may be converted. */
void bench_compose(const void *in, void *inout, size_t count, int type,
                   void *user);

/** Does @p op add, or only move? */
bool bench_combines(enum nf_coll_op op);
/** Is @p bytes a size for @p op?  1 (combining: 8) or more, and whole numbers;
 *  for a barrier 0 only. */
bool bench_size_fits(enum nf_coll_op op, uint64_t bytes);

/** Bytes of the two buffers of this member; a broadcast has only the second. */
uint64_t bench_send_bytes(const struct bench_call *call);
uint64_t bench_recv_bytes(const struct bench_call *call);

/** Elements of the blocks of reduce-scatter (doubles) and allgather (bytes):
 *  the vector cut as schedules cut it.  @param counts_p  [ranks] */
void bench_counts(const struct bench_call *call, size_t *counts_p);

/** Put the inputs in; what is not input is overwritten with something wrong. */
void bench_fill(const struct bench_call *call, void *send, void *recv);
/** @return whether @p recv is what it must be after the call */
bool bench_is_right(const struct bench_call *call, const void *recv);

/** What a group is asked when this call is made, root 0.
 *  @param ordered  if it combines, by bench_compose() */
struct nf_coll_query bench_query(enum nf_coll_op op, uint32_t ranks,
                                 uint64_t bytes, bool ordered);
#endif
