/* Rules in memory: sorted by operation, class, P and size. */
#include "config.h"
#include "common/coll/rules.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"

void nf_coll_rules_init(struct nf_coll_rules *rules)
{
    *rules = (struct nf_coll_rules){ .count = 0 };
}

void nf_coll_rules_fini(struct nf_coll_rules *rules)
{
    nf_free(rules->rules);
    nf_free(rules->unknown);
    nf_coll_rules_init(rules);
}

const char *const nf_coll_class_names[NF_COLL_CLASSES] = {
    [NF_CLASS_ANY] = "any",
    [NF_CLASS_COMMUTATIVE] = "commutative",
    [NF_CLASS_ORDERED] = "ordered",
};

/* Lines are "rule bcast any 8 ...". */
void nf_coll_rules_forget_unknown(struct nf_coll_rules *rules, const char *op,
                                  enum nf_coll_class operators, uint32_t ranks)
{
    char begin[64] = "";
    size_t kept = 0;

    if (op != NULL)
        snprintf(begin, sizeof(begin), "rule %s %s %" PRIu32 " ", op,
                 nf_coll_class_names[operators], ranks);

    for (size_t at = 0, next; at < rules->unknown_bytes; at = next) {
        const char *line = rules->unknown + at;

        next = at + strcspn(line, "\n") + 1;
        if (strncmp(line, begin, strlen(begin)) == 0)
            continue;
        memmove(rules->unknown + kept, line, next - at);
        kept += next - at;
    }
    rules->unknown_bytes = kept;
    if (rules->unknown != NULL)
        rules->unknown[kept] = '\0';
}

struct nf_coll_place nf_coll_place_of(uint32_t hosts_hash, bool direct,
                                      bool converts)
{
    return (struct nf_coll_place){
        .hosts_hash = hosts_hash,
        .route = direct ? NF_MODEL_ROUTE_DIRECT : NF_MODEL_ROUTE_DAEMON,
        .encoding = converts ? NF_MODEL_ENCODING_XDR : NF_MODEL_ENCODING_RAW,
    };
}

static void say(char *text, size_t bytes, const char *what, const char *name)
{
    size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s%s%s", used > 0 ? ", " : "tuned ",
             what, name);
}

bool nf_coll_rules_differ(const struct nf_coll_rules *rules,
                          const struct nf_coll_place *here, char *text_p,
                          size_t bytes)
{
    const struct nf_model *model = &rules->model;

    text_p[0] = '\0';
    if (model->hosts_hash != 0 && here->hosts_hash != 0 &&
        model->hosts_hash != here->hosts_hash)
        say(text_p, bytes, "between other hosts", "");
    if (model->route != here->route)
        say(text_p, bytes, "for messages by the ",
            model->route == NF_MODEL_ROUTE_DIRECT ? "direct route" : "daemons");
    if (model->encoding != here->encoding)
        say(text_p, bytes, "for data sent ",
            model->encoding == NF_MODEL_ENCODING_RAW ? "as they are"
                                                     : "in XDR");
    if (rules->library[0] != '\0' && strcmp(rules->library, nf_version()) != 0)
        say(text_p, bytes, "by version ", rules->library);
    return text_p[0] != '\0';
}

enum nf_coll_class nf_coll_class_of(const struct nf_coll_query *query)
{
    switch (query->op) {
    case NF_COLL_REDUCE:
    case NF_COLL_ALLREDUCE:
    case NF_COLL_REDUCE_SCATTER:
    case NF_COLL_SCAN:
    case NF_COLL_EXSCAN:
        return query->commutative ? NF_CLASS_COMMUTATIVE : NF_CLASS_ORDERED;
    default:
        return NF_CLASS_ANY;
    }
}

static int compare(const struct nf_coll_rule *a, const struct nf_coll_rule *b)
{
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->operators != b->operators)
        return a->operators < b->operators ? -1 : 1;
    if (a->ranks != b->ranks)
        return a->ranks < b->ranks ? -1 : 1;
    return a->max_bytes < b->max_bytes ? -1 : a->max_bytes > b->max_bytes;
}

/* @return the number of rules before @p key */
static size_t count_before(const struct nf_coll_rules *rules,
                           const struct nf_coll_rule *key)
{
    size_t low = 0, high = rules->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&rules->rules[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum nf_status nf_coll_rules_add(struct nf_coll_rules *rules,
                                 const struct nf_coll_rule *rule)
{
    size_t at = count_before(rules, rule);

    if (at < rules->count && compare(&rules->rules[at], rule) == 0) {
        rules->rules[at] = *rule;
        return NF_OK;
    }
    if (rules->count == rules->capacity) {
        size_t capacity = rules->capacity > 0 ? 2 * rules->capacity : 16;
        struct nf_coll_rule *grown =
            nf_realloc(rules->rules, capacity * sizeof(*grown));

        if (grown == NULL)
            return NF_ERR_NOMEM;
        rules->rules = grown;
        rules->capacity = capacity;
    }
    memmove(&rules->rules[at + 1], &rules->rules[at],
            (rules->count - at) * sizeof(*rule));
    rules->rules[at] = *rule;
    rules->count++;
    return NF_OK;
}

const struct nf_coll_rule *nf_coll_rules_find(const struct nf_coll_rules *rules,
                                              const struct nf_coll_query *query)
{
    struct nf_coll_rule key = {
        .op = query->op,
        .operators = nf_coll_class_of(query),
        .ranks = query->ranks,
        .max_bytes = UINT64_MAX,
    };
    const struct nf_coll_rule *found;
    size_t at = count_before(rules, &key);

    /* the last rule that is not above (op, class, P, any size) has the greatest
     * P that may do */
    if (at < rules->count && compare(&rules->rules[at], &key) == 0)
        at++;
    if (at == 0)
        return NULL;
    found = &rules->rules[at - 1];
    if (found->op != key.op || found->operators != key.operators ||
        2 * (uint64_t)found->ranks < query->ranks)
        return NULL;
    key.ranks = found->ranks;
    key.max_bytes = query->bytes;
    found = &rules->rules[count_before(rules, &key)];
    if (found == rules->rules + rules->count || found->op != key.op ||
        found->operators != key.operators || found->ranks != key.ranks)
        return NULL; /* longer than anything measured */
    return nf_coll_serves(found->algorithm, query) ? found : NULL;
}
