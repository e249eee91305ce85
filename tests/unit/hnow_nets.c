#include "config.h"
#include "tests/unit/hnow_nets.h"
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/tree/hnow.h"
#include "common/tree/sort.h"
#include "common/tree/times.h"
#include "common/tree/uniform.h"
#include "sim/hnow.h"

json_t *hnow_golden(void)
{
    json_error_t error;
    json_t *golden =
        json_load_file(NF_SRCDIR "/tests/golden/hnow.json", 0, &error);

    if (golden == NULL)
        printf("hnow.json:%d: %s\n", error.line, error.text);
    return golden;
}

void hnow_net(const json_t *row, uint64_t seed, struct nf_hetero *hetero_p,
              uint32_t *root_p)
{
    const char *generator =
        json_string_value(json_object_get(row, "generator"));
    uint32_t n = (uint32_t)json_integer_value(json_object_get(row, "n"));
    bool is_matrix = generator != NULL && strcmp(generator, "matrix_net") == 0;

    CU_ASSERT(nf_hnow_draw(seed, n, is_matrix, hetero_p, root_p) == NF_OK);
    hetero_p->has_ports = json_is_true(json_object_get(row, "ports"));
}

static double number(const json_t *object, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(object, key), i));
}

void hnow_params(const json_t *params, struct nf_hetero *hetero_p,
                 uint32_t *root_p)
{
    const json_t *fixed = json_object_get(params, "X_c");
    const json_t *byte = json_object_get(params, "X_m");
    uint32_t n = (uint32_t)json_array_size(json_object_get(params, "S_c"));

    CU_ASSERT(nf_hetero_init(hetero_p, n, json_is_array(fixed)) == NF_OK);
    *root_p = (uint32_t)json_integer_value(json_object_get(params, "root"));
    for (uint32_t i = 0; i < n; i++) {
        hetero_p->send[i] = (struct nf_cost){ number(params, "S_c", i),
                                              number(params, "S_m", i) };
        hetero_p->recv[i] = (struct nf_cost){ number(params, "R_c", i),
                                              number(params, "R_m", i) };
    }
    if (!hetero_p->is_matrix) {
        hetero_p->wire[0] = (struct nf_cost){ json_number_value(fixed),
                                              json_number_value(byte) };
        return;
    }
    for (uint32_t k = 0; k < n * n; k++) {
        const json_t *fixed_row = json_array_get(fixed, k / n);
        const json_t *byte_row = json_array_get(byte, k / n);

        hetero_p->wire[k] = (struct nf_cost){
            json_number_value(json_array_get(fixed_row, k % n)),
            json_number_value(json_array_get(byte_row, k % n)),
        };
    }
}

void hnow_alike(uint32_t n, double send, double wire, double recv,
                struct nf_hetero *hetero_p)
{
    CU_ASSERT(nf_hetero_init(hetero_p, n, false) == NF_OK);
    hetero_p->wire[0].fixed_us = wire;
    for (uint32_t v = 0; v < n; v++) {
        hetero_p->send[v].fixed_us = send;
        hetero_p->recv[v].fixed_us = recv;
    }
}

/* ---- builders ---- */

static enum nf_status build(const struct nf_hops *hops, uint32_t root,
                            const uint32_t *sender, const uint32_t *receiver,
                            struct nf_tree *tree_p)
{
    enum nf_status status = nf_tree_init(tree_p, hops->nodes, root);

    if (status == NF_OK)
        status = nf_tree_build(tree_p, sender, receiver, NULL);
    return status;
}

enum nf_status hnow_chain(const struct nf_hops *hops, uint32_t root,
                          bool is_blocking, struct nf_tree *tree_p)
{
    uint32_t n = hops->nodes, count = 0;
    uint32_t *nodes = calloc(n + 1, sizeof(*nodes));
    double *key = calloc(n, sizeof(*key));
    enum nf_status status;

    (void)is_blocking;
    nodes[0] = root;
    for (uint32_t v = 0; v < n; v++) {
        key[v] = hops->recv[v] + hops->send[v];
        if (v != root)
            nodes[1 + count++] = v;
    }
    nf_sort_nodes(nodes + 1, n - 1, key);
    status = build(hops, root, nodes, nodes + 1, tree_p);
    free(nodes);
    free(key);
    return status;
}

/* Parent: the lowest bit cleared; ranks: the root, then the others in order. */
enum nf_status hnow_binomial(const struct nf_hops *hops, uint32_t root,
                             bool is_blocking, struct nf_tree *tree_p)
{
    uint32_t n = hops->nodes, count = 1;
    uint32_t *node_at = calloc(n, sizeof(*node_at));
    struct nf_uniform_args args = {
        .nodes = n, .root = root, .node_at = node_at, .uniform = { .ports = 1 }
    };
    enum nf_status status;

    (void)is_blocking;
    node_at[0] = root;
    for (uint32_t v = 0; v < n; v++)
        if (v != root)
            node_at[count++] = v;
    status = nf_uniform_make(&nf_uniform_binomial_bits, &args, tree_p, NULL);
    free(node_at);
    return status;
}

/* In 2^-20 us. */
static struct nf_uniform mean_of_hosts(const struct nf_hops *hops)
{
    uint32_t n = hops->nodes;
    double port_us = 0, hold_us = 0, end_us = 0;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (i != j) {
                port_us += nf_hops_port(hops, i, j) / n / (n - 1);
                end_us += nf_hops_time(hops, i, j) / n / (n - 1);
            }
    for (uint32_t i = 0; i < n; i++)
        hold_us += fmax(hops->send[i], port_us) / n;
    return (struct nf_uniform){ .hold = llround(0x1p20 * hold_us),
                                .end = llround(0x1p20 * end_us),
                                .ports = 1 };
}

/* How many nodes are below each, itself included. */
static void count_below(const struct nf_tree *tree, uint32_t *below)
{
    uint32_t n = tree->nodes;
    uint32_t *order = calloc(n, sizeof(*order));

    nf_tree_order(tree, order);
    for (uint32_t k = n; k-- > 0;) {
        below[order[k]]++;
        if (k > 0)
            below[tree->parent[order[k]]] += below[order[k]];
    }
    free(order);
}

static enum nf_status opt_of_mean(const struct nf_hops *hops, uint32_t root,
                                  bool by_size, struct nf_tree *tree_p)
{
    uint32_t n = hops->nodes, count = 0;
    struct nf_uniform_args args = { .nodes = n,
                                    .uniform = mean_of_hosts(hops) };
    uint32_t *node_at = calloc(n, sizeof(*node_at));
    uint32_t *ranks = calloc(n, sizeof(*ranks));
    uint32_t *below = calloc(n, sizeof(*below)), *nodes = node_at + 1;
    double *key = calloc(n, sizeof(*key));
    enum nf_status status;

    for (uint32_t v = 0; v < n; v++)
        if (v != root)
            nodes[count++] = v;
    node_at[0] = root;
    if (by_size) {
        struct nf_tree by_rank;
        uint32_t *sorted = calloc(n, sizeof(*sorted));

        CU_ASSERT(nf_uniform_make(&nf_uniform_opt, &args, &by_rank, NULL) ==
                  NF_OK);
        count_below(&by_rank, below);
        nf_tree_fini(&by_rank);
        for (uint32_t v = 0; v < n; v++)
            key[v] = hops->send[v] + hops->recv[v];
        nf_sort_nodes(nodes, n - 1, key);
        memcpy(sorted, nodes, (n - 1) * sizeof(*sorted));
        for (uint32_t r = 0; r < n; r++) {
            ranks[r] = r;
            key[r] = -(double)below[r];
        }
        nf_sort_nodes(ranks + 1, n - 1, key);
        for (uint32_t k = 0; k + 1 < n; k++)
            node_at[ranks[k + 1]] = sorted[k];
        free(sorted);
    }
    args.root = root;
    args.node_at = node_at;
    status = nf_uniform_make(&nf_uniform_opt, &args, tree_p, NULL);
    free(node_at);
    free(ranks);
    free(below);
    free(key);
    return status;
}

enum nf_status hnow_opt_by_number(const struct nf_hops *hops, uint32_t root,
                                  bool is_blocking, struct nf_tree *tree_p)
{
    (void)is_blocking;
    return opt_of_mean(hops, root, false, tree_p);
}

enum nf_status hnow_opt_by_size(const struct nf_hops *hops, uint32_t root,
                                bool is_blocking, struct nf_tree *tree_p)
{
    (void)is_blocking;
    return opt_of_mean(hops, root, true, tree_p);
}

double hnow_best_us(hnow_builder *builder, const struct nf_hetero *hetero,
                    uint32_t root, uint64_t bytes, bool segments)
{
    double least_us = INFINITY;
    uint64_t segment = bytes;
    struct nf_hops hops;

    CU_ASSERT(nf_hops_init(&hops, hetero, (double)bytes) == NF_OK);
    do {
        uint64_t count = nf_segment_count(bytes, segment);
        struct nf_tree tree;
        double time_us = 0;

        /* the goldens' chain is sorted by what messages of 0 bytes cost */
        nf_hops_set_segments(&hops, hetero,
                             builder == hnow_chain ? 0 : (double)segment,
                             count);
        CU_ASSERT(builder(&hops, root, false, &tree) == NF_OK);
        nf_hops_set_segments(&hops, hetero, (double)segment, count);
        CU_ASSERT(nf_tree_reorder(&tree, &hops, count, &time_us) == NF_OK);
        least_us = fmin(least_us, time_us);
        nf_tree_fini(&tree);
        segment = segments ? nf_segment_next(segment, NF_CRL_SEGMENT) : 0;
    } while (segment > 0);
    nf_hops_fini(&hops);
    return least_us;
}

/* ---- two other ways to the optimum ---- */

/* The tree of a Pruefer code, parents away from the root. */
static void decode(const uint32_t *code, uint32_t n, struct nf_tree *tree)
{
    uint32_t degree[8], next[8][8], queue[8], from[8], nqueue = 1;
    uint32_t sender[8], receiver[8], used[8] = { 0 };

    for (uint32_t v = 0; v < n; v++)
        degree[v] = 1;
    for (uint32_t k = 0; k + 2 < n; k++)
        degree[code[k]]++;
    for (uint32_t k = 0; k + 1 < n; k++) {
        uint32_t leaf = 0, to;

        while (degree[leaf] != 1)
            leaf++;
        to = n; /* the last edge: to the other one that is left */
        if (k + 2 < n)
            to = code[k];
        else
            for (uint32_t v = 0; v < n; v++)
                if (v != leaf && degree[v] == 1)
                    to = v;
        degree[leaf]--;
        degree[to]--;
        next[leaf][used[leaf]++] = to;
        next[to][used[to]++] = leaf;
    }
    queue[0] = tree->root;
    from[0] = n;
    for (uint32_t k = 0; k < nqueue; k++)
        for (uint32_t e = 0; e < used[queue[k]]; e++)
            if (next[queue[k]][e] != from[k]) {
                sender[nqueue - 1] = queue[k];
                receiver[nqueue - 1] = next[queue[k]][e];
                from[nqueue] = queue[k];
                queue[nqueue++] = next[queue[k]][e];
            }
    CU_ASSERT(nf_tree_build(tree, sender, receiver, NULL) == NF_OK);
}

static double best_of_all(const struct nf_hops *hops, uint32_t root,
                          uint64_t segments)
{
    uint32_t n = hops->nodes, code[8] = { 0 }, k = 0;
    double least_us = INFINITY;
    struct nf_tree tree;

    CU_ASSERT(nf_tree_init(&tree, n, root) == NF_OK);
    do {
        double time_us = 0;

        decode(code, n, &tree);
        CU_ASSERT(nf_tree_reorder(&tree, hops, segments, &time_us) == NF_OK);
        least_us = fmin(least_us, time_us);
        for (k = 0; k + 2 < n && ++code[k] == n; k++)
            code[k] = 0;
    } while (k + 2 < n);
    nf_tree_fini(&tree);
    return least_us;
}

double hnow_enumerate_us(const struct nf_hetero *hetero, uint32_t root,
                         uint64_t bytes, bool segments)
{
    double least_us = INFINITY;
    uint64_t segment = bytes;
    struct nf_hops hops;

    CU_ASSERT(nf_hops_init(&hops, hetero, (double)bytes) == NF_OK);
    do {
        nf_hops_set(&hops, hetero, (double)segment);
        least_us =
            fmin(least_us,
                 best_of_all(&hops, root, nf_segment_count(bytes, segment)));
        segment = segments ? nf_segment_next(segment, NF_CRL_SEGMENT) : 0;
    } while (segment > 0);
    nf_hops_fini(&hops);
    return least_us;
}

/* Deliveries so far.  Senders are done in ascending order: one that could have
 * been done before the last one, and was not asked, has retired. */
struct branch {
    const struct nf_hops *hops;
    bool is_blocking;
    double free_us[16]; /* of those reached, INFINITY: retired or not reached */
    bool is_reached[16];
    uint32_t left;
    double best_us;
};

static void descend(struct branch *b, double from_us, double latest_us)
{
    uint32_t n = b->hops->nodes;

    if (b->left == 0) {
        b->best_us = fmin(b->best_us, latest_us);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n && b->is_reached[i]; j++) {
            double was_us = b->free_us[i], at_us, done_us;

            if (b->is_reached[j] || isinf(was_us))
                continue;
            at_us = was_us + nf_hops_time(b->hops, i, j);
            done_us = b->is_blocking ? at_us
                                     : was_us + nf_hops_hold(b->hops, i, j);
            if (at_us >= b->best_us || done_us < from_us)
                continue;
            b->free_us[i] = done_us;
            b->free_us[j] = at_us;
            b->is_reached[j] = true;
            b->left--;
            descend(b, done_us, fmax(latest_us, at_us));
            b->left++;
            b->is_reached[j] = false;
            b->free_us[j] = INFINITY;
            b->free_us[i] = was_us;
        }
}

double hnow_branch_us(const struct nf_hops *hops, uint32_t root,
                      bool is_blocking)
{
    struct branch b = { .hops = hops,
                        .is_blocking = is_blocking,
                        .left = hops->nodes - 1,
                        .best_us = INFINITY };

    for (uint32_t v = 0; v < hops->nodes; v++)
        b.free_us[v] = INFINITY;
    b.free_us[root] = 0;
    b.is_reached[root] = true;
    descend(&b, 0, 0);
    return b.best_us;
}

bool hnow_is_tree(const struct nf_tree *tree)
{
    uint32_t n = tree->nodes, reached = 1;
    uint32_t *order = calloc(n, sizeof(*order));
    bool *seen = calloc(n, sizeof(*seen));
    bool ok = tree->first[0] == 0 && tree->first[n] == n - 1 &&
              tree->parent[tree->root] == NF_TREE_NONE;

    order[0] = tree->root;
    seen[tree->root] = true;
    for (uint32_t k = 0; ok && k < reached; k++)
        for (uint32_t c = tree->first[order[k]];
             ok && c < tree->first[order[k] + 1]; c++) {
            uint32_t v = tree->child[c];

            ok = v < n && !seen[v] && tree->parent[v] == order[k];
            if (ok) {
                seen[v] = true;
                order[reached++] = v;
            }
        }
    ok = ok && reached == n;
    free(order);
    free(seen);
    return ok;
}
