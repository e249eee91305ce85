#ifndef NF_TREE_CRL_SEARCH_H
#define NF_TREE_CRL_SEARCH_H
/** @file crl_search.h  The best tree of those that CRL tries, for segments of
 *  one size.  For common/tree/crl*.c.  Pure. */
#include "common/tree/greedy.h"
#include "common/tree/opt_table.h"

/* Above so many nodes trees in segments over links that differ would take
 * seconds: then few are tried. */
enum { NF_CRL_THIN = 150 };
enum { NF_CRL_WEIGHTS = 7, NF_CRL_RIVALS = 10 };

struct nf_crl_search {
    const struct nf_hops *hops;
    uint32_t root;
    uint64_t segments;
    bool is_thin; /**< few trees are tried */
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
    double *fixed_us;              /**< [node], send + recv of 0 bytes; see
                                        nf_crl_search_init() */
    double greatest_period_us;     /**< in any tree, more than one segment */
    /** The best tree so far, its time by nf_ldt_run().  INFINITY: there is
     *  none. */
    double best_us;
    uint32_t *best_parent, *best_order;
};

/** @param empty  what messages of 0 bytes cost */
enum nf_status nf_crl_search_init(struct nf_crl_search *search_p,
                                  const struct nf_hops *empty, uint32_t root);
void nf_crl_search_fini(struct nf_crl_search *search);

/** Begin anew with other costs. */
void nf_crl_search_set(struct nf_crl_search *search, const struct nf_hops *hops,
                       uint64_t segments);

/** Is the tree in search->ldt the best so far?  Then it is kept.
 *  @return its time */
double nf_crl_score(struct nf_crl_search *search);

/** Trees in which no period exceeds @p cap_us.
 *  @return the time of the best of them, INFINITY if there is none */
double nf_crl_try_cap(struct nf_crl_search *search, double cap_us);

/** The trees that CRL must not be worse than, one after the other.
 *  @param which  0, 1, ..., less than NF_CRL_RIVALS
 *  @return false if there are no more; otherwise it is in search->ldt */
bool nf_crl_rival(struct nf_crl_search *search, unsigned which);

/** Annealing, from the best tree: try so many.  See nf_crl_score(). */
void nf_crl_anneal(struct nf_crl_search *search, uint32_t trees);
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
