#ifndef NF_APPS_NOWFARM_COLL_SEARCH_H
#define NF_APPS_NOWFARM_COLL_SEARCH_H
/** @file coll_search.h  The search for the fastest way of one call: what tuning
 *  measures next, how often, and what it believes.  Pure. */
#include "apps/nowfarm/coll_tune.h"

/** The least gain for which the model is not believed. */
#define COLL_LEAST_GAIN 0.03
/** Other numbers of segments are tried of so many algorithms, which took less
 *  than COLL_NEARLY times as long as the winner: with segments of the right size
 *  another one may win.  Then they are doubled or halved as long as that helps,
 *  but not more often than COLL_STEPS. */
enum { COLL_NEAR = 3, COLL_STEPS = 4 };
#define COLL_NEARLY 1.25
/** See coll_search_effort(). */
enum { COLL_REPEATS_FIRST = 10, COLL_REPEATS_SEGMENTS = 20 };
enum { COLL_REPEATS_MOST_US = 4000000 };
/** Of calls up to so long the few that were made so far do not say which way is the
 *  fastest: those that took less than COLL_FINAL_NEARLY times as long as the best, but
 *  not more than COLL_FINAL_OTHERS of them, first the model's choice and one of each
 *  algorithm, are made once more beside it, more often. */
enum { COLL_FINAL_LONGEST_US = 10000, COLL_FINAL_OTHERS = 5 };
#define COLL_FINAL_NEARLY 1.15
enum { COLL_FINAL_MOST = 1000, COLL_FINAL_TURNS = 20, COLL_FINAL_US = 500000 };

/** The winner, and others of @p list that have segments and were nearly as fast,
 *  the fastest first, each algorithm once.
 *  @param near_p  [COLL_NEAR]   @return how many */
unsigned coll_near(const struct coll_candidate *list, unsigned count,
                   unsigned winner, struct coll_candidate *near_p);

/** Half and twice the segments of list[winner], where that is something else.
 *  @param list  [COLL_CANDIDATES_MAX], @p count used
 *  @return the new count */
unsigned coll_refine(const struct nf_coll_query *query,
                     const struct nf_coll_network *network,
                     struct coll_candidate *list, unsigned count,
                     unsigned winner);

/** When going from @p before to @p now helped: as much further.
 *  @param next_p  not measured yet
 *  @return false: another algorithm, no step, or there is nothing further */
bool coll_further(const struct nf_coll_query *query,
                  const struct nf_coll_network *network,
                  const struct coll_candidate *before,
                  const struct coll_candidate *now,
                  struct coll_candidate *next_p);

/** A quarter fewer segments than @p of has, and half as many more, where these are
 *  other numbers.
 *  @param next_p  [2], not measured yet   @return how many */
unsigned coll_between(const struct nf_coll_query *query,
                      const struct nf_coll_network *network,
                      const struct coll_candidate *of,
                      struct coll_candidate *next_p);

/** The candidate with the least median, if that is at least COLL_LEAST_GAIN
 *  less than that of @p current and the intervals where the medians lie do not
 *  overlap; else @p current.  Those that were not measured do not count.
 *
 *  Not the quartiles: how far calls of some 100 us spread is set by when their
 *  members leave the barrier, and more calls do not make that less, so that of
 *  medians of 97 and 129 us the slower one would be kept for ever. */
unsigned coll_winner(const struct coll_candidate *list, unsigned count,
                     unsigned current);

/** The search for the fastest way of one call, with whoever measures as a
 *  driver:
 *
 *      coll_search_begin(&search, ...);
 *      while (search.count > 0) {
 *          ... set search.list[i].us of each i < search.count, with
 *              coll_search_effort() ...
 *          coll_search_go_on(&search);
 *      }
 *
 *  First the candidates are measured; then the winner and what was nearly as fast,
 *  together with half and twice their segments; then, as long as that helps, the best
 *  so far against one of twice (or half) as many.  Of calls that last at most
 *  COLL_FINAL_LONGEST_US, finally, the best, up to COLL_FINAL_OTHERS that came near it,
 *  and a quarter fewer and half as many more of its segments where these were not tried,
 *  more often.  So there are at most COLL_LISTS_MAX lists. */
enum { COLL_LISTS_MAX = 3 + COLL_STEPS };
/** As many ways as these lists may have, so that none is forgotten. */
enum { COLL_SEEN_MAX = COLL_CANDIDATES_MAX + 2 * COLL_NEAR + COLL_STEPS + 2 };
struct coll_search {
    const struct nf_coll_query *query;
    const struct nf_coll_network *network;
    enum {
        COLL_SEARCH_FIRST,
        COLL_SEARCH_SEGMENTS,
        COLL_SEARCH_FURTHER,
        COLL_SEARCH_FINAL,
    } phase;
    struct coll_candidate list[COLL_CANDIDATES_MAX]; /**< to be measured */
    unsigned count;             /**< of these; 0: it is over */
    struct coll_candidate best; /**< of what was measured so far */
    struct coll_candidate model, before;
    unsigned steps; /**< of COLL_SEARCH_FURTHER */
    struct coll_candidate seen[COLL_SEEN_MAX]; /**< the fastest first, by what was
                        last measured of each */
    unsigned nseen;
};

/** Parameters as of coll_candidates().
 *  @param search_p  borrows @p query and @p network until the search is over;
 *                   its count is 0 if the model knows no algorithm */
void coll_search_begin(struct coll_search *search_p,
                       const struct nf_coll_query *query,
                       const struct nf_coll_network *network,
                       const struct nf_coll_choice *usual, uint32_t hosts);
/** All of search->list was measured: what next? */
void coll_search_go_on(struct coll_search *search);
/** By how many calls to measure search->list.  How many segments are best shows in a
 *  few percent, as which algorithm is seldom does: with 20 calls the median lies
 *  between the 6th and the 15th, with 10 it may be nearly any (95 %, sign test).  But
 *  not if 20 take longer than COLL_REPEATS_MOST_US.  Short calls spread by more than
 *  they differ: of 1000, as fit for calls of up to 500 us, the median lies between the
 *  469th and the 532nd, and turns have what disturbs the machine for a second disturb
 *  all. */
struct coll_effort coll_search_effort(const struct coll_search *search);
/** Is the best what the model chose, with its segments? */
bool coll_search_is_model(const struct coll_search *search);
#endif
