/* A choice for each size is asked for at powers of two; between two that differ the
 * place of the change is halved in, again and again.  What is best between two powers
 * of two only, and at none of the places looked at, is not found. */
#include "config.h"
#include "common/coll/exchange_bounds.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/exchange_choice.h"
#include "common/coll/rules.h"

/* Larger blocks are dealt with as these. */
#define LARGE_BYTES (UINT64_C(1) << 40)

/* For more no schedule is made that is only to be priced: it has P^2 blocks. */
enum { PRICED_RANKS_MOST = 128 };

struct chooser {
    const struct nf_coll_network *network;
    const struct nf_coll_rules *rules;
    struct nf_exchange_price price;
    uint32_t ranks;
};

static struct nf_coll_query query_of(uint32_t ranks, uint64_t bytes)
{
    return (struct nf_coll_query){ .op = NF_COLL_ALLTOALL,
                                   .ranks = ranks,
                                   .elements = bytes,
                                   .bytes = bytes,
                                   .commutative = true };
}

static enum nf_status check(const char *name, uint32_t ranks,
                            struct nf_error *err)
{
    struct nf_coll_args args = { .ranks = ranks, .segments = 1 };
    struct nf_coll_wish wish;
    enum nf_status status = nf_coll_wish_read_for(name, ranks, &wish, err);

    if (status != NF_OK)
        return status;
    if (wish.algorithm->op != NF_COLL_ALLTOALL ||
        strlen(name) >= NF_EXCHANGE_NAME_BYTES)
        return nf_fail(err, NF_ERR_INVAL, "%.60s is no all-to-all", name);
    nf_coll_use_params(&wish.params, &args);
    return nf_coll_fits(wish.algorithm, &args, err);
}

static void write_choice(const struct nf_coll_choice *choice,
                         char name_p[NF_EXCHANGE_NAME_BYTES])
{
    nf_coll_wish_write(&(struct nf_coll_wish){ .algorithm = choice->algorithm,
                                               .params = choice->params },
                       name_p, NF_EXCHANGE_NAME_BYTES);
}

/* What the rules say, if they say something that is for so many. */
static bool choose_by_rules(const struct chooser *c,
                            const struct nf_coll_query *query,
                            char name_p[NF_EXCHANGE_NAME_BYTES])
{
    struct nf_coll_choice choice = { .segments = 1 };

    if (c->rules == NULL || nf_coll_rules_find(c->rules, query) == NULL ||
        nf_coll_select(query, c->network, c->rules, NULL, &choice, NULL) !=
            NF_OK)
        return false;
    if (choice.algorithm == &nf_coll_alltoall_mixed)
        nf_exchange_radices(&c->price, c->ranks, query->bytes, &choice.params);
    write_choice(&choice, name_p);
    return check(name_p, c->ranks, NULL) == NF_OK;
}

/* As nf_group_choose() does it, for blocks that are all as large. */
static void choose(const struct chooser *c, uint64_t bytes,
                   char name_p[NF_EXCHANGE_NAME_BYTES])
{
    const struct nf_coll_query query = query_of(c->ranks, bytes);
    struct nf_coll_choice choice;

    if (choose_by_rules(c, &query, name_p))
        return;
    nf_coll_choose_exchange(&c->price, &query, &choice);
    write_choice(&choice, name_p);
}

/* The first size in (low, high] that is not chosen for as @p low is. */
static uint64_t find_change(const struct chooser *c, uint64_t low,
                            uint64_t high, const char *name)
{
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        char here[NF_EXCHANGE_NAME_BYTES];

        choose(c, middle, here);
        if (strcmp(here, name) == 0)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* If there is no room, what is for the smallest blocks goes. */
static void append(struct nf_exchange_bounds *bounds, uint64_t below_bytes,
                   const char *name)
{
    if (bounds->count == NF_EXCHANGE_BOUNDS_MAX)
        memmove(&bounds->of[0], &bounds->of[1],
                --bounds->count * sizeof(bounds->of[0]));
    bounds->of[bounds->count].below_bytes = below_bytes;
    memcpy(bounds->of[bounds->count++].algorithm, name, NF_EXCHANGE_NAME_BYTES);
}

void nf_exchange_bounds_find(const struct nf_coll_network *network,
                             const struct nf_coll_rules *rules, uint32_t ranks,
                             struct nf_exchange_bounds *bounds_p)
{
    const struct chooser c = { network, rules, nf_exchange_price_of(network),
                               ranks };
    char name[NF_EXCHANGE_NAME_BYTES], next[NF_EXCHANGE_NAME_BYTES];
    uint64_t low = 1;

    memset(bounds_p, 0, sizeof(*bounds_p));
    choose(&c, low, name);
    for (uint64_t bytes = 2; bytes <= LARGE_BYTES; bytes *= 2) {
        choose(&c, bytes, next);
        while (strcmp(name, next) != 0) {
            low = find_change(&c, low, bytes, name);
            append(bounds_p, low, name);
            choose(&c, low, name);
        }
        low = bytes;
    }
    append(bounds_p, UINT64_MAX, name);
}

enum nf_status nf_exchange_bounds_of(const char *wish, uint32_t ranks,
                                     struct nf_exchange_bounds *bounds_p,
                                     struct nf_error *err)
{
    enum nf_status status = check(wish, ranks, err);

    if (status != NF_OK)
        return status;
    memset(bounds_p, 0, sizeof(*bounds_p));
    bounds_p->count = 1;
    bounds_p->of[0].below_bytes = UINT64_MAX;
    memcpy(bounds_p->of[0].algorithm, wish, strlen(wish));
    return NF_OK;
}

const char *nf_exchange_bounds_pick(const struct nf_exchange_bounds *bounds,
                                    uint64_t bytes)
{
    uint32_t i = 0;

    while (i + 1 < bounds->count && bytes >= bounds->of[i].below_bytes)
        i++;
    return bounds->of[i].algorithm;
}

/* Of a round, between full and half duplex. */
static double turns_of(const struct nf_coll_network *network)
{
    return (2 - network->delta) + 3 * (network->delta - 1);
}

/* A round takes as long as its largest message, as a rank has one each way.  Half duplex
 * it takes at most three turns, as where a formula for that is missing (select.c).  Shared
 * processors have all messages to pass. */
static double schedule_us(const struct nf_schedule *s,
                          const struct nf_coll_network *network, double bytes)
{
    uint32_t rounds = nf_schedule_rounds(s);
    uint64_t *largest = nf_calloc((size_t)rounds + 1, sizeof(*largest));
    double us = 0, copy_us = 0, crowd_us = network->share_us * (double)s->count;

    if (largest == NULL)
        return (double)INFINITY;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t items = nf_schedule_items_of(s, &s->messages[i]);
        uint32_t round = s->messages[i].round;

        largest[round] = items > largest[round] ? items : largest[round];
    }
    for (uint32_t r = 0; r < rounds; r++) {
        double most_bytes = (double)largest[r] * bytes;

        if (largest[r] > 0)
            us += nf_price_send_us(&network->price, most_bytes);
        if (largest[r] > 1)
            copy_us += network->copy_byte_us * most_bytes;
    }
    nf_free(largest);
    us *= turns_of(network);
    us += copy_us;
    return us < crowd_us ? crowd_us : us;
}

/* What it adds that sizes go ahead where a message has several blocks, or one that is not
 * for its receiver: a message more right behind the one before, and the longest of a
 * round counts.
 * @param us  without them */
static double with_lists_us(const struct nf_schedule *s, uint32_t ranks,
                            const struct nf_coll_network *network, double us)
{
    uint32_t rounds = nf_schedule_rounds(s);
    double *longest_us = nf_calloc((size_t)rounds + 1, sizeof(*longest_us));
    double none_us = nf_price_send_us(&network->price, 0);
    double turns = turns_of(network);
    size_t messages = s->count;

    if (longest_us == NULL)
        return (double)INFINITY;
    for (size_t i = 0; i < s->count; i++) {
        const struct nf_coll_message *m = &s->messages[i];
        uint64_t items = nf_schedule_items_of(s, m);
        double list_us = nf_price_send_us(
            &network->price, (double)(NF_EXCHANGE_SIZE_BYTES * items));

        if (items == 0 ||
            (items == 1 && s->spans[m->first_span].first % ranks == m->dst))
            continue;
        if (network->price.occupancy_us > 0)
            list_us = fmax(list_us - none_us, network->price.occupancy_us);
        longest_us[m->round] = fmax(longest_us[m->round], list_us);
        messages++;
    }
    for (uint32_t r = 0; r < rounds; r++)
        us += longest_us[r] * turns;
    nf_free(longest_us);
    return fmax(us, network->share_us * (double)messages);
}

/* @return false: there is none for so many, or not in a reasonable time */
static bool make_schedule(const struct nf_coll_wish *wish, uint32_t ranks,
                          struct nf_schedule *schedule_p)
{
    struct nf_coll_args args = { .ranks = ranks, .segments = 1 };

    nf_coll_use_params(&wish->params, &args);
    if (ranks > PRICED_RANKS_MOST || wish->algorithm->op != NF_COLL_ALLTOALL ||
        wish->algorithm->ports == NF_PORTS_MANY ||
        nf_coll_fits(wish->algorithm, &args, NULL) != NF_OK)
        return false;
    if (nf_coll_make(wish->algorithm, &args, NF_ALL_RANKS, schedule_p, NULL) ==
        NF_OK)
        return true;
    nf_schedule_fini(schedule_p);
    return false;
}

double nf_exchange_bounds_cost_us(const char *algorithm,
                                  const struct nf_coll_network *network,
                                  uint32_t ranks, uint64_t bytes)
{
    const struct nf_coll_query query = query_of(ranks, bytes);
    struct nf_coll_wish wish;
    struct nf_schedule schedule;
    bool lists;
    double us;

    if (nf_coll_wish_read_for(algorithm, ranks, &wish, NULL) != NF_OK)
        return (double)INFINITY;
    us = nf_coll_params_cost_us(wish.algorithm, network, &query, 1,
                                &wish.params);
    lists = network->lists && wish.params.radices.count == 0; /* or they are in it */
    if ((isfinite(us) && !lists) || !make_schedule(&wish, ranks, &schedule))
        return us;
    if (!isfinite(us))
        us = schedule_us(&schedule, network, (double)bytes);
    if (lists)
        us = with_lists_us(&schedule, ranks, network, us);
    nf_schedule_fini(&schedule);
    return us;
}

void nf_exchange_bounds_write(const struct nf_exchange_bounds *bounds,
                              char text_p[NF_EXCHANGE_TEXT_BYTES])
{
    size_t used = 0;

    text_p[0] = '\0';
    for (uint32_t i = 0; i < bounds->count && used < NF_EXCHANGE_TEXT_BYTES;
         i++) {
        const char *name = bounds->of[i].algorithm;
        size_t room = NF_EXCHANGE_TEXT_BYTES - used;

        used += (size_t)(i + 1 < bounds->count
                             ? snprintf(text_p + used, room, "%s<%" PRIu64 ",",
                                        name, bounds->of[i].below_bytes)
                             : snprintf(text_p + used, room, "%s", name));
    }
}

/* Digits up to the comma. @return what follows it, NULL: there are none */
static const char *read_bound(const char *text, uint64_t *value_p)
{
    uint64_t value = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9' && at - text < 16; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    *value_p = value;
    return at > text && *at == ',' ? at + 1 : NULL;
}

bool nf_exchange_bounds_read(const char *text, uint32_t ranks,
                             struct nf_exchange_bounds *bounds_p)
{
    uint64_t before = 0;

    memset(bounds_p, 0, sizeof(*bounds_p));
    while (bounds_p->count < NF_EXCHANGE_BOUNDS_MAX) {
        size_t length = strcspn(text, "<,");
        char *name = bounds_p->of[bounds_p->count].algorithm;
        uint64_t *below = &bounds_p->of[bounds_p->count].below_bytes;

        if (length == 0 || length >= NF_EXCHANGE_NAME_BYTES)
            return false;
        memcpy(name, text, length);
        name[length] = '\0';
        if (check(name, ranks, NULL) != NF_OK)
            return false;
        bounds_p->count++;
        *below = UINT64_MAX;
        if (text[length] == '\0')
            return true;
        text = text[length] == '<' ? read_bound(text + length + 1, below) : NULL;
        if (text == NULL || *below <= before)
            return false;
        before = *below;
    }
    return false; /* longer than any that is written */
}
