/* Simulated annealing, for trees in segments over links that differ: there a
 * tree is about as good as its worst node is busy, and to relieve that one
 * mostly takes several moves of which the first ones do harm.
 *
 * Moves are drawn from a fixed seed, so that the same network has the same
 * plan.  Harm is accepted the less the later: by exp(-harm / temperature), the
 * temperature falling from HOT to HOT * COOLER^STAGES times the best time so
 * far.  No exp() or pow(): they are not the same in all libraries, and members
 * of a group that plan alike are to get the same tree.
 * Source: Kirkpatrick, Gelatt, Vecchi, Science 220 (1983). */
#include "config.h"
#include <math.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/tree/crl_search.h"

/* To 0.03 of what it was. */
enum { STAGES = 64 };
static const double HOT = 0.01, COOLER = 0.946684;

static bool is_below(const uint32_t *parent, uint32_t root, uint32_t v,
                     uint32_t above)
{
    while (v != root && v != above)
        v = parent[v];
    return v == above;
}

void nf_crl_exchange(uint32_t *parent, uint32_t nodes, uint32_t root,
                     uint32_t v, uint32_t w)
{
    uint32_t of_v = parent[v], of_w = parent[w];

    for (uint32_t u = 0; u < nodes; u++) {
        if (u == root)
            continue;
        if (parent[u] == v)
            parent[u] = w;
        else if (parent[u] == w)
            parent[u] = v;
    }
    parent[v] = of_w == v ? w : of_w;
    parent[w] = of_v == w ? v : of_v;
}

void nf_crl_insert(uint32_t *parent, uint32_t nodes, uint32_t root, uint32_t v,
                   uint32_t w)
{
    uint32_t of_v = parent[v];

    for (uint32_t u = 0; u < nodes; u++)
        if (u != root && parent[u] == v)
            parent[u] = of_v;
    parent[v] = parent[w];
    parent[w] = v;
}

/* Some move.  @return false if those drawn make none */
static bool move(struct nf_rng *rng, uint32_t *parent, uint32_t nodes,
                 uint32_t root)
{
    uint32_t v = (uint32_t)nf_rng_below(rng, nodes);
    uint32_t w = (uint32_t)nf_rng_below(rng, nodes);
    uint64_t kind = nf_rng_below(rng, 3);

    if (v == root || v == w || (kind != 0 && w == root))
        return false;
    if (kind == 0) {
        if (parent[v] == w || is_below(parent, root, w, v))
            return false;
        parent[v] = w;
    } else if (kind == 1) {
        nf_crl_exchange(parent, nodes, root, v, w);
    } else {
        if (parent[w] == v)
            return false;
        nf_crl_insert(parent, nodes, root, v, w);
    }
    return true;
}

/* [0, 1) */
static double unit(struct nf_rng *rng)
{
    return (double)(nf_rng_next(rng) >> 11) * 0x1p-53;
}

/* exp(-x), x >= 0, to a thousandth where that is not next to nothing. */
static double chance(double x)
{
    double part = x / 1024, y = 1 - part + part * part / 2;

    if (x > 30)
        return 0;
    for (int i = 0; i < 10; i++)
        y *= y;
    return y;
}

void nf_crl_anneal(struct nf_crl_search *search, uint32_t trees)
{
    uint32_t n = search->hops->nodes, *parent = search->ldt.parent;
    uint32_t *kept = search->able; /* the tree that is moved from */
    struct nf_rng rng = { 1 };
    double kept_us = search->best_us, heat = HOT;
    uint32_t stage = 0;

    memcpy(kept, search->best_parent, n * sizeof(*kept));
    for (uint32_t k = 0; k < trees; k++) {
        double time_us;

        for (; stage < (uint64_t)k * STAGES / trees; stage++)
            heat *= COOLER;
        memcpy(parent, kept, n * sizeof(*kept));
        if (!move(&rng, parent, n, search->root))
            continue;
        nf_ldt_order(&search->ldt);
        time_us = nf_crl_keeps_leaves(search) ? nf_crl_score(search) : INFINITY;
        if (time_us <= kept_us ||
            unit(&rng) <
                chance((time_us - kept_us) / (heat * search->best_us))) {
            kept_us = time_us;
            memcpy(kept, parent, n * sizeof(*kept));
        }
    }
}
