/* The planner: sizes of segments, and for each a cap of the periods.
 *
 * Time is latency + (segments - 1) * period: with no cap trees have the least
 * latency, with the least cap that leaves room for all the least period; in
 * between lies the best one, which is looked for in geometric steps. */
#include "config.h"
#include "common/tree/crl.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/coll.h"
#include "common/tree/crl_search.h"
#include "common/tree/hnow.h"
#include "common/tree/times.h"

enum { CAPS = 8, FINER = 6 };

uint64_t nf_segment_next(uint64_t segment, uint64_t least)
{
    uint64_t half = segment / 2 + segment % 2;

    return half < least || half >= segment ? 0 : half;
}

uint64_t nf_segment_least(uint64_t bytes, uint64_t least)
{
    uint64_t fewest =
        bytes / NF_COLL_SEGMENTS_MAX + (bytes % NF_COLL_SEGMENTS_MAX != 0);

    if (least == 0)
        least = NF_CRL_SEGMENT;
    return least > fewest ? least : fewest;
}

uint64_t nf_segment_count(uint64_t bytes, uint64_t segment)
{
    if (bytes == 0 || segment == 0)
        return 1;
    return bytes / segment + (bytes % segment != 0);
}

struct planner {
    const struct nf_hetero *hetero;
    struct nf_hops hops;
    struct nf_crl_search search;
    struct nf_crl_plan plan; /* the best so far */
    struct nf_tree tree;     /* that is looked at */
};

/* ---- caps ---- */

/* What was tried, by cap ascending. */
struct caps {
    double cap_us[CAPS + FINER], time_us[CAPS + FINER];
    unsigned count;
};

static void try_cap(struct planner *p, struct caps *caps, double cap_us)
{
    double bound_us = (double)(p->search.segments - 1) * cap_us;
    double time_us = INFINITY;
    unsigned at = caps->count++;

    if (bound_us < p->plan.time_us && bound_us < p->search.best_us)
        time_us = nf_crl_try_cap(&p->search, cap_us);
    for (; at > 0 && caps->cap_us[at - 1] > cap_us; at--) {
        caps->cap_us[at] = caps->cap_us[at - 1];
        caps->time_us[at] = caps->time_us[at - 1];
    }
    caps->cap_us[at] = cap_us;
    caps->time_us[at] = time_us;
}

/* Between the best cap and its neighbours. */
static void try_finer(struct planner *p, struct caps *caps)
{
    double best_us, below_us, above_us;
    unsigned best = 0;

    for (unsigned i = 1; i < caps->count; i++)
        if (caps->time_us[i] < caps->time_us[best])
            best = i;
    best_us = caps->cap_us[best];
    below_us = best > 0 ? caps->cap_us[best - 1] : best_us;
    above_us = best + 1 < caps->count ? caps->cap_us[best + 1] : best_us;
    if (below_us < best_us)
        try_cap(p, caps, sqrt(below_us * best_us));
    if (above_us > best_us)
        try_cap(p, caps, sqrt(above_us * best_us));
}

static enum nf_status try_caps(struct planner *p)
{
    struct caps caps = { .count = 0 };
    int steps = p->search.is_thin ? CAPS / 2 : CAPS;
    double least_us,
        greatest_us = fmin(p->search.greatest_period_us,
                           fmin(p->search.best_us, p->plan.time_us) /
                               (double)(p->search.segments - 1));

    if (nf_tree_least_period(&p->hops, p->search.root, &least_us) != NF_OK)
        return NF_ERR_NOMEM;
    least_us *= 1 + 1e-12; /* sums of rounded numbers are to fit */
    if (least_us <= 0 || greatest_us <= least_us) {
        try_cap(p, &caps, greatest_us);
        return NF_OK;
    }
    for (int i = 0; i < steps; i++)
        try_cap(p, &caps,
                least_us * pow(greatest_us / least_us, i / (steps - 1.0)));
    for (int i = 0; i < (p->search.is_thin ? 1 : FINER / 2); i++)
        try_finer(p, &caps);
    return NF_OK;
}

/* ---- one size of segments ---- */

/* Is the tree in ldt, simulated, the best so far? */
static enum nf_status keep_best(struct planner *p, uint64_t segment)
{
    struct nf_tree tree = p->plan.tree;
    double time_us;

    nf_ldt_get(&p->search.ldt, &p->tree);
    if (nf_tree_pipe(&p->tree, &p->hops, p->search.segments, &time_us) != NF_OK)
        return NF_ERR_NOMEM;
    if (time_us < p->plan.time_us) {
        p->plan = (struct nf_crl_plan){ .tree = p->tree,
                                        .segment_bytes = segment,
                                        .segments = p->search.segments,
                                        .time_us = time_us };
        p->tree = tree;
    }
    return NF_OK;
}

static void load_best(struct nf_crl_search *search)
{
    size_t bytes = search->hops->nodes * sizeof(uint32_t);

    memcpy(search->ldt.parent, search->best_parent, bytes);
    memcpy(search->ldt.order, search->best_order, bytes);
    nf_ldt_run(&search->ldt, search->hops, search->segments);
}

static enum nf_status try_segment(struct planner *p, uint64_t segment,
                                  uint64_t segments)
{
    enum nf_status status = NF_OK;
    double rival_us[NF_CRL_RIVALS];

    for (unsigned i = 0; i < NF_CRL_RIVALS; i++)
        rival_us[i] = INFINITY;
    nf_hops_set(&p->hops, p->hetero, (double)segment);
    nf_crl_search_set(&p->search, &p->hops, segments);
    nf_crl_try_cap(&p->search, INFINITY);
    for (unsigned i = 0; nf_crl_rival(&p->search, i); i++)
        rival_us[i] = nf_crl_score(&p->search);
    if (segments > 1)
        status = try_caps(p);
    if (status == NF_OK && p->search.best_us < p->plan.time_us) {
        load_best(&p->search);
        status = keep_best(p, segment);
    }
    /* with ports scores are lower bounds: the plan's may have been too low */
    for (unsigned i = 0; i < NF_CRL_RIVALS && status == NF_OK; i++)
        if (rival_us[i] < p->plan.time_us && nf_crl_rival(&p->search, i)) {
            nf_crl_score(&p->search);
            status = keep_best(p, segment);
        }
    return status;
}

static enum nf_status polish(struct planner *p, uint32_t trees)
{
    struct nf_crl_search *search = &p->search;
    uint32_t n = p->hops.nodes;

    nf_hops_set(&p->hops, p->hetero, (double)p->plan.segment_bytes);
    nf_crl_search_set(search, &p->hops, p->plan.segments);
    memcpy(search->best_parent, p->plan.tree.parent, n * sizeof(uint32_t));
    nf_crl_polish(search, trees);
    load_best(search);
    return keep_best(p, p->plan.segment_bytes);
}

static enum nf_status run(struct planner *p,
                          const struct nf_crl_options *options)
{
    uint64_t least = nf_segment_least(options->bytes, options->least_segment);
    uint64_t segment = options->bytes;
    enum nf_status status;

    do {
        status =
            try_segment(p, segment, nf_segment_count(options->bytes, segment));
        segment = nf_segment_next(segment, least);
    } while (status == NF_OK && segment > 0);
    if (status == NF_OK && options->polish > 0 && p->hops.nodes > 2)
        status = polish(p, options->polish);
    return status;
}

enum nf_status nf_crl_plan(const struct nf_hetero *hetero, uint32_t root,
                           const struct nf_crl_options *options,
                           struct nf_crl_plan *plan_p, struct nf_error *err)
{
    struct planner p = { .hetero = hetero, .plan = { .time_us = INFINITY } };
    uint32_t n = hetero->hosts;
    enum nf_status status = nf_hetero_check(hetero, root, err);

    if (status != NF_OK)
        return status;
    status = nf_hops_init(&p.hops, hetero, 0);
    if (status == NF_OK)
        status = nf_crl_search_init(&p.search, &p.hops, root);
    if (status == NF_OK)
        status = nf_tree_init(&p.tree, n, root);
    if (status == NF_OK)
        status = nf_tree_init(&p.plan.tree, n, root);
    if (status == NF_OK)
        status = run(&p, options);
    nf_hops_fini(&p.hops);
    nf_crl_search_fini(&p.search);
    nf_tree_fini(&p.tree);
    if (status == NF_OK)
        *plan_p = p.plan;
    else
        nf_crl_plan_fini(&p.plan);
    return status == NF_OK ? NF_OK : nf_fail(err, status, "out of memory");
}

void nf_crl_plan_fini(struct nf_crl_plan *plan)
{
    nf_tree_fini(&plan->tree);
    *plan = (struct nf_crl_plan){ .time_us = 0 };
}
