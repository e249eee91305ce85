/* Local search: only moves that touch what decides the time can help, which is
 * the path from the root to the node that is last.  A node of it goes to
 * another parent or changes places with another node, or one that is served
 * before it goes elsewhere, or it leaves its place to those below it.  Whatever
 * helps is kept, and all begins anew. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "common/tree/crl_search.h"
#include "common/tree/sort.h"

/* Annealing tries so many trees for each that may be tried otherwise; of more
 * nodes than FEW fewer: it takes longer to try one, and more of them to get
 * anywhere. */
enum { ANNEALED = 64, FEW = 16 };

struct polish {
    struct nf_crl_search *search;
    uint32_t *parent; /* the tree to be improved, and what is tried */
    double time_us;   /* of the former */
    uint32_t left;    /* trees to try */
    uint32_t *path;   /* what decides its time, without the root */
    uint32_t npath;
    uint32_t *early; /* nodes, who could serve one more first */
};

/* Run the tree in ldt->parent. */
static double run(const struct polish *p)
{
    nf_ldt_order(&p->search->ldt);
    return nf_crl_time(p->search);
}

/* The tree in ldt->parent was tried.  Does it help?  Otherwise the caller puts
 * it back. */
static bool helps(struct polish *p)
{
    double time_us;

    p->left--;
    if (!nf_crl_keeps_leaves(p->search))
        return false;
    time_us = run(p);
    if (time_us >= p->time_us)
        return false;
    p->time_us = time_us;
    return true;
}

static bool is_below(const struct polish *p, uint32_t v, uint32_t above)
{
    while (v != p->search->root && v != above)
        v = p->parent[v];
    return v == above;
}

static bool attach(struct polish *p, uint32_t v, uint32_t to)
{
    uint32_t from = p->parent[v];

    if (p->left == 0 || to == from || is_below(p, to, v))
        return false;
    p->parent[v] = to;
    if (helps(p))
        return true;
    p->parent[v] = from;
    return false;
}

/* v and w, neither the root, change places; doing it again undoes it. */
static void exchange(struct polish *p, uint32_t v, uint32_t w)
{
    nf_crl_exchange(p->parent, p->search->hops->nodes, p->search->root, v, w);
}

static bool change_places(struct polish *p, uint32_t v, uint32_t w)
{
    if (p->left == 0 || v == w || w == p->search->root)
        return false;
    exchange(p, v, w);
    if (helps(p))
        return true;
    exchange(p, v, w);
    return false;
}

/* v leaves its place to its children and comes between w and its parent. */
static bool insert(struct polish *p, uint32_t v, uint32_t w, uint32_t *saved)
{
    uint32_t n = p->search->hops->nodes, root = p->search->root;

    if (p->left == 0 || v == w || w == root || p->parent[w] == v)
        return false;
    memcpy(saved, p->parent, n * sizeof(*saved));
    nf_crl_insert(p->parent, n, root, v, w);
    if (helps(p))
        return true;
    memcpy(p->parent, saved, n * sizeof(*saved));
    return false;
}

/* When v's port is free for w, its i-th child, if it was as long for the others. */
static double begin_of(const struct nf_hops *hops, uint32_t v, uint32_t w,
                       uint32_t i)
{
    double port_us = nf_hops_port(hops, v, w), spare_us = nf_hops_spare(hops, v);

    return spare_us > 0 ? nf_hops_behind(port_us, spare_us, i * port_us)
                        : i * port_us;
}

/* Where the time of the tree in ldt comes from, and who is early in it. */
static void look(struct polish *p)
{
    struct nf_ldt *ldt = &p->search->ldt;
    const struct nf_hops *hops = p->search->hops;
    double *ready_us = p->search->room.free_us;
    double *key_us = p->search->room.key_us;

    p->time_us = run(p);
    p->npath = 0;
    for (uint32_t v = ldt->latest[ldt->root]; v != NF_TREE_NONE;
         v = ldt->latest[v])
        p->path[p->npath++] = v;
    ready_us[ldt->root] = 0;
    for (uint32_t k = 0; k < hops->nodes; k++) {
        uint32_t v = ldt->order[k], i = 0;
        uint32_t begin = ldt->first[v], end = ldt->first[v + 1];

        for (uint32_t c = begin; c < end; c++, i++)
            ready_us[ldt->child[c]] =
                ready_us[v] +
                fmax(i * hops->send[v],
                     begin_of(hops, v, ldt->child[c], i)) +
                nf_hops_time(hops, v, ldt->child[c]);
        key_us[v] = ready_us[v] + (double)(i + 1) * hops->send[v];
        p->early[k] = v;
    }
    nf_sort_nodes(p->early, hops->nodes, key_us);
}

/* One that is served before v by the same parent, sent to w? */
static bool move_elder(struct polish *p, uint32_t v, uint32_t w)
{
    const struct nf_ldt *ldt = &p->search->ldt;
    uint32_t of_v = p->parent[v];
    uint32_t elders = 0, elder[8];

    /* the run of a tree that did not help has reordered them, more or less */
    for (uint32_t c = ldt->first[of_v]; c < ldt->first[of_v + 1] && elders < 8;
         c++)
        if (ldt->child[c] != v && p->parent[ldt->child[c]] == of_v)
            elder[elders++] = ldt->child[c];
    for (uint32_t k = 0; k < elders; k++)
        if (attach(p, elder[k], w))
            return true;
    return false;
}

/* @return false if no move helps */
static bool improve(struct polish *p)
{
    look(p);
    for (uint32_t k = 0; k < p->search->hops->nodes && p->left > 0; k++) {
        uint32_t w = p->early[k];

        for (uint32_t i = p->npath; i-- > 0;) {
            uint32_t v = p->path[i];

            if (attach(p, v, w) || change_places(p, v, w) ||
                insert(p, v, w, p->search->room.left) || move_elder(p, v, w))
                return true;
        }
    }
    return false;
}

static uint32_t annealed(uint32_t trees, uint64_t nodes)
{
    if (nodes < FEW)
        nodes = FEW;
    return (uint32_t)((uint64_t)trees * ANNEALED * FEW * FEW / (nodes * nodes));
}

void nf_crl_polish(struct nf_crl_search *search, uint32_t trees)
{
    struct polish p = { .search = search,
                        .parent = search->ldt.parent,
                        .left = trees,
                        .path = search->receivers,
                        .early = search->able };
    uint32_t nodes = search->hops->nodes;
    size_t bytes = nodes * sizeof(uint32_t);

    memcpy(p.parent, search->best_parent, bytes);
    nf_ldt_order(&search->ldt);
    nf_crl_score(search);
    if (nf_crl_tries_all(search)) {
        nf_crl_all(search);
        return;
    }
    /* on a medium one tree takes longer to try, and trees differ less */
    if (search->hops->is_matrix && search->segments > 1 &&
        search->hops->medium == NULL)
        nf_crl_anneal(search, annealed(trees, nodes));
    memcpy(p.parent, search->best_parent, bytes);
    while (p.left > 0 && improve(&p))
        continue;
    nf_ldt_order(&search->ldt);
    nf_crl_score(search);
}
