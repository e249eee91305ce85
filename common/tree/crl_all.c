/* All trees of few nodes: fewer than annealing would try, n^(n-2), and it may
 * miss the best of them. */
#include "config.h"
#include "common/tree/crl_search.h"

/* The next choice of a parent for each node but the root, none its own.
 * @return false: that was the last one */
static bool next_choice(uint32_t *parent, uint32_t nodes, uint32_t root)
{
    for (uint32_t v = 0; v < nodes; v++) {
        if (v == root)
            continue;
        parent[v]++;
        if (parent[v] == v)
            parent[v]++;
        if (parent[v] < nodes)
            return true;
        parent[v] = v == 0 ? 1 : 0;
    }
    return false;
}

/* Do all ways up lead to the root? */
static bool is_tree(const uint32_t *parent, uint32_t nodes, uint32_t root)
{
    for (uint32_t v = 0; v < nodes; v++) {
        uint32_t above = v, hops = 0;

        while (above != root && hops++ < nodes)
            above = parent[above];
        if (above != root)
            return false;
    }
    return true;
}

bool nf_crl_tries_all(const struct nf_crl_search *search)
{
    return search->hops->nodes <= NF_CRL_ALL && search->hops->medium == NULL;
}

void nf_crl_all(struct nf_crl_search *search)
{
    uint32_t n = search->hops->nodes, root = search->root;
    uint32_t *choice = search->able;

    for (uint32_t v = 0; v < n; v++)
        choice[v] = v == 0 ? 1 : 0;
    search->ldt.tries_places = true; /* there are few trees of few children */
    do {
        uint32_t *parent = search->ldt.parent;

        if (!is_tree(choice, n, root))
            continue;
        for (uint32_t v = 0; v < n; v++)
            parent[v] = v == root ? root : choice[v];
        if (!nf_crl_keeps_leaves(search))
            continue;
        nf_ldt_order(&search->ldt);
        nf_crl_score(search);
    } while (next_choice(choice, n, root));
    search->ldt.tries_places = false;
}
