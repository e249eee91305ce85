#ifndef NF_APPS_NOWFARM_COLL_TUNE_H
#define NF_APPS_NOWFARM_COLL_TUNE_H
/** @file coll_tune.h  Which ways of a call tuning tries first, and the rules that it
 *  writes.  Pure.  The search from the one to the other: coll_search.h. */
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

/** The best algorithms by the model, as many as above, each with its best k as
 * coll_told_segments() has it (the model's choice: as the model has it), and
 * @p usual, what a group takes without a table, if that is another one; where
 * ranks share hosts, or all are on one, also the two_level ones, of which the
 * model may know nothing.  (Of eight members on one host one is the fastest
 * allreduce of 1 MiB, in segments up and down a tree: 0.78 of a circulant's
 * time.)
 *  @param hosts  that the ranks are on
 *  @param list_p  [COLL_CANDIDATES_MAX]; the first is the model's choice
 *  @return how many; 0 if the model knows none */
unsigned coll_candidates(const struct nf_coll_query *query,
                         const struct nf_coll_network *network,
                         const struct nf_coll_choice *usual, uint32_t hosts,
                         struct coll_candidate *list_p);

/** The same algorithm with as many segments? */
bool coll_is_same_way(const struct coll_candidate *a,
                      const struct coll_candidate *b);
/** Has any of @p list this algorithm, with whatever segments? */
bool coll_is_listed(const struct nf_coll_algorithm *algorithm,
                    const struct coll_candidate *list, unsigned count);

/** How many segments a rule for @p k of them gives back: it tells how many bytes
 *  each has (of 512 bytes 48 segments have 11, and come back as 47), and no call
 *  takes fewer than nf_coll_least_segments() or more than elements or
 *  NF_COLL_SEGMENTS_MAX.  What tuning measures are such numbers, but for the model's
 *  choice, whose rule says that it is this.  1 where @p algorithm has none. */
uint32_t coll_told_segments(const struct nf_coll_query *query,
                            const struct nf_coll_algorithm *algorithm,
                            uint64_t k);

/** The rule for @p winner.  @param is_model  it is what the model says
 *  @param max_bytes  up to which size it holds */
struct nf_coll_rule coll_rule(const struct nf_coll_query *query,
                              const struct coll_candidate *winner,
                              bool is_model, uint64_t max_bytes);

/** Add coll_rule().  A winner that goes in one piece, and could in segments, has as
 *  many as the model says where messages are longer, up to @p max_bytes; but for
 *  those up to the next size of which the same is found.  (By what was found for 4
 *  KiB, 16 KiB went down a chain of five hosts at 100 Mbit/s in one piece, which
 *  took 3.2 times as long as 8.)
 *  @param rules  what is tuned now is in it of smaller sizes only, not merged
 *  @retval NF_ERR_NOMEM */
enum nf_status coll_add_rules(struct nf_coll_rules *rules,
                              const struct nf_coll_query *query,
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
