/* See ldt.h; the order is optimal for one machine, jobs of equal length and
 * delivery tails: Algorithm 1 of Sawahata & Shibusawa.  Jobs whose lengths
 * differ, as ports do, are to be sorted by what is left when the machine is
 * free again. */
#include "config.h"
#include "common/tree/ldt.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/tree/sort.h"

/* Places of more children than that are not tried. */
enum { CHILDREN_MOST = 32 };

enum nf_status nf_ldt_init(struct nf_ldt *ldt_p, uint32_t nodes)
{
    *ldt_p = (struct nf_ldt){ .nodes = nodes };
    ldt_p->parent = nf_calloc(nodes, sizeof(uint32_t));
    ldt_p->order = nf_calloc(nodes, sizeof(uint32_t));
    ldt_p->first = nf_calloc((size_t)nodes + 1, sizeof(uint32_t));
    ldt_p->child = nf_calloc(nodes, sizeof(uint32_t));
    ldt_p->latest = nf_calloc(nodes, sizeof(uint32_t));
    ldt_p->slowest_us = nf_calloc(nodes, sizeof(double));
    ldt_p->tail_us = nf_calloc(nodes, sizeof(double));
    ldt_p->after_us = nf_calloc(nodes, sizeof(double));
    ldt_p->rest_us = nf_calloc(nodes, sizeof(double));
    if (ldt_p->parent != NULL && ldt_p->order != NULL && ldt_p->first != NULL &&
        ldt_p->child != NULL && ldt_p->latest != NULL &&
        ldt_p->slowest_us != NULL && ldt_p->tail_us != NULL &&
        ldt_p->after_us != NULL && ldt_p->rest_us != NULL)
        return NF_OK;
    nf_ldt_fini(ldt_p);
    return NF_ERR_NOMEM;
}

void nf_ldt_fini(struct nf_ldt *ldt)
{
    nf_free(ldt->parent);
    nf_free(ldt->order);
    nf_free(ldt->first);
    nf_free(ldt->child);
    nf_free(ldt->latest);
    nf_free(ldt->slowest_us);
    nf_free(ldt->tail_us);
    nf_free(ldt->after_us);
    nf_free(ldt->rest_us);
    *ldt = (struct nf_ldt){ .nodes = 0 };
}

/* As a tree, which shares its arrays. */
static struct nf_tree tree_of(const struct nf_ldt *ldt)
{
    return (struct nf_tree){ ldt->nodes, ldt->root, ldt->parent, ldt->first,
                             ldt->child };
}

void nf_ldt_order(struct nf_ldt *ldt)
{
    struct nf_tree tree = tree_of(ldt);

    nf_tree_children(&tree, NULL, ldt->nodes);
    nf_tree_order(&tree, ldt->order);
}

static double period_us(const struct nf_ldt *ldt, const struct nf_hops *hops,
                        uint32_t v)
{
    uint32_t begin = ldt->first[v], end = ldt->first[v + 1];
    double hands_us = (end - begin) * hops->send[v], port_us = 0, busy_us = 0;

    if (v != ldt->root) {
        hands_us += hops->recv[v];
        busy_us = nf_hops_in(hops, v);
    }
    if (!hops->is_matrix)
        port_us = (end - begin) * hops->port[0];
    else
        for (uint32_t c = begin; c < end; c++)
            port_us += nf_hops_port(hops, v, ldt->child[c]);
    if (hands_us > busy_us)
        busy_us = hands_us;
    return port_us > busy_us ? port_us : busy_us;
}

/* D(v) with the children in their order.
 * @param latest_p  whose tail decides it */
static double after(const struct nf_ldt *ldt, const struct nf_hops *hops,
                    uint32_t v, uint64_t segments, uint32_t *latest_p)
{
    double after_us = (double)(segments - 1) * ldt->slowest_us[v];
    const uint32_t *children = ldt->child + ldt->first[v];
    uint32_t count = ldt->first[v + 1] - ldt->first[v];
    double port_us = 0;

    *latest_p = NF_TREE_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t child = children[i];
        double hands_us = (i + 1) * hops->send[v];
        double begin_us = port_us > hands_us ? port_us : hands_us;

        port_us = begin_us + nf_hops_port(hops, v, child);
        begin_us = nf_hops_begin(hops, v, child, hands_us, begin_us);
        if (begin_us - ldt->tail_us[child] > after_us) {
            after_us = begin_us - ldt->tail_us[child];
            *latest_p = child;
        }
    }
    return after_us;
}

/* Ports that differ: is it better to have first what takes longest after the
 * sender is free again?  Then so it is. */
static void try_rests(struct nf_ldt *ldt, const struct nf_hops *hops,
                      uint32_t v, uint64_t segments)
{
    uint32_t *child = ldt->child + ldt->first[v];
    uint32_t count = ldt->first[v + 1] - ldt->first[v], latest;
    double after_us;

    for (uint32_t i = 0; i < count; i++)
        ldt->rest_us[child[i]] =
            ldt->tail_us[child[i]] + nf_hops_hold(hops, v, child[i]);
    nf_sort_nodes(child, count, ldt->rest_us);
    after_us = after(ldt, hops, v, segments, &latest);
    if (after_us < ldt->after_us[v]) {
        ldt->after_us[v] = after_us;
        ldt->latest[v] = latest;
    } else {
        nf_sort_nodes(child, count, ldt->tail_us);
    }
}

static void move(uint32_t *child, uint32_t from, uint32_t to)
{
    uint32_t moved = child[from];

    if (from < to)
        memmove(child + from, child + from + 1, (to - from) * sizeof(*child));
    else
        memmove(child + to + 1, child + to, (from - to) * sizeof(*child));
    child[to] = moved;
}

/* Is it better to have that child there?  Then so it is. */
static bool is_better(struct nf_ldt *ldt, const struct nf_hops *hops,
                      uint32_t v, uint64_t segments, uint32_t from, uint32_t to)
{
    uint32_t *child = ldt->child + ldt->first[v], latest;
    double after_us;

    move(child, from, to);
    after_us = after(ldt, hops, v, segments, &latest);
    if (after_us >= ldt->after_us[v]) {
        move(child, to, from);
        return false;
    }
    ldt->after_us[v] = after_us;
    ldt->latest[v] = latest;
    return true;
}

/* The child whose tail decides goes before another, or that one behind it.
 * @return does that help? */
static bool try_place(struct nf_ldt *ldt, const struct nf_hops *hops,
                      uint32_t v, uint64_t segments)
{
    const uint32_t *child = ldt->child + ldt->first[v];
    uint32_t at = 0;

    if (ldt->latest[v] == NF_TREE_NONE)
        return false;
    while (child[at] != ldt->latest[v])
        at++;
    for (uint32_t i = 0; i < at; i++)
        if (is_better(ldt, hops, v, segments, at, i) ||
            is_better(ldt, hops, v, segments, i, at))
            return true;
    return false;
}

/* The children's tails are known: D(v).  tail_us is negated, for sorting. */
static void finish(struct nf_ldt *ldt, const struct nf_hops *hops, uint32_t v,
                   uint64_t segments)
{
    uint32_t *child = ldt->child + ldt->first[v];
    uint32_t count = ldt->first[v + 1] - ldt->first[v];

    nf_sort_nodes(child, count, ldt->tail_us);
    ldt->after_us[v] = after(ldt, hops, v, segments, &ldt->latest[v]);
    /* if it is the longest tail that decides no order is better */
    if (ldt->minds_ports && hops->is_matrix && ldt->latest[v] != NF_TREE_NONE &&
        ldt->latest[v] != child[0]) {
        try_rests(ldt, hops, v, segments);
        /* A port that is shorter than the sender's hands is hidden behind a long one:
         * no key tells of that. */
        while (ldt->tries_places && count <= CHILDREN_MOST &&
               try_place(ldt, hops, v, segments))
            ;
    }
}

double nf_ldt_run(struct nf_ldt *ldt, const struct nf_hops *hops,
                  uint64_t segments)
{
    struct nf_tree tree = tree_of(ldt);
    uint32_t n = ldt->nodes;

    nf_tree_children(&tree, ldt->order, n);
    for (uint32_t k = 0; segments > 1 && k < n; k++) {
        uint32_t v = ldt->order[k];
        double slowest_us = period_us(ldt, hops, v);

        if (v != ldt->root && ldt->slowest_us[ldt->parent[v]] > slowest_us)
            slowest_us = ldt->slowest_us[ldt->parent[v]];
        ldt->slowest_us[v] = slowest_us;
    }
    for (uint32_t k = n; k-- > 0;) {
        uint32_t v = ldt->order[k];

        if (segments == 1)
            ldt->slowest_us[v] = 0;
        finish(ldt, hops, v, segments);
        if (v != ldt->root)
            ldt->tail_us[v] = -(nf_hops_wire(hops, ldt->parent[v], v) +
                                hops->recv[v] + ldt->after_us[v]);
    }
    return ldt->after_us[ldt->root];
}

void nf_ldt_get(const struct nf_ldt *ldt, struct nf_tree *tree)
{
    uint32_t n = ldt->nodes;

    tree->root = ldt->root;
    memcpy(tree->parent, ldt->parent, n * sizeof(*tree->parent));
    tree->parent[ldt->root] = NF_TREE_NONE;
    memcpy(tree->first, ldt->first, ((size_t)n + 1) * sizeof(*tree->first));
    memcpy(tree->child, ldt->child, (n - 1) * sizeof(*tree->child));
}
