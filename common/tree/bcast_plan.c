/* Which broadcast: each algorithm is written down and priced. */
#include "config.h"
#include "common/tree/bcast_plan.h"
#include <math.h>
#include "common/base/error.h"
#include "common/coll/select.h"
#include "common/model/network.h"

/* Of equals the first one is to stay, whatever their sums were rounded to. */
#define LESS (1 - 1e-9)

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
    struct nf_schedule schedule;
    enum nf_status status =
        nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, NULL);

    if (status == NF_OK)
        status = nf_pricer_time(pricer, &schedule,
                                nf_coll_item_count(algorithm, &args),
                                (double)query->bytes, time_us_p);
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

enum nf_status nf_bcast_segments(struct nf_pricer *pricer,
                                 const struct nf_coll_algorithm *algorithm,
                                 const struct nf_bcast_query *query,
                                 uint32_t *segments_p, double *time_us_p)
{
    uint64_t least = nf_segment_least(query->bytes, NF_BCAST_LEAST);
    uint64_t most = NF_BCAST_MESSAGES / pricer->hetero->hosts;
    double best_us = INFINITY;

    *segments_p = 1;
    *time_us_p = INFINITY;
    for (uint64_t segment = query->bytes > 0 ? query->bytes : 1; segment > 0;
         segment = nf_segment_next(segment, least)) {
        uint64_t k = nf_segment_count(query->bytes, segment);
        double handicap = segment < NF_BCAST_SEGMENT ? 1 / NF_CRL_SHORT : 1;
        double us;

        if (k > 1 && (algorithm->items != NF_ITEMS_SEGMENTS ||
                      k > query->elements || k > most))
            break;
        if (price_messages(pricer, algorithm, query, NULL, (uint32_t)k, &us) !=
            NF_OK)
            return NF_ERR_NOMEM;
        if ((k > 1 ? us * handicap : us) < best_us * LESS) {
            best_us = k > 1 ? us * handicap : us;
            *segments_p = (uint32_t)k;
            *time_us_p = us + call_us(pricer->hetero);
        }
    }
    return NF_OK;
}

static enum nf_status consider(struct nf_pricer *pricer,
                               const struct nf_coll_algorithm *algorithm,
                               const struct nf_bcast_query *query,
                               struct nf_bcast_plan *plan)
{
    const struct nf_coll_query asked = { .op = NF_COLL_BCAST,
                                         .ranks = pricer->hetero->hosts,
                                         .root = query->root,
                                         .bytes = query->bytes,
                                         .elements = query->elements,
                                         .commutative = true };
    enum nf_status status;
    uint32_t segments;
    double time_us;

    if (!nf_coll_serves(algorithm, &asked))
        return NF_OK;
    status = nf_bcast_segments(pricer, algorithm, query, &segments, &time_us);
    if (status == NF_OK && time_us < plan->cost_us * LESS) {
        plan->algorithm = algorithm;
        plan->segments = segments;
        plan->cost_us = time_us;
    }
    return status;
}

static enum nf_status price_tree(struct nf_pricer *pricer,
                                 const struct nf_bcast_query *query,
                                 struct nf_bcast_plan *plan)
{
    const struct nf_coll_tree tree = nf_bcast_plan_view(plan);

    plan->tree_segments =
        nf_coll_clamp_segments(query->elements, plan->crl.segments);
    return nf_bcast_price(pricer, &nf_coll_bcast_tree, query, &tree,
                          plan->tree_segments, &plan->tree_us);
}

/* The first one of the table is tried first, and the tree in its turn. */
static enum nf_status compare(struct nf_pricer *pricer,
                              const struct nf_bcast_query *query,
                              struct nf_bcast_plan *plan)
{
    enum nf_status status = NF_OK;

    plan->cost_us = INFINITY;
    for (size_t i = 0; nf_coll_table[i] != NULL && status == NF_OK; i++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_table[i];

        if (algorithm->op != NF_COLL_BCAST)
            continue;
        if (algorithm != &nf_coll_bcast_tree) {
            status = consider(pricer, algorithm, query, plan);
        } else if (plan->tree_us < plan->cost_us * LESS) {
            plan->algorithm = algorithm;
            plan->segments = plan->tree_segments;
            plan->cost_us = plan->tree_us;
        }
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
    enum nf_status status =
        nf_crl_plan(hetero, query->root, &options, &plan.crl, err);

    if (status != NF_OK)
        return status;
    status = nf_pricer_init(&pricer, hetero);
    if (status == NF_OK) {
        status = price_tree(&pricer, query, &plan);
        plan.segments = plan.tree_segments;
        plan.cost_us = plan.tree_us;
        if (status == NF_OK && all && hetero->hosts > 1)
            status = compare(&pricer, query, &plan);
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
