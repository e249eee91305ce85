/* The best tree by dynamic programming over subsets, see hnow.h.  Sets are of
 * the nodes but the root, as bits. */
#include "config.h"
#include <math.h>
#include "common/base/alloc.h"
#include "common/tree/hnow.h"

struct search {
    const struct nf_hops *hops;
    uint32_t root, members; /* nodes but the root */
    bool is_blocking;
    bool holds_alike; /* not blocking, and whom a message goes to makes no
                         difference to when the next can: tail_us does */
    double *best_us; /* D, [node << members | set] */
    double *tail_us; /* holds_alike, likewise: min over c in the set of
                        wire(v, c) + recv[c] + D(c, set - c) */
};

static uint32_t node_of(const struct search *s, uint32_t member)
{
    return member + (member >= s->root);
}

static size_t at(const struct search *s, uint32_t v, uint32_t set)
{
    return (size_t)v << s->members | set;
}

/* Any node but v. */
static uint32_t other_than(uint32_t v)
{
    return v == 0 ? 1 : 0;
}

/* D(v, set), of nobody -INFINITY: no message keeps v from the next one then. */
static double rest_of(const struct search *s, uint32_t v, uint32_t set)
{
    return set == 0 ? -INFINITY : s->best_us[at(s, v, set)];
}

/* Time until c, the first child of v, and below_us later the last of those below it,
 * and rest_us after v is free again the last of the others, have it.  holds_alike: from
 * when the message begins its way, and without the others. */
static double reach_us(const struct search *s, uint32_t v, uint32_t c,
                       double below_us, double rest_us)
{
    if (s->is_blocking)
        return nf_hops_time(s->hops, v, c) + fmax(below_us, rest_us);
    if (s->holds_alike)
        return nf_hops_wire(s->hops, v, c) + s->hops->recv[c] + below_us;
    return fmax(nf_hops_time(s->hops, v, c) + below_us,
                nf_hops_hold(s->hops, v, c) + rest_us);
}

/* The first child of v, and what it is to reach: who is best, and reach_us(). */
static double first_child(const struct search *s, uint32_t v, uint32_t set,
                          double rest_us, uint32_t *child_p)
{
    double least_us = INFINITY;

    for (uint32_t m = 0; m < s->members; m++) {
        uint32_t c = node_of(s, m);
        double time_us;

        if ((set >> m & 1) == 0)
            continue;
        time_us = reach_us(s, v, c,
                           s->best_us[at(s, c, set & ~(UINT32_C(1) << m))],
                           rest_us);
        if (time_us < least_us) {
            least_us = time_us;
            *child_p = c;
        }
    }
    return least_us;
}

/* D(v, set) if the first child gets part. */
static double split_us(const struct search *s, uint32_t v, uint32_t set,
                       uint32_t part)
{
    double rest_us = rest_of(s, v, set & ~part);
    uint32_t child;

    if (!s->holds_alike)
        return first_child(s, v, part, rest_us, &child);
    return fmax(s->hops->send[v] + s->tail_us[at(s, v, part)],
                nf_hops_hold(s->hops, v, other_than(v)) + rest_us);
}

static double best_split(const struct search *s, uint32_t v, uint32_t set,
                         uint32_t *part_p)
{
    double least_us = INFINITY;

    for (uint32_t part = set; part != 0; part = (part - 1) & set) {
        double time_us = split_us(s, v, set, part);

        if (time_us < least_us) {
            least_us = time_us;
            *part_p = part;
        }
    }
    return least_us;
}

static bool has(const struct search *s, uint32_t set, uint32_t v)
{
    uint32_t member = v - (v > s->root);

    return v != s->root && (set >> member & 1) != 0;
}

static void fill(struct search *s)
{
    uint32_t child, part;

    /* subsets are smaller numbers */
    for (uint32_t set = 1; set < UINT32_C(1) << s->members; set++) {
        for (uint32_t v = 0; s->holds_alike && v <= s->members; v++)
            if (!has(s, set, v))
                s->tail_us[at(s, v, set)] = first_child(s, v, set, 0, &child);
        for (uint32_t v = 0; v <= s->members; v++)
            if (!has(s, set, v))
                s->best_us[at(s, v, set)] = best_split(s, v, set, &part);
    }
}

/* Edges to sender and receiver from *count_p on: a node's own come first, which
 * does for nf_tree_build(). */
static void collect(const struct search *s, uint32_t v, uint32_t set,
                    uint32_t *sender, uint32_t *receiver, uint32_t *count_p)
{
    uint32_t given[NF_TREE_EXACT_MAX];
    uint32_t begin = *count_p;

    while (set != 0) {
        uint32_t part = 0, child = 0;

        best_split(s, v, set, &part);
        first_child(s, v, part, rest_of(s, v, set & ~part), &child);
        sender[*count_p] = v;
        receiver[*count_p] = child;
        given[*count_p - begin] =
            part & ~(UINT32_C(1) << (child - (child > s->root)));
        (*count_p)++;
        set &= ~part;
    }
    for (uint32_t k = begin, end = *count_p; k < end; k++)
        collect(s, receiver[k], given[k - begin], sender, receiver, count_p);
}

/* Is each node held by all messages alike? */
static bool are_holds_alike(const struct nf_hops *hops)
{
    for (uint32_t v = 0; hops->is_matrix && v < hops->nodes; v++)
        for (uint32_t c = 0; c < hops->nodes; c++)
            if (c != v && fabs(nf_hops_hold(hops, v, c) -
                               nf_hops_hold(hops, v, other_than(v))) > 0)
                return false;
    return true;
}

enum nf_status nf_tree_exact(const struct nf_hops *hops, uint32_t root,
                             bool is_blocking, struct nf_tree *tree_p,
                             double *time_us_p)
{
    struct search s = { .hops = hops,
                        .root = root,
                        .members = hops->nodes - 1,
                        .is_blocking = is_blocking };
    uint32_t sender[NF_TREE_EXACT_MAX], receiver[NF_TREE_EXACT_MAX];
    uint32_t count = 0, all;
    enum nf_status status = nf_hops_check(hops, root);

    if (status != NF_OK)
        return status;
    if (hops->nodes > NF_TREE_EXACT_MAX)
        return NF_ERR_RANGE;
    s.holds_alike = !is_blocking && are_holds_alike(hops);
    status = NF_ERR_NOMEM;
    all = (UINT32_C(1) << s.members) - 1;
    s.best_us = nf_calloc((size_t)hops->nodes << s.members, sizeof(double));
    if (s.holds_alike)
        s.tail_us = nf_calloc((size_t)hops->nodes << s.members, sizeof(double));
    if (s.best_us != NULL && (s.tail_us != NULL || !s.holds_alike))
        status = nf_tree_init(tree_p, hops->nodes, root);
    if (status == NF_OK) {
        fill(&s);
        collect(&s, root, all, sender, receiver, &count);
        status = nf_tree_build(tree_p, sender, receiver, NULL);
        *time_us_p = s.best_us[at(&s, root, all)];
    }
    nf_free(s.best_us);
    nf_free(s.tail_us);
    return status;
}
