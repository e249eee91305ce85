/* ECEF with look-ahead, min Available(i) + T(i, j) + L_j, L_j = the least
 * T(j, k) to another one that is left, 0 for the last.
 *
 * With equal links sender and receiver are chosen apart.  The receiver then has
 * the least recv[j] + send[j] + least recv of the others: of the others, that
 * is the same for all but the one that has the least itself. */
#include "config.h"
#include <math.h>
#include "common/base/alloc.h"
#include "common/tree/hnow.h"
#include "common/tree/make.h"
#include "common/tree/sort.h"

/* Those left, in some order, with quick removal; node n is both ends. */
struct chain {
    uint32_t *next, *before;
};

static void chain_fini(struct chain *chain)
{
    nf_free(chain->next);
    nf_free(chain->before);
    *chain = (struct chain){ NULL, NULL };
}

static enum nf_status chain_init(struct chain *chain, const uint32_t *nodes,
                                 uint32_t n)
{
    uint32_t last = n;

    chain->next = nf_calloc((size_t)n + 1, sizeof(uint32_t));
    chain->before = nf_calloc((size_t)n + 1, sizeof(uint32_t));
    if (chain->next == NULL || chain->before == NULL) {
        chain_fini(chain);
        return NF_ERR_NOMEM;
    }
    for (uint32_t k = 0; k + 1 < n; k++) {
        chain->next[last] = nodes[k];
        chain->before[nodes[k]] = last;
        last = nodes[k];
    }
    chain->next[last] = n;
    chain->before[n] = last;
    return NF_OK;
}

static void chain_drop(struct chain *chain, uint32_t node)
{
    chain->next[chain->before[node]] = chain->next[node];
    chain->before[chain->next[node]] = chain->before[node];
}

/* The next receiver: the one of least recv, or the best of the others. */
static uint32_t best(const struct nf_hops *hops, const struct chain *by_recv,
                     const struct chain *by_both, const double *both)
{
    uint32_t n = hops->nodes, a = by_recv->next[n];
    uint32_t second = by_recv->next[a], b = by_both->next[n];
    double a_us, b_us;

    if (second == n)
        return a;
    if (b == a)
        b = by_both->next[b];
    a_us = both[a] + hops->recv[second];
    b_us = both[b] + hops->recv[a];
    return a_us < b_us || (a_us <= b_us && a < b) ? a : b;
}

static enum nf_status by_both(const struct nf_hops *hops, uint32_t root,
                              uint32_t *receivers_p)
{
    uint32_t n = hops->nodes;
    double *both = nf_calloc(n, sizeof(*both));
    struct chain by_recv = { NULL, NULL }, by_sum = { NULL, NULL };
    enum nf_status status = both != NULL ? NF_OK : NF_ERR_NOMEM;

    for (uint32_t v = 0; status == NF_OK && v < n; v++)
        both[v] = hops->recv[v] + hops->send[v];
    nf_receivers_all(n, root, receivers_p);
    nf_sort_nodes(receivers_p, n - 1, hops->recv);
    if (status == NF_OK)
        status = chain_init(&by_recv, receivers_p, n);
    if (status == NF_OK) {
        nf_sort_nodes(receivers_p, n - 1, both);
        status = chain_init(&by_sum, receivers_p, n);
    }
    for (uint32_t k = 0; status == NF_OK && k + 1 < n; k++) {
        receivers_p[k] = best(hops, &by_recv, &by_sum, both);
        chain_drop(&by_recv, receivers_p[k]);
        chain_drop(&by_sum, receivers_p[k]);
    }
    chain_fini(&by_sum);
    chain_fini(&by_recv);
    nf_free(both);
    return status;
}

const struct nf_heuristic nf_heuristic_ecef_la = {
    .how = { .look_ahead = 1, .cap_us = INFINITY },
    .receivers = by_both,
    .only_equal = true,
};

enum nf_status nf_tree_ecef_la(const struct nf_hops *hops, uint32_t root,
                               bool is_blocking, struct nf_tree *tree_p)
{
    return nf_heuristic_tree(&nf_heuristic_ecef_la, hops, root, is_blocking,
                             tree_p);
}
