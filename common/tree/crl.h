#ifndef NF_TREE_CRL_H
#define NF_TREE_CRL_H
/** @file crl.h  The planner for hosts and links that differ: a tree, and how
 *  large the segments are that go down it one after the other.  Pure.
 *
 *  CRL, capped relays and leaves: good hosts pass messages on and have them
 *  first, all others have them last, slow ones before quick ones; and if there
 *  are several segments no host gets more children than it can serve in a
 *  given time.  Which hosts are good, how many of them and which time is tried
 *  out, with 1, 2, 4, ... segments; then any number between the neighbours of
 *  the best of these, the number and the tree in turns.  Never worse than ECEF
 *  or ECEF with ports, each with Algorithm 1, than a heuristic of hnow.h as it
 *  sends the whole message, a sorted chain, or the best tree for hosts that are
 *  all as the mean one; for equal hosts that tree.  Polished, and between up to
 *  10 hosts of which none is to be a leaf, nor than nf_tree_exact().
 *
 *  Hosts that are to be leaves (struct nf_hetero) are; then the chain and the
 *  tree of the mean host are those with them as leaves, if there is one.  On a
 *  shared medium trees are compared by what they take there, one sender for all
 *  is tried too, and there are at most 16 segments. */
#include "common/model/hetero.h"
#include "common/tree/tree.h"

enum {
    NF_CRL_SEGMENT = 1024, /**< no segments below this make sense */
    NF_CRL_POLISH = 300,   /**< trees that polishing may try */
};

/** Segments that are shorter than is usual have to take no more than that. */
#define NF_CRL_SHORT 0.95

struct nf_crl_options {
    uint64_t bytes;
    uint64_t least_segment; /**< bytes; 0: NF_CRL_SEGMENT.  More if there were
                                 more than NF_COLL_SEGMENTS_MAX segments */
    uint64_t usual_segment; /**< shorter ones only where they make it faster by
                                 NF_CRL_SHORT; 0: any */
    uint32_t polish; /**< trees to try in the end, or as many as take about as
                          long; of few hosts all there are, and nf_tree_exact() in one
                          segment.  0: leave it as it is */
};

struct nf_crl_plan {
    struct nf_tree tree;
    uint64_t segment_bytes, segments; /**< the last one may be shorter */
    double time_us;                   /**< as nf_tree_pipe() has it */
};

/** Plan a message of options->bytes from @p root to all hosts.
 *  @param plan_p  nf_crl_plan_fini() it
 *  @retval NF_ERR_NOMEM
 *  @retval NF_ERR_RANGE, NF_ERR_INVAL  nf_hetero_check() */
enum nf_status nf_crl_plan(const struct nf_hetero *hetero, uint32_t root,
                           const struct nf_crl_options *options,
                           struct nf_crl_plan *plan_p, struct nf_error *err);
void nf_crl_plan_fini(struct nf_crl_plan *plan);

/** The segments to try first: half of @p segment, rounded up.
 *  @return 0 if that is less than @p least, or no less than before */
uint64_t nf_segment_next(uint64_t segment, uint64_t least);
/** @p least, 0 being NF_CRL_SEGMENT, or the least that makes no more than
 *  NF_COLL_SEGMENTS_MAX segments of @p bytes: the more there are, the longer
 *  planning and carrying out take. */
uint64_t nf_segment_least(uint64_t bytes, uint64_t least);
/** How many segments @p bytes are; 0 bytes are one. */
uint64_t nf_segment_count(uint64_t bytes, uint64_t segment);
#endif
