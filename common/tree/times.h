#ifndef NF_TREE_TIMES_H
#define NF_TREE_TIMES_H
/** @file times.h  When each node of a tree has the message, if hosts and links
 *  differ.  Pure. */
#include <stdbool.h>
#include "common/tree/hops.h"
#include "common/tree/tree.h"
#include "common/tree/watch.h"

/** One message down the tree.  On a shared medium each also waits for those of
 *  others, see hub.h; here and below.
 *      is_blocking: a sender waits until its receiver has the message
 *      otherwise:   it waits for send[i]; the port takes one at a time
 *  @param ready_us_p  [nodes], when each has the message; may be NULL
 *  @param time_us_p   the last of them.  O(nodes)
 *  @retval NF_ERR_NOMEM
 *  Source: Sawahata & Shibusawa, equations (5) to (9); (6) and (9) with the
 *  sender's availability, that of a receiver is not defined before. */
enum nf_status nf_tree_times(const struct nf_tree *tree,
                             const struct nf_hops *hops, bool is_blocking,
                             double *ready_us_p, double *time_us_p);

/** A message of @p segments segments, each of which costs @p hops; each node
 *  takes one, hands it to its children in order, takes the next.  Exact, also
 *  with ports.
 *  @param time_us_p  when the last node has the last segment.
 *  O(nodes * segments)    @retval NF_ERR_NOMEM */
enum nf_status nf_tree_pipe(const struct nf_tree *tree,
                            const struct nf_hops *hops, uint64_t segments,
                            double *time_us_p);

/** The same.  @param ready_us_p  [nodes], when each has the last segment, the
 *  root from 0 on; may be NULL */
enum nf_status nf_tree_pipe_times(const struct nf_tree *tree,
                                  const struct nf_hops *hops, uint64_t segments,
                                  double *ready_us_p, double *time_us_p);

/** The same, and @p watch is told all of it; see there. */
enum nf_status nf_tree_pipe_watch(const struct nf_tree *tree,
                                  const struct nf_hops *hops, uint64_t segments,
                                  const struct nf_watch *watch,
                                  double *time_us_p);

/** Put the children of each node in the order that is best for @p segments
 *  segments: the longest tail first.  Optimal without ports and with equal
 *  ones; otherwise another may be faster by some per cent.  Equal ones by their
 *  number.
 *  @param time_us_p  the time then, without simulating; with ports of different
 *                    speeds it may be less than that of nf_tree_pipe().
 *                    May be NULL
 *  O(nodes log nodes)    @retval NF_ERR_NOMEM
 *  Source: Sawahata & Shibusawa, Algorithm 1, for one segment. */
enum nf_status nf_tree_reorder(struct nf_tree *tree, const struct nf_hops *hops,
                               uint64_t segments, double *time_us_p);
#endif
