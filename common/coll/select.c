/* Which algorithm, in how many segments. */
#include "config.h"
#include <inttypes.h>
#include "common/coll/select.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/coll/exchange_choice.h"
#include "common/coll/rules.h"
#include "common/coll/wish.h"

/* Of groups with more members the messages are not counted: it would take
 * longer than many a call. */
enum { CROWD_MOST = 128 };

static bool combines(enum nf_coll_op op)
{
    return op == NF_COLL_REDUCE || op == NF_COLL_ALLREDUCE ||
           op == NF_COLL_REDUCE_SCATTER || op == NF_COLL_SCAN ||
           op == NF_COLL_EXSCAN;
}

bool nf_coll_same_params(const struct nf_coll_params *a,
                         const struct nf_coll_params *b)
{
    return a->radix == b->radix && a->radices.count == b->radices.count &&
           a->shape.count == b->shape.count &&
           memcmp(a->radices.of, b->radices.of,
                  a->radices.count * sizeof(a->radices.of[0])) == 0 &&
           memcmp(a->shape.of, b->shape.of,
                  a->shape.count * sizeof(a->shape.of[0])) == 0;
}

void nf_coll_use_params(const struct nf_coll_params *params,
                        struct nf_coll_args *args)
{
    args->radix = params->radix;
    args->radices = params->radices.count > 0 ? &params->radices : NULL;
    args->shape = params->shape.count > 0 ? &params->shape : NULL;
}

/* Of a vector each block is to have an element. */
static bool has_blocks_for(const struct nf_coll_algorithm *algorithm,
                           const struct nf_coll_query *query)
{
    const struct nf_coll_args args = { .ranks = query->ranks,
                                       .root = query->root,
                                       .segments = 1,
                                       .hosts = query->hosts };
    /* elsewhere each rank has a block, empty or not */
    bool of_vector = query->op == NF_COLL_BCAST ||
                     query->op == NF_COLL_REDUCE ||
                     query->op == NF_COLL_ALLREDUCE;

    return !of_vector || algorithm->op != query->op ||
           algorithm->items == NF_ITEMS_WHOLE ||
           algorithm->items == NF_ITEMS_SEGMENTS ||
           nf_coll_item_count(algorithm, &args) <= query->elements;
}

/* But for what nf_coll_fits() says.  Blocks may be empty: who asks for it by name gets it. */
static bool can_serve(const struct nf_coll_algorithm *algorithm,
                      const struct nf_coll_query *query)
{
    const struct nf_coll_args args = { .ranks = query->ranks,
                                       .root = query->root,
                                       .segments = 1,
                                       .hosts = query->hosts };

    return algorithm->op == query->op &&
           (!combines(query->op) || query->commutative ||
            nf_coll_keeps_order(algorithm, &args));
}

static bool serves_anywhere(const struct nf_coll_algorithm *algorithm,
                            const struct nf_coll_query *query,
                            const struct nf_coll_params *params)
{
    struct nf_coll_args args = { .ranks = query->ranks,
                                 .root = query->root,
                                 .segments = 1 };

    if (params != NULL)
        nf_coll_use_params(params, &args);
    return can_serve(algorithm, query) && has_blocks_for(algorithm, query) &&
           nf_coll_fits(algorithm, &args, NULL) == NF_OK;
}

/* ---- memory ---- */

static uint32_t most_segments(const struct nf_coll_algorithm *algorithm,
                              const struct nf_coll_query *query)
{
    return algorithm->items == NF_ITEMS_SEGMENTS
               ? nf_coll_clamp_segments(query->elements, NF_COLL_SEGMENTS_MAX)
               : 1;
}

static uint64_t kept_bytes(const struct nf_coll_algorithm *algorithm,
                           const struct nf_coll_query *query, uint32_t segments)
{
    return nf_coll_kept_bytes(algorithm, query->ranks, query->bytes, segments);
}

/* The least that it may keep. */
static uint64_t least_kept(const struct nf_coll_algorithm *algorithm,
                           const struct nf_coll_query *query)
{
    return kept_bytes(algorithm, query, most_segments(algorithm, query));
}

/* Does it keep no more than it may, or than any other would? */
static bool has_room(const struct nf_coll_algorithm *algorithm,
                     const struct nf_coll_query *query)
{
    uint64_t least;

    if (query->memory_bytes == 0)
        return true;
    least = least_kept(algorithm, query);
    if (least <= query->memory_bytes)
        return true;
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        if (least_kept(nf_coll_table[i], query) < least &&
            serves_anywhere(nf_coll_table[i], query, NULL))
            return false;
    return true;
}

bool nf_coll_serves(const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_query *query)
{
    return nf_coll_serves_with(algorithm, query, NULL);
}

bool nf_coll_serves_with(const struct nf_coll_algorithm *algorithm,
                         const struct nf_coll_query *query,
                         const struct nf_coll_params *params)
{
    return serves_anywhere(algorithm, query, params) &&
           has_room(algorithm, query);
}

uint32_t nf_coll_least_segments(const struct nf_coll_algorithm *algorithm,
                                const struct nf_coll_query *query)
{
    uint32_t most = most_segments(algorithm, query), k = 1;
    uint64_t room_bytes;

    if (query->memory_bytes == 0)
        return 1;
    /* where no number of segments is enough, none more than it takes */
    room_bytes = kept_bytes(algorithm, query, most);
    if (room_bytes < query->memory_bytes)
        room_bytes = query->memory_bytes;
    while (k < most && kept_bytes(algorithm, query, k) > room_bytes)
        k++;
    return k;
}

/* ---- what it costs ---- */

/* Where the cost on half-duplex and on full-duplex ports is from. */
struct formulas {
    double
        crowd_us; /* what messages of one segment take of shared processors */
    const struct nf_coll_algorithm *half, *full;
    double half_weight, full_weight;
    struct nf_coll_price half_price, full_price;
    struct nf_coll_levels levels; /* of algorithms of two; hosts 0: not known */
    struct nf_exchange_price exchange; /* of a burst; npieces 0: by formula */
};

/* "bcast.pipeline.fd" for "bcast.pipeline.hd" and ".fd": the same messages in
 * another order, which is all the same to ranks that are not in step. */
static const struct nf_coll_algorithm *
sibling(const struct nf_coll_algorithm *algorithm, const char *ending)
{
    size_t length = strlen(algorithm->name);

    if (length < 3 || algorithm->name[length - 3] != '.')
        return NULL;
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        if (strncmp(nf_coll_table[i]->name, algorithm->name, length - 3) == 0 &&
            strcmp(nf_coll_table[i]->name + length - 3, ending) == 0)
            return nf_coll_table[i];
    return NULL;
}

bool nf_coll_are_twins(const struct nf_coll_algorithm *a,
                       const struct nf_coll_algorithm *b)
{
    bool is_chain = strstr(a->name, ".pipeline.") != NULL ||
                    strstr(a->name, ".chain.") != NULL;

    return is_chain && a != b &&
           (sibling(a, ".hd") == b || sibling(a, ".fd") == b);
}

static bool has_formula(const struct nf_coll_algorithm *algorithm,
                        const struct nf_coll_price *price, uint32_t ranks)
{
    return algorithm != NULL &&
           isfinite(algorithm->cost_us(algorithm, price, ranks, 1, 1));
}

/* Formulas count what one rank does, and think of the others as doing the same
 * meanwhile.  Where all share some processors, no algorithm is done before
 * these have had all of its messages.
 * @return messages of a segment, or of all where there are none; 0: too many */
static double count_messages(const struct nf_coll_algorithm *algorithm,
                             const struct nf_coll_network *network,
                             uint32_t ranks)
{
    struct nf_coll_args args = { .ranks = ranks, .segments = 1 };
    uint32_t hosts[CROWD_MOST]; /* which rank is where changes no number */
    struct nf_schedule schedule;
    double count = 0;

    if (ranks > CROWD_MOST)
        return 0;
    for (uint32_t r = 0; r < ranks && network->hosts > 1; r++) {
        hosts[r] = r < network->hosts ? r : 0;
        args.hosts = hosts;
    }
    if (nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, NULL) == NF_OK)
        count = (double)schedule.count;
    nf_schedule_fini(&schedule);
    return count;
}

static struct nf_coll_levels levels_of(const struct nf_coll_network *network,
                                       uint32_t ranks)
{
    if (network->near.npieces == 0 || network->hosts < 2 ||
        network->hosts >= ranks)
        return (struct nf_coll_levels){ .hosts = 0 };
    return (struct nf_coll_levels){ .between = &network->price,
                                    .within = &network->near,
                                    .hosts = network->hosts,
                                    .fullest = network->fullest,
                                    .delta = network->delta };
}

/* Do messages of a burst differ in what they cost, or have one medium? */
static bool has_two_links(const struct nf_coll_network *network)
{
    return (network->near.npieces > 0 && network->least > 1) ||
           network->is_shared;
}

/* Beyond the largest blocks start-up times are nothing. */
static double exchange_us(const struct nf_exchange_price *price, uint32_t ranks,
                          double bytes, const struct nf_coll_params *params)
{
    double large_bytes = fmin(bytes, NF_EXCHANGE_LARGE_BYTES);
    uint64_t ns = nf_exchange_ns(price, ranks, (uint64_t)large_bytes, params);

    if (bytes > large_bytes)
        return (double)ns / 1e3 * (bytes / large_bytes);
    return (double)ns / 1e3;
}

/* Between the two kinds of ports a missing formula is replaced: by that of the
 * sibling; else full duplex is no slower than half; else half duplex takes at
 * most three turns for a round (ranks that send around an odd ring). */
static struct formulas find_formulas(const struct nf_coll_algorithm *algorithm,
                                     const struct nf_coll_network *network,
                                     uint32_t ranks)
{
    struct formulas f = {
        .half = algorithm,
        .full = algorithm,
        .half_weight = network->delta - 1,
        .full_weight = 2 - network->delta,
        .half_price = network->price,
        .full_price = network->price,
    };

    if (network->share_us > 0)
        f.crowd_us =
            network->share_us * count_messages(algorithm, network, ranks);
    if (algorithm == &nf_coll_alltoall_burst && has_two_links(network))
        f.exchange = nf_exchange_price_of(network);
    if (algorithm->levels_us != NULL) {
        f.levels = levels_of(network, ranks);
        return f;
    }
    f.half_price.ports = NF_PORTS_HALF;
    f.full_price.ports = NF_PORTS_FULL;
    if (f.half_weight <= 0 || f.full_weight <= 0)
        return f;
    if (!has_formula(f.full, &f.full_price, ranks)) {
        f.full = sibling(algorithm, ".fd");
        if (!has_formula(f.full, &f.full_price, ranks)) {
            f.full = algorithm;
            f.full_price = f.half_price;
        }
    }
    if (!has_formula(f.half, &f.half_price, ranks)) {
        f.half = sibling(algorithm, ".hd");
        if (!has_formula(f.half, &f.half_price, ranks)) {
            f.half = algorithm;
            f.half_price = f.full_price;
            f.half_weight *= 3;
        }
    }
    return f;
}

static double cost_by(const struct formulas *f, uint32_t ranks, double bytes,
                      uint32_t k)
{
    const struct nf_coll_params none = { .radix = 0 };
    double cost = 0;

    if (f->exchange.npieces > 0)
        return exchange_us(&f->exchange, ranks, bytes, &none);
    if (f->full->levels_us != NULL)
        cost = f->levels.hosts > 0
                   ? f->full->levels_us(f->full, &f->levels, bytes, k)
                   : INFINITY;
    else if (f->half_weight > 0)
        cost += f->half_weight *
                f->half->cost_us(f->half, &f->half_price, ranks, bytes, k);
    if (f->full->levels_us == NULL && f->full_weight > 0)
        cost += f->full_weight *
                f->full->cost_us(f->full, &f->full_price, ranks, bytes, k);
    return cost < f->crowd_us * k ? f->crowd_us * k : cost;
}

double nf_coll_cost_us(const struct nf_coll_algorithm *algorithm,
                       const struct nf_coll_network *network, uint32_t ranks,
                       double bytes, uint32_t segments)
{
    struct formulas f = find_formulas(algorithm, network, ranks);

    return cost_by(&f, ranks, bytes, segments);
}

double nf_coll_params_cost_us(const struct nf_coll_algorithm *algorithm,
                              const struct nf_coll_network *network,
                              const struct nf_coll_query *query,
                              uint32_t segments,
                              const struct nf_coll_params *params)
{
    const struct nf_coll_params none = { .radix = 0 };
    struct nf_exchange_price price;

    if (nf_coll_same_params(params, &none))
        return nf_coll_cost_us(algorithm, network, query->ranks,
                               (double)query->bytes, segments);
    if (algorithm != &nf_coll_alltoall_mixed || params->radices.count == 0)
        return INFINITY;
    price = nf_exchange_price_of(network);
    return exchange_us(&price, query->ranks, (double)query->bytes, params);
}

uint32_t nf_coll_best_segments(const struct nf_coll_algorithm *algorithm,
                               const struct nf_coll_network *network,
                               uint32_t ranks, double bytes, uint32_t most,
                               double *cost_us_p)
{
    struct formulas f = find_formulas(algorithm, network, ranks);
    double least = cost_by(&f, ranks, bytes, 1);
    uint32_t best = 1;

    if (algorithm->items != NF_ITEMS_SEGMENTS)
        most = 1;
    if (most > NF_COLL_SEGMENTS_MAX)
        most = NF_COLL_SEGMENTS_MAX;
    for (uint32_t k = 2; k <= most; k++) {
        double cost = cost_by(&f, ranks, bytes, k);

        if (cost < least) {
            least = cost;
            best = k;
        }
    }
    if (cost_us_p != NULL)
        *cost_us_p = least;
    return best;
}

/* The cheapest k with which there is room.  Beyond the cheapest of all time
 * grows, so that is the least with room if the cheapest of all has none. */
static uint32_t best_segments_of(const struct nf_coll_algorithm *algorithm,
                                 const struct nf_coll_network *network,
                                 const struct nf_coll_query *query,
                                 double *cost_us_p)
{
    uint32_t most =
        nf_coll_clamp_segments(query->elements, NF_COLL_SEGMENTS_MAX);
    uint32_t k = nf_coll_best_segments(algorithm, network, query->ranks,
                                       (double)query->bytes, most, cost_us_p);
    uint32_t least = nf_coll_least_segments(algorithm, query);

    if (k >= least)
        return k;
    if (cost_us_p != NULL)
        *cost_us_p = nf_coll_cost_us(algorithm, network, query->ranks,
                                     (double)query->bytes, least);
    return least;
}

uint32_t nf_coll_usual_segments(const struct nf_coll_algorithm *algorithm,
                                const struct nf_coll_network *network,
                                const struct nf_coll_query *query,
                                double *cost_us_p)
{
    double cost;
    uint32_t k = best_segments_of(algorithm, network, query, &cost);
    uint32_t least = nf_coll_least_segments(algorithm, query);
    char name[40];

    if (cost_us_p != NULL)
        *cost_us_p = cost;
    if (algorithm->items != NF_ITEMS_SEGMENTS || isfinite(cost))
        return k;
    snprintf(name, sizeof(name), "%s.circulant",
             nf_coll_op_names[algorithm->op]);
    algorithm = nf_coll_find(name);
    if (algorithm == NULL || algorithm->items != NF_ITEMS_SEGMENTS)
        algorithm = nf_coll_find("bcast.circulant");
    k = best_segments_of(algorithm, network, query, NULL);
    return k < least ? least : k;
}

double nf_coll_real_segments(double alpha, double beta, double start_us,
                             double byte_us, double bytes)
{
    if (beta <= 0)
        return 0;
    return sqrt(beta * byte_us * bytes / (alpha * start_us));
}

/* ---- the choice ---- */

bool nf_coll_select_by_model(const struct nf_coll_query *query,
                             const struct nf_coll_network *network,
                             struct nf_coll_choice *choice)
{
    /* equal but for rounding is equal: then the first by name */
    const double less = 1 - 1e-9;
    struct nf_coll_choice best = { .cost_us = INFINITY };
    struct nf_exchange_price price;

    if (query->op == NF_COLL_ALLTOALL) {
        price = nf_exchange_price_of(network);
        nf_coll_choose_exchange(&price, query, choice);
        return true;
    }
    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        struct nf_coll_choice got = { .algorithm = nf_coll_table[i] };

        if (!nf_coll_serves(got.algorithm, query))
            continue;
        got.segments =
            best_segments_of(got.algorithm, network, query, &got.cost_us);
        if (!isfinite(got.cost_us))
            continue;
        if (best.algorithm == NULL || got.cost_us < best.cost_us * less ||
            (got.cost_us * less <= best.cost_us &&
             strcmp(got.algorithm->name, best.algorithm->name) < 0))
            best = got;
    }
    if (best.algorithm == NULL)
        return false;
    *choice = best;
    return true;
}

/* @param k  what was asked for; 0: what the model says */
static void choose(const struct nf_coll_algorithm *algorithm, uint64_t k,
                   const struct nf_coll_query *query,
                   const struct nf_coll_network *network,
                   struct nf_coll_choice *choice)
{
    *choice = (struct nf_coll_choice){ .algorithm = algorithm };
    if (k == 0) {
        choice->segments =
            nf_coll_usual_segments(algorithm, network, query, &choice->cost_us);
        return;
    }
    choice->segments = algorithm->items == NF_ITEMS_SEGMENTS
                           ? nf_coll_clamp_segments(query->elements, k)
                           : 1;
    choice->cost_us = nf_coll_cost_us(algorithm, network, query->ranks,
                                      (double)query->bytes, choice->segments);
}

static enum nf_status choose_forced(const char *forced,
                                    const struct nf_coll_query *query,
                                    const struct nf_coll_network *network,
                                    struct nf_coll_choice *choice,
                                    struct nf_error *err)
{
    struct nf_coll_args args = { .ranks = query->ranks,
                                 .root = query->root,
                                 .segments = 1 };
    struct nf_coll_wish wish;
    struct nf_error why;

    if (nf_coll_wish_read_for(forced, query->ranks, &wish, err) != NF_OK)
        return NF_ERR_INVAL;
    nf_coll_use_params(&wish.params, &args);
    if (!can_serve(wish.algorithm, query))
        return nf_fail(err, NF_ERR_INVAL,
                       "%s cannot serve this %s: %u ranks, operands in %s",
                       wish.algorithm->name, nf_coll_op_names[query->op], query->ranks,
                       query->commutative ? "any order" : "the order of ranks");
    if (nf_coll_fits(wish.algorithm, &args, &why) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL, "%s", why.text);
    choose(wish.algorithm, wish.segments, query, network, choice);
    choice->params = wish.params;
    choice->cost_us = nf_coll_params_cost_us(wish.algorithm, network, query,
                                             choice->segments, &choice->params);
    return NF_OK;
}

static void choose_by_rule(const struct nf_coll_rule *rule,
                           const struct nf_coll_query *query,
                           const struct nf_coll_network *network,
                           struct nf_coll_choice *choice)
{
    uint64_t k = 0, least = nf_coll_least_segments(rule->algorithm, query);

    if (rule->k_rule == NF_K_FIXED)
        k = rule->value;
    else if (rule->k_rule == NF_K_SEGMENT)
        k = query->bytes / rule->value + (query->bytes % rule->value != 0);
    if (rule->k_rule != NF_K_MODEL && k < least)
        k = least;
    choose(rule->algorithm, k, query, network, choice);
    /* rules name no radices: the best for this size */
    if (rule->algorithm == &nf_coll_alltoall_mixed) {
        struct nf_exchange_price price = nf_exchange_price_of(network);

        nf_exchange_radices(&price, query->ranks, query->bytes,
                            &choice->params);
        choice->cost_us = nf_coll_params_cost_us(
            rule->algorithm, network, query, choice->segments, &choice->params);
    }
}

enum nf_status nf_coll_select(const struct nf_coll_query *query,
                              const struct nf_coll_network *network,
                              const struct nf_coll_rules *rules,
                              const char *forced, struct nf_coll_choice *choice,
                              struct nf_error *err)
{
    const struct nf_coll_rule *rule =
        rules != NULL ? nf_coll_rules_find(rules, query) : NULL;

    if (forced != NULL)
        return choose_forced(forced, query, network, choice, err);
    if (rule != NULL) {
        choose_by_rule(rule, query, network, choice);
        return NF_OK;
    }
    if (nf_coll_select_by_model(query, network, choice))
        return NF_OK;
    /* without a formula: whatever serves */
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        if (nf_coll_serves(nf_coll_table[i], query)) {
            choose(nf_coll_table[i], 1, query, network, choice);
            return NF_OK;
        }
    return nf_fail(err, NF_ERR_FAILED, "no algorithm for %s over %u ranks",
                   nf_coll_op_names[query->op], query->ranks);
}
