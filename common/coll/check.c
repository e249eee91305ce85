/* The checker of schedules: what can be said of messages without following
 * their values, and the order in which things are looked at. */
#include "config.h"
#include "common/coll/check.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/check_parts.h"
#include "common/coll/torus.h"

#define NONE UINT32_MAX

/* By hosts is in the order of ranks, or in none. */
static enum nf_coll_order
claimed_order(const struct nf_coll_algorithm *algorithm,
              const struct nf_coll_args *args)
{
    if (algorithm->order != NF_ORDER_HOSTS)
        return algorithm->order;
    return nf_coll_keeps_order(algorithm, args) ? NF_ORDER_RANKS
                                                : NF_ORDER_COMMUTATIVE;
}

struct nf_coll_claim nf_coll_claim_of(const struct nf_coll_algorithm *algorithm,
                                      const struct nf_coll_args *args)
{
    return (struct nf_coll_claim){
        .op = algorithm->op,
        .ranks = args->ranks,
        .root = args->root,
        .items = nf_coll_item_count(algorithm, args),
        .ports = algorithm->ports,
        .order = claimed_order(algorithm, args),
        .redundant = algorithm->op == NF_COLL_BCAST &&
                     algorithm->items == NF_ITEMS_BLOCKS,
        .shape = args->shape,
        .channel_messages = algorithm->one_each ? 1 : 0,
        .orders = 3,
        .seed = 1,
    };
}

void nf_check_fault(const struct nf_check *check, enum nf_coll_fault_kind kind,
                    uint32_t message, uint32_t item, const char *what, ...)
{
    struct nf_coll_faults *faults = check->faults;
    struct nf_coll_fault *fault = &faults->list[faults->count];
    size_t used = 0;
    bool has_item = item != NONE && check->claim->items > 0;
    va_list args;

    if (faults->count++ >= NF_FAULTS_MAX)
        return;
    fault->kind = kind;
    fault->text[0] = '\0';
    if (message != NONE) {
        const struct nf_coll_message *m = &check->messages[message];

        snprintf(fault->text, sizeof(fault->text), "round %u, %u -> %u%s",
                 m->round, m->src, m->dst, has_item ? ", " : ": ");
        used = strlen(fault->text);
    }
    if (has_item) {
        snprintf(fault->text + used, sizeof(fault->text) - used,
                 "item %u: ", item);
        used = strlen(fault->text);
    }
    va_start(args, what);
    vsnprintf(fault->text + used, sizeof(fault->text) - used, what, args);
    va_end(args);
    used = strlen(fault->text);
    if (!check->in_order)
        snprintf(fault->text + used, sizeof(fault->text) - used,
                 " (if ranks are not in step)");
}

/* ---- each message for itself ---- */

static void check_ranks(const struct nf_check *check, uint32_t m)
{
    const struct nf_coll_message *message = &check->messages[m];
    uint32_t ranks = check->claim->ranks;

    if (message->src >= ranks || message->dst >= ranks)
        nf_check_fault(check, NF_FAULT_RANK, m, NONE, "there are %u ranks",
                       ranks);
    else if (message->src == message->dst)
        nf_check_fault(check, NF_FAULT_SELF, m, NONE, "a rank sends to itself");
}

/* @param seen  [items]: 1 + the last message that had the item */
static void check_items(const struct nf_check *check, uint32_t m,
                        uint32_t *seen)
{
    const struct nf_coll_message *message = &check->messages[m];
    uint32_t items = check->claim->items;

    if (message->nspans == 0 && items > 0)
        nf_check_fault(check, NF_FAULT_NO_ITEM, m, NONE, "carries nothing");
    for (uint32_t i = 0; i < message->nspans; i++) {
        struct nf_coll_span span = check->spans[message->first_span + i];

        if (span.first >= items || span.count > items - span.first) {
            nf_check_fault(check, NF_FAULT_ITEM, m, span.first,
                           "up to item %u, but there are %u",
                           span.first + span.count - 1, items);
            continue;
        }
        for (uint32_t item = span.first; item < span.first + span.count;
             item++) {
            if (seen[item] == m + 1)
                nf_check_fault(check, NF_FAULT_ITEM, m, item,
                               "twice in one message");
            seen[item] = m + 1;
            if (check->claim->sizes != NULL && check->claim->sizes[item] == 0)
                nf_check_fault(check, NF_FAULT_NO_ITEM, m, item,
                               "is carried, and empty");
        }
    }
}

static void check_twins(const struct nf_check *check)
{
    for (uint32_t m = 1; m < check->count; m++) {
        const struct nf_coll_message *a = &check->messages[m - 1], *b = a + 1;

        if (a->round == b->round && a->src == b->src && a->dst == b->dst)
            nf_check_fault(check, NF_FAULT_TWIN, m, NONE,
                           "two messages of one pair in one round");
    }
}

/* Messages of a rank in the current round. */
struct ports {
    uint32_t round; /* 1 + it */
    uint32_t sent, received;
};

static void check_port(const struct nf_check *check, struct ports *ports,
                       uint32_t m, bool sends)
{
    const struct nf_coll_message *message = &check->messages[m];
    enum nf_coll_ports claim = check->claim->ports;
    uint32_t rank = sends ? message->src : message->dst;
    struct ports *port = &ports[rank];

    if (port->round != message->round + 1)
        *port = (struct ports){ .round = message->round + 1 };
    if (sends)
        port->sent++;
    else
        port->received++;
    if (claim == NF_PORTS_HALF && port->sent + port->received > 1)
        nf_check_fault(check, NF_FAULT_PORTS, m, NONE,
                       "rank %u is in a second message (half duplex)", rank);
    if (claim == NF_PORTS_FULL && (sends ? port->sent : port->received) > 1)
        nf_check_fault(check, NF_FAULT_PORTS, m, NONE,
                       "rank %u %s a second message (full duplex)", rank,
                       sends ? "sends" : "receives");
}

/* The first message that goes astray, or meets another one. */
static enum nf_status check_channels(const struct nf_check *check)
{
    const struct nf_coll_claim *claim = check->claim;
    const struct nf_schedule schedule = {
        .messages = check->messages,
        .count = check->count,
        .spans = (struct nf_coll_span *)check->spans,
    };
    struct nf_torus_load load;
    struct nf_torus_fault fault;
    enum nf_status status;

    if (claim->channel_messages == 0)
        return NF_OK;
    status = nf_torus_measure(claim->shape, claim->ranks, &schedule,
                              claim->channel_messages, &load, &fault);
    if (status == NF_OK)
        nf_torus_load_fini(&load);
    if (status != NF_ERR_VERIFY)
        return status;
    if (fault.lost)
        nf_check_fault(check, NF_FAULT_ROUTE, (uint32_t)fault.message, NONE,
                       "its route ends at rank %u", fault.rank);
    else
        nf_check_fault(check, NF_FAULT_CHANNEL, (uint32_t)fault.message, NONE,
                       "more than %u on the channel from rank %u %s along "
                       "side %u",
                       claim->channel_messages, fault.rank,
                       fault.back ? "back" : "forward", fault.side);
    return NF_OK;
}

/* @return false: the messages cannot even be followed, or (with *status_p) out
 * of memory */
static bool check_messages(const struct nf_check *check,
                           enum nf_status *status_p)
{
    uint32_t *seen = nf_calloc(check->claim->items, sizeof(*seen));
    struct ports *ports = nf_calloc(check->claim->ranks, sizeof(*ports));
    bool sound = false;

    *status_p = seen != NULL && ports != NULL ? NF_OK : NF_ERR_NOMEM;
    if (*status_p == NF_OK) {
        for (uint32_t m = 0; m < check->count; m++) {
            check_ranks(check, m);
            check_items(check, m, seen);
        }
        check_twins(check);
        /* what follows goes by ranks and items */
        sound = true;
        for (uint32_t i = 0; i < check->faults->count && i < NF_FAULTS_MAX; i++)
            sound &= check->faults->list[i].kind == NF_FAULT_TWIN ||
                     check->faults->list[i].kind == NF_FAULT_NO_ITEM;
        sound &= check->faults->count <= NF_FAULTS_MAX;
        for (uint32_t m = 0; sound && m < check->count; m++) {
            check_port(check, ports, m, true);
            check_port(check, ports, m, false);
        }
        if (sound)
            *status_p = check_channels(check);
    }
    nf_free(seen);
    nf_free(ports);
    return sound;
}

/* ---- all together ---- */

static enum nf_status check_values(struct nf_check *check)
{
    const struct nf_coll_claim *claim = check->claim;
    struct nf_check_carried carried;
    struct nf_rng rng = { .state = claim->seed };
    uint32_t *events = nf_malloc(2 * (size_t)check->count * sizeof(uint32_t));
    enum nf_status status = nf_check_carried_init(&carried, check);

    if (events == NULL)
        status = NF_ERR_NOMEM;
    if (status == NF_OK) {
        nf_check_order_rounds(check, events);
        status = nf_check_values(check, &carried, events);
    }
    check->in_order = false;
    /* a schedule that is wrong in step would only say so again */
    for (uint32_t i = 0;
         status == NF_OK && check->faults->count == 0 && i < claim->orders;
         i++) {
        status = nf_check_order_free(check, &carried, &rng, i % 2 == 0, events);
        if (status == NF_OK)
            status = nf_check_values(check, &carried, events);
    }
    nf_free(events);
    nf_check_carried_fini(&carried);
    return status;
}

static enum nf_status check_sorted(struct nf_check *check)
{
    enum nf_status status;

    if (check_messages(check, &status) && status == NF_OK)
        status = check_values(check);
    return status;
}

enum nf_status nf_coll_check(const struct nf_coll_claim *claim,
                             const struct nf_schedule *schedule,
                             struct nf_coll_faults *faults,
                             struct nf_error *err)
{
    struct nf_check check = {
        .claim = claim,
        .faults = faults,
        .count = (uint32_t)schedule->count,
        .spans = schedule->spans,
        .items = claim->op == NF_COLL_BARRIER ? 1 : claim->items,
        .in_order = true,
    };
    struct nf_schedule sorted = *schedule;
    enum nf_status status = NF_OK;

    *faults = (struct nf_coll_faults){ .count = 0 };
    /* events are numbered in 32 bits */
    if (schedule->failed || schedule->count > UINT32_MAX / 2 - 1)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    sorted.capacity = schedule->count;
    sorted.messages = nf_malloc(schedule->count * sizeof(*sorted.messages));
    if (sorted.messages == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    if (schedule->count > 0)
        memcpy(sorted.messages, schedule->messages,
               schedule->count * sizeof(*sorted.messages));
    nf_schedule_sort(&sorted);
    check.messages = sorted.messages;
    status = sorted.failed ? NF_ERR_NOMEM : check_sorted(&check);
    nf_free(sorted.messages);
    if (status == NF_ERR_NOMEM)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    if (faults->count > 0)
        return nf_fail(err, NF_ERR_VERIFY, "%s", faults->list[0].text);
    return NF_OK;
}
