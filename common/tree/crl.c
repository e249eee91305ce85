/* The planner: sizes of segments, and for each the best tree. */
#include "config.h"
#include "common/tree/crl.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/coll.h"
#include "common/tree/crl_search.h"
#include "common/tree/hnow.h"
#include "common/tree/least_count.h"
#include "common/tree/times.h"

enum { DRAFTS = 3, SHORT_DRAFTS = 2 };
/* How often number of segments and tree are changed in turns, and how many
 * numbers are tried each time. */
enum { ROUNDS = 2, COUNTS = 12, FEW_COUNTS = 5 };

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

/* The best tree for one size of segments: which of the sizes is the best one
 * polishing may change. */
struct draft {
    uint64_t segment, segments;
    double time_us;   /* with its handicap */
    uint32_t *parent; /* [nodes] */
};

struct planner {
    const struct nf_hetero *hetero;
    struct nf_hops hops;
    struct nf_crl_search search;
    struct nf_crl_plan plan; /* the best so far */
    /* Of the options. */
    uint64_t bytes, least_segment, usual_segment;
    uint64_t segment;    /* that is looked at */
    struct nf_tree tree; /* that is looked at */
    /* The best first.  Those of short segments take no room of others: there
     * are no more such sizes. */
    struct draft drafts[DRAFTS + SHORT_DRAFTS];
    unsigned ndrafts, drafts_most;
    struct draft trial; /* one that is changed */
    bool polishes;      /* options->polish > 0 */
    bool has_many;      /* hosts: few numbers of segments are tried */
};

/* By how much a time counts more if it is that of such segments. */
static double handicap(const struct planner *p, uint64_t segment)
{
    return segment < p->usual_segment ? 1 / NF_CRL_SHORT : 1;
}

/* What a tree has to take less than to be the best with such segments. */
static double to_beat_us(const struct planner *p, uint64_t segment)
{
    return p->plan.time_us * handicap(p, p->plan.segment_bytes) /
           handicap(p, segment);
}

/* ---- one size of segments ---- */

/* Is p->tree, simulated, the best so far? */
static enum nf_status keep_tree(struct planner *p)
{
    struct nf_tree tree = p->plan.tree;
    double time_us;

    if (nf_tree_pipe(&p->tree, &p->hops, p->search.segments, &time_us) != NF_OK)
        return NF_ERR_NOMEM;
    if (time_us < to_beat_us(p, p->segment)) {
        p->plan = (struct nf_crl_plan){ .tree = p->tree,
                                        .segment_bytes = p->segment,
                                        .segments = p->search.segments,
                                        .time_us = time_us };
        p->tree = tree;
    }
    return NF_OK;
}

/* Is the tree in ldt, as it was run last, or in a better order? */
static enum nf_status keep_best(struct planner *p)
{
    enum nf_status status;

    nf_ldt_get(&p->search.ldt, &p->tree);
    status = keep_tree(p);
    if (status == NF_OK && p->polishes && nf_crl_settle(&p->search)) {
        nf_ldt_get(&p->search.ldt, &p->tree);
        status = keep_tree(p);
    }
    return status;
}

/* Is the tree that ldt->parent and order make the best so far? */
static enum nf_status keep_as_sent(struct planner *p)
{
    struct nf_ldt *ldt = &p->search.ldt;
    uint32_t n = ldt->nodes;

    p->tree.root = ldt->root;
    memcpy(p->tree.parent, ldt->parent, n * sizeof(uint32_t));
    p->tree.parent[ldt->root] = NF_TREE_NONE;
    nf_tree_children(&p->tree, ldt->order, n);
    return keep_tree(p);
}

/* How much longer a tree may take as it is sent than what it is to beat: in the order of
 * the longest tails it may be the better one. */
static const double WORTH_REORDERING = 1.25;

/* The heuristics, whose order may with ports be a better one than those that
 * nf_ldt_run() knows, and in these as well. */
static enum nf_status try_heuristics(struct planner *p)
{
    enum nf_status status = NF_OK;

    for (unsigned i = 0; i < NF_CRL_HEURISTICS && status == NF_OK; i++) {
        double limit_us = WORTH_REORDERING * to_beat_us(p, p->segment);
        bool is_there;

        if (i == NF_CRL_HEURISTIC_EXACT && !p->polishes)
            continue;
        status = nf_crl_heuristic(&p->search, i, limit_us, &is_there);
        if (status != NF_OK || !is_there)
            continue;
        status = keep_as_sent(p);
        nf_crl_score(&p->search);
        if (status == NF_OK)
            status = keep_best(p);
    }
    return status;
}

static void load_best(struct nf_crl_search *search)
{
    size_t bytes = search->hops->nodes * sizeof(uint32_t);

    memcpy(search->ldt.parent, search->best_parent, bytes);
    memcpy(search->ldt.order, search->best_order, bytes);
    (void)nf_crl_time(search);
}

/* Keep the best tree for this size for later, if there are not so many better
 * ones for others that there is no room. */
static void keep_draft(struct planner *p)
{
    const struct nf_crl_search *search = &p->search;
    double time_us = search->best_us * handicap(p, p->segment);
    uint32_t *parent;
    unsigned at = p->ndrafts;

    if (at == p->drafts_most && time_us >= p->drafts[at - 1].time_us)
        return;
    if (at == p->drafts_most)
        at--;
    else
        p->ndrafts++;
    parent = p->drafts[at].parent;
    for (; at > 0 && p->drafts[at - 1].time_us > time_us; at--)
        p->drafts[at] = p->drafts[at - 1];
    memcpy(parent, search->best_parent, search->hops->nodes * sizeof(uint32_t));
    p->drafts[at] =
        (struct draft){ p->segment, search->segments, time_us, parent };
}

/* Trees that take as long are neither the plan nor a draft. */
static double limit(const struct planner *p)
{
    if (p->ndrafts < p->drafts_most)
        return INFINITY;
    return fmax(to_beat_us(p, p->segment),
                p->drafts[p->drafts_most - 1].time_us /
                    handicap(p, p->segment));
}

static enum nf_status try_rivals(struct planner *p, double *rival_us)
{
    enum nf_status status = NF_OK;

    /* with ports scores are lower bounds: the plan's may have been too low */
    for (unsigned i = 0; i < NF_CRL_RIVALS && status == NF_OK; i++)
        if (rival_us[i] < to_beat_us(p, p->segment) &&
            nf_crl_rival(&p->search, i, INFINITY)) {
            nf_crl_score(&p->search);
            status = keep_best(p);
        }
    if (p->search.segments == 1 && status == NF_OK)
        status = try_heuristics(p);
    return status;
}

/* From here on it is about segments of that size. */
static void set_size(struct planner *p, uint64_t segment)
{
    uint64_t segments = nf_segment_count(p->bytes, segment);

    p->segment = segment;
    nf_hops_set_segments(&p->hops, p->hetero, (double)segment, segments);
    nf_crl_search_set(&p->search, &p->hops, segments);
}

/* All trees that are tried with one size.
 * @param rival_us  [NF_CRL_RIVALS] becomes what those take, as they are scored
 */
static void search_size(struct planner *p, double least_period_us,
                        double *rival_us)
{
    nf_crl_try_cap(&p->search, INFINITY);
    for (unsigned i = 0; i < NF_CRL_RIVALS; i++) {
        double limit_us = fmax(p->search.best_us, to_beat_us(p, p->segment));

        rival_us[i] = INFINITY;
        if (nf_crl_rival(&p->search, i, fmin(limit_us, p->search.limit_us)))
            rival_us[i] = nf_crl_score(&p->search);
    }
    if (p->search.segments > 1)
        nf_crl_try_caps(&p->search, least_period_us, to_beat_us(p, p->segment));
}

/* Is the best tree of this size, simulated, the best so far? */
static enum nf_status keep_found(struct planner *p)
{
    if (p->search.best_us >= to_beat_us(p, p->segment))
        return NF_OK;
    load_best(&p->search);
    return keep_best(p);
}

static enum nf_status try_segment(struct planner *p, uint64_t segment,
                                  double least_period_us)
{
    double rival_us[NF_CRL_RIVALS];
    enum nf_status status;

    set_size(p, segment);
    p->search.limit_us = limit(p);
    search_size(p, least_period_us, rival_us);
    keep_draft(p);
    status = keep_found(p);
    return status == NF_OK ? try_rivals(p, rival_us) : status;
}

/* ---- any number of segments ---- */

/* Drafts are of a power of two.  Between its neighbours, which are others'
 * business, a draft's tree may be faster in another number of segments, and in
 * that number another tree than this one: so both are changed in turns. */

struct tuning {
    struct planner *planner;
    const struct draft *draft;
    bool all_trees; /* or that of the draft */
};

static uint64_t segment_of(uint64_t bytes, uint64_t segments)
{
    return bytes / segments + (bytes % segments != 0);
}

/* So many segments, with their handicap. */
static enum nf_status time_in(void *tuning, uint64_t segments,
                              double *time_us_p)
{
    const struct tuning *t = tuning;
    struct planner *p = t->planner;
    struct nf_crl_search *search = &p->search;
    uint64_t segment = segment_of(p->bytes, segments);

    if (t->all_trees) {
        set_size(p, segment);
        nf_crl_all(search);
        *time_us_p = search->best_us * handicap(p, segment);
        return NF_OK;
    }
    search->segments = nf_segment_count(p->bytes, segment);
    nf_hops_set_segments(&p->hops, p->hetero, (double)segment,
                         search->segments);
    memcpy(search->ldt.parent, t->draft->parent,
           p->hops.nodes * sizeof(uint32_t));
    nf_ldt_order(&search->ldt);
    *time_us_p = nf_crl_time(search) * handicap(p, segment);
    return NF_OK;
}

static uint64_t within(uint64_t x, uint64_t least, uint64_t most)
{
    if (x < least)
        return least;
    return x < most ? x : most;
}

/* The best number of segments for the draft's tree, or for any if all are
 * tried; the draft keeps its own.  @return is it another number? */
static bool tune(struct planner *p, struct draft *draft, bool all_trees)
{
    struct tuning tuning = { p, draft, all_trees };
    uint64_t k = draft->segments, most = p->bytes / p->least_segment, best;
    const struct nf_count_range range = {
        .least = k / 2 + 1,
        .most = within(most, k, 2 * k - 1),
        .known = k,
        .known_us = draft->time_us,
        .asks = p->has_many ? FEW_COUNTS : COUNTS,
    };
    double time_us;

    (void)nf_least_count(&range, time_in, &tuning, &best, &time_us);
    if (!(time_us < draft->time_us))
        return false;
    draft->segment = segment_of(p->bytes, best);
    draft->segments = nf_segment_count(p->bytes, draft->segment);
    draft->time_us = time_us;
    return true;
}

/* The draft's tree is the best one of its size. */
static void load_draft(struct planner *p, const struct draft *draft)
{
    size_t bytes = p->hops.nodes * sizeof(uint32_t);

    set_size(p, draft->segment);
    memcpy(p->search.ldt.parent, draft->parent, bytes);
    nf_ldt_order(&p->search.ldt);
    nf_crl_score(&p->search);
}

/* What became of it; and is that the best so far? */
static enum nf_status save_draft(struct planner *p, struct draft *draft)
{
    draft->time_us = p->search.best_us * handicap(p, p->segment);
    memcpy(draft->parent, p->search.best_parent,
           p->hops.nodes * sizeof(uint32_t));
    return keep_found(p);
}

/* Powers of two miss the best number by at most a root of two, in which a
 * + b k + c / k is above its least by at most 1.061: what is this far behind
 * will not be the best. */
static bool is_near(const struct planner *p, const struct draft *draft)
{
    return draft->time_us <
           1.1 * p->plan.time_us * handicap(p, p->plan.segment_bytes);
}

/* The draft itself stays as it is: polishing it may come to more. */
static enum nf_status refine(struct planner *p, const struct draft *draft)
{
    struct draft *trial = &p->trial;
    uint32_t *parent = trial->parent;
    enum nf_status status = NF_OK;

    memcpy(parent, draft->parent, p->hops.nodes * sizeof(uint32_t));
    *trial = *draft;
    trial->parent = parent;
    for (int i = 0; i < ROUNDS && status == NF_OK && is_near(p, trial) &&
                    tune(p, trial, false);
         i++) {
        double rival_us[NF_CRL_RIVALS], bound_us, period_us;

        load_draft(p, trial);
        if (!p->has_many) {
            p->search.limit_us = p->search.best_us;
            if (nf_tree_bound_of(&p->hops, p->search.root, trial->segments,
                                 &bound_us, &period_us) != NF_OK)
                return NF_ERR_NOMEM;
            search_size(p, period_us, rival_us);
        }
        status = save_draft(p, trial);
    }
    return status;
}

static enum nf_status polish(struct planner *p, uint32_t trees)
{
    unsigned among = p->ndrafts < DRAFTS ? p->ndrafts : DRAFTS;
    enum nf_status status = NF_OK;

    for (unsigned i = 0; i < p->ndrafts && status == NF_OK; i++) {
        struct draft *draft = &p->drafts[i];
        /* with one segment there is more to gain, and no annealing */
        uint32_t share = draft->segments == 1 ? trees : trees / among;

        for (int k = 0; k < ROUNDS && status == NF_OK; k++) {
            if (k > 0 && (p->has_many || !is_near(p, draft) ||
                          !tune(p, draft, nf_crl_tries_all(&p->search))))
                break;
            load_draft(p, draft);
            nf_crl_polish(&p->search, share);
            status = save_draft(p, draft);
        }
    }
    return status;
}

/* Sizes of segments, those first with which the message could be there first:
 * of the others many cannot be better than what is found then. */
struct sizes {
    uint64_t segment[64];
    double bound_us[64], period_us[64];
    unsigned count;
};

static enum nf_status add_size(struct planner *p, struct sizes *sizes,
                               uint64_t segment, uint64_t segments)
{
    unsigned at = sizes->count;
    double bound_us = 0, period_us = 0;

    nf_hops_set_segments(&p->hops, p->hetero, (double)segment, segments);
    if (nf_tree_bound_of(&p->hops, p->search.root, segments, &bound_us,
                         &period_us) != NF_OK)
        return NF_ERR_NOMEM;
    bound_us *= 1 - 1e-12; /* sums of rounded numbers */
    for (; at > 0 && sizes->bound_us[at - 1] > bound_us; at--) {
        sizes->segment[at] = sizes->segment[at - 1];
        sizes->bound_us[at] = sizes->bound_us[at - 1];
        sizes->period_us[at] = sizes->period_us[at - 1];
    }
    sizes->segment[at] = segment;
    sizes->bound_us[at] = bound_us;
    sizes->period_us[at] = period_us;
    sizes->count++;
    return NF_OK;
}

static enum nf_status run(struct planner *p,
                          const struct nf_crl_options *options)
{
    uint64_t least = nf_segment_least(options->bytes, options->least_segment);
    uint64_t segment = options->bytes, bytes = options->bytes;
    uint64_t few =
        bytes / NF_CRL_SHARED_SEGMENTS + (bytes % NF_CRL_SHARED_SEGMENTS != 0);
    struct sizes sizes = { .count = 0 };
    enum nf_status status;

    if (p->hetero->is_shared && few > least)
        least = few;
    p->least_segment = least;
    do {
        status = add_size(p, &sizes, segment, nf_segment_count(bytes, segment));
        segment = nf_segment_next(segment, least);
    } while (status == NF_OK && segment > 0);
    for (unsigned i = 0; i < sizes.count && status == NF_OK; i++)
        if (sizes.bound_us[i] < to_beat_us(p, sizes.segment[i]))
            status = try_segment(p, sizes.segment[i], sizes.period_us[i]);
    for (unsigned i = 0; i < (p->has_many ? 1 : p->ndrafts) && status == NF_OK;
         i++)
        status = refine(p, &p->drafts[i]);
    if (status == NF_OK && options->polish > 0 && p->hops.nodes > 2)
        status = polish(p, options->polish);
    return status;
}

enum nf_status nf_crl_plan(const struct nf_hetero *hetero, uint32_t root,
                           const struct nf_crl_options *options,
                           struct nf_crl_plan *plan_p, struct nf_error *err)
{
    struct planner p = { .hetero = hetero,
                         .plan = { .time_us = INFINITY },
                         .bytes = options->bytes,
                         .polishes = options->polish > 0,
                         .has_many = hetero->hosts > NF_CRL_THIN,
                         .usual_segment =
                             options->usual_segment < options->bytes
                                 ? options->usual_segment
                                 : options->bytes };
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
    p.drafts_most = p.usual_segment > 0 ? DRAFTS + SHORT_DRAFTS : DRAFTS;
    p.trial.parent = nf_calloc(n, sizeof(uint32_t));
    if (p.trial.parent == NULL)
        status = NF_ERR_NOMEM;
    for (unsigned i = 0; i < p.drafts_most && status == NF_OK; i++) {
        p.drafts[i].parent = nf_calloc(n, sizeof(uint32_t));
        if (p.drafts[i].parent == NULL)
            status = NF_ERR_NOMEM;
    }
    if (status == NF_OK)
        status = run(&p, options);
    for (unsigned i = 0; i < p.drafts_most; i++)
        nf_free(p.drafts[i].parent);
    nf_free(p.trial.parent);
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
