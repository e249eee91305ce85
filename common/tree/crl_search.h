#ifndef NF_TREE_CRL_SEARCH_H
#define NF_TREE_CRL_SEARCH_H
/** @file crl_search.h  The best tree of those that CRL tries, for segments of
 *  one size.  For common/tree/crl*.c.  Pure. */
#include "common/tree/greedy.h"
#include "common/tree/hub.h"
#include "common/tree/opt_table.h"

/* Above so many nodes trees in segments over links that differ would take
 * seconds: then few are tried, and of still more nodes none that choose among
 * all pairs. */
enum { NF_CRL_THIN = 250, NF_CRL_PAIRS = 500 };
/* Of so few nodes polishing tries all trees: 1296 of 6, 16807 of 7. */
enum { NF_CRL_ALL = 6 };
enum { NF_CRL_WEIGHTS = 7, NF_CRL_RIVALS = 11 };
/* On a shared medium messages are the same bytes in any segments: more of them
 * would hide no more than a sixteenth of what hosts do meanwhile. */
enum { NF_CRL_SHARED_SEGMENTS = 16 };

struct nf_crl_search {
    const struct nf_hops *hops;
    uint32_t root;
    uint64_t segments;
    bool is_thin; /**< few trees are tried */
    /** Trees that take as long are of no use, as those that take as long as
     *  the best one: given up as soon as that is sure.  INFINITY: there are no
     *  others. */
    double limit_us;
    double slack_us; /**< see struct nf_greedy */
    struct nf_greedy_room room;
    struct nf_ldt ldt;              /**< the tree that is tried now */
    struct nf_opt_table opt;        /**< for nodes that are as the mean one */
    uint32_t *base[NF_CRL_WEIGHTS]; /**< [nodes - 1], best relays first */
    uint32_t *leaves;               /**< [nodes - 1], slow ones first */
    uint32_t *able;                 /**< those that could have children */
    uint32_t *receivers;
    bool *is_relay;                /**< [node] */
    double *key_us, *mean_wire_us; /**< [node] */
    double *least_port_us;         /**< [node], to anybody */
    double mean_port_us;           /**< of all pairs */
    double *fixed_us;              /**< [node], send + recv of 0 bytes; see
                                        nf_crl_search_init() */
    struct nf_hub hub; /**< if hops have one */
    double greatest_period_us;     /**< in any tree, more than one segment */
    /** The best tree so far, its time by nf_crl_time().  INFINITY: there is
     *  none. */
    double best_us;
    uint32_t *best_parent, *best_order;
};

/** @param empty  what messages of 0 bytes cost */
enum nf_status nf_crl_search_init(struct nf_crl_search *search_p,
                                  const struct nf_hops *empty, uint32_t root);
void nf_crl_search_fini(struct nf_crl_search *search);

/** Begin anew with other costs, without a limit. */
void nf_crl_search_set(struct nf_crl_search *search, const struct nf_hops *hops,
                       uint64_t segments);

/** @return the time of the tree in search->ldt, its children in the best order;
 *  on a shared medium as the messages wait there */
double nf_crl_time(struct nf_crl_search *search);
/** Has no leaf of the network, see struct nf_hetero, a child in the tree that
 *  search->ldt.parent is?  O(nodes) */
bool nf_crl_keeps_leaves(const struct nf_crl_search *search);
/** The tree in search->ldt, as nf_crl_time() has left it: its children in an order that
 *  takes longer to find and may be better, see struct nf_ldt.
 *  @return is it?  Otherwise what is in it now may be a worse one */
bool nf_crl_settle(struct nf_crl_search *search);
/** Is the tree in search->ldt the best so far?  Then it is kept.
 *  @return its time */
double nf_crl_score(struct nf_crl_search *search);
/** A tree was given up: its period may have been any.  @return INFINITY */
double nf_crl_given_up(struct nf_crl_search *search);

/** Trees in which no period exceeds @p cap_us.
 *  @return the time of the best of them, INFINITY if there is none */
double nf_crl_try_cap(struct nf_crl_search *search, double cap_us);
/** So with several caps, of more than one segment.
 *  @param least_us    the least period of any tree
 *  @param to_beat_us  trees that take as long are of no use */
void nf_crl_try_caps(struct nf_crl_search *search, double least_us, double to_beat_us);

/** The trees that CRL must not be worse than, one after the other.
 *  @param which     0, 1, ..., less than NF_CRL_RIVALS
 *  @param limit_us  trees that take as long are of no use
 *  @return false: it takes longer, or there is none; otherwise it is in
 *          search->ldt */
bool nf_crl_rival(struct nf_crl_search *search, unsigned which,
                  double limit_us);

/* The best tree of so few nodes takes no time to speak of. */
enum { NF_CRL_EXACT = 10 };
enum { NF_CRL_HEURISTICS = 6, NF_CRL_HEURISTIC_EXACT = 5 };
/** The heuristics of hnow.h, and of few nodes its nf_tree_exact(), with one segment: to
 *  be taken as they send.
 *  @param which       less than NF_CRL_HEURISTICS
 *  @param limit_us    as above; of no account to the exact one
 *  @param is_there_p  false: it takes longer, or there is none.  Otherwise
 *                     search->ldt has parent and order, that of sending
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_crl_heuristic(struct nf_crl_search *search, unsigned which,
                                double limit_us, bool *is_there_p);

/** Annealing, from the best tree: try so many.  See nf_crl_score(). */
void nf_crl_anneal(struct nf_crl_search *search, uint32_t trees);
/** Does polishing try all trees?  Not on a shared medium, where one takes long
 *  and they differ less. */
bool nf_crl_tries_all(const struct nf_crl_search *search);
/** Try them.  See nf_crl_score().  O(nodes^nodes) */
void nf_crl_all(struct nf_crl_search *search);
/** Let v and w, neither the root, change places. */
void nf_crl_exchange(uint32_t *parent, uint32_t nodes, uint32_t root,
                     uint32_t v, uint32_t w);
/** v leaves its place to its children and comes between w, which is none of
 *  them nor the root, and w's parent. */
void nf_crl_insert(uint32_t *parent, uint32_t nodes, uint32_t root, uint32_t v,
                   uint32_t w);

/** Improve the best tree by moving nodes about, trying so many trees. */
void nf_crl_polish(struct nf_crl_search *search, uint32_t trees);
#endif
