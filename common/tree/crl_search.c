/* CRL: which trees are tried.
 *
 * For each weight of a node's send against what it takes to reach it, and each
 * number of relays: relays in order of quality, then all others, the slowest
 * first; each from the open sender that finishes it first.  Weight 0 is ECEF's
 * order, 1 that with look-ahead, infinity that of fastest node first. */
#include "config.h"
#include "common/tree/crl_search.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/tree/make.h"
#include "common/tree/sort.h"

static const double weights[NF_CRL_WEIGHTS] = { 0, 0.5, 1, 2, 4, 8, INFINITY };

/* With many segments there are many sizes and caps, but less to gain. */
static bool is_used(const struct nf_crl_search *s, unsigned weight)
{
    if (s->is_thin)
        return weights[weight] <= 0 || isinf(weights[weight]);
    return s->segments == 1 || weights[weight] <= 0 ||
           (weights[weight] >= 1 && weights[weight] <= 1) ||
           (weights[weight] >= 4 && weights[weight] <= 4) ||
           isinf(weights[weight]);
}

enum nf_status nf_crl_search_init(struct nf_crl_search *search_p,
                                  const struct nf_hops *empty, uint32_t root)
{
    struct nf_crl_search *s = search_p;
    uint32_t nodes = empty->nodes;
    bool ok;

    *s = (struct nf_crl_search){ .root = root };
    s->leaves = nf_calloc(nodes, sizeof(uint32_t));
    s->able = nf_calloc(nodes, sizeof(uint32_t));
    s->receivers = nf_calloc(nodes, sizeof(uint32_t));
    s->is_relay = nf_calloc(nodes, sizeof(bool));
    s->key_us = nf_calloc(nodes, sizeof(double));
    s->mean_wire_us = nf_calloc(nodes, sizeof(double));
    s->least_port_us = nf_calloc(nodes, sizeof(double));
    s->fixed_us = nf_calloc(nodes, sizeof(double));
    s->best_parent = nf_calloc(nodes, sizeof(uint32_t));
    s->best_order = nf_calloc(nodes, sizeof(uint32_t));
    ok = s->leaves != NULL && s->able != NULL && s->receivers != NULL &&
         s->is_relay != NULL && s->key_us != NULL && s->mean_wire_us != NULL &&
         s->least_port_us != NULL && s->fixed_us != NULL &&
         s->best_parent != NULL && s->best_order != NULL &&
         nf_greedy_room_init(&s->room, nodes) == NF_OK &&
         nf_ldt_init(&s->ldt, nodes) == NF_OK &&
         nf_opt_table_init(&s->opt, nodes, 0, 0) == NF_OK;
    if (ok && empty->medium != NULL)
        ok = nf_hub_init(&s->hub, nodes,
                         (nodes - 1) * NF_CRL_SHARED_SEGMENTS) == NF_OK;
    for (unsigned w = 0; w < NF_CRL_WEIGHTS; w++) {
        s->base[w] = nf_calloc(nodes, sizeof(uint32_t));
        ok = ok && s->base[w] != NULL;
    }
    if (!ok) {
        nf_crl_search_fini(s);
        return NF_ERR_NOMEM;
    }
    s->ldt.root = root;
    s->ldt.minds_ports = true;
    for (uint32_t v = 0; v < nodes; v++)
        s->fixed_us[v] = empty->send[v] + empty->recv[v];
    return NF_OK;
}

void nf_crl_search_fini(struct nf_crl_search *search)
{
    nf_free(search->leaves);
    nf_free(search->able);
    nf_free(search->receivers);
    nf_free(search->is_relay);
    nf_free(search->key_us);
    nf_free(search->mean_wire_us);
    nf_free(search->least_port_us);
    nf_free(search->fixed_us);
    nf_free(search->best_parent);
    nf_free(search->best_order);
    for (unsigned w = 0; w < NF_CRL_WEIGHTS; w++)
        nf_free(search->base[w]);
    nf_greedy_room_fini(&search->room);
    nf_ldt_fini(&search->ldt);
    nf_opt_table_fini(&search->opt);
    nf_hub_fini(&search->hub);
    *search = (struct nf_crl_search){ .root = 0 };
}

static void add_wires_to(struct nf_crl_search *s, uint32_t j)
{
    const double *port_us = s->hops->port + nf_hops_at(s->hops, 0, j);
    const double *wire_us = s->hops->wire + nf_hops_at(s->hops, 0, j);
    uint32_t n = s->hops->nodes;
    double mean_us = 0, mean_port_us = s->mean_port_us;

    for (uint32_t i = 0; i < n; i++) {
        if (i == j)
            continue;
        mean_us += wire_us[i] / (n - 1);
        mean_port_us += port_us[i] / n / (n - 1);
        if (wire_us[i] - port_us[i] < s->slack_us)
            s->slack_us = wire_us[i] - port_us[i];
        if (port_us[i] < s->least_port_us[i] && j != s->root)
            s->least_port_us[i] = port_us[i];
    }
    s->mean_wire_us[j] = mean_us;
    s->mean_port_us = mean_port_us;
}

static void set_wires(struct nf_crl_search *s)
{
    const struct nf_hops *hops = s->hops;
    uint32_t n = hops->nodes;

    for (uint32_t v = 0; v < n; v++) {
        s->mean_wire_us[v] = hops->is_matrix ? 0 : hops->wire[0];
        s->least_port_us[v] = hops->is_matrix ? INFINITY : hops->port[0];
    }
    s->slack_us = 0;
    s->mean_port_us = hops->is_matrix ? 0 : hops->port[0];
    if (!hops->is_matrix && hops->wire[0] < hops->port[0])
        s->slack_us = hops->wire[0] - hops->port[0];
    for (uint32_t j = 0; hops->is_matrix && j < n; j++)
        add_wires_to(s, j);
    /* one time for all messages, as of nf_hops_hold() */
    for (uint32_t v = 0; hops->spare != NULL && v < n; v++)
        s->mean_port_us -= hops->spare[v] / NF_HOPS_COPIES / n;
    s->mean_port_us = fmax(s->mean_port_us, 0);
}

void nf_crl_search_set(struct nf_crl_search *search, const struct nf_hops *hops,
                       uint64_t segments)
{
    uint32_t n = hops->nodes;

    search->hops = hops;
    search->segments = segments;
    search->is_thin = hops->is_matrix && segments > 1 &&
                      (hops->nodes > NF_CRL_THIN || hops->medium != NULL);
    search->best_us = search->limit_us = INFINITY;
    search->greatest_period_us = 0;
    set_wires(search);
    for (uint32_t v = 0; v < n; v++)
        search->key_us[v] = -(search->mean_wire_us[v] + hops->recv[v]);
    nf_receivers_all(n, search->root, search->leaves);
    nf_sort_nodes(search->leaves, n - 1, search->key_us);
    for (unsigned w = 0; w < NF_CRL_WEIGHTS; w++) {
        if (!is_used(search, w))
            continue;
        for (uint32_t v = 0; v < n; v++)
            search->key_us[v] = isinf(weights[w])
                                    ? hops->send[v]
                                    : search->mean_wire_us[v] + hops->recv[v] +
                                          weights[w] * hops->send[v];
        nf_receivers_all(n, search->root, search->base[w]);
        nf_sort_nodes(search->base[w], n - 1, search->key_us);
    }
}

static double greatest_period(const struct nf_crl_search *s)
{
    double period_us = 0;

    for (uint32_t v = 0; v < s->hops->nodes; v++)
        period_us = fmax(period_us, s->ldt.slowest_us[v]);
    return period_us;
}

double nf_crl_given_up(struct nf_crl_search *search)
{
    search->greatest_period_us = INFINITY;
    return INFINITY;
}

double nf_crl_time(struct nf_crl_search *search)
{
    const struct nf_ldt *ldt = &search->ldt;
    double time_us = nf_ldt_run(&search->ldt, search->hops, search->segments);
    const struct nf_tree tree = { ldt->nodes, ldt->root, ldt->parent,
                                  ldt->first, ldt->child };

    if (search->hops->medium != NULL)
        time_us = nf_hub_pipe(&search->hub, &tree, ldt->order, search->hops,
                              search->segments, false);
    return time_us;
}

bool nf_crl_settle(struct nf_crl_search *search)
{
    struct nf_ldt *ldt = &search->ldt;
    double time_us = ldt->after_us[search->root];
    bool is_better;

    if (search->hops->medium != NULL || !search->hops->is_matrix)
        return false;
    ldt->tries_places = true;
    is_better = nf_ldt_run(ldt, search->hops, search->segments) < time_us;
    ldt->tries_places = false;
    return is_better;
}

bool nf_crl_keeps_leaves(const struct nf_crl_search *search)
{
    const bool *is_leaf = search->hops->is_leaf;

    for (uint32_t v = 0; is_leaf != NULL && v < search->hops->nodes; v++)
        if (v != search->root && search->ldt.parent[v] != search->root &&
            is_leaf[search->ldt.parent[v]])
            return false;
    return true;
}

double nf_crl_score(struct nf_crl_search *search)
{
    size_t bytes = search->hops->nodes * sizeof(uint32_t);
    double time_us = nf_crl_time(search);

    if (search->segments > 1)
        search->greatest_period_us =
            fmax(search->greatest_period_us, greatest_period(search));
    if (time_us < search->best_us) {
        search->best_us = time_us;
        memcpy(search->best_parent, search->ldt.parent, bytes);
        memcpy(search->best_order, search->ldt.order, bytes);
    }
    return time_us;
}

/* Could v have a child under the cap? */
static bool is_able(const struct nf_crl_search *s, uint32_t v, double cap_us)
{
    return !nf_hops_is_leaf(s->hops, v) &&
           s->hops->recv[v] + s->hops->send[v] <= cap_us &&
           s->least_port_us[v] <= cap_us;
}

/* count * eighths / 8, to the nearest, to the even one if it is half-way */
static uint32_t relays_of(uint32_t count, uint32_t part, uint32_t parts)
{
    uint64_t twice = 2 * (uint64_t)count * part;
    uint32_t whole = (uint32_t)(twice / (2 * parts));
    uint64_t rest = twice % (2 * parts);

    return whole + (rest > parts || (rest == parts && whole % 2 == 1));
}

/* As long as that is too long.  The periods of trees without a cap are to be
 * known, even if they are not the best. */
static double limit_under(const struct nf_crl_search *s, double cap_us)
{
    if (isinf(cap_us) && s->segments > 1)
        return s->limit_us;
    return fmin(s->best_us, s->limit_us);
}

/* The first so many of able are relays.
 * @return the time of the tree, INFINITY if the cap does not allow one */
static double try_relays(struct nf_crl_search *s, uint32_t relays,
                         double cap_us)
{
    const struct nf_greedy how = { .holds_port = true,
                                   .holds_medium = true,
                                   .cap_us = cap_us,
                                   .limit_us = limit_under(s, cap_us),
                                   .segments = s->segments,
                                   .slack_us = s->slack_us };
    uint32_t n = s->hops->nodes, count = 0;

    memset(s->is_relay, 0, n * sizeof(*s->is_relay));
    for (uint32_t k = 0; k < relays; k++) {
        s->receivers[count++] = s->able[k];
        s->is_relay[s->able[k]] = true;
    }
    for (uint32_t k = 0; k + 1 < n; k++)
        if (!s->is_relay[s->leaves[k]])
            s->receivers[count++] = s->leaves[k];
    if (nf_greedy_serve(&how, s->hops, s->receivers, &s->room, &s->ldt) ==
        NF_GREEDY_NONE)
        return nf_crl_given_up(s);
    return nf_crl_score(s);
}

/* Numbers of relays from none to all in one order of quality: in eighths; of segments in
 * quarters, or in halves where few trees are tried. */
static double try_base(struct nf_crl_search *s, const uint32_t *base,
                       bool is_first, double cap_us)
{
    uint32_t parts = s->segments == 1 ? 8 : s->is_thin ? 2 : 4;
    uint32_t count = 0, last = UINT32_MAX;
    double least_us = INFINITY;

    for (uint32_t k = 0; k + 1 < s->hops->nodes; k++)
        if (is_able(s, base[k], cap_us))
            s->able[count++] = base[k];
    for (uint32_t part = 0; part <= parts; part++) {
        uint32_t relays = relays_of(count, part, parts);

        if (relays == last || (relays == 0 && !is_first))
            continue; /* without relays all orders are one */
        last = relays;
        least_us = fmin(least_us, try_relays(s, relays, cap_us));
    }
    return least_us;
}

static double try_pairs(struct nf_crl_search *s, double weight, double cap_us)
{
    const struct nf_greedy how = {
        .holds_port = true,
        .look_ahead = isinf(weight) ? 1e6 : weight,
        .cap_us = cap_us,
        .limit_us = limit_under(s, cap_us),
        .segments = s->segments,
        .slack_us = s->slack_us,
    };

    if (nf_greedy_pairs(&how, s->hops, &s->room, &s->ldt) == NF_GREEDY_NONE)
        return nf_crl_given_up(s);
    return nf_crl_score(s);
}

static bool tries_pairs(const struct nf_crl_search *s, unsigned weight)
{
    if (s->is_thin)
        return weights[weight] <= 0 && s->hops->nodes <= NF_CRL_PAIRS;
    return true;
}

double nf_crl_try_cap(struct nf_crl_search *search, double cap_us)
{
    double least_us = INFINITY;
    bool is_first = true;

    for (unsigned w = 0; w < NF_CRL_WEIGHTS; w++) {
        if (!is_used(search, w))
            continue;
        least_us =
            fmin(least_us, try_base(search, search->base[w], is_first, cap_us));
        if (search->hops->is_matrix && tries_pairs(search, w))
            least_us = fmin(least_us, try_pairs(search, weights[w], cap_us));
        is_first = false;
    }
    return least_us;
}
