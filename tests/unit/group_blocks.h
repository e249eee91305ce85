#ifndef NF_TESTS_GROUP_BLOCKS_H
#define NF_TESTS_GROUP_BLOCKS_H
/** @file group_blocks.h  Gather and scatter of blocks of doubles that differ in
 *  size, and what is to come of them. */
#include <stdbool.h>
#include "common/base/rng.h"
#include "nowfarm_group.h"

enum { BLOCKS_RANKS_MAX = 64 };

/** Blocks of doubles; offsets leave gaps. */
struct blocks {
    uint32_t ranks, root;
    bool gathers;
    size_t counts[BLOCKS_RANKS_MAX], offsets[BLOCKS_RANKS_MAX], total;
    double *whole; /* of the root: result, or what is scattered */
    double *part[BLOCKS_RANKS_MAX]; /* of each rank */
};

/** A third is empty; sometimes all are.  @param sizes  [ranks] up to 20 */
void blocks_draw_sizes(struct nf_rng *rng, uint32_t ranks, uint64_t *sizes);
/** @param name  of what algorithm, or operation: "gather..." or "scatter..."
 *  @param equal  elements of each; 0: drawn, up to @p largest */
void blocks_init(struct blocks *b, struct nf_rng *rng, const char *name,
                 uint32_t ranks, size_t equal, size_t largest);
void blocks_fini(struct blocks *b);
/** What @p rank is to call. */
struct nf_call blocks_call(const struct blocks *b, uint32_t rank);
bool blocks_are_right(const struct blocks *b);
#endif
