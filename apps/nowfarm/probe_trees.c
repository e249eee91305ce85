/* What the model says of some trees, and what they really take.
 *
 * A host that has the message at a sends it on at a, a + H, a + 2 H, ..., H
 * being what a message holds it, or the wire to that child; a child has it T
 * after that.  The OPT-tree is that of equal hosts with h = t_hold and e =
 * t_end at this size: t[1] = 0,  t[i] = min over j of max(t[j] + h (0 for j =
 * 1), t[i-j] + e) a host with i ranks to see to gives the last i - j[i] of them
 * to a child Source: Lee, algorithm 1. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/probe.h"
#include "apps/nowfarm/stats.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

enum { FEW = 4, CHECK_COUNT = 11, CHECK_WARM = 2 };
enum { IDLE_BYTES = 4096, IDLE_MOST_US = 50000 };
static const double check_sizes[PROBE_CHECK_SIZES] = { 1024, 65536 };
static const char *const names[PROBE_SHAPES] = { "star", "chain", "opt" };

/* keep[i] of i <= n: how many of i ranks the one who has them keeps */
static void divide(uint32_t n, double h, double e, uint32_t *keep, double *t)
{
    t[0] = t[1] = 0;
    keep[0] = keep[1] = 0;
    for (uint32_t i = 2; i <= n; i++) {
        t[i] = INFINITY;
        keep[i] = 1;
        for (uint32_t j = 1; j < i; j++) {
            double us = fmax(j > 1 ? t[j] + h : 0, t[i - j] + e);

            if (us <= t[i]) {
                t[i] = us;
                keep[i] = j;
            }
        }
    }
}

/* Ranks at..at + count - 1 are @p at's. */
static void hand_out(struct probe_tree *tree, const uint32_t *keep, uint32_t at,
                     uint32_t count)
{
    while (count > 1) {
        uint32_t child = at + keep[count];

        tree->parent[child] = at;
        hand_out(tree, keep, child, count - keep[count]);
        count = keep[count];
    }
}

/* The largest part is sent first, which is the one furthest up. */
static void order_down(struct probe_tree *tree, uint32_t members)
{
    for (uint32_t i = 0; i < members; i++)
        tree->order[i] = members - 1 - i;
}

static void make_opt(const struct nf_network *network, double bytes,
                     struct probe_tree *tree)
{
    uint32_t n = network->nhosts;
    struct nf_parameterized model;
    double t[NF_NETWORK_HOSTS_MAX + 1];
    uint32_t keep[NF_NETWORK_HOSTS_MAX + 1];

    tree->nodes = n;
    if (nf_parameterized_of(network, &model) != NF_OK)
        return; /* then it is no tree, and nobody is sent to */
    divide(n, nf_curve_us(&model.hold, bytes), nf_curve_us(&model.end, bytes),
           keep, t);
    hand_out(tree, keep, 0, n);
    order_down(tree, n);
}

void probe_make_tree(enum probe_shape shape, const struct nf_network *network,
                     double bytes, struct probe_tree *tree_p)
{
    uint32_t n = network->nhosts;

    tree_p->name = names[shape];
    tree_p->nodes = n < FEW ? n : FEW;
    for (uint32_t i = 0; i < n; i++)
        tree_p->parent[i] = tree_p->order[i] = i;
    for (uint32_t i = 1; i < tree_p->nodes && shape != PROBE_OPT; i++)
        tree_p->parent[i] = shape == PROBE_STAR ? 0 : i - 1;
    if (shape == PROBE_OPT)
        make_opt(network, bytes, tree_p);
}

/* A wire that is slower than its sender's own holds it longer. */
static double hold_us(const struct nf_network *network, uint32_t v,
                      uint32_t child, double bytes)
{
    const struct nf_curve *wire = nf_network_wire(network, v, child);

    return fmax(nf_curve_us(&network->hosts[v].hold, bytes),
                nf_curve_us(wire, bytes) - nf_curve_us(wire, 0));
}

/* @p v has it; when have those it sends to? */
static void predict_below(const struct probe_tree *tree,
                          const struct nf_network *network, double bytes,
                          uint32_t v, double *ready)
{
    double start_us = ready[v];

    for (uint32_t k = 0; k < network->nhosts; k++) {
        uint32_t child = tree->order[k];

        if (child == v || tree->parent[child] != v)
            continue;
        ready[child] = start_us + nf_network_time_us(network, v, child, bytes);
        start_us += hold_us(network, v, child, bytes);
        predict_below(tree, network, bytes, child, ready);
    }
}

void probe_predict(const struct probe_tree *tree,
                   const struct nf_network *network, double bytes,
                   double *ready_p)
{
    for (uint32_t i = 0; i < network->nhosts; i++)
        ready_p[i] = 0;
    predict_below(tree, network, bytes, 0, ready_p);
}

/* ---- and measured ---- */

static bool is_leaf(const struct probe_tree *tree, uint32_t v)
{
    for (uint32_t i = 0; i < tree->nodes; i++)
        if (i != v && tree->parent[i] == v)
            return false;
    return true;
}

/* For the slowest wire to have again what it saves up while idle. */
static uint32_t idle_us(const struct nf_network *network)
{
    double slowest_us = 0;

    for (uint32_t i = 0; i < network->nhosts; i++)
        for (uint32_t j = 0; j < network->nhosts; j++)
            if (i != j)
                slowest_us = fmax(slowest_us,
                                  nf_network_wire(network, i, j)->line.byte_us);
    return (uint32_t)fmin(slowest_us * IDLE_BYTES, IDLE_MOST_US);
}

/* The last one has it when all leaves have; each answers in its own turn, and
 * what the answer takes is known. */
static enum nf_status measure_tree(struct probe *probe, enum probe_kind kind,
                                   const struct probe_tree *tree,
                                   const struct nf_network *network,
                                   double bytes, double *us_p)
{
    static struct probe_result result;
    enum nf_status status = NF_OK;

    *us_p = 0;
    for (uint32_t v = 1; v < tree->nodes && status == NF_OK; v++) {
        const struct probe_act act = { .kind = kind,
                                       .partner = v,
                                       .bytes = (uint32_t)bytes,
                                       .count = CHECK_COUNT,
                                       .warm = CHECK_WARM,
                                       .run = tree->nodes,
                                       .delay_us = idle_us(network) };

        if (!is_leaf(tree, v))
            continue;
        status = probe_carry_out(probe, &act, &result);
        if (status == NF_OK)
            *us_p = fmax(*us_p, stats_median(result.us, result.count) -
                                    nf_network_time_us(network, v, 0, 0));
    }
    return status;
}

static enum nf_status check_tree(struct probe *probe,
                                 const struct nf_network *network,
                                 struct probe_tree *tree, double *ready,
                                 struct probe_check *check)
{
    enum nf_status status;

    snprintf(check->tree, sizeof(check->tree), "%s", tree->name);
    check->nodes = tree->nodes;
    probe_predict(tree, network, check->bytes, ready);
    for (uint32_t i = 0; i < tree->nodes; i++)
        check->predicted_us = fmax(check->predicted_us, ready[i]);
    status = probe_plant(probe, tree->parent, tree->order);
    if (status == NF_OK)
        status = measure_tree(probe, PROBE_TURNS, tree, network, check->bytes,
                              &check->measured_us);
    if (status == NF_OK)
        status = measure_tree(probe, PROBE_TREE, tree, network, check->bytes,
                              &check->at_once_us);
    return status;
}

enum nf_status probe_validate(struct probe *probe,
                              const struct nf_network *network, bool quiet,
                              struct probe_check *checks_p)
{
    uint32_t n = network->nhosts;
    double *ready = nf_calloc(n, sizeof(*ready));
    struct probe_tree tree = { .parent = nf_calloc(n, sizeof(uint32_t)),
                               .order = nf_calloc(n, sizeof(uint32_t)) };
    enum nf_status status =
        ready != NULL && tree.parent != NULL && tree.order != NULL
            ? NF_OK
            : nf_fail(probe->err, NF_ERR_NOMEM, "out of memory");

    for (uint32_t i = 0; i < PROBE_CHECKS && status == NF_OK; i++) {
        double bytes = check_sizes[i % PROBE_CHECK_SIZES];

        probe_show_progress(quiet, "trees", (double)i / PROBE_CHECKS);
        checks_p[i] = (struct probe_check){ .bytes = bytes };
        probe_make_tree((enum probe_shape)(i / PROBE_CHECK_SIZES), network,
                        bytes, &tree);
        status = check_tree(probe, network, &tree, ready, &checks_p[i]);
    }
    probe_show_progress(quiet, NULL, 0);
    nf_free(ready);
    nf_free(tree.parent);
    nf_free(tree.order);
    return status;
}
