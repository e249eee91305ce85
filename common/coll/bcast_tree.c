/* tree: segments go down a tree, which is given with the order of its sends; so
 * one that was planned for hosts and links that differ is carried out.
 *
 *     a rank takes a segment, hands it to its children in order, takes the next
 *
 * In step a rank of d children sends a segment in d rounds, and the k-1
 * segments behind the first take max d rounds each.  What that costs depends on
 * which links are in the tree: common/tree prices the schedule.
 *
 * Without a tree it is binomial: the children of v are v + 2^j for all 2^j
 * below the lowest bit of v, the farthest first. */
#include "config.h"
#include <math.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/kept.h"

/* What making one takes: a tree, and how far each rank has got. */
struct walk {
    struct nf_coll_tree tree;
    uint32_t *own;   /* first and child of the binomial tree, or NULL */
    uint32_t *order; /* [P] parents before their children */
    uint32_t *next;  /* [P] the first round in which it has its hands free */
    uint32_t *at;    /* [P] the first round in which it has the segment */
};

static void walk_fini(struct walk *walk)
{
    nf_free(walk->own);
    nf_free(walk->order);
}

static uint32_t lowest_bit(uint32_t v, uint32_t ranks)
{
    uint32_t all = UINT32_C(1) << nf_coll_ceil_log2(ranks);

    return v == 0 ? all : v & (0 - v);
}

static void fill_binomial(struct walk *walk, const struct nf_coll_args *args)
{
    uint32_t *first = walk->own, *child = walk->own + args->ranks + 1;
    uint32_t count = 0;

    for (uint32_t r = 0; r < args->ranks; r++) {
        uint32_t v = (r + args->ranks - args->root) % args->ranks;

        first[r] = count;
        for (uint32_t bit = lowest_bit(v, args->ranks) / 2; bit > 0; bit /= 2)
            if (v + bit < args->ranks)
                child[count++] = nf_coll_true_rank(args, v + bit);
    }
    first[args->ranks] = count;
    walk->tree = (struct nf_coll_tree){
        .ranks = args->ranks, .root = args->root, .first = first, .child = child
    };
}

static enum nf_status walk_init(struct walk *walk,
                                const struct nf_coll_args *args)
{
    *walk = (struct walk){ .order = nf_calloc(args->ranks,
                                              3 * sizeof(*walk->order)) };
    if (args->tree == NULL)
        walk->own = nf_calloc(2 * (size_t)args->ranks, sizeof(*walk->own));
    if (walk->order == NULL || (args->tree == NULL && walk->own == NULL)) {
        walk_fini(walk);
        return NF_ERR_NOMEM;
    }
    walk->next = walk->order + args->ranks;
    walk->at = walk->next + args->ranks;
    if (args->tree != NULL)
        walk->tree = *args->tree;
    else
        fill_binomial(walk, args);
    return NF_OK;
}

/* @return false: @p first says of the children what cannot be */
static bool is_ordered(const struct nf_coll_tree *tree)
{
    if (tree->first[0] != 0 || tree->first[tree->ranks] != tree->ranks - 1)
        return false;
    for (uint32_t v = 0; v < tree->ranks; v++)
        if (tree->first[v] > tree->first[v + 1])
            return false;
    return true;
}

/* Parents before their children, from the root on.  As there are P - 1 children
 * and each is reached from the root once, all ranks are.
 * @return NF_OK, or NF_ERR_INVAL and *at_p: the rank that is wrong */
static enum nf_status put_in_order(const struct walk *walk, uint32_t *at_p)
{
    const struct nf_coll_tree *tree = &walk->tree;
    bool *seen = nf_calloc(tree->ranks, sizeof(*seen));
    enum nf_status status = NF_OK;
    uint32_t count = 0;

    if (seen == NULL)
        return NF_ERR_NOMEM;
    walk->order[count++] = tree->root;
    seen[tree->root] = true;
    for (uint32_t i = 0; i < count && status == NF_OK; i++) {
        uint32_t v = walk->order[i];

        for (uint32_t c = tree->first[v];
             c < tree->first[v + 1] && status == NF_OK; c++) {
            *at_p = tree->child[c];
            if (*at_p >= tree->ranks || seen[*at_p]) {
                status = NF_ERR_INVAL;
                continue;
            }
            seen[*at_p] = true;
            walk->order[count++] = *at_p;
        }
    }
    for (uint32_t v = 0; v < tree->ranks && status == NF_OK; v++)
        if (!seen[v]) {
            *at_p = v;
            status = NF_ERR_INVAL;
        }
    nf_free(seen);
    return status;
}

static enum nf_status fits(const struct nf_coll_algorithm *self,
                           const struct nf_coll_args *args,
                           struct nf_error *err)
{
    const struct nf_coll_tree *tree = args->tree;
    struct walk walk;
    uint32_t at = 0;
    enum nf_status status;

    if (tree == NULL)
        return NF_OK;
    if (tree->ranks != args->ranks || tree->root != args->root)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: a tree of %u ranks from %u, not of %u from %u",
                       self->name, tree->ranks, tree->root, args->ranks,
                       args->root);
    if (!is_ordered(tree))
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: the tree does not have %u children", self->name,
                       args->ranks - 1);
    if (walk_init(&walk, args) != NF_OK)
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", self->name);
    status = put_in_order(&walk, &at);
    walk_fini(&walk);
    if (status == NF_ERR_NOMEM)
        return nf_fail(err, status, "%s: out of memory", self->name);
    return status == NF_OK
               ? NF_OK
               : nf_fail(err, status,
                         "%s: the tree does not reach rank %u just once",
                         self->name, at);
}

/* A segment leaves in rounds of its own for each child, none before that child
 * has handed on the segment before it: so each rank finds its steps in the
 * order in which it is to make them. */
static void send_segment(const struct walk *walk, uint32_t segment,
                         struct nf_schedule *schedule)
{
    const struct nf_coll_tree *tree = &walk->tree;

    walk->at[tree->root] = 0;
    for (uint32_t i = 0; i < tree->ranks; i++) {
        uint32_t v = walk->order[i];
        uint32_t round = walk->at[v];

        if (round < walk->next[v])
            round = walk->next[v];
        for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++) {
            uint32_t to = tree->child[c];

            /* what it sends goes before what it takes in a round */
            if (round + 1 < walk->next[to])
                round = walk->next[to] - 1;
            nf_schedule_send(schedule, round, v, to, segment, 1, NF_COLL_COPY);
            walk->at[to] = ++round;
        }
        walk->next[v] = round;
    }
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct walk walk;
    uint32_t at;

    (void)self;
    if (walk_init(&walk, args) != NF_OK) {
        schedule->failed = true;
        return;
    }
    if (put_in_order(&walk, &at) != NF_OK)
        schedule->failed = true;
    for (uint32_t j = 0; j < args->segments && !schedule->failed; j++)
        send_segment(&walk, j, schedule);
    walk_fini(&walk);
}

/* Prices know of one kind of link only. */
static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    (void)self, (void)price, (void)ranks, (void)bytes, (void)segments;
    return INFINITY;
}

const struct nf_coll_algorithm nf_coll_bcast_tree = {
    .name = "bcast.tree",
    .op = NF_COLL_BCAST,
    .summary = "segments down the tree planned for a measured network",
    .source = "Sawahata and Shibusawa, and crl.h",
    .cost = "no formula: by the tree; d children at most: d (k-1) rounds and "
            "the deepest way",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .fits = fits,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};
