#ifndef NF_COLL_SCAN_H
#define NF_COLL_SCAN_H
/** @file scan.h  What the scans share.  Rank r gets x_0 (+) ... (+) x_r; only
 *  NF_COLL_LEFT combines are used, so every scan is right for any operator.
 *
 *  The exclusive scan (rank r gets x_0 (+) ... (+) x_(r-1), rank 0 nothing) is
 *  the same schedule: the executor keeps a second accumulator, which begins
 *  empty and takes every in-coming operand from the left as the first does.
 *  It is priced as the scan; the combines of the second accumulator, one less
 *  than the rank receives, are not counted. */
#include "common/coll/coll.h"

/** Define nf_coll_scan_<id> and nf_coll_exscan_<id>, named "scan.<label>" and
 *  "exscan.<label>"; the rest are designated initialisers of both. */
#define NF_SCAN_ENTRIES(id, label, ...)                                        \
    const struct nf_coll_algorithm nf_coll_scan_##id = {                       \
        .name = "scan." label, .op = NF_COLL_SCAN, __VA_ARGS__                 \
    };                                                                         \
    const struct nf_coll_algorithm nf_coll_exscan_##id = {                     \
        .name = "exscan." label, .op = NF_COLL_EXSCAN, __VA_ARGS__             \
    }

/** The circuit of Brent and Kung for item 0.  HALF; every rank is in at most
 *  one message a round. */
void nf_scan_brent_kung(uint32_t ranks, struct nf_schedule *schedule);
/** Its rounds, floor(log2 P) + floor(log2(2P/3)); P >= 2. */
uint32_t nf_scan_brent_kung_rounds(uint32_t ranks);

/** The circuit RootP for item 0, HALF.  Ranks 1, 2..3, 4..6, ... are groups of
 *  1, 2, 3, ... members, the last cut off at P-1; the last member of a group
 *  leads it.
 *  @param fan  the leader before hands its prefix to every member of the group
 *  itself; else it goes from member to member in register car */
void nf_scan_rootp(uint32_t ranks, bool fan, struct nf_schedule *schedule);
/** Its rounds, chain or fan; P >= 2. */
uint32_t nf_scan_rootp_rounds(uint32_t ranks);

/** Repeat a circuit for items 0..segments-1 without waiting.  In each round,
 *  of the messages whose predecessors in their segment are through, those of
 *  the least round + 2 segment go first, at equality of the lower segment.
 *  Time O((rounds + 2 segments)(messages of base + rounds + 2 segments)).
 *  @param base  of item 0, sorted, all ranks; a rank is in at most one message
 *  a round
 *  @param ports  HALF or FULL, that a rank has
 *  Running out of memory sets schedule->failed. */
void nf_scan_segment(const struct nf_schedule *base, uint32_t ranks,
                     uint32_t segments, enum nf_coll_ports ports,
                     struct nf_schedule *schedule);

/** Of Brent and Kung, n m. */
extern const struct nf_coll_kept nf_kept_brent_kung;
/** Of RootP: a member of a group gets what was scanned in it and the prefix
 *  before it; of a chain it keeps that for the next one beside the sum. */
extern const struct nf_coll_kept nf_kept_rootp_fan, nf_kept_rootp_chain;
#endif
