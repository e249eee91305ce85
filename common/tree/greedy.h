#ifndef NF_TREE_GREEDY_H
#define NF_TREE_GREEDY_H
/** @file greedy.h  What the greedy heuristics share: who sends next to whom.
 *  For common/tree.  Pure. */
#include <stdbool.h>
#include "common/tree/heap.h"
#include "common/tree/hops.h"
#include "common/tree/ldt.h"

/** How to choose.  Zero is a legal choice for each field but cap_us. */
struct nf_greedy {
    bool is_by_edge;   /**< by T(i, j) alone, whenever i is free */
    bool is_blocking;  /**< a sender waits until its receiver has it */
    bool holds_port;   /**< and for its port, not only for its hands */
    bool holds_medium; /**< if there is one, for that too: nf_greedy_serve() */
    double look_ahead; /**< weight of the cheapest way on from a receiver */
    double cap_us;     /**< no node's period, see ldt.h, exceeds it;
                            INFINITY for none */
    /** No tree that takes so long for so many segments, whatever the order of
     *  children: give up as soon as that is sure.  0: none is too long */
    double limit_us;
    uint64_t segments;
    double slack_us; /**< no wire - port is less; not above 0 */
};

/** What came of it. */
enum nf_greedy_end {
    NF_GREEDY_FITS,
    NF_GREEDY_EXCEEDS, /**< the cap leaves a node out: it comes from whose
                            period exceeds it least */
    NF_GREEDY_NONE,    /**< no tree: over the limit, or over the cap and all
                            links are the same */
};

/** Room for trees of so many nodes. */
struct nf_greedy_room {
    uint32_t nodes;
    double *free_us;     /**< [nodes] */
    double *start_us;    /**< [nodes]; INFINITY: cannot send */
    double *port_sum_us; /**< [nodes] */
    double *reach_us;    /**< [nodes]; not before that, in any order */
    double *slowest_us;  /**< [nodes]; no less than that is pm of ldt.h */
    uint32_t *degree;    /**< [nodes] */
    double *key_us, *other_us, *ahead_us, *total_us; /**< [nodes]; of those
                                                          not yet reached */
    uint32_t *from, *seen, *near, *left;             /**< [nodes] */
    struct nf_heap heap;
};

enum nf_status nf_greedy_room_init(struct nf_greedy_room *room_p,
                                   uint32_t nodes);
void nf_greedy_room_fini(struct nf_greedy_room *room);

/** Next is the pair of the least key, lower i, then lower j if equal.  Sets
 *  ldt->parent and ldt->order; ldt->root is where it begins.  O(nodes^2) for
 *  most networks, O(nodes^3) for the worst */
enum nf_greedy_end nf_greedy_pairs(const struct nf_greedy *how,
                                   const struct nf_hops *hops,
                                   struct nf_greedy_room *room,
                                   struct nf_ldt *ldt);

/** Receivers in the order of receivers[0..nodes - 1), each from the sender that
 *  finishes it first, lower i if equal.  O(nodes log nodes) if all links are
 *  the same, otherwise O(nodes^2).  look_ahead and is_by_edge do not matter. */
enum nf_greedy_end nf_greedy_serve(const struct nf_greedy *how,
                                   const struct nf_hops *hops,
                                   const uint32_t *receivers,
                                   struct nf_greedy_room *room,
                                   struct nf_ldt *ldt);
#endif
