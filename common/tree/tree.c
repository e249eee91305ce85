#include "config.h"
#include "common/tree/tree.h"
#include <stdbool.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

enum nf_status nf_tree_init(struct nf_tree *tree_p, uint32_t nodes,
                            uint32_t root)
{
    *tree_p = (struct nf_tree){ .nodes = nodes, .root = root };
    tree_p->parent = nf_calloc(nodes, sizeof(*tree_p->parent));
    tree_p->first = nf_calloc((size_t)nodes + 1, sizeof(*tree_p->first));
    tree_p->child = nf_calloc(nodes, sizeof(*tree_p->child));
    if (tree_p->parent != NULL && tree_p->first != NULL &&
        tree_p->child != NULL)
        return NF_OK;
    nf_tree_fini(tree_p);
    return NF_ERR_NOMEM;
}

void nf_tree_fini(struct nf_tree *tree)
{
    nf_free(tree->parent);
    nf_free(tree->first);
    nf_free(tree->child);
    *tree = (struct nf_tree){ .nodes = 0 };
}

static bool is_reached(const struct nf_tree *tree, uint32_t node)
{
    return node == tree->root || tree->parent[node] != NF_TREE_NONE;
}

enum nf_status nf_tree_build(struct nf_tree *tree, const uint32_t *sender,
                             const uint32_t *receiver, struct nf_error *err)
{
    uint32_t n = tree->nodes;

    for (uint32_t v = 0; v < n; v++)
        tree->parent[v] = NF_TREE_NONE;
    for (uint32_t k = 0; k + 1 < n; k++) {
        if (sender[k] >= n || !is_reached(tree, sender[k]))
            return nf_fail(err, NF_ERR_INVAL,
                           "node %u sends before it is reached", sender[k]);
        if (receiver[k] >= n || is_reached(tree, receiver[k]))
            return nf_fail(err, NF_ERR_INVAL, "node %u is reached twice",
                           receiver[k]);
        tree->parent[receiver[k]] = sender[k];
    }
    nf_tree_children(tree, receiver, n - 1);
    return NF_OK;
}

void nf_tree_children(struct nf_tree *tree, const uint32_t *order,
                      uint32_t count)
{
    uint32_t n = tree->nodes, *first = tree->first;

    memset(first, 0, ((size_t)n + 1) * sizeof(*first));
    for (uint32_t v = 0; v < n; v++)
        if (v != tree->root)
            first[tree->parent[v] + 1]++;
    for (uint32_t v = 0; v < n; v++)
        first[v + 1] += first[v];
    for (uint32_t k = count; k-- > 0;) { /* fills each from its end */
        uint32_t v = order != NULL ? order[k] : k;

        if (v != tree->root)
            tree->child[--first[tree->parent[v] + 1]] = v;
    }
    /* first[v + 1] is now where v's own begin: shift back */
    memmove(first, first + 1, n * sizeof(*first));
    first[n] = n - 1;
}

void nf_tree_order(const struct nf_tree *tree, uint32_t *order_p)
{
    uint32_t count = 0;

    order_p[count++] = tree->root;
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t c = tree->first[order_p[k]];
             c < tree->first[order_p[k] + 1]; c++)
            order_p[count++] = tree->child[c];
}
