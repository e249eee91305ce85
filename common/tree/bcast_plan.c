/* Which broadcast: each algorithm is written down and priced. */
#include "config.h"
#include "common/tree/bcast_plan.h"
#include <math.h>
#include "common/base/error.h"
#include "common/coll/select.h"
#include "common/model/network.h"
#include "common/tree/least_count.h"

/* Of equals the first one is to stay, whatever their sums were rounded to. */
#define LESS (1 - 1e-9)

/* Of more, as few sizes of messages are priced as can be: what one costs is
 * found out for all pairs. */
enum { MANY_HOSTS = 128 };

void nf_bcast_plan_fini(struct nf_bcast_plan *plan)
{
    nf_crl_plan_fini(&plan->crl);
}

struct nf_coll_tree nf_bcast_plan_view(const struct nf_bcast_plan *plan)
{
    return (struct nf_coll_tree){ .ranks = plan->crl.tree.nodes,
                                  .root = plan->crl.tree.root,
                                  .first = plan->crl.tree.first,
                                  .child = plan->crl.tree.child };
}

/* The same for all algorithms, so that it is no reason to choose one. */
static double call_us(const struct nf_hetero *hetero)
{
    return hetero->in_groups && hetero->measured != NULL && hetero->hosts > 1
               ? hetero->measured->call_us
               : 0;
}

static enum nf_status price_messages(struct nf_pricer *pricer,
                                     const struct nf_coll_algorithm *algorithm,
                                     const struct nf_bcast_query *query,
                                     const struct nf_coll_tree *tree,
                                     uint32_t segments, double *time_us_p)
{
    const struct nf_coll_args args = { .ranks = pricer->hetero->hosts,
                                       .root = query->root,
                                       .segments = segments,
                                       .hosts = query->hosts,
                                       .tree = tree };
    const struct nf_pricer_load load = {
        .items = nf_coll_item_count(algorithm, &args),
        .elements = args.ranks > MANY_HOSTS ? 0 : query->elements,
        .bytes = (double)query->bytes,
    };
    struct nf_schedule schedule;
    enum nf_status status =
        nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, NULL);

    if (status == NF_OK)
        status = nf_pricer_time(pricer, &schedule, &load, time_us_p);
    else if (status != NF_ERR_NOMEM) {
        *time_us_p = INFINITY;
        status = NF_OK;
    }
    nf_schedule_fini(&schedule);
    return status;
}

enum nf_status nf_bcast_price(struct nf_pricer *pricer,
                              const struct nf_coll_algorithm *algorithm,
                              const struct nf_bcast_query *query,
                              const struct nf_coll_tree *tree,
                              uint32_t segments, double *time_us_p)
{
    enum nf_status status =
        price_messages(pricer, algorithm, query, tree, segments, time_us_p);

    if (status == NF_OK)
        *time_us_p += call_us(pricer->hetero);
    return status;
}

/* ---- numbers of segments ---- */

/* How many numbers are tried between the powers of two; of many hosts few. */
enum { COUNTS = 8, FEW_COUNTS = 4 };
/* And how many on either side of the planned tree's. */
enum { BESIDE = 2 };

struct cutting {
    struct nf_pricer *pricer;
    const struct nf_coll_algorithm *algorithm;
    const struct nf_bcast_query *query;
    const struct nf_coll_tree *tree; /* of bcast.tree */
};

/* With the handicap of short ones, and without call_us. */
static enum nf_status time_in(void *cutting, uint64_t segments,
                              double *time_us_p)
{
    const struct cutting *c = cutting;
    uint64_t segment =
        c->query->bytes / segments + (c->query->bytes % segments != 0);
    enum nf_status status =
        price_messages(c->pricer, c->algorithm, c->query, c->tree,
                       (uint32_t)segments, time_us_p);

    if (status == NF_OK && segments > 1 && segment < NF_BCAST_SEGMENT)
        *time_us_p /= NF_CRL_SHORT;
    return status;
}

/* The most segments that may be. */
static uint64_t most_segments(const struct cutting *c, uint64_t least)
{
    uint64_t most = NF_BCAST_MESSAGES / c->pricer->hetero->hosts;

    if (c->algorithm->items != NF_ITEMS_SEGMENTS)
        return 1;
    most = most < c->query->elements ? most : c->query->elements;
    most = most < c->query->bytes / least ? most : c->query->bytes / least;
    return most > 1 ? most : 1;
}

/* Is it worth looking between the neighbours of a power of two?  It misses the
 * best by a root of two at most, which is a time of 1.061; where segments are
 * few, schedules go by steps, and it may be more. */
static bool may_become(const struct nf_count_range *range, double bar_us)
{
    double gain = range->known > COUNTS ? 1.1 : 1.25;

    return isfinite(range->known_us) &&
           (isinf(bar_us) || range->known_us < gain * bar_us);
}

/* Powers of two, and then between the neighbours of the best one.
 * @param bar_us  what will not be below that is not looked for; INFINITY: all
 */
static enum nf_status find_segments(struct cutting *c, double bar_us,
                                    uint64_t *segments_p, double *time_us_p)
{
    uint64_t least = nf_segment_least(c->query->bytes, NF_BCAST_LEAST);
    uint64_t most = most_segments(c, least);
    struct nf_count_range range = {
        .known = 1,
        .known_us = INFINITY,
        .asks = c->pricer->hetero->hosts > MANY_HOSTS ? FEW_COUNTS : COUNTS
    };

    for (uint64_t k = 1; k <= most; k *= 2) {
        double us;

        if (time_in(c, k, &us) != NF_OK)
            return NF_ERR_NOMEM;
        if (us < range.known_us * LESS) {
            range.known = k;
            range.known_us = us;
        }
    }
    *segments_p = range.known;
    *time_us_p = range.known_us;
    if (!may_become(&range, bar_us))
        return NF_OK;
    range.least = range.known / 2 + 1;
    range.most = 2 * range.known - 1 < most ? 2 * range.known - 1 : most;
    return nf_least_count(&range, time_in, c, segments_p, time_us_p);
}

/* @param bar_us     see find_segments()
 * @param judged_us  becomes the time with the handicap, without call_us */
static enum nf_status best_segments(struct nf_pricer *pricer,
                                    const struct nf_coll_algorithm *algorithm,
                                    const struct nf_bcast_query *query,
                                    double bar_us, uint32_t *segments_p,
                                    double *judged_us, double *time_us_p)
{
    struct cutting cutting = { pricer, algorithm, query, NULL };
    uint64_t segments;
    enum nf_status status =
        find_segments(&cutting, bar_us, &segments, judged_us);

    if (status != NF_OK)
        return status;
    *segments_p = (uint32_t)segments;
    *time_us_p = INFINITY;
    if (isinf(*judged_us)) /* it is not for this broadcast */
        return NF_OK;
    return nf_bcast_price(pricer, algorithm, query, NULL, *segments_p,
                          time_us_p);
}

enum nf_status nf_bcast_segments(struct nf_pricer *pricer,
                                 const struct nf_coll_algorithm *algorithm,
                                 const struct nf_bcast_query *query,
                                 uint32_t *segments_p, double *time_us_p)
{
    double judged_us;

    return best_segments(pricer, algorithm, query, INFINITY, segments_p,
                         &judged_us, time_us_p);
}

/* Short segments have the same handicap against whatever else there is, not
 * only against longer ones of the same broadcast. */
struct choice {
    struct nf_bcast_plan *plan;
    double judged_us;  /* of the best, with its handicap, without call_us */
    bool is_tree_next; /* the best is the tree, and not yet had its turn */
};

/* Nothing that takes longer than the tree, though the tree's segments are short
 * and its are not. */
static enum nf_status consider(struct nf_pricer *pricer,
                               const struct nf_coll_algorithm *algorithm,
                               const struct nf_bcast_query *query,
                               struct choice *choice)
{
    const struct nf_coll_query asked = { .op = NF_COLL_BCAST,
                                         .ranks = pricer->hetero->hosts,
                                         .root = query->root,
                                         .bytes = query->bytes,
                                         .elements = query->elements,
                                         .commutative = true };
    struct nf_bcast_plan *plan = choice->plan;
    enum nf_status status;
    uint32_t segments;
    double time_us, judged_us;
    double bar_us = choice->judged_us;

    if (!nf_coll_serves(algorithm, &asked))
        return NF_OK;
    status = best_segments(pricer, algorithm, query, bar_us, &segments,
                           &judged_us, &time_us);
    bar_us = choice->is_tree_next ? bar_us / LESS : bar_us * LESS;
    if (status == NF_OK && judged_us < bar_us &&
        time_us < plan->tree_us / LESS) {
        plan->algorithm = algorithm;
        plan->segments = segments;
        plan->cost_us = time_us;
        *choice = (struct choice){ plan, judged_us, false };
    }
    return status;
}

/* The planner had all segments as long as the longest: with those that there
 * are one or two more or fewer may be better.
 * @param judged_us_p  becomes the tree's time with its handicap */
static enum nf_status price_tree(struct nf_pricer *pricer,
                                 const struct nf_bcast_query *query,
                                 struct nf_bcast_plan *plan,
                                 double *judged_us_p)
{
    const struct nf_coll_tree tree = nf_bcast_plan_view(plan);
    struct cutting cutting = { pricer, &nf_coll_bcast_tree, query, &tree };
    uint64_t k = nf_coll_clamp_segments(query->elements, plan->crl.segments);
    uint64_t most =
        most_segments(&cutting, nf_segment_least(query->bytes, NF_BCAST_LEAST));
    struct nf_count_range range = {
        .least = k > BESIDE ? k - BESIDE : 1,
        .most = k + BESIDE,
        .known = k,
        .asks = 2 * BESIDE,
    };
    enum nf_status status = time_in(&cutting, k, &range.known_us);

    if (range.most > most)
        range.most = most > k ? most : k;
    if (status == NF_OK)
        status = nf_least_count(&range, time_in, &cutting, &k, judged_us_p);
    if (status != NF_OK)
        return status;
    plan->tree_segments = (uint32_t)k;
    return nf_bcast_price(pricer, &nf_coll_bcast_tree, query, &tree,
                          plan->tree_segments, &plan->tree_us);
}

/* In the order of the table: of equals the first one is taken.
 * @param plan  the tree's */
static enum nf_status compare(struct nf_pricer *pricer,
                              const struct nf_bcast_query *query,
                              double tree_judged_us, struct nf_bcast_plan *plan)
{
    struct choice choice = { plan, tree_judged_us, true };
    enum nf_status status = NF_OK;

    for (size_t i = 0; nf_coll_table[i] != NULL && status == NF_OK; i++) {
        if (nf_coll_table[i] == &nf_coll_bcast_tree)
            choice.is_tree_next = false;
        else if (nf_coll_table[i]->op == NF_COLL_BCAST)
            status = consider(pricer, nf_coll_table[i], query, &choice);
    }
    return status;
}

static enum nf_status make(const struct nf_hetero *hetero,
                           const struct nf_bcast_query *query, bool all,
                           struct nf_bcast_plan *plan_p, struct nf_error *err)
{
    const struct nf_crl_options options = {
        .bytes = query->bytes,
        .least_segment = NF_BCAST_LEAST,
        .usual_segment = NF_BCAST_SEGMENT,
        .polish = NF_CRL_POLISH,
    };
    struct nf_bcast_plan plan = { .algorithm = &nf_coll_bcast_tree };
    struct nf_pricer pricer;
    double judged_us;
    enum nf_status status =
        nf_crl_plan(hetero, query->root, &options, &plan.crl, err);

    if (status != NF_OK)
        return status;
    status = nf_pricer_init(&pricer, hetero);
    if (status == NF_OK) {
        status = price_tree(&pricer, query, &plan, &judged_us);
        plan.segments = plan.tree_segments;
        plan.cost_us = plan.tree_us;
        if (status == NF_OK && all && hetero->hosts > 1)
            status = compare(&pricer, query, judged_us, &plan);
        nf_pricer_fini(&pricer);
    }
    if (status != NF_OK) {
        nf_bcast_plan_fini(&plan);
        return nf_fail(err, status, "out of memory");
    }
    *plan_p = plan;
    return NF_OK;
}

enum nf_status nf_bcast_plan_tree(const struct nf_hetero *hetero,
                                  const struct nf_bcast_query *query,
                                  struct nf_bcast_plan *plan_p,
                                  struct nf_error *err)
{
    return make(hetero, query, false, plan_p, err);
}

enum nf_status nf_bcast_plan(const struct nf_hetero *hetero,
                             const struct nf_bcast_query *query,
                             struct nf_bcast_plan *plan_p, struct nf_error *err)
{
    return make(hetero, query, true, plan_p, err);
}
