/* What CRL must not be worse than. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "common/tree/crl_search.h"
#include "common/tree/hnow.h"
#include "common/tree/make.h"
#include "common/tree/sort.h"
#include "common/tree/uniform.h"

/* ---- ECEF, as published and waiting for ports ---- */

/* @param end_p  what came of it
 * @retval NF_ERR_NOMEM */
static enum nf_status run(struct nf_crl_search *s,
                          const struct nf_heuristic *heuristic, double limit_us,
                          enum nf_greedy_end *end_p)
{
    nf_receivers_fn *receivers = nf_heuristic_receivers(heuristic, s->hops);
    struct nf_greedy how = heuristic->how;

    how.limit_us = limit_us;
    how.segments = s->segments;
    how.slack_us = s->slack_us;
    if (receivers == NULL)
        *end_p = nf_greedy_pairs(&how, s->hops, &s->room, &s->ldt);
    else if (receivers(s->hops, s->root, s->receivers) == NF_OK)
        *end_p =
            nf_greedy_serve(&how, s->hops, s->receivers, &s->room, &s->ldt);
    else
        return NF_ERR_NOMEM;
    return NF_OK;
}

/* Needs no memory. */
static bool ecef(struct nf_crl_search *s, bool holds_port, double limit_us)
{
    enum nf_greedy_end end = NF_GREEDY_NONE;

    run(s, holds_port ? &nf_heuristic_ecef_ports : &nf_heuristic_ecef, limit_us,
        &end);
    if (end == NF_GREEDY_NONE)
        nf_crl_given_up(s);
    return end != NF_GREEDY_NONE;
}

/* Without a limit: with ports it counts longer times than its tree takes. */
static enum nf_status exact(struct nf_crl_search *s, bool *is_there_p)
{
    struct nf_tree tree;
    double time_us = 0;
    enum nf_status status;

    *is_there_p = false;
    if (s->hops->nodes > NF_CRL_EXACT)
        return NF_OK;
    status = nf_tree_exact(s->hops, s->root, false, &tree, &time_us);
    if (status != NF_OK)
        return status;
    memcpy(s->ldt.parent, tree.parent, s->hops->nodes * sizeof(uint32_t));
    s->ldt.parent[s->root] = s->root;
    nf_tree_order(&tree, s->ldt.order);
    nf_tree_fini(&tree);
    *is_there_p = nf_crl_keeps_leaves(s);
    return NF_OK;
}

enum nf_status nf_crl_heuristic(struct nf_crl_search *search, unsigned which,
                                double limit_us, bool *is_there_p)
{
    static const struct nf_heuristic *const heuristics[NF_CRL_HEURISTIC_EXACT] = {
        &nf_heuristic_fef, &nf_heuristic_ecef,       &nf_heuristic_ecef_la,
        &nf_heuristic_fnf, &nf_heuristic_ecef_ports,
    };
    enum nf_greedy_end end = NF_GREEDY_NONE;
    enum nf_status status;

    if (which == NF_CRL_HEURISTIC_EXACT)
        return exact(search, is_there_p);
    status = run(search, heuristics[which], limit_us, &end);
    *is_there_p = end != NF_GREEDY_NONE;
    return status;
}

/* ---- chains ---- */

/* Whom v's follower has it from, if @p last is whom v has it from. */
static uint32_t link_of(const struct nf_crl_search *s, uint32_t v,
                        uint32_t last)
{
    return nf_hops_is_leaf(s->hops, v) ? last : v;
}

/* By what it takes to pass a message on: parts of it, as bits. */
enum { BY_RECV = 1, BY_SEND = 2, BY_WIRE = 4, BY_FIXED = 8 };

static void chain(struct nf_crl_search *s, unsigned by)
{
    uint32_t n = s->hops->nodes, last = s->root;

    for (uint32_t v = 0; v < n; v++)
        s->key_us[v] = ((by & BY_RECV) != 0 ? s->hops->recv[v] : 0) +
                       ((by & BY_SEND) != 0 ? s->hops->send[v] : 0) +
                       ((by & BY_WIRE) != 0 ? s->mean_wire_us[v] : 0) +
                       ((by & BY_FIXED) != 0 ? s->fixed_us[v] : 0);
    nf_receivers_all(n, s->root, s->receivers);
    nf_sort_nodes(s->receivers, n - 1, s->key_us);
    s->ldt.order[0] = s->root;
    for (uint32_t k = 0; k + 1 < n; k++) {
        s->ldt.order[k + 1] = s->receivers[k];
        s->ldt.parent[s->receivers[k]] = last;
        last = link_of(s, s->receivers[k], last);
    }
}

/* Always on to whom it takes the least to reach. */
static void chain_of_nearest(struct nf_crl_search *s)
{
    uint32_t n = s->hops->nodes, last = s->root;

    nf_receivers_all(n, s->root, s->receivers);
    s->ldt.order[0] = s->root;
    for (uint32_t left = n - 1; left > 0; left--) {
        uint32_t best = 0, next;

        for (uint32_t k = 1; k < left; k++)
            if (nf_hops_time(s->hops, last, s->receivers[k]) <
                nf_hops_time(s->hops, last, s->receivers[best]))
                best = k;
        next = s->receivers[best];
        s->receivers[best] = s->receivers[left - 1];
        s->ldt.order[n - left] = next;
        s->ldt.parent[next] = last;
        last = link_of(s, next, last);
    }
}

/* One sender: where all share a medium that may be as good as any, and nobody
 * has to pass anything on. */
static void star(struct nf_crl_search *s)
{
    uint32_t n = s->hops->nodes;

    nf_receivers_all(n, s->root, s->receivers);
    s->ldt.order[0] = s->root;
    for (uint32_t k = 0; k + 1 < n; k++) {
        s->ldt.order[k + 1] = s->receivers[k];
        s->ldt.parent[s->receivers[k]] = s->root;
    }
}

/* ---- OPT-tree for nodes that are all as the mean one ---- */

/* hold and end of that one */
static void mean_costs(const struct nf_crl_search *s, double *hold_us_p,
                       double *end_us_p)
{
    const struct nf_hops *hops = s->hops;
    uint32_t n = hops->nodes;
    double hold_us = 0, end_us = 0;

    for (uint32_t v = 0; v < n; v++) {
        hold_us += fmax(hops->send[v], s->mean_port_us) / n;
        end_us += (hops->send[v] + s->mean_wire_us[v] + hops->recv[v]) / n;
    }
    *hold_us_p = hold_us;
    *end_us_p = end_us;
}

/* Its OPT-tree.  The table counts in whole numbers: so fine ones that nothing
 * is lost. */
static void set_table(struct nf_crl_search *s)
{
    double hold_us, end_us, most_us;

    mean_costs(s, &hold_us, &end_us);
    most_us = fmax(hold_us, end_us);
    if (most_us > 0) {
        hold_us *= (double)NF_UNIFORM_TIME_MAX / most_us;
        end_us *= (double)NF_UNIFORM_TIME_MAX / most_us;
    }
    nf_opt_table_set(&s->opt, llround(fmin(hold_us, NF_UNIFORM_TIME_MAX)),
                     llround(fmin(end_us, NF_UNIFORM_TIME_MAX)));
}

/* Position 0 is the root's.  sizes and parents of all positions. */
static void opt_positions(uint32_t n, const uint32_t *kept, uint32_t *size,
                          uint32_t *parent)
{
    size[0] = n;
    for (uint32_t p = 0; p < n; p++) /* a child's position is greater */
        for (uint32_t i = size[p]; i > 1; i = kept[i]) {
            parent[p + kept[i]] = p;
            size[p + kept[i]] = i - kept[i];
        }
}

/* receivers[k] gets the position with the k-th largest subtree, or if not by
 * size position k + 1. */
static void opt_place(struct nf_crl_search *s, bool by_size,
                      const uint32_t *size, const uint32_t *parent,
                      uint32_t *at)
{
    uint32_t n = s->hops->nodes;
    double *key = s->room.free_us; /* of positions: free between trees */
    uint32_t *node = s->room.from;

    for (uint32_t p = 0; p < n; p++)
        key[p] = by_size ? -(double)size[p] : 0;
    key[0] = -INFINITY;
    for (uint32_t p = 0; p < n; p++)
        at[p] = p;
    nf_sort_nodes(at, n, key);
    node[0] = s->root;
    for (uint32_t k = 0; k + 1 < n; k++)
        node[at[k + 1]] = s->receivers[k];
    for (uint32_t p = 0; p < n; p++) {
        s->ldt.order[p] = node[p];
        if (p > 0)
            s->ldt.parent[node[p]] = node[parent[p]];
    }
}

/* They get the smallest subtrees. */
static void leaves_last(struct nf_crl_search *s)
{
    uint32_t n = s->hops->nodes, count = 0, leaves = 0;

    for (uint32_t k = 0; s->hops->is_leaf != NULL && k + 1 < n; k++)
        if (nf_hops_is_leaf(s->hops, s->receivers[k]))
            s->room.left[leaves++] = s->receivers[k];
        else
            s->receivers[count++] = s->receivers[k];
    for (uint32_t k = 0; k < leaves; k++)
        s->receivers[count + k] = s->room.left[k];
}

static void opt_of_mean(struct nf_crl_search *s, bool by_size)
{
    uint32_t n = s->hops->nodes;

    if (by_size)
        chain(s, BY_RECV | BY_SEND); /* sorts receivers */
    else
        nf_receivers_all(n, s->root, s->receivers);
    leaves_last(s);
    set_table(s);
    opt_positions(n, s->opt.keep, s->room.degree, s->room.seen);
    opt_place(s, by_size, s->room.degree, s->room.seen, s->room.left);
}

bool nf_crl_rival(struct nf_crl_search *search, unsigned which, double limit_us)
{
    static const unsigned chains[] = { BY_RECV, BY_SEND, BY_RECV | BY_SEND,
                                       BY_RECV | BY_SEND | BY_WIRE, BY_FIXED };

    if (which < 2)
        return ecef(search, which == 1, limit_us);
    if (which < 4)
        opt_of_mean(search, which == 3);
    else if (which < 9)
        chain(search, chains[which - 4]);
    else if (which == 9 && search->hops->is_matrix)
        chain_of_nearest(search);
    else if (which == 10 && search->hops->medium != NULL)
        star(search);
    else
        return false;
    return nf_crl_keeps_leaves(search);
}
