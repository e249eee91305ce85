#ifndef NF_TREE_HNOW_H
#define NF_TREE_HNOW_H
/** @file hnow.h  Trees for hosts and links that differ.  Pure.
 *
 *  The heuristics add one receiver after the other.  A is who has the message,
 *  B who has not, Available(i) when i can send next; blocking, i waits until
 *  its receiver has it, otherwise for send[i].  Ports are not looked at.  Equal
 *  ones: lower i, then lower j.  FEF O(n^2); the others O(n log n) if all links are the
 *  same, else mostly O(n^2).
 *  @param tree_p  nf_tree_fini() it; children in the order of sending
 *  @retval NF_ERR_NOMEM
 *  @retval NF_ERR_RANGE, NF_ERR_INVAL  of all of these: nf_hops_check() */
#include <stdbool.h>
#include "common/tree/hops.h"
#include "common/tree/tree.h"

/** Fastest edge first: min T(i, j).  Bhat, Raghavendra, Prasanna */
enum nf_status nf_tree_fef(const struct nf_hops *hops, uint32_t root,
                           bool is_blocking, struct nf_tree *tree_p);
/** Earliest completing edge first: min Available(i) + T(i, j).  The same. */
enum nf_status nf_tree_ecef(const struct nf_hops *hops, uint32_t root,
                            bool is_blocking, struct nf_tree *tree_p);
/** ECEF with look-ahead: + L_j, the least T(j, k) to another one of B.  The
 *  same. */
enum nf_status nf_tree_ecef_la(const struct nf_hops *hops, uint32_t root,
                               bool is_blocking, struct nf_tree *tree_p);
/** Fastest node first: the receiver of the least send[j], from who completes
 *  it first.  Banikazemi, Moorthy, Panda */
enum nf_status nf_tree_fnf(const struct nf_hops *hops, uint32_t root,
                           bool is_blocking, struct nf_tree *tree_p);
/** ECEF in which a sender also waits for its port: hold max(send, port), less what is
 *  spare, see hops.h.
 *  Blocking, it finds the port free: as nf_tree_ecef(). */
enum nf_status nf_tree_ecef_ports(const struct nf_hops *hops, uint32_t root,
                                  bool is_blocking, struct nf_tree *tree_p);

/** The most nodes that nf_tree_exact() takes.  Where holds differ that takes about
 *  2 ms for 10 nodes. */
enum { NF_TREE_EXACT_MAX = 14 };

/** The best tree there is, if a sender waits for each message's port before it has
 *  the next in hand, hold(v, c) = max(send[v], port(v, c)), less what is spare, see
 *  hops.h; without ports send[v]; and, on a shared medium, for no other message:
 *  D(v, A), the least time in which v and those it sends to reach all of A.
 *      otherwise: min over c in U of A:
 *                 max(T(v, c) + D(c, U - c), hold(v, c) + D(v, A - U))
 *      blocking:  ... T(v, c) + max(D(c, U - c), D(v, A - U))
 *  D of nobody is 0, and holds nothing up.  With ports another tree, or order of
 *  children, may be faster where the next message is got in hand while the port is
 *  busy.  O(n 3^n), blocking and where holds differ O(n^2 3^n)
 *  @retval NF_ERR_RANGE  too many nodes    @retval NF_ERR_NOMEM */
enum nf_status nf_tree_exact(const struct nf_hops *hops, uint32_t root,
                             bool is_blocking, struct nf_tree *tree_p,
                             double *time_us_p);

/** No tree is faster, with ports or without, not blocking.  O(n^2)
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_tree_bound(const struct nf_hops *hops, uint32_t root,
                             double *time_us_p);
/** The same of legal hops. */
enum nf_status nf_tree_bound_legal(const struct nf_hops *hops, uint32_t root,
                                   double *time_us_p);

/** No tree in which @p segments segments of what @p hops costs follow each
 *  other is faster.  O(n^2)
 *  @param hops  legal, nf_hops_check(): it is not looked at again
 *  @param period_us_p  NULL, or becomes what a tree for one segment more must
 *      cost, whatever tree: the least cap of all periods under which each node
 *      can have a parent
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_tree_bound_of(const struct nf_hops *hops, uint32_t root,
                                uint64_t segments, double *time_us_p,
                                double *period_us_p);

/** No tree in which segments follow each other is faster for @p bytes, of
 *  the segments of nf_segment_next() of at least nf_segment_least() bytes.  In
 *  other numbers of segments, which the planner tries too, one may be: see
 *  nf_tree_bound_of().
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_tree_bound_segments(const struct nf_hetero *hetero,
                                      uint32_t root, uint64_t bytes,
                                      uint64_t least_segment,
                                      double *time_us_p);
#endif
