#ifndef NF_APPS_NOWFARM_COLL_TUNE_H
#define NF_APPS_NOWFARM_COLL_TUNE_H
/** @file coll_tune.h  What tuning tries, and what it concludes.  Pure. */
#include "apps/nowfarm/stats.h"
#include "common/coll/rules.h"

/** Tried: so many of the best by the model, and up to COLL_BEST_MOST that take less
 *  than COLL_CLOSE times as long as the best one; of short calls, those that last at
 *  most COLL_SHORT_US by the model, less than COLL_CLOSE_SHORT times: these are where
 *  the model is the least sure, and are soon tried.  (Eight members of two processors
 *  reduce 8 bytes linearly in 0.8 of binomial's time: messages cost the processors,
 *  and there are as many of them; the model says 2.3 times.)  Where members share
 *  processors these are also calls of up to COLL_SHARED_US: what the model takes for
 *  the time of links is that of processors.  (Five hosts of two processors reduce 1 MiB
 *  linearly in 0.7 of the time of a chain, which the model takes for the best.) */
enum { COLL_BEST = 3, COLL_BEST_MOST = 12 };
enum { COLL_SHORT_US = 2000, COLL_SHARED_US = 10000 };
#define COLL_CLOSE 1.25
#define COLL_CLOSE_SHORT 4.0
enum { COLL_CANDIDATES_MAX = COLL_BEST_MOST + 4 };
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
/** Calls up to so long of which the first ones do not say which is the fastest are
 *  made so often, in so many turns, and for so long. */
enum { COLL_AGAIN_LONGEST_US = 10000 };
enum { COLL_AGAIN_MOST = 1000, COLL_AGAIN_TURNS = 20, COLL_AGAIN_US = 1000000 };

/** Of a series of calls if nobody says how many: at most so many, but for so
 *  long if that is less; each way of a call has so many turns. */
enum { COLL_MOST_REPEATS = 200, COLL_BUDGET_US = 300000, COLL_TURNS = 4 };
struct coll_effort {
    uint64_t least, most; /**< calls of each way */
    uint64_t turns, budget_us;
};
/** The usual one, of @p least calls and more. */
struct coll_effort coll_usual_effort(uint64_t least);

struct coll_candidate {
    const struct nf_coll_algorithm *algorithm;
    uint32_t segments;
    struct nf_coll_params params; /**< as a rule has them: radices of
                                       nf_exchange_radices() */
    double predicted_us;
    struct stats_interval us; /**< of the median; n = 0: not measured yet */
};

/** The best algorithms by the model, as many as above, each with its best k,
 * and @p usual, what a group takes without a table, if that is another one;
 * where ranks share hosts, or all are on one, also the two_level one, of which
 * the model may know nothing.  (Of eight members on one host it is the fastest
 * allreduce of 1 MiB, in segments up and down a tree: 0.78 of a circulant's
 * time.)
 *  @param hosts  that the ranks are on
 *  @param list_p  [COLL_CANDIDATES_MAX]; the first is the model's choice
 *  @return how many; 0 if the model knows none */
unsigned coll_candidates(const struct nf_coll_query *query,
                         const struct nf_coll_network *network,
                         const struct nf_coll_choice *usual, uint32_t hosts,
                         struct coll_candidate *list_p);

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
 *  First the candidates are measured; of calls that last at most
 *  COLL_AGAIN_LONGEST_US those that were faster than the winner, and not clearly,
 *  once more against it, more often; then the winner and what was nearly as fast,
 *  together with half and twice their segments; then, as long as that helps, the best
 *  so far against one of twice (or half) as many.  So there are at most
 *  COLL_LISTS_MAX lists. */
enum { COLL_LISTS_MAX = 3 + COLL_STEPS };
struct coll_search {
    const struct nf_coll_query *query;
    const struct nf_coll_network *network;
    enum {
        COLL_SEARCH_FIRST,
        COLL_SEARCH_AGAIN,
        COLL_SEARCH_SEGMENTS,
        COLL_SEARCH_FURTHER,
    } phase;
    struct coll_candidate list[COLL_CANDIDATES_MAX]; /**< to be measured */
    unsigned count;             /**< of these; 0: it is over */
    struct coll_candidate best; /**< of what was measured so far */
    struct coll_candidate model, before;
    unsigned near;  /**< the first ones of the list, in COLL_SEARCH_SEGMENTS */
    unsigned steps; /**< of COLL_SEARCH_FURTHER */
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
 *  they differ: of 1000 the median lies between the 469th and the 532nd, and turns of
 *  50 have what disturbs the machine for a second disturb all. */
struct coll_effort coll_search_effort(const struct coll_search *search);
/** Is the best what the model chose, with its segments? */
bool coll_search_is_model(const struct coll_search *search);

/** The rule for @p winner.  @param is_model  it is what the model says
 *  @param max_bytes  up to which size it holds */
struct nf_coll_rule coll_rule(const struct nf_coll_query *query,
                              const struct coll_candidate *winner,
                              bool is_model, uint64_t max_bytes);

/** Up to which size does what was measured at size i hold?  To the geometric
 *  mean with the next; the last one for all above.
 *  @param sizes  [count] ascending */
uint64_t coll_reach(const uint64_t *sizes, unsigned count, unsigned i);

/** Take out rules that the next larger size says as well, of one operation,
 *  class and P. */
void coll_merge_rules(struct nf_coll_rules *rules);

/** Take out the rules for the operation of @p query, operators like its own and
 *  its P, unknown ones too; those for others stay.  A group goes by rules of its
 *  own P or the next smaller one (nf_coll_rules_find()), so rules for 8 that were
 *  found before hold for 8 beside those for 4 and 2 that are found now. */
void coll_drop_rules(struct nf_coll_rules *rules,
                     const struct nf_coll_query *query);

/** May @p rules stand in one table with what is found @p here and now?  A table
 *  says once for all of it between which hosts, by which route, in which encoding
 *  and by which version it was tuned; what it does not say may be anything.
 *  @param text_p  why not, as of nf_coll_rules_differ(); "" if they may */
bool coll_rules_may_stay(const struct nf_coll_rules *rules,
                         const struct nf_coll_place *here, char *text_p,
                         size_t bytes);
#endif
