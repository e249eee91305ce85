/* The model of hosts that are alike, and what the builders of trees for them
 * have in common. */
#include "config.h"
#include "common/tree/uniform.h"
#include <string.h>
#include "common/base/alloc.h"

/* Ports are used in turn, so the starts repeat after so many sends, later by
 * the time that a port is busy or all of them take to be filled. */
int64_t nf_uniform_start(const struct nf_uniform *uniform, uint32_t n)
{
    int64_t ports = uniform->ports, interval = uniform->interval;
    int64_t round = ports * interval;

    if (round < uniform->hold)
        round = uniform->hold;
    return n / ports * round + n % ports * interval;
}

int64_t nf_uniform_hold(const struct nf_uniform *uniform)
{
    return uniform->hold > uniform->interval ? uniform->hold
                                             : uniform->interval;
}

static int64_t start_of(const struct nf_uniform *uniform, uint32_t n)
{
    return uniform->start != NULL ? uniform->start(uniform, n)
                                  : nf_uniform_start(uniform, n);
}

static bool is_time(int64_t time)
{
    return time >= 0 && time <= NF_UNIFORM_TIME_MAX;
}

enum nf_status nf_uniform_check(const struct nf_uniform *uniform,
                                struct nf_error *err)
{
    if (!is_time(uniform->hold) || !is_time(uniform->end) ||
        !is_time(uniform->interval))
        return nf_fail(err, NF_ERR_RANGE,
                       "hold, end and interval: want times from 0 to %lld",
                       (long long)NF_UNIFORM_TIME_MAX);
    if (uniform->ports < 1 || uniform->ports > NF_UNIFORM_PORTS_MAX)
        return nf_fail(err, NF_ERR_RANGE, "%u ports: want 1 to %d",
                       uniform->ports, NF_UNIFORM_PORTS_MAX);
    return NF_OK;
}

enum nf_status nf_uniform_eval(const struct nf_uniform *uniform,
                               const struct nf_tree *tree, int64_t *ready_p)
{
    uint32_t *order = nf_calloc(tree->nodes, sizeof(*order));

    if (order == NULL)
        return NF_ERR_NOMEM;
    nf_tree_order(tree, order);
    ready_p[tree->root] = 0;
    for (uint32_t k = 0; k < tree->nodes; k++) {
        uint32_t v = order[k], first = tree->first[v];

        for (uint32_t i = first; i < tree->first[v + 1]; i++)
            ready_p[tree->child[i]] =
                ready_p[v] + start_of(uniform, i - first) + uniform->end;
    }
    nf_free(order);
    return NF_OK;
}

int64_t nf_uniform_last(const int64_t *ready, uint32_t nodes)
{
    int64_t last = 0;

    for (uint32_t v = 0; v < nodes; v++)
        if (ready[v] > last)
            last = ready[v];
    return last;
}

/* ---- the builders ---- */

const struct nf_uniform_algorithm *const nf_uniform_table[] = {
    &nf_uniform_sequential,    &nf_uniform_chain,
    &nf_uniform_binomial,      &nf_uniform_binomial_rootceil,
    &nf_uniform_binomial_bits, &nf_uniform_opt,
    &nf_uniform_multi_port,    &nf_uniform_u_mesh,
    &nf_uniform_opt_mesh,      NULL,
};

const struct nf_uniform_algorithm *nf_uniform_find(const char *name)
{
    for (size_t i = 0; nf_uniform_table[i] != NULL; i++)
        if (strcmp(nf_uniform_table[i]->name, name) == 0)
            return nf_uniform_table[i];
    return NULL;
}

/* Where the root stands in args->node_at, and whether that may be so. */
static enum nf_status find_root(const struct nf_uniform_algorithm *algorithm,
                                const struct nf_uniform_args *args,
                                uint32_t *place_p, struct nf_error *err)
{
    uint32_t place = 0;

    if (args->node_at == NULL) {
        *place_p = algorithm->on_chain ? args->root : 0;
        return NF_OK;
    }
    while (place < args->nodes && args->node_at[place] != args->root)
        place++;
    if (place == args->nodes || (place > 0 && !algorithm->on_chain))
        return nf_fail(err, NF_ERR_INVAL, "%s: root %u is not %s",
                       algorithm->name, args->root,
                       algorithm->on_chain ? "in the chain" : "rank 0");
    *place_p = place;
    return NF_OK;
}

static uint32_t node_at(const struct nf_uniform_algorithm *algorithm,
                        const struct nf_uniform_args *args, uint32_t place)
{
    if (args->node_at != NULL)
        return args->node_at[place];
    if (algorithm->on_chain)
        return place;
    place += args->root;
    return place < args->nodes ? place : place - args->nodes;
}

static enum nf_status build(const struct nf_uniform_algorithm *algorithm,
                            const struct nf_uniform_args *args, uint32_t place,
                            struct nf_tree *tree, struct nf_error *err)
{
    uint32_t *sender = nf_calloc(args->nodes, sizeof(*sender));
    uint32_t *receiver = nf_calloc(args->nodes, sizeof(*receiver));
    enum nf_status status = NF_ERR_NOMEM;

    if (sender != NULL && receiver != NULL)
        status = algorithm->make(args, place, sender, receiver);
    if (status == NF_OK) {
        for (uint32_t k = 0; k + 1 < args->nodes; k++) {
            sender[k] = node_at(algorithm, args, sender[k]);
            receiver[k] = node_at(algorithm, args, receiver[k]);
        }
        status = nf_tree_build(tree, sender, receiver, err);
    } else {
        nf_fail(err, status, "out of memory");
    }
    nf_free(sender);
    nf_free(receiver);
    return status;
}

enum nf_status nf_uniform_make(const struct nf_uniform_algorithm *algorithm,
                               const struct nf_uniform_args *args,
                               struct nf_tree *tree_p, struct nf_error *err)
{
    uint32_t place = 0;
    enum nf_status status = nf_uniform_check(&args->uniform, err);

    if (status != NF_OK)
        return status;
    if (args->nodes < 1 || args->nodes > NF_UNIFORM_NODES_MAX)
        return nf_fail(err, NF_ERR_RANGE, "%u nodes: want 1 to %d", args->nodes,
                       NF_UNIFORM_NODES_MAX);
    if (args->root >= args->nodes)
        return nf_fail(err, NF_ERR_RANGE, "root %u: want a node below %u",
                       args->root, args->nodes);
    status = find_root(algorithm, args, &place, err);
    if (status != NF_OK)
        return status;
    if (nf_tree_init(tree_p, args->nodes, args->root) != NF_OK)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = build(algorithm, args, place, tree_p, err);
    if (status != NF_OK)
        nf_tree_fini(tree_p);
    return status;
}
