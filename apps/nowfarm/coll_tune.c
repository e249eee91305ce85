/* Which algorithms tuning tries first, and the rules that it writes. */
#include "config.h"
#include "apps/nowfarm/coll_tune.h"
#include "common/coll/exchange_choice.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_before(const struct coll_candidate *a,
                      const struct coll_candidate *b)
{
    if (a->predicted_us != b->predicted_us)
        return a->predicted_us < b->predicted_us;
    return strcmp(a->algorithm->name, b->algorithm->name) < 0;
}

/* Keep the best ones, in order. */
static unsigned insert(struct coll_candidate *list, unsigned count,
                       const struct coll_candidate *candidate)
{
    unsigned at = count;

    while (at > 0 && is_before(candidate, &list[at - 1]))
        at--;
    if (at == COLL_BEST_MOST)
        return count;
    if (count == COLL_BEST_MOST)
        count--;
    memmove(&list[at + 1], &list[at], (count - at) * sizeof(*list));
    list[at] = *candidate;
    return count + 1;
}

/* The twin of a candidate would be measured twice: of the two the one that the
 * selection takes stays, else the cheaper one.
 * @return the new count; *dropped_p: it is @p candidate that goes */
static unsigned drop_twin(struct coll_candidate *list, unsigned count,
                          const struct coll_candidate *candidate,
                          const struct nf_coll_algorithm *best,
                          bool *dropped_p)
{
    unsigned i = 0;

    *dropped_p = false;
    while (i < count &&
           !nf_coll_are_twins(list[i].algorithm, candidate->algorithm))
        i++;
    if (i == count)
        return count;
    *dropped_p = list[i].algorithm == best ||
                 (candidate->algorithm != best && is_before(&list[i], candidate));
    if (*dropped_p)
        return count;
    memmove(&list[i], &list[i + 1], (count - i - 1) * sizeof(*list));
    return count - 1;
}

/* How many of the list, in order, are worth trying. */
static unsigned worth_trying(const struct nf_coll_network *network,
                             const struct coll_candidate *list, unsigned count)
{
    double best_us = list[0].predicted_us;
    double short_us = network->share_us > 0 ? COLL_SHARED_US : COLL_SHORT_US;
    double most_us =
        fmax(COLL_CLOSE * best_us, fmin(COLL_CLOSE_SHORT * best_us, short_us));

    while (count > COLL_BEST && list[count - 1].predicted_us > most_us)
        count--;
    return count;
}

/* Those that a rule for the algorithm takes: tables name none. */
static void set_radices(const struct nf_coll_query *query,
                        const struct nf_coll_network *network,
                        struct coll_candidate *c)
{
    struct nf_exchange_price price;

    if (c->algorithm != &nf_coll_alltoall_mixed)
        return;
    price = nf_exchange_price_of(network);
    nf_exchange_radices(&price, query->ranks, query->bytes, &c->params);
    c->predicted_us = nf_coll_params_cost_us(c->algorithm, network, query,
                                             c->segments, &c->params);
}

bool coll_is_listed(const struct nf_coll_algorithm *algorithm,
                    const struct coll_candidate *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i].algorithm == algorithm)
            return true;
    return false;
}

/* How many bytes each of so many parts has at most, or how many parts there are of
 * so many bytes each. */
static uint64_t divided_up(uint64_t bytes, uint64_t by)
{
    return bytes / by + (bytes % by != 0);
}

uint32_t coll_told_segments(const struct nf_coll_query *query,
                            const struct nf_coll_algorithm *algorithm,
                            uint64_t k)
{
    const uint32_t least = nf_coll_least_segments(algorithm, query);

    if (algorithm->items != NF_ITEMS_SEGMENTS)
        return 1;
    k = nf_coll_clamp_segments(query->elements, k);
    if (query->bytes > 0)
        k = divided_up(query->bytes, divided_up(query->bytes, k));
    return k < least ? least : (uint32_t)k;
}

/* So many segments as a rule would give back, and what these take. */
static void set_told(const struct nf_coll_query *query,
                     const struct nf_coll_network *network,
                     struct coll_candidate *c)
{
    c->segments = coll_told_segments(query, c->algorithm, c->segments);
    c->predicted_us = nf_coll_cost_us(c->algorithm, network, query->ranks,
                                      (double)query->bytes, c->segments);
}

bool coll_is_same_way(const struct coll_candidate *a,
                      const struct coll_candidate *b)
{
    return a->algorithm == b->algorithm && a->segments == b->segments;
}

/* @param kind  what follows the operation's name */
static unsigned add_two_level(const struct nf_coll_query *query,
                              const struct nf_coll_network *network,
                              const char *kind, struct coll_candidate *list,
                              unsigned count)
{
    struct coll_candidate c = { .segments = 1 };
    char name[40];

    snprintf(name, sizeof(name), "%s.%s", nf_coll_op_names[query->op], kind);
    c.algorithm = nf_coll_find(name);
    if (c.algorithm == NULL || !nf_coll_serves(c.algorithm, query) ||
        coll_is_listed(c.algorithm, list, count))
        return count;
    c.segments =
        nf_coll_usual_segments(c.algorithm, network, query, &c.predicted_us);
    set_told(query, network, &c);
    list[count++] = c;
    return count;
}

static unsigned add_usual(const struct nf_coll_query *query,
                          const struct nf_coll_network *network,
                          const struct nf_coll_choice *usual,
                          struct coll_candidate *list, unsigned count)
{
    struct coll_candidate c = { .segments = 1 };

    if (usual == NULL || usual->algorithm == NULL)
        return count;
    c.algorithm = usual->algorithm;
    c.segments = usual->segments;
    if (count > 0 && coll_is_same_way(&list[0], &c)) /* a rule says: as the model has it */
        return count;
    set_told(query, network, &c);
    for (unsigned i = 0; i < count; i++)
        if (coll_is_same_way(&list[i], &c))
            return count;
    set_radices(query, network, &c);
    list[count] = c;
    return count + 1;
}

unsigned coll_candidates(const struct nf_coll_query *query,
                         const struct nf_coll_network *network,
                         const struct nf_coll_choice *usual, uint32_t hosts,
                         struct coll_candidate *list_p)
{
    uint32_t most =
        nf_coll_clamp_segments(query->elements, NF_COLL_SEGMENTS_MAX);
    struct nf_coll_choice best = { .algorithm = NULL };
    bool knows = nf_coll_select_by_model(query, network, &best), is_dropped;
    unsigned count = 0;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        struct coll_candidate c = { .algorithm = nf_coll_table[i] };

        if (!nf_coll_serves(c.algorithm, query))
            continue;
        c.segments =
            nf_coll_best_segments(c.algorithm, network, query->ranks,
                                  (double)query->bytes, most, &c.predicted_us);
        if (!isfinite(c.predicted_us))
            continue;
        if (c.algorithm == best.algorithm)
            c.segments = best.segments;
        else
            set_told(query, network, &c);
        set_radices(query, network, &c);
        if (!isfinite(c.predicted_us))
            continue;
        count = drop_twin(list_p, count, &c, best.algorithm, &is_dropped);
        if (!is_dropped)
            count = insert(list_p, count, &c);
    }
    count = worth_trying(network, list_p, count);
    /* of equals the selection has rules of its own */
    if (knows)
        for (unsigned i = 1; i < count; i++)
            if (list_p[i].algorithm == best.algorithm) {
                struct coll_candidate c = list_p[i];

                list_p[i] = list_p[0];
                list_p[0] = c;
            }
    count = add_usual(query, network, usual, list_p, count);
    if (hosts >= query->ranks)
        return count;
    count = add_two_level(query, network, "two_level", list_p, count);
    return add_two_level(query, network, "two_level_ordered", list_p, count);
}

struct coll_effort coll_usual_effort(uint64_t least)
{
    return (struct coll_effort){ .least = least,
                                 .most = COLL_MOST_REPEATS,
                                 .turns = COLL_TURNS,
                                 .budget_us = COLL_BUDGET_US };
}

struct nf_coll_rule coll_rule(const struct nf_coll_query *query,
                              const struct coll_candidate *winner,
                              bool is_model, uint64_t max_bytes)
{
    struct nf_coll_rule rule = {
        .op = query->op,
        .operators = nf_coll_class_of(query),
        .ranks = query->ranks,
        .max_bytes = max_bytes,
        .algorithm = winner->algorithm,
        .k_rule = NF_K_FIXED,
        .value = 1,
    };

    if (winner->algorithm->items != NF_ITEMS_SEGMENTS)
        return rule;
    if (is_model) {
        rule.k_rule = NF_K_MODEL;
        rule.value = 0;
    } else if (winner->segments > 1) {
        rule.k_rule = NF_K_SEGMENT;
        rule.value = divided_up(query->bytes, winner->segments);
    }
    return rule;
}

uint64_t coll_reach(const uint64_t *sizes, unsigned count, unsigned i)
{
    if (i + 1 >= count)
        return UINT64_MAX;
    return (uint64_t)sqrt((double)sizes[i] * (double)sizes[i + 1]);
}

static bool is_for_same_calls(const struct nf_coll_rule *a,
                              const struct nf_coll_rule *b)
{
    return a->op == b->op && a->operators == b->operators &&
           a->ranks == b->ranks;
}

/* Of the same algorithm for the same calls, and of that kind of k. */
static bool is_same_way(const struct nf_coll_rule *rule,
                        const struct nf_coll_rule *like,
                        enum nf_coll_k_rule k_rule)
{
    return is_for_same_calls(rule, like) && rule->algorithm == like->algorithm &&
           rule->k_rule == k_rule;
}

/* If the tuned size before that of @p whole goes in one piece too, so do all between:
 * take out the rule that coll_add_rules() has put there.  That one reaches half way
 * from there to @p bytes, which no rule that was measured does. */
static void join(struct nf_coll_rules *rules, const struct nf_coll_rule *whole,
                 uint64_t bytes)
{
    struct nf_coll_rule *rule = rules->rules;

    for (size_t i = 1; i < rules->count; i++) {
        const uint64_t sizes[] = { rule[i - 1].max_bytes, bytes };

        if (is_same_way(&rule[i - 1], whole, NF_K_FIXED) &&
            is_same_way(&rule[i], whole, NF_K_MODEL) &&
            rule[i].max_bytes == coll_reach(sizes, 2, 0)) {
            rules->count--;
            memmove(&rule[i], &rule[i + 1],
                    (rules->count - i) * sizeof(*rule));
            return;
        }
    }
}

enum nf_status coll_add_rules(struct nf_coll_rules *rules,
                              const struct nf_coll_query *query,
                              const struct coll_candidate *winner,
                              bool is_model, uint64_t max_bytes)
{
    struct nf_coll_rule rule = coll_rule(query, winner, is_model, max_bytes);
    enum nf_status status;

    if (rule.algorithm->items != NF_ITEMS_SEGMENTS ||
        rule.k_rule != NF_K_FIXED)
        return nf_coll_rules_add(rules, &rule);
    join(rules, &rule, query->bytes);
    if (max_bytes <= query->bytes)
        return nf_coll_rules_add(rules, &rule);
    rule.max_bytes = query->bytes;
    status = nf_coll_rules_add(rules, &rule);
    if (status != NF_OK)
        return status;
    rule.k_rule = NF_K_MODEL;
    rule.value = 0;
    rule.max_bytes = max_bytes;
    return nf_coll_rules_add(rules, &rule);
}

static bool says_the_same(const struct nf_coll_rule *a,
                          const struct nf_coll_rule *b)
{
    return is_same_way(a, b, b->k_rule) && a->value == b->value;
}

void coll_merge_rules(struct nf_coll_rules *rules)
{
    size_t kept = 0;

    for (size_t i = 0; i < rules->count; i++)
        if (i + 1 == rules->count ||
            !says_the_same(&rules->rules[i], &rules->rules[i + 1]))
            rules->rules[kept++] = rules->rules[i];
    rules->count = kept;
}

void coll_drop_rules(struct nf_coll_rules *rules,
                     const struct nf_coll_query *query)
{
    enum nf_coll_class operators = nf_coll_class_of(query);
    size_t kept = 0;

    for (size_t i = 0; i < rules->count; i++)
        if (rules->rules[i].op != query->op ||
            rules->rules[i].operators != operators ||
            rules->rules[i].ranks != query->ranks)
            rules->rules[kept++] = rules->rules[i];
    rules->count = kept;
    nf_coll_rules_forget_unknown(rules, nf_coll_op_names[query->op], operators,
                                 query->ranks);
}

bool coll_rules_may_stay(const struct nf_coll_rules *rules,
                         const struct nf_coll_place *here, char *text_p,
                         size_t bytes)
{
    if (nf_coll_rules_differ(rules, here, text_p, bytes))
        return false;
    if (rules->model.hosts_hash != here->hosts_hash)
        snprintf(text_p, bytes, "tuned between hosts that it does not tell");
    else if (rules->library[0] == '\0')
        snprintf(text_p, bytes, "tuned by a version that it does not tell");
    return text_p[0] == '\0';
}
