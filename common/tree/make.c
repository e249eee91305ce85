#include "config.h"
#include "common/tree/make.h"
#include "common/base/alloc.h"
#include "common/tree/sort.h"

void nf_receivers_all(uint32_t nodes, uint32_t root, uint32_t *receivers_p)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < nodes; v++)
        if (v != root)
            receivers_p[count++] = v;
}

enum nf_status nf_receivers_by_recv(const struct nf_hops *hops, uint32_t root,
                                    uint32_t *receivers_p)
{
    nf_receivers_all(hops->nodes, root, receivers_p);
    nf_sort_nodes(receivers_p, hops->nodes - 1, hops->recv);
    return NF_OK;
}

/* The edges of a tree, in the order of sending, to a tree. */
static enum nf_status to_tree(const struct nf_ldt *ldt, struct nf_tree *tree_p)
{
    uint32_t n = ldt->nodes;
    uint32_t *sender = nf_calloc(n, sizeof(*sender));
    enum nf_status status = NF_ERR_NOMEM;

    if (sender == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t k = 0; k + 1 < n; k++)
        sender[k] = ldt->parent[ldt->order[k + 1]];
    status = nf_tree_init(tree_p, n, ldt->root);
    if (status == NF_OK)
        status = nf_tree_build(tree_p, sender, ldt->order + 1, NULL);
    nf_free(sender);
    return status;
}

enum nf_status nf_heuristic_tree(const struct nf_heuristic *heuristic,
                                 const struct nf_hops *hops, uint32_t root,
                                 bool is_blocking, struct nf_tree *tree_p)
{
    nf_receivers_fn *receivers = nf_heuristic_receivers(heuristic, hops);
    struct nf_greedy how = heuristic->how;
    struct nf_greedy_room room = { .nodes = 0 };
    struct nf_ldt ldt = { .nodes = 0 };
    enum nf_status status = nf_hops_check(hops, root);
    uint32_t *order;

    if (status != NF_OK)
        return status;
    order = nf_calloc(hops->nodes, sizeof(*order));
    status = order != NULL ? NF_OK : NF_ERR_NOMEM;
    if (status == NF_OK)
        status = nf_greedy_room_init(&room, hops->nodes);
    if (status == NF_OK)
        status = nf_ldt_init(&ldt, hops->nodes);
    ldt.root = root;
    how.is_blocking = is_blocking;
    if (status == NF_OK && receivers != NULL)
        status = receivers(hops, root, order);
    if (status == NF_OK) {
        if (receivers != NULL)
            nf_greedy_serve(&how, hops, order, &room, &ldt);
        else
            nf_greedy_pairs(&how, hops, &room, &ldt);
        status = to_tree(&ldt, tree_p);
    }
    nf_ldt_fini(&ldt);
    nf_greedy_room_fini(&room);
    nf_free(order);
    return status;
}
