/* Which algorithm: select.h decides; here is what a group remembers of it, and
 * what its user wants.  Equal in all members, as all that it is made from is.
 */
#include "config.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/coll/exchange_choice.h"
#include "common/coll/wish.h"
#include "common/group/group.h"
#include <stdio.h>
#include <string.h>

/* A switched 100 Mbit/s network of hosts that are not busy: what is believed
 * as long as nothing was measured. */
const struct nf_model nf_group_model = {
    .npieces = 1,
    .pieces = { { 0, 90, 0.085 } },
    .nnear = 1, /* and these have processors of a few GB/s */
    .near = { { 0, 15, 0.0007 } },
    .delta = 1.1,
    .occupancy_us = 20,
    .ncombines = 1,
    .combines = { { "double", "sum", 0.0005 } },
};

/* As in nf_group.forced. */
enum { NAME_BYTES = 64 };

static bool combines(enum nf_coll_op op)
{
    return op == NF_COLL_REDUCE || op == NF_COLL_ALLREDUCE ||
           op == NF_COLL_REDUCE_SCATTER || op == NF_COLL_SCAN ||
           op == NF_COLL_EXSCAN;
}

/* What combining costs is asked for by type and operator; where that was not
 * measured, the slowest operator of the type is taken, else the slowest of all. */
static struct nf_coll_network network_for(const struct nf_model *model,
                                          const struct nf_choice_query *query)
{
    char type[NF_CODE_NAME_BYTES], op[NF_CODE_NAME_BYTES];

    if (!combines(query->coll.op))
        return nf_coll_network_of(model, NULL, NULL);
    nf_elem_name(query->type, type);
    nf_operator_name(query->op, op);
    return nf_coll_network_of(model, type, op);
}

/* The same, as members share hosts.  Of a deterministic group where they are is no
 * more certain to be the same another time than what was measured. */
static struct nf_coll_network
network_between(const struct nf_group *group, const struct nf_model *model,
                const struct nf_choice_query *query)
{
    struct nf_coll_network network = network_for(model, query);

    network.share_us = nf_model_share_on(model, group->part);
    network.hosts = group->nhosts;
    network.fullest = (uint32_t)(group->part * group->ranks + 0.5);
    network.least = group->least;
    network.lists = query->lists;
    if (group->nhosts == 1 && !group->deterministic)
        nf_coll_network_within(&network);
    return network;
}

/* Blocks of sizes that only their rank and the root know: whoever chooses must
 * not go by these.  What is best for large ones does no great harm to small
 * ones.  Of an all-to-all choose_exchange() knows more. */
static const char *for_unknown_sizes(enum nf_coll_op op)
{
    return op == NF_COLL_GATHER ? "gather.linear_nb" : "scatter.linear_nb";
}

/* Alone, or with nothing to choose: any of the operation. */
static const struct nf_coll_algorithm *first_of(enum nf_coll_op op)
{
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        if (nf_coll_table[i]->op == op)
            return nf_coll_table[i];
    return NULL;
}

/* Blocks of sizes that only some know: what is best for large ones, as a burst is
 * where each message has its own way. */
static bool choose_on_torus(const struct nf_group *group,
                            const struct nf_exchange_price *price,
                            const struct nf_coll_query *coll, bool blindly,
                            struct nf_coll_choice *choice_p)
{
    struct nf_coll_query query = *coll;

    if (blindly)
        query.bytes = query.elements = NF_TORUS_LARGE_BYTES;
    return nf_torus_choose(group->torus, price, &query, choice_p);
}

/* Alike in all members, whatever their floating point: by whole numbers.  Of a
 * deterministic group by nothing that is not its size: where its members are is
 * no more certain to be the same another time than what was measured.
 * @param blindly  only some know how large blocks are.  Nor is it known then
 *                 what memory they take: with a limit it is what takes the
 *                 least
 * @param lists    they may differ */
static void choose_exchange(const struct nf_group *group,
                            const struct nf_coll_query *coll, bool measured,
                            bool blindly, bool lists,
                            struct nf_coll_choice *choice_p)
{
    struct nf_coll_network network =
        nf_coll_network_of(&nf_group_model, NULL, NULL);
    struct nf_exchange_price price = group->exchange;

    if (!group->deterministic)
        network.least = group->least;
    if (!measured)
        price = nf_exchange_price_of(&network);
    if (group->torus != NULL && !group->deterministic &&
        choose_on_torus(group, &price, coll, blindly, choice_p))
        return;
    price.lists = lists;
    if (blindly && coll->memory_bytes > 0)
        choice_p->algorithm = &nf_coll_alltoall_burst;
    else if (blindly)
        nf_exchange_choose_blindly(&price, coll->ranks, choice_p);
    else
        nf_coll_choose_exchange(&price, coll, choice_p);
}

/* What is believed where no table says: the model of the network that was
 * measured, if there is one. */
static const struct nf_model *usual_model(const struct nf_group *group,
                                          const struct nf_choice_query *query)
{
    if (group->measured == NULL || group->sharing || query->plain)
        return &nf_group_model;
    return &nf_measured_network(group->measured)->model;
}

/* By the measured network, unless something else than its tree is forced.
 * @retval NF_WAIT  the network has no say */
static enum nf_status choose_measured(const struct nf_group *group,
                                      const struct nf_coll_query *coll,
                                      const char *forced,
                                      struct nf_coll_choice *choice_p,
                                      struct nf_error *err)
{
    struct nf_coll_wish wish = { .algorithm = &nf_coll_bcast_tree };
    enum nf_status status;

    if (coll->op != NF_COLL_BCAST ||
        (group->measured == NULL && group->no_network[0] == '\0'))
        return NF_WAIT;
    if (forced[0] != '\0' && (nf_coll_wish_read(forced, &wish, err) != NF_OK ||
                              wish.algorithm != &nf_coll_bcast_tree))
        return NF_WAIT;
    if (group->measured == NULL)
        return forced[0] == '\0'
                   ? NF_WAIT
                   : nf_fail(err, NF_ERR_FAILED, "bcast.tree: no network: %s",
                             group->no_network);
    status = nf_measured_choose(group->measured, coll, forced[0] != '\0',
                                choice_p, err);
    if (status == NF_OK && wish.segments > 0)
        choice_p->segments =
            nf_coll_clamp_segments(coll->elements, wish.segments);
    return status;
}

/* Where models have no say: nothing that members whose doubles differ would not
 * all choose, nor another time of the same group.  A name or a rule may leave segments to the model. */
static enum nf_status
choose_fixed(const struct nf_group *group, const struct nf_coll_query *coll,
             const struct nf_coll_network *network,
             const struct nf_coll_rules *rules, const char *forced,
             struct nf_coll_choice *choice_p, struct nf_error *err)
{
    const struct nf_coll_rule *rule =
        rules != NULL ? nf_coll_rules_find(rules, coll) : NULL;
    struct nf_coll_wish wish = { .segments = 0 };
    bool modelled = true;
    enum nf_status status;

    if (forced[0] == '\0' && rule == NULL)
        return nf_coll_select_fixed(coll, choice_p)
                   ? NF_OK
                   : nf_fail(err, NF_ERR_FAILED,
                             "no algorithm for %s over %u ranks",
                             nf_coll_op_names[coll->op], group->ranks);
    status = nf_coll_select(coll, network, rules,
                            forced[0] != '\0' ? forced : NULL, choice_p, err);
    if (status != NF_OK)
        return status;
    if (forced[0] == '\0')
        modelled = rule->k_rule == NF_K_MODEL;
    else if (nf_coll_wish_read(forced, &wish, NULL) == NF_OK)
        modelled = wish.segments == 0;
    if (modelled)
        choice_p->segments = nf_coll_fixed_segments(choice_p->algorithm, coll);
    return NF_OK;
}

static enum nf_status choose(const struct nf_group *group,
                             const struct nf_choice_query *query,
                             struct nf_coll_choice *choice_p,
                             struct nf_error *err)
{
    bool combined = combines(query->coll.op);
    struct nf_coll_query coll = query->coll;
    const char *forced =
        group->sharing || query->plain ? "" : group->forced[coll.op];
    const struct nf_coll_rules *rules =
        group->has_rules && !query->plain ? &group->rules : NULL;
    const struct nf_model *model =
        rules != NULL ? &rules->model : usual_model(group, query);
    struct nf_coll_network network;
    enum nf_status status;

    *choice_p = (struct nf_coll_choice){ .segments = 1 };
    coll.hosts = group->hosts;
    if (coll.ranks == 1) {
        choice_p->algorithm = first_of(coll.op);
        return NF_OK;
    }
    if (!group->sharing && !query->plain &&
        (!group->deterministic || forced[0] != '\0')) {
        coll.memory_bytes = group->memory_bytes;
        status = choose_measured(group, &coll, forced, choice_p, err);
        if (status != NF_WAIT)
            return status;
    }
    /* what is timed comes next: all members are to begin at once, and not one
     * after the other as out of a linear barrier */
    if (query->plain && coll.op == NF_COLL_BARRIER)
        forced = "barrier.dissemination";
    if (query->varies && forced[0] == '\0' && coll.op != NF_COLL_ALLTOALL)
        forced = for_unknown_sizes(coll.op);
    if (group->deterministic) {
        coll.commutative = coll.commutative && !combined;
        coll.bytes = coll.elements * 8;
        coll.memory_bytes = 0;
        model = &nf_group_model;
        rules = NULL;
    }
    if (coll.op == NF_COLL_ALLTOALL && forced[0] == '\0' &&
        (query->varies || rules == NULL ||
         nf_coll_rules_find(rules, &coll) == NULL)) {
        choose_exchange(group, &coll, model != &nf_group_model, query->varies,
                        query->lists, choice_p);
        return NF_OK;
    }
    network = network_between(group, model, query);
    /* whose doubles differ is found out by the first calls */
    if (group->sharing || group->odd != 0 || group->deterministic)
        status =
            choose_fixed(group, &coll, &network, rules, forced, choice_p, err);
    else
        status =
            nf_coll_select(&coll, &network, rules,
                           forced[0] != '\0' ? forced : NULL, choice_p, err);
    if (status == NF_OK && choice_p->algorithm == &nf_coll_bcast_tree &&
        group->told.ranks != 0 && coll.root == group->told.root)
        choice_p->tree = &group->told;
    if (status == NF_OK && forced[0] == '\0' &&
        choice_p->algorithm == &nf_coll_alltoall_mixed) {
        struct nf_exchange_price price = group->exchange;

        price.lists = query->lists;
        nf_exchange_radices(&price, coll.ranks, coll.bytes, &choice_p->params);
    }
    return status;
}

static uint32_t slot_of(const struct nf_choice_query *query)
{
    const struct nf_coll_query *coll = &query->coll;
    uint64_t hash = (uint64_t)coll->op << 32 | coll->root;

    hash = (hash ^ coll->bytes) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (uint64_t)query->op << 32 ^ (uint64_t)query->type) *
           UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ coll->elements) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40) % NF_CHOICES_KEPT;
}

static bool same(const struct nf_choice_query *a,
                 const struct nf_choice_query *b)
{
    return a->varies == b->varies && a->lists == b->lists &&
           a->plain == b->plain &&
           a->type == b->type && a->op == b->op && a->coll.op == b->coll.op &&
           a->coll.root == b->coll.root && a->coll.bytes == b->coll.bytes &&
           a->coll.elements == b->coll.elements &&
           a->coll.commutative == b->coll.commutative;
}

enum nf_status nf_group_choose(struct nf_group *group,
                               const struct nf_choice_query *query,
                               struct nf_coll_choice *choice_p,
                               struct nf_error *err)
{
    uint32_t slot = slot_of(query);
    struct nf_coll_choice choice;
    enum nf_status status;

    if (group->choices[slot].valid &&
        same(&group->choices[slot].query, query)) {
        *choice_p = group->choices[slot].choice;
        return NF_OK;
    }
    status = choose(group, query, &choice, err);
    if (status != NF_OK)
        return status;
    if (choice.algorithm->items == NF_ITEMS_SEGMENTS)
        choice.segments =
            nf_coll_clamp_segments(query->coll.elements, choice.segments);
    else
        choice.segments = 1;
    group->choices[slot].valid = true;
    group->choices[slot].query = *query;
    group->choices[slot].choice = choice;
    *choice_p = choice;
    return NF_OK;
}

void nf_group_forget_choices(struct nf_group *group)
{
    for (uint32_t i = 0; i < NF_CHOICES_KEPT; i++)
        group->choices[i].valid = false;
}

/* Is @p wish for so many members?  @retval other  no: err says why */
static enum nf_status fits_size(const struct nf_coll_wish *wish, uint32_t ranks,
                                struct nf_error *err)
{
    struct nf_coll_args args = { .ranks = ranks, .segments = 1 };

    nf_coll_use_params(&wish->params, &args);
    return nf_coll_fits(wish->algorithm, &args, err);
}

void nf_group_force_those_of(struct nf_group *group,
                             const struct nf_group *from)
{
    for (int op = 0; op < NF_COLL_OPS; op++) {
        struct nf_coll_wish wish;
        struct nf_error err;

        if (nf_coll_wish_read_for(from->forced[op], group->ranks, &wish,
                                  &err) != NF_OK)
            continue; /* nothing is */
        if (fits_size(&wish, group->ranks, &err) == NF_OK)
            memcpy(group->forced[op], from->forced[op],
                   sizeof(group->forced[op]));
        else
            nf_log(NF_LOG_WARN, "%s: going by the model", err.text);
    }
}

/* Take one of a list, unless only checking: then group is NULL. */
static enum nf_status force_one(struct nf_group *group, const char *text,
                                size_t length, struct nf_error *err)
{
    char name[NAME_BYTES];
    struct nf_coll_wish wish;
    struct nf_error why;
    enum nf_status status;

    if (length >= NAME_BYTES)
        return nf_fail(err, NF_ERR_INVAL, "no algorithm \"%.*s\"", 80, text);
    memcpy(name, text, length);
    name[length] = '\0';
    status = nf_coll_wish_read_for(name, group != NULL ? group->ranks : 0,
                                   &wish, err);
    if (status != NF_OK) {
        name[strcspn(name, ":")] = '\0';
        return nf_coll_find(name) != NULL
                   ? status
                   : nf_fail(err, NF_ERR_INVAL, "no algorithm \"%s\"", name);
    }
    if (group == NULL)
        return NF_OK;
    if (fits_size(&wish, group->ranks, &why) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL, "%s", why.text);
    memcpy(group->forced[wish.algorithm->op], name, length + 1);
    return NF_OK;
}

/* What is between two of a list, or before or behind all: spaces, or a comma
 * among them.  @return its length; @p commas_p: how many */
static size_t between(const char *text, unsigned *commas_p)
{
    size_t length = strspn(text, ", ");

    *commas_p = 0;
    for (size_t i = 0; i < length; i++)
        *commas_p += text[i] == ',';
    return length;
}

static enum nf_status force_all(struct nf_group *group, const char *text,
                                struct nf_error *err)
{
    const char *at = text;

    while (*at != '\0') {
        unsigned commas;
        bool first = at == text;
        size_t length = between(at, &commas);

        at += length;
        if (commas > (first || *at == '\0' ? 0u : 1u))
            return nf_fail(err, NF_ERR_INVAL,
                           "\"%.160s\": a comma with no algorithm before or "
                           "behind it",
                           text);
        length = strcspn(at, ", ");
        if (length > 0) {
            enum nf_status status = force_one(group, at, length, err);

            if (status != NF_OK)
                return status;
        }
        at += length;
    }
    return NF_OK;
}

enum nf_status nf_group_force(struct nf_group *group, const char *text,
                              struct nf_error *err)
{
    nf_group_forget_choices(group);
    return force_all(group, text, err);
}

enum nf_status nf_group_check_wish(const char *text, struct nf_error *err)
{
    return force_all(NULL, text, err);
}

void nf_group_unforce(struct nf_group *group)
{
    for (int op = 0; op < NF_COLL_OPS; op++)
        group->forced[op][0] = '\0';
    nf_group_forget_choices(group);
}

/* The last of the list that is for @p op, as force_all() takes it, or one that
 * is no algorithm at all, which its group then says.
 * @return its length; 0: there is none */
static size_t find_wish(const char **list, enum nf_coll_op op)
{
    size_t found = 0;

    for (const char *at = *list; *at != '\0'; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ", ");
        const struct nf_coll_algorithm *algorithm;
        char name[NF_TOLD_BYTES];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ", :"), at);
        algorithm = nf_coll_find(name);
        if (length > 0 && length < NF_TOLD_BYTES &&
            (algorithm == NULL || algorithm->op == op)) {
            *list = at;
            found = length;
            if (algorithm == NULL)
                return found;
        }
        at += length;
    }
    return found;
}

/* What is no algorithm at all is for its group to say. */
static enum nf_status serves_wish(const char *text,
                                  const struct nf_coll_query *query,
                                  struct nf_error *err)
{
    const struct nf_coll_network network =
        nf_coll_network_of(&nf_group_model, NULL, NULL);
    struct nf_coll_wish wish;
    struct nf_coll_choice choice;

    if (query->ranks < 2 || nf_coll_wish_read(text, &wish, err) != NF_OK)
        return NF_OK;
    return nf_coll_select(query, &network, NULL, text, &choice, err);
}

enum nf_status nf_group_tell_choice(const char *wish,
                                    const struct nf_coll_rules *rules,
                                    const struct nf_coll_query *query,
                                    bool varies, char text_p[NF_TOLD_BYTES],
                                    struct nf_error *err)
{
    size_t length = wish != NULL ? find_wish(&wish, query->op) : 0;
    struct nf_choice_query asked = { .coll = *query,
                                     .type = NF_ELEM_USER,
                                     .op = NF_OPERATOR_USER };
    struct nf_coll_network network;
    struct nf_coll_choice choice;
    enum nf_status status = NF_OK;

    text_p[0] = '\0';
    if (length > 0) {
        memcpy(text_p, wish, length);
        text_p[length] = '\0';
        status = serves_wish(text_p, query, err);
        if (status == NF_OK)
            return NF_OK;
        text_p[0] = '\0';
    }
    if (rules == NULL || varies || query->ranks < 2 || query->elements == 0)
        return status;
    network = network_for(&rules->model, &asked);
    network.share_us = nf_model_share_on(
        &rules->model, nf_model_fullest_part(query->hosts, query->ranks));
    nf_coll_network_spread(&network, query->hosts, query->ranks);
    if (network.hosts == 1)
        nf_coll_network_within(&network);
    if (nf_coll_select(query, &network, rules, NULL, &choice, NULL) != NF_OK)
        return status;
    nf_coll_wish_write(&(struct nf_coll_wish){ choice.algorithm,
                                               choice.segments, choice.params },
                       text_p, NF_TOLD_BYTES);
    return status;
}

/* @param is_shared  the medium is */
static struct nf_exchange_price price_exchange(const struct nf_group *group,
                                               const struct nf_model *model,
                                               bool is_shared)
{
    struct nf_coll_network network = nf_coll_network_of(model, NULL, NULL);

    network.is_shared = is_shared;
    network.share_us = nf_model_share_on(model, group->part);
    network.least = group->least;
    return nf_exchange_price_of(&network);
}

enum nf_status nf_group_set_rules(struct nf_group *group, const char *text,
                                  size_t bytes, struct nf_error *warning,
                                  struct nf_error *err)
{
    struct nf_error unheard;
    struct nf_coll_rules rules;
    enum nf_status status;

    nf_coll_rules_init(&rules);
    status = nf_coll_rules_read(text, bytes, &rules,
                                warning != NULL ? warning : &unheard, err);
    if (status != NF_OK) {
        nf_coll_rules_fini(&rules);
        return status;
    }
    nf_coll_rules_fini(&group->rules);
    group->rules = rules;
    group->has_rules = true;
    group->exchange = price_exchange(group, &rules.model, false);
    nf_group_forget_choices(group);
    return NF_OK;
}

enum nf_status nf_group_set_network(struct nf_group *group, const char *text,
                                    size_t bytes, const char *file,
                                    const char (*names)[64],
                                    struct nf_error *err)
{
    struct nf_measured *measured;
    enum nf_status status = nf_measured_create(
        text, bytes, file, names, group->hosts, group->ranks, &measured, err);

    if (status != NF_OK)
        return status;
    nf_group_outdate_plans(group, NULL); /* some are of trees of the old one */
    nf_measured_destroy(group->measured);
    group->measured = measured;
    if (!group->has_rules)
        group->exchange =
            price_exchange(group, &nf_measured_network(measured)->model,
                           nf_measured_network(measured)->shared);
    nf_group_forget_choices(group);
    return NF_OK;
}
